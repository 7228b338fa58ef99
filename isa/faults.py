"""Architectural faults: their classes, trap numbers and the record a machine reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FaultKind(Enum):
    """A fault class; the value is its trap number, several classes share one (so names identify them)."""

    trap: int

    IllegalInstruction = ("IllegalInstruction", 4)
    TileLegality = ("TileLegality", 5)
    TileAllocation = ("TileAllocation", 5)
    BundleControl = ("BundleControl", 5)
    BundlePostCommit = ("BundlePostCommit", 5)
    ExecutionStateCheck = ("ExecutionStateCheck", 0)
    ServiceRequest = ("ServiceRequest", 6)
    InstructionPC = ("InstructionPC", 32)
    InstructionPage = ("InstructionPage", 33)
    DataAlignment = ("DataAlignment", 34)
    DataPage = ("DataPage", 35)
    HardwareBreakpoint = ("HardwareBreakpoint", 49)
    SoftwareBreakpoint = ("SoftwareBreakpoint", 50)
    HardwareWatchpoint = ("HardwareWatchpoint", 51)
    Assert = ("Assert", 52)

    def __init__(self, label: str, trap: int) -> None:
        self.label = label
        self.trap = trap

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class Fault(Exception):
    """One architectural fault, raised where a rule is broken and handled once, in the machine's step loop.

    ``address`` is the fault address: the instruction (TPC) unless the rule names a data or target address,
    ``None`` while the raiser leaves TPC to the step loop. ``rule`` says in words which check failed.
    """

    kind: FaultKind
    rule: str
    address: int | None = None

    def __str__(self) -> str:
        where = "" if self.address is None else f" at {self.address:#x}"
        return f"{self.kind}{where}: {self.rule}"
