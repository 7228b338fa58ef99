"""The revisions of the instruction set that are known, by name."""

from __future__ import annotations

from ptoc.isa import REVISION
from ptoc.isa.commands import COMMANDS
from ptoc.isa.instruction_set import InstructionSet
from ptoc.isa.operands import KINDS
from ptoc.isa.scalars import SCALARS

NEWEST = InstructionSet(REVISION, COMMANDS + SCALARS, KINDS)

REVISIONS: dict[str, InstructionSet] = {NEWEST.name: NEWEST}
"""What images, assembly text and targets can name; adding a set here is all that a further revision takes."""


class RevisionError(ValueError):
    """A revision that is not known."""


def instruction_set(name: str | None = None) -> InstructionSet:
    """The revision of that name, the newest without one; ``RevisionError`` when there is none."""
    if name is None:
        return NEWEST
    found = REVISIONS.get(name)
    if found is None:
        raise RevisionError(f"no ISA revision is called {name!r}, known: {', '.join(REVISIONS)}")
    return found
