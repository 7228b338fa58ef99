"""What is copied to memory, and what is not: scratch arrays of kernels, counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptoc
from ptoc.passes.arguments import SCRATCH


def scratch_of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> int:
    program = ptoc.jit(function).compile(*[ptoc.spec(s, "float32") for s in shapes])
    return program.kinds.count(SCRATCH)


SQUARE = (9, 9)


def written_before_it_is_stored(x: Any, y: Any) -> Any:
    product = np.matmul(x, y)
    x[:] = y
    return product


def read_before_written(x: Any, y: Any) -> Any:
    old = x.copy()
    x[:] = y
    return old


def mask_before_write(x: Any, y: Any) -> None:
    mask = x > 0
    x[:] = y
    y[mask] = 0


def a_row_of_itself(x: Any, row: Any) -> None:
    row[:] = np.where(row > 0, row, 1)
    x[:] = row


def constant_operand(x: Any, y: Any) -> Any:
    ones = x.copy()
    ones[:] = 1
    return ones @ y


CASES: list[tuple[Callable[..., Any], int]] = [
    # One nest, nothing in between.
    (lambda x, y: x.copy(), 0),
    (lambda x, y: np.matmul(x, y), 0),
    (lambda x, y: np.where(x < y, x, y), 0),
    (lambda x, y: x < y, 0),
    (lambda x, y: np.maximum(x + np.matmul(x, y), 0), 0),
    # Each element is read before it is written.
    (lambda x, y: x.__setitem__(x > y, y[x > y]), 0),
    (lambda x, y: x.__setitem__(slice(None), np.where(x > y, x, y)), 0),
    (lambda x, y: y.__setitem__(slice(None), y + np.matmul(x, x)), 0),
    # An operand is read by rows and columns, the result written by tiles.
    (lambda x, y: x.__setitem__(slice(None), np.matmul(x, y)), 1),
    (lambda x, y: x.__setitem__(slice(None), np.matmul(x, x)), 1),
    # What one nest leaves for the next.
    (lambda x, y: np.matmul(np.matmul(x, y), y), 1),
    (lambda x, y: np.where(x < y, np.matmul(x, y), x), 1),
    (lambda x, y: np.where(x < y, np.where(x < 0, x, y), x), 1),
    (lambda x, y: np.matmul(x, y) < y, 1),
    (lambda x, y: np.where(x < 0, x < y, x > y), 2),
    # What is overwritten in between.
    (written_before_it_is_stored, 1),
    (read_before_written, 1),
    (mask_before_write, 1),
    (a_row_of_itself, 0),
    (constant_operand, 1),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_scratch_arrays(number: int) -> None:
    """No less than is right, which the end-to-end tests show, and no more than is needed."""
    function, expected = CASES[number]
    shapes = (SQUARE, (9,)) if function is a_row_of_itself else (SQUARE, SQUARE)
    assert scratch_of(function, *shapes) <= expected


def test_scatter_from_its_own_target_copies_it() -> None:
    def kernel(x: Any, y: Any, places: Any) -> None:
        ptoc.scatter(x, places, x, y > 0)

    specs = [ptoc.spec(SQUARE, "float32"), ptoc.spec(SQUARE, "float32"), ptoc.spec(SQUARE, "int64")]
    assert ptoc.jit(kernel).compile(*specs).kinds.count(SCRATCH) == 1


def test_widening_leaves_no_trace() -> None:
    def kernel(a: Any, b: Any) -> Any:
        return a.astype(np.float32) @ b.astype(np.float32)

    program = ptoc.jit(kernel).compile(ptoc.spec(SQUARE, "float16"), ptoc.spec(SQUARE, "float16"))
    assert SCRATCH not in program.kinds
    assert "nd.cast" not in program.ir("nd")


def test_what_nobody_uses_is_not_computed() -> None:
    def kernel(x: Any, y: Any) -> Any:
        _ = np.matmul(x, y), np.where(x < y, x, y), x > 0
        return x.copy()

    program = ptoc.jit(kernel).compile(ptoc.spec(SQUARE, "float32"), ptoc.spec(SQUARE, "float32"))
    assert "matmul" not in program.ir("nd")
    assert "compare" not in program.ir("nd")
