"""Watches: what a run does that its author hardly meant.

A watch looks on and never changes a run. See ``docs/simulator.md`` for what it reports and which reports are
harmful.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.faults import FaultKind
from ptoc.runtime.findings import Finding
from ptoc.runtime.memory import Memory, Rectangle, Region, Window
from ptoc.runtime.observer import Observer
from ptoc.runtime.outcome import FaultReport, Outcome
from ptoc.runtime.stores import Elements, Store, joined
from ptoc.runtime.writers import Writer, Writers

if TYPE_CHECKING:
    from ptoc.runtime.bundle import Bundle
    from ptoc.runtime.core import Core

_MEMORY_FAULTS = (FaultKind.DataPage, FaultKind.DataAlignment)


@dataclass(frozen=True)
class Result:
    """An array that a run should write: its rows, and the dtype of its elements."""

    name: str
    place: Window
    dtype: np.dtype[np.generic]


class Watch:
    """Looks for mistakes in the run of a machine; ``results`` are the arrays it must have written.

    Attach it with ``machine.watch = Watch()`` and read ``machine.findings`` after the run.
    """

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self.results = tuple(results)

    def of_results(self, memory: Memory, writers: Sequence[Writers]) -> Iterator[Finding]:
        """What is wrong with the results, given who wrote memory on every core."""
        for result in self.results:
            region = memory.region_of(result.place.address)
            if region is None:
                continue
            elements = _element_offsets(result, region)
            written = np.zeros(len(region.data), bool)
            for record in writers:
                written |= record.written(region)
            missing = ~written[elements].all(axis=1)
            if missing.any():
                first = int(np.argmax(missing))
                yield Finding(
                    "unwritten-result",
                    f"{int(missing.sum())} of {missing.size} elements of {result.name} were never written",
                    harmful=True,
                    address=region.address + int(elements[first, 0]),
                )
                continue
            values = region.data[elements].reshape(-1).view(result.dtype)
            if values.size and bool(np.all(values != values)):
                yield Finding("nan-result", f"all elements of {result.name} are NaN", harmful=False)


def _element_offsets(result: Result, region: Region) -> NDArray[np.int64]:
    """The bytes of every element of a result, as offsets into its region."""
    place, size = result.place, result.dtype.itemsize
    rows = place.address - region.address + np.arange(place.rows) * place.stride
    columns = np.arange(0, place.row_bytes, size)
    return (rows[:, None] + columns).reshape(-1, 1) + np.arange(size)


class _Key(NamedTuple):
    kind: str
    block: int
    harmful: bool


class CoreWatch(Observer):
    """A watch on one core: collects one finding per kind and block, without text and source."""

    def __init__(self, core: int) -> None:
        self.writers = Writers()
        self._core = core
        self._found: dict[_Key, Finding] = {}
        self._epoch = 0

    @property
    def found(self) -> Iterator[tuple[int, Finding]]:
        """Findings with the address of their block."""
        for key, finding in self._found.items():
            yield key.block, finding

    def completed(self, core: Core, bundle: Bundle) -> None:
        if not bundle.locals and not bundle.shared and bundle.zero_mask_seen:
            self._report("dead-bundle", "the mask selects no PE, so the bundle does nothing", bundle, harmful=False)
        if bundle.ordered:
            self._epoch += 1

    def stores(self, core: Core, bundle: Bundle, stores: Sequence[Store]) -> None:
        self._check_within(bundle, stores)
        by_store = [(store.pe, store.elements()) for store in stores]
        for pe, elements in by_store:
            self._check_before(core, bundle, pe, elements)
        for pe, elements in by_store:
            writer = Writer(bundle.number, bundle.address, pe, self._epoch)
            self.writers.record(core.memory, elements, writer)

    def ended(self, core: Core, outcome: Outcome) -> None:
        fault = outcome.fault
        if fault is None:
            return
        if fault.kind in _MEMORY_FAULTS:
            self._report_fault("out-of-bounds", fault)
        elif fault.element is not None:
            self._report_fault("undefined-read", fault)

    def _check_within(self, bundle: Bundle, stores: Sequence[Store]) -> None:
        """Elements that the bundle stores to one place."""
        if _disjoint(stores):
            return
        elements = joined(stores)
        pes = np.concatenate([np.full(store.values.size, store.pe, np.uint8) for store in stores])
        for again, harmful in _collisions(elements):
            first, second = again
            address = int(elements.addresses[first])
            same = pes[first] == pes[second]
            if same and not isinstance(stores[0].target, Rectangle):
                kind, who = "duplicate-target", f"two lanes of PE{pes[first]}"
            else:
                kind = "overlapping-stores"
                who = f"two rows of PE{pes[first]}" if same else f"PE{pes[first]} and PE{pes[second]}"
            values = "different bits" if harmful else "the same bits"
            message = f"{who} store {values} to {address:#x} in no defined order"
            self._report(kind, message, bundle, harmful=harmful, pe=int(pes[second]), address=address)

    def _check_before(self, core: Core, bundle: Bundle, pe: int, elements: Elements) -> None:
        """Elements over what another PE stored since PEs were last ordered, with other bits."""
        numbers = self.writers.before(core.memory, elements)
        if not numbers.any():
            return
        unordered = {
            number: writer
            for number in map(int, np.unique(numbers))
            if (writer := self.writers.known[number]) and writer.pe != pe and writer.epoch == self._epoch
        }
        if not unordered:
            return
        touched = np.isin(numbers, list(unordered)).any(axis=1)
        old = core.memory.gather(elements.addresses, elements.access_bytes)
        if elements.high is not None:
            old = np.where(elements.high, old >> 4, old & 0xF)
        changed = np.flatnonzero(touched & (old != elements.values))
        if len(changed):
            at = int(changed[0])
            writer = next(unordered[n] for n in map(int, numbers[at]) if n in unordered)
            address = int(elements.addresses[at])
            message = f"PE{pe} stores over what PE{writer.pe} stored to {address:#x} in bundle {writer.bundle}"
            self._report("unordered-stores", message, bundle, harmful=False, pe=pe, address=address)

    def _report(
        self,
        kind: str,
        message: str,
        bundle: Bundle,
        *,
        harmful: bool,
        pe: int | None = None,
        address: int | None = None,
    ) -> None:
        key = _Key(kind, bundle.address, harmful)
        known = self._found.get(key)
        if known is not None:
            self._found[key] = replace(known, count=known.count + 1)
            return
        self._found[key] = Finding(kind, message, harmful, self._core, pe, address, bundle.number)

    def _report_fault(self, kind: str, fault: FaultReport) -> None:
        who = "" if fault.pe is None else f"PE{fault.pe}"
        what = "" if fault.element is None else f"element {fault.element}"
        named = f" ({', '.join(part for part in (who, what) if part)})" if who or what else ""
        address = fault.address if kind == "out-of-bounds" else None
        self._found[_Key(kind, fault.bpc, True)] = Finding(
            kind, fault.rule + named, True, self._core, fault.pe, address, fault.bundle, fault.text, fault.source
        )


def _disjoint(stores: Sequence[Store]) -> bool:
    """Whether the bundle's stores are rectangles that do not even come near each other, or themselves."""
    spans = []
    for store in stores:
        rect = store.target
        if not isinstance(rect, Rectangle):
            return False
        stride = rect.signed_stride
        if rect.rows > 1 and abs(stride) < rect.row_bytes:
            return False
        reach = (rect.rows - 1) * stride
        spans.append((rect.address + min(reach, 0), rect.address + max(reach, 0) + rect.row_bytes))
    spans.sort()
    return all(end <= start for (_, end), (start, _) in pairwise(spans))


def _collisions(elements: Elements) -> Iterator[tuple[tuple[int, int], bool]]:
    """One pair of accesses to the same place with different bits, and one with the same, if there are any."""
    addresses = elements.addresses
    for half in (None,) if elements.high is None else (False, True):
        index = np.arange(len(addresses)) if half is None else np.flatnonzero(elements.high == half)
        order = index[np.argsort(addresses[index], kind="stable")]
        together = addresses[order][1:] == addresses[order][:-1]
        differ = elements.values[order][1:] != elements.values[order][:-1]
        for harmful in (True, False):
            pairs = np.flatnonzero(together & (differ == harmful))
            if len(pairs):
                yield (int(order[pairs[0]]), int(order[pairs[0] + 1])), harmful
