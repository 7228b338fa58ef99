"""What docs/cli.md shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from kernel_files import Run, Write

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
ANY_LINES = "…\n"


def test_the_examples_print_what_the_page_shows(ptoc: Run, write: Write) -> None:
    blocks = re.findall(r"```(python|console)\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    pick, arrays = (text for language, text in blocks if language == "python")
    write(pick, "pick.py")
    exec(arrays, {})
    sessions = "".join(text for language, text in blocks if language == "console")
    for command, shown in re.findall(r"^\$ ptoc (.*)\n((?:(?!\$ ).*\n)*)", sessions, re.MULTILINE):
        result = ptoc(*shlex.split(command))
        expected = "(?s:.*)".join(re.escape(part) for part in shown.split(ANY_LINES))
        assert re.fullmatch(expected, result.out + result.err), f"{command} printed\n{result.out}{result.err}"


def test_every_command_has_its_place_in_the_page() -> None:
    from ptoc.cli import COMMANDS

    headings = re.findall(r"^## (.*)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert {f"ptoc {name}" for name in COMMANDS} <= {part for heading in headings for part in heading.split(", ")}
