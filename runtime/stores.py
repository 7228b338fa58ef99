"""The stores of a bundle: performed in probe order, or in the order a seed gives.

All of them are checked before the first is performed. Elements of one bundle have one size and are aligned, so two
of them share all their bytes or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.runtime.memory import Bits, Memory, Rectangle

if TYPE_CHECKING:
    from ptoc.runtime.bundle import Bundle
    from ptoc.runtime.core import Core

Addresses = NDArray[np.uint64]


class Elements(NamedTuple):
    """Element accesses one by one; ``high`` marks the high nibbles among four-bit elements."""

    addresses: Addresses
    values: Bits
    high: NDArray[np.bool_] | None = None

    @property
    def access_bytes(self) -> int:
        """Bytes that one element access touches."""
        return self.values.dtype.itemsize

    def taken(self, order: NDArray[np.int64] | NDArray[np.bool_]) -> Elements:
        """Some of the accesses, in an order."""
        return Elements(self.addresses[order], self.values[order], None if self.high is None else self.high[order])


class Store(NamedTuple):
    """What one PE writes: to a rectangle, whose probe returned ``view``, or to a list of addresses."""

    pe: int
    target: Rectangle | Addresses
    values: Bits
    view: Bits | None = None

    def perform(self, memory: Memory) -> None:
        """Store the elements in probe order."""
        if isinstance(self.target, Rectangle):
            memory.store(self.target, self.values, self.view)
        else:
            memory.scatter(self.target, self.values)

    def elements(self) -> Elements:
        """The accesses in probe order."""
        if not isinstance(self.target, Rectangle):
            return Elements(self.target, self.values)
        rect = self.target
        offsets = np.arange(rect.cols, dtype=np.uint64) * np.uint64(rect.bits) // np.uint64(8)
        rows = np.arange(rect.rows, dtype=np.uint64) * np.uint64(rect.stride % (1 << 64)) + np.uint64(rect.address)
        addresses = (rows[:, None] + offsets).reshape(-1)
        high = np.tile(np.arange(rect.cols) % 2 == 1, rect.rows) if rect.bits == 4 else None
        return Elements(addresses, np.ascontiguousarray(self.values).reshape(-1), high)


def commit(core: Core, bundle: Bundle, stores: Sequence[Store]) -> None:
    """Perform the checked stores of a bundle."""
    for observer in core.observers:
        observer.stores(core, bundle, stores)
    if core.freedom is None:
        for store in stores:
            store.perform(core.memory)
        return
    elements = joined(stores)
    perform(core.memory, elements.taken(core.freedom.order(len(elements.addresses))))


def joined(stores: Sequence[Store]) -> Elements:
    """The accesses of all stores of a bundle."""
    parts = [store.elements() for store in stores]
    high = [part.high for part in parts if part.high is not None]
    return Elements(
        np.concatenate([part.addresses for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate(high) if high else None,
    )


def perform(memory: Memory, elements: Elements) -> None:
    """Store elements in the order in which they stand."""
    if elements.high is None:
        memory.scatter(elements.addresses, elements.values)
        return
    # The halves of a byte do not meet, so each may have its turn.
    for high in (False, True):
        half = elements.taken(elements.high == high)
        memory.scatter_nibbles(half.addresses, half.values, high=high)
