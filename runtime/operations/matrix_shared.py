"""Matrix operands in Shared storage."""

from __future__ import annotations

from typing import NamedTuple

from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.registers import PE_COUNT
from ptoc.runtime.bundle import Bundle, SharedBinding
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import MASK64, lane
from ptoc.runtime.operations.common import LEGALITY, check_defined
from ptoc.runtime.operations.matrix_schema import MatrixSchema
from ptoc.runtime.shared import kept_view
from ptoc.runtime.tiles import Tile


class Primary(NamedTuple):
    """A matrix operand in Shared storage: its parent, what the PEs read of it, and whether it is transposed.

    ``views`` is one tile that all PEs read, or one per PE.
    """

    parent: Tile
    views: tuple[Tile, ...]
    transposed: bool

    @property
    def common(self) -> bool:
        """Whether all PEs read the same tile."""
        return len(self.views) == 1

    def on(self, pe: int) -> Tile:
        return self.views[pe % len(self.views)]


def shared_primaries(core: Core, bundle: Bundle, schema: MatrixSchema) -> dict[str, Primary]:
    """The Shared operands by role, checked for all PEs."""
    attributes = schema.attributes
    if (attributes.trans_a and schema.shared < 2) or (attributes.trans_b and schema.shared < 1):
        raise Fault(LEGALITY, "only a Shared operand is transposed")
    if not schema.shared:
        return {}
    b = _primary(core, bundle.shared[-1], schema.k, schema.n, schema.b_type, attributes.trans_b)
    if schema.shared == 1:
        return {"B": b}
    a = _primary(core, bundle.shared[0], schema.m, schema.k, schema.a_type, attributes.trans_a)
    return {"A": a, "B": b}


def _primary(core: Core, binding: SharedBinding, rows: int, cols: int, dtype: DType, transposed: bool) -> Primary:
    published = core.shared.tiles.get(binding.number)
    if published is None:
        raise Fault(LEGALITY, f"S{binding.number} is not complete")
    parent = published.tile
    if published.tile.descriptor.dtype != dtype:
        raise Fault(LEGALITY, f"S{binding.number} holds {parent.descriptor.dtype}, not {dtype}")
    views: tuple[Tile, ...] = (parent,)
    view = binding.view
    if view is not None:
        base = core.regs[view.register]
        lanes = (base,) if type(base) is int else [lane(base, pe) for pe in range(PE_COUNT)]
        views = tuple(kept_view(parent, offset + view.immediate & MASK64, view.size_code) for offset in lanes)
    stored = (cols, rows) if transposed else (rows, cols)
    for tile in views:
        d = tile.descriptor
        if d.cols != stored[1] or d.valid_rows < stored[0] or d.valid_cols < stored[1]:
            rule = f"S{binding.number} does not hold {stored[0]} rows of exactly {stored[1]} columns"
            raise Fault(LEGALITY, rule)
    if parent.defined is not None:
        for pe, tile in enumerate(views):
            check_defined(tile, *stored, pe)
    return Primary(parent, views, transposed)
