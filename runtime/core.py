"""What the operations of a bundle act on: registers, memory, tiles, flags, counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ptoc.isa.registers import GPR_COUNT, PE_COUNT, QUEUE_DEPTH
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.freedom import Freedom
from ptoc.runtime.lanes import Lanes
from ptoc.runtime.memory import Memory, Window
from ptoc.runtime.observer import Observer
from ptoc.runtime.shared import SharedTiles
from ptoc.runtime.tiles import LocalTiles

Perform = Callable[["Core", Bundle], None]
Plans = dict[tuple[object, ...], Perform]
"""What bundles do that have been checked, by address and dimensions."""
Windows = dict[int, Window | Sequence[Window | None]]


@dataclass(eq=False, slots=True)
class Counters:
    """What a run has done.

    ``bundles`` are completed tile operations; bytes are those of element accesses (packed elements count half),
    MACs those of valid elements over all PEs, ``peak_local_bytes`` is that of the fullest PE.
    """

    bundles: int = 0
    operations: dict[str, int] = field(default_factory=dict)
    scalar_instructions: int = 0
    gm_bytes_read: int = 0
    gm_bytes_written: int = 0
    macs: int = 0
    peak_local_bytes: int = 0
    peak_shared_bytes: int = 0

    def add(self, other: Counters) -> None:
        """Count what another core did as well; of peaks the higher one."""
        for name, number in other.operations.items():
            self.operations[name] = self.operations.get(name, 0) + number
        self.bundles += other.bundles
        self.scalar_instructions += other.scalar_instructions
        self.gm_bytes_read += other.gm_bytes_read
        self.gm_bytes_written += other.gm_bytes_written
        self.macs += other.macs
        self.peak_local_bytes = max(self.peak_local_bytes, other.peak_local_bytes)
        self.peak_shared_bytes = max(self.peak_shared_bytes, other.peak_shared_bytes)


class Core:
    """The state that outlives a bundle, without the instruction stream."""

    def __init__(
        self,
        memory: Memory,
        windows: Windows,
        *,
        number: int = 0,
        strict_rings: bool = False,
        freedom: Freedom | None = None,
    ) -> None:
        self.number = number
        self.freedom = freedom
        self.observers: tuple[Observer, ...] = ()
        self.memory = memory
        self.regs: list[Lanes | None] = [0] * GPR_COUNT + [None] * (2 * QUEUE_DEPTH)
        self.local = tuple(LocalTiles(strict=strict_rings) for _ in range(PE_COUNT))
        self.shared = SharedTiles()
        self.flags = 0
        self.counters = Counters()
        self.windows = windows
        self.plans: Plans = {}
        self.load_address = 0

    def measured(self) -> Counters:
        """The counters, with the peaks of the pools."""
        self.counters.peak_local_bytes = max(tiles.peak for tiles in self.local)
        self.counters.peak_shared_bytes = self.shared.peak
        return self.counters

    def window(self, bundle: Bundle, pe: int) -> Window | None:
        """The part of memory a bundle may touch on one PE; ``None`` is all of it."""
        if not self.windows:
            return None
        window = self.windows.get(bundle.address - self.load_address)
        return window if window is None or isinstance(window, Window) else window[pe]
