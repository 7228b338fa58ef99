"""What stops a simulation without being an architectural fault."""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa.faults import Fault


@dataclass(frozen=True, slots=True)
class AccessFault(Fault):
    """A fault of one element on one PE: ``element`` is its row and column, or its lane."""

    pe: int | None = None
    element: tuple[int, int] | None = None


class UndefinedRead(AccessFault):
    """TileLegality because a source element has no value."""


class SimulatorError(Exception):
    """The program left what this simulator models; nothing of the current bundle has happened."""


class UnsupportedOperation(SimulatorError):
    """An assigned operation, or a form of one, that has no implementation here."""


class SimulatorDiagnostic(SimulatorError):
    """The four PEs disagree where the machine has one copy: divergent control or divergent dimensions."""


class WaitForShared(Exception):
    """A bundle reads a Shared tile that no bundle has completed yet; it has no effect and may be retried."""
