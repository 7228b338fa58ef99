"""Maxima of the rows of a matmul and of groups of its columns, end to end, against the rule of two numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import Array, assert_same, mixed
from test_matmul import F16, F32, FAMILIES, S8, S32, U8, in_order, problem

import ptoc
from ptoc.errors import ShapeError, UnsupportedError
from ptoc.execution import execute
from ptoc.launch import run

Kernel = Callable[..., Any]

SHAPES = [(1, 8, 1), (40, 48, 33), (129, 72, 300), (300, 272, 520), (65, 1040, 40)]
"""Rows, columns, depth: one group and several, one block of columns and several, with Local operands and without."""


# -- the reference ---------------------------------------------------------------------------------


@np.errstate(all="ignore")
def greater(x: Array, y: Array) -> Array:
    """The greater of two numbers: a NaN is none, and +0 is above -0."""
    best = np.where((x > y) | ((x == y) & ~np.signbit(x)), x, y)
    if x.dtype.kind != "f":
        return np.where(x > y, x, y)
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, best))


def largest(x: Array, group: int | None = None) -> Array:
    """The maximum of every row, or of every group of columns."""
    if group is None:
        return reduce(greater, np.moveaxis(x, -1, 0))
    return largest(x.reshape(*x.shape[:-1], -1, group))


@np.errstate(all="ignore")
def magnitudes(x: Array) -> Array:
    """|-2**31| is 2**31 - 1."""
    return np.abs(np.maximum(x, -np.iinfo(S32).max)) if x.dtype == S32 else np.abs(x)


def data(shape: tuple[int, int, int], family: str = "FP16", flavour: int = 0, seed: int = 0) -> tuple[Array, ...]:
    return problem(np.random.default_rng([seed, 71]), shape, *FAMILIES[family], flavour)


def product(a: Any, b: Any, c: Any) -> Any:
    return c + np.matmul(a, b, dtype=c.dtype)


def check(kernel: Kernel, arrays: Sequence[Array], *wanted: Array, cores: int = 1) -> None:
    """Results bit for bit on some cores, all oracles, and the traffic that was foreseen."""
    program = ptoc.jit(kernel).program_for(*arrays)
    machine, launched = run(program, [a.copy() for a in arrays], cores, watch=True)
    assert not [finding for finding in machine.findings if finding.harmful]
    got = [launched[place] for place in program.results.places]
    for number, (left, right) in enumerate(zip(got, wanted, strict=True)):
        assert_same(left, right, f"result {number}")
    assert "scratch" not in program.kinds
    report = ptoc.validate(kernel, *arrays)
    assert report.ok, str(report)
    counted = [processor.core.measured() for processor in machine.processors]
    assert sum(core.gm_bytes_written for core in counted) == program.stats["gm_bytes_written"]
    if cores == 1:
        assert counted[0].gm_bytes_read == program.stats["gm_bytes_read"]
        assert counted[0].bundles == program.stats["bundles"]


# -- rows ------------------------------------------------------------------------------------------


def rows(a: Any, b: Any, c: Any) -> Any:
    d = product(a, b, c)
    return d, d.max(axis=1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("flavour", range(4))
def test_rows_of_every_type(family: str, flavour: int) -> None:
    for shape in ((40, 50, 33), (129, 133, 70)):
        a, b, c = data(shape, family, flavour)
        d = in_order(a, b, c, c.dtype)
        check(rows, (a, b, c), d, largest(d))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("cores", [1, 4])
def test_rows_of_every_shape(shape: tuple[int, int, int], cores: int) -> None:
    a, b, c = data(shape)
    d = in_order(a, b, c, F32)
    check(rows, (a, b, c), d, largest(d), cores=cores)


FORMS: dict[str, Kernel] = {
    "method": lambda d: d.max(axis=1),
    "method, last axis": lambda d: d.max(-1),
    "np.max": lambda d: np.max(d, axis=1),
    "np.amax": lambda d: np.amax(d, 1),
    "np.nanmax": lambda d: np.nanmax(d, axis=1),
    "np.maximum.reduce": lambda d: np.maximum.reduce(d, axis=1),
    "np.fmax.reduce": lambda d: np.fmax.reduce(d, axis=-1),
    "axes": lambda d: d.max(axis=(1,)),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    a, b, c = data((40, 48, 33))
    d = in_order(a, b, c, F32)
    check(lambda a, b, c: FORMS[form](product(a, b, c)), (a, b, c), largest(d))


def test_a_column_of_maxima() -> None:
    a, b, c = data((129, 300, 70))
    wanted = largest(in_order(a, b, c, F32))[:, None]
    check(lambda a, b, c: product(a, b, c).max(axis=1, keepdims=True), (a, b, c), wanted)


def test_maxima_alone_store_no_sums() -> None:
    a, b, c = data((300, 256, 96))
    program = ptoc.jit(lambda a, b, c: product(a, b, c).max(axis=1)).program_for(a, b, c)
    assert program.stats["gm_bytes_written"] == 4 * 300
    check(lambda a, b, c: product(a, b, c).max(axis=1), (a, b, c), largest(in_order(a, b, c, F32)))


def test_sums_are_read_once_and_multiplied_once() -> None:
    """What the maxima add to what is written is their own bytes."""
    a, b, c = data((512, 512, 512))
    with_maxima = ptoc.jit(rows).program_for(a, b, c)
    assert with_maxima.ir("nd").count("nd.matmul_acc") == 1
    assert with_maxima.stats["macs_issued"] == ptoc.jit(product).program_for(a, b, c).stats["macs_issued"]
    assert with_maxima.stats["gm_bytes_written"] == c.nbytes + 4 * 512


def test_a_vector_times_a_matrix_has_one_maximum() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal(70).astype(F16), rng.standard_normal((70, 300)).astype(F16)

    def kernel(x: Any, w: Any) -> Any:
        y = np.matmul(x, w, dtype=np.float32)
        return y, y.max(), y.max(axis=0, keepdims=True), y.max(-1)

    y = in_order(x[None], w, None, F32)[0]
    got = ptoc.jit(kernel)(x, w)
    assert_same(got[0], y)
    assert got[1] == got[2][0] == got[3] == y.max()
    assert isinstance(got[1], np.float32)
    report = ptoc.validate(kernel, x, w)
    assert report.ok, str(report)


def test_nan_loses_and_zeros_have_an_order() -> None:
    """numpy's maximum is NaN where a number is; np.fmax.reduce is what the machine computes."""
    row = np.array([np.nan, -0.0, 0.0, -1.0, -np.inf, np.inf, 2.0, np.nan], F32)
    cases = {(0, 7): np.nan, (1, 1): -0.0, (1, 2): 0.0, (2, 1): 0.0, (0, 1): -0.0, (4, 0): -np.inf, (5, 0): np.inf}
    c = np.array([row[list(pair)] for pair in cases])
    a, b = np.full((len(cases), 1), -0.0, F32), np.ones((1, 2), F32)
    check(rows, (a, b, c), c, np.array(list(cases.values()), F32))


# -- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [8, 16, 32, 48, 64, 80, 96, 112, 128])
@pytest.mark.parametrize("groups", [1, 2, 3, 5, 16])
def test_groups(group: int, groups: int) -> None:
    a, b, c = data((70, group * groups, 40), flavour=1)
    d = in_order(a, b, c, F32)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        d = product(a, b, c)
        return d, d.reshape(70, groups, group).max(axis=2)

    check(kernel, (a, b, c), d, largest(d, group))


def test_groups_and_rows_of_one_product() -> None:
    a, b, c = data((300, 544, 70))
    d = in_order(a, b, c, F32)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        d = product(a, b, c)
        return np.max(d.reshape(300, -1, 16), axis=-1), d.max(axis=1), np.maximum(d, 0).astype(np.float16)

    with np.errstate(over="ignore"):
        check(kernel, (a, b, c), largest(d, 16), largest(d), np.maximum(d, 0).astype(F16))
    assert ptoc.jit(kernel).program_for(a, b, c).ir("nd").count("nd.matmul_acc") == 1


def test_groups_of_a_vector() -> None:
    x, w = np.ones(3, S8), np.arange(3 * 64).reshape(3, 64).astype(S8)
    y = in_order(x[None], w, None, S32)[0]
    check(lambda x, w: np.matmul(x, w, dtype=np.int32).reshape(4, 16).max(axis=1), (x, w), largest(y, 16))


# -- magnitudes, and what maxima start from --------------------------------------------------------


@pytest.mark.parametrize("family", ["FP16", "S8", "U8"])
def test_magnitudes(family: str) -> None:
    a, b, c = data((129, 144, 70), family, 1)
    d = in_order(a, b, c, c.dtype)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        d = product(a, b, c)
        return np.abs(d).max(axis=1), abs(d.reshape(129, 18, 8)).max(axis=2)

    check(kernel, (a, b, c), largest(magnitudes(d)), largest(magnitudes(d), 8))


def test_the_magnitude_of_the_smallest_integer() -> None:
    a, b = np.zeros((3, 1), S8), np.zeros((1, 8), S8)
    c = np.zeros((3, 8), S32)
    c[1:, 3] = [-(2**31), -7]
    check(lambda a, b, c: np.abs(product(a, b, c)).max(axis=1), (a, b, c), np.array([0, 2**31 - 1, 7], S32))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_maxima_of_relu(shape: tuple[int, int, int]) -> None:
    """ReLU keeps the order, so its maximum is one that starts from 0."""
    a, b, c = data(shape)
    d = in_order(a, b, c, F32)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        y = np.maximum(product(a, b, c), 0)
        return y, y.max(axis=1)

    check(kernel, (a, b, c), np.maximum(d, 0), np.maximum(largest(d), 0))


@pytest.mark.parametrize("shape", [(70, 40, 33), (300, 272, 64), (129, 1040, 40)], ids=str)
@pytest.mark.parametrize("family", ["FP16", "S8"])
def test_running_maxima(shape: tuple[int, int, int], family: str) -> None:
    a, b, c = data(shape, family, 1)
    before = mixed(np.random.default_rng(9), shape[:1], c.dtype)
    d = in_order(a, b, c, c.dtype)

    def kernel(a: Any, b: Any, c: Any, before: Any) -> Any:
        d = product(a, b, c)
        return d, np.maximum(before, d.max(axis=1))

    def in_place(a: Any, b: Any, c: Any, before: Any) -> Any:
        before[:] = np.maximum(product(a, b, c).max(axis=1), before)

    check(kernel, (a, b, c, before), d, greater(before, largest(d)))
    after = before.copy()
    ptoc.jit(in_place)(a, b, c, after)
    assert_same(after, greater(before, largest(d)))
    report = ptoc.validate(in_place, a, b, c, before)
    assert report.ok, str(report)


def test_a_number_to_start_from() -> None:
    a, b, c = data((70, 300, 33))
    d = in_order(a, b, c, F32)
    check(lambda a, b, c: product(a, b, c).max(axis=1, initial=30.0), (a, b, c), np.maximum(largest(d), F32.type(30)))
    check(lambda a, b, c: np.max(product(a, b, c), axis=1, initial=0), (a, b, c), np.maximum(largest(d), 0))
    check(lambda a, b, c: np.fmax(product(a, b, c).max(axis=1), 30.0), (a, b, c), np.maximum(largest(d), F32.type(30)))


# -- beside everything else that a matmul does -----------------------------------------------------


def test_maxima_beside_requantisation_by_column() -> None:
    scales = np.random.default_rng(4).choice([0.5, 0.25, 0.125], 136)
    a, b, c = data((200, 136, 70), "S8")
    c >>= 16
    d = in_order(a, b, c, S32)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        d = product(a, b, c)
        q = np.clip(np.rint(d * scales), -128, 127).astype(np.int8)
        return q, d.max(axis=1), d.reshape(200, 17, 8).max(axis=2)

    check(kernel, (a, b, c), np.clip(np.rint(d * scales), -128, 127).astype(S8), largest(d), largest(d, 8))


def test_maxima_of_sums_that_start_from_a_scaled_matrix() -> None:
    a, b, c = data((140, 200, 300))
    e = np.random.default_rng(5).integers(0, 5, 140).astype(U8)
    d = in_order(a, b, np.ldexp(c, -e.astype(np.int32)[:, None]), F32)

    def kernel(a: Any, b: Any, c: Any, e: Any) -> Any:
        d = np.ldexp(c, -e.astype(np.int32)[:, None]) + np.matmul(a, b, dtype=np.float32)
        return d, d.max(axis=1)

    check(kernel, (a, b, c, e), d, largest(d))


def test_maxima_of_a_product_of_transposes() -> None:
    a, b, _ = data((200, 264, 130))
    d = in_order(a, b, None, F32)

    def kernel(a: Any, b: Any) -> Any:
        d = np.matmul(a.T, b.T, dtype=np.float32)
        return d, d.max(axis=1), d.reshape(200, 33, 8).max(axis=2)

    check(kernel, (np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)), d, largest(d), largest(d, 8))


def test_maxima_of_two_products() -> None:
    """What one matmul finds is what the other one starts from; and an operand of a third."""
    a, b, c = data((70, 300, 33))
    d, e = in_order(a, b, c, F32), in_order(a, b, None, F32)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        return np.maximum(product(a, b, c).max(axis=1), np.matmul(a, b, dtype=np.float32).max(axis=1))

    def operand(a: Any, b: Any, c: Any) -> Any:
        d = product(a, b, c)
        return np.matmul(d.max(axis=1), d, dtype=np.float32)

    assert_same(ptoc.jit(kernel)(a, b, c), greater(largest(d), largest(e)))
    assert_same(ptoc.jit(operand)(a, b, c), in_order(largest(d)[None], d, None, F32)[0])
    for each in (kernel, operand):
        report = ptoc.validate(each, a, b, c)
        assert report.ok, str(report)


def test_what_a_maximum_starts_from_may_be_computed() -> None:
    a, b, c = data((70, 300, 33))
    m = np.random.default_rng(6).standard_normal(70).astype(F32)

    def kernel(a: Any, b: Any, c: Any, m: Any) -> Any:
        return np.maximum(np.where(m > 0, m, 1), product(a, b, c).max(axis=1))

    wanted = np.maximum(np.where(m > 0, m, F32.type(1)), largest(in_order(a, b, c, F32)))
    assert_same(ptoc.jit(kernel)(a, b, c, m), wanted)


def test_the_code_does_not_grow() -> None:
    """It depends on how many maxima a row block stores, not on how many row blocks and columns there are."""
    sizes = []
    for n in (512, 1024, 4096):
        spec = ptoc.spec((n, n), "float16")
        sizes.append(len(ptoc.jit(rows).compile(spec, spec, ptoc.spec((n, n), "float32")).code()))
    assert max(sizes) <= 1.1 * min(sizes)


def test_maxima_are_arrays_like_others() -> None:
    a, b, c = data((70, 90, 33))
    d = in_order(a, b, c, F32)

    def kernel(a: Any, b: Any, c: Any, out: Any) -> Any:
        d = product(a, b, c)
        m = d.max(axis=1)
        out[:] = m
        return np.where(m > 1, m, 0), d > 1

    out = np.zeros(70, F32)
    got = ptoc.jit(kernel)(a, b, c, out)
    assert_same(out, largest(d))
    assert_same(got[0], np.where(largest(d) > 1, largest(d), F32.type(0)))
    assert_same(got[1], d > 1)


def test_an_argument_that_is_overwritten_in_between() -> None:
    """The sums and their maxima go into arrays that the product itself reads."""
    a, b, c = data((70, 72, 33))
    d = in_order(a, b, c, F32)
    m = np.full(70, 1.5, F32)

    def kernel(a: Any, b: Any, c: Any, m: Any) -> Any:
        d = product(a, b, c)
        c[:] = d
        m[:] = np.maximum(m, d.max(axis=1))
        return c > 0

    c2, m2 = c.copy(), m.copy()
    mask = ptoc.jit(kernel)(a, b, c2, m2)
    assert_same(c2, d)
    assert_same(m2, np.maximum(m, largest(d)))
    assert_same(mask, d > 0)
    for cores in (1, 4):
        report = ptoc.validate(ptoc.jit(target=ptoc.Target(cores=cores))(kernel), a, b, c, m)
        assert report.ok, str(report)


def test_an_array_that_is_read_between_two_stores() -> None:
    """The old contents are wanted, so the maxima cannot be stored with the sums."""
    a, b, c = data((70, 72, 33))
    d = in_order(a, b, c, F32)

    def kernel(a: Any, b: Any, c: Any, m: Any, out: Any) -> Any:
        d = product(a, b, c)
        c[:] = d
        out[:] = m
        m[:] = d.max(axis=1)

    m, out = np.full(70, 1.5, F32), np.zeros(70, F32)
    ptoc.jit(kernel)(a, b, c, m, out)
    assert_same(c, d)
    assert_same(m, largest(d))
    assert_same(out, np.full(70, 1.5, F32))


units = st.one_of(st.integers(1, 6), st.integers(1, 40))


@settings(max_examples=25)
@given(
    st.integers(1, 300),
    st.sampled_from([8, 16, 32, 64, 128, 48]),
    units,
    st.one_of(st.integers(1, 40), st.integers(1, 400)),
    st.sampled_from(["FP16", "BF16", "FP32", "S8", "U8"]),
    st.integers(0, 3),
    st.sampled_from([1, 4]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_any_shape(
    m: int,
    group: int,
    groups: int,
    k: int,
    family: str,
    flavour: int,
    cores: int,
    stored: bool,
    by_row: bool,
    seed: int,
) -> None:
    n = group * groups
    a, b, c = data((m, min(n, 2048) // group * group, k), family, flavour, seed)
    n = b.shape[1]
    d = in_order(a, b, c, c.dtype)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        d = product(a, b, c)
        maxima = (d.reshape(m, n // group, group).max(axis=2),)
        return (d,) * stored + (d.max(axis=1),) * by_row + maxima

    wanted = (d,) * stored + (largest(d),) * by_row + (largest(d, group),)
    check(kernel, (a, b, c), *wanted, cores=cores)


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("shape", [(70, 48, 33), (300, 272, 64)], ids=str)
def test_the_levels_of_ir_mean_the_same(shape: tuple[int, int, int], cores: int) -> None:
    m, n, _ = shape
    a, b, c = data(shape, flavour=1)
    before = mixed(np.random.default_rng(8), (m,), F32)

    def kernel(a: Any, b: Any, c: Any, before: Any) -> Any:
        y = product(a, b, c)
        return y, np.maximum(before, y.max(axis=1)), y.reshape(m, n // 8, 8).max(axis=2)

    d = in_order(a, b, c, F32)
    wanted = d, greater(before, largest(d)), largest(d, 8)
    program = ptoc.jit(kernel).program_for(a, b, c, before)
    for level, count in (("nd", 1), ("tile", cores)):
        module = program.module(level)  # type: ignore[arg-type]
        found = execute(module, program.specs, program.places, [a, b, c, before], cores=count)
        for place, expected in zip(program.results.places, wanted, strict=True):
            assert_same(np.ascontiguousarray(found[place].data), expected, level)


# -- what is refused -------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "of a column": (lambda d: d.max(axis=0), "axis=1"),
    "of all": (lambda d: d.max(), "axis=1"),
    "behind scaling": (lambda d: (d * 2).max(axis=1), "sums themselves"),
    "behind conversion": (lambda d: d.astype(np.float16).max(axis=1), "sums themselves"),
    "of groups of ReLU": (lambda d: np.maximum(d, 0).reshape(16, 3, 16).max(axis=2), "sums themselves"),
    "of other groups": (lambda d: d.reshape(16, 4, 12).max(axis=2), "8, 16, 32"),
    "of whole groups": (lambda d: d.reshape(16, 6, 8).max(axis=1), "axis=2"),
    "of groups, kept": (lambda d: d.reshape(16, 6, 8).max(axis=2, keepdims=True), "without options"),
    "groups alone": (lambda d: d.reshape(16, 6, 8), "three dimensions"),
    "arithmetic with groups": (lambda d: d.reshape(16, 6, 8) + 1, "np.abs in between"),
    "another shape": (lambda d: d.reshape(8, 96), "groups for a maximum"),
    "magnitudes alone": (np.abs, "in front of a maximum"),
    "a maximum plus one": (lambda d: d.max(axis=1) + 1, "accumulation"),
    "a maximum as float16": (lambda d: d.max(axis=1).astype(np.float16), "astype"),
    "two initial values": (lambda d: np.maximum(d.max(axis=1, initial=1), 2), "give one"),
    "magnitudes from below zero": (lambda d: np.abs(d).max(axis=1, initial=-1), "give 0"),
    "np.fmax of sums": (lambda d: np.fmax(d, 0), "np.maximum"),
    "a mask": (lambda d: np.max(d, axis=1, where=d > 0), "where"),
    "an axis too many": (lambda d: d.max(axis=2), "numpy refuses"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_machine_does_not_compare_is_refused(name: str) -> None:
    a, b, c = data((16, 48, 8))
    with pytest.raises(UnsupportedError, match=REFUSED[name][1]):
        ptoc.jit(lambda a, b, c: REFUSED[name][0](product(a, b, c)))(a, b, c)


def test_maxima_of_arrays_and_columns_are_refused() -> None:
    a, b, c = data((16, 48, 8))
    with pytest.raises(UnsupportedError, match="the result of a matmul"):
        ptoc.jit(lambda a, b, c: c.max(axis=1))(a, b, c)
    with pytest.raises(UnsupportedError, match=r"dtype=np\.float32"):
        ptoc.jit(lambda a, b: (a @ b).max(axis=1))(a, b)
    with pytest.raises(UnsupportedError, match="multiply from the left"):
        ptoc.jit(lambda a, x: np.matmul(a, x, dtype=np.float32).max())(a, a[0].copy())
    with pytest.raises(ShapeError, match="no multiple of 32"):
        ptoc.jit(lambda a, b, c: product(a, b, c).reshape(16, 1, 32).max(axis=2))(a, b, c)


def test_maxima_of_stacks_are_refused() -> None:
    a, b, _ = data((16, 48, 8))
    stack = np.stack([a, a])
    with pytest.raises(UnsupportedError, match="stack of products"):
        ptoc.jit(lambda s, b: np.matmul(s, b, dtype=np.float32).max(axis=-1))(stack, b)


def test_maxima_of_sums_read_with_another_sign_are_refused() -> None:
    a, b, _ = data((16, 48, 8), "U8")
    with pytest.raises(UnsupportedError, match="sum in uint32"):
        ptoc.jit(lambda a, b: np.matmul(a, b, dtype=np.int32).max(axis=1))(a, b)
