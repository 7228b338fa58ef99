"""Choosing the bands of a product: every way to cut its rows, the best columns for each, and then the best plan.

The traffic of a plan is exact, so the search needs no guess: no wasted cells first, then little code, little traffic
and few bundles. ``decide`` applies these rules and keeps what each of them left, which ``planning.explain`` tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache, partial
from itertools import product
from typing import TypeVar

from ptoc.isa import layouts
from ptoc.isa.registers import (
    CELL_BYTES,
    GENERATIONS,
    HANDS,
    LOCAL_POOL_BYTES,
    MAX_DIMENSION,
    PE_COUNT,
    SHARED_COUNT,
    SHARED_POOL_BYTES,
)
from ptoc.passes.planning.bands import (
    GROUP_ROWS,
    HALF_GROUP_ROWS,
    HANDS_BESIDE_LOCAL,
    LIVE,
    Band,
    Lane,
    b_shared_bytes,
    band_cost,
    local_bytes,
    shared_bytes,
    shared_names,
)
from ptoc.passes.planning.columns import Columns, cut_columns
from ptoc.passes.planning.cost import Cost, issued_bound, k_cell, lower_bound, streamed_bound
from ptoc.passes.planning.shapes import MatmulShape
from ptoc.passes.planning.sums import deepest_piece, floor_power_of_two, shared_sum
from ptoc.passes.planning.techniques import ALL, Techniques

WIDTHS = (128, 64, 32, 16, 8)
"""Columns of a slot."""

LIKE_TRAFFIC = 1.05
"""Plans whose traffic is no further apart compete by the number of their bundles."""

LIKE_BUNDLES = 1.15
"""Of these, plans whose number of bundles is no further apart compete by their traffic."""

SIMPLER_CODE = 1.12
"""How much more traffic than the least is paid for a single lane: each lane has code of its own."""

THIN = 16
"""A product with a dimension up to this moves about what it has to move once."""

UTILIZATION = 0.98
"""The least part of the issued multiply-adds that the best cells would issue as well."""

LOCAL_DEPTH_BYTES = 256
"""Bytes of a row of A in a Local tile."""

WIDE_GROUP = 64
"""Columns of a group from which on accumulators have hardly a choice of widths."""

WIDE_GROUP_BYTES = LOCAL_POOL_BYTES * 3 // 4
"""Bytes of each PE for these, whatever else the kernel does: sixteen tiles of 32 x 64 sums fill half of the pool."""

_AGED_OUT = GENERATIONS * CELL_BYTES
"""Bytes of a hand whose tiles have been aged out by the smallest ones."""

_RELEASED = SHARED_COUNT * CELL_BYTES
"""Bytes of Shared tiles that have been replaced by the smallest ones."""

_Counts = tuple[int, tuple[tuple[int, int], ...]]
"""Row blocks, and the groups and rows of a group of each lane in one."""

T = TypeVar("T")


class NoPlan(Exception):
    """A product has no plan; the text says what does not fit."""


@dataclass(frozen=True, slots=True)
class ProductPlan:
    """Bands that cover a product, and what they cost together."""

    shape: MatmulShape
    bands: tuple[Band, ...]
    cost: Cost

    @property
    def lanes(self) -> int:
        return sum(len(band.lanes) for band in self.bands)

    @property
    def ratio(self) -> float:
        """Traffic over the lower bound."""
        return self.cost.traffic / lower_bound(self.shape)

    @property
    def utilization(self) -> float:
        """Multiply-adds of the best cells over those that are issued."""
        return issued_bound(self.shape) / self.cost.issued


@dataclass(frozen=True, slots=True)
class Room:
    """What a product may take of the pools.

    All of them where it has the kernel ``alone``; but ``parameters``, the tiles that scale sums and post-process them,
    take Local room and a hand. Maxima of ``group`` columns share that hand; those of rows take T or U, and accumulators
    the other. Hands of maxima differ between bands, so what is aged out there is set aside.
    """

    alone: bool = True
    parameters: bool = False
    row_max: bool = False
    group: int = 0

    @property
    def pool(self) -> int:
        """Bytes of Local tiles on each PE."""
        whole = LOCAL_POOL_BYTES if self.alone and not self.parameters else LOCAL_POOL_BYTES // 2
        if self.group >= WIDE_GROUP:
            whole = WIDE_GROUP_BYTES
        return whole - len(HANDS) * _AGED_OUT if self.maxima else whole

    @property
    def maxima(self) -> bool:
        """Whether maxima are found at all."""
        return self.row_max or self.group > 0

    @property
    def shared(self) -> int:
        """Bytes of Shared tiles: those of other work have been replaced, but only by smaller ones."""
        return SHARED_POOL_BYTES if self.alone else SHARED_POOL_BYTES - _RELEASED

    @property
    def hands(self) -> int:
        """The first so many hands."""
        return 2 if self.row_max else len(HANDS) - (self.parameters or self.group > 0)


ALONE = Room()
"""All of the machine."""


class Rule(Enum):
    """What decides between plans, in this order."""

    CELLS = "utilisation"
    LANES = "lanes"
    TRAFFIC = "traffic"
    BUNDLES = "bundles"
    LEAST = "least"


@dataclass(frozen=True, slots=True)
class Step:
    """A rule, the limit it came to (a utilisation, bytes, or bundles), and the plans that it left."""

    rule: Rule
    limit: float
    left: tuple[ProductPlan, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """Every rule as it was applied; the last one leaves one plan."""

    steps: tuple[Step, ...]

    @property
    def chosen(self) -> ProductPlan:
        (plan,) = self.steps[-1].left
        return plan


@dataclass(frozen=True, slots=True)
class _Budget:
    """What a plan may take of the pools, and the techniques that it may use."""

    pool: int
    shared: int
    hands: int
    techniques: Techniques

    @classmethod
    def of(cls, room: Room, techniques: Techniques) -> _Budget:
        return cls(room.pool, room.shared, room.hands, techniques)

    @property
    def live(self) -> int:
        """Accumulators that a hand may hold."""
        return LIVE if self.techniques.rotation else 1

    @property
    def shared_hands(self) -> int:
        """Hands for the accumulators of a band with Shared operands."""
        return min(self.hands, len(HANDS) - self.techniques.operand_hands)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Row groups without hands: ``repeat`` row blocks of lanes (groups, rows), on so many PEs."""

    repeat: int
    lanes: tuple[tuple[int, int], ...]
    pes: int = PE_COUNT


@lru_cache(maxsize=256)
def plan_product(shape: MatmulShape, room: Room = ALONE, techniques: Techniques = ALL) -> ProductPlan:
    """The plan for a product in some room. ``NoPlan`` when there is none."""
    plans = candidates(shape, room, techniques)
    if not plans:
        raise NoPlan(f"no block of {shape.m} x {shape.n} sums of {shape.k} products fits the tile pools")
    return decide(plans).chosen


def candidates(shape: MatmulShape, room: Room = ALONE, techniques: Techniques = ALL) -> list[ProductPlan]:
    """A plan for every way to cut the rows; with Local operands too where Shared ones waste cells.

    So it is where a thin product moves more than it has to; on fewer PEs while each PE's own B is to blame for that.
    """
    budget = _Budget.of(room, techniques)
    if shape.group & (shape.group - 1):
        return [] if shape.trans_a or shape.trans_b else _narrow_plans(shape, budget)
    plans = list(_plans(shape, budget, head=0))
    thin = min(shape.m, shape.n, shape.k) <= THIN
    if shape.trans_a or shape.trans_b or _good_enough(plans, any_traffic=not thin):
        return plans
    if head := shape.k % k_cell(shape, layouts.CUBE_M32):
        plans += _plans(shape, budget, head=head)
    for pes in (PE_COUNT, PE_COUNT // 2, 1):
        if shape.k <= THIN:
            plans += _plans(shape, budget, head=shape.k, pes=pes)
        if shape.n <= WIDTHS[0]:
            plans += _narrow_plans(shape, budget, pes)
        if _good_enough(plans):
            break
    # All of a short sum is the same whether it is called head or Local.
    return list(dict.fromkeys(plans))


def _good_enough(plans: Sequence[ProductPlan], *, any_traffic: bool = False) -> bool:
    """Whether a plan wastes no cells and moves hardly more than it has to."""
    return any(p.utilization >= UTILIZATION and (any_traffic or p.ratio <= LIKE_TRAFFIC) for p in plans)


def decide(plans: Sequence[ProductPlan]) -> Decision:
    """Choose the plan to use: no wasted cells, then little code, then little traffic and few bundles."""
    steps = []

    def left(rule: Rule, limit: float, plans: Sequence[ProductPlan]) -> Sequence[ProductPlan]:
        steps.append(Step(rule, limit, tuple(plans)))
        return plans

    least_waste = max(plans, key=lambda p: p.utilization)
    whole = [p for p in plans if p.utilization >= UTILIZATION] or [least_waste]
    plans = left(Rule.CELLS, min(UTILIZATION, least_waste.utilization), whole)
    limit = single_lane_slack(plans[0].shape) * min(p.cost.traffic for p in plans)
    simple = [p for p in plans if p.lanes == 1 and p.cost.traffic <= limit]
    plans = left(Rule.LANES, limit, simple or plans)
    for rule, limit, found in _narrowed([(plan, plan.cost) for plan in plans]):
        left(rule, limit, [plan for plan, _ in found])
    return Decision(tuple(steps))


def single_lane_slack(shape: MatmulShape) -> float:
    """How much more traffic than the least a single lane may cause: little where C and A or B are most of it anyway."""
    streams = streamed_bound(shape) > shape.a_bytes + shape.b_bytes
    return SIMPLER_CODE if streams and min(shape.m, shape.n, shape.k) > THIN else LIKE_TRAFFIC


def _best(found: Sequence[tuple[T, Cost]]) -> tuple[T, Cost]:
    *_, (_, _, (best,)) = _narrowed(found)
    return best


def _narrowed(found: Sequence[tuple[T, Cost]]) -> Iterator[tuple[Rule, float, Sequence[tuple[T, Cost]]]]:
    """What moves about the least; of this what takes about the fewest bundles; and of this what moves the least."""
    limit = LIKE_TRAFFIC * min(cost.traffic for _, cost in found)
    found = [each for each in found if each[1].traffic <= limit]
    yield Rule.TRAFFIC, limit, found
    limit = LIKE_BUNDLES * min(cost.bundles for _, cost in found)
    found = [each for each in found if each[1].bundles <= limit]
    yield Rule.BUNDLES, limit, found
    best = min(found, key=lambda each: (each[1].traffic, each[1].bundles, each[1].local_bytes))
    yield Rule.LEAST, best[1].traffic, [best]


def _plans(shape: MatmulShape, budget: _Budget, *, head: int, pes: int = PE_COUNT) -> Iterator[ProductPlan]:
    """Plans with ``head`` products of Local operands; fewer PEs only where these are all."""
    hands = HANDS_BESIDE_LOCAL if head else budget.shared_hands
    if shape.row_max or shape.group >= WIDE_GROUP:
        # Row maxima take a hand for each lane, and wide accumulators leave no room for several.
        hands = 1
    for cut in _row_cuts(shape, budget.live, hands, pes):
        plan = _stack(shape, _bands(shape, cut, budget, head))
        if plan is not None:
            yield plan


def _bands(shape: MatmulShape, cut: Sequence[_Rows], budget: _Budget, head: int) -> list[tuple[Band, Cost] | None]:
    """The best band for each part of a cut.

    Aged-out hands of earlier bands still hold a cell per generation, and their Shared tiles one each, so a band that
    does not use them may not fill all of a pool.
    """
    hands: set[int] = set()
    names: set[int] = set()
    found: list[tuple[Band, Cost] | None] = []
    for rows in cut:
        each = None
        for aged, released in product((0, len(HANDS) * _AGED_OUT), (0, _RELEASED)):
            room = replace(budget, pool=budget.pool - aged, shared=budget.shared - released)
            each = _band(shape, rows, room, head)
            if each is None:
                break
            band, cost = each
            others = len(hands - band.hands), len(names - shared_names(shape, band))
            if (
                cost.local_bytes + others[0] * _AGED_OUT <= budget.pool
                and cost.shared_bytes + others[1] * CELL_BYTES <= budget.shared
            ):
                break
        if each is not None:
            hands |= each[0].hands
            names |= shared_names(shape, each[0])
        found.append(each)
    return found


def _stack(shape: MatmulShape, chosen: Sequence[tuple[Band, Cost] | None]) -> ProductPlan | None:
    """Bands from top to bottom."""
    bands, total, row = [], Cost(), 0
    for each in chosen:
        if each is None:
            return None
        band, cost = each
        bands.append(replace(band, row=row) if row else band)
        total += cost
        row += band.rows
    return ProductPlan(shape, tuple(bands), total)


def _bottom(rest: int, pes: int) -> tuple[tuple[int, int], ...]:
    """Groups of the rows behind the last whole group, in the cells that waste least."""
    half = HALF_GROUP_ROWS * pes // PE_COUNT
    if rest == 0:
        return ()
    if rest <= half or rest > 2 * half - 16:
        return ((1, rest),)
    return ((1, half), (1, rest - half))


def _bottoms(rest: int, pes: int, *, transposed: bool) -> tuple[tuple[int, int], ...]:
    """The same, but in powers of two for a transposed A, whose Shared tiles have powers of two of columns."""
    if not transposed:
        return _bottom(rest, pes)
    return tuple((1, 1 << bit) for bit in reversed(range(rest.bit_length())) if rest >> bit & 1)


def _row_cuts(shape: MatmulShape, live: int, hands: int, pes: int) -> Iterator[tuple[_Rows, ...]]:
    """Ways to cut the rows into bands: row blocks of some groups over one, two or four hands, then the rest.

    A band has up to ``hands`` hands, and a hand holds up to ``live`` accumulators.
    """
    # Accumulators as wide as the widest groups of columns leave no room for tiles of maxima.
    group_rows = (HALF_GROUP_ROWS if shape.group == WIDTHS[0] else GROUP_ROWS) * pes // PE_COUNT
    full, rest = divmod(shape.m, group_rows)
    bottom = _bottoms(rest, pes, transposed=shape.trans_a)

    def banded(lanes: Sequence[tuple[int, int]]) -> list[_Rows]:
        bands: list[_Rows] = []
        while lanes:
            # Lone accumulators leave a hand out; there are many where the rows of a transposed A end.
            alone = shape.trans_a and all(groups == 1 for groups, _ in lanes[:hands])
            most = max(1, hands - alone)
            bands.append(_Rows(1, tuple(lanes[:most]), pes))
            lanes = lanes[most:]
        return bands

    for groups in range(1, min(full, len(HANDS) * live) + 1):
        repeat, left = divmod(full, groups)
        tail = ((left, group_rows), *bottom) if left else bottom
        for over in (1, 2, 4):
            if groups % over or groups // over > live or over > hands:
                continue
            main = _Rows(repeat, ((groups // over, group_rows),) * over, pes)
            yield (main, *banded(tail))
            if bottom and repeat == 1 and over == 1 < hands and not left:
                yield (*banded((*main.lanes, *bottom)),)
    if not full:
        yield (*banded(bottom),)


def _lanes(counts: tuple[tuple[int, int], ...], slots: int, hands: int, pes: int) -> tuple[Lane, ...] | None:
    """Lanes in the first ``hands`` hands; T#1 may not feed a result in T, so a lone accumulator stands elsewhere."""
    free = list(range(hands))
    if all(groups * slots == 1 for groups, _ in counts):
        free = free[1:]
    elif counts[0][0] * slots == 1:
        free = [free[-1], *free[:-1]]
    if len(counts) > len(free):
        return None
    return tuple(Lane(hand, groups, rows, _share(rows, pes)) for hand, (groups, rows) in zip(free, counts))


def _share(rows: int, pes: int) -> int:
    """Rows of a PE in a group for so many PEs; 0 where all take part as they do in a cooperative bundle."""
    return 0 if pes == PE_COUNT else 16 if rows <= 16 * pes else 32


@lru_cache(maxsize=1024)
def _band(shape: MatmulShape, rows: _Rows, budget: _Budget, head: int) -> tuple[Band, Cost] | None:
    """The best band for some rows, and its cost; its row is filled in later."""
    found = []
    techniques, hands = budget.techniques, HANDS_BESIDE_LOCAL if head else budget.shared_hands
    if not techniques.shared_a and sum(groups for groups, _ in rows.lanes) > LIVE:
        return None
    most = budget.live // max(groups for groups, _ in rows.lanes)
    for width in WIDTHS if most else ():
        columns = cut_columns(shape.n, width, most, shape.column_unit)
        lanes = _lanes(rows.lanes, columns.slots, hands, rows.pes) if columns is not None else None
        if columns is None or lanes is None:
            continue
        band = Band(0, rows.repeat, lanes, columns, 0, head)
        if head == shape.k:
            band = replace(band, depth=head, head=0, local=True)
        if local_bytes(shape, band) > budget.pool:
            continue
        if band.local:
            found.append((band, band_cost(shape, band)))
            continue
        for depth, resident in _depths(shape, band, budget):
            each = replace(band, depth=depth, resident=resident)
            found.append((each, band_cost(shape, each, techniques)))
    return _best(found) if found else None


def _depths(shape: MatmulShape, band: Band, budget: _Budget) -> Iterator[tuple[int, int]]:
    """Depths of pieces whose operands fit the Shared pool, as powers of two, and of a last piece that stays there.

    The last piece stays only where that makes no piece of other code.
    """
    columns, started = band.columns, shape.has_c or band.head > 0
    deepest = floor_power_of_two(deepest_piece(shape.k - band.head, started=started))
    # A narrow slot has more rows in the same storage, of which a tile has no more than a dimension can say.
    narrowest = columns.width if shape.trans_b else columns.narrowest
    most = MAX_DIMENSION * narrowest * shape.b.bits // 8
    fits = partial(_fits, shape, band, budget)
    depth = next((d for d in _halves(deepest) if fits(d, 0) and _b_bytes(shape, band, d) <= most), 0)
    if not depth:
        return
    yield depth, 0
    stays = budget.techniques.residency and budget.techniques.shared_a
    if not stays or columns.blocks == 1 or shape.k - band.head <= depth:
        return
    resident = next((d for d in _halves(depth) if fits(depth, d)), 0)
    cut = partial(shared_sum, band.head, shape.k, depth, started=started)
    if resident and len(cut(resident=resident).middle) <= len(cut().middle):
        yield depth, resident


def _halves(n: int) -> Iterator[int]:
    """A power of two and all smaller ones."""
    return (1 << bit for bit in reversed(range(n.bit_length())))


def _b_bytes(shape: MatmulShape, band: Band, depth: int) -> int:
    return b_shared_bytes(shape, band.columns.width, depth)


def _fits(shape: MatmulShape, band: Band, budget: _Budget, depth: int, resident: int) -> bool:
    band = replace(band, depth=depth, resident=resident)
    return (
        shared_bytes(shape, band, budget.techniques) <= budget.shared
        and local_bytes(shape, band, budget.techniques) <= budget.pool
    )


def _narrow_plans(shape: MatmulShape, budget: _Budget, pes: int = PE_COUNT) -> list[ProductPlan]:
    """All columns as one slot with Local operands, in groups of 32 rows for each PE or, where it is wide, of 16.

    What is left at the bottom is one group, or two of better cells, for each of which B is read once more.
    """
    room = budget.pool - len(HANDS) * _AGED_OUT
    for group_rows in (32 * pes, 16 * pes):
        full, rest = divmod(shape.m, group_rows)
        plans = []
        for bottom in dict.fromkeys((_bottom(rest, pes), ((1, rest),) if rest else ())):
            for bands in _stacked(_even(full, budget.live, group_rows), bottom, alone=shape.row_max or shape.group > 0):
                for columns in _local_columns(shape):
                    plans.append(_stack(shape, [_local_band(shape, room, each, columns, pes) for each in bands]))
        found = [plan for plan in plans if plan is not None]
        if found:
            return found
    return []


def _stacked(main: list[_Counts], bottom: Sequence[tuple[int, int]], *, alone: bool) -> Iterator[list[_Counts]]:
    """Row blocks of whole groups with what is below them: in bands of its own, or beside the last row block.

    Lanes with maxima are ``alone`` in their bands.
    """
    yield main + [(1, (lane,)) for lane in bottom]
    if not alone and main and bottom and main[-1][0] == 1:
        yield [*main[:-1], (1, (*main[-1][1], bottom[0])), *((1, (lane,)) for lane in bottom[1:])]


def _local_columns(shape: MatmulShape) -> Iterator[Columns]:
    """All columns as one slot; with group maxima, of which a bundle gives a power of two, as blocks of one slot."""
    if not shape.group:
        yield Columns(shape.n, shape.n, 1, shape.n, shape.n, shape.n)
        return
    width = shape.group
    while shape.n % width == 0 and width <= 2 * WIDTHS[0]:
        yield Columns(shape.n, width, 1, width, width, width)
        width *= 2


def _even(full: int, live: int, group_rows: int) -> list[_Counts]:
    """Row blocks of as many groups as a hand rotates, about equally many in each."""
    if not full:
        return []
    groups = -(-full // -(-full // live))
    repeat, left = divmod(full, groups)
    return [(repeat, ((groups, group_rows),)), *([(1, ((left, group_rows),))] if left else [])]


def _local_band(shape: MatmulShape, pool: int, rows: _Counts, columns: Columns, pes: int) -> tuple[Band, Cost] | None:
    """Row blocks with Local operands on some PEs, as deep as the pool allows."""
    repeat, counts = rows
    lanes = _lanes(counts, 1, HANDS_BESIDE_LOCAL, pes)
    if lanes is None:
        return None
    deepest = LOCAL_DEPTH_BYTES * 8 // max(shape.a.bits, shape.b.bits)
    for depth in _halves(deepest):
        band = Band(0, repeat, lanes, columns, min(depth, shape.k), local=True)
        if local_bytes(shape, band) <= pool:
            return band, band_cost(shape, band)
    return None
