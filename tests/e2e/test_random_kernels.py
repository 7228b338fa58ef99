"""Kernels made of random statements: whatever the order of reads and writes, the result is numpy's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import run_both

import ptoc

# x, y and t are matrices, r is a row, m and k are masks, p is a product; x, y, r and m are arguments.
STATEMENTS = [
    "x[x > y] = y[x > y]",
    "x[m] = 2",
    "x[k] = t[k]",
    "x[:] = t",
    "x[:] = r",
    "x[:] = np.where(m, x, t)",
    "x[:] = np.where(np.matmul(x, y) > 2, 1, t)",
    "x[y == r] = y[y == r]",
    "y[:] = x",
    "y[...] = np.where(k, y, r)",
    "y[y < x] = -1",
    "y[k] = x[k]",
    "y[p > 3] = 0",
    "np.copyto(y, r, where=m)",
    "np.copyto(x, t, where=y > r)",
    "np.copyto(y, 1, where=r > 0)",
    "x, y = y, x",
    "t = x.copy()",
    "t = y[:]",
    "t = np.where(x < 1, t, r)",
    "t = np.where(y + np.matmul(x, y) > 1, x, y)",
    "t[m] = y[m]",
    "t[:] = x",
    "t[t == 0] = 3",
    "m[:] = x >= r",
    "m[y == 1] = False",
    "m[k] = m[k]",
    "m[:] = k",
    "k = x < t",
    "k = np.where(m, k, y > 0)",
    "k = m[:]",
    "k = p <= 2",
    "k[m] = True",
    "r[r > 0] = 0",
    "r[:] = 1",
    "p = np.matmul(x, t)",
    "p = y + np.matmul(t, x)",
    "p = np.maximum(np.matmul(x, y), 0)",
    "p = r + np.matmul(y, t)",
    "r[:] = p.max(axis=1)",
    "r[:] = np.maximum(r, np.matmul(x, y).max(axis=1))",
    "r[:] = np.abs(x + np.matmul(t, y)).max(axis=1)",
    "ptoc.scatter(x, places, y, m)",
    "ptoc.scatter(y, places, y, k)",
    "ptoc.scatter(x, places, t)",
]

RETURNS = ["x, y, t, k, p", "t.copy(), p, m", "np.where(k, x, t), p > 0, y"]


def kernel_of(statements: list[str], returns: str) -> Any:
    uses_p = any("p" in re.findall(r"\w+", line) for line in [*statements, returns])
    product = ["p = np.matmul(x, y)"] if uses_p else []
    lines = ["def kernel(x, y, r, m, places):", "t, k = y.copy(), x > 0", *product, *statements]
    source = "\n    ".join([*lines, f"return {returns}"])
    names: dict[str, Any] = {"np": np, "ptoc": ptoc}
    exec(source, names)
    return names["kernel"]


def check(statements: list[str], returns: str, size: int, gaps: list[int], seed: int) -> None:
    """Small integers, which float32 adds exactly in any order."""
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-3, 4, (size, size)).astype(np.float32) for _ in range(2))
    r, m = rng.integers(-3, 4, size).astype(np.float32), rng.random((size, size)) < 0.5
    rows, cols = rng.permuted(np.arange(size)), rng.permuted(np.arange(size))
    # x and y take turns as targets, so both have rows as far apart.
    strides = (size + gaps[0]) * 4
    places = (rows[:, None] * strides + cols[None, :] * 4).astype(np.int32)
    run_both(kernel_of(statements, returns), [x, y, r, m, places], [gaps[0], gaps[0], 0, gaps[1], gaps[2]])


arguments = {
    "statements": st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=9),
    "returns": st.sampled_from(RETURNS),
    "size": st.sampled_from([1, 5, 9, 33, 70]),
    "gaps": st.lists(st.sampled_from([0, 0, 1, 6]), min_size=3, max_size=3),
    "seed": st.integers(0, 2**16),
}


@settings(max_examples=60)
@given(**arguments)
def test_random_statements(statements: list[str], returns: str, size: int, gaps: list[int], seed: int) -> None:
    check(statements, returns, size, gaps, seed)


@pytest.mark.slow
@settings(max_examples=600)
@given(**arguments)
def test_many_random_statements(statements: list[str], returns: str, size: int, gaps: list[int], seed: int) -> None:
    check(statements, returns, size, gaps, seed)


def test_products_between_masked_writes() -> None:
    """Each leaves the rings nearly full."""
    masked, product = "x[x > y] = y[x > y]", "x[:] = np.where(np.matmul(x, y) > 2, 1, t)"
    copy = "np.copyto(y, r, where=m)"
    statements = [masked, masked, masked, product, copy, copy, product, masked, masked]
    check(statements, "x, y, t, k, p", 70, [6, 0, 0], 0)
    compared = ["m[k] = m[k]", "x[y == r] = y[y == r]", "x[y == r] = y[y == r]", "m[:] = x >= r", product]
    check([*compared, "y[...] = np.where(k, y, r)"], "np.where(k, x, t), p > 0, y", 70, [0, 0, 0], 0)
