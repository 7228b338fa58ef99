"""Whole bundles that sort, count and quantise, on both simulators."""

from __future__ import annotations

from collections import Counter

import pytest

from ptoc.isa import operations
from reference.agreement import expected
from reference.bundle_programs import agreeing_bundles
from reference.sorting import SELECTORS, TYPES
from reference.sorting_cases import program

OPERATIONS = list(TYPES)
QUICK, ALL = 6, 130


@pytest.mark.parametrize("operation", OPERATIONS)
def test_some_bundles(operation: str) -> None:
    assert agreeing_bundles(program, operation, range(QUICK)) >= QUICK


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_many_bundles(operation: str) -> None:
    assert agreeing_bundles(program, operation, range(QUICK, ALL)) >= 200


@pytest.mark.parametrize("operation", OPERATIONS)
def test_bundles_end_with_and_without_a_fault(operation: str) -> None:
    ends = Counter(str(expected(program(operation, seed))["end"])[:22] for seed in range(25))
    assert ends.pop("None") >= 8 and ends


def test_selectors_and_types_are_those_of_the_tables() -> None:
    for (mode, function), name in SELECTORS.items():
        assert operations.BY_SELECTOR["TEPL", mode, function].name == name
        assert {t.name for t in operations.BY_NAME[name].schema.types} == set(TYPES[name])
