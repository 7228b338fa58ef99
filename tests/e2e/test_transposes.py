"""Arrays that do not lie row by row: the machine transposes operands of matmuls, others are copied once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import Array, assert_same, bits, mixed

import ptoc
from ptoc.errors import ArgumentError, UnsupportedError


def integers(rng: np.random.Generator, shape: tuple[int, int], dtype: str = "float32") -> Array:
    """Small whole numbers, which float32 adds exactly in any order."""
    return rng.integers(-3, 4, shape).astype(dtype)


def assert_right(function: Callable[..., Any], *arrays: Array) -> None:
    report = ptoc.validate(function, *arrays)
    assert report.ok, report


# -- matmuls ---------------------------------------------------------------------------------------

PRODUCTS: dict[str, Callable[[Array, Array], Any]] = {
    "a.T @ b": lambda a, b: (lambda a, b, c: a.T @ b, a.T.copy(), b),
    "a @ b.T": lambda a, b: (lambda a, b, c: a @ b.T, a, b.T.copy()),
    "a.T @ b.T": lambda a, b: (lambda a, b, c: a.T @ b.T, a.T.copy(), b.T.copy()),
    "np.transpose": lambda a, b: (lambda a, b, c: np.transpose(a) @ b, a.T.copy(), b),
    "axes": lambda a, b: (lambda a, b, c: a @ np.transpose(b, (1, 0)), a, b.T.copy()),
    "swapaxes": lambda a, b: (lambda a, b, c: a @ np.swapaxes(b, 0, 1), a, b.T.copy()),
    "methods": lambda a, b: (lambda a, b, c: a.transpose() @ b.swapaxes(-1, 0), a.T.copy(), b.T.copy()),
    "wide": lambda a, b: (
        lambda a, b, c: np.matmul(a.T, b, dtype=np.float32),
        a.T.copy().astype("float16"),
        b.astype("float16"),
    ),
    "widened": lambda a, b: (
        lambda a, b, c: a.astype(np.float32).T @ b.T.astype(np.float32),
        a.T.copy().astype("float16"),
        b.T.copy().astype("float16"),
    ),
    "int8": lambda a, b: (
        lambda a, b, c: np.matmul(a.T, b, dtype=np.int32),
        a.T.copy().astype("int8"),
        b.astype("int8"),
    ),
    "epilogue": lambda a, b: (lambda a, b, c: np.maximum(c + a.T @ b, 0).astype(np.float16), a.T.copy(), b),
    "columns first": lambda a, b: (lambda a, b, c: a @ b, np.asfortranarray(a), np.asfortranarray(b)),
    "both ways": lambda a, b: (lambda a, b, c: a.T @ b, np.asfortranarray(a.T), b),
    "of a product": lambda a, b: (lambda a, b, c: (a @ b).T @ c, a, b),
}


@pytest.mark.parametrize("size", [(5, 7, 3), (128, 128, 64), (200, 150, 70)], ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product(name: str, size: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    m, n, k = size
    a, b = integers(rng, (m, k)), integers(rng, (k, n))
    function, left, right = PRODUCTS[name](a, b)
    assert_right(function, left, right, integers(rng, (m, n)))


@settings(max_examples=25)
@given(
    st.tuples(*[st.integers(1, 300)] * 3),
    st.tuples(st.booleans(), st.booleans()).filter(any),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.sampled_from(["float16", "float32", "int8"]),
    st.integers(0, 2**16),
)
def test_any_size(
    size: tuple[int, int, int], turned: tuple[bool, bool], gaps: tuple[int, int], dtype: str, seed: int
) -> None:
    """Arguments that lie column by column, with gaps between the columns."""
    rng = np.random.default_rng(seed)
    m, n, k = size
    operands = []
    for shape, turn, gap in zip(((m, k), (k, n)), turned, gaps):
        rows, cols = shape[::-1] if turn else shape
        stored = integers(rng, (rows, cols + gap), dtype)[:, :cols]
        operands.append(stored.T if turn else stored)
    wide = np.int32 if dtype == "int8" else np.float32
    program = ptoc.jit(lambda a, b: np.matmul(a, b, dtype=wide)).program_for(*operands)
    assert program.stats["copied_bytes"] == 0
    assert_right(lambda a, b: np.matmul(a, b, dtype=wide), *operands)


def test_operands_stay_as_they_lie() -> None:
    """In ``nd`` a transposed operand is a flag, whoever transposed it."""
    rng = np.random.default_rng(0)
    from ptoc.arrays import Placement
    from ptoc.compiler import trace_kernel

    a = integers(rng, (30, 20))
    for function, array in ((lambda x: x.T @ x, a), (lambda x: x @ x.T, a.T)):
        trace, _ = trace_kernel(function, "kernel", [ptoc.spec(array.shape, array.dtype, array.strides)], ["x"], None)
        text = str(trace.module)
        assert "nd.matmul_acc %0, %0 trans_a : tensor<30x20xf32>, tensor<30x20xf32> -> tensor<20x20xf32>" in text
        assert Placement.COPIED not in trace.places


# -- element by element ----------------------------------------------------------------------------


def choose(x: Any, y: Any) -> Any:
    return np.where(x > y, x, y)


def assign(x: Any, y: Any) -> None:
    x[x > y] = y[x > y]


def fill(x: Any, y: Any) -> Any:
    x[:] = 7
    return x


def layouts(values: Array) -> dict[str, Array]:
    """The same values behind every kind of strides."""
    rows, cols = values.shape
    spread = np.zeros((2 * rows, 3 * cols), values.dtype)
    spread[::2, ::3] = values
    backwards = np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
    record = np.zeros((rows, cols), [("pad", "i1"), ("value", values.dtype)])
    record["value"] = values
    gaps = np.zeros((cols, rows + 5), values.dtype)[:, :rows].T
    gaps[...] = values
    found = {
        "rows": values.copy(),
        "columns": np.asfortranarray(values),
        "columns with gaps": gaps,
        "steps": spread[::2, ::3],
        "backwards": backwards,
        "fields": record["value"],
    }
    assert all((bits(each) == bits(values)).all() for each in found.values())
    return found


COPIES = {"rows": 0, "columns": 1, "columns with gaps": 1, "steps": 1, "backwards": 1, "fields": 1}


@pytest.mark.parametrize("dtype", ["uint8", "float16", "int64", "bool"])
@pytest.mark.parametrize("function", [choose, assign, fill], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", COPIES)
def test_arguments_of_any_strides(name: str, function: Callable[..., Any], dtype: str) -> None:
    rng = np.random.default_rng(0)
    if dtype == "bool":
        function, dtype = (lambda x, y: np.where(x, x, y)), "bool"
    x, y = (mixed(rng, (33, 20), np.dtype(dtype)) for _ in range(2))
    plain, machine = (layouts(x)[name] for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = function(plain, y)
    got = ptoc.jit(function)(machine, y)
    assert_same(machine, plain)
    if wanted is not None:
        assert_same(got, wanted)
    assert_right(function, layouts(x)[name], y)


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_reported(name: str) -> None:
    x, y = (integers(np.random.default_rng(0), (30, 20)) for _ in range(2))
    program = ptoc.jit(choose).program_for(layouts(x)[name], y)
    assert program.stats["copied_bytes"] == COPIES[name] * x.nbytes


def test_what_is_filled_lies_as_it_does() -> None:
    x, y = (integers(np.random.default_rng(0), (30, 20)) for _ in range(2))
    assert ptoc.jit(fill).program_for(np.asfortranarray(x), y).stats["copied_bytes"] == 0


@pytest.mark.parametrize("step", [2, -1, -3])
def test_a_vector_with_steps(step: int) -> None:
    x, y = (np.arange(n, dtype=np.float32) for n in (90, len(range(90)[::step])))
    assert_right(choose, x[::step], y)


def test_a_view_and_its_array_are_one() -> None:
    def kernel(x: Any, y: Any) -> Any:
        view = x.T
        x[:] = y
        return view.T > 0, view.mT.transpose(0, 1) <= y

    rng = np.random.default_rng(0)
    assert_right(kernel, integers(rng, (9, 5)), integers(rng, (9, 5)))


def test_a_vector_is_its_own_transpose() -> None:
    assert_right(lambda x, y: np.transpose(y) < x.T, *(integers(np.random.default_rng(n), (1, 9))[0] for n in (0, 1)))


def test_a_scatter_into_columns() -> None:
    """Displacements count the bytes of the array that the caller has, which a copy would not have."""
    src, places = np.arange(12, dtype=np.int32), (4 * np.arange(12, dtype=np.int32))[::-1].copy()
    dst = np.zeros((3, 4), np.int32, order="F")
    with pytest.raises(UnsupportedError, match="does not lie in memory row by row"):
        ptoc.jit(lambda dst, places, src: ptoc.scatter(dst, places, src))(dst, places, src)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.T > 0, lambda x: x.T, lambda x: np.matmul(x, x.T) > x.T, lambda x: x.T.__setitem__(slice(None), x)],
    ids=["compared", "returned", "beside a product", "assigned"],
)
def test_a_transpose_elsewhere(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="operand of a matmul only") as caught:
        ptoc.jit(function)(np.zeros((4, 4), np.float32))
    assert caught.value.where is not None and caught.value.where.file == __file__


def test_elements_that_overlap_are_not_assigned_to() -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(40, np.float32), (4, 5), (4, 8))
    with pytest.raises(ArgumentError, match="elements may overlap"):
        ptoc.jit(assign)(x, np.zeros((4, 5), np.float32))
    assert_right(choose, x, np.zeros((4, 5), np.float32))
