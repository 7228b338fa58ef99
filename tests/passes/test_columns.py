"""Columns in slots: powers of two, the same number in every block, as few as possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoc.passes.planning.columns import CELL_COLS, Columns, cut_columns

WIDTHS = st.sampled_from([8, 16, 32, 64, 128])


@given(st.integers(1, 10_000), WIDTHS, st.integers(1, 15))
def test_every_block_has_the_same_number_of_slots(total: int, width: int, most: int) -> None:
    columns = cut_columns(total, width, most)
    if columns is None:
        assert total > most * width or total % width, "a block of whole slots can always be cut"
        return
    blocks = [columns.widths(n) for n in range(columns.blocks)]
    assert columns.total == total
    assert sum(map(sum, blocks)) == columns.moved
    assert {len(block) for block in blocks} == {columns.slots}
    assert columns.slots <= most
    assert all(w & (w - 1) == 0 and w <= width for block in blocks for w in block)
    assert columns.issued == sum(-(-w // CELL_COLS) * CELL_COLS for block in blocks for w in block)
    assert columns.narrowest == min(map(min, blocks))


@given(st.integers(1, 10_000), WIDTHS, st.integers(4, 15))
def test_widths_follow_from_what_is_left(total: int, width: int, most: int) -> None:
    """The program computes them so: the first is given, the others are the lowest bit of what is left."""
    columns = cut_columns(total, width, most)
    if columns is None:
        return
    for n in range(columns.blocks):
        left = min(columns.block, columns.moved - n * columns.block)
        for number, w in enumerate(columns.widths(n)):
            if number:
                assert w == min(width, left & -left)
            left -= w


@pytest.mark.parametrize(
    ("total", "width", "most", "expected"),
    [
        (512, 128, 15, Columns(512, 512, 4, 128, 128, 128)),
        # Eight slots in three blocks of three: in the last block two are cut from one.
        (1024, 128, 3, Columns(1024, 384, 3, 128, 128, 64)),
        (1000, 128, 15, Columns(1000, 1000, 10, 128, 8, 8)),
        (7, 128, 3, Columns(7, 8, 2, 128, 4, 4, 1)),
        # Of the last eight columns, one is the first slot's as well.
        (23, 128, 3, Columns(23, 24, 2, 128, 8, 8, 1)),
        (20, 128, 3, Columns(20, 20, 2, 128, 4, 4)),
        (127, 128, 3, Columns(127, 128, 2, 128, 64, 64, 1)),
    ],
)
def test_examples(total: int, width: int, most: int, expected: Columns) -> None:
    assert cut_columns(total, width, most) == expected


@given(st.integers(1, 10_000), WIDTHS, st.integers(1, 15))
def test_only_the_last_two_slots_overlap(total: int, width: int, most: int) -> None:
    """They are of one block, and all of the last one's columns exist."""
    columns = cut_columns(total, width, most)
    if columns is None or not columns.overlap:
        return
    *_, before, last = columns.widths(columns.blocks - 1)
    start = columns.moved - last - before
    assert start <= total - last <= start + before <= total


def test_no_cell_is_wasted_on_ragged_columns() -> None:
    for total in range(9, 1000):
        columns = cut_columns(total, 128, 15)
        assert columns is not None
        assert columns.issued == -(-total // CELL_COLS) * CELL_COLS


def test_too_few_slots_for_ragged_columns() -> None:
    assert cut_columns(127, 128, 1) is None


@given(st.integers(1, 500).map(lambda n: 8 * n), st.sampled_from([64, 128]), st.integers(4, 15))
def test_whole_cells_stay_whole(total: int, width: int, most: int) -> None:
    columns = cut_columns(total, width, most)
    assert columns is None or columns.issued <= total * 1.1


@given(st.integers(1, 600), st.sampled_from([8, 16, 32, 64, 128]), WIDTHS, st.integers(1, 15))
def test_slots_of_whole_groups(groups: int, unit: int, width: int, most: int) -> None:
    """Every slot begins and ends with a group of columns, whatever their number."""
    columns = cut_columns(groups * unit, width, most, unit)
    if width < unit:
        assert columns is None
        return
    assert columns is not None
    blocks = [columns.widths(n) for n in range(columns.blocks)]
    assert sum(map(sum, blocks)) == groups * unit
    assert {len(block) for block in blocks} == {columns.slots}
    assert columns.slots <= most
    assert all(w % unit == 0 and w <= width for block in blocks for w in block)
    assert columns.blocks == 1 or columns.block % unit == 0


def test_columns_that_are_no_groups_are_not_cut() -> None:
    assert cut_columns(100, 64, 4, 8) is None


@given(st.integers(1, 5_000), WIDTHS, st.integers(1, 15))
def test_slots_of_whole_bytes(pairs: int, width: int, most: int) -> None:
    """Pairs of columns are cut wherever columns are, and each slot begins with a pair."""
    total = 2 * pairs
    columns = cut_columns(total, width, most, 2)
    if columns is None:
        assert cut_columns(total, width, most) is None
        return
    assert columns.block % 2 == 0 or columns.blocks == 1
    for n in range(columns.blocks):
        widths = columns.widths(n)
        starts = [n * columns.block + sum(widths[:number]) for number in range(len(widths))]
        if n == columns.blocks - 1:
            starts[-1] -= columns.overlap
        assert all(start % 2 == 0 for start in starts) and all(w % 2 == 0 for w in widths)
