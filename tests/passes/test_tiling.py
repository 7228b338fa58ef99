"""Tile sizes, and rows on PEs."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoc.isa import dtypes, layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.registers import LOCAL_POOL_BYTES, size_bytes, size_code
from ptoc.passes.planning.rings import Carried, DoesNotFit, Loop, Step, replay
from ptoc.passes.planning.shapes import MatmulShape
from ptoc.passes.planning.tiling import (
    AGED_OUT,
    AGED_OUT_HANDS,
    LARGE_ROW_MAJOR_BYTES,
    ROW_MAJOR_BYTES,
    MatmulTiling,
    line_width,
    matmul_tiling,
    plain_tiling,
    power_of_two,
    row_major_bytes,
    split_rows,
)

KIB = 1024


def covered(total: int, per_pe: int) -> list[int]:
    """Every row that some PE takes in some round, in order of the blocks."""
    return [
        block.first + (round_ * block.pes + pe) * block.rows + row
        for block in split_rows(total, per_pe)
        for round_ in range(block.rounds)
        for pe in range(block.pes)
        for row in range(block.rows)
    ]


@given(st.integers(1, 3000), st.integers(1, 600))
def test_every_row_is_taken_once_and_in_order(total: int, per_pe: int) -> None:
    assert covered(total, per_pe) == list(range(total))


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_a_handful_of_blocks_whatever_the_problem(total: int, per_pe: int) -> None:
    blocks = split_rows(total, per_pe)
    assert len(blocks) <= 3
    assert all(block.rounds == 1 for block in blocks if block.pes < 4)
    assert all(1 <= block.pes <= 4 and 1 <= block.rows <= per_pe for block in blocks)
    assert sum(block.rounds * block.pes * block.rows for block in blocks) == total


@pytest.mark.parametrize(
    ("total", "per_pe", "shape"),
    [
        (1, 32, [(0, 1, 1, 1)]),
        (32, 32, [(0, 1, 1, 32)]),
        (33, 32, [(0, 1, 1, 32), (32, 1, 1, 1)]),
        (128, 32, [(0, 1, 4, 32)]),
        (129, 32, [(0, 1, 4, 32), (128, 1, 1, 1)]),
        (255, 32, [(0, 1, 4, 32), (128, 1, 3, 32), (224, 1, 1, 31)]),
        (1024, 32, [(0, 8, 4, 32)]),
    ],
)
def test_full_rounds_then_a_prefix_then_the_rest(total: int, per_pe: int, shape: list[tuple[int, ...]]) -> None:
    assert [(b.first, b.rounds, b.pes, b.rows) for b in split_rows(total, per_pe)] == shape


@given(st.integers(1, 1 << 20))
def test_power_of_two(n: int) -> None:
    result = power_of_two(n)
    assert result & (result - 1) == 0
    assert result // 2 < n <= result


@given(st.integers(1, 10**7), st.integers(1, 10**7), st.sampled_from([1, 2, 4, 8]))
def test_row_major_tiles_are_legal_and_small(rows: int, cols: int, widest: int) -> None:
    tiling = plain_tiling(rows, cols, widest)
    assert power_of_two(tiling.cols) == tiling.cols <= 32768
    assert tiling.rows >= 1
    assert tiling.rows * tiling.cols * widest <= 8 * KIB
    assert tiling.cols < 2 * cols


@given(st.integers(1, 10**8), st.sampled_from([1, 2, 4, 8]))
def test_lines_are_as_wide_as_a_tile_takes(length: int, widest: int) -> None:
    width = line_width(length, widest)
    assert 1 <= width <= length
    assert width <= 256
    if length >= 1024:
        assert power_of_two(width) == width
        assert length // width >= 4


# -- matmul ----------------------------------------------------------------------------------------

FLOATS = [dtypes.FP16, dtypes.BF16, dtypes.FP32]
TYPES = [
    *((a, b, dtypes.FP32) for a in FLOATS for b in FLOATS),
    *((a, b, dtypes.S32) for a in (dtypes.S8, dtypes.S16) for b in (dtypes.S8, dtypes.S16)),
    *((a, b, dtypes.U32) for a in (dtypes.U8, dtypes.U16) for b in (dtypes.U8, dtypes.U16)),
]


def capacity(layout: str, dtype: DType, rows: int, cols: int) -> int:
    return size_bytes(size_code(layouts.cube_geometry(layout, dtype.bits, rows, cols).storage_bytes))


def assert_fits(tiling: MatmulTiling, shape: MatmulShape) -> None:
    """Tiles hold what a nest puts into them, and some choice of hands takes the nest after a flush."""
    assert tiling.layout == {16: layouts.CUBE_M16, 32: layouts.CUBE_M32}[tiling.m]
    sizes = [
        capacity(tiling.layout, shape.a, tiling.m, tiling.k),
        capacity(layouts.CUBE_N8, shape.b, tiling.k, tiling.n),
        capacity(tiling.layout, shape.accumulator, tiling.m, tiling.n),
    ]
    assert max(sizes) <= 256 * KIB
    blocks = min(-(-shape.n // tiling.n) * -(-shape.m // (4 * tiling.m)), 40)
    nest = _nest(sizes, -(-shape.k // tiling.k), blocks, shape.has_c)
    outcomes = []
    for streams, sums in itertools.product(range(4), repeat=2):
        hands = {0: sums, 1: streams, 2: streams, 3: sums, 4: sums, 5: sums}
        try:
            replay([*AGED_OUT, nest], hands | AGED_OUT_HANDS)
            return
        except DoesNotFit as reason:
            outcomes.append(reason)
    raise AssertionError(outcomes)


def _nest(sizes: list[int], steps: int, blocks: int, has_c: bool) -> Loop:
    a_bytes, b_bytes, d_bytes = sizes
    loads = Step("A", (), 1, a_bytes, 15), Step("B", (), 2, b_bytes, 15)
    if has_c:
        start: tuple[Step, ...] = (Step("C", (), 0, d_bytes, 15),)
    else:
        start = (*loads, Step("D", (1, 2), 0, d_bytes, 15))
    more = steps if has_c else steps - 1
    body: tuple[Step | Loop, ...] = start
    if more:
        sums = (Step("A", (), 1, a_bytes, 15), Step("B", (), 2, b_bytes, 15))
        acc = Step("ACC", (3, 1, 2), 4, d_bytes, 15, accumulates=True)
        body = (*start, Loop((*sums, acc), more, (Carried(0, 3, 4, 5),)))
    return Loop((*body, Step("store", (5 if more else 0,), None, 0, 15)), blocks)


extents = st.one_of(st.integers(1, 40), st.integers(1, 600), st.sampled_from([27, 64, 256, 512, 1024, 2048, 8192]))


@given(extents, extents, extents, st.sampled_from(TYPES), st.booleans())
def test_matmul_tiles_fit_whatever_the_shape(
    m: int, n: int, k: int, types: tuple[DType, DType, DType], has_c: bool
) -> None:
    shape = MatmulShape(m, n, k, *types, has_c, types[2])
    tiling = matmul_tiling(shape)
    assert_fits(tiling, shape)
    assert power_of_two(tiling.n) == tiling.n
    assert power_of_two(tiling.k) == tiling.k


@pytest.mark.parametrize("has_c", [False, True])
@pytest.mark.parametrize("types", TYPES, ids=lambda t: "-".join(map(str, t)))
def test_one_step_in_k_and_wide_rows(types: tuple[DType, DType, DType], has_c: bool) -> None:
    """Then half of all tiles are accumulators: the case that takes most room."""
    shape = MatmulShape(277, 276, 27, *types, has_c, types[2])
    assert_fits(matmul_tiling(shape), shape)


def half_precision(m: int, n: int, k: int) -> MatmulTiling:
    return matmul_tiling(MatmulShape(m, n, k, dtypes.FP16, dtypes.FP16, dtypes.FP32, True, dtypes.FP32))


def test_few_rows_take_the_narrow_layout() -> None:
    for m, rows in ((1, 16), (16, 16), (64, 16), (65, 32), (500, 32)):
        assert half_precision(m, 64, 64).m == rows


def test_large_problems_read_their_operands_a_limited_number_of_times() -> None:
    """A is read once per block of columns, B once per 32 rows; the rings leave no room for much wider blocks."""
    tiling = half_precision(2048, 2048, 2048)
    assert 2048 // tiling.n + 2048 // tiling.m <= 1.25 * (4 + 64)


@given(st.integers(1, 8), st.integers(0, 1), st.integers(0, 6), st.sampled_from([1, 2, 4, 8]))
def test_tiles_of_streaming_kernels_fit(loads: int, predicates: int, constants: int, widest: int) -> None:
    nbytes = row_major_bytes(loads, predicates, constants, widest)
    assert nbytes in (ROW_MAJOR_BYTES, LARGE_ROW_MAJOR_BYTES)
    if nbytes == LARGE_ROW_MAJOR_BYTES:
        steps = ([nbytes] * loads + [max(128, nbytes // widest // 8)] * predicates) * 32
        most = max(sum(steps[start : start + 16]) for start in range(loads + predicates))
        assert most + constants * nbytes + 64 * 128 <= LOCAL_POOL_BYTES
