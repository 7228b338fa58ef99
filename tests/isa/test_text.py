"""Instruction text: printing and parsing agree, aliases are read, errors say what was expected."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instructions

from ptoc.isa.encoding import FORMS, Form, decode_word, make
from ptoc.isa.text import Parsed, TextError, canonical, format_instruction, parse_instruction

EXAMPLES = json.loads((Path(__file__).parent / "data" / "encodings_examples.json").read_text())
LINES = [
    (line.strip(), int(word, 16))
    for e in EXAMPLES
    if not e["asm"].startswith(".word")
    for line, word in zip(e["asm"].split(";"), e["words"])
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@settings(max_examples=20)
@given(st.data())
def test_text_gives_the_word_back(form: Form, data: st.DataObject) -> None:
    inst = data.draw(instructions(form))
    text = format_instruction(inst)
    if canonical(inst):
        assert parse_instruction(text) == Parsed(inst)
        assert parse_instruction(text.swapcase()) == Parsed(inst)
    else:
        assert text.startswith((".word", ".half"))


@pytest.mark.parametrize(("line", "word"), LINES, ids=[line for line, _ in LINES])
def test_worked_text(line: str, word: int) -> None:
    parsed = parse_instruction(line)
    assert parsed.instruction.encode() == word
    assert canonical(parsed.instruction)


@pytest.mark.parametrize(
    "text",
    [
        "BSTART.TLOAD FP16",
        "BSTART.VEC TCMP, FP32",
        "BSTART.SFU TSORT, U64",
        "BSTART.TEPL 0, 5, FP32",
        "BSTART.STD COND, .-40",
        "B.CATR {}",
        "B.CATR {trap, atomic, aq, far, dr}",
        "B.DATR {ND2N8, DTYPE_NONE, Max, EQ, Default, 0, 0}",
        "B.FPATR 2, LReLU, 2, 1, 1, 1, 1, 1, 1, 0",
        "B.DIM LB0, a0, 16",
        "B.IOR a0, a1, zero, ->zero",
        "B.IOT T#1, U#16, mask=0111, last, ->M<3>",
        "B.IOT mask=1111, ->N<10>",
        "B.IOS mask=1111, ->S63<12>",
        "B.HINT {BR.unlikely, TEMP.hot, 64}",
        "B.HINT {TEMP.none, 0}",
        "B.HINT TRACE.end",
        "add a0, a1.uw<<3, ->a2",
        "csel a0, a1, a2.neg, ->u",
        "setc.ltui a0, 1<<12",
        "jr ra, -8",
        "hl.lis -2, ->t",
        "FENTRY [ra ~ s8], sp!, 64",
        "BSTART.CALL .+32, .+6, ->ra",
    ],
)
def test_canonical_text(text: str) -> None:
    assert format_instruction(parse_instruction(text).instruction) == text


@pytest.mark.parametrize(
    ("alias", "text"),
    [
        ("bstart.tepl 0, 13, fp32", "BSTART.VEC TCMP, FP32"),
        ("B.DIM zero, 64, ->LB0", "B.DIM LB0, 64"),
        ("B.DIM LB1=0x40", "B.DIM LB1, 64"),
        ("B.DIM LB2, a0", "B.DIM LB2, a0, 0"),
        ("j . -\t0x10", "j .-16"),
        ("B.DIM r2, 5, ->LB1", "B.DIM LB1, a0, 5"),
        ("B.IOT T1,mask=1111,->M<0011>,<last>", "B.IOT T#1, mask=1111, last, ->M<3>"),
        ("B.IOT  T#1 , mask = 1111, <last> , -> M<3>", "B.IOT T#1, mask=1111, last, ->M<3>"),
        ("B.IOR a0", "B.IOR a0, zero, zero, ->zero"),
        ("B.IOR a0, ->a1", "B.IOR a0, zero, zero, ->a1"),
        ("B.FPATR 0, 1, 0, 0, 0, 0, 0, 0, 0", "B.FPATR None, ReLU, 0, 0, 0, 0, 0, 0, 0, 0"),
        ("B.DATR {NORM, FP32, Null, None, RNE, 1, 0}", "B.DATR {NORM, FP32, Null, EQ, RNE, 1, 0}"),
        ("B.CATR {aq, rl}", "B.CATR {aqrl}"),
        ("j .", "j .+0"),
    ],
)
def test_aliases(alias: str, text: str) -> None:
    assert format_instruction(parse_instruction(alias).instruction) == text


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "an instruction is missing"),
        ("TLOAD FP16", 1, "no instruction is called 'TLOAD'"),
        ("BSTART.TLOAD FP17", 14, "expected a data type such as FP16, found 'FP17'"),
        ("BSTART.TLOAD", 13, "expected a data type such as FP16, found the end"),
        ("BSTART.TLOAD DTYPE_NONE", 14, "DataType = 31, must be one of 0..14, 16..20, 24..28"),
        ("BSTART.VEC TSORT, U64", 12, "TSORT runs on the SFU engine, it starts with BSTART.SFU"),
        ("BSTART.VEC TLOAD, U64", 12, "expected an operation of the VEC engine, found 'TLOAD'"),
        ("BSTART COND, .+3", 14, "offset 3 is odd, instructions start at even addresses"),
        ("BSTART.STD COND, .+131072", 18, "simm17 = 65536, must be -65536..65535 (17 bits)"),
        ("BSTOP 4", 7, "expected the end of the instruction, found '4'"),
        ("B.IOT T#0, mask=1111", 7, "T#0 names no tile: the number is the recency, 1 (newest) to 16"),
        ("B.IOT T17, mask=1111", 7, "T17 names no tile"),
        ("B.IOT T#1, mask=0101", 17, "PE mask 0101 has no encoding"),
        ("B.IOT T#1 mask=1111", 11, "expected ',', found 'mask'"),
        ("B.IOT T#1, mask=1111, ->T<11>", 27, "SizeCode = 11, must be one of 1..10"),
        ("B.IOS S64, mask=1111", 7, "SharedTID = 64, must be 0..63 (6 bits)"),
        ("B.DIM LB3, 4", 7, "found 'LB3'"),
        ("B.DIM LB0, 131072", 12, "uimm17 = 131072, must be 0..131071 (17 bits)"),
        ("B.DATR {NORM, FP32}", 19, "expected ',', found '}'"),
        ("B.CATR {aq, aq}", 9, "aq is given twice"),
        ("B.IOR a0, t#1", 11, "expected a register zero, sp,"),
        ("add a0, a1.not, ->a2", 11, "expected .sw or .uw or .neg, found '.not'"),
        ("add a0, t#5, ->a2", 9, "expected a register or queue entry such as a0 or t#1, found 't#5'"),
        ("c.movi 1, ->ra", 13, "RegDst = 10, must be one of 0..9, 11..31"),
        ("jr a0, 3", 8, "offset 3 is odd"),
        ("j .+-2", 4, "expected the end of the instruction, found '+'"),
        ("BSTART.CALL .+2, .+-2, ->ra", 18, "expected a return offset such as .+6, found '.'"),
    ],
)
def test_errors(text: str, column: int, message: str) -> None:
    with pytest.raises(TextError) as error:
        parse_instruction(text)
    assert message in error.value.message
    assert error.value.column == column


def test_branch_targets() -> None:
    branch = make("BSTART.STD.COND", simm17=-4)
    assert format_instruction(branch) == "BSTART.STD COND, .-8"
    assert format_instruction(branch, label={92: "top"}.get, pc=100) == "BSTART.STD COND, top"
    assert format_instruction(branch, label={}.get, pc=100) == "BSTART.STD COND, .-8"
    assert parse_instruction("BSTART.STD COND, top") == Parsed(make("BSTART.STD.COND"), "top")
    assert parse_instruction("j .L1").target == ".L1"


def test_open_is_told_apart() -> None:
    text = "B.IOT T#1, mask=1111{}, ->M<3>"
    assert parse_instruction(text.format(", open")) == Parsed(
        parse_instruction(text.format("")).instruction, None, True
    )


@pytest.mark.parametrize(
    ("word", "length", "text"),
    [
        (0x00085E93, 4, ".word 0x00085e93"),  # source-only B.IOT with ignored bits set
        (0x06316065, 4, ".word 0x06316065"),  # setc.ltu with the second code for "no modifier"
        (0x12310205, 4, "add a0, a1.uw<<2, ->a2"),
        (0x04310277, 4, ".word 0x04310277"),  # csel with an alias code
        (0x00310C05, 4, ".word 0x00310c05"),  # add that discards to 24
        (0x0000207D000E, 6, ".half 0x000e, 0x207d, 0x0000"),  # a queue command
    ],
)
def test_words_without_text(word: int, length: int, text: str) -> None:
    inst = decode_word(word, length)
    assert inst is not None
    assert format_instruction(inst) == text
    assert canonical(inst) == (not text.startswith("."))
