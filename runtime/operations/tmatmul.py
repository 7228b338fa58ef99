"""TMATMUL and TMATMUL_ACC: D = post(C + A x B), A and B each in Local or Shared storage."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ptoc.isa import dtypes, layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import lane
from ptoc.runtime.numerics import convert, reduce
from ptoc.runtime.operations.common import ALLOCATION, LEGALITY, cube_tile, resolve, row_major
from ptoc.runtime.operations.matrix_product import Words, Work, products
from ptoc.runtime.operations.matrix_schema import MatrixSchema, read_schema
from ptoc.runtime.operations.matrix_shared import shared_primaries
from ptoc.runtime.tiles import Descriptor, Tile

Results = dict[str, Descriptor]


def prepare(bundle: Bundle) -> MatrixProduct:
    """Check one matrix bundle."""
    assert bundle.operation is not None
    schema = read_schema(bundle, accumulating=bundle.operation.name == "TMATMUL_ACC")
    return MatrixProduct(schema, [(pe, schema.valid_m(pe)) for pe in schema.pes if schema.valid_m(pe)])


@dataclass(frozen=True)
class MatrixProduct:
    """A checked matrix bundle; ``rows`` are those of every PE that has any.

    ``accepted`` remembers the shapes of sources that have passed, with the results they give.
    """

    schema: MatrixSchema
    rows: list[tuple[int, int]]
    accepted: dict[tuple[int, ...], tuple[list[Descriptor], Results]] = field(default_factory=dict)

    def __call__(self, core: Core, bundle: Bundle) -> None:
        schema = self.schema
        primaries = shared_primaries(core, bundle, schema)
        work = [self._check(core, bundle, pe, rows) for pe, rows in self.rows]
        finished = [
            self._finish(item, raw, flags) for item, (raw, flags) in zip(work, products(schema, primaries, work))
        ]
        for item, (tiles, flags) in zip(work, finished):
            local = core.local[item.pe]
            for role, destination in schema.destinations.items():
                local.publish(destination.hand, tiles[role])
            core.flags |= flags
            core.counters.macs += item.rows * schema.n * schema.k

    def _check(self, core: Core, bundle: Bundle, pe: int, rows: int) -> Work:
        """All checks of one PE."""
        schema, locals_ = self.schema, bundle.locals
        tiles = {
            role: resolve(core, bundle, pe, locals_[number], slot) for role, (number, slot) in schema.sources.items()
        }
        parameters = convert.NO_PARAMETERS
        if not schema.post.identity:
            parameters = _parameters(core, schema, pe, tiles)
        key = (rows, *(id(tile.descriptor) for tile in tiles.values()))
        known = self.accepted.get(key)
        if known is None:
            results = _results(schema, _check_tiles(schema, tiles, rows), rows)
            # The descriptors are kept so that the identities in the key stay theirs.
            known = self.accepted[key] = ([tile.descriptor for tile in tiles.values()], results)
        core.local[pe].check(tuple(schema.destinations.values()), schema.selectors)
        return Work(pe, rows, tiles, parameters, known[1])

    def _finish(self, work: Work, raw: Words, flags: int) -> tuple[dict[str, Tile], int]:
        """The result tiles of one PE, from its raw accumulators, and the flags they raise."""
        schema, attributes, accumulator = self.schema, self.schema.attributes, self.schema.accumulator
        tiles: dict[str, Tile] = {}
        if attributes.row_max:
            initial = work.tiles["RowMaxIn"].values if attributes.row_max_init else None
            values, more = reduce.row_maximum(accumulator, raw, absolute=attributes.absolute, initial=initial)
            tiles["RowMax"] = Tile(work.results["RowMax"], values)
            flags |= more
        if attributes.group_max:
            values, more = reduce.group_maximum(accumulator, raw, schema.group, absolute=attributes.absolute)
            tiles["GroupMax"] = Tile(work.results["GroupMax"], values)
            flags |= more
        bits, more = convert.post_process(schema.post, accumulator, raw, work.parameters)
        tiles["D"] = Tile(work.results["D"], bits)
        return tiles, flags | more


def _expect(tile: Tile, role: str, dtype: DType, allowed: tuple[str, ...], shape: tuple[int, int]) -> None:
    d = tile.descriptor
    if not d.numeric or d.dtype != dtype or d.layout not in allowed or d.valid_shape != shape:
        raise Fault(LEGALITY, f"{role} is no {shape[0]} x {shape[1]} {dtype} tile in {' or '.join(allowed)}")


def _parameters(core: Core, schema: MatrixSchema, pe: int, tiles: dict[str, Tile]) -> convert.Parameters:
    mode = schema.post.mode
    words = {role: _words(core, schema, pe, tiles, role) for role in ("quantization", "slope")}
    quantization, slope = words["quantization"], words["slope"]
    if quantization is None and slope is None:
        return convert.NO_PARAMETERS
    if quantization is not None and not convert.quantization_legal(mode, quantization):
        raise Fault(LEGALITY, f"a quantization word is illegal for PreQuantMode {mode.code}")
    if slope is not None and not convert.slope_legal(slope):
        raise Fault(LEGALITY, "a slope word is illegal")
    return convert.decode_parameters(mode, quantization, slope)


def _words(core: Core, schema: MatrixSchema, pe: int, tiles: dict[str, Tile], role: str) -> NDArray[np.uint64] | None:
    """Parameter words from a GPR or from a tile of one word per column; ``None`` when the mode has none."""
    if role in schema.scalar_words:
        return np.array([lane(core.regs[schema.scalar_words[role]], pe)], np.uint64)
    if role not in tiles:
        return None
    _expect(tiles[role], f"the {role} tile", dtypes.U64, (layouts.NORM,), (1, schema.n))
    words: NDArray[np.uint64] = tiles[role].values[0]
    return words


def _check_tiles(schema: MatrixSchema, tiles: dict[str, Tile], rows: int) -> str:
    """The Local operands of one PE; returns the layout of D."""
    if "RowMaxIn" in tiles:
        _expect(tiles["RowMaxIn"], "RowMaxIn", schema.accumulator, (layouts.NORM,), (rows, 1))
    m_layouts = tuple(layouts.M_ROWS)
    layout = layouts.CUBE_M16 if rows <= layouts.M_ROWS[layouts.CUBE_M16] else layouts.CUBE_M32
    if "A" in tiles:
        _expect(tiles["A"], "A", schema.a_type, m_layouts, (rows, schema.k))
        layout = tiles["A"].descriptor.layout
        m_layouts = (layout,)
    if "B" in tiles:
        _expect(tiles["B"], "B", schema.b_type, (layouts.CUBE_N8,), (schema.k, schema.n))
    if "CScale" in tiles:
        _expect(tiles["CScale"], "CScale", dtypes.U8, (layouts.CUBE_M32,), (rows, 1))
    if "C" not in tiles:
        return layout
    _expect(tiles["C"], "C", schema.accumulator, m_layouts, (rows, schema.n))
    c = tiles["C"].descriptor
    if schema.post.mode.code == 0 and c.capacity != schema.destinations["D"].capacity:
        raise Fault(LEGALITY, "C and D differ in capacity")
    return c.layout


def _results(schema: MatrixSchema, layout: str, rows: int) -> Results:
    """Descriptors of the result tiles; TileAllocation for one that does not fit."""
    sizes = {role: destination.capacity for role, destination in schema.destinations.items()}
    result = schema.post.mode.result or schema.accumulator
    found = {"D": cube_tile(result, layout, sizes["D"], rows, schema.n)}
    if "RowMax" in sizes:
        found["RowMax"] = row_major(schema.accumulator, sizes["RowMax"], rows, 1, 1, ALLOCATION)
    if "GroupMax" in sizes:
        groups = -(-schema.n // schema.group)
        found["GroupMax"] = row_major(schema.accumulator, sizes["GroupMax"], rows, groups, groups, ALLOCATION)
    return found
