"""One scalar value on four PEs: an int while all agree, else one int per PE.

Programs mostly compute the same numbers on every PE, so lockstep costs one Python operation, not four.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.registers import PE_COUNT
from ptoc.runtime.errors import SimulatorDiagnostic

MASK64 = (1 << 64) - 1
Lanes = int | tuple[int, ...]


def lane(value: Any, pe: int) -> int:
    """The value of a register (never an empty queue entry) on one PE."""
    result: int = value if type(value) is int else value[pe]
    return result


def lanes(values: Sequence[int]) -> Lanes:
    """Four values in their shortest form."""
    first = values[0]
    return first if values.count(first) == len(values) else tuple(values)


def apply(function: Callable[..., int], operands: Sequence[Lanes | None]) -> Lanes:
    """``function`` on every PE; an operand that was never pushed is IllegalInstruction."""
    columns = []
    for operand in operands:
        if operand is None:
            raise Fault(FaultKind.IllegalInstruction, "a t or u queue entry is read that was never pushed")
        columns.append(operand if type(operand) is tuple else (operand,) * PE_COUNT)
    if all(type(operand) is int for operand in operands):
        return function(*operands)
    return lanes(list(map(function, *columns)))


def uniform(value: Lanes, pes: Sequence[int], what: str) -> int:
    """The one value of the PEs that matter; the machine has a single copy of ``what``."""
    if type(value) is int:
        return value
    first = lane(value, pes[0])
    if any(lane(value, pe) != first for pe in pes):
        values = ", ".join(f"PE{pe} {lane(value, pe):#x}" for pe in pes)
        raise SimulatorDiagnostic(f"divergent {what}: {values}")
    return first
