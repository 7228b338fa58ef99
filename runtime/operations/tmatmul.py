"""TMATMUL and TMATMUL_ACC: D = post(C + A x B), A and B each in Local or Shared storage."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ptoc.isa import dtypes, layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.postprocess import PreQuantMode
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import lane
from ptoc.runtime.numerics import convert, reduce
from ptoc.runtime.operations.common import ALLOCATION, LEGALITY, cube_tile, resolve, row_major
from ptoc.runtime.operations.matrix_product import Bits, Stack, Words, Work, products, rows_of
from ptoc.runtime.operations.matrix_schema import MatrixSchema, read_schema
from ptoc.runtime.operations.matrix_shared import shared_primaries
from ptoc.runtime.tiles import Descriptor, Destination, Tile

Results = dict[str, Descriptor]


def prepare(bundle: Bundle) -> MatrixProduct:
    """Check one matrix bundle."""
    assert bundle.operation is not None
    schema = read_schema(bundle, accumulating=bundle.operation.name == "TMATMUL_ACC")
    rows = [(pe, schema.valid_m(pe)) for pe in schema.pes if schema.valid_m(pe)]
    macs = sum(count for _, count in rows) * schema.n * schema.k
    return MatrixProduct(schema, rows, tuple(schema.destinations.values()), macs, schema.post.identity)


@dataclass(frozen=True)
class MatrixProduct:
    """A checked matrix bundle; ``rows`` are those of every PE that has any, ``raw`` says that D is the accumulators.

    ``accepted`` remembers the shapes of sources that have passed, with the results they give.
    """

    schema: MatrixSchema
    rows: list[tuple[int, int]]
    destinations: tuple[Destination, ...]
    macs: int
    raw: bool
    accepted: dict[tuple[int, ...], tuple[list[Descriptor], Results]] = field(default_factory=dict)

    def __call__(self, core: Core, bundle: Bundle) -> None:
        schema = self.schema
        primaries = shared_primaries(core, bundle, schema)
        work = [self._check(core, bundle, pe, rows) for pe, rows in self.rows]
        stack, raws, flags = products(schema, primaries, work)
        bits = raws
        if not self.raw:
            bits, more = self._converted(work, raws)
            flags |= more
        finished = [[Tile(item.results["D"], d)] for item, d in zip(work, bits)]
        if self.raw:
            for tiles in finished:
                tiles[0].cache[Stack] = stack
        if len(self.destinations) > 1:
            for item, raw, tiles in zip(work, raws, finished):
                maxima, more = self._maxima(item, raw)
                tiles += maxima
                flags |= more
        core.flags |= flags
        for item, tiles in zip(work, finished):
            local = core.local[item.pe]
            for destination, tile in zip(self.destinations, tiles):
                local.publish(destination.hand, tile)
        core.counters.macs += self.macs

    def _check(self, core: Core, bundle: Bundle, pe: int, rows: int) -> Work:
        """All checks of one PE."""
        schema, locals_ = self.schema, bundle.locals
        tiles = {
            role: resolve(core, bundle, pe, locals_[number], slot) for role, (number, slot) in schema.sources.items()
        }
        parameters = convert.NO_PARAMETERS
        if not self.raw:
            parameters = _parameters(core, schema, pe, tiles)
        key = (rows, *[id(tile.descriptor) for tile in tiles.values()])
        known = self.accepted.get(key)
        if known is None:
            results = _results(schema, _check_tiles(schema, tiles, rows), rows)
            # The descriptors are kept so that the identities in the key stay theirs.
            known = self.accepted[key] = ([tile.descriptor for tile in tiles.values()], results)
        core.local[pe].check(self.destinations, schema.selectors)
        return Work(pe, rows, tiles, parameters, known[1])

    def _converted(self, work: list[Work], raws: list[Words]) -> tuple[list[Bits], int]:
        """The bits of D of every PE; those with the same parameters are converted together."""
        post, accumulator, first = self.schema.post, self.schema.accumulator, work[0].parameters
        if all(item.parameters is first for item in work):
            bits, flags = convert.post_process(post, accumulator, np.concatenate(raws), first)
            return rows_of(bits, work), flags
        found: list[Bits] = []
        flags = 0
        for item, raw in zip(work, raws):
            bits, more = convert.post_process(post, accumulator, raw, item.parameters)
            found.append(bits)
            flags |= more
        return found, flags

    def _maxima(self, work: Work, raw: Words) -> tuple[list[Tile], int]:
        """The row and group maxima of one PE, from its raw accumulators, and their flags."""
        attributes, accumulator = self.schema.attributes, self.schema.accumulator
        absolute = attributes.absolute
        tiles: list[Tile] = []
        flags = 0
        if attributes.row_max:
            initial = work.tiles["RowMaxIn"].values if attributes.row_max_init else None
            values, more = reduce.row_maximum(accumulator, raw, absolute=absolute, initial=initial)
            tiles.append(Tile(work.results["RowMax"], values))
            flags |= more
        if attributes.group_max:
            values, more = reduce.group_maximum(accumulator, raw, self.schema.group, absolute=absolute)
            tiles.append(Tile(work.results["GroupMax"], values))
            flags |= more
        return tiles, flags


def _expect(tile: Tile, role: str, dtype: DType, allowed: tuple[str, ...], shape: tuple[int, int]) -> None:
    d = tile.descriptor
    if not d.numeric or d.dtype != dtype or d.layout not in allowed or d.valid_shape != shape:
        raise Fault(LEGALITY, f"{role} is no {shape[0]} x {shape[1]} {dtype} tile in {' or '.join(allowed)}")


def _parameters(core: Core, schema: MatrixSchema, pe: int, tiles: dict[str, Tile]) -> convert.Parameters:
    """The parameters of one PE: words from GPRs, or a tile of one word per column.

    PEs with the same words get the same object, so that their results can be converted together.
    """
    mode = schema.post.mode
    scalars = {role: lane(core.regs[register], pe) for role, register in schema.scalar_words.items()}
    vectors = {role: tiles[role] for role in ("quantization", "slope") if role in tiles}
    for role, tile in vectors.items():
        _expect(tile, f"the {role} tile", dtypes.U64, (layouts.NORM,), (1, schema.n))
    if not vectors:
        return _scalar_parameters(mode, scalars.get("quantization"), scalars.get("slope"))
    words = {role: np.array([word], np.uint64) for role, word in scalars.items()}
    words |= {role: tile.values[0] for role, tile in vectors.items()}
    if len(vectors) > 1:
        return _legal_parameters(mode, words["quantization"], words["slope"])
    [tile] = vectors.values()
    key = ("parameters", mode.code, *scalars.items())
    if key not in tile.cache:
        tile.cache[key] = _legal_parameters(mode, words.get("quantization"), words.get("slope"))
    parameters: convert.Parameters = tile.cache[key]
    return parameters


@lru_cache(maxsize=1024)
def _scalar_parameters(mode: PreQuantMode, quantization: int | None, slope: int | None) -> convert.Parameters:
    """Parameters that hold for all columns."""
    words = [None if word is None else np.array([word], np.uint64) for word in (quantization, slope)]
    return _legal_parameters(mode, *words)


def _legal_parameters(
    mode: PreQuantMode, quantization: NDArray[np.uint64] | None, slope: NDArray[np.uint64] | None
) -> convert.Parameters:
    if quantization is not None and not convert.quantization_legal(mode, quantization):
        raise Fault(LEGALITY, f"a quantization word is illegal for PreQuantMode {mode.code}")
    if slope is not None and not convert.slope_legal(slope):
        raise Fault(LEGALITY, "a slope word is illegal")
    return convert.decode_parameters(mode, quantization, slope)


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
