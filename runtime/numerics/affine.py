"""Quantisation by a multiplier and a zero point: ``round(x * m + z)`` in eight bits, and back to FP32.

The product of two FP32 numbers is exact in float64. Its sum with the zero point need not be, so whole and fractional
part are kept apart and the number is rounded by the sign and size of the fraction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import FP32, FP64, DType
from ptoc.isa.postprocess import Rounding
from ptoc.runtime.numerics.cast import Cast, cast
from ptoc.runtime.numerics.flags import NV, NX, OVERFLOW
from ptoc.runtime.numerics.formats import decode_reals, integers

Bits = NDArray[Any]
Integers = NDArray[np.int64]
Fractions = NDArray[np.float64]
_HUGE = 2.0**40
_CODES = 256.0


def rounded_sum(whole: Integers, fraction: Fractions, rounding: Rounding) -> Integers:
    """``whole + fraction`` as an integer; the fraction is less than one and has either sign."""
    down, up = whole - (fraction < 0), whole + (fraction > 0)
    half, beyond = np.abs(fraction) == 0.5, np.abs(fraction) > 0.5
    positive = (whole > 0) | ((whole == 0) & (fraction > 0))
    nearest = np.where(beyond, np.where(fraction > 0, up, down), whole)
    found: Integers
    match rounding:
        case Rounding.RTM:
            found = down
        case Rounding.RTP:
            found = up
        case Rounding.RTZ:
            found = np.where(positive, down, up)
        case Rounding.RTO:
            found = np.where(down % 2 != 0, down, up)
        case Rounding.RNA:
            found = np.where(half, np.where(positive, up, down), nearest)
        case Rounding.RHB:
            found = np.where(half, up, nearest)
        case _:
            found = np.where(half, np.where(down % 2 == 0, down, up), nearest)
    return found


def quantise(
    result: DType, bits: Bits, multiplier: float, zero: int, rounding: Rounding, saturate: bool
) -> tuple[Bits, int]:
    """FP32 elements as integers of eight bits, and the flags raised.

    Infinities become the limits of the type, NaNs 0. Other numbers out of range are clamped or keep their low bits.
    """
    x = decode_reals(FP32, bits)
    nan, infinite = np.isnan(x), np.isinf(x)
    product = np.where(nan | infinite, 0.0, x) * multiplier
    whole = np.trunc(product)
    fraction = product - whole
    # Far outside the range only the low bits and the sign matter.
    far = np.copysign(_HUGE + np.fmod(np.abs(whole), _CODES), whole)
    q = rounded_sum(np.where(np.abs(whole) > _HUGE, far, whole).astype(np.int64) + zero, fraction, rounding)
    low, high = (-128, 127) if result.numeric_class == "signed" else (0, 255)
    if saturate:
        q = np.clip(q, low, high)
    q = np.where(infinite, np.where(x > 0, high, low), q)
    flags = NX if fraction.any() else 0
    flags |= (NV if nan.any() else 0) | (OVERFLOW if infinite.any() else 0)
    return np.where(nan, 0, q).astype(np.uint8), flags


def dequantise(dtype: DType, bits: Bits, multiplier: float, zero: int, rounding: Rounding) -> tuple[Bits, int]:
    """Integers of eight bits as ``(q - z) * m`` in FP32, rounded once, and the flags raised."""
    product = (integers(dtype, bits).astype(np.float64) - zero) * multiplier
    return cast(Cast(FP64, FP32, rounding, False), product.view(np.uint64))
