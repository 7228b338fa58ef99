"""Programs of our own, one for every rule that no vector violates; each is named after its rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ptoc.isa.registers import GPR
from ptoc.isa.text import parse_instruction

REGISTERS = {"a0": 0, "a1": 64, "a2": 0x8000, "a3": 1, "s0": 2048, "s1": 3, "s2": 1 << 40}


@dataclass(frozen=True)
class Own:
    """A program as text, how it ends and where; ``lanes`` are registers that differ between the PEs."""

    text: str
    fault: str
    bundle: int
    lanes: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    image: bool = False

    def start(self) -> dict[str, Any]:
        """The start state and program in the form of a vector."""
        pieces = [piece.strip() for line in self.text.splitlines() for piece in line.split(";") if piece.strip()]
        program = []
        for piece in pieces:
            if piece.startswith("."):
                kind, word = piece.split()
                program.append([word, {".half": 16, ".word": 32}[kind]])
            else:
                inst = parse_instruction(piece).instruction
                program.append([hex(inst.encode()), 8 * inst.length])
        values = {name: (value,) * 4 for name, value in REGISTERS.items()} | self.lanes
        gpr = [[pe, GPR[name], hex(value)] for name, of in values.items() for pe, value in enumerate(of)]
        memory = {"size": 1 << 16, "segments": [[0, bytes(n % 7 for n in range(4096)).hex()]]}
        return {"memory": memory, "gpr": gpr, "program": program, "image": self.image}

    def expect(self) -> dict[str, Any]:
        if self.fault == "waiting":
            return {"fault": None, "waiting": self.bundle}
        return {"fault": None if self.fault == "none" else {"kind": self.fault, "bundle": self.bundle}}


def load(dtype: str, cols: int, rows: int, target: str, mask: str = "0001", wide: int = 0) -> str:
    """A TLOAD from a0 with stride a1 into a Local or Shared tile."""
    binder = f"B.IOS mask={mask}, {target}" if "S" in target else f"B.IOT mask={mask}, last, {target}"
    dims = f"B.DIM LB0, {cols}; B.DIM LB1, {rows}; B.DIM LB2, {wide or cols}"
    return f"BSTART.TLOAD {dtype}; {dims}; B.IOR a0, a1; {binder}; BSTOP\n"


def cube(dtype: str, layout: str, cols: int, rows: int, target: str, mask: str = "0001") -> str:
    datr = f"B.DATR {{{layout}, DTYPE_NONE, Null, EQ, Default, 0, 0}}"
    dims = f"B.DIM LB0, {cols}; B.DIM LB1, {rows}"
    return f"BSTART.TLOAD {dtype}; {datr}; {dims}; B.IOR a0, a1; B.IOT mask={mask}, last, {target}; BSTOP\n"


def whole(dtype: str, cols: int, rows: int, name: str, size: int, fragment: int, step: str = "s3") -> str:
    """A Shared tile that four PEs assemble in one bundle."""
    dims = f"B.DIM LB0, {cols}; B.DIM LB1, {rows}; B.DIM LB2, {cols}"
    ends = f"B.IOS mask=1111, ->{name}<{size}>; B.ASSEMBLE 1, 1, {step}, 0, {fragment}; BSTOP\n"
    return f"BSTART.TLOAD {dtype}; {dims}; B.IOR a0, a1; {ends}"


FPATR = "B.FPATR {}, 0, 0, 0, 0, 0, 0, {}, {}, 0"


def fpatr(mode: int = 0, trans_a: int = 0, trans_b: int = 0) -> str:
    return FPATR.format(mode, trans_a, trans_b)


def dims(*values: int) -> str:
    return "; ".join(f"B.DIM LB{n}, {value}" for n, value in enumerate(values))


A, B = cube("S8", "ND2M16", 4, 4, "->T<1>"), cube("S8", "ND2N8", 4, 4, "->U<1>")
AB = A + B
DATR = "B.DATR {{{}, DTYPE_NONE, Zero, EQ, Default, 0, 0}}"
STORE_A = (
    "BSTART.TSTORE S8; B.DATR {M162ND, DTYPE_NONE, Zero, EQ, Default, 0, 0}; B.DIM LB0, 4; B.DIM LB1, 4; "
    "B.IOR a2, a1; B.IOT T#1, mask=0001, last; "
)
COMPARE = "BSTART.VEC TCMP, U8; B.DIM LB0, 8; B.DIM LB1, 4; "
OPERANDS = "B.IOT T#1, U#1, mask=0001, last, ->M<2>"
PRODUCT = f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 4)}; "
PRODUCT_OF = f"BSTART.TMATMUL S8; B.DATR {{{{NORM, {{}}, Zero, EQ, Default, 0, 0}}}}; {fpatr()}; {dims(4, 4, 4)}; "
SHARED_B = load("S8", 4, 4, "->S1<1>", wide=4)
SHARED_A = load("S8", 4, 16, "->S0<1>", wide=4)
GROUP = cube("S8", "ND2M16", 4, 4, "->T<1>", "0001")
ALL = "B.IOS S0, mask=1111; B.IOS S1, mask=1111; "
RIGHT = "B.IOS S1, mask=1111; "
TO_M = "B.IOT mask=1111, last, ->M<2>; BSTOP"
A_TO_M = "B.IOT T#1, mask=1111, last, ->M<2>; BSTOP"
QUARTERS = {"s3": (0, 1, 2, 3)}
TWO = load("U8", 8, 4, "->T<1>") + load("U8", 8, 4, "->T<1>")
PREDICATE = COMPARE + "B.IOT T#1, T#2, mask=0001, last, ->N<1>; BSTOP\n"
INDEX = load("S32", 8, 4, "->U<1>")
SCATTER = "B.IOT T#1, U#1, mask=0001; B.IOT N#1, mask=0001, last; BSTOP"
W = load("S32", 4, 4, "->T<1>", wide=4) + load("S32", 4, 4, "->U<1>", wide=4)
F = load("FP32", 4, 4, "->T<1>", wide=4)


def vector(
    operation: str, operands: str, attributes: str = "NORM, DTYPE_NONE, Zero, EQ, Default, 0, 0", size: int = 4
) -> str:
    """A bundle of a vector operation over 4 x 4 elements, and its operands."""
    return f"BSTART.{operation}; B.DATR {{{attributes}}}; {dims(size, 4)}; {operands}; BSTOP\n"


TO_N = "mask=0001, last, ->N<1>"
BOTH = f"B.IOT T#1, U#1, {TO_N}"
ONE = f"B.IOT T#1, {TO_N}"
BITS = "BSTART.VEC TCMP, S32; B.DIM LB0, 4; B.DIM LB1, 4; B.IOT T#1, U#1, mask=0001, last, ->M<1>; BSTOP\n"
ADD, FILL = "VEC TADD, S32", "VEC TEXPANDS, TF32"
TENTHS = load("TF32", 4, 4, "->T<1>", wide=4)
ZEROS = "BSTART.VEC TEXPANDS, S32; B.DIM LB0, 4; B.DIM LB1, 4; B.IOT mask=0001, last, ->U<1>; BSTOP\n"
ONES = "BSTART.VEC TEXPANDS, S32; B.DIM LB0, 4; B.DIM LB1, 4; B.IOR a3; B.IOT mask=0001, last, ->U<1>; BSTOP\n"
COLUMN = load("FP32", 1, 4, "->U<1>", wide=1)

OWN: dict[str, Own] = {
    "VECTOR.1": Own("BSTART.VEC TADD, U8; B.IOR a0; B.IOT T#9, mask=0000; BSTOP", "none", 0),
    "VECTOR.legal.add": Own(W + vector(ADD, BOTH), "none", 2),
    "VECTOR.legal.divide": Own(W + ONES + vector("SFU TDIV, S32", BOTH), "none", 3),
    "VECTOR.legal.select": Own(
        W + BITS + vector("VEC TSEL, S32", f"B.IOT M#1, T#1, mask=0001; B.IOT U#1, {TO_N}"), "none", 3
    ),
    "VECTOR.legal.compare": Own(W + vector("VEC TCMPS, S32", f"B.IOR a3; {ONE}"), "none", 2),
    "VECTOR.legal.encode": Own(
        vector(FILL, "B.IOT mask=0001, last, ->T<1>") + vector("VEC TADDS, TF32", f"B.IOR zero; {ONE}"), "none", 1
    ),
    "VECTOR.legal.convert": Own(F + vector("VEC TCVT, FP32", ONE, "NORM, S32, Zero, EQ, Default, 0, 0"), "none", 1),
    "VECTOR.legal.difference": Own(
        F + COLUMN + vector("SFU TROWEXPANDEXPDIF, FP32", BOTH, "NORM, FP32, Zero, EQ, Default, 0, 0"), "none", 2
    ),
    "VECTOR.2a": Own(W + vector(ADD, ONE), "BundleControl", 2),
    "VECTOR.2b": Own(W + vector(ADD, BOTH.replace(", last", "")), "BundleControl", 2),
    "VECTOR.2c": Own(W + vector("VEC TADDS, S32", f"B.IOR a3, a3; {ONE}"), "BundleControl", 2),
    "VECTOR.4": Own(W + vector(ADD, BOTH, "NORM, DTYPE_NONE, Zero, NE, Default, 0, 0"), "TileLegality", 2),
    "VECTOR.5a": Own(W + vector(ADD, f"B.IOS S0, mask=0001; {BOTH}"), "TileLegality", 2),
    "VECTOR.5b": Own(W + vector(ADD, f"B.IOR zero; {BOTH}"), "TileLegality", 2),
    "VECTOR.5c": Own(W + vector(ADD, f"B.IOT T#1, mask=0001; B.IOT U#1, {TO_N}"), "TileLegality", 2),
    "VECTOR.5d": Own(W + f"BSTART.{ADD}; B.DIM LB1, 4; {BOTH}; BSTOP", "TileLegality", 2),
    "VECTOR.5e": Own(
        load("S32", 4, 1, "->T<1>") + load("S32", 4, 1, "->U<1>") + f"BSTART.{ADD}; {dims(4, 0)}; {BOTH}; BSTOP",
        "TileLegality",
        2,
    ),
    "VECTOR.5f": Own(
        load("HiF8", 8, 4, "->T<1>") * 2 + f"BSTART.VEC TADD, HiF8; {dims(8, 4)}; B.IOT T#1, T#2, {TO_N}; BSTOP",
        "TileLegality",
        2,
    ),
    "VECTOR.5g": Own(
        W.replace("<1>", "<3>") + vector("VEC TCVT, S32", ONE, "NORM, E8M0, Zero, EQ, Default, 0, 0"), "TileLegality", 2
    ),
    "VECTOR.5h": Own(F + vector("VEC TCVT, FP32", ONE, "NORM, FP32, Zero, EQ, Default, 0, 1"), "TileLegality", 1),
    "VECTOR.5j": Own(
        F + COLUMN + vector("SFU TROWEXPANDEXPDIF, FP32", BOTH, "NORM, U32, Zero, EQ, Default, 0, 0"), "TileLegality", 2
    ),
    "VECTOR.7a": Own(W + vector("VEC TSELS, S32", f"B.IOR a3; {BOTH}"), "TileLegality", 2),
    "VECTOR.7b": Own(
        load("U8", 8, 4, "->T<1>")
        + f"BSTART.VEC TCMP, U8; {dims(8, 4)}; B.IOT T#1, T#1, mask=0001, last, ->U<1>; BSTOP\n"
        f"BSTART.VEC TNOT, U8; {dims(8, 4)}; B.IOT U#1, {TO_N}; BSTOP",
        "TileLegality",
        2,
    ),
    "VECTOR.7c": Own(
        cube("S32", "ND2M16", 4, 4, "->T<2>") + vector("VEC TNOT, S32", ONE.replace("<1>", "<2>")), "TileLegality", 1
    ),
    "VECTOR.7d": Own(W + vector("VEC TADDS, U32", f"B.IOR a3; {ONE}"), "TileLegality", 2),
    "VECTOR.7e": Own(
        load("S32", 4, 4, "->T<1>", wide=4) + load("S32", 3, 4, "->U<1>", wide=4) + vector(ADD, BOTH), "TileLegality", 2
    ),
    "VECTOR.7f": Own(
        load("U8", 8, 32, "->T<2>")
        + f"BSTART.VEC TCMP, U8; {dims(8, 32)}; B.IOT T#1, T#1, mask=0001, last, ->M<1>; BSTOP\n"
        + load("U8", 8, 32, "->T<3>")
        + f"BSTART.VEC TSELS, U8; {dims(8, 32)}; B.IOT M#1, T#1, {TO_N}; BSTOP",
        "TileLegality",
        3,
    ),
    "VECTOR.7g": Own(TENTHS + vector("VEC TABS, TF32", ONE), "TileLegality", 1),
    "VECTOR.7h": Own(
        vector(FILL, "B.IOT mask=0001, last, ->T<1>") + vector("VEC TADDS, TF32", f"B.IOR a3; {ONE}"), "TileLegality", 1
    ),
    "VECTOR.7i": Own(W + ZEROS + vector("SFU TDIV, S32", BOTH), "TileLegality", 3),
    "VECTOR.7j": Own(W + vector(ADD, BOTH.replace("<1>", "<2>")), "TileLegality", 2),
    "VECTOR.6a": Own(
        load("U8", 64, 32, "->T<5>") + f"BSTART.VEC TCMPS, U8; {dims(64, 32)}; B.IOR a3; {ONE}; BSTOP",
        "TileAllocation",
        1,
    ),
    "command.decode.16": Own(
        load("U8", 8, 4, "->S0<1>") + "BSTART.TSTORE U8; B.IOS S0, mask=0001; .word 0x000c00d3", "IllegalInstruction", 1
    ),
    "command.decode.17": Own("BSTART.TLOAD U8; B.IOS mask=0001, ->S0<1>; .word 0x800c10d3", "IllegalInstruction", 0),
    "command.decode.15": Own(
        load("U8", 8, 4, "->S0<1>") + "BSTART.TSTORE U8; B.IOS S0, mask=0001; .word 0x00000053", "IllegalInstruction", 1
    ),
    "command.decode.13": Own("BSTART.TLOAD U8; .word 0x00069213", "IllegalInstruction", 0),
    "command.header.1": Own("B.DIM LB0, 4", "BundleControl", 0),
    "command.header.2": Own("BSTART.TLOAD U8; addi a0, 1, ->a0; B.DIM LB0, 4", "BundleControl", 0),
    "command.catr.1": Own("BSTART.TLOAD U8; B.CATR {aq}; B.CATR {rl}", "BundleControl", 0),
    "command.hint.1": Own(
        "BSTART.TLOAD U8; B.HINT {BR.likely, TEMP.hot, 1}; B.HINT {BR.likely, TEMP.hot, 1}", "BundleControl", 0
    ),
    "command.iot.3": Own("BSTART.TMATMUL S8; " + fpatr() + "; B.IOT T#1, mask=0001" * 5, "TileLegality", 0),
    "command.ios.2": Own("BSTART.TSTORE U8; B.IOS S1, mask=0001; B.IOS S1, mask=0001", "BundleControl", 0),
    "command.ios.3": Own(
        "BSTART.TSTORE U8" + "".join(f"; B.IOS S{n}, mask=0001" for n in range(5)), "BundleControl", 0
    ),
    "command.fpatr.3": Own("BSTART.STD FALL; " + fpatr(), "BundleControl", 0),
    "command.fpatr.4": Own("BSTART.TMATMUL S8; B.IOR zero, zero; " + fpatr(), "BundleControl", 0),
    "command.subview.3": Own(
        "BSTART.TSTORE U8; B.IOS S1, mask=0001; B.SUBVIEW 0, zero, 0, 1; B.SUBVIEW 0, zero, 0, 1", "BundleControl", 0
    ),
    "command.assemble.1": Own(
        "BSTART.TLOAD U8; B.IOT mask=0001, last, ->T<1>; B.ASSEMBLE 1, 1, zero, 0, 11", "TileLegality", 0
    ),
    "command.assemble.3": Own(
        load("U8", 8, 4, "->T<1>") + "BSTART.TSTORE U8; B.IOT T#1, mask=0001, last; B.ASSEMBLE 0, 1, zero, 0, 1",
        "BundleControl",
        1,
    ),
    "command.assemble.4": Own(
        "BSTART.TLOAD U8; B.IOS mask=0001, ->S1<1>; B.ASSEMBLE 1, 1, zero, 0, 1; B.ASSEMBLE 1, 1, zero, 0, 1",
        "BundleControl",
        0,
    ),
    "command.start.1": Own("BSTART.STD IND", "BundleControl", 0),
    "command.start.2": Own("BSTART.TLOAD U8; BSTART.STD IND", "BundleControl", 1),
    "command.start.3": Own("BSTART.STD FALL; setc.tgt a3; BSTART.STD IND", "InstructionPC", 1),
    "completion.2": Own("BSTART.STD DIRECT, .+8; setc.tgt a3; BSTOP", "InstructionPC", 0),
    "completion.3": Own(
        AB + f"BSTART.TMATMUL S8; B.CATR {{dr}}; {fpatr()}; {dims(4, 4, 4)}; {OPERANDS}; BSTOP", "BundleControl", 2
    ),
    "completion.5": Own("BSTART.TLOAD U8; B.IOT mask=0000, last, ->T<1>; BSTOP", "none", 0),
    "completion.12": Own("BSTART.TLOAD U8; B.CATR {trap}; B.IOT mask=0001, last, ->T<1>; BSTOP", "BundlePostCommit", 0),
    "program.condition.1": Own("setc.eq a0, a0", "BundleControl", 0),
    "program.condition.2": Own("BSTART.STD FALL; setc.eq a0, a0", "BundleControl", 0),
    "program.condition.3": Own("BSTART.STD COND, .+8; setc.eq a0, a1; setc.eq a0, a1", "BundleControl", 0),
    "program.target.1": Own("setc.tgt a0", "BundleControl", 0),
    "program.target.2": Own("BSTART.TLOAD U8; setc.tgt a0", "BundleControl", 0),
    "program.jump.1": Own("jr a3, 0", "InstructionPC", 0),
    "TLOAD.cube.1i": Own(
        cube("S8", "ND2M16", 4, 4, "->T<1>").replace("BSTOP", "B.IOS S1, mask=0001; BSTOP"), "TileLegality", 0
    ),
    "TLOAD.cube.4": Own(
        16 * cube("S8", "ND2M16", 4, 4, "->T<8>") + cube("S8", "ND2M16", 4, 4, "->U<1>"), "TileAllocation", 16
    ),
    "TLOAD.shared.3": Own(
        "BSTART.TLOAD U8; B.DATR {NORM, DTYPE_NONE, Max, EQ, Default, 0, 0}; B.IOS mask=0001, ->S1<1>; BSTOP",
        "TileLegality",
        0,
    ),
    "TLOAD.shared.4a": Own(
        "BSTART.TLOAD U8; B.IOS mask=0001, ->S1<1>; B.IOT mask=0001, last, ->T<1>; BSTOP", "TileLegality", 0
    ),
    "TLOAD.shared.4b": Own("BSTART.TLOAD U8; B.IOS S1, mask=0001; BSTOP", "TileLegality", 0),
    "TLOAD.shared.6": Own("BSTART.TLOAD U8; B.DIM LB0, 0; B.IOS mask=0001, ->S1<1>; BSTOP", "TileLegality", 0),
    "TLOAD.shared.7b": Own(load("U8", 8, 4, "->S1<1>", wide=4), "TileLegality", 0),
    "TLOAD.shared.7c": Own(load("U8", 8, 17, "->S1<1>"), "TileLegality", 0),
    "TSTORE.norm.6b": Own(
        load("U8", 8, 4, "->T<1>") + "BSTART.TSTORE S8; B.IOR a2, a1; B.IOT T#1, mask=0001, last; BSTOP",
        "TileLegality",
        1,
    ),
    "TSTORE.cube.1i": Own(
        A + STORE_A + "B.IOS S1, mask=0001; BSTOP",
        "TileLegality",
        1,
    ),
    "TSTORE.shared.1b": Own("BSTART.TSTORE U8; B.IOS mask=0001, ->S1<1>; BSTOP", "TileLegality", 0),
    "TSTORE.shared.1d": Own(
        load("U8", 8, 4, "->S1<1>")
        + load("U8", 8, 4, "->T<1>")
        + "BSTART.TSTORE U8; B.IOR a2, a1; B.IOS S1, mask=0001; B.IOT T#1, mask=0001, last; BSTOP",
        "TileLegality",
        2,
    ),
    "TSTORE.shared.2": Own(
        load("U8", 8, 4, "->S1<1>") + "BSTART.TSTORE U8; B.IOR a2, a1, a3; B.IOS S1, mask=0001; BSTOP",
        "BundleControl",
        1,
    ),
    "TSTORE.shared.5b": Own(
        load("U8", 8, 4, "->S1<1>") + "BSTART.TSTORE U8; B.DIM LB2, 16; B.IOR a2, a1; B.IOS S1, mask=0001; BSTOP",
        "TileLegality",
        1,
    ),
    "TSTORE.shared.5d": Own(
        load("U8", 8, 4, "->S1<1>") + "BSTART.TSTORE U8; B.DIM LB1, 5; B.IOR a2, a1; B.IOS S1, mask=0001; BSTOP",
        "TileLegality",
        1,
    ),
    "TSTORE.shared.6": Own(
        load("U8", 8, 4, "->S1<1>") + "BSTART.TSTORE S8; B.IOR a2, a1; B.IOS S1, mask=0001; BSTOP", "TileLegality", 1
    ),
    "TSTORE.shared.7d": Own(
        load("U8", 8, 4, "->S1<2>")
        + "BSTART.TSTORE U8; B.IOR a2, a1; B.IOS S1, mask=0001; B.SUBVIEW 0, zero, 1, 1; BSTOP",
        "TileLegality",
        1,
    ),
    "TSTORE.shared.7e": Own(
        load("U8", 8, 1, "->S1<2>", wide=256)
        + "BSTART.TSTORE U8; B.IOR a2, a1; B.IOS S1, mask=0001; B.SUBVIEW 0, zero, 1, 1; BSTOP",
        "TileLegality",
        1,
    ),
    "TSTORE.shared.9": Own(
        load("U8", 8, 4, "->S1<1>") + "BSTART.TSTORE U8; B.IOR s2, a1; B.IOS S1, mask=0001; BSTOP", "DataPage", 1
    ),
    "MSCATTER_MASK.1a": Own(
        TWO
        + PREDICATE
        + INDEX
        + "BSTART.MSCATTER.MASK U8; B.DIM LB0, 8; B.DIM LB1, 4; B.IOR a2; B.IOS S1, mask=0001; "
        + SCATTER,
        "TileLegality",
        4,
    ),
    "MSCATTER_MASK.1h": Own(
        TWO
        + PREDICATE
        + INDEX
        + "BSTART.MSCATTER.MASK U8; B.DIM LB0, 8; B.DIM LB1, 4; B.DIM LB2, 4; B.IOR a2; "
        + SCATTER,
        "TileLegality",
        4,
    ),
    "TCMP.2f": Own(
        TWO + COMPARE + "B.IOS S1, mask=0001; B.IOT T#1, T#2, mask=0001, last, ->N<1>; BSTOP",
        "TileLegality",
        2,
    ),
    "TCMP.4c": Own(
        TWO + COMPARE + "B.DIM LB2, 4; B.IOT T#1, T#2, mask=0001, last, ->N<1>; BSTOP",
        "TileLegality",
        2,
    ),
    "tiles.subview.2": Own(
        A + STORE_A + "B.SUBVIEW 0, zero, 1, 1; BSTOP",
        "TileLegality",
        1,
    ),
    "tiles.assemble.3": Own(
        "BSTART.TLOAD U8; B.DIM LB0, 8; B.IOR a0, a1; B.IOS mask=0001, ->S1<2>; B.ASSEMBLE 1, 0, zero, 2, 1; BSTOP",
        "TileLegality",
        0,
    ),
    "tiles.assemble.8": Own(
        "BSTART.TLOAD U8; B.DIM LB0, 8; B.IOT mask=0001, last, ->T<1>; B.ASSEMBLE 1, 1, zero, 0, 1; BSTOP",
        "TileLegality",
        0,
    ),
    "TSTORE.shared.7b": Own(
        load("U8", 8, 4, "->S1<1>")
        + "BSTART.TSTORE U8; B.IOR a2, a1; B.IOS S1, mask=0001; B.SUBVIEW 0, zero, 0, 2; BSTOP",
        "TileLegality",
        1,
    ),
    "TCMP.2a": Own("BSTART.VEC TCMP, U8; B.DIM LB0, 8; B.DIM LB1, 4; BSTOP", "TileLegality", 0),
    "TCMP.4b": Own(
        load("U8", 8, 1, "->T<1>")
        + "BSTART.VEC TCMP, U8; B.DIM LB0, 8; B.DIM LB1, 0; B.IOT T#1, T#1, mask=0001, last, ->N<1>; BSTOP",
        "TileLegality",
        1,
    ),
    "TMATMUL.3a": Own(
        A + cube("U8", "ND2N8", 4, 4, "->U<1>") + PRODUCT_OF.format("U8") + f"{OPERANDS}; BSTOP",
        "TileLegality",
        2,
    ),
    "TMATMUL.3b": Own(
        SHARED_A
        + load("S8", 4, 4, "->S2<1>")
        + SHARED_B
        + f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 4)}; "
        + f"B.IOS S0, mask=1111; B.IOS S2, mask=1111; B.IOS S1, mask=1111; {TO_M}",
        "TileLegality",
        3,
    ),
    "TMATMUL.3c": Own(
        GROUP + SHARED_B + f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 4)}; B.IOS mask=1111, ->S1<1>; {A_TO_M}",
        "TileLegality",
        2,
    ),
    "TMATMUL.4h": Own(
        cube("S8", "ND2M16", 64, 4, "->T<4>")
        + whole("S8", 4, 31, "S1", 3, 1)
        + f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 64)}; {RIGHT}{A_TO_M}",
        "TileLegality",
        2,
        QUARTERS,
    ),
    "TMATMUL.8e": Own(
        AB
        + load("U32", 1, 4, "->N<1>")
        + f"BSTART.TMATMUL S8; B.FPATR 0, 0, 0, 1, 0, 1, 0, 0, 0, 0; {dims(4, 4, 4)}; "
        + "B.IOT T#1, U#1, mask=0001, ->M<2>; B.IOT N#1, mask=0001, last, ->M<1>; BSTOP",
        "TileLegality",
        3,
    ),
    "TMATMUL.9e": Own(
        cube("FP16", "ND2M16", 4, 4, "->T<1>")
        + cube("FP16", "ND2N8", 4, 4, "->U<1>")
        + cube("FP32", "ND2M16", 4, 4, "->N<2>")
        + cube("U8", "ND2M16", 1, 4, "->T<1>")
        + f"BSTART.TMATMUL.ACC FP16; B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0, 1; {dims(4, 4, 4)}; "
        + "B.IOT N#1, T#2, mask=0001; B.IOT U#1, T#1, mask=0001, last, ->M<2>; BSTOP",
        "TileLegality",
        4,
    ),
    "TMATMUL.12d": Own(
        AB + 15 * load("U8", 8, 4, "->N<8>") + f"{PRODUCT}B.IOT T#1, U#1, mask=0001, last, ->M<8>; BSTOP",
        "TileAllocation",
        17,
    ),
    "TMATMUL.3h": Own(AB + PRODUCT + f"B.IOR zero, zero, zero, ->a0; {OPERANDS}; BSTOP", "TileLegality", 2),
    "TMATMUL.3j": Own(
        cube("FP16", "ND2M16", 4, 4, "->T<1>")
        + cube("FP16", "ND2N8", 4, 4, "->U<1>")
        + "BSTART.TMATMUL FP16; B.DATR {NORM, DTYPE_NONE, Zero, EQ, RTZ, 0, 0}; "
        + f"{fpatr(1)}; {dims(4, 4, 4)}; {OPERANDS}; BSTOP",
        "TileLegality",
        2,
    ),
    "TMATMUL.3k": Own(
        AB
        + "BSTART.TMATMUL S8; B.DATR {NORM, DTYPE_NONE, Zero, EQ, Default, 1, 0}; "
        + f"{fpatr()}; {dims(4, 4, 4)}; {OPERANDS}; BSTOP",
        "TileLegality",
        2,
    ),
    "TMATMUL.3m": Own(
        load("S8", 4, 129, "->S0<4>")
        + SHARED_B
        + f"BSTART.TMATMUL S8; {fpatr()}; {dims(129, 4, 4)}; {ALL}"
        + TO_M.replace("<2>", "<4>"),
        "TileLegality",
        2,
    ),
    "TMATMUL.3o": Own(
        cube("S8", "ND2M16", 3, 4, "->T<1>")
        + SHARED_B
        + f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 3)}; {RIGHT}"
        + A_TO_M,
        "TileLegality",
        2,
    ),
    "TMATMUL.3p": Own(
        GROUP + SHARED_B + f"{PRODUCT}B.IOS S1, mask=1111; B.IOT T#1, mask=0001, last, ->M<2>; BSTOP",
        "TileLegality",
        2,
    ),
    "TMATMUL.3q": Own(
        GROUP + SHARED_B + f"{PRODUCT}B.IOS S1, mask=0001; B.IOT T#1, mask=0001, last, ->M<2>; BSTOP",
        "TileLegality",
        2,
    ),
    "TMATMUL.4e": Own(
        GROUP
        + load("S8", 4, 4, "->S1<1>", wide=8)
        + f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 4)}; {RIGHT}"
        + A_TO_M,
        "TileLegality",
        2,
    ),
    "TMATMUL.4f": Own(
        GROUP
        + load("S8", 4, 3, "->S1<1>", wide=4)
        + f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 4)}; {RIGHT}"
        + A_TO_M,
        "TileLegality",
        2,
    ),
    "TMATMUL.4g": Own(
        GROUP
        + load("S8", 3, 4, "->S1<1>", wide=4)
        + f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 4)}; {RIGHT}"
        + A_TO_M,
        "TileLegality",
        2,
    ),
    "TMATMUL.5": Own(GROUP + SHARED_B + f"BSTART.TMATMUL S8; {fpatr()}; {dims(4, 4, 4)}; {RIGHT}" + A_TO_M, "none", 0),
    "TLOAD.norm.0": Own("BSTART.TLOAD U8; B.DIM LB0, 0; B.IOT T#9, mask=0000; BSTOP", "none", 0),
    "TLOAD.cube.0": Own(f"BSTART.TLOAD U8; {DATR.format('ND2M16')}; B.IOT mask=0000, ->T<1>; BSTOP", "none", 0),
    "TLOAD.shared.0": Own("BSTART.TLOAD U8; B.DIM LB0, 0; B.IOS mask=0000, ->S1<1>; BSTOP", "none", 0),
    "TSTORE.norm.0": Own("BSTART.TSTORE U8; B.IOT T#9, mask=0000; BSTOP", "none", 0),
    "TSTORE.cube.0": Own(f"BSTART.TSTORE U8; {DATR.format('M162ND')}; B.IOT T#9, mask=0000; BSTOP", "none", 0),
    "TSTORE.shared.0": Own("BSTART.TSTORE U8; B.DIM LB0, 0; B.IOS S1, mask=0000; BSTOP", "none", 0),
    "MSCATTER_MASK.0": Own("BSTART.MSCATTER.MASK U8; B.IOT T#9, mask=0000; BSTOP", "none", 0),
    "TCMP.0": Own("BSTART.VEC TCMP, U8; B.IOR a0; B.IOT T#9, mask=0000; BSTOP", "none", 0),
    "TMATMUL.0": Own("BSTART.TMATMUL S8; B.IOS S1, mask=0000; B.IOT T#9, mask=0000; BSTOP", "none", 0),
    "command.subview.0": Own("BSTART.TSTORE U8; B.IOS S1, mask=0000; B.SUBVIEW 1, a0, 0, 12; BSTOP", "none", 0),
    "command.assemble.0": Own("BSTART.TLOAD U8; B.IOS S1, mask=0000; B.ASSEMBLE 1, 1, a0, 0, 12; BSTOP", "none", 0),
}
