"""The scalar instructions: the integer subset that address arithmetic, loops and branches need."""

from __future__ import annotations

from collections.abc import Iterator

from ptoc.isa.forms import Field, Form, Tier, bits, form
from ptoc.isa.registers import GPR

_NOT_RA = frozenset(range(32)) - {GPR["ra"]}

_REG_DST = bits("RegDst", 7, 5)
_SRC_L, _SRC_R, _SRC_D, _SRC_P = (bits(f"Src{s}", lsb, 5) for s, lsb in zip("LRDP", (15, 20, 27, 27)))
_MODIFIER = bits("SrcRType", 25, 2)
_SHIFT = bits("shamt", 27, 5)
_IMMEDIATE_SHIFT = bits("shamt", 7, 5)
_SHIFT64 = bits("shamt", 20, 6)
_UIMM12 = bits("uimm12", 20, 12)
_SIMM12 = bits("simm12", 20, 12, signed=True)
_IMM20 = bits("imm20", 12, 20, signed=True)

_SHORT_L, _SHORT_R = bits("SrcL", 6, 5), bits("SrcR", 11, 5)
_LONG_DST, _LONG_L = bits("RegDst", 23, 5), bits("SrcL", 31, 5)

_TO = ", ->{RegDst:destination}"


def _long(name: str, signed: bool = False) -> Field:
    """A 32-bit immediate of a 48-bit instruction."""
    return Field(name, ((28, 0, 20), (4, 20, 12)), signed)


def _scalar(key: str, length: int, match: int, fields: tuple[Field, ...], operands: str, tier: Tier = "core") -> Form:
    return form(key, length, match, fields, f"{key.lower()} {operands}", kind="scalar", tier=tier)


def _short() -> Iterator[Form]:
    to = bits("RegDst", 11, 5)
    simm5 = bits("simm5", 6, 5, signed=True)
    # With ra as its destination the word would be C.SETRET.
    movi = bits("RegDst", 11, 5, allowed=_NOT_RA)
    yield _scalar("C.MOVI", 2, 0x0016, (movi, simm5), "{simm5:int}" + _TO)
    yield _scalar("C.MOVR", 2, 0x0006, (to, _SHORT_L), "{SrcL:source}" + _TO)
    pair = (_SHORT_L, _SHORT_R)
    yield _scalar("C.SETC.EQ", 2, 0x0026, pair, "{SrcL:source}, {SrcR:source}", "extra")
    yield _scalar("C.SETC.NE", 2, 0x0036, pair, "{SrcL:source}, {SrcR:source}", "extra")
    yield _scalar("C.SETC.TGT", 2, 0x001C, (_SHORT_L,), "{SrcL:source}", "extra")


def _registers() -> Iterator[Form]:
    two = (_REG_DST, _SRC_L, _SRC_R)
    pair = "{SrcL:source}, {SrcR:source}"
    prepared = (*two, _MODIFIER, _SHIFT)
    for key, match in (("ADD", 0x0005), ("SUB", 0x1005)):
        yield _scalar(key, 4, match, prepared, pair + "{SrcRType:arithmetic}{shamt:shift}" + _TO)
    for key, match in (("AND", 0x2005), ("OR", 0x3005), ("XOR", 0x4005)):
        yield _scalar(key, 4, match, prepared, pair + "{SrcRType:logical}{shamt:shift}" + _TO)
    for key, match in (
        ("SRL", 0x0000_5005),
        ("SRA", 0x0000_6005),
        ("SLL", 0x0000_7005),
        ("MUL", 0x0000_0047),
        ("MAX", 0x0000_405B),
        ("MAXU", 0x0800_405B),
        ("MIN", 0x0000_505B),
        ("MINU", 0x0800_505B),
    ):
        yield _scalar(key, 4, match, two, pair + _TO)
    yield _scalar("DIVU", 4, 0x1057, two, pair + _TO, "extra")
    yield _scalar("REMU", 4, 0x5057, two, pair + _TO, "extra")
    yield _scalar("MADD", 4, 0x6047, (_REG_DST, _SRC_D, _SRC_L, _SRC_R), pair + ", {SrcD:source}" + _TO)
    select = (_REG_DST, _SRC_L, _SRC_P, _SRC_R, _MODIFIER)
    yield _scalar("CSEL", 4, 0x0077, select, "{SrcP:source}, " + pair + "{SrcRType:select}" + _TO)


def _conditions() -> Iterator[Form]:
    names = (("EQ", 0x0), ("NE", 0x1), ("LT", 0x4), ("GE", 0x5), ("LTU", 0x6), ("GEU", 0x7))
    pair = "{SrcL:source}, {SrcR:source}{SrcRType:compare}"
    for name, code in names:
        yield _scalar(f"CMP.{name}", 4, 0x45 | code << 12, (_REG_DST, _SRC_L, _SRC_R, _MODIFIER), pair + _TO)
        yield _scalar(f"SETC.{name}", 4, 0x65 | code << 12, (_SRC_L, _SRC_R, _MODIFIER), pair)
    for name, code in names:
        immediate = _UIMM12 if name.endswith("U") else _SIMM12
        fields = (_SRC_L, _IMMEDIATE_SHIFT, immediate)
        text = f"{{SrcL:source}}, {{{immediate.name}:int}}{{shamt:shift}}"
        yield _scalar(f"SETC.{name}I", 4, 0x75 | code << 12, fields, text, "extra")
    yield _scalar("SETC.TGT", 4, 0x403B, (_SRC_L,), "{SrcL:source}")


def _immediates() -> Iterator[Form]:
    for key, match in (("ADDI", 0x0015), ("SUBI", 0x1015)):
        yield _scalar(key, 4, match, (_REG_DST, _SRC_L, _UIMM12), "{SrcL:source}, {uimm12:int}" + _TO)
    signed = (_REG_DST, _SRC_L, _SIMM12)
    for key, match in (("ANDI", 0x2015), ("ORI", 0x3015)):
        yield _scalar(key, 4, match, signed, "{SrcL:source}, {simm12:int}" + _TO)
    yield _scalar("XORI", 4, 0x4015, signed, "{SrcL:source}, {simm12:int}" + _TO, "extra")
    for key, match in (("SRLI", 0x5015), ("SRAI", 0x6015), ("SLLI", 0x7015)):
        yield _scalar(key, 4, match, (_REG_DST, _SRC_L, _SHIFT64), "{SrcL:source}, {shamt:int}" + _TO)
    yield _scalar("LUI", 4, 0x0017, (_REG_DST, _IMM20), "{imm20:int}" + _TO)
    address = bits("RegDst", 7, 5, allowed=_NOT_RA)
    yield _scalar("ADDTPC", 4, 0x0007, (address, _IMM20), "{imm20:int}" + _TO, "extra")
    yield _scalar("HL.LIS", 6, 0x000D_000E, (_LONG_DST, _long("simm32", signed=True)), "{simm32:int}" + _TO)
    yield _scalar("HL.LIU", 6, 0x001D_000E, (_LONG_DST, _long("uimm32")), "{uimm32:int}" + _TO)
    yield _scalar("HL.LUI", 6, 0x0017_000E, (_LONG_DST, _long("imm")), "{imm:int}" + _TO)
    uimm24 = Field("uimm24", ((36, 0, 12), (4, 12, 12)))
    for key, match in (("HL.ADDI", 0x0015_000E), ("HL.SUBI", 0x1015_000E)):
        yield _scalar(key, 6, match, (_LONG_DST, _LONG_L, uimm24), "{SrcL:source}, {uimm24:int}" + _TO)


def _jumps() -> Iterator[Form]:
    simm22 = Field("simm22", ((15, 0, 17), (7, 17, 5)), signed=True)
    yield _scalar("J", 4, 0x0037, (simm22,), "{simm22:target}")
    offset = Field("simm12", ((25, 0, 7), (7, 7, 5)), signed=True)
    # SrcZero is ignored on decode, encoders write 0.
    register_jump = (_SRC_L, bits("SrcZero", 20, 5), offset)
    yield _scalar("JR", 4, 0x6027, register_jump, "{SrcL:source}, {simm12:halfwords}", "extra")


SCALARS: tuple[Form, ...] = (*_short(), *_registers(), *_conditions(), *_immediates(), *_jumps())
