"""Whole bundles of every vector operation on both simulators: tiles, paddings, flags, faults."""

from __future__ import annotations

from collections import Counter

import pytest

from ptoc.isa import operations
from reference.agreement import expected
from reference.bundle_programs import agreeing_bundles
from reference.vector import ROWS, SELECTORS
from reference.vector_cases import program

QUICK, ALL = 6, 60


@pytest.mark.parametrize("operation", ROWS)
def test_some_bundles(operation: str) -> None:
    assert agreeing_bundles(program, operation, range(QUICK)) >= 2 * QUICK


@pytest.mark.slow
@pytest.mark.parametrize("operation", ROWS)
def test_many_bundles(operation: str) -> None:
    assert agreeing_bundles(program, operation, range(QUICK, ALL)) >= 200


def test_bundles_end_in_every_way() -> None:
    ends = Counter(str(expected(program(operation, seed))["end"])[:22] for operation in ROWS for seed in range(2))
    assert ends.pop("None") > len(ROWS) and len(ends) >= 3


def test_selectors_are_those_of_the_tables() -> None:
    for (mode, function), name in SELECTORS.items():
        assert operations.BY_SELECTOR["TEPL", mode, function].name == name
        assert name == "TCMP" or {t.name for t in operations.BY_NAME[name].schema.types} == set(ROWS[name].types)
