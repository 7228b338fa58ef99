"""Register rings: which hand receives each tile, and by what relative name each use reads it.

A hand is a ring of sixteen generations; a publication becomes ``#1`` and moves the others one further. So a value
is named by its *distance in publications*, and a name is right only if every path to the use has published the
same number of tiles in between. ``replay`` walks a structured program, loops included, and proves that; ``plan``
tries assignments of values to hands until one passes.

Rules: ISA, Local tile registers (naming, age-out, pool) and rule 10 of TMATMUL_ACC (selectors of C and CScale against
D's hand).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ptoc.isa.registers import CELL_BYTES, GENERATIONS, HANDS, LOCAL_POOL_BYTES, PE_COUNT, mask_pes, prefix_mask


@dataclass(frozen=True, slots=True)
class Step:
    """One bundle: the values it reads in source order, and the value it publishes on the PEs of ``mask``.

    ``accumulates`` marks a bundle whose first source is the accumulator C, ``scale`` is the position of CScale, and
    ``parameters`` are those of all sources that are no operands of the product. ``beside`` are further values that it
    publishes, with their bytes.
    """

    name: str
    uses: tuple[int, ...]
    defines: int | None
    nbytes: int
    mask: int
    accumulates: bool = False
    scale: int | None = None
    parameters: tuple[int, ...] = ()
    beside: tuple[tuple[int, int], ...] = ()

    @property
    def results(self) -> tuple[tuple[int, int], ...]:
        """The values that it publishes, in this order, with their bytes."""
        return () if self.defines is None else ((self.defines, self.nbytes), *self.beside)


@dataclass(frozen=True, slots=True)
class NewQueue:
    """An empty queue of tiles."""

    result: int


@dataclass(frozen=True, slots=True)
class Push:
    """Append ``item``, which must be the newest generation of its hand, to ``queue``."""

    item: int
    queue: int
    result: int


@dataclass(frozen=True, slots=True)
class Pop:
    """Take the oldest tile of ``queue``; ``result`` is what is left."""

    queue: int
    item: int
    result: int


@dataclass(frozen=True, slots=True)
class Carried:
    """A carried tile: ``initial`` before the loop, ``argument`` inside, ``yielded`` at its end, ``result`` after it."""

    initial: int
    argument: int
    yielded: int
    result: int


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that runs ``trips`` times (at least once).

    Without ``trips`` it may run any number of times, none included, up to ``most`` where that is known.
    """

    body: tuple[Item, ...]
    trips: int | None
    carried: tuple[Carried, ...] = ()
    most: int | None = None


Item = Step | Loop | NewQueue | Push | Pop
Program = Sequence[Item]


_Hands = dict[int, int]
_NONE: frozenset[str] = frozenset()


class DoesNotFit(Exception):
    """An assignment breaks a rule of the rings at ``step``; the text says which bundle that is, and why."""

    def __init__(self, text: str, step: Step | None = None) -> None:
        super().__init__(text)
        self.step = step


class PoolFull(DoesNotFit):
    """The Local pool overflows when ``step`` publishes: tiles of earlier work are still in the rings."""


class _NoRoomToFlush(Exception):
    """The cells that age out a ring overflow the pool before the ring is full."""


@dataclass(frozen=True, slots=True)
class Flush:
    """Age out every tile of some hands, one hand after another, in front of a top-level item.

    A ring takes as many one-cell loads as it has places.
    """

    position: int
    hands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A proven assignment: the hand of each value, and the ``(hand, distance)`` of each use by step and position."""

    hands: dict[int, int]
    names: dict[tuple[int, int], tuple[int, int]]
    peak_bytes: int
    flushes: tuple[Flush, ...] = ()


_NAMELESS = -1
"""A generation that is another one on each path that leads here."""

_GONE = -2
"""A generation that is in no ring."""


Ring = list[tuple[int, int, int]]
"""Places, newest first: a generation, the bytes of all places up to it, and its own.

Where several paths lead here, the bytes up to it are the most on any of them, and its own are the fewest.
"""


@dataclass(slots=True)
class _State:
    """Rings of the four PEs, and what each value is bound to.

    A value is bound to a generation, or a queue to its generations, oldest first. ``used`` are the bytes of all rings
    of a PE, on the path with the most: fewer than the rings' own figures add up to where these are of different paths.
    """

    rings: list[list[Ring]] = field(default_factory=lambda: [[[] for _ in HANDS] for _ in range(PE_COUNT)])
    used: list[int] = field(default_factory=lambda: [0] * PE_COUNT)
    bound: dict[int, int | tuple[int, ...]] = field(default_factory=dict)
    next_generation: int = 0

    def fork(self) -> _State:
        """The state of a path that parts from this one."""
        rings = [[list(ring) for ring in pe] for pe in self.rings]
        return _State(rings, list(self.used), self.bound, self.next_generation)

    def join(self, other: _State) -> None:
        """Make these the rings of either path: what both have in a place stays, anything else is a tile of no name."""
        for pe, (one, two) in enumerate(zip(self.rings, other.rings)):
            self.rings[pe] = [_joined(x, y) for x, y in zip(one, two)]
            self.used[pe] = max(self.used[pe], other.used[pe])

    def header(self, live: Sequence[int], first: int) -> tuple[object, ...]:
        """What an iteration and what follows the loop can observe.

        That is what the rings hold, where the live values stand, and which generations older than ``first`` are left.
        """
        generations = [g for value in live for g in _generations(self.bound.get(value))]
        rings = (
            (
                tuple((g if g < first else first, total, least) for g, total, least in ring),
                tuple(_position(ring, g) for g in generations),
            )
            for pe in self.rings
            for ring in pe
        )
        return (*self.used, *rings)


def _joined(one: Ring, other: Ring) -> Ring:
    """A ring of which either may be the case."""
    joined: Ring = []
    m = n = 0
    for x, y in itertools.zip_longest(one, other):
        # Where a ring has ended, all of it is up to here.
        g, m, least = x or (_NAMELESS, m, 0)
        h, n, fewest = y or (_NAMELESS, n, 0)
        joined.append((g if g == h else _NAMELESS, max(m, n), min(least, fewest)))
    return joined


def _generations(bound: int | tuple[int, ...] | None) -> tuple[int | None, ...]:
    """The generations of a tile or a queue; the length of a queue counts as well."""
    return bound if isinstance(bound, tuple) else (bound,)


def _position(ring: Ring, generation: int | None) -> int:
    """1-based distance of a generation in a ring, 0 when it is not there."""
    for position, (found, _, _) in enumerate(ring, 1):
        if found == generation:
            return position
    return 0


def steps_of(program: Program) -> Iterator[Step]:
    """Every step once, in program order."""
    for item in program:
        if isinstance(item, Loop):
            yield from steps_of(item.body)
        elif isinstance(item, Step):
            yield item


def _uses(items: Program) -> Iterator[int]:
    """Values, queues included, that items read."""
    for item in items:
        if isinstance(item, Loop):
            yield from _uses(item.body)
            yield from (c.initial for c in item.carried)
        elif isinstance(item, Step):
            yield from item.uses
        elif isinstance(item, Push):
            yield from (item.item, item.queue)
        elif isinstance(item, Pop):
            yield item.queue


def _defines(items: Program) -> Iterator[int]:
    """Values, queues included, that items make."""
    for item in items:
        if isinstance(item, Loop):
            yield from _defines(item.body)
            yield from (value for c in item.carried for value in (c.argument, c.result))
        elif isinstance(item, Step):
            yield from (value for value, _ in item.results)
        else:
            yield item.result
            yield from (item.item,) if isinstance(item, Pop) else ()


def _live_into(loop: Loop) -> tuple[int, ...]:
    """Values that an iteration reads from before it: carried arguments, and what the body uses but does not define."""
    read = set(_uses(loop.body)) - set(_defines(loop.body))
    return tuple(sorted(read | {c.argument for c in loop.carried}))


_FLUSHED = -1000
"""Values of flushing loads, of which there is one per hand, count down from here."""


class _Replay:
    def __init__(self, program: Program, hands: dict[int, int]) -> None:
        self.hands = hands
        self.state = _State()
        self.names: dict[tuple[int, int], tuple[int, int]] = {}
        self.number = {id(step): n for n, step in enumerate(steps_of(program))}
        self.published: dict[int, int] = {}
        """The hand of every generation: what a loop or a queue hands on stands where it was published."""
        self.peak = 0
        self.pool_bytes = LOCAL_POOL_BYTES

    def run(self, program: Program) -> None:
        for item in program:
            if isinstance(item, Loop):
                self.loop(item)
            elif isinstance(item, Step):
                self.step(item)
            else:
                self.queue(item)

    def first_that_works(self, stretch: Program, roles: dict[int, str], pinned: dict[int, int]) -> DoesNotFit | None:
        """Run a stretch with the first strategy that works; the failure of the first of all when none does."""
        values = [value for value in _defines(stretch) if value in roles]
        failures: list[DoesNotFit] = []
        for strategy in _STRATEGIES:
            hands = {value: pinned.get(value, HANDS.index(strategy[roles[value]])) for value in values}
            try:
                self.attempt(stretch, hands)
                return None
            except DoesNotFit as reason:
                failures.append(reason)
        hands = dict.fromkeys(values, 0) | _spread(stretch, roles)
        try:
            self.attempt(stretch, {value: pinned.get(value, hands[value]) for value in values})
            return None
        except DoesNotFit as reason:
            failures.append(reason)
        return failures[0]

    def fullest(self) -> tuple[int, ...]:
        """The hands that hold tiles, those with most bytes first."""
        held = [max(pe[hand][-1][1] if pe[hand] else 0 for pe in self.state.rings) for hand in range(len(HANDS))]
        return tuple(sorted((hand for hand in range(len(HANDS)) if held[hand]), key=lambda hand: -held[hand]))

    def age_out(self, hands: tuple[int, ...]) -> None:
        """Fill hands with one-cell tiles, one after another."""
        cells = [Step("TLOAD", (), _FLUSHED - hand, CELL_BYTES, prefix_mask(PE_COUNT)) for hand in hands]
        self.hands.update((_FLUSHED - hand, hand) for hand in hands)
        self.number.update(dict.fromkeys(map(id, cells), -1))
        self.run([Loop((cell,), GENERATIONS) for cell in cells])

    def attempt(self, stretch: Program, hands: dict[int, int]) -> None:
        """Run a stretch with these hands for its values; where that fails, all is as before."""
        before, peak = self.state.fork(), self.peak
        self.hands.update(hands)
        try:
            self.run(stretch)
        except DoesNotFit:
            self.state, self.peak = before, peak
            for step in steps_of(stretch):
                for position in range(len(step.uses)):
                    self.names.pop((self.number[id(step)], position), None)
            raise

    def loop(self, loop: Loop) -> None:
        bound = self.state.bound
        for c in loop.carried:
            bound[c.argument] = bound[c.initial]
        live = _live_into(loop)
        first = self.state.next_generation
        before = self.state.header(live, first)
        most = loop.trips or loop.most
        for _ in itertools.count() if most is None else range(most):
            left = self.state.fork()
            self.run(loop.body)
            if loop.trips is None:
                self.rename(loop.carried)
                self.state.join(left)
            else:
                for c, generation in [(c, bound[c.yielded]) for c in loop.carried]:
                    bound[c.argument] = generation
            after = self.state.header(live, first)
            if after == before:
                break
            before = after
        for c in loop.carried:
            bound[c.result] = bound[c.argument]

    def rename(self, carried: Sequence[Carried]) -> None:
        """Let what an iteration yields go by the name of what it was given, so that both paths know one tile."""
        bound = self.state.bound
        pairs: list[tuple[int, int]] = []
        for c in carried:
            given, yielded = (_generations(bound[v]) for v in (c.argument, c.yielded))
            if len(given) != len(yielded):
                raise DoesNotFit("a queue grows or shrinks in a loop that may run any number of times")
            pairs += [(g, y) for g, y in zip(given, yielded) if g is not None and y is not None]
        if len(set(pairs)) > min(len({g for g, _ in pairs}), len({y for _, y in pairs})):
            raise DoesNotFit("two tiles become one, or one becomes two, in a loop that may run any number of times")
        passed = {value for c in carried for value in (c.argument, c.yielded)}
        given_on = {g for g, _ in pairs}
        bound.update({value: _GONE for value, g in bound.items() if g in given_on and value not in passed})
        names = dict.fromkeys((g for g, _ in pairs), _NAMELESS) | {y: g for g, y in pairs}
        for pe in self.state.rings:
            pe[:] = [[(names.get(g, g), total, least) for g, total, least in ring] for ring in pe]

    def queue(self, item: NewQueue | Push | Pop) -> None:
        bound = self.state.bound
        if isinstance(item, NewQueue):
            bound[item.result] = ()
            return
        queue = bound[item.queue]
        assert isinstance(queue, tuple)
        if isinstance(item, Push):
            generation = bound[item.item]
            assert isinstance(generation, int)
            bound[item.result] = (*queue, generation)
            return
        if not queue:
            raise DoesNotFit("a tile is taken from an empty queue")
        bound[item.item], bound[item.result] = queue[0], queue[1:]

    def step(self, step: Step) -> None:
        number = self.number[id(step)]
        pes = mask_pes(step.mask)
        for position, value in enumerate(step.uses):
            name = self.locate(step, value, pes)
            if self.names.setdefault((number, position), name) != name:
                raise DoesNotFit(
                    f"{step.name}: source {position} stands at different distances in its hand on different paths", step
                )
        hands = [self.hands[value] for value, _ in step.results]
        if step.accumulates:
            self.check_selector(step, self.names[number, 0], hands[:1])
        if step.scale is not None:
            self.check_selector(step, self.names[number, step.scale], hands)
        for position in range(len(step.uses)):
            hand, distance = self.names[number, position]
            if distance + hands.count(hand) > GENERATIONS:
                raise DoesNotFit(f"{step.name}: it would retire one of its own sources", step)
        for (value, nbytes), hand in zip(step.results, hands):
            self.publish(step, value, nbytes, hand, pes)

    def locate(self, step: Step, value: int, pes: tuple[int, ...]) -> tuple[int, int]:
        generation = self.state.bound[value]
        assert isinstance(generation, int)
        hand = self.published.get(generation, self.hands[value])
        distances = {_position(self.state.rings[pe][hand], generation) for pe in pes}
        if 0 in distances:
            raise DoesNotFit(
                f"{step.name}: a source has left hand {HANDS[hand]} after {GENERATIONS} publications", step
            )
        if len(distances) > 1:
            raise DoesNotFit(f"{step.name}: a source stands at different distances on different PEs", step)
        return hand, distances.pop()

    def check_selector(self, step: Step, name: tuple[int, int], hands: Sequence[int]) -> None:
        """The number of a selector may not be that of the hand of any of these results."""
        selector = GENERATIONS * name[0] + name[1] - 1
        if selector in hands:
            raise DoesNotFit(
                f"{step.name}: {HANDS[name[0]]}#{name[1]} may not feed a result in hand {HANDS[selector]}", step
            )

    def publish(self, step: Step, value: int, nbytes: int, hand: int, pes: tuple[int, ...]) -> None:
        state = self.state
        generation = state.next_generation
        state.next_generation += 1
        state.bound[value] = generation
        self.published[generation] = hand
        for pe in pes:
            rings = state.rings[pe]
            before = rings[hand]
            retired = before[-1][2] if len(before) == GENERATIONS else 0
            kept = ((older, nbytes + total, least) for older, total, least in before[: GENERATIONS - 1])
            rings[hand] = [(generation, nbytes, nbytes), *kept]
            used = min(state.used[pe] + nbytes - retired, sum(ring[-1][1] for ring in rings if ring))
            state.used[pe] = used
            self.peak = max(self.peak, used)
            if used > self.pool_bytes:
                raise PoolFull(f"{step.name}: {used} bytes of Local tiles on PE{pe}, {LOCAL_POOL_BYTES} exist", step)


def replay(program: Program, hands: dict[int, int]) -> Plan:
    """Prove an assignment of values to hands; ``DoesNotFit`` when a name or the pool breaks a rule."""
    run = _Replay(program, hands)
    run.run(program)
    return Plan(hands, run.names, run.peak)


def _roles(program: Program) -> dict[int, str]:
    """What a value is: "carried" for accumulators and what starts them, else "stream"; "invariant" for what a deeper
    loop reads, and for parameters, which must not come between the accumulators of a queue.
    """
    roles: dict[int, str] = {}
    depth_of: dict[int, int] = {}

    def walk(items: Program, depth: int) -> None:
        for item in items:
            if isinstance(item, Loop):
                for c in item.carried:
                    roles.update(dict.fromkeys((c.initial, c.argument, c.result), "carried"))
                    depth_of[c.argument] = depth + 1
                walk(item.body, depth + 1)
                for c in item.carried:
                    roles[c.yielded] = "carried"
                    depth_of[c.result] = depth
                continue
            if not isinstance(item, Step):
                if not isinstance(item, NewQueue):
                    roles[item.item] = "carried"
                    depth_of[item.item] = depth
                continue
            for value in item.uses:
                if depth_of[value] < depth and roles[value] == "stream":
                    roles[value] = "invariant"
            for position in item.parameters:
                roles[item.uses[position]] = "invariant"
            for result, _ in item.results:
                depth_of[result] = depth
                roles.setdefault(result, "stream")

    walk(program, 0)
    return roles


_STRATEGIES: tuple[dict[str, str], ...] = (
    # Everything that moves in one ring: an accumulator takes one generation in three, not a whole hand.
    {"stream": "T", "carried": "T", "invariant": "N"},
    {"stream": "T", "carried": "U", "invariant": "N"},
    {"stream": "M", "carried": "U", "invariant": "N"},
)


_SOON = 8
"""Publications after which a value has been used soon: it moves through the first hand."""


def _spread(items: Program, roles: dict[int, str], taken: frozenset[str] = _NONE) -> _Hands:
    """Hands by lifetime, for stretches in which many values are alive at once.

    What is carried has U to itself. What lives across a loop, or is read in one, has a hand in which that loop
    publishes nothing; other values are where no value is pushed out before its last use.
    """
    defined: dict[int, int] = {}
    last: dict[int, int] = {}
    loops = [n for n, item in enumerate(items) if isinstance(item, Loop)]
    for n, item in enumerate(items):
        last.update(dict.fromkeys(_uses([item]), n))
        if isinstance(item, Loop):
            defined.update((c.result, n) for c in item.carried)
        else:
            defined.update(dict.fromkeys(_defines([item]), n))
    crossing = {v for v, n in defined.items() if any(n < loop <= last.get(v, n) for loop in loops)}
    carries = "U" in taken or any(item.carried for item in items if isinstance(item, Loop))
    kept = next((hand for hand in "NM" if hand not in taken), "M")
    free = [hand for hand in "TUMN" if hand not in taken | ({"U"} if carries else set())]
    if crossing and kept in free[1:]:
        free.remove(kept)
    hands = {v: HANDS.index("U" if roles.get(v) == "carried" else kept) for v in defined}
    local = {v: (n, last.get(v, n)) for v, n in defined.items() if v not in crossing and roles.get(v) != "carried"}
    hands.update({value: HANDS.index(hand) for value, hand in _packed(local, free).items()})
    inner = taken | ({kept} if crossing else set()) | ({"U"} if carries else set())
    for loop in loops:
        item = items[loop]
        assert isinstance(item, Loop)
        hands.update(_spread(item.body, roles, inner))
        hands.update({c.argument: HANDS.index("U") for c in item.carried})
    return hands


def _packed(lifetimes: dict[int, tuple[int, int]], hands: Sequence[str]) -> dict[int, str]:
    """A hand for each value by where it is defined and used last, so that few are pushed out before.

    The values that live longest come first, and fill the hands from the last one on.
    """
    members: dict[str, list[tuple[int, int]]] = {hand: [] for hand in hands}

    def fits(hand: str, new: tuple[int, int]) -> bool:
        ring = [*members[hand], new]
        touched = [(start, end) for start, end in ring if (start, end) == new or start < new[0] <= end]
        return all(sum(start < other[0] <= end for other in ring) < GENERATIONS for start, end in touched)

    found: dict[int, str] = {}
    for value, (start, end) in sorted(lifetimes.items(), key=lambda item: item[1][0] - item[1][1]):
        order = hands if end - start <= _SOON else hands[::-1]
        hand = next((hand for hand in order if fits(hand, (start, end))), hands[0])
        members[hand].append((start, end))
        found[value] = hand
    return found


def plan(program: Program, pinned: dict[int, int] | None = None, *, flush: bool = False) -> Plan:
    """An assignment of values to hands that replays without breaking a rule.

    The program falls into stretches between which no tile is live; each takes the first strategy that works after
    what precedes it. ``pinned`` fixes the hand of some values. When a stretch takes none, the failure of the first
    strategy is raised: it is the one that wastes the least. With ``flush`` the rings are aged out in front of a stretch
    that earlier tiles leave no room for; the plan says where.
    """
    roles, pinned = _roles(program), pinned or {}
    try:
        return _plan(program, roles, pinned, flush=flush)
    except _NoRoomToFlush:
        return _plan(program, roles, pinned, flush=True, kept_free=GENERATIONS * CELL_BYTES)


def _plan(program: Program, roles: dict[int, str], pinned: dict[int, int], *, flush: bool, kept_free: int = 0) -> Plan:
    """``plan``, where stretches that follow others keep so many bytes of the pool free if they can."""
    run = _Replay(program, {})
    flushes: list[Flush] = []
    for start, stretch in _stretches(program):
        run.pool_bytes = LOCAL_POOL_BYTES - kept_free
        failure = run.first_that_works(stretch, roles, pinned)
        run.pool_bytes = LOCAL_POOL_BYTES
        if flush and isinstance(failure, PoolFull):
            hands = run.fullest()
            try:
                run.age_out(hands)
            except PoolFull:
                if kept_free:
                    raise failure from None
                raise _NoRoomToFlush from None
            flushes.append(Flush(start, hands))
            failure = run.first_that_works(stretch, roles, pinned)
        if failure is not None:
            raise failure from None
    return Plan(run.hands, run.names, run.peak, tuple(flushes))


def _stretches(program: Program) -> Iterator[tuple[int, Program]]:
    """The program in pieces between which no tile is live, and where they start."""
    starts = [n for n, quiet in enumerate(_quiet(program)) if quiet]
    for start, end in itertools.pairwise(starts):
        yield start, program[start:end]


def _quiet(program: Program) -> list[bool]:
    """For each top-level position, the end included, whether no tile is live there."""
    defined_at: dict[int, int] = {}
    quiet = [True] * (len(program) + 1)

    def used(value: int, n: int) -> None:
        for between in range(defined_at.get(value, n) + 1, n + 1):
            quiet[between] = False

    for n, item in enumerate(program):
        for value in _uses([item]):
            used(value, n)
        defined_at.update(dict.fromkeys(_defines([item]), n))
    return quiet
