"""Tiles and where they live: descriptors, payload, the four hands of a PE.

A tile keeps the raw bits of its valid rectangle as a plain two-dimensional array, which is what operations
compute on; the physical bytes with padding and definedness are produced when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.isa import layouts
from ptoc.isa.dtypes import U8, DType
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.registers import GENERATIONS, HANDS, LOCAL_POOL_BYTES
from ptoc.runtime.freedom import Freedom
from ptoc.runtime.memory import Bits, carrier, pack

NUMERIC = "numeric"
PREDICATE = "predicate"


@dataclass(frozen=True)
class Descriptor:
    """What a tile is: its type, layout, capacity, physical shape and valid rectangle at the origin."""

    kind: str
    dtype: DType
    layout: str
    capacity: int
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int

    @property
    def valid_shape(self) -> tuple[int, int]:
        return self.valid_rows, self.valid_cols

    @property
    def numeric(self) -> bool:
        return self.kind == NUMERIC

    @property
    def row_major(self) -> bool:
        """An ordinary numeric tile: the only kind that element-wise operations and plain stores read."""
        return self.kind == NUMERIC and self.layout == layouts.NORM

    @property
    def element_bits(self) -> int:
        return 1 if self.kind == PREDICATE else self.dtype.bits


@lru_cache(maxsize=8192)
def cube_descriptor(dtype: DType, layout: str, capacity: int, rows: int, cols: int) -> Descriptor:
    """A CUBE tile of a valid shape that is known to fit."""
    geometry = layouts.cube_geometry(layout, dtype.bits, rows, cols)
    return Descriptor(NUMERIC, dtype, layout, capacity, geometry.rows, geometry.cols, rows, cols)


class Tile:
    """One generation: a descriptor and the bits of its valid rectangle, neither of which ever changes.

    ``values`` is valid_rows x valid_cols raw bits (predicates: 0 or 1). ``defined`` marks its defined
    elements, ``None`` meaning all. ``pad`` is the pattern of every element outside the valid
    rectangle, ``None`` when they are undefined. ``cache`` belongs to the operations that read the tile.
    """

    __slots__ = ("cache", "defined", "descriptor", "pad", "values")

    def __init__(
        self,
        descriptor: Descriptor,
        values: Bits,
        *,
        pad: int | None = None,
        defined: NDArray[np.bool_] | None = None,
    ) -> None:
        self.descriptor = descriptor
        self.values = values
        self.pad = pad
        self.defined = defined
        self.cache: dict[object, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.descriptor, self.values, self.pad, self.defined)

    def element_numbers(self) -> NDArray[np.int64]:
        """The physical element number of every valid element."""
        d = self.descriptor
        if d.layout in layouts.CUBE_LAYOUTS:
            index = layouts.cube_index(d.layout, d.dtype.bits, d.rows, d.cols)
        else:
            index = layouts.plain_index(d.layout, d.dtype.bits, d.rows, d.cols)
        return index[: d.valid_rows, : d.valid_cols]

    def elements(self, freedom: Freedom | None = None) -> Bits:
        """All physical elements in storage order; undefined ones are zero, or what ``freedom`` makes of them."""
        d = self.descriptor
        out = np.full(d.rows * d.cols, self.pad or 0, carrier(max(4, d.element_bits)))
        out[self.element_numbers()] = self.values if self.defined is None else self.values * self.defined
        if freedom is None:
            return out
        return np.where(self.definedness(), out, freedom.undefined(out.size, d.element_bits))

    def payload(self, freedom: Freedom | None = None) -> bytes:
        """The physical bytes of all rows x cols elements."""
        bits = self.descriptor.element_bits
        elements = self.elements(freedom)
        if bits == 1:
            return np.packbits(elements, bitorder="little").tobytes()
        return pack(elements).tobytes() if bits == 4 else elements.tobytes()

    def definedness(self) -> NDArray[np.bool_]:
        """One flag per physical element, in storage order."""
        d = self.descriptor
        out = np.full(d.rows * d.cols, self.pad is not None)
        out[self.element_numbers()] = True if self.defined is None else self.defined
        return out


def _restored(descriptor: Descriptor, values: Bits, pad: int | None, defined: NDArray[np.bool_] | None) -> Tile:
    """A tile that was pickled, without what operations had remembered about it."""
    return Tile(descriptor, values, pad=pad, defined=defined)


class Destination(NamedTuple):
    """A Local destination of a bundle: the hand that publishes and the capacity charged."""

    hand: int
    capacity: int


class LocalTiles:
    """The Local tiles of one PE: four rings of sixteen generations, newest first, and their pool.

    The seventeenth generation of a hand retires the oldest in the same step, unless ``strict``: then a full
    hand is TileAllocation. A bundle must not retire what it names as a source.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.hands: tuple[list[Tile], ...] = tuple([] for _ in HANDS)
        self.used = 0
        self.peak = 0
        self._strict = strict

    def find(self, selector: int) -> Tile | None:
        """The live generation a six-bit source selector names."""
        ring = self.hands[selector >> 4]
        distance = selector & 15
        return ring[distance] if distance < len(ring) else None

    def check(self, destinations: Sequence[Destination], sources: Sequence[int]) -> None:
        """TileAllocation when publishing ``destinations`` in one step would not fit."""
        used = self.used
        for number, (hand, capacity) in enumerate(destinations):
            used += capacity
            ring, oldest = self.hands[hand], GENERATIONS - 1
            if number:
                oldest -= sum(other.hand == hand for other in destinations[:number])
            if len(ring) <= oldest:
                continue
            if self._strict:
                raise Fault(FaultKind.TileAllocation, f"hand {HANDS[hand]} already holds sixteen generations")
            if GENERATIONS * hand + oldest in sources:
                rule = f"the result would retire a generation of hand {HANDS[hand]} that is a source"
                raise Fault(FaultKind.TileAllocation, rule)
            used -= ring[oldest].descriptor.capacity
        if used > LOCAL_POOL_BYTES:
            rule = f"the Local pool would hold {used} of {LOCAL_POOL_BYTES} bytes"
            raise Fault(FaultKind.TileAllocation, rule)

    def publish(self, hand: int, tile: Tile) -> None:
        """Make ``tile`` generation #1 of a hand; ``check`` has accepted it."""
        ring = self.hands[hand]
        ring.insert(0, tile)
        self.used += tile.descriptor.capacity
        if len(ring) > GENERATIONS:
            self.used -= ring.pop().descriptor.capacity
        if self.used > self.peak:
            self.peak = self.used

    def __iter__(self) -> Iterator[tuple[str, int, Tile]]:
        """Every live generation as (hand name, distance from 1, tile)."""
        for name, ring in zip(HANDS, self.hands):
            for distance, tile in enumerate(ring, 1):
                yield name, distance, tile


def norm_rows(capacity: int, cols: int, bits: int) -> int:
    """Physical rows of a row-major tile: what fits the capacity, zero when not even one does."""
    return capacity * 8 // (cols * bits)


def predicate_descriptor(source: Descriptor, capacity: int) -> Descriptor:
    """The tile of one bit per element of a compared tile."""
    d = source
    return Descriptor(PREDICATE, U8, layouts.NORM, capacity, d.rows, d.cols, d.valid_rows, d.valid_cols)
