"""Whole bundles of the indexed operations and of TPREFETCH on both simulators."""

from __future__ import annotations

from collections import Counter

import pytest

from ptoc.isa import operations
from reference.agreement import expected
from reference.bundle_programs import agreeing_bundles
from reference.indexed import BYTE_INDEX, NP20, ROLES, ROW_INDEX, SELECTORS
from reference.indexed_cases import program

OPERATIONS = [*SELECTORS.values(), *ROLES, "TPREFETCH"]
QUICK, ALL = 6, 120


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


def test_types_are_those_of_the_tables() -> None:
    for name in OPERATIONS[:-1]:
        schema = operations.BY_NAME[name].schema
        assert {t.name for t in schema.types} == set(NP20)
        assert {t.name for t in schema.index_types} == set(BYTE_INDEX if name in ROLES else ROW_INDEX)
