"""The command words: block starts and stops, attributes, dimensions, operand bindings, hints."""

from __future__ import annotations

from collections.abc import Iterator

from ptoc.isa import dtypes, operations
from ptoc.isa.forms import Field, Form, Tier, bits, form
from ptoc.isa.layouts import LayoutCode
from ptoc.isa.operations import TileOperation
from ptoc.isa.postprocess import GROUP_COLUMNS, PRE_QUANT_MODES, ReluMode
from ptoc.isa.registers import GPR_COUNT, MAX_LOCAL_SIZE_CODE, MAX_SHARED_SIZE_CODE

_TYPES = frozenset(dtypes.BY_CODE)
_NEEDED_OPERATIONS = frozenset({"TLOAD", "TSTORE", "MSCATTER_MASK", "TMATMUL", "TMATMUL_ACC"})
_FAMILY_MATCH = {"TLSU": 0x00011181, "CUBE": 0x00031181}


def _gpr(name: str, lsb: int, first: int = 0) -> Field:
    return bits(name, lsb, 5, allowed=range(first, GPR_COUNT))


_START_TYPE = bits("DataType", 27, 5, allowed=_TYPES)
_START_TYPE_OR_NONE = bits("DataType", 27, 5, allowed=_TYPES | {dtypes.NONE_CODE})
_SIMM25 = bits("simm25", 7, 25, signed=True)
_SIMM17 = bits("simm17", 15, 17, signed=True)
_SIMM17_ZERO = bits("simm17", 15, 17, signed=True, allowed=[0])
_SIMM12 = bits("simm12", 4, 12, signed=True)
_RETURN = bits("uimm5", 22, 5)
_BR_TYPE = bits("BrType", 11, 3, allowed=[1, 5, 7])

_REG_SRC = _gpr("RegSrc", 15)
_REG_SRC0, _REG_SRC1, _REG_SRC2 = _gpr("RegSrc0", 15), _gpr("RegSrc1", 20), _gpr("RegSrc2", 27)
_REG_DST = _gpr("RegDst", 7)
_ANY_SRCS = (bits("RegSrc0", 15, 5), bits("RegSrc1", 20, 5), bits("RegSrc2", 27, 5))
_UIMM17 = Field("uimm17", ((20, 0, 12), (7, 12, 5)))
_UIMM11 = bits("uimm11", 20, 11)

_SRC_TILE0, _SRC_TILE1 = bits("SrcTile0", 20, 6), bits("SrcTile1", 26, 6)
_LAST = bits("L", 19, 1)
_LOCAL_SIZE = bits("SizeCode", 15, 4, allowed=range(1, MAX_LOCAL_SIZE_CODE + 1))
_SHARED_SIZE = bits("SizeCode", 15, 4, allowed=range(MAX_SHARED_SIZE_CODE + 1))
_PE_MODE = bits("PEMode", 9, 3)
_DST_TILE = bits("DstTile", 7, 2)
# A source-only B.IOT executes whatever these bits hold, encoders write 0.
_IGNORED = bits("ignored", 7, 2)

_FRAME_UIMM = Field("uimm", ((25, 3, 7), (7, 10, 5)))


def _command(
    key: str,
    length: int,
    match: int,
    fields: tuple[Field, ...] = (),
    *syntax: str,
    tier: Tier = "needed",
    mnemonic: str = "",
) -> Form:
    """Without fields the key is the text."""
    text = syntax if fields or syntax else (key,)
    return form(key, length, match, fields, *text, kind="command", tier=tier, mnemonic=mnemonic)


def _typed_start(op: TileOperation) -> Form:
    """A memory or matrix start."""
    data_type = _START_TYPE_OR_NONE if op.schema.open_type else _START_TYPE
    tier: Tier = "needed" if op.name in _NEEDED_OPERATIONS else "later"
    match = _FAMILY_MATCH[op.family] | op.function << 20
    return _command(op.start, 4, match, (data_type,), f"{op.start} {{DataType:dtype}}", tier=tier)


def _starts() -> Iterator[Form]:
    for op in operations.ALL:
        if op.family != "TEPL":
            yield _typed_start(op)
    yield _command(
        "BSTART.TEPL",
        4,
        0x00019181,
        (_START_TYPE, bits("Mode", 25, 2), bits("Function", 20, 5)),
        "BSTART.VEC {Mode+Function:vec_operation}, {DataType:dtype}",
        "BSTART.SFU {Mode+Function:sfu_operation}, {DataType:dtype}",
        "BSTART.TEPL {Mode:int}, {Function:int}, {DataType:dtype}",
    )

    for transfer, match in (("DIRECT", 0x11), ("COND", 0x21)):
        text = f"BSTART {transfer}, {{simm25:target}}"
        yield _command(f"BSTART.{transfer}", 4, match, (_SIMM25,), text, mnemonic="BSTART")
    yield from _control_starts("BSTART.STD", 0x0000, "needed")
    yield from _control_starts("BSTART.FP", 0x0100, "later")
    yield _command("BSTART.SYS", 4, 0x1081, (_SIMM17_ZERO,), "BSTART.SYS FALL", tier="later")

    for transfer, match in (("DIRECT", 0x2), ("COND", 0x4)):
        text = f"C.BSTART {transfer}, {{simm12:target}}"
        yield _command(f"C.BSTART.{transfer}", 2, match, (_SIMM12,), text, mnemonic="C.BSTART")
    yield _command("C.BSTART.STD", 2, 0x0000, (_BR_TYPE,), "C.BSTART.STD {BrType:transfer}")
    yield _command("C.BSTART.FP", 2, 0x0080, (_BR_TYPE,), "C.BSTART.FP {BrType:transfer}", tier="later")
    yield _command("C.BSTART.SYS", 2, 0x0840, (), "C.BSTART.SYS FALL", tier="later")

    call = "BSTART.CALL {simm12:target}, {uimm5:return}, ->ra"
    yield _command("BSTART.CALL", 4, 0x50160002, (_SIMM12, _RETURN), call, tier="later")
    icall = "BSTART.ICALL {uimm5:return}, ->ra"
    yield _command("BSTART.ICALL", 4, 0x50166001, (_RETURN,), icall, tier="later")


def _control_starts(name: str, kind: int, tier: Tier) -> Iterator[Form]:
    def start(transfer: str, match: int, *fields: Field) -> Form:
        target = ", {simm17:target}" if fields == (_SIMM17,) else ""
        text = f"{name} {transfer}{target}"
        return _command(f"{name}.{transfer}", 4, match | kind, fields, text, tier=tier, mnemonic=name)

    yield start("FALL", 0x1001, _SIMM17_ZERO)
    yield start("DIRECT", 0x2001, _SIMM17)
    yield start("COND", 0x3001, _SIMM17)
    yield start("IND", 0x5001)
    yield start("RET", 0x7001)


def _stops() -> Iterator[Form]:
    yield _command("BSTOP", 4, 0x00000001)
    yield _command("C.BSTOP", 2, 0x0000)
    yield _command("L.BSTOP", 8, 0x0000_0001_0000_000F, tier="later")


def _attributes() -> Iterator[Form]:
    catr = ("DR", 26), ("trap", 19), ("far", 18), ("atom", 17), ("aq", 16), ("rl", 15)
    yield _command(
        "B.CATR",
        4,
        0x00000023,
        tuple(bits(name, lsb, 1) for name, lsb in catr),
        "B.CATR {{trap+atom+aq+rl+far+DR:attributes}}",
    )
    yield _command(
        "B.DATR",
        4,
        0x00001023,
        (
            bits("CMode", 29, 3, allowed=range(6)),
            bits("PadValueOrByteId", 27, 2),
            bits("Sat", 26, 1),
            bits("Canonicalize", 25, 1),
            bits("DataType", 20, 5, allowed=_TYPES | {dtypes.NONE_CODE}),
            bits("RMode", 15, 3),
            bits("Layout", 7, 5, allowed=map(int, LayoutCode)),
        ),
        "B.DATR {{Layout:layout}, {DataType:dtype}, {PadValueOrByteId:pad}, {CMode:cmode}, {RMode:rmode},"
        " {Sat:int}, {Canonicalize:int}}",
    )
    nine = (
        "B.FPATR {PreQuantMode:prequant}, {ReluMode:relu}, {GroupNCode:int}, {RowMaxEn:int},"
        " {GroupMaxEn:int}, {RowMaxInit:int}, {MaxAbsEn:int}, {TransA:int}, {TransB:int}"
    )
    yield _command(
        "B.FPATR",
        4,
        0x00002023,
        (
            bits("PreQuantMode", 26, 6, allowed=PRE_QUANT_MODES),
            bits("ReluMode", 23, 3, allowed=map(int, ReluMode)),
            bits("GroupNCode", 19, 4, allowed=range(len(GROUP_COLUMNS))),
            bits("RowMaxEn", 18, 1),
            bits("GroupMaxEn", 17, 1),
            bits("RowMaxInit", 16, 1),
            bits("MaxAbsEn", 15, 1),
            bits("TransA", 7, 1),
            bits("TransB", 8, 1),
            bits("CScaleEn", 9, 1),
        ),
        nine + ", {CScaleEn:int}",
        nine,
    )
    yield _command(
        "B.HINT",
        4,
        0x00000033,
        (bits("L/UL", 16, 1), bits("V", 15, 1), bits("prefetch_size", 20, 12), bits("temp", 17, 2)),
        "B.HINT {{V+L/UL:likelihood}{temp:temperature}, {prefetch_size:int}}",
    )
    trace = bits("B/E", 15, 1)
    yield _command("B.HINT.TRACE", 4, 0x00001033, (trace,), "B.HINT TRACE.{B/E:trace}", mnemonic="B.HINT")


def _dimensions() -> Iterator[Form]:
    for n in range(3):
        yield _command(
            f"B.DIM.LB{n}",
            4,
            0x00000043 | n << 12,
            (_REG_SRC, _UIMM17),
            f"B.DIM LB{n}, {{uimm17:int}}",
            f"B.DIM LB{n}, {{RegSrc:gpr}}, {{uimm17:int}}",
            f"B.DIM LB{n}, {{RegSrc:gpr}}",
            f"B.DIM LB{n}={{uimm17:int}}",
            f"B.DIM {{RegSrc:gpr}}, {{uimm17:int}}, ->LB{n}",
            mnemonic="B.DIM",
        )
    short = (bits("LoopNest", 14, 2, allowed=range(3)), bits("imm8", 6, 8))
    yield _command("C.B.DIMI", 2, 0x003C, short, "C.B.DIMI {imm8:int}, ->LB{LoopNest:int}")


def _bindings() -> Iterator[Form]:
    yield _command(
        "B.IOR",
        4,
        0x00000013,
        (_REG_DST, _REG_SRC0, _REG_SRC1, _REG_SRC2),
        "B.IOR {RegSrc0:gpr}, {RegSrc1:gpr}, {RegSrc2:gpr}, ->{RegDst:gpr}",
        "B.IOR {RegSrc0:gpr}, {RegSrc1:gpr}, {RegSrc2:gpr}",
        "B.IOR {RegSrc0:gpr}, {RegSrc1:gpr}, ->{RegDst:gpr}",
        "B.IOR {RegSrc0:gpr}, {RegSrc1:gpr}",
        "B.IOR {RegSrc0:gpr}, ->{RegDst:gpr}",
        "B.IOR {RegSrc0:gpr}",
    )

    one, two = "{SrcTile0:tile}, ", "{SrcTile0:tile}, {SrcTile1:tile}, "
    yield _local("B.IOT.D", 0x6013, (), "", destination=True)
    yield _local("B.IOT.S", 0x5013, (_SRC_TILE0,), one, destination=False)
    yield _local("B.IOT.SD", 0x5013, (_SRC_TILE0,), one, destination=True)
    yield _local("B.IOT.SS", 0x4013, (_SRC_TILE1, _SRC_TILE0), two, destination=False)
    yield _local("B.IOT.SSD", 0x4013, (_SRC_TILE1, _SRC_TILE0), two, destination=True)

    yield _command(
        "B.IOS",
        4,
        0x00001013,
        (bits("SharedTID", 20, 6), _SHARED_SIZE, _PE_MODE),
        "B.IOS {SharedTID:shared}, mask={PEMode:mask}",
        "B.IOS mask={PEMode:mask}, ->{SharedTID:shared}<{SizeCode:size}>",
    )
    yield _command(
        "B.SUBVIEW",
        4,
        0x00000053,
        (
            bits("SrcSelect", 31, 1),
            _UIMM11,
            _REG_SRC,
            bits("SubviewSizeCode", 7, 4, allowed=range(1, MAX_SHARED_SIZE_CODE + 1)),
        ),
        "B.SUBVIEW {SrcSelect:int}, {RegSrc:gpr}, {uimm11:int}, {SubviewSizeCode:int}",
    )
    yield _command(
        "B.ASSEMBLE",
        4,
        0x00001053,
        (
            bits("INIT", 31, 1),
            _UIMM11,
            _REG_SRC,
            bits("LAST", 11, 1),
            bits("SizeCode", 7, 4, allowed=range(MAX_SHARED_SIZE_CODE + 1)),
        ),
        "B.ASSEMBLE {INIT:int}, {LAST:int}, {RegSrc:gpr}, {uimm11:int}, {SizeCode:int}",
    )


def _local(key: str, match: int, sources: tuple[Field, ...], text: str, *, destination: bool) -> Form:
    """A B.IOT form. Without a destination the size code is a fixed 0 and the hand bits mean nothing."""
    syntax: tuple[str, ...]
    if destination:
        fields = (*sources, _LAST, _LOCAL_SIZE, _PE_MODE, _DST_TILE)
        arrow = ", ->{DstTile:hand}<{SizeCode:size}>"
        head = f"B.IOT {text}mask={{PEMode:mask}}"
        syntax = (f"{head}{{L:last}}{arrow}", f"{head}{arrow}{{L:last}}")
    else:
        fields = (*sources, _LAST, _PE_MODE, _IGNORED)
        syntax = (f"B.IOT {text}mask={{PEMode:mask}}{{L:last}}",)
    return _command(key, 4, match, fields, *syntax, mnemonic="B.IOT")


def _system() -> Iterator[Form]:
    """Commands outside this machine: frame templates, memory templates, queues and context handling."""
    memory = "[{RegSrc0:gpr}, {RegSrc1:gpr}, {RegSrc2:gpr}]"
    context = "[{RegSrc0:source}, {RegSrc1:source}, {RegSrc2:source}]"
    sources = (_REG_SRC0, _REG_SRC1, _REG_SRC2)
    yield _command("ERCOV", 4, 0x3031, _ANY_SRCS, f"ERCOV {context}", tier="reserved")
    yield _command("ESAVE", 4, 0x2031, _ANY_SRCS, f"ESAVE {context}", tier="reserved")
    yield _command("MCOPY", 4, 0x0031, sources, f"MCOPY {memory}", tier="later")
    yield _command("MSET", 4, 0x1031, sources, f"MSET {memory}", tier="later")
    crossing = (bits("ACR-ID", 15, 10), bits("CROSS-BID", 25, 7))
    yield _command("XB", 4, 0x6F81, crossing, "XB {ACR-ID:int}, {CROSS-BID:int}", tier="reserved")

    def frame(key: str, match: int, side: str, first: Field) -> Form:
        end = _gpr(f"{side}End", 20, 2)
        text = f"{key} [{{{side}Begin:gpr}} ~ {{{side}End:gpr}}], sp!, {{uimm:int}}"
        return _command(key, 4, match, (first, end, _FRAME_UIMM), text, tier="later")

    yield frame("FENTRY", 0x0041, "Src", _gpr("SrcBegin", 15, 2))
    yield frame("FEXIT", 0x1041, "Dst", _gpr("DstBegin", 15, 2))
    yield frame("FRET.RA", 0x2041, "Dst", _gpr("DstBegin", 15, 2))
    yield frame("FRET.STK", 0x3041, "Dst", bits("DstBegin", 15, 5, allowed=[10]))

    dst, left, right = bits("RegDst", 23, 5), bits("SrcL", 31, 5), bits("SrcR", 36, 5)
    e, r, s, h, i = bits("e", 41, 1), bits("r", 42, 1), bits("s", 43, 1), bits("h", 43, 1), bits("i", 44, 1)
    pop = (bits("RegDst0", 23, 5), bits("RegDst1", 11, 5), left, e, r)
    # The queue commands have no text here, they are shown as raw data.
    yield _command("HL.QPOP", 6, 0x0000_207D_000E, pop, tier="later")
    yield _command("HL.QPUSH", 6, 0x0000_107D_000E, (dst, left, right, e, h, r), tier="later")
    yield _command("HL.QMT", 6, 0x0000_007D_000E, (dst, left, right, e, i, r, s), tier="later")


STARTS: frozenset[str] = frozenset(f.key for f in _starts()) | {"B.HINT.TRACE"}
"""Keys of the forms that open a block (and end the one before)."""

STOPS: frozenset[str] = frozenset(f.key for f in _stops())

COMMANDS: tuple[Form, ...] = (
    *_starts(),
    *_stops(),
    *_attributes(),
    *_dimensions(),
    *_bindings(),
    *_system(),
)
