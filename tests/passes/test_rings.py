"""Register rings: what may stand in which hand, and under what name."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptoc.passes.planning.rings import (
    Carried,
    DoesNotFit,
    Flush,
    Loop,
    Plan,
    PoolFull,
    Program,
    Step,
    plan,
    replay,
)

T, U, M, N = range(4)
ALL, ONE, TWO = 0b1111, 0b0001, 0b0011
KIB = 1024


def define(value: int, *uses: int, nbytes: int = 128, mask: int = ALL, accumulates: bool = False) -> Step:
    return Step(f"step{value}", uses, value, nbytes, mask, accumulates)


def use(*values: int, mask: int = ALL) -> Step:
    return Step("use", values, None, 0, mask)


def names_of(program: Program, hands: dict[int, int]) -> list[tuple[int, int]]:
    """Names in the order of uses."""
    return [name for _, name in sorted(replay(program, hands).names.items())]


# -- straight lines --------------------------------------------------------------------------------


def test_a_name_counts_publications_in_its_hand() -> None:
    program = [define(0), define(1), define(2), use(0, 1, 2)]
    assert names_of(program, {0: T, 1: T, 2: T}) == [(T, 3), (T, 2), (T, 1)]
    assert names_of(program, {0: T, 1: U, 2: T}) == [(T, 2), (U, 1), (T, 1)]


def test_the_sixteenth_generation_is_the_last_one_with_a_name() -> None:
    hands = dict.fromkeys(range(17), M)
    assert names_of([*map(define, range(16)), use(0)], hands) == [(M, 16)]
    with pytest.raises(DoesNotFit, match="left hand M after 16"):
        replay([*map(define, range(17)), use(0)], hands)


def test_a_bundle_does_not_retire_its_own_source() -> None:
    """A full ring's oldest tile may be read by what publishes elsewhere, not by what pushes it out."""
    line = [*map(define, range(16)), define(16, 0)]
    hands = dict.fromkeys(range(16), T)
    assert names_of(line, hands | {16: U}) == [(T, 16)]
    with pytest.raises(DoesNotFit, match="retire one of its own sources"):
        replay(line, hands | {16: T})
    assert names_of([*map(define, range(15)), define(15, 0)], hands) == [(T, 15)]


@pytest.mark.parametrize("c_hand", range(4))
@pytest.mark.parametrize("distance", range(1, 17))
@pytest.mark.parametrize("d_hand", range(4))
def test_selector_of_an_accumulator(c_hand: int, distance: int, d_hand: int) -> None:
    """C's six-bit selector differs from D's two-bit hand: T#1 -> T, T#2 -> U, T#3 -> M and T#4 -> N are illegal."""
    others = range(100, 99 + distance)
    program = [define(0), *map(define, others), define(1, 0, accumulates=True), use(1)]
    hands = {0: c_hand, 1: d_hand, **dict.fromkeys(others, c_hand)}
    illegal = (c_hand, distance, d_hand) in [(T, 1, T), (T, 2, U), (T, 3, M), (T, 4, N)]
    retires = distance == 16 and c_hand == d_hand
    if illegal or retires:
        with pytest.raises(DoesNotFit, match="may not feed" if illegal else "retire"):
            replay(program, hands)
    else:
        assert names_of(program, hands)[0] == (c_hand, distance)


def test_selector_of_the_scale() -> None:
    """CScale, the last source here, may not be T#1 for a result in T; everything else is free."""
    step = replace(define(3, 0, 1, 2, accumulates=True), scale=2, parameters=(2,))
    program = [define(0), define(1), define(2), step, use(3)]
    with pytest.raises(DoesNotFit, match="T#1 may not feed a result in hand T"):
        replay(program, dict.fromkeys(range(4), T))
    assert replay(program, {0: T, 1: T, 2: N, 3: T}).names[3, 2] == (N, 1)
    assert plan(program).hands[2] == N


def test_a_bundle_with_several_results() -> None:
    """They are published in order, and all count where they share a hand with each other or with a source."""
    step = replace(define(2, 0, 1, accumulates=True), beside=((3, 128), (4, 128)))
    program = [define(0), define(1), step, use(2, 3, 4, 0)]
    assert names_of(program, {0: U, 1: T, 2: T, 3: T, 4: M})[2:] == [(T, 2), (T, 1), (M, 1), (U, 1)]
    assert names_of(program, {0: U, 1: U, 2: U, 3: U, 4: U})[2:] == [(U, 3), (U, 2), (U, 1), (U, 5)]


def test_the_selector_of_an_accumulator_is_held_against_the_first_result() -> None:
    step = replace(define(1, 0, accumulates=True), beside=((2, 128),))
    names_of([define(0), step], {0: T, 1: U, 2: T})
    with pytest.raises(DoesNotFit, match="may not feed a result in hand T"):
        replay([define(0), step], {0: T, 1: T, 2: U})


def test_the_selector_of_a_scale_is_held_against_every_result() -> None:
    step = replace(define(2, 0, 1, accumulates=True), scale=1, parameters=(1,), beside=((3, 128),))
    names_of([define(0), define(1), step], {0: M, 1: N, 2: U, 3: T})
    with pytest.raises(DoesNotFit, match="T#1 may not feed a result in hand T"):
        replay([define(0), define(1), step], {0: M, 1: T, 2: U, 3: T})


def test_two_results_in_a_hand_retire_two_tiles() -> None:
    step = replace(define(16, 0), beside=((17, 128),))
    hands = dict.fromkeys(range(18), T)
    assert names_of([*map(define, range(14)), step], hands) == [(T, 14)]
    with pytest.raises(DoesNotFit, match="retire one of its own sources"):
        replay([*map(define, range(15)), step], hands)
    assert names_of([*map(define, range(15)), step], hands | {17: U}) == [(T, 15)]


def test_every_result_takes_room() -> None:
    step = replace(define(0, nbytes=128 * KIB), beside=((1, 128 * KIB), (2, 128)))
    with pytest.raises(PoolFull):
        replay([step], {0: T, 1: U, 2: M})
    assert replay([replace(step, beside=step.beside[:1])], {0: T, 1: U}).peak_bytes == 256 * KIB


def test_other_sources_than_the_accumulator_have_no_such_rule() -> None:
    program = [define(0), define(1), define(2, 1, 0, accumulates=False), use(2)]
    assert names_of(program, {0: U, 1: T, 2: T})[:2] == [(T, 1), (U, 1)]


# -- capacity --------------------------------------------------------------------------------------


def test_capacity_is_charged_for_all_that_is_in_the_rings() -> None:
    """Dead or not: 256 KiB per PE."""
    big = [define(n, nbytes=32 * KIB) for n in range(8)]
    assert replay(big, dict.fromkeys(range(8), T)).peak_bytes == 256 * KIB
    with pytest.raises(PoolFull, match="exist") as full:
        replay([*big, define(8)], dict.fromkeys(range(9), T))
    assert full.value.step == define(8)


def test_what_is_aged_out_is_free_again() -> None:
    sizes = [64 * KIB] * 3 + [KIB] * 16 + [64 * KIB] * 3
    program = [define(n, nbytes=size) for n, size in enumerate(sizes)]
    plan_ = replay(program, dict.fromkeys(range(len(sizes)), T))
    assert plan_.peak_bytes == 3 * 64 * KIB + 13 * KIB
    with pytest.raises(PoolFull):
        replay(program, {n: T if n < 3 else U for n in range(len(sizes))})


def test_capacity_is_counted_on_each_pe() -> None:
    program = [define(n, nbytes=64 * KIB, mask=mask) for n, mask in enumerate([ONE, TWO, ALL, TWO])]
    assert replay(program, dict.fromkeys(range(4), T)).peak_bytes == 256 * KIB
    with pytest.raises(PoolFull, match="on PE1"):
        replay([*program, define(4, mask=0b0010, nbytes=64 * KIB), define(5, mask=0b0010)], dict.fromkeys(range(6), T))


# -- PEs -------------------------------------------------------------------------------------------


def test_a_pe_that_takes_no_part_does_not_move() -> None:
    program = [define(0), define(1, mask=ONE), use(0, mask=ONE)]
    assert names_of(program, {0: T, 1: T}) == [(T, 2)]
    assert names_of([*program[:2], use(0, mask=0b1110)], {0: T, 1: T}) == [(T, 1)]
    with pytest.raises(DoesNotFit, match="different distances on different PEs"):
        replay([*program[:2], use(0)], {0: T, 1: T})
    assert names_of([*program[:2], use(0)], {0: T, 1: U}) == [(T, 1)]


def test_a_tile_exists_where_it_was_published() -> None:
    with pytest.raises(DoesNotFit, match="left hand"):
        replay([define(0, mask=ONE), use(0, mask=TWO)], {0: T})


# -- loops -----------------------------------------------------------------------------------------


def accumulation(trips: int, streams: int = 2) -> list[Step | Loop]:
    """C, then per iteration so many loads and a D from the D before, then a store."""
    loads = tuple(define(10 + n) for n in range(streams))
    body = (*loads, define(4, 3, *(step.defines for step in loads), accumulates=True))  # type: ignore[arg-type]
    return [define(0), Loop(body, trips, (Carried(0, 3, 4, 5),)), use(5)]


def test_an_accumulator_keeps_its_distance() -> None:
    hands = dict.fromkeys((0, 3, 4, 5, 10, 11), T)
    for trips in (1, 2, 3, 1000):
        plan_ = replay(accumulation(trips), hands)
        assert set(plan_.names.values()) == {(T, 3), (T, 2), (T, 1)}


def test_the_first_iteration_needs_the_same_distance_as_the_others() -> None:
    late = [define(0), define(20), *accumulation(5)[1:]]
    with pytest.raises(DoesNotFit, match="different distances in its hand on different paths"):
        replay(late, dict.fromkeys((0, 3, 4, 5, 10, 11, 20), T))
    replay(late, dict.fromkeys((0, 3, 4, 5, 10, 11), T) | {20: U})
    replay([late[0], late[1], *accumulation(1)[1:]], dict.fromkeys((0, 3, 4, 5, 10, 11, 20), T))


def test_what_a_loop_only_reads_must_not_move() -> None:
    program = [define(0), Loop((define(1), use(0, 1)), 3), use(0)]
    with pytest.raises(DoesNotFit, match="different distances"):
        replay(program, {0: T, 1: T})
    assert set(replay(program, {0: N, 1: T}).names.values()) == {(N, 1), (T, 1)}


def test_a_loop_that_does_not_settle_is_played_to_its_end() -> None:
    """Seventeen iterations push out what was loaded before."""
    program = [define(0), Loop((define(1),), 15), use(0)]
    assert names_of(program, {0: T, 1: T}) == [(T, 16)]
    with pytest.raises(DoesNotFit, match="left hand T"):
        replay([define(0), Loop((define(1),), 16), use(0)], {0: T, 1: T})


def test_the_pool_may_overflow_in_a_later_iteration() -> None:
    with pytest.raises(PoolFull):
        replay([Loop((define(0, nbytes=32 * KIB),), 9)], {0: T})
    assert replay([Loop((define(0, nbytes=16 * KIB),), 10**9)], {0: T}).peak_bytes == 256 * KIB


def test_nested_loops_with_accumulators() -> None:
    inner = accumulation(7)
    program = [Loop((*inner, define(9), use(9)), 5)]
    plan_ = plan(program)
    assert set(plan_.names) == set(replay(program, plan_.hands).names)


def test_two_accumulators_swap() -> None:
    """What is carried is read before it is overwritten."""
    body = (define(10), use(2, 3))
    program = [define(0), define(1), Loop(body, 2, (Carried(0, 2, 3, 4), Carried(1, 3, 2, 5)))]
    with pytest.raises(DoesNotFit):
        replay(program, dict.fromkeys(range(11), T))
    program = [define(0), define(1), Loop((use(2, 3),), 1, (Carried(0, 2, 3, 4), Carried(1, 3, 2, 5))), use(4, 5)]
    assert names_of(program, dict.fromkeys(range(6), T)) == [(T, 2), (T, 1), (T, 1), (T, 2)]


# -- plans -----------------------------------------------------------------------------------------


def test_pinned_values_stay_in_their_hand() -> None:
    plan_ = plan([define(0), define(1), use(0, 1)], {0: M})
    assert plan_.hands[0] == M
    assert plan_.names[2, 0] == (M, 1)


def test_stretches_choose_for_themselves() -> None:
    """One needs accumulators in a hand of their own, the other has no room for that."""
    late = [define(0, nbytes=1 * KIB), define(20, nbytes=KIB), *accumulation(9)[1:]]
    wide = [
        Loop(
            (
                define(30, nbytes=32 * KIB),
                define(31, nbytes=KIB),
                define(32, nbytes=KIB),
                define(34, 30, 31, 32, nbytes=KIB),
                use(34),
            ),
            64,
        )
    ]
    for program in ([*late, *wide], [*wide, *late], [*wide, *wide[:0], *late]):
        plan_ = plan(program)
        assert replay(program, plan_.hands) == plan_


def test_a_failure_names_the_bundle() -> None:
    step = define(1, nbytes=300 * KIB)
    with pytest.raises(DoesNotFit) as caught:
        plan([define(0), use(0), step, use(1)])
    assert caught.value.step is step


def test_rings_are_aged_out_where_no_tile_is_live() -> None:
    full = [define(n, nbytes=16 * 1024) for n in range(16)]
    pinned = dict.fromkeys(range(16), T) | {16: T, 17: U}
    program = [*full, define(16, nbytes=16 * 1024), define(17, 16, nbytes=16 * 1024), use(17)]
    with pytest.raises(PoolFull):
        plan(program, pinned)
    assert plan(program, pinned, flush=True).flushes == (Flush(16, (T,)),)


def test_the_fullest_hand_is_aged_out_first() -> None:
    """A cell in another hand would overflow the pool while it is full."""
    rest = [define(n, nbytes=128) for n in range(16)]
    full = [define(n, nbytes=16 * 1024 if n < 31 else 8 * 1024) for n in range(16, 32)]
    pinned = dict.fromkeys(range(16), T) | dict.fromkeys(range(16, 32), U) | {32: M}
    program = [*rest, *full, define(32, nbytes=16 * 1024), use(32)]
    assert plan(program, pinned, flush=True).flushes == (Flush(32, (U, T)),)


def test_what_the_rings_hold_on_two_paths_is_not_added_up() -> None:
    """A loop that may not run fills one hand and empties another: no path holds both."""
    big = [define(n, nbytes=12 * 1024) for n in range(16)]
    either = Loop(
        (
            *(define(n, nbytes=128) for n in range(16, 32)),
            *(define(n, nbytes=12 * 1024) for n in range(32, 48)),
        ),
        None,
        most=1,
    )
    pinned = dict.fromkeys(range(32), T) | dict.fromkeys(range(32, 48), U) | {48: T}
    hands = plan([*big, either, define(48, nbytes=128), use(48)], pinned).hands
    assert replay([*big, either, define(48, nbytes=128), use(48)], hands).peak_bytes <= 256 * 1024


def test_rings_are_aged_out_early_where_later_there_is_no_room_for_it() -> None:
    """Two stretches together fill the pool with six tiles of a ring, which ten more cells would have to push out."""
    early = [define(n, nbytes=32 * 1024) for n in range(4)]
    late = [define(n, nbytes=64 * 1024) for n in range(4, 6)]
    program = [*early, use(0, 3), *late, use(4, 5), define(6, nbytes=64 * 1024), use(6)]
    pinned = dict.fromkeys(range(6), T) | {6: U}
    assert plan(program[:8], pinned, flush=True).flushes == ()
    assert plan(program, pinned, flush=True).flushes == (Flush(5, (T,)),)


def test_what_never_fits_is_refused_once_the_rings_are_aged_out() -> None:
    lives = [define(n, nbytes=64 * 1024) for n in range(5)]
    with pytest.raises(PoolFull):
        plan([*lives, *(use(n) for n in range(5))], flush=True)


def test_after_a_loop_that_may_not_run_what_stands_below_it_has_no_distance() -> None:
    skipped = Loop((define(1), use(1)), None)
    assert names_of([define(0), skipped, use(0)], {0: N, 1: T}) == [(T, 1), (N, 1)]
    with pytest.raises(DoesNotFit, match="left hand T"):
        replay([define(0), skipped, use(0)], {0: T, 1: T})


def test_an_accumulator_of_a_loop_that_may_not_run() -> None:
    program = [define(0), Loop((define(1, 9), define(2)), None, (Carried(0, 9, 1, 10),)), use(10)]
    assert names_of(program, {0: T, 9: T, 1: T, 10: T, 2: U}) == [(T, 1), (T, 1)]
    with pytest.raises(DoesNotFit, match="left hand T"):
        replay(program, {0: T, 9: T, 1: T, 10: T, 2: T})


def test_a_loop_that_runs_once_or_not_at_all() -> None:
    program = [Loop((define(1, nbytes=64 * KIB), use(1)), None, (), 1)] * 4
    assert replay(program, {1: T}).peak_bytes == 256 * KIB
    with pytest.raises(PoolFull):
        replay(program[:1] * 5, {1: T})


def test_where_a_loop_may_not_run_the_tiles_before_it_still_count() -> None:
    large = [Loop((define(0, nbytes=16 * KIB), use(0)), 16)]
    small = Loop((define(1, nbytes=128), use(1)), None)
    hands = {0: T, 1: T, 2: U}
    replay([*large, Loop(small.body, 16), define(2)], hands)
    with pytest.raises(PoolFull):
        replay([*large, small, define(2)], hands)


# -- any program -----------------------------------------------------------------------------------


@dataclass
class _Machine:
    """Four PEs with four rings each, and which tile each name means; written from the ISA's words."""

    rings: list[list[deque[int]]] = field(
        default_factory=lambda: [[deque(maxlen=16) for _ in range(4)] for _ in range(4)]
    )
    size: dict[int, int] = field(default_factory=dict)
    tiles: int = 0

    def resolve(self, pe: int, hand: int, distance: int) -> int:
        return self.rings[pe][hand][-distance]

    def publish(self, pes: list[int], hand: int, nbytes: int) -> int:
        self.tiles += 1
        self.size[self.tiles] = nbytes
        for pe in pes:
            self.rings[pe][hand].append(self.tiles)
            assert sum(self.size[t] for ring in self.rings[pe] for t in ring) <= 256 * KIB
        return self.tiles


def unrolled(
    items: Program, binding: dict[int, int], any_trips: Iterator[int]
) -> Iterator[tuple[Step, dict[int, int]]]:
    """Every executed step with what its values are bound to; the caller adds what a step defines.

    ``any_trips`` says how often loops run that may run any number of times.
    """
    for item in items:
        if isinstance(item, Step):
            yield item, binding
            continue
        for c in item.carried:
            binding[c.argument] = binding[c.initial]
        for _ in range(min(next(any_trips), item.most or 18) if item.trips is None else item.trips):
            yield from unrolled(item.body, binding, any_trips)
            yielded = [binding[c.yielded] for c in item.carried]
            for c, tile in zip(item.carried, yielded):
                binding[c.argument] = tile
        for c in item.carried:
            binding[c.result] = binding[c.argument]


def assert_sound(program: Program, found: Plan) -> None:
    """Run the whole program, loop by loop, with nothing but the names that were found."""
    for any_trips in (repeat(0), repeat(1), repeat(18), cycle([0, 1, 2, 5, 0, 3]), cycle([17, 0, 4, 1, 1])):
        _assert_sound(program, found, any_trips)


def _assert_sound(program: Program, found: Plan, any_trips: Iterator[int]) -> None:
    number = {id(step): n for n, step in enumerate(_steps(program))}
    machine = _Machine()
    for step, binding in unrolled(program, {}, any_trips):
        pes = [pe for pe in range(4) if step.mask >> pe & 1]
        for position, value in enumerate(step.uses):
            hand, distance = found.names[number[id(step)], position]
            assert 1 <= distance <= 16
            assert all(machine.resolve(pe, hand, distance) == binding[value] for pe in pes)
        if step.defines is None:
            continue
        results = [(step.defines, step.nbytes), *step.beside]
        hands = [found.hands[value] for value, _ in results]
        sources = [found.names[number[id(step)], n] for n in range(len(step.uses))]
        retired = [(hand, 16 - n) for hand in hands for n in range(hands.count(hand))]
        assert not set(retired) & set(sources)
        if step.accumulates:
            assert 16 * sources[0][0] + sources[0][1] - 1 != hands[0]
        for (value, nbytes), hand in zip(results, hands):
            binding[value] = machine.publish(pes, hand, nbytes)


def _steps(program: Program) -> Iterator[Step]:
    for item in program:
        if isinstance(item, Step):
            yield item
        else:
            yield from _steps(item.body)


@dataclass
class _Draw:
    draw: st.DrawFn
    values: int = 0
    steps: int = 0

    def new(self) -> int:
        self.values += 1
        return self.values

    def items(self, live: list[int], mask: int, depth: int) -> list[Step | Loop]:
        live, items = list(live), []
        for _ in range(self.draw(st.integers(1, 5))):
            if depth < 3 and self.draw(st.integers(0, 3)) == 0:
                loop, results = self.loop(live, mask, depth)
                items.append(loop)
                live += results
                continue
            uses = tuple(self.draw(st.lists(st.sampled_from(live), max_size=3))) if live else ()
            value = self.new() if self.draw(st.integers(0, 4)) else None
            accumulates = value is not None and bool(uses) and self.draw(st.booleans())
            nbytes = self.draw(st.sampled_from([128, 1 * KIB, 8 * KIB, 32 * KIB])) if value is not None else 0
            more = self.draw(st.sampled_from([0, 0, 0, 1, 2])) if value is not None else 0
            beside = tuple((self.new(), 128) for _ in range(more))
            # A name per step, so that equal steps stay apart.
            self.steps += 1
            items.append(Step(f"s{self.steps}", uses, value, nbytes, mask, accumulates, beside=beside))
            live += [each for each, _ in items[-1].results]
        return items

    def loop(self, live: list[int], mask: int, depth: int) -> tuple[Loop, list[int]]:
        initials = self.draw(st.lists(st.sampled_from(live), max_size=2)) if live else []
        arguments = [self.new() for _ in initials]
        body = self.items([*live, *arguments], mask, depth + 1)
        defined = [value for s in body if isinstance(s, Step) for value, _ in s.results]
        carried = []
        for initial, argument in zip(initials, arguments):
            yielded = self.draw(st.sampled_from([*defined, argument]))
            carried.append(Carried(initial, argument, yielded, self.new()))
        trips = self.draw(st.sampled_from([1, 2, 3, 18, None]))
        most = self.draw(st.sampled_from([None, 1, 2])) if trips is None else None
        return Loop(tuple(body), trips, tuple(carried), most), [c.result for c in carried]


@st.composite
def programs(draw: st.DrawFn) -> list[Step | Loop]:
    """Structured programs: stretches on all PEs or on a prefix, each reading its own tiles only."""
    state = _Draw(draw)
    program: list[Step | Loop] = []
    for _ in range(draw(st.integers(1, 3))):
        program += state.items([], draw(st.sampled_from([ALL, ONE, TWO, 0b0111])), 0)
    return program


@settings(max_examples=300)
@given(programs())
def test_names_of_a_plan_mean_the_values_on_every_path(program: list[Step | Loop]) -> None:
    try:
        found = plan(program)
    except DoesNotFit:
        return
    assert_sound(program, found)


@settings(max_examples=300)
@given(programs(), st.data())
def test_any_assignment_is_proven_or_refused(program: list[Step | Loop], data: st.DataObject) -> None:
    """Also hands that no strategy would choose."""
    values = sorted(_values(program))
    hands = dict(zip(values, data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))))
    for carried in _carried(program):
        hands[carried.argument] = hands[carried.yielded] = hands[carried.result] = hands[carried.initial]
    try:
        found = replay(program, hands)
    except DoesNotFit:
        return
    assert_sound(program, found)


def _carried(program: Program) -> Iterator[Carried]:
    for item in program:
        if isinstance(item, Loop):
            yield from item.carried
            yield from _carried(item.body)


def _values(program: Program) -> set[int]:
    defined = {value for s in _steps(program) for value, _ in s.results}
    return defined | {v for c in _carried(program) for v in (c.argument, c.result)}
