"""Explanations: what they say of a plan is what the plan is, and every rule that is named did what it says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptoc
from ptoc.isa import dtypes
from ptoc.isa.registers import HANDS, LOCAL_POOL_BYTES
from ptoc.passes.planning.explain import explain
from ptoc.passes.planning.search import ProductPlan, Room, Rule, candidates, decide, plan_product
from ptoc.passes.planning.shapes import MatmulShape

PAGE = Path(__file__).parents[2] / "docs" / "planning.md"
ANY_LINES = "…\n"

shapes = st.builds(
    lambda m, n, k, has_c: MatmulShape(m, n, k, dtypes.FP16, dtypes.FP16, dtypes.FP32, has_c, dtypes.FP32),
    *[st.one_of(st.integers(1, 40), st.integers(1, 1500))] * 3,
    st.booleans(),
)
rooms = st.builds(Room, st.booleans(), st.booleans())


def square(n: int) -> MatmulShape:
    return MatmulShape(n, n, n, dtypes.FP16, dtypes.FP16, dtypes.FP32, True, dtypes.FP32)


def test_the_page_shows_an_explanation() -> None:
    shown = re.search(r"```\n(1024 x 1024 sums.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    pattern = "(?s:.*)".join(re.escape(part) for part in shown[1].split(ANY_LINES))
    assert re.fullmatch(pattern, explain(square(1024), Room()))


@settings(deadline=None, max_examples=50)
@given(shapes, rooms)
def test_what_is_explained_is_the_plan_that_is_used(shape: MatmulShape, room: Room) -> None:
    text, plan = explain(shape, room), plan_product(shape, room)
    (chosen,) = re.findall(r"^  chosen .*\)  .*$", text, re.MULTILINE)
    assert f" {plan.cost.traffic:,} " in chosen
    assert f" {plan.cost.bundles:,} " in chosen
    rows = re.findall(r"^  \S* +\d+ x \(.*$", text, re.MULTILINE)
    assert len(rows) == sum(len(each.bands) for each in candidates(shape, room))
    assert text == explain(shape, room)


@settings(deadline=None, max_examples=50)
@given(shapes, rooms, st.sampled_from([0, 8, 48, 64, 128]), st.booleans(), st.booleans(), st.booleans())
def test_maxima_are_explained(
    shape: MatmulShape, room: Room, group: int, row_max: bool, initial: bool, stored: bool
) -> None:
    row_max = row_max or not group
    n = group * (1 + shape.n // group) if group else shape.n
    shape = replace(shape, n=n, group=group, row_max=row_max, initial=initial and row_max, stored=stored)
    room = replace(room, row_max=row_max, group=group)
    text, plan = explain(shape, room), plan_product(shape, room)
    assert re.search(rf"^  chosen .* {plan.cost.traffic:,} .* {plan.cost.bundles:,} ", text, re.MULTILINE)
    wanted = ["every row"] * row_max + [f"every {group} columns of it"] * (group > 0)
    assert f"\nmaxima: of {' and of '.join(wanted)}\n" in text
    assert ("not stored" in text) != stored
    check_bound(text)


@settings(deadline=None, max_examples=50)
@given(shapes, rooms)
def test_the_terms_of_the_bound_add_up(shape: MatmulShape, room: Room) -> None:
    check_bound(explain(shape, room))


@pytest.mark.parametrize("form", ["none", "matrix", "row", "repeated row", "constant", "vector"])
@pytest.mark.parametrize("size", [(40, 50, 60), (300, 300, 4000)], ids=str)
def test_the_bound_is_that_of_the_program(form: str, size: tuple[int, int, int]) -> None:
    """A row that starts every row of sums comes in once, a constant of the kernel does not come in."""
    m, n, k = size
    a, b = ptoc.spec((m, k), "float16"), ptoc.spec((k, n), "float16")
    c = {
        "matrix": ptoc.spec((m, n), "float32"),
        "row": ptoc.spec((n,), "float32"),
        "repeated row": ptoc.spec((m, n), "float32", (0, 4)),
        "vector": ptoc.spec((1, n), "float32"),
    }.get(form)
    start = {"none": None, "constant": np.float32(0.5)}.get(form)

    def plain(a: Any, b: Any) -> Any:
        product = np.matmul(a, b, dtype=np.float32)
        return product if start is None else start + product

    def accumulate(a: Any, b: Any, c: Any) -> Any:
        return c + np.matmul(a, b, dtype=np.float32)

    program = ptoc.jit(plain).compile(a, b) if c is None else ptoc.jit(accumulate).compile(a, b, c)
    check_bound(program.explain())
    assert f"lower bound: {program.stats['gm_lower_bound_bytes']:,} bytes" in program.explain()


def check_bound(text: str) -> None:
    total, terms = re.search(r"lower bound: ([\d,]+) bytes\n((?:  .*\n)+)", text).groups()  # type: ignore[union-attr]
    parts = [int(part.replace(",", "")) for part in re.findall(r"^ +([\d,]+)  ", terms, re.MULTILINE)]
    assert sum(parts) == int(total.replace(",", ""))


@settings(deadline=None, max_examples=50)
@given(shapes, rooms)
def test_a_rule_keeps_its_limit_and_loses_what_is_beyond_it(shape: MatmulShape, room: Room) -> None:
    before = candidates(shape, room)
    decision = decide(before)
    assert [step.rule for step in decision.steps] == list(Rule)
    for step in decision.steps:
        out = [plan for plan in before if plan not in step.left]
        assert step.left
        assert all(plan in before for plan in step.left)
        assert all(within(plan, step.rule, step.limit) for plan in step.left) or (step.rule is Rule.LANES and not out)
        if step.rule is not Rule.LEAST:
            assert not any(within(plan, step.rule, step.limit) for plan in out)
        before = list(step.left)
    assert before == [decision.chosen]


def within(plan: ProductPlan, rule: Rule, limit: float) -> bool:
    if rule is Rule.CELLS:
        return plan.utilization >= limit
    if rule is Rule.LANES:
        return plan.lanes == 1 and plan.cost.traffic <= limit
    return (plan.cost.bundles if rule is Rule.BUNDLES else plan.cost.traffic) <= limit


@pytest.mark.parametrize(
    ("room", "pool", "hands", "why"),
    [
        (Room(), LOCAL_POOL_BYTES, 4, "the kernel does nothing else"),
        (Room(alone=False), LOCAL_POOL_BYTES // 2, 4, "the rest of the pool is for the kernel's other work"),
        (Room(parameters=True), LOCAL_POOL_BYTES // 2, 3, "the rest of the pool is for tiles of parameters"),
        (Room(False, True), LOCAL_POOL_BYTES // 2, 3, "for the kernel's other work and tiles of parameters"),
    ],
)
def test_room_depends_on_what_else_there_is(room: Room, pool: int, hands: int, why: str) -> None:
    assert (room.pool, room.hands) == (pool, hands)
    line = explain(square(256), room).splitlines()[1]
    assert f"{pool:,} bytes" in line
    assert f"in {', '.join(HANDS[:hands])}; " in line
    assert line.endswith(why)


def test_a_rule_without_a_single_lane_says_so() -> None:
    shape = MatmulShape(100, 100, 100, dtypes.FP16, dtypes.FP16, dtypes.FP32, False, dtypes.FP32)
    assert "no single lane moves at most" in explain(shape, Room())
    assert "13 of 14 out; a single lane has the least code" in explain(square(1024), Room())
