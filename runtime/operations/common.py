"""Checks and look-ups that several operations share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ptoc.isa import dtypes, layouts
from ptoc.isa.dtypes import NONE_CODE, DType
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.registers import CELL_BYTES, MAX_COLUMNS, MAX_DIMENSION, size_bytes
from ptoc.runtime.bundle import PAD_ZERO, Bundle, LocalBinding, LocalView, Registers
from ptoc.runtime.core import Core
from ptoc.runtime.errors import AccessFault, UndefinedRead
from ptoc.runtime.lanes import lane, uniform
from ptoc.runtime.memory import Bits, Rectangle
from ptoc.runtime.tiles import NUMERIC, Descriptor, Tile, cube_descriptor, norm_rows

LEGALITY = FaultKind.TileLegality
ALLOCATION = FaultKind.TileAllocation
CONTROL = FaultKind.BundleControl
Dimensions = tuple[int | None, int | None, int | None]


def dimensions(bundle: Bundle) -> Dimensions:
    """LB0..LB2, ``None`` where the bundle leaves one out."""
    return bundle.dimension(0), bundle.dimension(1), bundle.dimension(2)


def require(met: bool, rule: str, kind: FaultKind = LEGALITY) -> None:
    """A fault with ``rule`` as its words unless a condition is met."""
    if not met:
        raise Fault(kind, rule)


def reject_zero_dimensions(dims: Dimensions) -> None:
    if 0 in dims:
        raise Fault(LEGALITY, f"LB{dims.index(0)} is explicitly zero")


def check_attributes(bundle: Bundle, *used: str) -> None:
    """TileLegality when B.DATR sets a field that the operation does not use.

    Fields by name: layout, pad, cmode, rounding, saturate, dtype. Without B.DATR nothing is set.
    """
    datr = bundle.attributes
    if datr is None:
        return
    stray = [
        name
        for name, is_set in (
            ("layout", datr.layout != 0),
            ("pad", datr.pad != PAD_ZERO),
            ("cmode", datr.cmode != 0),
            ("rounding", datr.rounding != 0),
            ("saturate", datr.saturate),
            ("canonicalize", datr.canonicalize),
            ("dtype", datr.dtype_code not in (0, NONE_CODE)),
        )
        if is_set and name not in used
    ]
    if stray:
        raise Fault(LEGALITY, f"B.DATR sets {', '.join(stray)}, which {bundle.operation} does not use")


def check_transfer_registers(bundle: Bundle, kind: FaultKind) -> None:
    """A transfer reads base and stride from B.IOR; its other selectors must be zero."""
    registers = bundle.registers
    if registers is not None and (registers.sources[2] or registers.destination):
        raise Fault(kind, "B.IOR names more than a base and a stride")


@dataclass(frozen=True)
class Transfer:
    """The memory side of a transfer: a rectangle whose base and stride each PE takes from its registers."""

    rows: int
    cols: int
    bits: int
    dense: int
    registers: Registers | None

    @property
    def nbytes(self) -> int:
        """Bytes of the element accesses, packed elements counted as half."""
        return self.rows * self.cols * self.bits // 8

    def rectangles(self, core: Core, pes: Sequence[int]) -> list[Rectangle]:
        """One per PE; the same object where base and stride are the same on all."""
        rows, cols, bits = self.rows, self.cols, self.bits
        if self.registers is None:
            return [Rectangle(0, rows, cols, self.dense, bits)] * len(pes)
        base: Any = core.regs[self.registers.sources[0]]
        stride: Any = core.regs[self.registers.sources[1]]
        if type(base) is int and type(stride) is int:
            return [Rectangle(base, rows, cols, stride, bits)] * len(pes)
        return [Rectangle(lane(base, pe), rows, cols, lane(stride, pe), bits) for pe in pes]

    def rectangle(self, core: Core, pe: int) -> Rectangle:
        """That of one PE."""
        if self.registers is None:
            return Rectangle(0, self.rows, self.cols, self.dense, self.bits)
        base, stride, _ = self.registers.sources
        regs = core.regs
        return Rectangle(lane(regs[base], pe), self.rows, self.cols, lane(regs[stride], pe), self.bits)


def find_source(core: Core, pe: int, selector: int) -> Tile:
    """The live generation a selector names on a PE."""
    tile = core.local[pe].find(selector)
    if tile is None:
        raise Fault(LEGALITY, f"{selector_text(selector)} names no live tile on PE{pe}")
    return tile


def selector_text(selector: int) -> str:
    return f"{'TUMN'[selector >> 4]}#{(selector & 15) + 1}"


def resolve(core: Core, bundle: Bundle, pe: int, binding: LocalBinding, slot: int) -> Tile:
    """A Local source on a PE with its B.SUBVIEW applied."""
    tile = find_source(core, pe, binding.sources[slot])
    view = binding.views[slot]
    return tile if view is None else cube_view(tile, view, bundle.pes)


def cube_view(tile: Tile, view: LocalView, pes: Sequence[int]) -> Tile:
    """The cells of a CUBE tile that a Local B.SUBVIEW selects, as a tile of its own."""
    d = tile.descriptor
    offset = uniform(view.offset, pes, "offset of B.SUBVIEW")
    if d.layout not in layouts.CUBE_LAYOUTS or not d.numeric:
        raise Fault(LEGALITY, "B.SUBVIEW of a Local tile needs a CUBE layout")
    geometry = layouts.cube_geometry(d.layout, d.dtype.bits, d.valid_rows, d.valid_cols)
    if offset >= geometry.cells:
        raise Fault(LEGALITY, f"the view starts at cell {offset} of {geometry.cells}")
    cells = size_bytes(view.size_code) // CELL_BYTES
    if d.layout == layouts.CUBE_N8:
        column, row = divmod(offset, geometry.k_repeat)
        first_row, first_col = row * geometry.cell_rows, 8 * column
        rows, cols = cells * geometry.cell_rows, 8
    else:
        first_row, first_col = 0, offset * geometry.cell_cols
        rows, cols = d.valid_rows, cells * geometry.cell_cols
    values = tile.values[first_row : first_row + rows, first_col : first_col + cols]
    if not values.size:
        raise Fault(LEGALITY, "the view holds no valid element of its tile")
    own = layouts.cube_geometry(d.layout, d.dtype.bits, *values.shape)
    return Tile(cube_descriptor(d.dtype, d.layout, own.storage_bytes, *values.shape), values)


def probe(core: Core, bundle: Bundle, pe: int, rect: Rectangle, *, write: bool = False) -> Bits | None:
    """Check every element access of one PE, within what its bundle may touch."""
    try:
        return core.memory.probe(rect, write=write, window=core.window(bundle, pe))
    except AccessFault as fault:
        raise replace(fault, pe=pe) from None


def check_defined(tile: Tile, rows: int, cols: int, pe: int) -> None:
    if tile.defined is None or tile.defined[:rows, :cols].all():
        return
    row, col = (int(place) for place in np.argwhere(~tile.defined[:rows, :cols])[0])
    raise UndefinedRead(LEGALITY, f"source element ({row}, {col}) is undefined on PE{pe}", None, pe, (row, col))


def check_encoding(dtype: DType, tile: Tile, rows: int, cols: int) -> None:
    """TileLegality when an element has a bit set that its type keeps clear."""
    if not dtype.must_be_zero:
        return
    values = tile.values[:rows, :cols]
    if (values & values.dtype.type(dtype.must_be_zero)).any():
        raise Fault(LEGALITY, f"a source element is no valid {dtype} encoding")


def power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


@lru_cache(maxsize=4096)
def row_major(dtype: DType, capacity: int, valid_rows: int, valid_cols: int, cols: int, kind: FaultKind) -> Descriptor:
    """The descriptor of a new row-major tile; ``kind`` is the fault of a shape that does not fit."""
    if not power_of_two(cols) or cols > MAX_COLUMNS:
        raise Fault(kind, f"{cols} physical columns are no power of two up to {MAX_COLUMNS}")
    if valid_cols > cols:
        raise Fault(kind, f"{valid_cols} valid columns exceed {cols}")
    rows = norm_rows(capacity, cols, dtype.bits)
    if not valid_rows <= rows <= MAX_DIMENSION:
        raise Fault(kind, f"{valid_rows} valid rows do not fit: {capacity} bytes hold {rows} rows")
    return Descriptor(NUMERIC, dtype, layouts.NORM, capacity, rows, cols, valid_rows, valid_cols)


@lru_cache(maxsize=4096)
def cube_tile(dtype: DType, layout: str, capacity: int, rows: int, cols: int) -> Descriptor:
    """The descriptor of a new CUBE tile; TileAllocation when the shape does not fit."""
    if rows > layouts.M_ROWS.get(layout, rows):
        raise Fault(ALLOCATION, f"{layout} holds at most {layouts.M_ROWS[layout]} rows, not {rows}")
    geometry = layouts.cube_geometry(layout, dtype.bits, rows, cols)
    if geometry.storage_bytes > capacity:
        raise Fault(ALLOCATION, f"{rows} x {cols} {dtype} take {geometry.storage_bytes} of {capacity} bytes")
    return cube_descriptor(dtype, layout, capacity, rows, cols)


def check_cube_transfer(bundle: Bundle, codes: dict[int, str], binding: LocalBinding | None, dims: Dimensions) -> None:
    """The shared first group of rules of the CUBE forms of TLOAD and TSTORE."""
    datr = bundle.datr
    clean = datr.cmode == 0 and datr.rounding == 0 and not datr.saturate and not datr.canonicalize
    if dims[0] is None or dims[1] is None or dims[2] is not None or 0 in dims:
        raise Fault(LEGALITY, "a CUBE transfer sets LB0 and LB1, not zero, and no LB2")
    if datr.layout not in codes or datr.dtype_code != NONE_CODE or not clean:
        raise Fault(LEGALITY, "B.DATR does not describe this CUBE transfer")
    if binding is None or bundle.shared or bundle.matrix is not None:
        raise Fault(LEGALITY, "a CUBE transfer has exactly one Local binding, marked last")
    check_transfer_registers(bundle, LEGALITY)


def check_cube_type(dtype: DType) -> None:
    if dtype not in dtypes.CUBE_TYPES:
        raise Fault(LEGALITY, f"{dtype} has no CUBE form")
