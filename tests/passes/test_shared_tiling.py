"""Matmuls with Shared operands: accumulators, pieces of the sum; and tiles of streaming kernels."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoc.isa import dtypes
from ptoc.isa.registers import LOCAL_POOL_BYTES, SHARED_POOL_BYTES
from ptoc.passes.planning.shared import (
    GROUP_ROWS,
    LIVE_ACCUMULATORS,
    NARROW_SLOT_COLS,
    SLOT_COLS,
    k_pieces,
    shared_tiling,
    sum_schedule,
)
from ptoc.passes.planning.tiling import LARGE_ROW_MAJOR_BYTES, ROW_MAJOR_BYTES, MatmulShape, row_major_bytes

TYPES = [
    (dtypes.FP16, dtypes.FP16, dtypes.FP32),
    (dtypes.FP32, dtypes.FP32, dtypes.FP32),
    (dtypes.FP16, dtypes.FP32, dtypes.FP32),
    (dtypes.S8, dtypes.S8, dtypes.S32),
    (dtypes.U16, dtypes.U8, dtypes.U32),
]
STEPS = st.integers(0, 10).map(lambda bit: 1 << bit)


def test_pieces_of_a_sum() -> None:
    assert k_pieces(512, 256) == (2, ())
    assert k_pieces(300, 128) == (2, (32, 8, 4))
    assert k_pieces(1, 1) == (1, ())


@given(st.integers(1, 5000), STEPS, st.booleans())
def test_a_schedule_adds_every_product_once_and_in_order(k: int, step: int, has_c: bool) -> None:
    plan = sum_schedule(k, step, has_c=has_c)
    loop = [(start, step) for start in range(plan.start, plan.stop, step)]
    pieces = [*([plan.first] if plan.first else []), *loop, *plan.middle, plan.last]
    assert [n for start, depth in pieces for n in range(start, start + depth)] == list(range(k))
    assert all(depth & (depth - 1) == 0 for _, depth in pieces), "Shared operands have power-of-two K"
    assert not (has_c and plan.first), "C starts the sums"
    if not has_c and len(pieces) > 1:
        assert plan.first is not None, "something has to start the sums"


@given(
    st.integers(1, 4000),
    st.integers(1, 4000),
    st.integers(1, 4000),
    st.sampled_from(TYPES),
    st.sampled_from([SLOT_COLS, NARROW_SLOT_COLS]),
)
def test_a_tiling_fits_the_machine(m: int, n: int, k: int, types: tuple, cols: int) -> None:
    shape = MatmulShape(m, n, k, *types, True)
    tiling = shared_tiling(shape, cols)
    groups, slots = m // GROUP_ROWS, n // cols
    if tiling is None:
        assert groups * slots <= 1, "two accumulators or more always make a block"
        return
    assert tiling.groups * tiling.slots <= LIVE_ACCUMULATORS
    operands = tiling.groups * GROUP_ROWS * shape.a.bits + cols * shape.b.bits
    assert tiling.k & (tiling.k - 1) == 0 and tiling.k <= k
    assert operands * tiling.k // 8 <= SHARED_POOL_BYTES
    blocks = itertools.product((tiling.groups, groups % tiling.groups), (tiling.slots, slots % tiling.slots))
    assert all(rows * columns != 1 for rows, columns in blocks), "a lone accumulator cannot live in hand T"


@pytest.mark.parametrize("has_c", [False, True])
@pytest.mark.parametrize("types", TYPES, ids=lambda t: "-".join(map(str, t)))
@pytest.mark.parametrize("k", [512, 1000, 5000])
def test_a_long_sum_has_a_loop(k: int, types: tuple, has_c: bool) -> None:
    tiling = shared_tiling(MatmulShape(512, 512, k, *types, has_c), SLOT_COLS)
    assert tiling is not None
    plan = sum_schedule(k, tiling.k, has_c=has_c)
    assert plan.start < plan.stop


@pytest.mark.parametrize("n", [512, 1024, 2048])
def test_square_problems_have_one_kind_of_block(n: int) -> None:
    tiling = shared_tiling(MatmulShape(n, n, n, dtypes.FP16, dtypes.FP16, dtypes.FP32, True), SLOT_COLS)
    assert tiling is not None
    assert (n // GROUP_ROWS) % tiling.groups == (n // SLOT_COLS) % tiling.slots == 0


@given(st.integers(1, 8), st.integers(0, 1), st.integers(0, 6), st.sampled_from([1, 2, 4, 8]))
def test_tiles_of_streaming_kernels_fit(loads: int, predicates: int, constants: int, widest: int) -> None:
    nbytes = row_major_bytes(loads, predicates, constants, widest)
    assert nbytes in (ROW_MAJOR_BYTES, LARGE_ROW_MAJOR_BYTES)
    if nbytes == LARGE_ROW_MAJOR_BYTES:
        steps = ([nbytes] * loads + [max(128, nbytes // widest // 8)] * predicates) * 32
        most = max(sum(steps[start : start + 16]) for start in range(loads + predicates))
        assert most + constants * nbytes + 64 * 128 <= LOCAL_POOL_BYTES
