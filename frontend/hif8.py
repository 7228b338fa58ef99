"""HiF8, the tapered eight-bit float of PTO, as bytes: numpy has no such type.

The arithmetic is its own, beside the simulator's table.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ptoc.errors import ArgumentError, caller_location
from ptoc.isa.dtypes import HIF8_LARGEST

Codes = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]

_NAN, _INFINITY, _SIGN = 0x80, 0x6F, 0x80
_SMALLEST_POWER, _SMALLEST_NORMAL = -22, -15
_REGIMES = ((8, 3, 0, 0), (16, 3, 1, 0), (32, 3, 2, 1), (64, 2, 4, 2), (96, 1, 8, 3))
"""From which code on: bits of fraction, the smallest magnitude of the exponent, bits of what it exceeds that by."""


def hifloat8(x: Any) -> Any:
    """The HiF8 codes, uint8, of an array of floats (or of a float), element by element.

    Each becomes the nearest HiF8 number, of two equally near ones the greater. Magnitudes above 32768 become infinite,
    a NaN 0x80, both zeros 0x00. Clip to ±32768 first for the largest finite number instead.

    Inside a kernel it takes the float32 sums of a matmul, scaled or not (``docs/epilogues.md``). ``ArgumentError`` for
    what does not consist of floats.
    """
    if _is_traced(x):
        from ptoc import functions

        return functions.hifloat8(x)
    values = np.asarray(x)
    if not is_floating(values.dtype):
        raise ArgumentError(
            f"ptoc.hifloat8 takes floats, not {values.dtype}", where=caller_location(), hint="convert with astype first"
        )
    codes = _encode(values.astype(np.float64))
    return codes if codes.ndim else codes[()]


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of numpy's or ml_dtypes' floats up to float64."""
    return dtype.kind not in "biuc" and np.can_cast(dtype, np.float64, "safe")


def _is_traced(x: Any) -> bool:
    if isinstance(x, np.ndarray | np.generic | float):
        return False
    from ptoc.tracing import Tracer

    return isinstance(x, Tracer)


def hifloat8_values(codes: Any) -> Any:
    """The numbers, float32, that HiF8 codes (uint8, any shape) stand for; 0x80 is NaN.

    For use outside of kernels. ``ArgumentError`` for another dtype.
    """
    given = np.asarray(codes) if isinstance(codes, np.ndarray | np.generic) else None
    if given is None and _is_traced(codes):
        from ptoc.tracing import unsupported

        raise unsupported(
            "ptoc.hifloat8_values", hint="return the codes, and call it on them outside: no operation decodes HiF8"
        )
    if given is None or given.dtype != np.uint8:
        kind = type(codes).__name__ if given is None else f"{given.dtype} array"
        raise ArgumentError(
            f"ptoc.hifloat8_values takes an array of uint8, not a {kind}",
            where=caller_location(),
            hint="outside of kernels, it takes what ptoc.hifloat8 returns",
        )
    values = _values()[given]
    return values if given.ndim else values[()]


@cache
def _values() -> npt.NDArray[np.float32]:
    """The values of all codes."""
    code = np.arange(256)
    body, sign = code & 0x7F, np.where(code & _SIGN, -1.0, 1.0)
    values = np.ldexp(1.0, body - 23)
    for first, fraction, least, width in _REGIMES:
        rest = body - first
        magnitude = least + (rest >> fraction & (1 << width) - 1)
        negative = (rest >> fraction + width & 1) * (least > 0)
        mantissa = 1 + (rest & (1 << fraction) - 1) / (1 << fraction)
        values = np.where(body >= first, np.ldexp(mantissa, np.where(negative, -magnitude, magnitude)), values)
    values = np.where(body == _INFINITY, np.inf, values) * sign
    values[0], values[_NAN] = 0.0, np.nan
    return values.astype(np.float32)


@np.errstate(all="ignore")
def _encode(x: npt.NDArray[np.float64]) -> Codes:
    beyond, nan = np.abs(x) > HIF8_LARGEST, np.isnan(x)
    inside = np.where(beyond | nan, 0.0, x)
    exponent = np.maximum(np.frexp(inside)[1] - 1, _SMALLEST_POWER)
    quotient = inside / np.ldexp(1.0, exponent - _fraction_bits(exponent))
    whole = np.floor(quotient)
    whole += quotient - whole >= 0.5
    # Rounding may have reached the next power of two, whose numbers lie further apart.
    rounded = np.abs(whole) * np.ldexp(1.0, exponent - _fraction_bits(exponent))
    code = _code_of(rounded) | np.where(whole < 0, _SIGN, 0)
    code = np.where(beyond, np.where(x < 0, _SIGN | _INFINITY, _INFINITY), code)
    return np.asarray(np.where(nan, _NAN, code)).astype(np.uint8)


def _fraction_bits(exponent: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    size = np.abs(exponent)
    return np.where(exponent < _SMALLEST_NORMAL, 0, np.where(size < 4, 3, np.where(size < 8, 2, 1)))


def _code_of(magnitude: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The code of a positive HiF8 number, or 0."""
    mantissa, power = np.frexp(magnitude)
    exponent = power - 1
    size, negative = np.abs(exponent).astype(np.int64), (exponent < 0).astype(np.int64)
    bits = _fraction_bits(exponent)
    fraction = np.ldexp(2 * mantissa - 1, bits).astype(np.int64)
    code = 8 + fraction
    for first, fraction_bits, least, width in _REGIMES[1:]:
        here = first + (negative << fraction_bits + width) + (size - least << fraction_bits) + fraction
        code = np.where(size >= least, here, code)
    code = np.where(exponent < _SMALLEST_NORMAL, exponent + 23, code)
    return np.where(magnitude == 0, 0, code)


@cache
def _order() -> tuple[npt.NDArray[np.int64], Array, Array]:
    """The rank of each code by its value, and by two ranks the largest and the least code between them."""
    values = _values().astype(np.float64)
    by_value = np.argsort(values, kind="stable")
    ranks = np.empty(256, np.int64)
    ranks[by_value] = np.arange(256)
    upwards = np.triu(np.ones((256, 256), bool))
    most = np.maximum.accumulate(np.where(upwards, by_value, 0), axis=1)
    least = np.minimum.accumulate(np.where(upwards, by_value, 255), axis=1)
    return ranks, most, least


def farthest(low: Codes, high: Codes, code: Codes) -> npt.NDArray[np.float64]:
    """How far, counted in codes, any number between those of ``low`` and ``high`` may be from ``code``."""
    ranks, most, least = _order()
    ends = ranks[low], ranks[high]
    distance: npt.NDArray[np.float64] = np.maximum(most[ends] - code.astype(np.float64), code - least[ends])
    return distance
