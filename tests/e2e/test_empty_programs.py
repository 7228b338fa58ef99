"""Programs for arrays without elements, which a call does without: they run, and give numpy's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import Array, assert_same

import ptoc
from ptoc.errors import PtocError
from ptoc.launch import run


def results(kernel: Callable[..., Any], *arrays: Array, cores: int = 1) -> tuple[ptoc.Program, list[Array]]:
    """The program for these arrays, and what it makes of copies: the arguments, then the results."""
    program = ptoc.jit(kernel).compile(*[ptoc.spec(a.shape, a.dtype) for a in arrays])
    _, launched = run(program, [a.copy() for a in arrays], cores)
    return program, [a for a, kind in zip(launched, program.kinds) if kind != "scratch"]


def assert_as_numpy(kernel: Callable[..., Any], *arrays: Array, cores: int = 1) -> ptoc.Program:
    program, found = results(kernel, *arrays, cores=cores)
    arguments = [a.copy() for a in arrays]
    returned = kernel(*arguments)
    wanted = [*arguments, *(returned if isinstance(returned, tuple) else [] if returned is None else [returned])]
    for got, expected in zip(found, wanted, strict=True):
        assert_same(got, np.asarray(expected))
    return program


def layers(a: Any, b: Any, c: Any) -> Any:
    total = c + np.matmul(a, b, dtype=np.float32)
    return total, np.maximum(np.matmul(a, b, dtype=np.float32), 0).astype(np.float16)


def requantised(a: Any, b: Any) -> Any:
    return np.clip(np.rint(np.matmul(a, b, dtype=np.int32) * np.float32(0.5)) + 3, -128, 127).astype(np.int8)


def in_place(a: Any, b: Any, c: Any) -> None:
    c += np.matmul(a, b, dtype=np.float32)


extents = st.sampled_from([0, 0, 1, 5, 130])


@settings(deadline=None, max_examples=25)
@given(extents, extents, extents, st.integers(1, 3))
def test_matmuls(rows: int, depth: int, cols: int, cores: int) -> None:
    """A sum without products is where it starts, or zero; the machine does nothing for results without elements."""
    a, b = np.ones((rows, depth), np.float16), np.ones((depth, cols), np.float16)
    empty = rows * cols == 0
    for c in (np.full((rows, cols), -0.0, np.float32), np.full(cols, 3, np.float32)):
        program = assert_as_numpy(layers, a, b, c, cores=cores)
        assert (program.stats["bundles"] == 0) == empty
    assert_as_numpy(in_place, a, b, np.full((rows, cols), -2, np.float32), cores=cores)
    assert_as_numpy(requantised, a.astype(np.int8), b.astype(np.int8), cores=cores)
    assert_as_numpy(lambda a, b: np.matmul(a.T, b.T, dtype=np.float32), b, a, cores=cores)


VECTORS = [((0,), (0, 4)), ((3,), (3, 0)), ((5, 0), (0,)), ((0, 3), (3,)), ((0,), (0,))]


@pytest.mark.parametrize("shapes", VECTORS, ids=str)
def test_vectors(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    assert_as_numpy(lambda a, b: a @ b, *[np.ones(shape, np.float16) for shape in shapes])


def masked(x: Any, y: Any) -> Any:
    x[x > 0] = y[x > 0]
    return np.where(x < y, x, y), x == y


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_masks(shape: tuple[int, ...]) -> None:
    program = assert_as_numpy(masked, np.zeros(shape, np.float32), np.zeros(shape, np.float32))
    assert not program.code()


def test_scatters() -> None:
    def kernel(x: Any, places: Any, src: Any) -> None:
        ptoc.scatter(x, places, src)

    x, places, src = np.arange(4, dtype=np.float32), np.zeros(0, np.int32), np.zeros(0, np.float32)
    _, (left, *_) = results(kernel, x, places, src)
    assert_same(left, x)
    with pytest.raises(PtocError, match="names no element"):
        results(kernel, src, np.zeros(1, np.int32), np.ones(1, np.float32))
