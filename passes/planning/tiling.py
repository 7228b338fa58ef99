"""Tile sizes and the distribution of rows over the PEs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ptoc.isa import layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.registers import (
    CELL_BYTES,
    GENERATIONS,
    HANDS,
    LOCAL_POOL_BYTES,
    MAX_COLUMNS,
    MAX_LOCAL_SIZE_CODE,
    PE_COUNT,
    prefix_mask,
    size_bytes,
    size_code,
)
from ptoc.passes.planning.rings import Carried, DoesNotFit, Loop, Program, Step, plan
from ptoc.passes.planning.shapes import MatmulShape


@dataclass(frozen=True, slots=True)
class RowBlock:
    """``rounds`` rounds in which each of ``pes`` PEs takes ``rows`` consecutive rows, from ``first`` on."""

    first: int
    rounds: int
    pes: int
    rows: int


def split_rows(total: int, per_pe: int) -> tuple[RowBlock, ...]:
    """Cut ``total`` rows into full rounds on all PEs, one round on a prefix of them, and a rest on PE0.

    Masks are immediates and a dimension has one value per bundle, so each kind of block has code of its own:
    at most three, whatever the problem.
    """
    blocks = []
    rounds, rest = divmod(total, PE_COUNT * per_pe)
    if rounds:
        blocks.append(RowBlock(0, rounds, PE_COUNT, per_pe))
    first = total - rest
    pes, tail = divmod(rest, per_pe)
    if pes:
        blocks.append(RowBlock(first, 1, pes, per_pe))
    if tail:
        blocks.append(RowBlock(total - tail, 1, 1, tail))
    return tuple(blocks)


def power_of_two(n: int) -> int:
    """The smallest power of two that is at least ``n``."""
    return 1 << (n - 1).bit_length()


@dataclass(frozen=True, slots=True)
class PlainTiling:
    """Row-major tiles of ``rows x cols`` per PE (``cols`` a power of two, ``rows`` any)."""

    rows: int
    cols: int


ROW_MAJOR_BYTES = 8192
"""A row-major tile that fits whatever a streaming kernel loads: sixteen of them take half of the Local pool."""

LARGE_ROW_MAJOR_BYTES = 16384
"""A row-major tile that halves the number of bundles where the rings have room for it."""


def row_major_bytes(loads: int, predicates: int, constants: int, widest: int) -> int:
    """Bytes of a row-major tile for a kernel that loads and compares so many tiles per step, and holds constants.

    Of sixteen generations in the hand of the moving tiles the predicates take their share; constants stay in another
    hand; and the emptiest rings that earlier work leaves hold a cell per generation. Elements have ``widest`` bytes.
    """
    moving = min(GENERATIONS, loads * -(-GENERATIONS // max(1, loads + predicates)))
    predicate_bytes = GENERATIONS * predicates * size_bytes(size_code(LARGE_ROW_MAJOR_BYTES // widest // 8))
    residue = GENERATIONS * len(HANDS) * CELL_BYTES
    needed = (moving + constants) * LARGE_ROW_MAJOR_BYTES + predicate_bytes + residue
    return LARGE_ROW_MAJOR_BYTES if needed <= LOCAL_POOL_BYTES else ROW_MAJOR_BYTES


def plain_tiling(rows: int, cols: int, widest: int, tile_bytes: int = ROW_MAJOR_BYTES) -> PlainTiling:
    """Tile shape for element-wise work on ``rows x cols`` elements of at most ``widest`` bytes."""
    elements = tile_bytes // widest
    tile_cols = min(power_of_two(cols), elements, MAX_COLUMNS)
    return PlainTiling(min(elements // tile_cols, -(-rows // PE_COUNT)), tile_cols)


def line_width(length: int, widest: int) -> int:
    """Columns into which a long run of ``length`` elements is folded, so that every PE gets rows of it."""
    if length < 64 * PE_COUNT:
        return length
    return min(256, ROW_MAJOR_BYTES // widest, power_of_two(length // (16 * PE_COUNT) + 1))


@dataclass(frozen=True, slots=True)
class MatmulTiling:
    """Per PE: ``m`` rows (16 or 32), blocks of ``n`` columns, ``k`` steps of the sum per bundle."""

    m: int
    n: int
    k: int
    layout: str


def _matmul_loop(tiling: MatmulTiling, shape: MatmulShape) -> Program:
    """The kernel's inner loops as publications: C if there is one, then per step A, B and D."""

    def capacity(layout: str, dtype: DType, rows: int, cols: int) -> int:
        return size_bytes(size_code(layouts.cube_geometry(layout, dtype.bits, rows, cols).storage_bytes))

    mask = prefix_mask(PE_COUNT)
    d_bytes = capacity(tiling.layout, shape.accumulator, tiling.m, tiling.n)
    loads = (
        Step("A", (), 1, capacity(tiling.layout, shape.a, tiling.m, tiling.k), mask),
        Step("B", (), 2, capacity(layouts.CUBE_N8, shape.b, tiling.k, tiling.n), mask),
    )
    first = Step("TMATMUL", (1, 2), 0, d_bytes, mask)
    start = (Step("C", (), 0, d_bytes, mask),) if shape.has_c else (*loads, first)
    k_steps = -(-shape.k // tiling.k)
    trips = k_steps if shape.has_c else k_steps - 1
    step = Loop(
        (*loads, Step("TMATMUL.ACC", (3, 1, 2), 4, d_bytes, mask, accumulates=True)), trips, (Carried(0, 3, 4, 5),)
    )
    sums = (step,) if trips else ()
    return (Loop((*start, *sums, Step("TSTORE", (5 if trips else 0,), None, 0, mask)), ENOUGH_BLOCKS),)


def _candidates(m: int, n: int, k: int, a: DType, b: DType) -> Iterator[MatmulTiling]:
    rows = 16 if m <= 16 * PE_COUNT else 32
    layout = layouts.CUBE_M16 if rows == 16 else layouts.CUBE_M32
    widest = max(a.bits, b.bits)
    for n_tile in (512, 256, 128, 64, 32, 16, 8):
        if n_tile >= 2 * power_of_two(n) and n_tile > 8:
            continue
        for k_bytes in (256, 128, 64, 32):
            k_tile = min(k_bytes * 8 // widest, max(power_of_two(k), 8))
            yield MatmulTiling(rows, n_tile, k_tile, layout)


ENOUGH_BLOCKS = 64
"""Blocks after which the rings repeat themselves: each publishes at least once, and a ring has sixteen generations."""

AGED_OUT = tuple(
    Step("TLOAD", (), -1 - n, size_bytes(size_code(1)), prefix_mask(PE_COUNT)) for n in range(GENERATIONS * len(HANDS))
)
"""The emptiest rings a nest can count on: what went before is aged out by the smallest tiles, which take room too."""

AGED_OUT_HANDS = {-1 - n: n % len(HANDS) for n in range(GENERATIONS * len(HANDS))}

TRAFFIC_SLACK = 1.15
"""How much more traffic than the least a tiling may cause in exchange for fewer bundles."""


@lru_cache(maxsize=256)
def matmul_tiling(shape: MatmulShape) -> MatmulTiling:
    """Tile sizes of a matmul with all operands Local: near the least traffic, then the fewest bundles.

    Each PE reads its rows of A once per column block and all of B once per row block. ``DoesNotFit`` when nothing fits.
    """
    fitting: list[tuple[int, int, MatmulTiling]] = []
    for tiling in _candidates(shape.m, shape.n, shape.k, shape.a, shape.b):
        column_blocks, row_blocks, k_steps = -(-shape.n // tiling.n), -(-shape.m // tiling.m), -(-shape.k // tiling.k)
        traffic = shape.k * (shape.m * shape.a.bits * column_blocks + row_blocks * shape.n * shape.b.bits)
        if _fits(tiling, shape):
            fitting.append((traffic, row_blocks * column_blocks * k_steps, tiling))
    if not fitting:
        raise DoesNotFit(f"no matmul tile of {shape.a} by {shape.b} fits the Local pool")
    least = min(traffic for traffic, _, _ in fitting)
    near = [each for each in fitting if each[0] <= least * TRAFFIC_SLACK]
    return min(near, key=lambda each: (each[1], each[0]))[2]


def _fits(tiling: MatmulTiling, shape: MatmulShape) -> bool:
    try:
        geometries = (
            layouts.cube_geometry(tiling.layout, shape.accumulator.bits, tiling.m, tiling.n),
            layouts.cube_geometry(layouts.CUBE_N8, shape.b.bits, tiling.k, tiling.n),
        )
        if any(size_code(g.storage_bytes) > MAX_LOCAL_SIZE_CODE for g in geometries):
            return False
        plan((*AGED_OUT, *_matmul_loop(tiling, shape)), AGED_OUT_HANDS)
    except DoesNotFit:
        return False
    return True
