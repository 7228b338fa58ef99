"""What follows a matmul, end to end, against arithmetic in float64, which holds every product with a scale exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import BF16, Array, assert_same
from test_matmul import in_order, problem, values

import ptoc

F16, F32, S8, S16, S32 = (np.dtype(t) for t in ("float16", "float32", "int8", "int16", "int32"))
E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)

SHAPES = [(1, 1, 1), (40, 50, 33), (129, 65, 300), (300, 270, 520)]
"""Rows, columns, depth: one group and several, whole and ragged, with Local operands at the edges and without."""

Kernel = Callable[..., Any]


def floats(shape: tuple[int, int, int], flavour: int = 0) -> tuple[Array, Array, Array]:
    return problem(np.random.default_rng([31, flavour]), shape, F16, F32, flavour)


def integers(shape: tuple[int, int, int]) -> tuple[Array, Array, Array]:
    a, b, c = problem(np.random.default_rng(32), shape, S8, S32, 0)
    return a, b, (c >> 12).astype(S32)


def sums(a: Array, b: Array, c: Array) -> Array:
    """The machine's sums in float64."""
    return in_order(a, b, c, c.dtype).astype(np.float64)


def product(a: Any, b: Any, c: Any) -> Any:
    return c + np.matmul(a, b, dtype=c.dtype)


def check(kernel: Kernel, arrays: tuple[Array, Array, Array], wanted: Callable[[Array], Array]) -> None:
    """The result bit for bit, and the report against both oracles."""
    with np.errstate(all="ignore"):
        assert_same(ptoc.jit(kernel)(*arrays), wanted(sums(*arrays)))
    report = ptoc.validate(kernel, *arrays)
    assert report.ok, str(report)


# -- leaky ReLU ------------------------------------------------------------------------------------


def _where(a: Any, b: Any, c: Any) -> Any:
    y = product(a, b, c)
    return np.where(y > 0, y, 0.25 * y)


def _where_less(a: Any, b: Any, c: Any) -> Any:
    y = product(a, b, c)
    return np.where(y < 0, np.float32(0.25) * y, y)


def _where_at_least(a: Any, b: Any, c: Any) -> Any:
    y = product(a, b, c)
    return np.where(y >= 0, y, y / 4)


def _maximum(a: Any, b: Any, c: Any) -> Any:
    y = product(a, b, c)
    return np.maximum(0.25 * y, y)


def _of_twice(a: Any, b: Any, c: Any) -> Any:
    y = 0.5 * product(a, b, c)
    return np.maximum(y, 0.5 * y) * 2


@pytest.mark.parametrize("kernel", [_where, _where_less, _where_at_least, _maximum])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("flavour", [0, 1])
def test_leaky_relu(kernel: Kernel, shape: tuple[int, int, int], flavour: int) -> None:
    """-0 and subnormals too; both forms agree on NaN."""
    check(kernel, floats(shape, flavour), lambda x: np.where(x > 0, x, 0.25 * x).astype(F32))


def test_a_slope_above_one_and_two_multiples() -> None:
    arrays = floats((40, 50, 33))

    def steep(a: Any, b: Any, c: Any) -> Any:
        y = product(a, b, c)
        return np.where(y > 0, 0.5 * y, 3 * y)

    def smallest(a: Any, b: Any, c: Any) -> Any:
        y = product(a, b, c)
        return np.minimum(2 * y, y)

    check(steep, arrays, lambda x: np.where(x > 0, 0.5 * x, 3 * x).astype(F32))
    check(smallest, arrays, lambda x: np.where(x > 0, x, 2 * x).astype(F32))
    check(_of_twice, arrays, lambda x: np.where(x > 0, x, 0.5 * x).astype(F32))


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_a_leaky_sum_is_converted_in_the_same_rounding(dtype: np.dtype[Any]) -> None:
    def kernel(a: Any, b: Any, c: Any) -> Any:
        y = product(a, b, c)
        return np.maximum(y, 0.375 * y).astype(dtype)

    def once(x: Array) -> Array:
        exact = np.where(x > 0, x, 0.375 * x)
        return exact.astype(dtype) if dtype == F16 else to_bfloat16(exact)

    check(kernel, floats((129, 65, 300)), once)


def to_bfloat16(x: Array) -> Array:
    """float64 to the nearest bfloat16 in one rounding, by trying the neighbours of what two roundings give."""
    near = x.astype(F32).astype(BF16)
    steps = near.view(np.int16)[..., None] + np.array([-1, 0, 1], np.int16)
    candidates = steps.view(BF16).astype(np.float64)
    distance = np.abs(candidates - x[..., None])
    ties_to_even = np.where(steps & 1, np.nextafter(distance, np.inf), distance)
    best = np.where(np.isnan(distance), np.inf, ties_to_even)
    chosen = np.take_along_axis(steps, best.argmin(axis=-1)[..., None], axis=-1)[..., 0].view(BF16)
    return np.where(np.isfinite(near.astype(F32)), chosen, near)


# -- conversions -----------------------------------------------------------------------------------

LARGEST = {t: float(ml_dtypes.finfo(t).max) for t in (F16, BF16, E4M3)}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", LARGEST, ids=str)
def test_saturating_conversions(shape: tuple[int, int, int], dtype: np.dtype[Any]) -> None:
    largest = LARGEST[dtype]

    def kernel(a: Any, b: Any, c: Any) -> Any:
        return np.clip(product(a, b, c), -largest, largest).astype(dtype)

    a, b, c = floats(shape)
    c[::2] *= 3e4 if dtype == F16 else 200
    c[0, 0] = np.inf
    check(kernel, (a, b, c), lambda x: positive_zeros(np.clip(x, -largest, largest).astype(F32).astype(dtype)))


def positive_zeros(x: Array) -> Array:
    """float8 zeros as the machine makes them of small numbers: without a sign."""
    return np.where(x == 0, x.dtype.type(0), x) if x.dtype == E4M3 else x


def test_conversion_to_float8_without_clip() -> None:
    """Numbers up to 448 are numpy's; above, the machine has a NaN at once, ml_dtypes from 464 on."""

    def kernel(a: Any, b: Any, c: Any) -> Any:
        return product(a, b, c).astype(E4M3)

    a, b, c = floats((129, 65, 300))
    c *= 100
    c[:2, :2] = np.array([[np.nan, -np.inf], [450, 470]])
    a[:2] = 0
    beyond = lambda x: np.where(np.abs(x) > 448, np.nan, x)  # noqa: E731
    check(kernel, (a, b, c), lambda x: positive_zeros(beyond(x).astype(F32).astype(E4M3)))


def test_conversions_of_integer_sums() -> None:
    arrays = integers((129, 65, 300))
    check(lambda a, b, c: product(a, b, c).astype(np.float16), arrays, lambda x: x.astype(F16))
    check(lambda a, b, c: (product(a, b, c) * 0.375).astype(np.float16), arrays, lambda x: (x * 0.375).astype(F16))
    check(lambda a, b, c: product(a, b, c).astype(BF16), arrays, to_bfloat16)


# -- scaling and requantisation --------------------------------------------------------------------

ROUNDINGS = {"rint": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [S8, S16], ids=str)
def test_requantised_integer_sums_are_numpys(shape: tuple[int, int, int], dtype: np.dtype[Any]) -> None:
    """int32 sums times a scale are exact in float64, so plain numpy has the same bits."""
    limits = np.iinfo(dtype)
    arrays = integers(shape)
    for name, rounding in ROUNDINGS.items():

        def epilogue(y: Any, name: str = name) -> Any:
            return np.clip(getattr(np, name)(y * 0.0107421875) - 5, limits.min, limits.max).astype(dtype)

        def wanted(x: Array, rounding: Kernel = rounding) -> Array:
            return np.clip(rounding(x * 0.0107421875) - 5, limits.min, limits.max).astype(dtype)

        check(with_sums(epilogue), arrays, wanted)


def with_sums(epilogue: Kernel) -> Kernel:
    return lambda a, b, c: epilogue(product(a, b, c))


VARIANTS: dict[str, tuple[Kernel, Callable[[Array], Array]]] = {
    "no scale": (lambda y: np.clip(y, -128, 127).astype(np.int8), lambda x: np.clip(x, -128, 127)),
    "truncated by astype": (lambda y: np.clip(y * 0.375, -128, 127).astype(np.int8), lambda x: x * 0.375),
    "round": (lambda y: np.clip(np.round(y / 8), -128, 127).astype(np.int8), lambda x: np.rint(x / 8)),
    "methods": (lambda y: (y * 0.125).round().clip(-128, 127).astype(np.int8), lambda x: np.rint(x / 8)),
    "clipped first": (lambda y: np.rint(np.clip(y * 1.5, -128, 127)).astype(np.int8), lambda x: np.rint(x * 1.5)),
    "minimum and maximum": (
        lambda y: np.maximum(np.minimum(np.rint(y * 0.75) + 100, 127), -128).astype(np.int8),
        lambda x: np.rint(x * 0.75) + 100,
    ),
    "ReLU": (
        lambda y: np.minimum(np.rint(np.maximum(y, 0) * 0.75), 127).astype(np.int8),
        lambda x: np.rint(np.maximum(x, 0) * 0.75),
    ),
    "ReLU at the end": (lambda y: np.maximum(np.clip(y, -128, 127).astype(np.int8), 0), lambda x: np.maximum(x, 0)),
    "leaky": (
        lambda y: np.clip(np.rint(np.where(y > 0, y * 0.5, y * 0.125)), -128, 127).astype(np.int8),
        lambda x: np.rint(np.where(x > 0, x * 0.5, x * 0.125)),
    ),
    "widened first": (
        lambda y: np.clip(np.rint(y.astype(np.float64) * 0.375) + 128, -128, 127).astype(np.int8),
        lambda x: np.rint(x * 0.375) + 128,
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_ways_to_say_it(name: str) -> None:
    epilogue, exact = VARIANTS[name]
    check(
        lambda a, b, c: epilogue(product(a, b, c)),
        integers((40, 50, 33)),
        lambda x: np.clip(np.trunc(exact(x)), -128, 127).astype(S8),
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_requantised_float_sums(shape: tuple[int, int, int]) -> None:
    def kernel(a: Any, b: Any, c: Any) -> Any:
        return np.clip(np.rint(product(a, b, c) * 3.25) + 7, -128, 127).astype(np.int8)

    check(kernel, floats(shape), lambda x: np.clip(np.rint(x * 3.25) + 7, -128, 127).astype(S8))


def test_a_nan_becomes_zero_and_infinity_a_limit() -> None:
    a, b, c = floats((5, 3, 2))
    c[0] = np.nan, np.inf, -np.inf
    got = ptoc.jit(lambda a, b, c: np.clip(np.rint(product(a, b, c)) + 3, -128, 127).astype(np.int8))(a, b, c)
    assert got[0].tolist() == [0, 127, -128]
    got = ptoc.jit(lambda a, b, c: np.clip(product(a, b, c), -448, 448).astype(E4M3))(a, b, c)
    assert got[0].astype(float).tolist() == [0, 448, -448]


@pytest.mark.parametrize("places", [1, 7, 16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shifted_sums(places: int, shape: tuple[int, int, int]) -> None:
    def kernel(a: Any, b: Any, c: Any) -> Any:
        return np.clip(product(a, b, c) >> places, -32768, 32767).astype(np.int16)

    check(kernel, integers(shape), lambda x: np.clip(np.floor(x / 2**places), -32768, 32767).astype(S16))


@pytest.mark.parametrize("dtype", [F16, BF16, F32], ids=str)
def test_scaled_floats(dtype: np.dtype[Any]) -> None:
    once = {F16: lambda x: x.astype(F16), BF16: to_bfloat16, F32: lambda x: x.astype(F32)}[dtype]
    arrays = floats((129, 65, 300))
    check(lambda a, b, c: (product(a, b, c) * 1.125).astype(dtype), arrays, lambda x: once(x * 1.125))
    check(
        lambda a, b, c: (product(a, b, c).astype(np.float64) * 1.125).astype(dtype), arrays, lambda x: once(x * 1.125)
    )


def test_an_epilogue_beside_its_sums() -> None:
    """The sums are used elsewhere too, one epilogue starts another product, and one stands under a mask."""
    a, b, c = floats((40, 40, 40))
    b = b.astype(F16)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        y = product(a, b, c)
        h = np.maximum(y, 0.125 * y).astype(np.float16)
        return y, c + np.matmul(h, b, dtype=np.float32), np.where(c > 0, 2 * y, c)

    y = in_order(a, b, c, F32)
    with np.errstate(all="ignore"):
        h = np.where(y > 0, y, 0.125 * y.astype(np.float64)).astype(F16)
    got = ptoc.jit(kernel)(a, b, c)
    for result, wanted in zip(got, (y, in_order(h, b, c, F32), np.where(c > 0, 2 * y, c)), strict=True):
        assert_same(result, wanted)


@settings(max_examples=40)
@given(
    shape=st.tuples(st.integers(1, 140), st.integers(1, 140), st.integers(1, 70)),
    integer=st.booleans(),
    scale=st.integers(100 << 10, 140 << 10),
    slope=st.none() | st.integers(100 << 10, 140 << 10),
    offset=st.integers(-128, 128),
    rounding=st.sampled_from(list(ROUNDINGS)),
    wide=st.booleans(),
)
def test_any_scale_slope_and_offset(
    shape: tuple[int, int, int],
    integer: bool,
    scale: int,
    slope: int | None,
    offset: int,
    rounding: str,
    wide: bool,
) -> None:
    dtype = S16 if wide and integer else S8
    s, t = (float(np.uint32(code << 13).view(np.float32)) for code in (scale, slope or scale))
    limits = np.iinfo(dtype)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        y = product(a, b, c)
        scaled = y * s if slope is None else np.where(y > 0, y * s, y * t)
        return np.clip(getattr(np, rounding)(scaled) + offset, limits.min, limits.max).astype(dtype)

    def wanted(x: Array) -> Array:
        whole = ROUNDINGS[rounding](np.where(x > 0, x * s, x * t))
        return np.clip(whole + offset, limits.min, limits.max).astype(dtype)

    check(kernel, integers(shape) if integer else floats(shape), wanted)


# -- one parameter per column ----------------------------------------------------------------------


def row(n: int, seed: int, low: int, high: int) -> Array:
    """Numbers of FP19 from 2**low to 2**high."""
    rng = np.random.default_rng([35, seed])
    return (rng.integers(1024, 2048, n) * 2.0 ** rng.integers(low, high, n) / 1024).astype(F32)


SHARED_TOO = [*SHAPES, (128, 128, 64), (512, 512, 300)]


@pytest.mark.parametrize("shape", SHARED_TOO, ids=str)
@pytest.mark.parametrize("dtype", [S8, S16], ids=str)
def test_scales_and_offsets_by_column(shape: tuple[int, int, int], dtype: np.dtype[Any]) -> None:
    scales, limits = row(shape[1], 1, -9, -4), np.iinfo(dtype)
    zeros = np.random.default_rng(36).integers(-128, 128, shape[1])

    def kernel(a: Any, b: Any, c: Any) -> Any:
        return np.clip(np.floor(product(a, b, c) * scales) + zeros, limits.min, limits.max).astype(dtype)

    def wanted(x: Array) -> Array:
        return np.clip(np.floor(x * scales) + zeros, limits.min, limits.max).astype(dtype)

    check(kernel, integers(shape), wanted)


@pytest.mark.parametrize("shape", SHARED_TOO, ids=str)
@pytest.mark.parametrize("flavour", [0, 1])
def test_slopes_by_column(shape: tuple[int, int, int], flavour: int) -> None:
    slopes = row(shape[1], 2, -4, 0)

    def selected(a: Any, b: Any, c: Any) -> Any:
        y = product(a, b, c)
        return np.where(y > 0, y, slopes * y)

    def largest(a: Any, b: Any, c: Any) -> Any:
        y = product(a, b, c)
        return np.maximum(y, slopes[None, :] * y).astype(np.float16)

    arrays = floats(shape, flavour)
    check(selected, arrays, lambda x: np.where(x > 0, x, slopes * x).astype(F32))
    check(largest, arrays, lambda x: np.where(x > 0, x, slopes.astype(np.float64) * x).astype(F16))


BY_COLUMN: dict[str, tuple[Kernel, Callable[[Array, Array, Array], Array]]] = {
    "an offset alone": (
        lambda y, s, z: np.clip(np.rint(y * 0.0625) + z, -128, 127).astype(np.int8),
        lambda x, s, z: np.clip(np.rint(x * 0.0625) + z, -128, 127).astype(S8),
    ),
    "minus an offset": (
        lambda y, s, z: np.clip(np.rint(y * s) - z, -128, 127).astype(np.int8),
        lambda x, s, z: np.clip(np.rint(x * s) - z, -128, 127).astype(S8),
    ),
    "a shift": (
        lambda y, s, z: np.clip(y >> (z % 16 + 1), -32768, 32767).astype(np.int16),
        lambda x, s, z: np.clip(np.floor(x / 2.0 ** (z % 16 + 1)), -32768, 32767).astype(S16),
    ),
    "scales and slopes": (
        lambda y, s, z: np.where(y > 0, y * s, 2 * s * y).astype(np.float16),
        lambda x, s, z: np.where(x > 0, x * s, 2 * s * x).astype(F16),
    ),
    "scales and a slope": (
        lambda y, s, z: np.where(y > 0, y * s, 0.25 * y).astype(BF16),
        lambda x, s, z: to_bfloat16(np.where(x > 0, x * s, 0.25 * x)),
    ),
    "ReLU and scales": (
        lambda y, s, z: (np.maximum(y, 0) * s).astype(np.float16),
        lambda x, s, z: (np.maximum(x, 0) * s).astype(F16),
    ),
}


@pytest.mark.parametrize("name", BY_COLUMN)
def test_what_may_differ_by_column(name: str) -> None:
    epilogue, exact = BY_COLUMN[name]
    scales = row(65, 3, -9, -4)
    zeros = np.random.default_rng(37).integers(-128, 128, 65).astype(S32)
    check(
        with_sums(lambda y: epilogue(y, scales, zeros)),
        integers((129, 65, 300)),
        lambda x: exact(x, scales.astype(np.float64), zeros),
    )


@pytest.mark.parametrize("dtype", [F32, F16, BF16, E4M3], ids=str)
def test_float_sums_scaled_by_column(dtype: np.dtype[Any]) -> None:
    scales = row(65, 4, -3, 3)
    once = {BF16: to_bfloat16, E4M3: lambda x: positive_zeros(np.clip(x, -448, 448).astype(F32).astype(E4M3))}
    largest = {E4M3: 448.0}.get(dtype)
    check(
        with_sums(lambda y: (y * scales if largest is None else np.clip(y * scales, -largest, largest)).astype(dtype)),
        floats((129, 65, 300)),
        lambda x: once.get(dtype, lambda v: v.astype(dtype))(x * scales),
    )


REFUSED_ROWS: dict[str, Callable[[Any, Any], Any]] = {
    "an argument": lambda y, c: y * c,
    "a column": lambda y, c: y * np.ones((5, 1), np.float32),
    "a matrix": lambda y, c: y * np.ones((5, 3), np.float32),
    "too short": lambda y, c: y * np.ones(2, np.float32),
    "one number": lambda y, c: y * np.array([0.5, 0.3, 0.25], np.float32),
    "clip": lambda y, c: np.clip(y, -np.ones(3, np.float32), 1),
}


@pytest.mark.parametrize("name", REFUSED_ROWS)
def test_other_rows_are_refused(name: str, golden: Callable[..., None]) -> None:
    def kernel(a: Any, b: Any, c: Any) -> Any:
        return REFUSED_ROWS[name](product(a, b, c), c)

    with pytest.raises((ptoc.UnsupportedError, ptoc.ShapeError)) as caught:
        ptoc.jit(kernel)(*floats((5, 3, 2)))
    assert caught.value.where is not None and caught.value.where.file == __file__
    golden(f"{caught.value.message}\nrule: {caught.value.rule}\nhelp: {caught.value.hint}\n")


def test_a_sum_does_not_start_from_a_constant_row() -> None:
    a, b, _ = floats((5, 3, 2))
    with pytest.raises(ptoc.UnsupportedError, match="an array that is not an argument"):
        ptoc.jit(lambda a, b: np.matmul(a, b, dtype=np.float32) + np.ones(3, np.float32))(a, b)


# -- the start of the sums -------------------------------------------------------------------------


def _column_first(a: Any, b: Any, c: Any, e: Any) -> Any:
    return np.ldexp(c, -e.astype(np.int32)[:, None]) + np.matmul(a, b, dtype=np.float32)


def _column_last(a: Any, b: Any, c: Any, e: Any) -> Any:
    return np.matmul(a, b, dtype=np.float32) + np.ldexp(c, -e[:, None].astype(np.int64))


def _column_given(a: Any, b: Any, c: Any, e: Any) -> Any:
    y = np.ldexp(c, -e.astype(np.int16)) + np.matmul(a, b, dtype=np.float32)
    return np.maximum(y, 0.25 * y).astype(np.float16)


@pytest.mark.parametrize("shape", [*SHAPES, (128, 128, 64), (16, 8, 700), (384, 256, 1100)], ids=str)
@pytest.mark.parametrize("flavour", [0, 1])
def test_rows_divided_by_powers_of_two(shape: tuple[int, int, int], flavour: int) -> None:
    """Down to subnormals and zero; specials stay; e is dense, or a column of a wider array."""
    a, b, c = floats(shape, flavour)
    e = np.random.default_rng(34).integers(0, 256, len(a)).astype(np.uint8)
    e[::2] %= 6
    with np.errstate(all="ignore"):
        start = np.ldexp(c.astype(np.float64), -e.astype(np.int32)[:, None]).astype(F32)
        exact = in_order(a, b, start, F32).astype(np.float64)
        leaky = np.where(exact > 0, exact, 0.25 * exact).astype(F16)
    wide = np.stack([e, e + 1], axis=1)
    cases = [(_column_first, e, exact.astype(F32)), (_column_last, e, exact.astype(F32))]
    for kernel, exponents, wanted in [*cases, (_column_given, e[:, None], leaky), (_column_given, wide[:, :1], leaky)]:
        assert_same(ptoc.jit(kernel)(a, b, c, exponents), wanted)
        report = ptoc.validate(kernel, a, b, c, exponents)
        assert report.ok, str(report)


def test_a_repeated_row_divided_by_powers_of_two_and_two_products_from_it() -> None:
    a, b, c = floats((70, 33, 40))
    e = np.arange(70).astype(np.uint8)

    def kernel(a: Any, b: Any, c: Any, e: Any) -> Any:
        y = np.ldexp(c, -e.astype(np.int32)[:, None]) + np.matmul(a, b, dtype=np.float32)
        return y, np.maximum(y, 0), y + np.matmul(a, b, dtype=np.float32)

    y = in_order(a, b, np.ldexp(c[0], -e.astype(np.int32)[:, None]), F32)
    for got, wanted in zip(ptoc.jit(kernel)(a, b, c[0], e), (y, np.maximum(y, 0), in_order(a, b, y, F32)), strict=True):
        assert_same(got, wanted)


REFUSED_EXPONENTS: dict[str, Kernel] = {
    "minus in uint8": lambda a, b, c, e: np.ldexp(c, -e[:, None]) + a @ b,
    "multiplied": lambda a, b, c, e: np.ldexp(c, e.astype(np.int32)[:, None]) + a @ b,
    "a row of exponents": lambda a, b, c, e: np.ldexp(c, -e.astype(np.int32)) + a @ b,
    "a number": lambda a, b, c, e: np.ldexp(c, -3) + a @ b,
    "no product": lambda a, b, c, e: np.ldexp(c, -e.astype(np.int32)[:, None]),
    "of a product": lambda a, b, c, e: np.ldexp(c + a @ b, -e.astype(np.int32)[:, None]),
    "wide exponents": lambda a, b, c, e: np.ldexp(c, -e.astype(np.uint16).astype(np.int32)[:, None]) + a @ b,
}


@pytest.mark.parametrize("name", REFUSED_EXPONENTS)
def test_other_uses_of_ldexp_are_refused(name: str, golden: Callable[..., None]) -> None:
    a, b, c = (x.astype(F32) for x in floats((3, 3, 3)))
    e = np.arange(3).astype(np.uint16 if name == "wide exponents" else np.uint8)
    with pytest.raises(ptoc.UnsupportedError) as caught:
        ptoc.jit(REFUSED_EXPONENTS[name])(a, b, c, e)
    assert caught.value.where is not None and caught.value.where.file == __file__
    golden(f"{caught.value.message}\nrule: {caught.value.rule}\nhelp: {caught.value.hint}\n")


# -- what is refused -------------------------------------------------------------------------------

REFUSED: dict[str, Kernel] = {
    "slope": lambda y: np.maximum(y, 0.01 * y),
    "negative scale": lambda y: y * -2,
    "scale of zero": lambda y: y * 0.0,
    "division": lambda y: y / 3,
    "scaled integers": lambda y: y.astype(np.int32),
    "offset before rounding": lambda y: np.clip(np.rint(y * 0.5 + 3), -128, 127).astype(np.int8),
    "fraction as offset": lambda y: np.clip(np.rint(y) + 0.5, -128, 127).astype(np.int8),
    "offset behind clip": lambda y: (np.clip(np.rint(y), -128, 127) + 3).astype(np.int8),
    "offset out of reach": lambda y: np.clip(np.rint(y) + 129, -128, 127).astype(np.int8),
    "no clip": lambda y: np.rint(y).astype(np.int8),
    "other limits": lambda y: np.clip(np.rint(y), -127, 127).astype(np.int8),
    "one limit": lambda y: np.minimum(y, 448).astype(E4M3),
    "limits without conversion": lambda y: np.clip(y, -1, 1),
    "rounded floats": lambda y: np.rint(y),
    "unsigned": lambda y: np.clip(np.rint(y), 0, 255).astype(np.uint8),
    "float8_e5m2": lambda y: y.astype(ml_dtypes.float8_e5m2),
    "four bits of floats": lambda y: np.clip(np.rint(y), -8, 7).astype(ml_dtypes.int4),
    "float64": lambda y: y.astype(np.float64) * 2,
    "two conversions": lambda y: y.astype(np.float16).astype(np.float32),
    "scaled after conversion": lambda y: y.astype(np.float16) * np.float16(2),
    "clip behind conversion": lambda y: np.clip(y.astype(np.float16), -1, 1),
    "ReLU behind an offset": lambda y: np.maximum(np.rint(y) + 3, 0),
    "rounded twice": lambda y: np.floor(np.rint(y)),
    "clip upside down": lambda y: np.clip(y, 1, -1),
    "shift of floats": lambda y: np.clip(y.astype(np.int32) >> 3, -32768, 32767).astype(np.int16),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_machine_does_otherwise_is_refused(name: str, golden: Callable[..., None]) -> None:
    kernel = ptoc.jit(lambda a, b, c: REFUSED[name](product(a, b, c)))
    with pytest.raises(ptoc.UnsupportedError) as caught:
        kernel(*floats((5, 3, 2)))
    error = caught.value
    assert error.where is not None and error.where.file == __file__
    golden(f"{error.message}\nrule: {error.rule}\nhelp: {error.hint}\n")


def test_shifts_that_no_mode_makes_are_refused() -> None:
    arrays = integers((5, 3, 2))
    for epilogue in (lambda y: y >> 3, lambda y: np.clip(y >> 17, -32768, 32767).astype(np.int16)):
        with pytest.raises(ptoc.UnsupportedError):
            ptoc.jit(with_sums(epilogue))(*arrays)


def test_other_arrays_have_no_such_operations() -> None:
    x = values(np.random.default_rng(33), (3, 4), F32, 0)
    functions = lambda x: x * 2, lambda x: np.rint(x), lambda x: np.clip(x, 0, 1), lambda x: x / 2, lambda x: x - 1
    for function in functions:
        with pytest.raises(ptoc.UnsupportedError, match="result of a matmul"):
            ptoc.jit(function)(x)
