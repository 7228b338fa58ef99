"""What ``last`` on a B.IOT depends on: where blocks begin and end, and which binders they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

from ptoc.isa.commands import STARTS, STOPS
from ptoc.isa.forms import Instruction


class Role(IntEnum):
    """What an instruction is to its block. A B.IOT with an empty PE mask does nothing and is no binder."""

    OTHER = 0
    START = 1
    STOP = 2
    BINDER = 3
    LAST_BINDER = 4


def role_of(inst: Instruction) -> Role:
    if inst.form.mnemonic == "B.IOT" and inst["PEMode"]:
        return Role.LAST_BINDER if inst["L"] else Role.BINDER
    if inst.key in STARTS:
        return Role.START
    return Role.STOP if inst.key in STOPS else Role.OTHER


def unterminated(roles: Iterable[tuple[int, Role]]) -> Iterator[int]:
    """The final binder of every block in which none is marked as the last.

    ``roles`` are the numbers of the instructions that have a role, with it.
    """
    in_block, final, marked = False, -1, False
    for number, role in roles:
        if role >= Role.BINDER:
            if in_block:
                final, marked = number, marked or role is Role.LAST_BINDER
            continue
        if final >= 0 and not marked:
            yield final
        in_block, final, marked = role is Role.START, -1, False
    if final >= 0 and not marked:
        yield final
