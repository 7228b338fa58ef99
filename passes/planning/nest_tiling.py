"""Tiles of a loop nest over tensors: which axes are rows and columns, which one the PEs share, how large a tile is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptoc.isa.registers import CELL_BYTES, MAX_COLUMNS, PE_COUNT
from ptoc.passes.planning.tiling import power_of_two

TILE_BYTES = 4096
"""A tile of which all rings together hold as many as they have places: the whole Local pool."""

LARGE_TILE_BYTES = 8192
"""A tile for a nest whose tiles move through one ring."""

FEW_VALUES = 6
"""Values of a nest that move through one ring even where each of them is used by the next but one."""


@dataclass(frozen=True, slots=True)
class NestShape:
    """The axes of a nest by their numbers, as ``passes.nests`` has them.

    ``order`` are the axes of what is written, ``fold`` the one that is folded in runs of ``run`` elements.
    ``contiguous`` says of each axis how many bytes lie next to each other along it, in all accesses together.
    ``widest`` is the size of the widest element in bytes, ``values`` the number of values that become tiles. An
    ``ordered`` nest writes in row-major order.
    """

    sizes: Mapping[int, int]
    order: tuple[int, ...]
    contiguous: Mapping[int, int]
    widest: int
    values: int
    fold: int | None = None
    run: int = 1
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class NestTiling:
    """Tiles of at most ``rows`` by ``cols`` along two axes, if there are so many; PEs share the axis ``parallel``."""

    row: int | None
    col: int | None
    parallel: int | None
    rows: int
    cols: int

    def extent(self, axis: int) -> int:
        """How many indices of an axis are in one tile."""
        if axis == self.row:
            return self.rows
        return self.cols if axis == self.col else 1

    def physical(self, *, row: bool, col: bool, rows: int) -> tuple[int, int]:
        """Physical rows and columns of a tile with some of the axes, so that elements of any type have as many.

        ``rows`` is the number of rows that the tile is to have, if it has the row axis.
        """
        wide = power_of_two(self.cols) if col else 1
        return max(power_of_two(rows) if row else 1, CELL_BYTES // wide), wide


def nest_tiling(shape: NestShape) -> NestTiling:
    """Tiles for a nest: columns where memory is contiguous, rows along the fold, else along what is longest."""
    sizes = shape.sizes
    if not sizes:
        return NestTiling(None, None, None, 1, 1)
    position = {axis: n for n, axis in enumerate(shape.order)}
    col = max(sizes, key=lambda axis: (shape.contiguous.get(axis, 0), position.get(axis, len(position)), -axis))
    if shape.ordered:
        col = shape.order[-1]
    others = [axis for axis in sizes if axis != col]
    row = max(others, key=lambda axis: (sizes[axis], -axis), default=None)
    if shape.ordered:
        row = shape.order[-2] if len(shape.order) > 1 else None
    elif shape.fold not in (None, col):
        row = shape.fold
    rows, cols = _extents(shape, row, col)
    if shape.ordered and cols < sizes[col]:
        rows = 1
    return NestTiling(row, col, _parallel(shape, row, col, rows, cols), rows, cols)


def _extents(shape: NestShape, row: int | None, col: int) -> tuple[int, int]:
    sizes = shape.sizes
    elements = (LARGE_TILE_BYTES if shape.values <= FEW_VALUES else TILE_BYTES) // shape.widest
    if row is not None and row == shape.fold:
        rows = min(shape.run, sizes[row])
        return rows, min(sizes[col], max(1, elements // power_of_two(rows)), MAX_COLUMNS)
    limit = shape.run if col == shape.fold else min(elements, MAX_COLUMNS)
    cols = min(sizes[col], limit)
    if row is None:
        return 1, cols
    return max(1, min(elements // power_of_two(cols), -(-sizes[row] // PE_COUNT))), cols


def _parallel(shape: NestShape, row: int | None, col: int, rows: int, cols: int) -> int | None:
    """The free axis with parts for most of the PEs; of equal ones the rows, then an outer one."""
    if shape.ordered:
        return row if row is not None and row == shape.order[0] else None
    sizes = shape.sizes
    parts: dict[int, int] = {}
    for axis in shape.order:
        if axis != shape.fold:
            extent = rows if axis == row else cols if axis == col else 1
            parts[axis] = min(PE_COUNT, -(-sizes[axis] // extent))
    rank = {row: 2, col: 0}
    return max(parts, key=lambda axis: (parts[axis], rank.get(axis, 1), sizes[axis]), default=None)
