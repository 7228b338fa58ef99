"""Who wrote each byte of memory last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.runtime.memory import Memory, Region
from ptoc.runtime.stores import Elements


class Writer(NamedTuple):
    """The stores of one PE in one bundle: ``bundle`` is its number, ``address`` where its block starts."""

    bundle: int
    address: int
    pe: int
    epoch: int = 0


class Writers:
    """The last writer of every byte, by number; 0 stands for none.

    Takes four bytes per byte of every region that is written.
    """

    def __init__(self) -> None:
        self.known: list[Writer | None] = [None]
        self._marks: dict[int, NDArray[np.int32]] = {}

    def of(self, region: Region) -> NDArray[np.int32]:
        """The numbers of the writers of a region's bytes."""
        marks = self._marks.get(region.address)
        if marks is None:
            marks = self._marks[region.address] = np.zeros(len(region.data), np.int32)
        return marks

    def written(self, region: Region) -> NDArray[np.bool_]:
        """Which bytes of a region have a writer."""
        written: NDArray[np.bool_] = self.of(region) != 0
        return written

    def writer(self, region: Region, offset: int) -> Writer | None:
        """Who wrote a byte of a region last."""
        return self.known[int(self.of(region)[offset])]

    def before(self, memory: Memory, elements: Elements) -> NDArray[np.int32]:
        """The number of the writer of each byte of each element."""
        found = np.zeros((len(elements.addresses), elements.access_bytes), np.int32)
        for region, inside, offsets in _places(memory, elements):
            found[inside] = self.of(region)[offsets]
        return found

    def record(self, memory: Memory, elements: Elements, writer: Writer) -> None:
        """Make ``writer`` the last one of these elements."""
        number = len(self.known)
        self.known.append(writer)
        for region, _, offsets in _places(memory, elements):
            self.of(region)[offsets] = number


def _places(memory: Memory, elements: Elements) -> Iterator[tuple[Region, NDArray[np.bool_], NDArray[np.int64]]]:
    """Which elements lie in which region, and the offsets of their bytes there."""
    addresses, nbytes = elements.addresses, elements.access_bytes
    if not len(addresses):
        return
    first, last = int(addresses.min()), int(addresses.max())
    only = memory.region_of(first, last - first + nbytes)
    if only is not None:
        offsets = (addresses - np.uint64(only.address)).view(np.int64)
        yield only, np.ones(len(addresses), bool), offsets[:, None] + np.arange(nbytes)
        return
    for region in memory.regions:
        inside = (addresses >= np.uint64(region.address)) & (addresses <= np.uint64(region.end - 1))
        if inside.any():
            offsets = (addresses[inside] - np.uint64(region.address)).view(np.int64)
            yield region, inside, offsets[:, None] + np.arange(nbytes)
