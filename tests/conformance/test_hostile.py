"""Fuzz: random and mutated programs, each reproducible by its number."""

from __future__ import annotations

import pytest

from conformance.hostile import fuzz

TOTAL, CHUNKS = 200_000, 8
SECONDS = 40.0
"""Of each chunk: enough on a machine of our kind, and a limit of about five minutes for all on a slower one."""


def test_some_hostile_programs() -> None:
    done, ends = fuzz(0, 2500, 20.0)
    assert done and {"halted", "TileLegality", "BundleControl", "IllegalInstruction"} <= ends.keys()


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_hostile_programs(chunk: int) -> None:
    size = TOTAL // CHUNKS
    done, ends = fuzz(chunk * size, size, SECONDS)
    assert done >= size // 10 and sum(ends.values()) == done
