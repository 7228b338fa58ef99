"""A trace of a run, as Chrome and Perfetto read it (https://ui.perfetto.dev).

Every core is a process with a track per PE, one for global memory and one for its Shared tiles. The machine has no
clock: a bundle takes one microsecond, in the order of the program, so equal runs give equal traces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.registers import HANDS, PE_COUNT
from ptoc.runtime.memory import Rectangle
from ptoc.runtime.observer import Observer
from ptoc.runtime.outcome import Outcome
from ptoc.runtime.stores import Store
from ptoc.runtime.tiles import Descriptor, Tile

if TYPE_CHECKING:
    from ptoc.runtime.bundle import Bundle
    from ptoc.runtime.core import Core
    from ptoc.runtime.processor import Processor

Event = dict[str, Any]
GM_TRACK, SHARED_TRACK = PE_COUNT, PE_COUNT + 1
_TRACKS = (*(f"PE{pe}" for pe in range(PE_COUNT)), "GM", "Shared")


class Trace:
    """The events of a machine's runs: ``machine.trace = Trace()``, run, ``trace.write(path)``."""

    def __init__(self) -> None:
        self._processors: Sequence[Processor] = ()

    def attach(self, processors: Sequence[Processor]) -> None:
        """Take the events of these cores; the machine calls this."""
        self._processors = processors

    def events(self) -> Iterator[Event]:
        """All events, tracks named first."""
        for processor in self._processors:
            [core] = [observer for observer in processor.core.observers if isinstance(observer, CoreTrace)]
            yield {"ph": "M", "name": "process_name", "pid": core.number, "args": {"name": f"core {core.number}"}}
            for track, name in enumerate(_TRACKS):
                yield {"ph": "M", "name": "thread_name", "pid": core.number, "tid": track, "args": {"name": name}}
            for event in core.events:
                yield _described(event, processor)

    def write(self, target: str | Path | IO[str]) -> None:
        """Write the trace as JSON to a path or a text file."""
        if isinstance(target, str | Path):
            with open(target, "w", encoding="utf-8") as file:
                self.write(file)
            return
        target.write('{"traceEvents": [\n')
        separator = ""
        for event in self.events():
            target.write(separator + json.dumps(event))
            separator = ",\n"
        target.write("\n]}\n")


def _described(event: Event, processor: Processor) -> Event:
    """The event with the text and the source line of its block."""
    if event["ph"] != "B":
        return event
    text, source = processor.described(event["args"]["address"])
    return event | {"args": event["args"] | {"text": "\n".join(text), "source": source}}


class CoreTrace(Observer):
    """The events of one core."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.events: list[Event] = []
        self._time = 0
        self._accesses: list[Event] = []
        self._kind = ""
        self._rings: list[list[list[Tile]]] = [[[] for _ in HANDS] for _ in range(PE_COUNT)]
        self._objects: dict[int, Tile] = {}
        self._counters: dict[str, dict[str, int]] = {}

    def loads(self, core: Core, bundle: Bundle, rectangles: Sequence[tuple[int, Rectangle]]) -> None:
        self._kind = "load"
        self._accesses = [_access(pe, rect) for pe, rect in rectangles]

    def gathers(
        self, core: Core, bundle: Bundle, addresses: Sequence[tuple[int, NDArray[np.uint64]]], nbytes: int
    ) -> None:
        self._kind = "load"
        self._accesses = [{"pe": pe, "elements": len(read), "bytes": nbytes * len(read)} for pe, read in addresses]

    def stores(self, core: Core, bundle: Bundle, stores: Sequence[Store]) -> None:
        # A bundle that has loaded before it stores exchanges elements.
        self._kind = "exchange" if self._accesses else "store"
        self._accesses = [
            _access(store.pe, store.target)
            if isinstance(store.target, Rectangle)
            else {"pe": store.pe, "elements": len(store.target), "bytes": store.values.nbytes}
            for store in stores
        ]

    def completed(self, core: Core, bundle: Bundle) -> None:
        assert bundle.operation is not None
        where = {"bundle": bundle.number, "address": bundle.address}
        for pe in bundle.pes:
            self._span(pe, bundle.operation.name, where)
        if self._accesses:
            self._span(GM_TRACK, self._kind, where | {"accesses": self._accesses})
            self._accesses = []
        for pe in bundle.pes:
            self._follow_rings(core, pe)
        self._follow_shared(core)
        counters = core.counters
        self._count("GM bytes", {"read": counters.gm_bytes_read, "written": counters.gm_bytes_written})
        self._time += 1

    def ended(self, core: Core, outcome: Outcome) -> None:
        self._accesses = []
        args: Event = {"steps": outcome.steps}
        if outcome.fault is not None:
            args |= {"rule": outcome.fault.rule, "bundle": outcome.fault.bundle, "source": outcome.fault.source}
        name = outcome.status if outcome.fault is None else f"fault {outcome.fault.kind}"
        self.events.append(
            {"ph": "i", "s": "p", "name": name, "pid": self.number, "tid": 0, "ts": self._time, "args": args}
        )

    def _span(self, track: int, name: str, args: Event) -> None:
        place = {"name": name, "pid": self.number, "tid": track}
        self.events.append({"ph": "B", **place, "ts": self._time, "args": args})
        self.events.append({"ph": "E", **place, "ts": self._time + 1})

    def _instant(self, track: int, name: str, args: Event) -> None:
        place = {"pid": self.number, "tid": track, "ts": self._time + 1}
        self.events.append({"ph": "i", "s": "t", "name": name, **place, "args": args})

    def _count(self, name: str, values: dict[str, int]) -> None:
        """A sample of a counter track, if it changed."""
        if self._counters.get(name) != values:
            self._counters[name] = values
            self.events.append({"ph": "C", "name": name, "pid": self.number, "ts": self._time + 1, "args": values})

    def _follow_rings(self, core: Core, pe: int) -> None:
        """What became of the rings of one PE since the last time."""
        local = core.local[pe]
        for hand, before, now in zip(HANDS, self._rings[pe], local.hands):
            kept = {id(tile) for tile in before}
            for tile in reversed(now):
                if id(tile) not in kept:
                    self._instant(pe, f"publish {hand}", _description(tile.descriptor))
            alive = {id(tile) for tile in now}
            for tile in before:
                if id(tile) not in alive:
                    self._instant(pe, f"retire {hand}", _description(tile.descriptor))
        self._rings[pe] = [list(ring) for ring in local.hands]
        self._count(f"PE{pe} tiles", {hand: len(ring) for hand, ring in zip(HANDS, local.hands)})
        self._count(f"PE{pe} pool bytes", {"used": local.used})

    def _follow_shared(self, core: Core) -> None:
        now = {number: published.tile for number, published in core.shared.tiles.items()}
        for number, tile in now.items():
            if self._objects.get(number) is not tile:
                self._instant(SHARED_TRACK, f"publish S{number}", _description(tile.descriptor))
        self._objects = now
        if now or core.shared.open:
            self._count("Shared pool bytes", {"used": core.shared.used})


def _access(pe: int, rect: Rectangle) -> Event:
    place = {"pe": pe, "from": f"{rect.address:#x}", "rows": rect.rows, "row_bytes": rect.row_bytes}
    return place | {"stride": rect.signed_stride}


def _description(d: Descriptor) -> Event:
    shape = f"{d.valid_rows} x {d.valid_cols}"
    return {"tile": f"{shape} {d.dtype.name} {d.layout}", "capacity": d.capacity}
