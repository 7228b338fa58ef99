"""Cores that meet in memory: one writes what another writes or reads.

Cores are independent and nothing orders them, so such a program has no defined result; in worker processes it even
depends on timing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ptoc.runtime.findings import Finding
from ptoc.runtime.memory import Rectangle
from ptoc.runtime.observer import Observer
from ptoc.runtime.stores import Store
from ptoc.runtime.writers import Writer

if TYPE_CHECKING:
    from ptoc.runtime.bundle import Bundle
    from ptoc.runtime.core import Core

Bounds = NDArray[np.uint64]


class AccessLog(Observer):
    """What one core reads and writes; of every rectangle the first bundle that did."""

    def __init__(self) -> None:
        self.reads: dict[Rectangle, Writer] = {}
        self.writes: dict[Rectangle, Writer] = {}
        self.scatters: list[tuple[NDArray[np.uint64], int, Writer]] = []
        self.gathered: list[tuple[NDArray[np.uint64], int, Writer]] = []

    def loads(self, core: Core, bundle: Bundle, rectangles: Sequence[tuple[int, Rectangle]]) -> None:
        for pe, rect in rectangles:
            self.reads.setdefault(rect, Writer(bundle.number, bundle.address, pe))

    def gathers(
        self, core: Core, bundle: Bundle, addresses: Sequence[tuple[int, NDArray[np.uint64]]], nbytes: int
    ) -> None:
        for pe, read in addresses:
            self.gathered.append((read, nbytes, Writer(bundle.number, bundle.address, pe)))

    def stores(self, core: Core, bundle: Bundle, stores: Sequence[Store]) -> None:
        for store in stores:
            who = Writer(bundle.number, bundle.address, store.pe)
            if isinstance(store.target, Rectangle):
                self.writes.setdefault(store.target, who)
            else:
                self.scatters.append((store.target, store.values.dtype.itemsize, who))


class _Spans:
    """Byte ranges with those who touch them; ends are inclusive."""

    def __init__(self) -> None:
        self._starts: list[Bounds] = []
        self._ends: list[Bounds] = []
        self.owners: list[Writer] = []
        self._counts: list[int] = []

    def add_rectangle(self, rect: Rectangle, owner: Writer) -> None:
        starts = np.arange(rect.rows, dtype=np.uint64) * np.uint64(rect.stride % (1 << 64)) + np.uint64(rect.address)
        self.add(starts, rect.row_bytes, owner)

    def add(self, starts: Bounds, nbytes: int, owner: Writer) -> None:
        self._starts.append(starts)
        self._ends.append(starts + np.uint64(nbytes - 1))
        self.owners.append(owner)
        self._counts.append(len(starts))

    def bounds(self) -> tuple[Bounds, Bounds]:
        none = np.zeros(0, np.uint64)
        return np.concatenate([none, *self._starts]), np.concatenate([none, *self._ends])

    def owner(self, index: int) -> Writer:
        """Who touches the range at an index of ``bounds``."""
        return self.owners[int(np.searchsorted(np.cumsum(self._counts), index, "right"))]

    def union(self) -> tuple[Bounds, Bounds]:
        """The same bytes as ranges in ascending order that do not touch each other's bytes."""
        starts, ends = self.bounds()
        order = np.argsort(starts)
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        opens = np.ones(len(starts), bool)
        opens[1:] = starts[1:] > ends[:-1]
        return starts[opens], ends[np.append(np.flatnonzero(opens)[1:] - 1, len(ends) - 1)] if len(ends) else ends


def races(logs: Sequence[AccessLog]) -> Iterator[tuple[int, Finding]]:
    """One finding, with the address of its block, for every two cores that meet in memory, by kind."""
    writes, reads = [_written(log) for log in logs], [_read(log) for log in logs]
    unions = [spans.union() for spans in writes]
    for writer, other in permutations(range(len(logs)), 2):
        if writer < other:
            yield from _meeting(unions[writer], writer, writes[other], other, "core-overlap", "writes")
        yield from _meeting(unions[writer], writer, reads[other], other, "core-race", "reads")


def _meeting(
    union: tuple[Bounds, Bounds], writer: int, spans: _Spans, other: int, kind: str, verb: str
) -> Iterator[tuple[int, Finding]]:
    starts, ends = spans.bounds()
    lows, highs = union
    if not len(starts) or not len(lows):
        return
    at = np.searchsorted(lows, ends, "right").astype(np.int64) - 1
    hits = np.flatnonzero((at >= 0) & (highs[np.maximum(at, 0)] >= starts))
    if not len(hits):
        return
    first = int(hits[0])
    address = max(int(starts[first]), int(lows[at[first]]))
    who = spans.owner(first)
    message = f"core {other} {verb} {address:#x}, which core {writer} writes; nothing orders them"
    yield who.address, Finding(kind, message, True, other, who.pe, address, who.bundle, count=len(hits))


def _written(log: AccessLog) -> _Spans:
    spans = _Spans()
    for rect, owner in log.writes.items():
        spans.add_rectangle(rect, owner)
    for addresses, nbytes, owner in log.scatters:
        spans.add(addresses, nbytes, owner)
    return spans


def _read(log: AccessLog) -> _Spans:
    spans = _Spans()
    for rect, owner in log.reads.items():
        spans.add_rectangle(rect, owner)
    for addresses, nbytes, owner in log.gathered:
        spans.add(addresses, nbytes, owner)
    return spans
