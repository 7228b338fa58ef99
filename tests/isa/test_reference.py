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
    assert len(found) == len(FORMS) + len(operations.ALL) + 1


def test_a_page_shows_word_and_simulator(generate: dict) -> None:
    assert generate["implemented"](BY_KEY["B.IOT.D"]) == "runtime/header.py"
    assert generate["implemented"](operations.BY_NAME["TCMP"]) == "runtime/operations/tcmp.py"
    assert generate["implemented"](operations.BY_NAME["TSORT"]) is None
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
