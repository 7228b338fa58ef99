"""The simulated machine: what one can set, run and observe."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import NamedTuple, TypeVar

from ptoc.isa.image import LineRow, unpack
from ptoc.isa.registers import GPR_COUNT
from ptoc.runtime.adversarial import order_dependence
from ptoc.runtime.core import Core, Counters, Windows
from ptoc.runtime.errors import SimulatorError
from ptoc.runtime.findings import Finding
from ptoc.runtime.freedom import Freedom
from ptoc.runtime.lanes import lane
from ptoc.runtime.memory import Memory
from ptoc.runtime.observer import Observer
from ptoc.runtime.outcome import Outcome
from ptoc.runtime.processor import Processor
from ptoc.runtime.races import AccessLog, races
from ptoc.runtime.sanitizers import CoreWatch, Watch
from ptoc.runtime.tiles import LocalTiles, Tile
from ptoc.runtime.trace import CoreTrace, Trace
from ptoc.runtime.writers import Writers

DEFAULT_LOAD_ADDRESS = 0x10000


def _require(value: object, kind: type | UnionType, what: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{what}, not {type(value).__name__}")


class Machine:
    """One or more cores over one global memory, each with four PEs in lockstep and Shared tiles of its own.

    ``memory`` defaults to an empty address space. ``strict_rings`` makes a seventeenth generation of a hand
    a fault instead of retiring the oldest. ``order_seed`` uses the architecture's freedom otherwise than by
    default (``ptoc.runtime.freedom``). ``windows`` limits the memory accesses of a bundle, by code offset
    of its block start: one ``Window``, or one per PE.

    All cores run the same program; the launcher tells them apart by their registers. They are independent: one
    runs after the other, or beside the others in worker processes, each to its own end.

    ``trace`` and ``watch`` look on at a run when they are set before it; ``ended`` is how the last run ended.
    """

    def __init__(
        self,
        *,
        memory: Memory | None = None,
        load_address: int = DEFAULT_LOAD_ADDRESS,
        strict_rings: bool = False,
        order_seed: int | None = None,
        cores: int = 1,
    ) -> None:
        _require(cores, int, "cores is a number of cores")
        _require(load_address, int, "load_address is a number")
        _require(memory, Memory | None, "memory is a ptoc.runtime.Memory")
        _require(order_seed, int | None, "order_seed is a number or None")
        if cores < 1:
            raise ValueError(f"a machine has at least one core, not {cores}")
        self.memory = memory or Memory()
        self.windows: Windows = {}
        self.load_address = load_address
        self.order_seed = order_seed
        self.trace: Trace | None = None
        self.watch: Watch | None = None
        self.ended = Outcome("limit", None, 0)
        self._differences: list[Finding] = []
        self._strict_rings = strict_rings
        self.processors = [self._processor(n) for n in range(cores)]

    def _processor(self, number: int) -> Processor:
        freedom = None if self.order_seed is None else Freedom(self.order_seed, number)
        core = Core(self.memory, self.windows, number=number, strict_rings=self._strict_rings, freedom=freedom)
        return Processor(core, self.load_address)

    def copy(self, *, order_seed: int | None = None) -> Machine:
        """A machine in the same state, with writable memory of its own and another seed."""
        memory = Memory()
        for region in self.memory.regions:
            data = region.data.copy() if region.writable else region.data
            memory.map(region.address, data, writable=region.writable, name=region.name)
        twin = Machine(
            memory=memory,
            load_address=self.load_address,
            strict_rings=self._strict_rings,
            order_seed=order_seed,
            cores=len(self.processors),
        )
        twin.load(self.processors[0].code)
        twin.lines = self.lines
        twin.windows.update(self.windows)
        for own, other in zip(self.processors, twin.processors):
            other.isa = own.isa
            other.restore(pickle.loads(pickle.dumps(own.state())))
            other.core.observers = ()
        return twin

    # Launching

    def load(self, code: bytes, *, entry: int = 0, isa: str | None = None) -> None:
        """Install a program and set the cores to its start; tiles, memory and GPRs stay.

        ``entry`` is the offset of the first instruction, ``isa`` the revision of the instruction set that the
        code is of (without it the newest); ``RevisionError`` when there is none of that name. The return
        address and ``ra`` become the halt address.
        """
        _require(code, bytes | bytearray | memoryview, "code is bytes, as `assemble(text, raw=True)` gives them")
        for processor in self.processors:
            processor.load(code, entry=entry, isa=isa)

    def load_image(self, image: bytes) -> None:
        """Install a whole program image, with its source lines; its data is the launcher's to map."""
        _require(image, bytes | bytearray | memoryview, "image is bytes, as `assemble(text)` gives them")
        unpacked = unpack(image)
        self.load(unpacked.code, entry=unpacked.entry, isa=unpacked.isa)
        self.lines = unpacked.lines

    @property
    def lines(self) -> Sequence[LineRow]:
        """The source lines of the program, for reports."""
        return self.processors[0].lines

    @lines.setter
    def lines(self, lines: Sequence[LineRow]) -> None:
        for processor in self.processors:
            processor.lines = lines

    def set_gpr(self, register: str | int, value: int, pe: int | None = None, *, core: int | None = None) -> None:
        """Set a GPR, named or by code, on one PE or on all, of one core or of all."""
        for processor in self.processors if core is None else [self.processors[core]]:
            processor.set_gpr(register, value, pe)

    # Looking

    @property
    def flags(self) -> int:
        """Accumulated numeric status of all cores: NV 1, DZ 2, OF 4, UF 8, NX 16."""
        flags = 0
        for processor in self.processors:
            flags |= processor.core.flags
        return flags

    @property
    def counters(self) -> Counters:
        """What all cores have done; the peaks are those of the fullest one."""
        total = Counters()
        for processor in self.processors:
            total.add(processor.core.measured())
        return total

    @property
    def gpr(self) -> tuple[GprFile, ...]:
        """The private register files of core 0, ``gpr[pe][code]``."""
        return self.gpr_of(0)

    def gpr_of(self, core: int) -> tuple[GprFile, ...]:
        """The private register files of a core."""
        processor = self.processors[core]
        return tuple(GprFile(processor, pe) for pe in range(len(processor.core.local)))

    def tiles(self, pe: int, core: int = 0) -> LocalTiles:
        """The Local tiles of one PE; iterate for (hand, distance, tile)."""
        return self.processors[core].core.local[pe]

    def shared_tile(self, number: int, core: int = 0) -> Tile | None:
        """The published object S0..S63 of a number, if there is one."""
        published = self.processors[core].core.shared.tiles.get(number)
        return None if published is None else published.tile

    def payload(self, tile: Tile, core: int = 0) -> bytes:
        """The physical bytes of a tile; what is undefined in it is zero, or anything under an ``order_seed``."""
        return tile.payload(self.processors[core].core.freedom)

    # Running

    def run(self, max_steps: int | None = None, *, jobs: int = 1, adversarial: int = 0) -> Outcome:
        """Execute until the program halts, faults, waits, or has made ``max_steps`` steps, on every core.

        The outcome is that of the first core that did not halt. With ``jobs`` the cores run in so many worker
        processes at once; the bits are the same unless cores meet in memory, which ``findings`` tells. With
        ``adversarial`` the run is repeated on copies under the seeds 0, 1, ..., and ``findings`` tells what differs.
        """
        if adversarial and self.watch is None:
            self.watch = Watch()
        before = [self.copy(order_seed=seed) for seed in range(adversarial)]
        self._observe(jobs)
        if len(self.processors) == 1:
            self.ended = self.processors[0].run(max_steps)
        else:
            self.ended = self._run_cores(max_steps, jobs)
        self._differences = list(order_dependence(self, enumerate(before), max_steps))
        return self.ended

    def _run_cores(self, max_steps: int | None, jobs: int) -> Outcome:
        """Run every core to its own end, whatever becomes of the others."""
        from ptoc.runtime import parallel

        results: list[Outcome | SimulatorError] = []
        if jobs > 1 and parallel.available():
            results = parallel.run_in_workers(self.processors, self.memory, max_steps, jobs)
        else:
            for processor in self.processors:
                try:
                    results.append(processor.run(max_steps))
                except SimulatorError as error:
                    results.append(error)
        outcomes: list[Outcome] = []
        for number, result in enumerate(results):
            if isinstance(result, SimulatorError):
                result.add_note(f"on core {number}")
                raise result
            outcomes.append(result)
        return next((outcome for outcome in outcomes if outcome.status != "halted"), outcomes[0])

    def step_at(self, pc: int) -> Outcome:
        """Execute the one instruction at ``pc`` on core 0, wherever the last one went."""
        return self.processors[0].step_at(pc)

    # Looking on

    def _observe(self, jobs: int) -> None:
        """Give every core its observers; those of an earlier run go on."""
        meeting = len(self.processors) > 1 and (self.watch is not None or jobs > 1)
        for number, processor in enumerate(self.processors):
            core = processor.core
            wanted: list[Observer] = []
            if self.watch is not None:
                wanted.append(_kept(core, CoreWatch) or CoreWatch(number))
            if meeting:
                wanted.append(_kept(core, AccessLog) or AccessLog())
            if self.trace is not None:
                wanted.append(_kept(core, CoreTrace) or CoreTrace(number))
            core.observers = tuple(wanted)
        if self.trace is not None:
            self.trace.attach(self.processors)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the watch saw, where cores met in memory, and what differed under other seeds."""
        found: list[Finding] = []
        for processor in self.processors:
            watch = _kept(processor.core, CoreWatch)
            found += [_described(processor, *item) for item in watch.found] if watch else []
        logs = [log for processor in self.processors if (log := _kept(processor.core, AccessLog))]
        found += [_described(self.processors[finding.core], block, finding) for block, finding in races(logs)]
        if self.watch is not None and self.ended.status == "halted":
            found += self.watch.of_results(self.memory, [writers for _, writers in self.writers()])
        return (*found, *self._differences)

    def writers(self) -> Iterator[tuple[Processor, Writers]]:
        """Who wrote memory, by core, as far as a watch has looked on."""
        for processor in self.processors:
            watch = _kept(processor.core, CoreWatch)
            if watch is not None:
                yield processor, watch.writers

    def wrote(self, address: int) -> Wrote | None:
        """Who wrote the byte at an address last, as far as a watch has looked on; of several cores the first one."""
        region = self.memory.region_of(address, 1)
        for processor, writers in self.writers():
            writer = None if region is None else writers.writer(region, address - region.address)
            if writer is not None:
                return Wrote(processor.core.number, writer.pe, writer.bundle, *processor.described(writer.address))
        return None


class Wrote(NamedTuple):
    """A store: the core and the PE, the number and the text of its bundle, and the user's line."""

    core: int
    pe: int
    bundle: int
    text: tuple[str, ...]
    source: str | None

    def __str__(self) -> str:
        where = "" if self.source is None else f", {self.source}"
        return f"PE{self.pe} of core {self.core} in bundle {self.bundle} ({self.text[0]}{where})"


_O = TypeVar("_O", bound=Observer)


def _kept(core: Core, kind: type[_O]) -> _O | None:
    """The observer of a kind that a core has."""
    return next((observer for observer in core.observers if isinstance(observer, kind)), None)


def _described(processor: Processor, block: int, finding: Finding) -> Finding:
    """A finding with the text and the source line of its block."""
    if finding.text:
        return finding
    text, source = processor.described(block)
    return replace(finding, text=text, source=source)


@dataclass(frozen=True)
class GprFile:
    """The registers of one PE as a sequence."""

    _processor: Processor = field(repr=False)
    pe: int

    def __getitem__(self, code: int) -> int:
        return lane(self._processor.regs[code] or 0, self.pe)

    def __setitem__(self, code: int, value: int) -> None:
        self._processor.set_gpr(code, value, self.pe)

    def __len__(self) -> int:
        return GPR_COUNT
