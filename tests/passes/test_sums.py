"""Sums in pieces: every product once, in ascending order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoc.passes.planning.sums import SumSchedule, deepest_piece, floor_power_of_two, local_sum, shared_sum

STEPS = st.integers(0, 10).map(lambda bit: 1 << bit)


def added(plan: SumSchedule) -> list[int]:
    return [k for start, depth in plan.pieces() for k in range(start, start + depth)]


def check(plan: SumSchedule, started: bool) -> None:
    pieces = plan.pieces()
    if started:
        assert plan.first is None
    elif len(pieces) > 1:
        assert plan.first == pieces[0]
    assert plan.last == pieces[-1]
    assert all(start < start + depth for start, depth in pieces)


@given(st.integers(0, 20), st.integers(1, 3000), STEPS, st.booleans())
def test_shared_sums(start: int, count: int, step: int, started: bool) -> None:
    plan = shared_sum(start, start + count, step, started=started)
    assert added(plan) == list(range(start, start + count))
    assert all(depth & (depth - 1) == 0 for _, depth in plan.pieces()), "Shared operands have power-of-two K"
    check(plan, started)


@given(st.integers(2, 3000), STEPS, STEPS, st.booleans())
def test_the_last_piece_may_be_given(k: int, step: int, resident: int, started: bool) -> None:
    if resident >= k:
        return
    plan = shared_sum(0, k, step, started=started, resident=resident)
    assert added(plan) == list(range(k))
    assert plan.last == (k - resident, resident)
    check(plan, started)


@given(st.integers(1, 3000), st.integers(1, 512), st.booleans())
def test_local_sums(k: int, step: int, started: bool) -> None:
    plan = local_sum(k, step, started=started)
    assert added(plan) == list(range(k))
    assert max(depth for _, depth in plan.pieces()) <= step
    check(plan, started)


def test_an_odd_piece_comes_first_where_the_last_is_given() -> None:
    """Behind the loop it would have code of its own."""
    plan = shared_sum(0, 2048, 256, started=False, resident=128)
    assert plan == SumSchedule(256, (0, 128), 128, 1920, (), (1920, 128))


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("k", [256, 1000, 8192])
def test_a_long_sum_has_a_loop(k: int, started: bool) -> None:
    plan = shared_sum(0, k, floor_power_of_two(deepest_piece(k, started=started)), started=started)
    assert plan.start < plan.stop
