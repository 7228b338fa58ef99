"""int4 results: two elements share a byte, so slots, cores and rows meet at whole bytes; numpy gives each its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import Array, assert_same
from test_epilogues import floats, integers, product, row, sums, with_sums

import ptoc
from ptoc.bisection import bisect
from ptoc.launch import address_of, run
from ptoc.passes.check_values import check_values

INT4 = np.dtype(ml_dtypes.int4)

FORMS: dict[str, tuple[Callable[[Any, Array, Array], Any], Callable[[Array, Array, Array], Array]]] = {
    "clipped": (lambda y, s, z: np.clip(y, -8, 7), lambda x, s, z: x),
    "a scale": (lambda y, s, z: np.clip(np.rint(y * 0.0625), -8, 7), lambda x, s, z: np.rint(x * 0.0625)),
    "an offset": (lambda y, s, z: np.clip(np.floor(y * 0.0625) + 3, -8, 7), lambda x, s, z: np.floor(x * 0.0625) + 3),
    "truncated": (lambda y, s, z: np.clip(y * 0.0625, -8, 7), lambda x, s, z: np.trunc(x * 0.0625)),
    "by column": (lambda y, s, z: np.clip(np.ceil(y * s) + z, -8, 7), lambda x, s, z: np.ceil(x * s) + z),
    "ReLU": (
        lambda y, s, z: np.minimum(np.rint(np.maximum(y, 0) * s), 7),
        lambda x, s, z: np.rint(np.maximum(x, 0) * s),
    ),
    "leaky": (
        lambda y, s, z: np.clip(np.rint(np.where(y > 0, y * s, y * 0.125)), -8, 7),
        lambda x, s, z: np.rint(np.where(x > 0, x * s, x * 0.125)),
    ),
}


def parameters(cols: int) -> tuple[Array, Array]:
    """A scale and an offset for each column."""
    return row(cols, 44, -9, -4), np.random.default_rng(45).integers(-8, 9, cols)


def check_everywhere(kernel: Callable[..., Any], arrays: tuple[Array, ...], wanted: Array) -> None:
    """The result on 1, 3 and 4 cores; the checker, both oracles, and the bytes that are counted."""
    program = ptoc.jit(kernel).program_for(*arrays)
    for cores in (1, 3, 4):
        got = program.run(*arrays, cores=cores)
        assert got.dtype == INT4 and got.shape == wanted.shape
        assert_same(got.astype(np.int8), np.clip(wanted, -8, 7).astype(np.int8), f"{cores} cores")
    assert check_values(program.modules["nd"], program.modules["pto"], cores=(1, 4))
    report = ptoc.validate(kernel, *arrays)
    assert report.ok and report.max_ulp == 0, str(report)
    machine, _ = run(program, arrays)
    counted = machine.counters.gm_bytes_read, machine.counters.gm_bytes_written
    assert counted == (program.stats["gm_bytes_read"], program.stats["gm_bytes_written"])
    assert counted[1] <= wanted.size / 2 + len(wanted) * 4


SHAPES = [(1, 1, 1), (1, 33, 5), (5, 1, 7), (3, 2, 4), (17, 7, 9), (40, 50, 33), (129, 65, 300), (256, 255, 64)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_four_bits(name: str, shape: tuple[int, int, int]) -> None:
    form, exact = FORMS[name]
    scales, zeros = parameters(shape[1])
    arrays = integers(shape)
    wanted = exact(sums(*arrays), scales.astype(np.float64), zeros)
    check_everywhere(lambda a, b, c: form(product(a, b, c), scales, zeros).astype(INT4), arrays, wanted)


@pytest.mark.parametrize("shape", [(300, 270, 520), (130, 1023, 70), (1024, 514, 33)], ids=str)
def test_many_blocks(shape: tuple[int, int, int]) -> None:
    arrays = integers(shape)
    check_everywhere(
        with_sums(lambda y: np.clip(np.rint(y * 0.0625), -8, 7).astype(INT4)),
        arrays,
        np.rint(sums(*arrays) * 0.0625),
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 70), st.integers(1, 300), st.integers(1, 40), st.integers(0, 2**16), st.booleans(), st.booleans())
def test_any_shape(m: int, n: int, k: int, seed: int, trans_a: bool, trans_b: bool) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-9, 10, shape).astype(np.int8) for shape in ((m, k), (k, n)))
    scales, zeros = parameters(n)
    given = (a.T.copy() if trans_a else a, b.T.copy() if trans_b else b)

    def kernel(a: Any, b: Any) -> Any:
        y = np.matmul(a.T if trans_a else a, b.T if trans_b else b, dtype=np.int32)
        return np.clip(np.rint(y * scales) + zeros, -8, 7).astype(INT4)

    exact = a.astype(np.int64) @ b.astype(np.int64)
    check_everywhere(kernel, given, np.rint(exact * scales.astype(np.float64)) + zeros)


@pytest.mark.parametrize("cols", [1, 16, 31])
@pytest.mark.parametrize("turned", [False, True])
def test_stacks(cols: int, turned: bool) -> None:
    rng = np.random.default_rng(46)
    a = rng.integers(-9, 10, (3, 21, 40)).astype(np.int8)
    b = rng.integers(-9, 10, (3, cols, 40) if turned else (3, 40, cols)).astype(np.int8)

    def kernel(a: Any, b: Any) -> Any:
        y = np.matmul(a, b.mT if turned else b, dtype=np.int32)
        return np.clip(np.rint(y * 0.03125), -8, 7).astype(INT4)

    report = ptoc.validate(kernel, a, b)
    assert report.ok and report.max_ulp == 0, str(report)
    assert_same(ptoc.jit(kernel)(a, b).astype(np.int8), kernel(a, b).astype(np.int8))


@pytest.mark.parametrize("cols", [8, 9, 33])
def test_maxima_and_other_results_beside_it(cols: int) -> None:
    arrays = integers((70, cols, 33))

    def kernel(a: Any, b: Any, c: Any) -> Any:
        y = product(a, b, c)
        return np.clip(np.rint(y * 0.0625), -8, 7).astype(INT4), y.max(axis=1), y

    report = ptoc.validate(kernel, *arrays)
    assert report.ok, str(report)
    small, most, total = ptoc.jit(kernel)(*arrays)
    assert_same(small.astype(np.int8), np.clip(np.rint(sums(*arrays) * 0.0625), -8, 7).astype(np.int8))
    assert_same(most, total.max(axis=1))


def test_a_row_of_sums_and_one_that_starts_every_sum() -> None:
    a, b, c = integers((1, 35, 33))
    kernel = with_sums(lambda y: np.clip(np.rint(y * 0.0625), -8, 7).astype(INT4))
    wanted = np.rint(sums(a, b, c) * 0.0625)[0]
    report = ptoc.validate(kernel, a[0], b, c[0])
    assert report.ok, str(report)
    assert_same(ptoc.jit(kernel)(a[0], b, c[0]).astype(np.int8), np.clip(wanted, -8, 7).astype(np.int8))
    matrix = np.concatenate([a, a, a])
    assert ptoc.validate(kernel, matrix, b, c[0]).ok


@pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (4, 5, 0)], ids=str)
def test_nothing_to_pack(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = np.ones((m, k), np.int8), np.ones((k, n), np.int8)
    got = ptoc.jit(lambda a, b: np.clip(np.matmul(a, b, dtype=np.int32), -8, 7).astype(INT4))(a, b)
    assert got.shape == (m, n) and not got.astype(np.int8).any()


def test_explanations_are_those_of_each_loop_nest() -> None:
    kernel = with_sums(lambda y: np.clip(y, -8, 7).astype(INT4))
    text = ptoc.jit(kernel).program_for(*integers((40, 31, 33))).explain()
    assert "2 loop nests" in text and "40 x 30 sums" in text and "40 x 1 sums" in text
    assert "loop nests" not in ptoc.jit(kernel).program_for(*integers((40, 32, 33))).explain()


def test_where_an_element_lies() -> None:
    arrays = integers((4, 5, 3))
    program = ptoc.jit(with_sums(lambda y: np.clip(y, -8, 7).astype(INT4))).program_for(*arrays)
    first = address_of(program, 3, (0, 0))
    assert [address_of(program, 3, (r, c)) - first for r, c in ((0, 1), (0, 2), (1, 0), (3, 4))] == [0, 1, 3, 11]


def test_bisect_runs_every_stage() -> None:
    arrays = integers((20, 9, 33))
    found = bisect(with_sums(lambda y: np.clip(np.rint(y * 0.0625), -8, 7).astype(INT4)), *arrays)
    assert found.guilty is None, str(found)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "other limits": lambda y: np.clip(np.rint(y), -7, 7).astype(INT4),
    "an offset out of reach": lambda y: np.clip(np.rint(y * 0.5) + 9, -8, 7).astype(INT4),
    "compared": lambda y: np.clip(y, -8, 7).astype(INT4) > 0,
    "selected": lambda y: np.where(y > 0, np.clip(y, -8, 7).astype(INT4), np.clip(y, -8, 7).astype(INT4)),
    "multiplied": lambda y: np.matmul(np.clip(y, -8, 7).astype(INT4), np.clip(y, -8, 7).astype(INT4)),
    "widened again": lambda y: np.clip(y, -8, 7).astype(INT4).astype(np.int32),
    "unsigned": lambda y: np.clip(y, 0, 15).astype(ml_dtypes.uint4),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_int4_result(name: str, golden: Callable[..., None]) -> None:
    with pytest.raises(ptoc.PtocError) as caught:
        ptoc.jit(lambda a, b, c: REFUSED[name](product(a, b, c)))(*integers((3, 3, 2)))
    error = caught.value
    assert error.where is not None and error.where.file == __file__
    golden(f"{error.message}\nrule: {error.rule}\nhelp: {error.hint}\n")


def test_masked_columns_and_float_sums_are_refused() -> None:
    def masked(a: Any, b: Any, c: Any) -> Any:
        y = np.clip(product(a, b, c), -8, 7).astype(INT4)
        y[c > 0] = 1
        return y

    with pytest.raises(ptoc.UnsupportedError, match="computing with int4"):
        ptoc.jit(masked)(*integers((3, 3, 2)))
    with pytest.raises(ptoc.UnsupportedError, match="the product of a matrix and a vector"):
        a, b, c = integers((3, 1, 2))
        ptoc.jit(lambda a, b, c: np.clip(product(a, b, c), -8, 7).astype(INT4))(a, b[:, 0], c[:, 0])
    with pytest.raises(ptoc.UnsupportedError, match="astype from float32 sums to int4"):
        ptoc.jit(with_sums(lambda y: np.clip(np.rint(y), -8, 7).astype(INT4)))(*floats((3, 3, 2)))
    with pytest.raises(ptoc.ArgumentError, match="int4"):
        ptoc.jit(lambda a: a.copy())(np.zeros((2, 2), INT4))
