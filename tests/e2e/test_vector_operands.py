"""Products of vectors: numpy's shapes and dtypes, and the bits of a matrix with one row or column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import BF16, Array, assert_same, bits, mixed

import ptoc
from ptoc.errors import PtocError, ShapeError, UnsupportedError


def wide(a: Any, b: Any) -> Any:
    return np.matmul(a, b, dtype=np.float32 if a.dtype.kind not in "iu" else np.int32)


def integers(rng: np.random.Generator, *shape: int, dtype: Any = "float16") -> Array:
    """Small whole numbers, which float32 adds exactly in any order."""
    return rng.integers(-3, 4, shape).astype(dtype)


def assert_numpy(function: Callable[..., Any], *arrays: Array) -> None:
    """Numpy's numbers, shapes and dtypes, and a scalar where numpy has one."""
    wanted, got = function(*arrays), ptoc.jit(function)(*arrays)
    assert type(got) is type(wanted)
    assert_same(np.asarray(got), np.asarray(wanted))
    report = ptoc.validate(function, *arrays)
    assert report.ok, report


ROWS, DEPTH, COLS = 150, 70, 40
KERNELS: dict[str, Callable[..., Any]] = {
    "np.matmul": lambda a, b, c: wide(a, b),
    "@": lambda a, b, c: a @ b,
    "np.dot": lambda a, b, c: np.dot(a, b),
    "x.dot": lambda a, b, c: a.dot(b),
    "c": lambda a, b, c: c + wide(a, b),
    "a number": lambda a, b, c: wide(a, b) + 3,
    "two products": lambda a, b, c: wide(a, b) + wide(a, b),
    "ReLU": lambda a, b, c: np.maximum(c + wide(a, b), 0),
    "epilogue": lambda a, b, c: np.clip(np.rint(wide(a, b) * 0.5) + 3, -128, 127).astype(np.int8),
    "leaky ReLU": lambda a, b, c: np.maximum(wide(a, b), wide(a, b) * 0.25).astype(np.float16),
    "a mask": lambda a, b, c: wide(a, b) > 0,
    "chosen": lambda a, b, c: np.where(wide(a, b) > 2, wide(a, b), c),
}
SHAPES = {"vector @ matrix": ((DEPTH,), (DEPTH, COLS)), "matrix @ vector": ((ROWS, DEPTH), (DEPTH,))}


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str, shapes: str) -> None:
    left, right = SHAPES[shapes]
    rng = np.random.default_rng(0)
    c = integers(rng, *left[:-1], *right[1:], dtype="float32")
    assert_numpy(KERNELS[name], integers(rng, *left), integers(rng, *right), c)


@pytest.mark.parametrize("name", sorted(KERNELS.keys() - {"c", "ReLU", "chosen"}))
def test_a_vector_times_a_vector_is_a_scalar(name: str) -> None:
    a, b = integers(np.random.default_rng(1), 2, 500)
    assert_numpy(lambda a, b: KERNELS[name](a, b, None), a, b)


@pytest.mark.parametrize("dtype", ["float16", BF16, "float32", "int8"], ids=str)
@settings(max_examples=25)
@given(
    st.tuples(*[st.integers(1, 300)] * 2),
    st.sampled_from(["vector @ matrix", "matrix @ vector", "vector @ vector"]),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_the_bits_are_those_of_a_matrix(dtype: Any, size: tuple[int, int], form: str, starts: bool, seed: int) -> None:
    """Special values among the elements: a vector is one row or one column, and c starts the sums."""
    depth, extent = size
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    left = (extent, depth) if form.startswith("matrix") else (depth,)
    right = (depth, extent) if form.endswith("matrix") else (depth,)
    a, b = mixed(rng, left, dtype), mixed(rng, right, dtype)
    c = mixed(rng, (extent,), np.dtype("int32" if dtype.kind == "i" else "float32"))
    starts = starts and form != "vector @ vector"

    def kernel(a: Any, b: Any, c: Any) -> Any:
        return c + wide(a, b) if starts else wide(a, b)

    with np.errstate(all="ignore"):
        wanted = kernel(a, b, c)
    got = ptoc.jit(kernel)(a, b, c)
    assert (type(got), got.dtype, got.shape) == (type(wanted), wanted.dtype, wanted.shape)
    matrices = np.atleast_2d(a), b.reshape(depth, -1), c.reshape((-1, 1) if form.startswith("matrix") else (1, -1))
    assert_same(np.asarray(got).ravel(), ptoc.jit(kernel)(*matrices).ravel())
    assert ptoc.validate(kernel, a, b, c).ok


def test_vectors_with_steps_between_their_elements() -> None:
    rng = np.random.default_rng(2)
    x, w = integers(rng, 2 * DEPTH)[::2], integers(rng, COLS, DEPTH).T
    assert_numpy(wide, x, np.ascontiguousarray(w))
    assert_numpy(wide, np.ascontiguousarray(w.T), x[::-1])


def test_layers() -> None:
    """A product is the next one's vector."""
    rng = np.random.default_rng(3)
    x, weights = integers(rng, 50), integers(rng, 50, 50)

    def kernel(x: Any, w: Any, c: Any) -> Any:
        for _ in range(3):
            x = np.clip(c + wide(x, w), -65504, 65504).astype(np.float16)
        return x, wide(w, x)

    c = integers(rng, 50, dtype="float32")
    assert ptoc.validate(kernel, x, weights, c).ok


def test_constants_by_column() -> None:
    """The sums of a vector times a matrix are a row; those of a matrix times a vector are not."""
    rng = np.random.default_rng(4)
    scales = np.ldexp(np.float32(1), rng.integers(-3, 3, COLS))
    x, w = integers(rng, DEPTH), integers(rng, DEPTH, COLS)
    assert_numpy(lambda x, w: (wide(x, w) * scales).astype(np.float16), x, w)
    with pytest.raises(UnsupportedError, match="constant array beside the product of a matrix and a vector"):
        ptoc.jit(lambda w, x: (wide(w, x) * scales).astype(np.float16))(np.ascontiguousarray(w.T), x)
    with pytest.raises(ShapeError, match="constant array of shape"):
        ptoc.jit(lambda x, w: (wide(x, w) * scales[None, :]).astype(np.float16))(x, w)


def test_arguments_are_updated_in_place() -> None:
    rng = np.random.default_rng(5)
    w, x, c = integers(rng, DEPTH, DEPTH), integers(rng, DEPTH), integers(rng, DEPTH, dtype="float32")

    def kernel(w: Any, x: Any, c: Any) -> None:
        c += wide(w, x)
        np.matmul(x, w, out=x)

    arrays, plain = [w.copy(), x.copy(), c.copy()], [w.copy(), x.copy(), c.copy()]
    ptoc.jit(kernel)(*arrays)
    kernel(*plain)
    for got, wanted in zip(arrays, plain, strict=True):
        assert bits(got).tolist() == bits(wanted).tolist()


def test_a_scalar_is_not_updated_in_place() -> None:
    def kernel(x: Any, y: Any) -> Any:
        first = total = np.dot(x, y)
        total += wide(y, x)
        return first, total

    x, y = integers(np.random.default_rng(6), 2, 9, dtype="float32")
    assert ptoc.jit(kernel)(x, y) == kernel(x, y)


REFUSED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a scalar as an operand": lambda w, x, y: np.matmul(np.dot(x, y), x),
    "depths that differ": lambda w, x, y: np.matmul(x, w),
    "a scalar repeated": lambda w, x, y: np.where(x > 0, x, np.dot(x, y)),
    "assignment to a scalar": lambda w, x, y: np.dot(x, y).__setitem__(..., 1),
    "copy into a scalar": lambda w, x, y: np.copyto(np.dot(x, y), 1),
    "out": lambda w, x, y: np.dot(x, y).__imatmul__(x),
    "an index into a scalar": lambda w, x, y: np.dot(x, y)[:],
    "the length of a scalar": lambda w, x, y: len(np.dot(x, y)),
    "a scalar as a number": lambda w, x, y: float(np.dot(x, y)),
    "ldexp of a scalar": lambda w, x, y: np.ldexp(np.dot(x, y), -x.astype(np.int32)[:, None]),
    "a constant row": lambda w, x, y: np.dot(x, y) * np.ones(1, np.float32),
    "in place": lambda w, x, y: w.__imatmul__(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_or_the_machine_refuses(name: str) -> None:
    w, x, y = (integers(np.random.default_rng(7), *shape, dtype="float32") for shape in ((4, 9), (9,), (9,)))
    with pytest.raises(PtocError) as caught:
        ptoc.jit(REFUSED[name])(w, x, y)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
