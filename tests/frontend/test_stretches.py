"""The figures of a program whose loops are long: iterations are counted by stretches, and that changes no figure."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.ir import SSAValue

import ptoc
from ptoc import statistics, stretches

product = ptoc.jit(lambda a, b: a @ b)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(16, 20011, 16), (2000, 37, 300), (129, 4100, 65), (7, 3000, 1000), (5, 5, 20011)])
def test_stretches_add_up_to_the_iterations(
    shape: tuple[int, int, int], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, n, k = shape
    program = product.compile(ptoc.spec((m, k), dtype), ptoc.spec((k, n), dtype))
    counted = statistics.statistics_of(program)

    def every(loop: Any, steps: range, stretch: range, sizes: set[SSAValue], outside: Any) -> int | None:
        return None if len(stretch) == 1 else stretch.start + 1

    monkeypatch.setattr(statistics, "cut", every)
    assert statistics.statistics_of(program) == counted


def test_the_figures_of_two_billion_columns_are_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n, calls = 2**31 - 24, 0

    def counting(*args: Any) -> int | None:
        nonlocal calls
        calls += 1
        return stretches.cut(*args)

    monkeypatch.setattr(statistics, "cut", counting)
    # Checking a program takes memory for its arrays.
    monkeypatch.setenv("PTOC_CHECK", "0")
    program = product.compile(ptoc.spec((16, 16), "float16"), ptoc.spec((16, n), "float16"))
    stats = program.stats
    assert stats["gm_bytes_written"] == 2 * 16 * n
    assert stats["macs_useful"] == 16 * 16 * n
    assert 0 < calls < 100
