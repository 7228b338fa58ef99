"""FP64 operations with their flags: the host's results, and the exact errors that tell whether they are inexact.

Operands may be anything; the caller sees to NaNs, to operands without a result and to divisions by zero. Significands
are multiplied apart from their exponents, so that nothing here overflows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.runtime.numerics.flags import NX, OVERFLOW, UNDERFLOW
from ptoc.runtime.numerics.rounding import Reals

Words = NDArray[np.uint64]
Flags = NDArray[np.uint8]
Elements = tuple[Words, Flags]
_SPLIT = 134217729.0
_LOWEST = -1022


def product(x: Reals, y: Reals) -> tuple[Reals, Reals]:
    """The rounded product of significands near one and its exact error."""
    z = x * y
    scaled = _SPLIT * x
    x1 = scaled - (scaled - x)
    scaled = _SPLIT * y
    y1 = scaled - (scaled - y)
    x2, y2 = x - x1, y - y1
    return z, ((x1 * y1 - z) + x1 * y2 + x2 * y1) + x2 * y2


def _judged(result: Reals, finite: NDArray[np.bool_], inexact: NDArray[np.bool_], exponent: Any) -> Elements:
    """A rounded result with its flags; ``exponent`` is that of the result where exponents have no end."""
    flags = np.where(inexact & finite, np.uint8(NX), np.uint8(0))
    flags |= np.where(finite & inexact & (exponent < _LOWEST), np.uint8(UNDERFLOW), np.uint8(0))
    flags |= np.where(finite & np.isinf(result), np.uint8(OVERFLOW), np.uint8(0))
    return result.view(np.uint64), flags


def _add(x: Reals, y: Reals) -> Elements:
    result = x + y
    big = np.where(np.abs(x) >= np.abs(y), x, y)
    small = np.where(np.abs(x) >= np.abs(y), y, x)
    finite = np.isfinite(x) & np.isfinite(y)
    return _judged(result, finite, np.isfinite(result) & (result - big != small), 0)


def _subtract(x: Reals, y: Reals) -> Elements:
    return _add(x, -y)


def _scaled(result: Reals, near: Reals, error: Reals, shift: Any, finite: NDArray[np.bool_]) -> Elements:
    """``result`` is the host's for the number ``(near + error) * 2^shift``."""
    _, exponent = np.frexp(near)
    # A result below the normal numbers can be scaled in two steps only.
    half = shift // 2
    inexact = (error != 0) | (np.ldexp(np.ldexp(result, -half), half - shift) != near)
    return _judged(result, finite, inexact & (near != 0), exponent - 1 + shift)


def _multiply(x: Reals, y: Reals) -> Elements:
    (m, i), (n, j) = np.frexp(x), np.frexp(y)
    near, error = product(m, n)
    return _scaled(x * y, near, error, i + j, np.isfinite(x) & np.isfinite(y))


def _divide(x: Reals, y: Reals) -> Elements:
    (m, i), (n, j) = np.frexp(x), np.frexp(y)
    near = m / n
    back, lost = product(near, n)
    return _scaled(x / y, near, (m - back) - lost, i - j, np.isfinite(x) & np.isfinite(y) & (y != 0))


def _remainder(x: Reals, y: Reals) -> Elements:
    rest = np.fmod(x, y)
    other = (rest != 0) & (np.signbit(rest) != np.signbit(y))
    bits, flags = _add(rest, y)
    result = np.where(other, bits.view(np.float64), np.where(rest == 0, 0.0, rest))
    return result.view(np.uint64), np.where(other, flags, np.uint8(0))


OPERATIONS: dict[str, Callable[[Reals, Reals], Elements]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "remainder": _remainder,
}


def root(x: Reals) -> Elements:
    """The square root of numbers that have one."""
    m, i = np.frexp(x)
    odd = i & 1
    near = np.sqrt(np.where(odd, 2 * m, m))
    back, lost = product(near, near)
    inexact = (np.where(odd, 2 * m, m) - back) - lost != 0
    return _judged(np.sqrt(x), np.isfinite(x) & (x >= 0), inexact, 0)


def fused(x: Reals, y: Reals, z: Reals) -> Elements:
    """x * y + z in integers, one element after the other."""
    x, y, z = np.broadcast_arrays(x, y, z)
    result, flags = np.empty(x.shape), np.zeros(x.shape, np.uint8)
    with np.errstate(all="ignore"):
        result[...] = np.where(np.isinf(x) | np.isinf(y), x * y + z, z)
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    for place in zip(*np.nonzero(finite)):
        result[place], flags[place] = _fused(float(x[place]), float(y[place]), float(z[place]))
    return result.view(np.uint64), flags


def _fused(x: float, y: float, z: float) -> tuple[float, int]:
    if x == 0 or y == 0:
        return x * y + z, 0
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return 0.0, 0
    try:
        near = exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf"), OVERFLOW
    if Fraction(near) == exact:
        return near, 0
    if abs(exact) >= Fraction(2) ** _LOWEST:
        return near, NX
    # Tiny after rounding: 2^100 times as large, it would not reach the smallest normal number either.
    wide = abs(exact) * 2**100
    return near, NX if wide.numerator / wide.denominator >= 2.0 ** (_LOWEST + 100) else UNDERFLOW
