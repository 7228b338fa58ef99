"""TMATMUL and TMATMUL_ACC: D = post(C + A x B), A and B each in Local or Shared storage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ptoc.isa import dtypes, layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.registers import HANDS, size_bytes
from ptoc.runtime.bundle import Bundle, SharedBinding
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import MASK64, lane
from ptoc.runtime.numerics import convert, formats, matmul, reduce
from ptoc.runtime.operations.common import ALLOCATION, LEGALITY, cube_tile, resolve, row_major
from ptoc.runtime.operations.matrix_schema import MatrixSchema, read_schema
from ptoc.runtime.shared import view_of
from ptoc.runtime.tiles import Descriptor, Destination, Tile

Words = NDArray[np.uint32]
ALL_PES = (0, 1, 2, 3)


@dataclass(frozen=True)
class Work:
    """What one PE has to do once every check has passed."""

    pe: int
    rows: int
    tiles: dict[str, Tile]
    parameters: convert.Parameters
    results: dict[str, Descriptor]


@dataclass(frozen=True)
class Primary:
    """A matrix operand in Shared storage: the parent, or one view per PE, and whether it is transposed."""

    views: tuple[Tile, ...]
    dtype: DType
    transposed: bool

    def on(self, pe: int) -> Tile:
        return self.views[pe % len(self.views)]


def execute(core: Core, bundle: Bundle) -> None:
    """Perform one matrix bundle on all its PEs."""
    assert bundle.operation is not None
    schema = read_schema(bundle, accumulating=bundle.operation.name == "TMATMUL_ACC")
    primaries = _shared_primaries(core, bundle, schema)
    work = [_check_pe(core, bundle, schema, pe) for pe in bundle.pes if schema.valid_m(pe)]
    finished = [_compute(schema, primaries, item) for item in work]
    for item, (tiles, flags) in zip(work, finished):
        for role, binding in schema.destinations.items():
            core.local[item.pe].publish(binding.hand, tiles[role])
        core.flags |= flags
        core.counters.macs += item.rows * schema.n * schema.k


# Shared operands


def _shared_primaries(core: Core, bundle: Bundle, schema: MatrixSchema) -> dict[str, Primary]:
    attributes = schema.attributes
    if (attributes.trans_a and schema.shared < 2) or (attributes.trans_b and schema.shared < 1):
        raise Fault(LEGALITY, "only a Shared operand is transposed")
    roles = {0: (), 1: ("B",), 2: ("A", "B")}[schema.shared]
    shapes = {
        "A": (schema.m, schema.k, schema.a_type, attributes.trans_a),
        "B": (schema.k, schema.n, schema.b_type, attributes.trans_b),
    }
    return {role: _primary(core, binding, *shapes[role]) for role, binding in zip(roles, bundle.shared)}


def _primary(
    core: Core, binding: SharedBinding, rows: int, cols: int, dtype: DType, transposed: bool
) -> Primary:
    published = core.shared.tiles.get(binding.number)
    if published is None:
        raise Fault(LEGALITY, f"S{binding.number} is not complete")
    if published.tile.descriptor.dtype != dtype:
        raise Fault(LEGALITY, f"S{binding.number} holds {published.tile.descriptor.dtype}, not {dtype}")
    views: tuple[Tile, ...] = (published.tile,)
    view = binding.view
    if view is not None:
        register = core.regs[view.register]
        offsets = [lane(register, pe) + view.immediate & MASK64 for pe in ALL_PES]  # type: ignore[arg-type]
        views = tuple(view_of(published.tile, offset, view.size_code) for offset in offsets)
    stored = (cols, rows) if transposed else (rows, cols)
    for tile in views:
        d = tile.descriptor
        if d.cols != stored[1] or d.valid_rows < stored[0] or d.valid_cols < stored[1]:
            rule = f"S{binding.number} does not hold {stored[0]} rows of exactly {stored[1]} columns"
            raise Fault(LEGALITY, rule)
        if tile.defined is not None and not tile.defined[: stored[0], : stored[1]].all():
            raise Fault(LEGALITY, f"an element of S{binding.number} is undefined")
    return Primary(views, dtype, transposed)


# Checks of one PE


def _check_pe(core: Core, bundle: Bundle, schema: MatrixSchema, pe: int) -> Work:
    rows = schema.valid_m(pe)
    tiles = {role: resolve(core, bundle, pe, *slot) for role, slot in schema.sources.items()}
    parameters = _parameters(core, schema, pe, tiles)
    if "RowMaxIn" in tiles:
        _expect(tiles["RowMaxIn"], "RowMaxIn", schema.accumulator, (layouts.NORM,), (rows, 1))
    layout = _check_operands(schema, tiles, rows)
    _check_selectors(schema)
    results = _results(schema, layout, rows)
    destinations = [
        Destination(binding.hand, size_bytes(binding.size_code)) for binding in schema.destinations.values()
    ]
    core.local[pe].check(destinations, bundle.local_sources)
    return Work(pe, rows, tiles, parameters, results)


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


def _words(
    core: Core, schema: MatrixSchema, pe: int, tiles: dict[str, Tile], role: str
) -> NDArray[np.uint64] | None:
    """Parameter words from a GPR or from a tile of one word per column; ``None`` when the mode has none."""
    if role in schema.scalar_words:
        word = lane(core.regs[schema.scalar_words[role]], pe)  # type: ignore[arg-type]
        return np.array([word], np.uint64)
    if role not in tiles:
        return None
    _expect(tiles[role], f"the {role} tile", dtypes.U64, (layouts.NORM,), (1, schema.n))
    return tiles[role].values[0]


def _check_operands(schema: MatrixSchema, tiles: dict[str, Tile], rows: int) -> str:
    """The Local A, B, C and CScale of one PE; returns the layout of D."""
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
    capacity = size_bytes(schema.destinations["D"].size_code)
    if schema.post.mode.code == 0 and tiles["C"].descriptor.capacity != capacity:
        raise Fault(LEGALITY, "C and D differ in capacity")
    return tiles["C"].descriptor.layout


def _check_selectors(schema: MatrixSchema) -> None:
    """The number of C's selector is not the number of D's hand, nor CScale's that of any destination."""
    hands = [binding.hand for binding in schema.destinations.values()]
    for role, forbidden in (("C", hands[:1]), ("CScale", hands)):
        slot = schema.sources.get(role)
        if slot is not None and slot[0].sources[slot[1]] in forbidden:
            raise Fault(LEGALITY, f"the selector of {role} has the number of a destination hand {HANDS}")


def _results(schema: MatrixSchema, layout: str, rows: int) -> dict[str, Descriptor]:
    sizes = {role: size_bytes(binding.size_code) for role, binding in schema.destinations.items()}
    result = schema.post.mode.result or schema.accumulator
    found = {"D": cube_tile(result, layout, sizes["D"], rows, schema.n)}
    if "RowMax" in sizes:
        found["RowMax"] = row_major(schema.accumulator, sizes["RowMax"], rows, 1, 1, ALLOCATION)
    if "GroupMax" in sizes:
        groups = -(-schema.n // schema.group)
        found["GroupMax"] = row_major(schema.accumulator, sizes["GroupMax"], rows, groups, groups, ALLOCATION)
    return found


# Effect


def _compute(schema: MatrixSchema, primaries: dict[str, Primary], work: Work) -> tuple[dict[str, Tile], int]:
    """The result tiles of one PE and the flags they raise."""
    raw, flags = _product(schema, primaries, work)
    tiles: dict[str, Tile] = {}
    attributes, accumulator = schema.attributes, schema.accumulator
    if attributes.row_max:
        initial = work.tiles["RowMaxIn"].values if attributes.row_max_init else None
        values, more = reduce.row_maximum(accumulator, raw, absolute=attributes.absolute, initial=initial)
        tiles["RowMax"] = Tile(work.results["RowMax"], values)
        flags |= more
    if attributes.group_max:
        values, more = reduce.group_maximum(accumulator, raw, schema.group, absolute=attributes.absolute)
        tiles["GroupMax"] = Tile(work.results["GroupMax"], values)
        flags |= more
    values, more = convert.post_process(schema.post, accumulator, raw, work.parameters)
    tiles["D"] = Tile(work.results["D"], values)
    return tiles, flags | more


def _product(schema: MatrixSchema, primaries: dict[str, Primary], work: Work) -> tuple[Words, int]:
    """Raw accumulators of one PE."""
    start = work.tiles["C"].values if "C" in work.tiles else None
    a = _operand(schema.a_type, "A", primaries, work, schema.m, schema.k)
    if "A" in primaries:
        first = schema.first_row(work.pe)
        a = a[first : first + work.rows]
    b = _operand(schema.b_type, "B", primaries, work, schema.k, schema.n)
    if not schema.accumulator.is_float:
        return matmul.accumulate_integers(a, b, start), 0
    flags = 0
    if "CScale" in work.tiles and start is not None:
        start, flags = matmul.scale_rows(start, work.tiles["CScale"].values[:, 0])
    exact = matmul.exact_products(schema.a_type, schema.b_type)
    floats = None if start is None else start.view(np.float32)
    return matmul.accumulate_floats(a, b, floats, exact=exact).view(np.uint32), flags


def _operand(
    dtype: DType, role: str, primaries: dict[str, Primary], work: Work, rows: int, cols: int
) -> NDArray[Any]:
    """The logical matrix of an operand as numbers, remembered with the tile it comes from."""
    primary = primaries.get(role)
    tile = work.tiles[role] if primary is None else primary.on(work.pe)
    transposed = primary is not None and primary.transposed
    key = "transposed" if transposed else "numbers"
    numbers = tile.cache.get(key)
    if numbers is None:
        decode: Callable[[DType, Any], NDArray[Any]] = (
            formats.decode_floats if dtype.is_float else formats.decode_integers
        )
        numbers = decode(dtype, tile.values)
        numbers = np.ascontiguousarray(numbers.T if transposed else numbers)
        tile.cache[key] = numbers
    return numbers[:rows, :cols] if primary is not None else numbers
