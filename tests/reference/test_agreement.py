"""Simulator and reference on random programs: fault and bundle, memory, every tile of every PE, Shared tiles, flags."""

from __future__ import annotations

from collections import Counter

import pytest

from reference.agreement import Case, difference, expected
from reference.generator import program

QUICK, MANY, CHUNK = 150, 2400, 150


def compare(seeds: range) -> Counter[str]:
    """Run the programs of some seeds on both; returns how often every kind of bundle was started."""
    wrong, starts = {}, Counter[str]()
    for seed in seeds:
        case = program(seed)
        found = difference(case)
        if found:
            wrong[seed] = found
        starts.update(inst.key for inst in case.program if inst.key.startswith("BSTART"))
    assert not wrong
    return starts


@pytest.mark.parametrize("first", range(0, QUICK, 50))
def test_some_programs(first: int) -> None:
    starts = compare(range(first, first + 50))
    assert all(starts[f"BSTART.{name}"] > 2 for name in ("TLOAD", "TSTORE", "TMATMUL", "TMATMUL.ACC", "TEPL"))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, QUICK + MANY, CHUNK))
def test_many_programs(first: int) -> None:
    compare(range(first, first + CHUNK))


def test_programs_end_in_every_way() -> None:
    """The comparison would be worth little if all programs faulted, or none."""
    ends = Counter(str(expected(program(seed))["end"]) for seed in range(60))
    finished = ends.pop("None")
    assert finished >= 15 and len(ends) >= 10


def test_a_difference_is_seen() -> None:
    case = program(4)
    wrong = Case(case.memory, case.gpr, case.program[:-1])
    assert difference(case) is None and expected(case) != expected(wrong)
