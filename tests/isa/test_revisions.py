"""A made-up revision moves fields and renames codes; everything that reads or writes instructions follows."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import ptoc
from ptoc.backend import AssemblyError, assemble, disassemble
from ptoc.backend.assembler import parse, print_statements
from ptoc.backend.encoder import encode
from ptoc.backend.statements import Inst, Revision
from ptoc.isa import REVISION
from ptoc.isa.encoding import EncodingError, make
from ptoc.isa.forms import Form, bits, form
from ptoc.isa.image import pack, unpack
from ptoc.isa.instruction_set import InstructionSet
from ptoc.isa.revisions import NEWEST, REVISIONS, RevisionError, instruction_set
from ptoc.runtime import Machine, Memory

NAME = "made-up"
# SizeCode of B.IOT gives its place to PEMode, and is in two pieces now.
BINDER = {"SizeCode": ((9, 0, 3), (18, 3, 1)), "PEMode": ((15, 0, 3),)}
# The type and the layout of B.DATR change places.
ATTRIBUTES = {"DataType": ((7, 0, 5),), "Layout": ((20, 0, 5),)}
NAMES = {"dtype": {"FP16": "HALF", "FP32": "SINGLE"}, "layout": {"ND2N8": "ROWS_TO_N8", "NORM": "PLAIN"}}


def moved(old: Form, pieces: dict[str, tuple[tuple[int, int, int], ...]]) -> Form:
    """The form with some of its fields in other bits."""
    fields = tuple(replace(f, pieces=pieces.get(f.name, f.pieces)) for f in old.fields)
    kind, tier, mnemonic = old.kind, old.tier, old.mnemonic
    return form(old.key, old.length, old.match, fields, *old.syntax, kind=kind, tier=tier, mnemonic=mnemonic)


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[InstructionSet]:
    binders = [moved(f, BINDER) for f in NEWEST.forms if f.mnemonic == "B.IOT"]
    isa = NEWEST.revised(NAME, forms=[*binders, moved(NEWEST.by_key["B.DATR"], ATTRIBUTES)], names=NAMES)
    monkeypatch.setitem(REVISIONS, NAME, isa)
    yield isa


def test_fields_move(made_up: InstructionSet) -> None:
    old = make("B.IOT.D", L=1, PEMode=7, SizeCode=9, DstTile=3)
    new = made_up.remake(old)
    assert old.encode() == 0x000CEF93
    assert new.encode() == 0x000FE393
    assert made_up.decode_word(0x000FE393, 4) == new
    assert NEWEST.remake(new).encode() == old.encode()
    assert made_up.remake(new) is new
    assert made_up.format(new) == NEWEST.format(old) == "B.IOT mask=1111, last, ->N<9>"


def test_names_change(made_up: InstructionSet) -> None:
    text = "B.DATR {ROWS_TO_N8, HALF, Max, EQ, Default, 0, 0}"
    inst = made_up.parse(text).instruction
    assert made_up.format(inst) == text
    assert NEWEST.format(NEWEST.remake(inst)) == "B.DATR {ND2N8, FP16, Max, EQ, Default, 0, 0}"
    with pytest.raises(ValueError, match="expected a data type such as FP16, found 'FP16'"):
        made_up.parse("BSTART.TLOAD FP16")
    with pytest.raises(ValueError, match="no code is called FP17"):
        NEWEST.revised("x", names={"dtype": {"FP17": "HALF"}})


def test_what_the_other_revision_lacks() -> None:
    old = NEWEST.by_key["B.HINT.TRACE"]
    wider = form(old.key, 4, old.match, (*old.fields, bits("depth", 16, 2)), kind="command", tier="later")
    added = form("BSTART.NEW", 4, 0x0007_7777, (bits("x", 20, 4),), "BSTART.NEW {x:int}", kind="command", tier="later")
    isa = NEWEST.revised("more", forms=[wider, added])
    assert isa.parse("BSTART.NEW 3").instruction == isa.make("BSTART.NEW", x=3)
    with pytest.raises(EncodingError, match=r"no instruction form is called BSTART\.NEW"):
        NEWEST.remake(isa.make("BSTART.NEW", x=3))
    with pytest.raises(EncodingError, match=r"B\.HINT\.TRACE has no field depth"):
        NEWEST.remake(isa.make("B.HINT.TRACE", depth=1))


def test_revisions_are_found_by_name(made_up: InstructionSet) -> None:
    assert instruction_set(NAME) is made_up
    assert instruction_set() is instruction_set(REVISION) is NEWEST
    with pytest.raises(RevisionError, match=r"no ISA revision is called 'x', known: 0\.58\.3\+seeds, made-up"):
        instruction_set("x")
    with pytest.raises(ptoc.ArgumentError, match="no ISA revision is called 'x'"):
        ptoc.Target(isa="x")


# Two rows of four halves from 0x40 to 0x80.
COPY = """\
BSTART.TLOAD {half}
B.DIM LB0, 4
B.DIM LB1, 2
B.IOR a0, a1
B.IOT mask=0001, last, ->T<1>
BSTOP
BSTART.TSTORE {half}
B.DIM LB0, 4
B.DIM LB1, 2
B.IOR a2, a1
B.IOT T#1, mask=0001, last
BSTOP
"""


def copied(image: bytes) -> bytes:
    machine = Machine(memory=Memory(256))
    machine.load_image(image)
    machine.memory.write(0x40, bytes(range(16)))
    for register, value in (("a0", 0x40), ("a1", 8), ("a2", 0x80)):
        machine.set_gpr(register, value)
    assert machine.run().status == "halted"
    return bytes(machine.memory.read(0x80, 16))


def test_the_simulator_follows() -> None:
    old = assemble(COPY.format(half="FP16"))
    new = assemble(f'.isa "{NAME}"\n' + COPY.format(half="HALF"))
    assert unpack(old).isa == REVISION
    assert unpack(new).isa == NAME
    assert unpack(old).code != unpack(new).code
    assert copied(old) == copied(new) == bytes(range(16))


def test_faults_are_told_in_the_revision() -> None:
    machine = Machine()
    machine.load(assemble(f'.isa "{NAME}"\n' + COPY.format(half="HALF"), raw=True), isa=NAME)
    fault = machine.run().fault
    assert fault is not None and fault.text[0] == "BSTART.TLOAD HALF"
    with pytest.raises(RevisionError):
        machine.load(b"", isa="x")


def test_images_survive_text() -> None:
    image = assemble(f'.isa "{NAME}"\n.text\n' + COPY.format(half="HALF"))
    text = disassemble(image)
    assert text.startswith(f'    .isa "{NAME}"\n    .text\n    BSTART.TLOAD HALF\n')
    assert assemble(text) == image
    code = unpack(image).code
    text = disassemble(code, isa=NAME)
    assert text.startswith(f'.isa "{NAME}"\nBSTART.TLOAD HALF\n')
    assert assemble(text, raw=True) == code
    with pytest.raises(RevisionError, match="no ISA revision is called 'lost'"):
        disassemble(pack(replace(unpack(image), isa="lost")))


def test_statements_are_remade() -> None:
    statements = [Revision(NAME), Inst(make("BSTART.TLOAD", DataType=4)), Inst(make("B.IOT.D", PEMode=7, SizeCode=1))]
    text = print_statements(statements)
    assert text == f'    .isa "{NAME}"\n    BSTART.TLOAD HALF\n    B.IOT mask=1111, ->T<1>, open\n'
    assert encode(parse(text)) == encode(statements)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('.isa "x"', "t.s:1:6: no ISA revision is called 'x'"),
        (".isa made-up", "t.s:1:6: the name of a revision in quotes must follow"),
        ('.isa "', "t.s:1:6: the name of a revision in quotes must follow"),
        (f'BSTOP\n.isa "{NAME}"', "t.s:2:1: the revision stands before the instructions"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(AssemblyError) as error:
        assemble(text, file="t.s")
    assert message in str(error.value)


def test_kernels_are_compiled_for_a_revision() -> None:
    def kernel(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        d = np.matmul(a, b, dtype=np.float32) + c
        return np.where(d > 0, d, c)

    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((24, 7), (7, 24)))
    c = rng.standard_normal((24, 24)).astype(np.float32)
    old = ptoc.jit(kernel)
    new = ptoc.jit(target=ptoc.Target(isa=NAME))(kernel)
    program = new.program_for(a, b, c)
    assert unpack(program.image()).isa == NAME
    assert program.code() != old.program_for(a, b, c).code()
    assert assemble(program.asm()) == program.image()
    assert assemble(disassemble(program.image())) == program.image()
    assert "ROWS_TO_N8" in program.asm()
    np.testing.assert_array_equal(new(a, b, c), old(a, b, c))
