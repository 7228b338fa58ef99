"""Code as its reader wants to see it: the text of a block and the source line behind it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ptoc.isa.commands import STARTS, STOPS
from ptoc.isa.image import LineRow
from ptoc.isa.instruction_set import InstructionSet

LONGEST_BLOCK = 64


def instructions(isa: InstructionSet, code: bytes, first: int, last: int) -> tuple[str, ...]:
    """The instructions from the one at offset ``first`` to the one at ``last``, as far as they decode."""
    lines: list[str] = []
    while first <= last:
        inst = isa.decode(code, first)
        if inst is None:
            break
        lines.append(isa.format(inst))
        first += inst.length
    return tuple(lines)


def block_text(isa: InstructionSet, code: bytes, offset: int) -> tuple[str, ...]:
    """The block that starts at ``offset``, up to its stop or to where the next one starts."""
    last = offset
    for _ in range(LONGEST_BLOCK):
        inst = isa.decode(code, last)
        following = None if inst is None else isa.decode(code, last + inst.length)
        if inst is None or following is None or inst.key in STOPS or following.key in STARTS:
            break
        last += inst.length
    return instructions(isa, code, offset, last)


def source_line(lines: Sequence[LineRow], offset: int) -> str | None:
    """``file:line`` of the code at an offset, if the image knows it."""
    at = bisect_right(lines, offset, key=lambda row: row.offset)
    row = lines[at - 1] if at else None
    return f"{row.file}:{row.line}" if row is not None and row.line else None
