"""Every rule has its evidence, every check its rule, and the evidence fails when the check is switched off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.evidence import cases, opposite, recorded
from conformance.generate import PAGE, page
from conformance.rule import RULES, Rule
from conformance.switches import AnyValue, Switch, demanded_conditions, faulting_conditions, without
from ptoc.runtime.conformance import run_case

CHUNK = 40
SAMPLE = RULES[::9]

HELPERS = {"_once", "reject_zero_dimensions", "check_attributes", "check_transfer_registers", "check_encoding"}
HELPERS |= {"check_cube_type", "_expect", "require"}
"""Checks that several rules share: each rule switches off its own call. ``test_tile_checks`` does so with every call of
``require`` in the operations that have no rules here."""

PARTS = {("read_schema", "b_type is None"), ("read_schema", "accumulator is None")}
PARTS |= {("_set_condition.step", "block.condition_set")}
"""Alternatives that a rule switches off together with others of the same condition."""

NEVER = {
    ("row_major", "cols > MAX_COLUMNS"): "a dimension has sixteen bits",
    ("cube_view", "not d.numeric"): "a predicate tile is row-major",
    ("CubeStore.__call__", "not d.numeric"): "a predicate tile is row-major",
    ("check_cube_transfer", "bundle.matrix is not None"): "B.FPATR faults when it executes",
    ("_ends", "ends is None"): "CUBE layouts are refused before",
    ("Gathering.check_results", "missing.any()"): "the valid elements of Local tiles are defined",
    ("prepare", "dtype is None"): "a typed block start has a type",
    ("prepare", "bundle.datr.cmode > LAST_MODE"): "CMode 6 and 7 do not decode",
    ("Processor._decode", "pc & 1"): "targets are checked before control goes there",
    ("LocalTiles.check", "self._strict"): "an option of the machine, off by default",
}
"""Conditions that no program of this machine meets."""


def switched_off(rule: Rule) -> None:
    """The violations do not show without the check, and what is legal is refused by one that always refuses."""
    evidence = recorded()[rule.id]
    shown = evidence["kept"] if rule.fault == "none" else evidence["violated"]
    assert all(cases()[name].holds(run_case) for name in (*evidence["kept"], *evidence["violated"]))
    with without(rule.offs) as run:
        survivors = [name for name in shown if cases()[name].holds(run)]
    assert not survivors, f"{rule.id} is off, and nobody notices"
    refusing = opposite(rule.offs)
    if rule.fault == "none" or not refusing or rule.id in WEAKLY_KEPT:
        return
    with without(refusing) as run:
        assert not any(cases()[name].holds(run) for name in evidence["kept"])


WEAKLY_KEPT = {"memory.1"}
"""Checks that are only reached on the way to a fault."""


def test_ids_are_unique() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_has_evidence(rule: Rule) -> None:
    evidence = recorded()[rule.id]
    assert evidence["kept"] or not rule.offs
    assert bool(evidence["violated"]) == bool(rule.offs and rule.fault != "none")
    assert bool(rule.offs) != bool(rule.why)


def test_every_check_has_a_rule() -> None:
    """A new condition that faults needs a rule, or a word why no program meets it."""
    listed = {off for rule in RULES for off in rule.offs if isinstance(off, Switch)}
    known = {(off.module, off.function, off.condition) for off in listed}
    for found in faulting_conditions():
        place = (found.function, found.condition)
        accounted = found.function in HELPERS or place in PARTS or place in NEVER
        assert accounted or (found.module, found.function, found.condition) in known, found


def test_every_demand_of_an_operation_with_rules_has_a_rule() -> None:
    """``require`` of several things at once has a rule for all of them or one for each."""
    listed = {off for rule in RULES for off in rule.offs if isinstance(off, Switch)}
    modules = {off.module for rule in RULES if rule.form.startswith("SHAPED") for off in rule.offs}
    found = [each for each in demanded_conditions() if each.module in modules]
    assert len(found) > 30
    for each in found:
        parts = {replace(each, condition=part) for part in each.condition.split(" and ")}
        assert each in listed or parts <= listed, each


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run tests/conformance/generate.py"


@pytest.mark.parametrize("rule", [rule for rule in SAMPLE if rule.offs], ids=lambda rule: rule.id)
def test_some_switched_off(rule: Rule) -> None:
    switched_off(rule)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(RULES), CHUNK))
def test_every_check_switched_off(first: int) -> None:
    for rule in RULES[first : first + CHUNK]:
        if rule.offs:
            switched_off(rule)


def test_normal_runs_are_untouched() -> None:
    """Switching off works on a copy; the simulator that everybody uses stays as it is."""
    case = cases()["command.header.1"]
    with without([Switch("header", "header", "block is None")]) as run:
        assert not case.holds(run)
    assert case.holds(run_case)


def test_a_switch_that_is_gone_is_noticed() -> None:
    with pytest.raises(LookupError), without([Switch("header", "header", "no such condition")]):
        pass
    with pytest.raises(LookupError), without([AnyValue("B.CATR", "aq")]) as run:
        run(cases()["command.header.1"].start)
