"""Arrays without elements: numpy's answer, shape and dtype, without the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from samples import BF16, DTYPES, assert_same

import ptoc
from ptoc import launch
from ptoc.errors import ArgumentError, PtocError


@pytest.fixture(autouse=True)
def no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("a program ran")

    monkeypatch.setattr(launch, "run", refuse)


def accumulate(a: Any, b: Any, c: Any) -> Any:
    return c + np.matmul(a, b, dtype=np.float32), np.maximum(np.matmul(a, b, dtype=np.float32), 0).astype(np.float16)


@pytest.mark.parametrize("shape", [(0, 3, 4), (5, 0, 4), (5, 3, 0), (0, 0, 0), (0, 3, 0)], ids=str)
@pytest.mark.parametrize("operands", ["float16", BF16, "float32"], ids=str)
def test_matmul(shape: tuple[int, int, int], operands: Any) -> None:
    """Without products the sum is where it started."""
    rows, depth, cols = shape
    a, b = np.ones((rows, depth), operands), np.ones((depth, cols), operands)
    for c in (np.full((rows, cols), -2, np.float32), np.full(cols, 3, np.float32)):
        got, wanted = ptoc.jit(accumulate)(a, b, c), accumulate(a, b, c)
        for left, right in zip(got, wanted, strict=True):
            assert_same(left, right)


VECTORS = [((0,), (0, 4)), ((3,), (3, 0)), ((5, 0), (0,)), ((0, 3), (3,)), ((0,), (0,))]


@pytest.mark.parametrize("shapes", VECTORS, ids=str)
def test_products_of_vectors(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.ones(shape, np.float16) for shape in shapes)
    for kernel in (lambda a, b: np.maximum(a @ b, 0), lambda a, b: np.dot(a, b)):
        got, wanted = ptoc.jit(kernel)(a, b), kernel(a, b)
        assert type(got) is type(wanted)
        assert_same(np.asarray(got), np.asarray(wanted))


def masked(x: Any, y: Any) -> Any:
    x[x > 0] = y[x > 0]
    y[:] = 1
    return np.where(x < y, x, y), x == y, x


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masks(shape: tuple[int, ...], dtype: Any) -> None:
    x, y = np.zeros(shape, dtype), np.zeros(shape, dtype)
    got = ptoc.jit(masked)(x, y)
    assert got[2] is x
    for left, right in zip(got, masked(x.copy(), y.copy()), strict=True):
        assert_same(left, right)
    assert ptoc.validate(masked, x, y).ok


def test_an_empty_source_scatters_nothing() -> None:
    x = np.arange(4, dtype=np.float32)
    ptoc.jit(lambda x, d, s: ptoc.scatter(x, d, s))(x, np.zeros(0, np.int32), np.zeros(0, np.float32))
    assert x.tolist() == [0, 1, 2, 3]


def scatters_late(x: Any, y: Any, places: Any, src: Any) -> None:
    y[:] = src
    ptoc.scatter(x, places, src)


def test_an_empty_target_has_no_element_to_hit() -> None:
    """And what was written before the error is as it was."""
    for shape in ((0,), (0, 3), (3, 0)):
        for place in (0, 4, -4, 8):
            x, y = np.zeros(shape, np.float32), np.zeros(1, np.float32)
            with pytest.raises(PtocError, match="names no element"):
                ptoc.jit(scatters_late)(x, y, np.array([place]), np.ones(1, np.float32))
            assert y.tolist() == [0]


def test_arrays_that_cannot_be_written_are_refused() -> None:
    empty, fixed, one = np.zeros((0, 3), np.float32), np.zeros(3, np.float32), np.ones(3, np.float32)
    fixed.flags.writeable = False

    def kernel(empty: Any, x: Any, y: Any) -> Any:
        x[:] = y
        return empty.copy()

    with pytest.raises(ArgumentError, match="x, which is read-only"):
        ptoc.jit(kernel)(empty, fixed, one)
    with pytest.raises(ArgumentError, match="x, which shares memory with y"):
        ptoc.jit(kernel)(empty, one, one)


REFUSED: list[tuple[Callable[..., Any], Sequence[tuple[int, ...]]]] = [
    (lambda x, y: np.exp(x), [(0, 3), (0, 3)]),
    (lambda x, y: x + y, [(0, 3), (0, 3)]),
    (lambda x, y: x @ y, [(0, 3), (4, 0)]),
    (lambda x, y: x < y, [(0, 3), (4, 3)]),
    (lambda x, y: x[0], [(3, 0), (3, 0)]),
    (lambda x, y: x if x.any() else y, [(3, 0), (3, 0)]),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_compiled_is_refused_all_the_same(number: int) -> None:
    kernel, shapes = REFUSED[number]
    with pytest.raises(PtocError):
        ptoc.jit(kernel)(*[np.zeros(s, np.float32) for s in shapes])
