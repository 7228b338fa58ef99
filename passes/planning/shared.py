"""Planning a matmul with Shared operands: how many accumulators a core holds, and how deep a piece of the sum is.

A core holds ``groups x slots`` accumulators of 128 x 128 elements, 32 rows of each on every PE: 16 KiB per PE of the
256 KiB Local pool. They rotate through one hand, which has sixteen generations of which the oldest is already dead, so
there are at most fifteen. A block of the result reads its rows of A and its columns of B once.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa.registers import GENERATIONS, SHARED_POOL_BYTES
from ptoc.passes.planning.tiling import MatmulShape

GROUP_ROWS = 128
"""Rows of a cooperative matmul: 32 on each of the four PEs."""

SLOT_COLS = 128
"""Columns of an accumulator that has the Local pool for itself: with 32 rows of 32 bits it fills a sixteenth of it."""

NARROW_SLOT_COLS = 64
"""Columns of an accumulator when tiles of other work stay in the other hands."""

LIVE_ACCUMULATORS = GENERATIONS - 1

LONG_SUM = 512
"""Products from which on a sum has a K loop."""

TRAFFIC_SLACK = 1.25
"""How much more traffic than the least a tiling may cause in exchange for fewer kinds of block, hence less code."""


@dataclass(frozen=True, slots=True)
class SharedTiling:
    """``groups x slots`` accumulators of ``cols`` columns per block, and ``k`` products per bundle and element."""

    groups: int
    slots: int
    cols: int
    k: int


def floor_power_of_two(n: int) -> int:
    """The largest power of two that is at most ``n``."""
    return 1 << (n.bit_length() - 1)


def k_pieces(k: int, step: int) -> tuple[int, tuple[int, ...]]:
    """How many full pieces of ``step`` a sum of ``k`` products has, and the powers of two behind them, descending."""
    full, rest = divmod(k, step)
    return full, tuple(1 << bit for bit in reversed(range(rest.bit_length())) if rest >> bit & 1)


@dataclass(frozen=True, slots=True)
class SumSchedule:
    """The pieces of a sum, each as its first k and its depth, in the order in which they are added.

    ``first`` starts the sums when there is no C; ``start`` to ``stop`` are full pieces in a loop; ``middle`` follows;
    with ``last`` the sums are complete and leave the registers.
    """

    first: tuple[int, int] | None
    start: int
    stop: int
    middle: tuple[tuple[int, int], ...]
    last: tuple[int, int]


def sum_schedule(k: int, step: int, *, has_c: bool) -> SumSchedule:
    """Cut a sum of ``k`` products into full pieces of ``step`` and powers of two."""
    full, tail = k_pieces(k, step)
    start, stop = 0, full * step
    peeled = []
    place = stop
    for depth in tail:
        peeled.append((place, depth))
        place += depth
    if not peeled:
        stop -= step
        peeled.append((stop, step))
    last = peeled.pop()
    first = None
    if not has_c and stop > 0:
        first, start = (0, step), step
    elif not has_c and peeled:
        first = peeled.pop(0)
    return SumSchedule(first, start, stop, tuple(peeled), last)


def shared_tiling(shape: MatmulShape, cols: int) -> SharedTiling | None:
    """The tiling for the whole row groups and column slots of a product; ``None`` when it has too few of them.

    Least traffic first, within the slack the fewest kinds of block, then the fewest bundles.
    """
    groups, slots = shape.m // GROUP_ROWS, shape.n // cols
    found: list[tuple[int, tuple[int, int], SharedTiling]] = []
    for g in range(1, min(groups, LIVE_ACCUMULATORS) + 1):
        for s in range(1, min(slots, LIVE_ACCUMULATORS // g) + 1):
            k = _depth(shape, g, cols)
            if k and not _lonely(groups, g, slots, s):
                tiling = SharedTiling(g, s, cols, k)
                found.append((*_cost(shape, tiling, groups, slots), tiling))
    if not found:
        return None
    least = min(traffic for traffic, _, _ in found)
    return min((each for each in found if each[0] <= least * TRAFFIC_SLACK), key=lambda each: (each[1], each[0]))[2]


def _lonely(groups: int, g: int, slots: int, s: int) -> bool:
    """Whether some block has a single accumulator: as T#1 it could not feed a result in its own hand."""
    return any(rows * cols == 1 for rows in (g, groups % g) for cols in (s, slots % s))


def _depth(shape: MatmulShape, groups: int, cols: int) -> int:
    """The deepest piece whose operands fit the Shared pool; 0 when none does.

    A long sum is cut so that its K loop exists (the first piece, without C, and the last one stand outside of it): then
    its code is that of every longer sum.
    """
    per_product = (groups * GROUP_ROWS * shape.a.bits + cols * shape.b.bits) // 8
    deepest = min(SHARED_POOL_BYTES // per_product, shape.k)
    if shape.k >= LONG_SUM:
        deepest = min(deepest, shape.k // (2 if shape.has_c else 3))
    return floor_power_of_two(deepest) if deepest else 0


def _cost(shape: MatmulShape, tiling: SharedTiling, groups: int, slots: int) -> tuple[int, tuple[int, int]]:
    """Bytes of A and B that are read; kinds of block, and bundles."""
    row_blocks, col_blocks = -(-groups // tiling.groups), -(-slots // tiling.slots)
    a_bytes = groups * GROUP_ROWS * shape.k * shape.a.bits // 8
    b_bytes = slots * tiling.cols * shape.k * shape.b.bits // 8
    kinds = (1 + (groups % tiling.groups > 0)) * (1 + (slots % tiling.slots > 0))
    full, tail = k_pieces(shape.k, tiling.k)
    per_piece = groups * col_blocks + slots * row_blocks + groups * slots
    return a_bytes * col_blocks + b_bytes * row_blocks, (kinds, (full + len(tail)) * per_piece)
