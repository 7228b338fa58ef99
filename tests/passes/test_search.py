"""Plans of products: legal on paper, close to the bound, and chosen the same way every time."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.registers import (
    GENERATIONS,
    HANDS,
    LOCAL_POOL_BYTES,
    MAX_COLUMNS,
    MAX_DIMENSION,
    MAX_LOCAL_SIZE_CODE,
    SHARED_POOL_BYTES,
    size_code,
)
from ptoc.passes.planning.bands import A_HAND, B_HAND, Band, local_bytes, shared_bytes
from ptoc.passes.planning.columns import CELL_COLS
from ptoc.passes.planning.cost import issued_bound, lower_bound
from ptoc.passes.planning.search import UTILIZATION, NoPlan, Room, candidates, plan_product
from ptoc.passes.planning.shapes import MatmulShape
from ptoc.passes.planning.techniques import Techniques

HALF = (dtypes.FP16, dtypes.FP16, dtypes.FP32)
BYTES = (dtypes.S8, dtypes.S8, dtypes.S32)
TYPES = [HALF, BYTES, (dtypes.FP32,) * 3, (dtypes.FP16, dtypes.FP32, dtypes.FP32), (dtypes.U16, dtypes.U8, dtypes.U32)]

extents = st.one_of(st.integers(1, 40), st.integers(1, 600), st.integers(1, 4096), st.sampled_from([128, 1024, 8192]))


def shape_of(m: int, n: int, k: int, types: tuple[DType, DType, DType], has_c: bool) -> MatmulShape:
    return MatmulShape(m, n, k, *types, has_c, types[2])


def square(n: int, types: tuple[DType, DType, DType] = HALF) -> MatmulShape:
    return shape_of(n, n, n, types, types is HALF)


def covered(bands: tuple[Band, ...]) -> list[int]:
    """The rows of bands that span all columns."""
    return [row for band in bands for row in range(band.row, band.row + band.rows)]


@settings(deadline=None)
@given(extents, extents, extents, st.sampled_from(TYPES), st.booleans(), st.booleans())
def test_a_plan_covers_the_product_and_fits_the_machine(
    m: int, n: int, k: int, types: tuple[DType, DType, DType], has_c: bool, alone: bool
) -> None:
    shape = shape_of(m, n, k, types, has_c)
    room = Room(alone)
    plan = plan_product(shape, room)
    assert covered(plan.bands) == list(range(m))
    for band in plan.bands:
        assert band.columns.total == n
        assert_band_fits(shape, band, room)


@settings(deadline=None)
@given(
    extents,
    st.sampled_from([0, 8, 16, 32, 48, 64, 80, 96, 112, 128]),
    st.integers(1, 40),
    extents,
    st.sampled_from(TYPES),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_plan_finds_maxima(
    m: int,
    group: int,
    groups: int,
    k: int,
    types: tuple[DType, DType, DType],
    has_c: bool,
    row_max: bool,
    alone: bool,
    parameters: bool,
) -> None:
    """Rows are complete in one lane; groups are never cut, and a power of two of them belongs to each bundle."""
    shape = replace(shape_of(m, (group or 1) * groups, k, types, has_c), group=group, row_max=row_max)
    room = Room(alone, parameters, row_max, group)
    plan = plan_product(shape, room)
    assert covered(plan.bands) == list(range(m))
    for band in plan.bands:
        assert_band_fits(shape, band, room)
        if row_max:
            assert len(band.lanes) == 1
            assert {band.lanes[0].hand, band.lanes[0].max_hand} == {0, 1}
        if group:
            assert A_HAND not in [lane.hand for lane in band.lanes]
            widths = [w for n in range(band.columns.blocks) for w in band.columns.widths(n)]
            assert not any(w % group or (w // group) & (w // group - 1) for w in widths)


def test_transposed_operands_have_no_groups_of_other_sizes_than_powers_of_two() -> None:
    shape = replace(shape_of(64, 96, 32, HALF, False), group=48)
    assert plan_product(shape, Room(group=48)).bands[0].local
    with pytest.raises(NoPlan):
        plan_product(replace(shape, trans_b=True), Room(group=48))


def assert_band_fits(shape: MatmulShape, band: Band, room: Room) -> None:
    assert local_bytes(shape, band) <= room.pool
    assert shared_bytes(shape, band) <= room.shared
    hands = [lane.hand for lane in band.lanes]
    assert len(set(hands)) == len(hands)
    if band.local or band.head:
        assert not {A_HAND, B_HAND} & set(hands)
    for lane in band.lanes:
        live = lane.groups * band.columns.slots
        assert live <= GENERATIONS - 1, "a full ring has one generation that may no longer be named"
        assert live > 1 or HANDS[lane.hand] != "T", "T#1 may not feed a result in T"
        assert size_code(lane.tile_bytes(shape.accumulator, band.columns.width)) <= MAX_LOCAL_SIZE_CODE
    if band.local:
        return
    storage = band.depth * band.columns.width * shape.b.bits // 8
    assert storage * 8 <= MAX_DIMENSION * band.columns.narrowest * shape.b.bits, "a tile has at most 65535 rows"
    assert band.depth <= MAX_COLUMNS


@pytest.mark.parametrize("n", [1024, 2048, 4096])
def test_large_squares_come_close_to_the_bound(n: int) -> None:
    assert plan_product(square(n)).ratio <= 1.3


def test_large_integer_squares_come_closer() -> None:
    assert plan_product(square(2048, BYTES)).ratio <= 1.25


@pytest.mark.parametrize("types", [HALF, BYTES], ids=["half", "bytes"])
def test_all_square_powers_of_two_have_one_kind_of_code(types: tuple[DType, DType, DType]) -> None:
    for n in (256, 512, 1024, 2048, 4096, 8192, 16384):
        assert plan_product(square(n, types)).lanes == 1


@settings(deadline=None)
@given(*[st.integers(64, 2048)] * 3, st.sampled_from([HALF, BYTES]), st.booleans())
def test_cells_are_not_wasted(m: int, n: int, k: int, types: tuple[DType, DType, DType], has_c: bool) -> None:
    plan = plan_product(shape_of(m, n, k, types, has_c))
    assert plan.utilization >= UTILIZATION


@settings(deadline=None)
@given(*[st.integers(8, 64).map(lambda n: 16 * n)] * 3, st.sampled_from([HALF, BYTES]))
def test_whole_cells_are_used_well(m: int, n: int, k: int, types: tuple[DType, DType, DType]) -> None:
    plan = plan_product(shape_of(m, n, k, types, True))
    assert m * n * k / plan.cost.issued >= 0.95


@pytest.mark.parametrize("types", [HALF, BYTES], ids=["half", "bytes"])
@pytest.mark.parametrize("seed", range(3))
def test_random_shapes_stay_near_the_bound(types: tuple[DType, DType, DType], seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        m, n, k = (rng.randint(64, 2048) for _ in range(3))
        assert plan_product(shape_of(m, n, k, types, types is HALF)).ratio <= 1.8, (m, n, k)


@settings(deadline=None)
@given(
    st.integers(1, 16), st.integers(64, 2048), st.integers(64, 2048), st.integers(0, 2), st.sampled_from([HALF, BYTES])
)
@example(11, 1664, 1024, 1, HALF)
@example(15, 1664, 1975, 2, BYTES)
@example(7, 101, 1425, 1, HALF)
@example(13, 69, 522, 2, HALF)
@example(11, 83, 1237, 1, BYTES)
@example(11, 793, 66, 1, HALF)
def test_thin_products_are_read_once(thin: int, x: int, y: int, place: int, types: tuple[DType, DType, DType]) -> None:
    """Widths and depths that are no powers of two take Local operands; of these every PE reads its own B."""
    sizes = [x, y]
    sizes.insert(place, thin)
    assert plan_product(shape_of(*sizes, types, types is HALF)).ratio <= 1.1


def test_the_bound_by_hand() -> None:
    """4 MiB of float32 sums come in and go out; A and B stream past 327,680 accumulators on the chip."""
    shape = square(1024)
    assert lower_bound(shape) == pytest.approx(2 * 4 * 2**20 + 2 * 2 * 2**30 / 327_680**0.5)
    small = square(128)
    assert lower_bound(small) == 2 * 4 * 128**2 + 2 * 2 * 128**2
    assert issued_bound(shape_of(17, 9, 20, HALF, True)) == 32 * 16 * 24


def test_the_choice_is_among_the_candidates() -> None:
    shape = shape_of(700, 500, 300, HALF, True)
    assert plan_product(shape) in candidates(shape)
    assert plan_product(shape) == plan_product(shape)


@settings(deadline=None, max_examples=50)
@given(extents, extents, extents, st.sampled_from(TYPES), st.booleans())
def test_a_plan_does_without_what_is_switched_off(
    m: int, n: int, k: int, types: tuple[DType, DType, DType], has_c: bool
) -> None:
    shape = shape_of(m, n, k, types, has_c)
    plans = [plan_product(shape, techniques=Techniques(residency=False))]
    assert not any(band.resident for band in plans[0].bands)
    if n % CELL_COLS in (0, 1, 2, 4):
        # A lone accumulator has no other one beside it that its columns could overlap.
        plans.append(plan_product(shape, techniques=Techniques(rotation=False)))
        assert all(lane.groups * band.columns.slots == 1 for band in plans[1].bands for lane in band.lanes)
    for plan in plans:
        assert covered(plan.bands) == list(range(m))


def test_every_pe_reads_a_local_b() -> None:
    """Each row block reads B once as it is, and on four PEs if it is Local."""
    shape = square(1024)
    for shared, times in ((True, 1), (False, 4)):
        plan = plan_product(shape, techniques=Techniques(shared_b=shared))
        assert plan.cost.b == times * shape.b_bytes * sum(band.repeat for band in plan.bands)


def test_a_local_a_leaves_a_hand_and_room_to_its_tiles() -> None:
    shape = square(1024)
    plan = plan_product(shape, techniques=Techniques(shared_a=False))
    (band,) = plan.bands
    assert plan.cost.local_bytes <= LOCAL_POOL_BYTES
    assert local_bytes(shape, band) < plan.cost.local_bytes
    assert plan.cost.a == shape.a_bytes * band.columns.blocks
    assert sum(lane.groups for lane in band.lanes) < GENERATIONS


def test_double_buffers_share_the_pool() -> None:
    shape = square(1024)
    plan = plan_product(shape, techniques=Techniques(double_buffering=True))
    (band,) = plan.bands
    streamed = shared_bytes(shape, replace(band, resident=0))
    assert plan.cost.shared_bytes == shared_bytes(shape, band) + streamed <= SHARED_POOL_BYTES


@pytest.mark.parametrize("alone", [True, False])
def test_any_rows_of_a_transposed_a_leave_room_to_parameters(alone: bool) -> None:
    """Rows by powers of two take many hands, of which parameter tiles take one and lone accumulators leave one out."""
    for m in (*range(1, 129), 5 * 128 + 127):
        shape = replace(shape_of(m, 1, 17, HALF, has_c=True), trans_a=True)
        assert covered(plan_product(shape, Room(alone)).bands) == list(range(m))
        plan = plan_product(shape, Room(alone, parameters=True))
        assert covered(plan.bands) == list(range(m))
        assert all(hand < len(HANDS) - 1 for band in plan.bands for hand in band.hands)
