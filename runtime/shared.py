"""Shared tiles S0..S63: whole objects visible to the core, and generations under assembly.

An entry of the table is published and ready as a whole; what B.ASSEMBLE is still collecting lives beside it
and replaces it in one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.layouts import NORM
from ptoc.isa.registers import CELL_BYTES, SHARED_POOL_BYTES, size_bytes
from ptoc.runtime.freedom import Freedom
from ptoc.runtime.memory import Bits, carrier
from ptoc.runtime.tiles import NUMERIC, Descriptor, Tile

MAX_CELL_OFFSET = 2047


@dataclass(frozen=True, eq=False)
class SharedTile:
    """A published Shared object and the PEs that may write it again."""

    tile: Tile
    mask: int


class Fragment(NamedTuple):
    """The cells of a parent that one PE writes."""

    first_cell: int
    cells: int

    @property
    def end(self) -> int:
        return self.first_cell + self.cells

    def overlaps(self, other: Fragment) -> bool:
        return self.first_cell < other.end and other.first_cell < self.end


class Generation:
    """A parent that B.ASSEMBLE bundles are filling; all fragments agree in mask, columns and type."""

    def __init__(self, capacity: int, mask: int, cols: int, dtype: DType, freedom: Freedom | None = None) -> None:
        self.capacity = capacity
        self.mask = mask
        self.cols = cols
        self.dtype = dtype
        self.fragments: list[Fragment] = []
        self._elements = capacity * 8 // dtype.bits
        self._undefined = None if freedom is None else freedom.undefined(self._elements, dtype.bits)
        self._values: Bits | None = None
        self._defined: NDArray[np.bool_] = np.zeros(0, bool)
        self._sole: Bits | None = None
        self._valid_cols = 0

    def matches(self, mask: int, cols: int, dtype: DType) -> bool:
        return (self.mask, self.cols, self.dtype) == (mask, cols, dtype)

    def covered(self, more: list[Fragment]) -> bool:
        """Whether the fragments and ``more`` (none overlapping) fill the whole parent."""
        return sum(f.cells for f in (*self.fragments, *more)) * CELL_BYTES == self.capacity

    def place(self, fragment: Fragment, values: Bits) -> None:
        """Put the valid rectangle of a fragment where its cells stand in the parent; the array becomes its own."""
        self._valid_cols = max(self._valid_cols, values.shape[1])
        self.fragments.append(fragment)
        if fragment.cells * CELL_BYTES == self.capacity and self._undefined is None:
            self._sole = values
        else:
            self._place(fragment, values)

    def _place(self, fragment: Fragment, values: Bits) -> None:
        if self._values is None:
            zeros = np.zeros(self._elements, carrier(self.dtype.bits))
            self._values = zeros if self._undefined is None else self._undefined
            self._defined = np.zeros(self._elements, bool)
        first = fragment.first_cell * CELL_BYTES * 8 // self.dtype.bits
        rows, cols = values.shape
        row, col = divmod(first, self.cols)
        if col + cols <= self.cols and (row + rows) * self.cols <= self._elements:
            area = np.s_[row : row + rows, col : col + cols]
            self._values.reshape(-1, self.cols)[area] = values
            self._defined.reshape(-1, self.cols)[area] = True
        else:
            numbers = first + np.arange(rows)[:, None] * self.cols + np.arange(cols)
            self._values[numbers] = values
            self._defined[numbers] = True

    def assembled(self) -> Tile:
        """The finished object: valid down to the last row that holds a valid fragment element."""
        if self._sole is not None:
            return Tile(self._descriptor(len(self._sole)), self._sole)
        assert self._values is not None
        defined = self._defined.reshape(-1, self.cols)
        valid_rows = int(np.flatnonzero(defined.any(axis=1))[-1]) + 1
        mask = defined[:valid_rows, : self._valid_cols]
        values = self._values.reshape(-1, self.cols)[:valid_rows, : self._valid_cols]
        return Tile(self._descriptor(valid_rows), values, defined=None if mask.all() else mask)

    def _descriptor(self, valid_rows: int) -> Descriptor:
        rows = self._elements // self.cols
        return _row_major(self.dtype, self.capacity, rows, self.cols, valid_rows, self._valid_cols)


@lru_cache(maxsize=4096)
def _row_major(dtype: DType, capacity: int, rows: int, cols: int, valid_rows: int, valid_cols: int) -> Descriptor:
    """A description that is known to fit; equal ones are one object, which makes comparing them cheap."""
    return Descriptor(NUMERIC, dtype, NORM, capacity, rows, cols, valid_rows, valid_cols)


class SharedTiles:
    """The sixty-four names and their pool; a name is charged the larger of its object and open generation."""

    def __init__(self) -> None:
        self.tiles: dict[int, SharedTile] = {}
        self.open: dict[int, Generation] = {}
        self.used = 0
        self.peak = 0
        self._charges: dict[int, int] = {}

    def check_pool(self, name: int, capacity: int) -> None:
        """TileLegality when an object of ``capacity`` under ``name`` does not fit."""
        charge = self._charges.get(name, 0)
        used = self.used - charge + max(charge, capacity)
        if used > SHARED_POOL_BYTES:
            rule = f"the Shared pool would hold {used} of {SHARED_POOL_BYTES} bytes"
            raise Fault(FaultKind.TileLegality, rule)

    def keep_open(self, name: int, generation: Generation) -> None:
        """Hold a generation under assembly; the published object stays readable beside it."""
        self.open[name] = generation
        self._charge(name)

    def abandon(self, name: int) -> None:
        """Forget what is open under a name, if anything is."""
        self.open.pop(name, None)
        self._charge(name)

    def publish(self, name: int, tile: Tile, mask: int) -> None:
        """Replace the object of a name, and what is open under it, in one step."""
        self.open.pop(name, None)
        self.tiles[name] = SharedTile(tile, mask)
        self._charge(name)

    def _charge(self, name: int) -> None:
        tile, generation = self.tiles.get(name), self.open.get(name)
        charge = max(tile.tile.descriptor.capacity if tile else 0, generation.capacity if generation else 0)
        self.used += charge - self._charges.get(name, 0)
        self._charges[name] = charge
        self.peak = max(self.peak, self.used)


def kept_view(parent: Tile, offset: int, size_code: int) -> Tile:
    """``view_of`` as a tile that lives as long as its parent, with what operations remember about it."""
    key = ("view", offset, size_code)
    view: Tile | None = parent.cache.get(key)
    if view is None:
        view = parent.cache[key] = view_of(parent, offset, size_code)
    return view


def view_of(parent: Tile, offset: int, size_code: int) -> Tile:
    """The range of a row-major parent that B.SUBVIEW selects: part of one row, or whole rows.

    ``cache["rows"]`` of a view of whole rows says which rows of the parent they are.
    """
    d = parent.descriptor
    size = size_bytes(size_code)
    if offset > MAX_CELL_OFFSET or offset * CELL_BYTES + size > d.capacity:
        raise Fault(FaultKind.TileLegality, f"the view of {size} bytes at cell {offset} leaves its parent")
    count = size * 8 // d.dtype.bits
    row, col = divmod(offset * CELL_BYTES * 8 // d.dtype.bits, d.cols)
    if col + count <= d.cols:
        rows, cols = 1, count
    elif col == 0 and count % d.cols == 0:
        rows, cols = count // d.cols, d.cols
    else:
        raise Fault(FaultKind.TileLegality, "a view is part of one row or a number of whole rows")
    valid_rows = min(d.valid_rows - row, rows)
    valid_cols = min(d.valid_cols - col, cols)
    if valid_rows <= 0 or valid_cols <= 0:
        raise Fault(FaultKind.TileLegality, "the view holds no valid element of its parent")
    area = np.s_[row : row + valid_rows, col : col + valid_cols]
    descriptor = _row_major(d.dtype, size, rows, cols, valid_rows, valid_cols)
    defined = None if parent.defined is None else parent.defined[area]
    view = Tile(descriptor, parent.values[area], defined=defined)
    if cols == d.cols:
        view.cache["rows"] = slice(row, row + valid_rows)
    return view
