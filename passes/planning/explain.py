"""Why a product is laid out as it is, in words: its lower bound, every plan that was weighed, and what decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptoc.isa.registers import HANDS, LOCAL_POOL_BYTES
from ptoc.passes.planning.bands import Band
from ptoc.passes.planning.cost import ON_CHIP_BYTES, lower_bound, operand_bound
from ptoc.passes.planning.search import (
    LIKE_BUNDLES,
    LIKE_TRAFFIC,
    UTILIZATION,
    Decision,
    ProductPlan,
    Room,
    Rule,
    Step,
    candidates,
    decide,
    single_lane_slack,
)
from ptoc.passes.planning.shapes import MatmulShape

HEADINGS = (
    "out by", "rows", "slots", "blocks", "K", "traffic", "/ bound", "utilisation", "bundles", "lanes", "Local", "Shared"
)  # fmt: skip
"""Of the table of plans. The first and the next four are text, the others numbers."""

TEXT_COLUMNS = 5


def explain(shape: MatmulShape, room: Room) -> str:
    """The layout of a product whose accumulators have some room, as lines of text. ``shape`` has a plan there."""
    plans = candidates(shape, room)
    decision = decide(plans)
    sections = [_problem(shape, room), _bound(shape), _table(plans, decision), _reasons(plans, decision)]
    return "".join(f"{line}\n" for lines in sections for line in lines)


def _problem(shape: MatmulShape, room: Room) -> Iterator[str]:
    start = "scaled C" if shape.scaled else "C" if shape.has_c else "zero"
    yield (
        f"{shape.m} x {shape.n} sums of {shape.k} products: {shape.a} by {shape.b}, added in {shape.accumulator} "
        f"from {start} on, {f'stored as {shape.result}' if shape.stored else 'not stored'}"
    )
    if room.maxima:
        kinds = ["every row"] * room.row_max + [f"every {room.group} columns of it"] * (room.group > 0)
        yield f"maxima: of {' and of '.join(kinds)}"
    if room.pool == LOCAL_POOL_BYTES:
        why = "the kernel does nothing else"
    else:
        others = ["the kernel's other work"] * (not room.alone) + ["tiles of parameters"] * room.parameters
        others += ["what is left in the hands of other bands"] * room.maxima
        why = f"the rest of the pool is for {' and '.join(others)}"
    hands = ", ".join(HANDS[: room.hands])
    what = "accumulators and row maxima" if room.row_max else "accumulators"
    yield f"room for {what}: {room.pool:,} bytes of Local tiles on each PE, in {hands}; {why}"


def _bound(shape: MatmulShape) -> Iterator[str]:
    once, operands = shape.a_bytes + shape.b_bytes, operand_bound(shape)
    element = shape.accumulator.nbytes
    terms = [(shape.result_bytes, "every result goes out once")] if shape.stored else []
    if shape.maxima_bytes:
        more = ", and what those of rows start from comes in once" if shape.initial else ""
        terms.append((shape.maxima_bytes, f"every maximum goes out once{more}"))
    if shape.c_bytes:
        rows = "every element" if shape.c_rows is None else "the one row"
        terms.insert(0, (shape.c_bytes, f"{rows} of C comes in once"))
    if operands > once:
        streamed = f"A and B, for 2 e MNK / sqrt(S / {element}) with S = {ON_CHIP_BYTES:,} bytes of tiles"
        terms.append((int(operands), f"{streamed}; once each would be {once:,}"))
    else:
        terms.append((once, "A and B come in once"))
    yield ""
    yield f"lower bound: {int(lower_bound(shape)):,} bytes"
    width = max(len(f"{count:,}") for count, _ in terms)
    yield from (f"  {count:>{width},}  {text}" for count, text in terms)


def _table(plans: Sequence[ProductPlan], decision: Decision) -> Iterator[str]:
    """The plans by how far they came, each with a line per band; the numbers of a plan stand in its first line."""
    place = {plan: _place(plan, decision) for plan in plans}
    order = sorted(plans, key=lambda plan: (-place[plan], plan.cost.traffic, plan.cost.bundles, plan.cost.local_bytes))
    rows: list[tuple[str, ...]] = [HEADINGS]
    for plan in order:
        fell = place[plan]
        out = decision.steps[fell].rule.value if fell < len(decision.steps) else "chosen"
        for n, band in enumerate(plan.bands):
            rows.append((out if n == 0 else "", *_cut(band), *(_figures(plan) if n == 0 else ())))
    widths = [max(len(row[n]) for row in rows if n < len(row)) for n in range(len(HEADINGS))]
    yield ""
    yield "1 plan:" if len(plans) == 1 else f"{len(plans)} plans:"
    for row in rows:
        cells = [f"{c:<{w}}" if n < TEXT_COLUMNS else f"{c:>{w}}" for n, (c, w) in enumerate(zip(row, widths))]
        yield f"  {'  '.join(cells).rstrip()}"


def _place(plan: ProductPlan, decision: Decision) -> int:
    """The number of the rule that a plan is out by; that of all rules for the chosen one."""
    return next((n for n, step in enumerate(decision.steps) if plan not in step.left), len(decision.steps))


def _cut(band: Band) -> tuple[str, str, str, str]:
    """How a band cuts rows, columns and sums."""
    lanes = ", ".join(f"{HANDS[lane.hand]} {lane.groups} x {lane.rows}" for lane in band.lanes)
    pieces = [f"{band.head} Local"] * (band.head > 0) + [f"{band.depth}{' Local' if band.local else ''}"]
    pieces += [f"{band.resident} stay"] * (band.resident > 0)
    slots = f"{band.columns.slots} x {band.columns.width}"
    return f"{band.repeat} x ({lanes})", slots, str(band.columns.blocks), " + ".join(pieces)


def _figures(plan: ProductPlan) -> tuple[str, ...]:
    cost = plan.cost
    ratios = f"{plan.ratio:.3f}", f"{plan.utilization:.3f}"
    pools = f"{cost.local_bytes:,}", f"{cost.shared_bytes:,}"
    return (f"{cost.traffic:,}", *ratios, f"{cost.bundles:,}", str(plan.lanes), *pools)


def _reasons(plans: Sequence[ProductPlan], decision: Decision) -> Iterator[str]:
    yield ""
    before: Sequence[ProductPlan] = plans
    for step in decision.steps:
        yield f"{step.rule.value + ':':<13}{_reason(step, before)}"
        before = step.left
    plan, shape = decision.chosen, decision.chosen.shape
    a, b = plan.cost.a / shape.a_bytes, plan.cost.b / shape.b_bytes
    alone = any(band.local or band.head for band in plan.bands)
    per_a, per_b = ("; Local: per slot", "; Local: per PE") if alone else ("", "")
    yield (
        f"{'chosen:':<13}A comes in {a:.2f} times (per block of columns{per_a}), B {b:.2f} times (per row block{per_b})"
    )


def _reason(step: Step, before: Sequence[ProductPlan]) -> str:
    """What a rule did to the plans before it."""
    out = len(before) - len(step.left)
    gone = f"{out} of {len(before)} out" if out else "none out"
    limit = int(step.limit)
    if step.rule is Rule.CELLS:
        if step.limit < UTILIZATION:
            return f"{gone}; none reaches {UTILIZATION}, so the best stays, {step.limit:.3f}"
        return f"{gone}; the best cells would issue at least {UTILIZATION} of the multiply-adds of the others"
    if step.rule is Rule.LANES:
        reach = f"{limit:,} bytes, {_over(single_lane_slack(before[0].shape))} the least"
        if any(plan.lanes > 1 or plan.cost.traffic > step.limit for plan in step.left):
            return f"{gone}; no single lane moves at most {reach}"
        return f"{gone}; a single lane has the least code, and may move {reach}"
    if step.rule is Rule.TRAFFIC:
        return f"{gone}; the others move at most {limit:,} bytes, {_over(LIKE_TRAFFIC)} the least"
    if step.rule is Rule.BUNDLES:
        return f"{gone}; the others take at most {limit:,} bundles, {_over(LIKE_BUNDLES)} the fewest"
    return f"{gone}; what is left moves {limit:,} bytes, the least"


def _over(factor: float) -> str:
    return f"{factor - 1:.0%} over"
