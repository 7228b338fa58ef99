"""Assembly text: statements, images and text give one another back, and errors come all at once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import instructions

from ptoc.backend import AssemblyError, assemble, disassemble
from ptoc.backend.assembler import parse, print_statements
from ptoc.backend.encoder import encode
from ptoc.backend.statements import (
    Access,
    Align,
    Bytes,
    Entry,
    Inst,
    Iota,
    Label,
    Location,
    Section,
    Splat,
    Statement,
)
from ptoc.isa.encoding import FORMS, EncodingError, Instruction, make
from ptoc.isa.image import MAGIC, AccessRow, Image, LineRow, Symbol, pack, unpack
from ptoc.isa.text import canonical, target_field

DATA = Path(__file__).parents[1] / "isa" / "data" / "encodings_examples.json"
EXAMPLES = json.loads(DATA.read_text())


any_instruction = st.sampled_from(FORMS).flatmap(instructions)
block_parts = st.sampled_from(
    [f for f in FORMS if f.mnemonic in ("B.IOT", "BSTOP", "C.BSTOP", "BSTART.TLOAD")]
).flatmap(instructions)
names = st.from_regex(r"\.?[A-Za-z_$é][\w.$]{0,8}", fullmatch=True)
small = st.integers(-(2**40), 2**40)
files = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
widths = st.sampled_from([1, 2, 4, 8])
statement = st.one_of(
    st.builds(Section, st.sampled_from(["text", "data"])),
    st.builds(Label, names),
    st.builds(Entry, st.none() | names),
    st.builds(Inst, any_instruction.filter(canonical)),
    st.builds(Inst, block_parts.filter(canonical)),
    st.builds(Inst, st.just(make("BSTART.STD.COND")), names),
    st.builds(Location, files, st.integers(0, 2**31), st.integers(0, 2**31)),
    st.builds(Access, st.integers(0, 100)),
    st.builds(Splat, widths, small, st.integers(0, 9)),
    st.builds(Iota, widths, small, st.integers(0, 9), small, st.integers(0, 9), small),
    st.builds(Bytes, st.binary(min_size=1, max_size=20)),
    st.builds(Align, st.integers(1, 64)),
)


@given(st.lists(statement, max_size=12))
def test_statements_survive_text(statements: list[Statement]) -> None:
    assert parse(print_statements(statements)) == statements


@st.composite
def programs(draw: st.DrawFn) -> list[Statement]:
    """Statements that encode: labels once, branches to labels near by, everything in its section."""
    code: list[Statement] = []
    labels = draw(st.lists(names, unique=True, max_size=3))
    for label in labels:
        code += [Label(label), *draw(st.lists(emitting, max_size=5))]
        code.append(Inst(make(draw(st.sampled_from(["BSTART.COND", "J"]))), draw(st.sampled_from(labels))))
    code += draw(st.lists(emitting, max_size=5))
    data = st.lists(st.builds(Bytes, st.binary() | st.just(bytes(99))), max_size=3)
    return [*code, Section("data"), Label("data."), *draw(data)]


emitting = st.one_of(
    st.builds(Inst, any_instruction),
    st.builds(Inst, block_parts),
    st.builds(Bytes, st.binary(max_size=12).filter(lambda b: len(b) % 2 == 0)),
    st.builds(Location, files.filter(lambda f: "\0" not in f), st.integers(0, 99), st.integers(0, 99)),
)


@given(programs())
def test_images_survive_text(statements: list[Statement]) -> None:
    image = pack(encode(statements))
    assert assemble(disassemble(image)) == image
    assert assemble(disassemble(image, source=True, origin=0x10000)) == image


@given(st.binary(max_size=40).filter(lambda code: not code.startswith(MAGIC)))
def test_any_code_survives_text(code: bytes) -> None:
    assert assemble(disassemble(code), raw=True) == code


@given(st.lists(block_parts, max_size=8))
def test_blocks_survive_text(insts: list[Instruction]) -> None:
    code = b"".join(inst.to_bytes() for inst in insts)
    assert assemble(disassemble(code), raw=True) == code


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e["asm"])
def test_worked_examples(example: dict) -> None:
    code = bytes.fromhex(example["bytes"])
    assert assemble(example["asm"], raw=True) == code
    assert assemble(disassemble(code), raw=True) == code
    raw = example["asm"].startswith(".word")
    assert disassemble(code).startswith(".word") == raw


SAMPLE = """\
# A loop over one block.
.text
.loc "kernel.py" 3 5
start:
    .access 1
    BSTART.TLOAD FP16; B.DIM LB0, 16       // two on a line
    B.IOT mask=1111, ->N<3>
    BSTOP
    .loc "kernel.py" 4 1
    addi a2, 1, ->a2
    BSTART.STD COND, start; setc.ltu a2, a3; bstop
.data
table: .iota 2, 10, 2, 100, 3, 1
    .fill 4, -1, 2
    .align 8
end:
    .byte 1, 0x2
"""


def test_what_a_program_becomes() -> None:
    image = unpack(assemble(SAMPLE))
    assert image == Image(
        code=image.code,
        data=bytes([10, 0, 11, 0, 12, 0, 110, 0, 111, 0, 112, 0]) + b"\xff" * 8 + bytes(4) + b"\1\2",
        symbols=(Symbol("start", "text", 0), Symbol("table", "data", 0), Symbol("end", "data", 24)),
        lines=(LineRow(0, "kernel.py", 3, 5), LineRow(16, "kernel.py", 4, 1)),
        accesses=(AccessRow(0, 1),),
    )
    assert image.code == assemble(SAMPLE, raw=True)
    assert disassemble(image.code) == (
        "BSTART.TLOAD FP16\n"
        "B.DIM LB0, 16\n"
        "B.IOT mask=1111, last, ->N<3>\n"
        "BSTOP\n"
        "addi a2, 1, ->a2\n"
        "BSTART.STD COND, .-20\n"
        "setc.ltu a2, a3\n"
        "BSTOP\n"
    )


@pytest.mark.parametrize("entry", ["go", None])
def test_the_entry_survives_text(entry: str | None) -> None:
    label = [Label("go")] if entry else []
    statements = [Inst(make("BSTOP")), *label, Entry(entry), Inst(make("BSTOP"))]
    image = pack(encode(statements))
    assert unpack(image).entry == 4
    assert assemble(disassemble(image)) == image
    assert assemble(disassemble(image, source=True)) == image


def test_an_access_without_a_start_has_no_text() -> None:
    code = make("BSTOP").to_bytes() + make("BSTART.TLOAD").to_bytes()
    image = Image(code, accesses=(AccessRow(0, 1), AccessRow(4, 2), AccessRow(6, 3), AccessRow(8, 4)))
    assert unpack(assemble(disassemble(pack(image)))).code == code
    assert ".access 2" in disassemble(pack(replace(image, accesses=image.accesses[:2])))


def test_listing_shows_addresses_and_source(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("first\n  second(x)\n")
    image = encode([Location(str(file), 2, 3), Label("go"), Inst(make("BSTOP"))])
    listing = disassemble(pack(image), origin=0x10000, source=True)
    assert listing == (
        f"    .text\ngo:\n// {file}:2: second(x)\n    .loc {json.dumps(str(file))} 2 3\n{'    BSTOP':<56}// 0x10000\n"
    )


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("BSTART.TLOAD U8; B.IOT mask=1111, ->T<1>; BSTOP", [1]),
        ("BSTART.TLOAD U8; B.IOT mask=1111, ->T<1>, open; BSTOP", [0]),
        ("BSTART.TLOAD U8; B.IOT mask=1111, ->T<1>", [1]),
        ("BSTART.TLOAD U8; B.IOT T#1, mask=1111; B.IOT T#2, mask=1111; BSTOP", [0, 1]),
        ("BSTART.TLOAD U8; B.IOT T#1, mask=1111, last; B.IOT T#2, mask=1111; BSTOP", [1, 0]),
        ("BSTART.TLOAD U8; B.IOT T#1, mask=1111, open; B.IOT T#2, mask=1111; BSTOP", [0, 1]),
        ("BSTART.TLOAD U8; B.IOT T#1, mask=1111; B.IOT T#2, mask=0000; BSTOP", [1, 0]),
        ("BSTART.TLOAD U8; B.IOT T#1, mask=1111; BSTART.TLOAD U8; B.IOT T#1, mask=1111", [1, 1]),
        ("B.IOT mask=1111, ->T<1>; BSTOP", [0]),
    ],
)
def test_the_last_binder(text: str, last: list[int]) -> None:
    insts = [s.instruction for s in parse(text) if isinstance(s, Inst)]
    assert [inst["L"] for inst in insts if inst.form.mnemonic == "B.IOT"] == last


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("BSTOP\n  BSTART.TLOAD FP17", "2:16", "expected a data type such as FP16, found 'FP17'"),
        ("a: b: BSTOP 1", "1:13", "expected the end of the instruction, found '1'"),
        ("BSTOP; FOO // comment", "1:8", "no instruction is called 'FOO'"),
        ("j nowhere", "1:1", "label nowhere is not defined"),
        ("x: BSTOP\nx: BSTOP", "2:1", "label x is defined twice"),
        ("j d\n.data\nd: .byte 1", "1:1", "label d is not at an instruction"),
        (
            "C.BSTART COND, far\n.fill 8, 0, 1000\nfar: BSTOP",
            "1:1",
            "label far is +8002 bytes away, C.BSTART reaches -4096..+4094",
        ),
        (".data\nBSTOP", "2:1", "BSTOP stands outside .text"),
        (".byte 1\nBSTOP", "2:1", "BSTOP would stand at odd offset 0x1"),
        (".access 1\naddi a0, 1, ->a0", "1:1", "no block start follows this access"),
        (".byte 256", "1:7", "256 does not fit in 1 bytes"),
        (".byte 1, x", "1:9", "expected an integer, found 'x'"),
        (".byte", "1:6", "expected an integer, found ''"),
        (".fill 4, 1", "1:7", ".fill takes 3 numbers, not 2"),
        (".fill 3, 1, 1", "1:1", "width 3 must be one of 1, 2, 4, 8"),
        (".fill 1, 256, 1", "1:1", "256 does not fit in 1 bytes"),
        (".fill 8, 0, 1000000000000", "1:1", "1000000000000 integers are not in 0..1073741824 bytes"),
        (".iota 4, 0, -1, 0, 1, 0", "1:1", "-1 x 1 integers cannot be"),
        (".align 0", "1:1", "alignment 0 is not in"),
        (".loc file 1 1", "1:6", "a file name in quotes, a line and a column must follow"),
        ('.loc "a" 4294967296 1', "1:1", "number 4294967296 does not fit in 32 bits"),
        ('.loc "\\u0000" 1 1', "1:1", "a name contains NUL or is too long"),
        ('.loc "\\ud800" 1 1', "1:1", "name '\\ud800' has no UTF-8 form"),
        (".access -1\nBSTART.TLOAD U8", "1:1", "number -1 does not fit in 32 bits"),
        (".byte " + "9" * 5000, "1:7", "expected an integer, found '999"),
        ("B.DIM LB0, " + "9" * 5000, "1:12", "uimm17 = 999"),
        (".entry x", "1:1", "label x is not defined"),
        (".entry 1", "1:8", "expected a label, found '1'"),
        (".entry; .entry", "1:9", "the entry is given twice"),
        (".data\n.entry", "2:1", "the entry stands outside .text"),
        (".data\nx:\n.entry x", "3:1", "the entry is not in .text"),
        (".byte 1\nx: .entry x", "2:4", "the entry would be at odd offset 0x1"),
        (".bss", "1:1", "there is no directive .bss"),
        (".text 1", "1:7", ".text takes nothing, found '1'"),
    ],
)
def test_errors_say_where(text: str, place: str, message: str) -> None:
    with pytest.raises(AssemblyError) as error:
        assemble(text, file="t.s")
    assert f"t.s:{place}: {message}" in str(error.value)


@given(st.text(max_size=60))
def test_noise_gives_errors_only(text: str) -> None:
    try:
        assemble(text)
    except AssemblyError as error:
        assert error.problems


def test_all_errors_are_told() -> None:
    text = "BSTART.TLOAD FP17\nBSTOP\n  B.IOT T#1, mask=01\nj nowhere\n"
    with pytest.raises(AssemblyError) as error:
        assemble(text, file="t.s")
    assert str(error.value) == (
        "t.s:1:14: expected a data type such as FP16, found 'FP17'\n"
        "    BSTART.TLOAD FP17\n"
        "    syntax: BSTART.TLOAD DataType\n"
        "t.s:3:19: expected four mask digits such as 1111, found '01'\n"
        "    B.IOT T#1, mask=01\n"
        "    syntax: B.IOT SrcTile0, mask=PEMode[, last]\n"
        "t.s:4:1: label nowhere is not defined\n"
        "    j nowhere"
    )
    assert [problem.line for problem in error.value.problems] == [1, 3, 4]


def test_the_encoder_alone() -> None:
    assert encode([Inst(make("J"), "x"), Label("x")]).code == make("J", simm22=2).to_bytes()
    with pytest.raises(EncodingError, match="label x is not defined\nBSTOP has no branch target"):
        encode([Inst(make("J"), "x"), Inst(make("BSTOP"), "x"), Label("y")])
    lines = encode([Location("a", 1, 1), Inst(make("BSTOP")), Location("a", 1, 1), Inst(make("BSTOP"))]).lines
    assert lines == (LineRow(0, "a", 1, 1),)


def test_every_branch_finds_its_target() -> None:
    branches = [form for form in FORMS if target_field(form)]
    assert {"BSTART.COND", "C.BSTART.DIRECT", "BSTART.STD.COND", "J"} <= {form.key for form in branches}
    for form in branches:
        code = encode([Label("back"), Bytes(bytes(6)), Inst(make(form.key), "back")]).code
        assert code[6:] == make(form.key, **{str(target_field(form)): -3}).to_bytes()
