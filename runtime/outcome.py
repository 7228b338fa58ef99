"""Why a run ended: what ``Machine.run`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ptoc.isa.faults import FaultKind

Status = Literal["halted", "fault", "waiting", "limit"]


@dataclass(frozen=True)
class FaultReport:
    """A fault as the program's owner wants to see it.

    ``bundle`` is the number of the block start it belongs to (counted from 0 as executed on its core), ``text``
    the words of that block, ``source`` the user's line where the image has lines. ``pe`` and ``element`` (row and
    column) say whose access it was, where the rule is about one.
    """

    kind: FaultKind
    address: int
    rule: str
    pc: int
    bpc: int
    bundle: int
    text: tuple[str, ...] = ()
    source: str | None = None
    core: int = 0
    pe: int | None = None
    element: tuple[int, int] | None = None

    def __str__(self) -> str:
        where = f" [{self.source}]" if self.source else ""
        at = f"{self.kind} at {self.address:#x} in bundle {self.bundle} (pc {self.pc:#x})"
        return f"{at}: {self.rule}{where}"


@dataclass(frozen=True)
class Outcome:
    """Why a run ended, after how many instructions; ``bundle`` is the one that waits or faulted, on ``core``."""

    status: Status
    fault: FaultReport | None
    steps: int
    bundle: int | None = None
    core: int = 0
