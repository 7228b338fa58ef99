"""``ptoc.hifloat8`` and its inverse against exact rational arithmetic, written from the ISA's table of HiF8."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptoc
from ptoc.hif8 import farthest
from ptoc.runtime.numerics.formats import nearest_hif8

NAN, INFINITY, MINUS_INFINITY = 0x80, 0x6F, 0xEF


def value(code: int) -> Fraction:
    """The number of a finite code, row by row of the table."""
    if code == 0:
        return Fraction(0)
    sign, b = (-1 if code >> 7 else 1), f"{code & 0x7F:07b}"
    if int(b, 2) < 8:
        return sign * Fraction(2) ** (int(b, 2) - 23)
    if b.startswith("0001"):
        exponent, fraction = 0, b[4:]
    elif b.startswith("001"):
        exponent, fraction = (-1 if b[3] == "1" else 1), b[4:]
    elif b.startswith("01"):
        exponent, fraction = (2 + int(b[3], 2)) * (-1 if b[2] == "1" else 1), b[4:]
    elif b.startswith("10"):
        exponent, fraction = (4 + int(b[3:5], 2)) * (-1 if b[2] == "1" else 1), b[5:]
    else:
        exponent, fraction = (8 + int(b[3:6], 2)) * (-1 if b[2] == "1" else 1), b[6:]
    return sign * (1 + Fraction(int(fraction, 2), 1 << len(fraction))) * Fraction(2) ** exponent


FINITE = {code: value(code) for code in range(256) if code not in (NAN, INFINITY, MINUS_INFINITY)}
ASCENDING = sorted(FINITE, key=lambda code: FINITE[code])


def nearest(x: Fraction) -> int:
    """The code that a number becomes."""
    if abs(x) > 32768:
        return INFINITY if x > 0 else MINUS_INFINITY
    return min(FINITE, key=lambda code: (abs(FINITE[code] - x), -FINITE[code]))


def test_values_of_all_codes() -> None:
    values = ptoc.hifloat8_values(np.arange(256, dtype=np.uint8))
    assert values.dtype == np.float32
    assert all(Fraction(float(values[code])) == exact for code, exact in FINITE.items())
    assert values[INFINITY] == np.inf and values[MINUS_INFINITY] == -np.inf and np.isnan(values[NAN])
    assert len(set(FINITE.values())) == 253 and not np.signbit(values[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_codes_round_trip(dtype: Any) -> None:
    codes = np.arange(256, dtype=np.uint8)
    assert (ptoc.hifloat8(ptoc.hifloat8_values(codes).astype(dtype)) == codes).all()


def test_boundaries_of_rounding() -> None:
    """Every midpoint, which goes up, and the nearest float64 on both sides of it."""
    middles = [float((FINITE[low] + FINITE[high]) / 2) for low, high in pairwise(ASCENDING)]
    points = [np.nextafter(x, side) for x in middles for side in (-np.inf, x, np.inf)]
    points += [s * np.nextafter(32768.0, side) for s in (-1, 1) for side in (0, np.inf)]
    points += [s * x for s in (-1, 1) for x in (5e-324, 2.0**-149, 2.0**-23, 2.0**-24, 32768.0, 40960.0, 1e300)]
    wanted = np.array([nearest(Fraction(float(x))) for x in points], np.uint8)
    assert (ptoc.hifloat8(np.array(points)) == wanted).all()
    inside = np.abs(points) <= 32768
    assert (nearest_hif8(np.array(points)[inside])[0] == wanted[inside]).all()


@given(st.floats(width=32) | st.floats() | st.floats(-40000, 40000) | st.floats(-(2.0**-14), 2.0**-14))
def test_any_number(x: float) -> None:
    if x != x:
        wanted = NAN
    else:
        wanted = nearest(Fraction(x)) if abs(x) < float("inf") else INFINITY if x > 0 else MINUS_INFINITY
    assert ptoc.hifloat8(x) == wanted


def test_special_values_and_forms() -> None:
    x = np.array([[0.0, -0.0, np.nan], [np.inf, -np.inf, -1.0]])
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        codes = ptoc.hifloat8(x.astype(dtype))
        assert codes.dtype == np.uint8
        assert codes.tolist() == [[0, 0, NAN], [INFINITY, MINUS_INFINITY, 0x88]]
    assert ptoc.hifloat8(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert ptoc.hifloat8(x.T[::2]).tolist() == [[0, INFINITY], [NAN, 0x88]]
    assert ptoc.hifloat8(np.float32(1.5)) == 0x0C and ptoc.hifloat8_values(np.uint8(0x0C)) == 1.5


@pytest.mark.parametrize("x", [np.ones(3, np.int32), np.ones(2, bool), [1, 2], np.ones(1, complex), "1"], ids=str)
def test_only_floats_are_encoded(x: Any) -> None:
    with pytest.raises(ptoc.ArgumentError, match=r"ptoc\.hifloat8 takes floats"):
        ptoc.hifloat8(x)


@pytest.mark.parametrize("codes", [np.ones(3, np.int8), np.ones(2), [1, 2], 7], ids=str)
def test_only_bytes_are_codes(codes: Any) -> None:
    with pytest.raises(ptoc.ArgumentError, match=r"takes an array of uint8"):
        ptoc.hifloat8_values(codes)


@given(*[st.sampled_from(ASCENDING)] * 3)
def test_distance_in_codes(one: int, other: int, code: int) -> None:
    low, high = sorted((one, other), key=lambda c: FINITE[c])
    between = [c for c in ASCENDING if FINITE[low] <= FINITE[c] <= FINITE[high]]
    assert farthest(*(np.array([c], np.uint8) for c in (low, high, code)))[0] == max(abs(c - code) for c in between)
