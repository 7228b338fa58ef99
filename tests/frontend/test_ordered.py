"""The oracle in PTO's order, against arithmetic on single scalars."""

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ptoc.ordered import finish, matmul, maxima

BF16 = np.dtype(ml_dtypes.bfloat16)
E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
Array = npt.NDArray[Any]


def relu(x: Array) -> Array:
    return finish(x, x.dtype, relu=True)


convert = finish


def patterns(dtype: Any, shape: Any) -> st.SearchStrategy[Array]:
    """Arrays of arbitrary bit patterns."""
    bits = hnp.arrays(f"u{np.dtype(dtype).itemsize}", shape)
    return bits.map(lambda array: array.view(dtype))


def assert_same_bits(left: Array, right: Array) -> None:
    assert left.dtype == right.dtype
    bits = f"u{left.itemsize}"
    np.testing.assert_array_equal(left.view(bits), right.view(bits))


@st.composite
def problems(draw: st.DrawFn, dtype: Any, accumulator: Any) -> tuple[Array, Array, Array]:
    m, k, n = (draw(st.integers(0, 5)) for _ in range(3))
    a, b, c = patterns(dtype, (m, k)), patterns(dtype, (k, n)), patterns(accumulator, (m, n))
    return draw(a), draw(b), draw(c)


def one_by_one(a: Array, b: Array, c: Array) -> Array:
    """One scalar step at a time, each rounded by way of float64 where that is exact enough to prove it."""
    out = c.copy()
    for m, n in np.ndindex(out.shape):
        acc = c[m, n]
        for k in range(a.shape[1]):
            # float64 holds a product of two float32 exactly, and a sum of two float32 rounded first to 53
            # and then to 24 bits is the sum rounded once: 53 >= 2 * 24 + 2.
            product = np.float32(np.float64(a[m, k]) * np.float64(b[k, n]))
            acc = np.float32(np.float64(acc) + np.float64(product))
        out[m, n] = acc
    out.view(np.uint32)[np.isnan(out)] = 0x7FC0_0000
    return out


@pytest.mark.parametrize("dtype", [np.dtype("float16"), BF16, np.dtype("float32")], ids=str)
@given(data=st.data())
def test_float_matmul_rounds_twice_per_step(dtype: np.dtype[Any], data: st.DataObject) -> None:
    a, b, c = data.draw(problems(dtype, np.float32))
    with np.errstate(all="ignore"):
        assert_same_bits(matmul(a, b, c, accumulator=np.float32), one_by_one(a, b, c))


@pytest.mark.parametrize(("dtype", "accumulator"), [("int8", "int32"), ("int16", "int32"), ("int64", "int32"),
                                                    ("uint8", "uint32"), ("uint16", "uint32")])  # fmt: skip
@given(data=st.data())
def test_integer_matmul_wraps(dtype: str, accumulator: str, data: st.DataObject) -> None:
    a, b, c = data.draw(problems(dtype, accumulator))
    exact = c.astype(object) + a.astype(object) @ b.astype(object)
    expected = np.array(exact % 2**32, dtype=np.uint32).reshape(c.shape).view(accumulator)
    assert_same_bits(matmul(a, b, c, accumulator=accumulator), expected)


def test_products_are_rounded_before_the_sum() -> None:
    x = np.full((1, 1), 1 + 2**-12, np.float32)
    c = np.full((1, 1), -1, np.float32)
    assert matmul(x, x, c, accumulator=np.float32)[0, 0] == np.float32(2**-11)


def test_k_ascends_from_c() -> None:
    a = np.array([[1e8, 1, -1e8]], np.float32)
    c = np.full((1, 1), 0.5, np.float32)
    assert matmul(a, np.ones((3, 1), np.float32), c, accumulator=np.float32)[0, 0] == 0


def test_a_row_of_c_broadcasts_and_c_stays_as_it_was() -> None:
    a, b = np.ones((2, 3), np.int8), np.ones((3, 2), np.int8)
    c = np.array([10, 20], np.int32)
    assert matmul(a, b, c, accumulator=np.int32).tolist() == [[13, 23], [13, 23]]
    assert c.tolist() == [10, 20]


@pytest.mark.parametrize(
    ("a", "b", "c", "accumulator", "error"),
    [
        (np.ones((2, 3)), np.ones((3, 2)), None, np.float32, TypeError),
        (np.ones((2, 3), "f4"), np.ones((2, 3), "f4"), None, np.float32, ValueError),
        (np.ones(3, "f4"), np.ones((3, 2), "f4"), None, np.float32, ValueError),
        (np.ones((2, 3), "i1"), np.ones((3, 2), "u1"), None, np.int32, TypeError),
        (np.ones((2, 3), "i1"), np.ones((3, 2), "i1"), None, np.float32, TypeError),
        (np.ones((2, 3), "f2"), np.ones((3, 2), "f2"), None, np.float16, TypeError),
        (np.ones((2, 3), "f2"), np.ones((3, 2), "f2"), np.ones((2, 2), "f2"), np.float32, TypeError),
    ],
)
def test_what_does_not_fit_is_refused(a: Array, b: Array, c: Any, accumulator: Any, error: Any) -> None:
    with pytest.raises(error):
        matmul(a, b, c, accumulator=accumulator)


@given(patterns(np.float32, 20))
def test_relu_keeps_no_negative_number_and_no_sign_of_zero(x: Array) -> None:
    expected = np.array([v if np.isnan(v) or v > 0 else 0 for v in x], np.float32)
    expected.view(np.uint32)[np.isnan(x)] = 0x7FC0_0000
    assert_same_bits(relu(x), expected)


def test_relu_of_specials_and_integers() -> None:
    x = np.array([-0.0, -np.inf, np.inf, -1e-45], np.float32)
    assert relu(x).view(np.uint32).tolist() == [0, 0, 0x7F80_0000, 0]
    assert_same_bits(relu(np.array([-128, -1, 0, 127], np.int32)), np.array([0, 0, 0, 127], np.int32))


@given(patterns(np.float32, 20))
def test_bfloat16_conversion_by_bit_arithmetic(x: Array) -> None:
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    rounded[np.isnan(x)] = 0x7FC0
    assert_same_bits(convert(x, BF16), rounded.view(BF16))


@given(patterns(np.float32, 20))
def test_float16_conversion_takes_the_nearest(x: Array) -> None:
    y = convert(x, np.float16)
    assert (y.view(np.uint16)[np.isnan(x)] == 0x7E00).all()
    for value, result in zip(x[~np.isnan(x)].astype(float), y[~np.isnan(x)]):
        assert np.signbit(result) == np.signbit(value)
        if np.isinf(result):
            assert abs(value) >= 65520
            continue
        distance = abs(value - float(result))
        neighbours = [np.nextafter(result, np.float16(side * np.inf)) for side in (-1, 1)]
        for neighbour in neighbours:
            other = abs(value - (float(neighbour) if np.isfinite(neighbour) else np.copysign(65536, neighbour)))
            assert distance < other or (distance == other and not int(result.view(np.uint16)) & 1)


@pytest.mark.parametrize(("source", "target"), [("float32", "float64"), ("float32", "uint8"), ("int32", "int64")])
def test_other_conversions_are_refused(source: str, target: str) -> None:
    with pytest.raises(TypeError):
        convert(np.ones(3, source), target)


@pytest.mark.parametrize("target", [np.dtype(np.float16), BF16], ids=str)
def test_every_value_of_the_type_converts_to_itself(target: np.dtype[Any]) -> None:
    with np.errstate(all="ignore"):
        values = np.arange(1 << 16, dtype=np.uint16).view(target)
        numbers = values[~np.isnan(values)]
    assert_same_bits(convert(numbers.astype(np.float32), target), numbers)


def test_no_warning_reaches_the_user(recwarn: pytest.WarningsRecorder) -> None:
    signalling = np.full((2, 2), 0x7F81, np.uint16).view(BF16)
    huge = np.full((2, 2), 3e38, np.float32)
    relu(np.full((2, 2), 0x7F80_0001, np.uint32).view(np.float32))
    for target in (np.float16, BF16, E4M3, np.int8):
        finish(huge, target, scale=2.0, saturate=True)
    matmul(signalling, np.ones((2, 2), np.float16), accumulator=np.float32)
    matmul(huge, huge, accumulator=np.float32)
    assert not recwarn.list


# -- scaling, activation, conversion ---------------------------------------------------------------

FP19 = st.integers(1 << 10, (255 << 10) - 1)


def fp19(code: int) -> np.float32:
    """A positive normal number with ten bits of fraction."""
    return np.uint32(code << 13).view(np.float32)


@np.errstate(invalid="ignore")
def nearest(x: Fraction, dtype: np.dtype[Any]) -> Array:
    """The finite number of a type that is nearest to ``x``, of two the one with an even code; all of them are tried."""
    codes = np.arange(1 << 8 * dtype.itemsize - 1, dtype=f"u{dtype.itemsize}")
    values = codes.view(dtype).astype(np.float64)
    finite = np.isfinite(values)
    near = np.argsort(np.abs(values[finite] - float(abs(x))), kind="stable")[:4]
    best = min(near, key=lambda n: (abs(Fraction(float(values[n])) - abs(x)), int(n) & 1))
    code = int(best) | (int(x < 0) << 8 * dtype.itemsize - 1)
    return np.array([code], codes.dtype).view(dtype)


@pytest.mark.parametrize("target", [np.dtype(np.float16), BF16, E4M3], ids=str)
@given(bits=st.integers(0, 2**32 - 1), scale=FP19, slope=FP19)
def test_a_scaled_sum_is_rounded_once(target: np.dtype[Any], bits: int, scale: int, slope: int) -> None:
    total = np.array([bits], np.uint32).view(np.float32)
    number = float(total[0])
    got = finish(total, target, scale=float(fp19(scale)), slope=float(fp19(slope)), saturate=True)
    largest = float(ml_dtypes.finfo(target).max)
    if not np.isfinite(number):
        assert float(got[0]) == (0 if np.isnan(number) else np.copysign(largest, number))
        return
    exact = Fraction(number) * Fraction(float(fp19(slope if number < 0 else scale)))
    expected = np.array([np.copysign(largest, number)], target)
    if abs(exact) <= largest:
        expected = nearest(exact, target)
    assert float(got[0]) == float(expected[0])
    if target != E4M3 and exact:
        assert np.signbit(got[0]) == (exact < 0)


@pytest.mark.parametrize("target", ["int8", "int16"])
@pytest.mark.parametrize(
    ("name", "rule"), [("rint", round), ("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc)]
)
@given(total=st.integers(-(2**31), 2**31 - 1), scale=FP19, offset=st.integers(-128, 127))
def test_integers_are_rounded_then_offset_then_clamped(
    name: str, rule: Any, target: str, total: int, scale: int, offset: int
) -> None:
    limits = np.iinfo(target)
    got = finish(
        np.array([total], np.int32), target, scale=float(fp19(scale)), offset=offset, rounding=name, saturate=True
    )
    exact = Fraction(total) * Fraction(float(fp19(scale)))
    assert got.dtype == target and got[0] == max(limits.min, min(limits.max, rule(exact) + offset))


@given(total=st.integers(-(2**31), 2**31 - 1), places=st.integers(1, 16))
def test_a_shift_is_a_floor(total: int, places: int) -> None:
    got = finish(np.array([total], np.int32), np.int16, shift=places)
    assert got[0] == max(-(2**15), min(2**15 - 1, math.floor(Fraction(total, 2**places))))


def test_without_saturation_what_is_too_large_becomes_infinite_or_a_nan() -> None:
    x = np.array([65519, 65520, -65520, np.nan], np.float32)
    assert finish(x, np.float16).view(np.uint16).tolist() == [0x7BFF, 0x7C00, 0xFC00, 0x7E00]
    x = np.array([448, 448.1, -500, np.inf, -0.0, -1e-9], np.float32)
    assert finish(x, E4M3).view(np.uint8).tolist() == [0x7E, 0x7F, 0x7F, 0x7F, 0x80, 0]


# -- maxima ----------------------------------------------------------------------------------------

NAN, INF = np.float32(np.nan), np.float32(np.inf)


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ([1, 3, 2], 3),
        ([NAN, -2, NAN], -2),
        ([NAN, -INF], -INF),
        ([NAN, NAN], NAN),
        ([-0.0, 0.0], 0.0),
        ([0.0, -0.0], 0.0),
        ([-0.0, -0.0, -1], -0.0),
        ([NAN, -0.0], -0.0),
    ],
)
def test_a_maximum_of_floats(row: list[float], wanted: float) -> None:
    """A NaN loses, +0 is above -0: worked by hand from the rule."""
    values = np.array([row], np.float32)
    assert maxima(values).tobytes() == np.array([wanted], np.float32).tobytes()
    assert maxima(values[:, :-1], values[:, -1]).tobytes() == np.array([wanted], np.float32).tobytes()


def test_a_signalling_nan_loses_and_becomes_canonical() -> None:
    signalling = np.array([0x7F80_0001, 0xFF80_0001], np.uint32).view(np.float32)
    assert maxima(np.array([[signalling[0], 5]], np.float32).copy()) == 5
    assert maxima(signalling[None]).view(np.uint32).tolist() == [0x7FC0_0000]


def test_a_maximum_of_magnitudes() -> None:
    floats = np.array([[-3, 2], [-0.0, -0.0], [NAN, -1]], np.float32)
    assert maxima(floats, absolute=True).view(np.uint32).tolist() == [0x4040_0000, 0, 0x3F80_0000]
    integers = np.array([[-(2**31), 7], [-5, 4]], np.int32)
    assert maxima(integers, absolute=True).tolist() == [2**31 - 1, 5]
    assert maxima(integers).tolist() == [7, 4]
    unsigned = np.array([[2**31, 7]], np.uint32)
    assert maxima(unsigned, absolute=True).tolist() == maxima(unsigned).tolist() == [2**31]
