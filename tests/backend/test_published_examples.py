"""The examples of the published instruction descriptions assemble, and fault where their shape is wrong."""

import pytest

from ptoc.backend import assemble, disassemble
from ptoc.isa.faults import FaultKind
from ptoc.runtime import Machine, Memory

# Word by word, except that names without a value (N, K, DataTile, PE_MASK, ...) have got one, and what is optional in
# words only ("B.DATR EQ, Null") is spelled out.
EXAMPLES = {
    "load": "BSTART.TLOAD U8; B.DIM LB0, 64; B.DIM LB1, 8; B.DIM LB2, 64; B.IOR zero, a0;"
    " B.IOT mask=1111, ->T<1>; BSTOP",
    "load shared": "BSTART.TLOAD FP16; B.DIM LB0, 32; B.DIM LB1, 4; B.IOS mask=0001, ->S7<1>; BSTOP",
    "load cube": "BSTART.TLOAD FP16; B.DATR {ND2N8, DTYPE_NONE, Max, EQ, Default, 0, 0}; B.DIM LB0=16; B.DIM LB1=16;"
    " B.IOT mask=1111, <last>, ->N<3>; BSTOP",
    "store": "BSTART.TSTORE U8; B.DIM LB0, 64; B.DIM LB1, 8; B.DIM LB2, 64; B.IOR a0, a1;"
    " B.IOT T1, mask=1111, last; BSTOP",
    "store shared": "BSTART.TSTORE FP16; B.IOS S7, mask=0011; B.SUBVIEW 0, a0, 0, 7; BSTOP",
    "scatter": "BSTART.MSCATTER.MASK FP32; B.DATR {NORM, DTYPE_NONE, Zero, EQ, Default, 0, 0}; B.DIM LB0=8;"
    " B.DIM LB1=4; B.DIM LB2=8; B.IOT T#1, U#1, mask=1111; B.IOT M#1, mask=1111, <last>;"
    " B.IOR a0, zero, zero, ->zero; BSTOP",
    "compare": "BSTART.VEC TCMP, U64; B.DATR {NORM, FP64, Null, EQ, Default, 0, 0}; B.DIM LB0=4; B.DIM LB1=4;"
    " B.DIM LB2=4; B.IOT T#1, U#1, mask=1111, <last>, ->M<1>; BSTOP",
    "multiply": "BSTART.TMATMUL.ACC FP16; B.DATR {NORM, FP16, Zero, EQ, Default, 0, 0};"
    " B.FPATR None, None, 0, 0, 0, 0, 0, 0, 0, 0; B.DIM LB0, 16; B.DIM LB1, 8; B.DIM LB2, 8;"
    " B.IOT M#1, T#1, mask=1111; B.IOT N#1, mask=1111, last, ->M<3>; BSTOP",
}


def run(text: str) -> FaultKind | str:
    """The fault of a program, or how else it ended."""
    machine = Machine(memory=Memory(1 << 16))
    machine.load_image(assemble(text))
    machine.set_gpr("a1", 64)
    outcome = machine.run()
    return outcome.status if outcome.fault is None else outcome.fault.kind


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_assemble_and_survive_text(name: str) -> None:
    image = assemble(EXAMPLES[name])
    assert assemble(disassemble(image)) == image


def test_shapes_that_do_not_fit_their_size_code_fault() -> None:
    # 64 x 8 bytes are 512, and <1> is 128; 32 x 4 halves are 256.
    assert run(EXAMPLES["load"]) == FaultKind.TileAllocation
    assert run(EXAMPLES["load"].replace("<1>", "<3>")) == "halted"
    assert run(EXAMPLES["load shared"]) == FaultKind.TileLegality
    assert run(EXAMPLES["load shared"].replace("<1>", "<2>")) == "halted"


LOAD = "BSTART.TLOAD {}; B.DIM LB0, {}; B.DIM LB1, {}; B.IOT mask=1111, last, ->{}; BSTOP;"
CUBE = "BSTART.TLOAD {}; B.DATR {{{}, DTYPE_NONE, Null, EQ, Default, 0, 0}}; B.DIM LB0, {}; B.DIM LB1, {};"
CUBE += " B.IOT mask=1111, last, ->{}; BSTOP;"
BEFORE = {
    "load cube": "",
    "store": LOAD.format("U8", 64, 8, "T<3>"),
    # 128 x 32 halves are all that a view of <7> holds.
    "store shared": "BSTART.TLOAD FP16; B.DIM LB0, 32; B.DIM LB1, 128; B.IOS mask=0001, ->S7<7>; BSTOP;",
    "scatter": LOAD.format("FP32", 8, 4, "T<1>")
    + LOAD.format("U32", 8, 4, "U<1>")
    + "BSTART.VEC TCMP, FP32; B.DIM LB0, 8; B.DIM LB1, 4; B.IOT T#1, T#1, mask=1111, last, ->M<1>; BSTOP;",
    "compare": LOAD.format("U64", 4, 4, "T<1>") + LOAD.format("U64", 4, 4, "U<1>"),
    "multiply": CUBE.format("FP16", "ND2M16", 8, 16, "T<2>")
    + CUBE.format("FP16", "ND2N8", 8, 8, "N<1>")
    + CUBE.format("FP32", "ND2M16", 8, 16, "M<3>"),
}


@pytest.mark.parametrize("name", BEFORE)
def test_the_others_run_when_their_operands_are_there(name: str) -> None:
    assert run(BEFORE[name] + EXAMPLES[name]) == "halted"
    if BEFORE[name]:
        assert run(EXAMPLES[name]) == ("waiting" if "B.IOS" in EXAMPLES[name] else FaultKind.TileLegality)
