"""The pages of docs/isa are those that the tables give now."""

import runpy
from pathlib import Path

import pytest

from ptoc.isa import operations
from ptoc.isa.encoding import BY_KEY, FORMS
from ptoc.isa.reference import first_instruction, pages
from ptoc.isa.revisions import NEWEST

GENERATE = Path(__file__).parents[2] / "docs" / "generate.py"


@pytest.fixture(scope="module")
def generate() -> dict:
    return runpy.run_path(str(GENERATE))


def test_the_pages_are_current(generate: dict) -> None:
    names = generate["stale"](generate["FOLDER"])
    assert not names, f"run `python docs/generate.py` and review docs/isa; not current: {', '.join(names)}"


def test_stale_pages_are_found_and_rewritten(generate: dict, tmp_path: Path) -> None:
    generate["write"](tmp_path)
    assert generate["stale"](tmp_path) == []
    (tmp_path / "README.md").write_text("old")
    (tmp_path / "operations" / "TADD.md").unlink()
    (tmp_path / "operations" / "TMADE_UP.md").write_text("too much")
    assert generate["stale"](tmp_path) == ["README.md", "operations/TADD.md", "operations/TMADE_UP.md"]
    generate["write"](tmp_path)
    assert generate["stale"](tmp_path) == []


def test_every_form_and_operation_has_a_page() -> None:
    found = pages(NEWEST, lambda subject: None)
    assert {path for path in found if path.startswith("operations/")} == {
        f"operations/{op.name}.md" for op in operations.ALL
    }
    assert len(found) == len(FORMS) + len(operations.ALL) + len(["README.md", "types.md"])


def test_the_table_of_types_is_that_of_the_schemas() -> None:
    lines = pages(NEWEST, lambda subject: None)["types.md"].splitlines()
    rows = [line.split("|")[1:-1] for line in lines if "|" in line]
    names = [cell.strip() for cell in rows[0][1:]]
    for op, row in zip(operations.ALL, rows[2:], strict=True):
        assert f"[{op.name}]" in row[0]
        taken = {name for name, cell in zip(names, row[1:], strict=True) if cell.strip()}
        assert taken == {dtype.name for dtype in op.schema.types}


def test_a_page_shows_word_and_simulator(generate: dict) -> None:
    assert generate["implemented"](BY_KEY["B.IOT.D"]) == "runtime/header.py"
    assert generate["implemented"](operations.BY_NAME["TCMP"]) == "runtime/operations/tcmp.py"
    assert generate["implemented"](operations.BY_NAME["TIMG2COL"]) is None
    page = pages(NEWEST, generate["implemented"])["commands/C.B.DIMI.md"]
    assert (
        " 15      14 13   6 5      0\n"
        "+----------+------+--------+\n"
        "| LoopNest | imm8 | 111100 |\n"
        "+----------+------+--------+\n"
    ) in page


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_first_instruction_is_legal(form) -> None:
    inst = first_instruction(form)
    assert NEWEST.decode_word(inst.encode(), inst.length) == inst
