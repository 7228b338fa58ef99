"""All codes of a type of at most sixteen bits converted at once (vector.md section 8).

float64 holds every number of these types, and every sum and quotient formed here, exactly; the numbers of the result
type are all its codes, decoded and sorted. ``arithmetic.converted`` says the same of single elements in rationals.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import FORMATS, INFINITY, LARGEST, NAN, NV, NX, OF, QUARTERS, UF, limits, sign_bit, value
from reference.values import MUST_BE_ZERO, bits_of, class_of, integer, signalling

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
ANY_CASE = {"E4M3": 448.0, "HiF8": 32768.0}
"""Types that overflow by the magnitude before rounding."""


@cache
def codes(name: str) -> tuple[int, ...]:
    """All valid codes."""
    return tuple(c for c in range(1 << bits_of(name)) if not c & MUST_BE_ZERO.get(name, 0))


@cache
def numbers(name: str) -> Reals:
    read = value if class_of(name) == "floating" else integer
    return np.array([float(read(name, c)) for c in codes(name)])


@cache
def _signalling(name: str) -> NDArray[np.bool_]:
    return np.array([signalling(name, c) for c in codes(name)])


@cache
def _grid(name: str) -> tuple[Reals, Ints]:
    """The non-negative numbers of a type, one more beyond the largest, and their codes (-1 for that one)."""
    pairs = sorted((value(name, c), c) for c in codes(name) if value(name, c) >= 0 and not c & sign_bit(name))
    pairs = [(x, c) for x, c in pairs if np.isfinite(x)]
    beyond = 2 * pairs[-1][0] - pairs[-2][0]
    return np.array([x for x, _ in pairs] + [beyond]), np.array([c for _, c in pairs] + [-1])


def _rounded(x: Reals, mode: int) -> Reals:
    """To integers, as numerics.md section 5.4 says."""
    low = np.floor(x)
    rest, odd = x - low, np.mod(low, 2) == 1
    tie = rest == 0.5
    up = {
        1: (rest > 0.5) | (tie & odd),
        2: (x < 0) & (rest > 0),
        3: np.zeros(x.shape, bool),
        4: rest > 0,
        5: (rest > 0.5) | (tie & (x > 0)),
        6: (rest > 0) & ~odd,
        7: rest >= 0.5,
    }[mode]
    return low + up


def outcomes(source: str, result: str, mode: int, saturate: bool) -> tuple[Ints, Ints]:
    """Result codes and flags of every valid code of ``source``, in order."""
    floats = class_of(source) == "floating", class_of(result) == "floating"
    x = numbers(source)
    mode = mode or (2 if floats == (True, False) else 1)
    with np.errstate(all="ignore"):
        if not floats[1]:
            return _to_integers(result, x, mode, saturate, floats[0])
        if result == "E8M0":
            return _to_scales(x, mode, saturate)
        bits, flags = _to_floats(result, x, mode, saturate)
    return bits, flags | (_signalling(source) * NV if floats[0] else 0)


def _to_integers(result: str, x: Reals, mode: int, saturate: bool, floating: bool) -> tuple[Ints, Ints]:
    low, high = limits(result)
    finite = np.where(np.isfinite(x), x, 0)
    rounded = _rounded(finite, mode)
    outside = (rounded < low) | (rounded > high)
    kept = np.clip(rounded, low, high) if saturate else np.fmod(rounded, 2.0 ** bits_of(result))
    bits = kept.astype(np.int64)
    flags = np.where(outside, OF | NX, np.where(rounded != finite, NX, 0)) if floating else np.zeros(x.shape, np.int64)
    bits = np.where(np.isinf(x), np.where(x > 0, high, low), np.where(np.isnan(x), 0, bits))
    return bits % (1 << bits_of(result)), np.where(np.isfinite(x), flags, NV)


def _to_floats(result: str, x: Reals, mode: int, saturate: bool) -> tuple[Ints, Ints]:
    values, grid = _grid(result)
    minus = np.signbit(x)
    size = np.where(np.isfinite(x), np.abs(x), 0)
    capped = np.minimum(size, values[-1])
    at = np.minimum(np.searchsorted(values, capped, side="right") - 1, len(values) - 2)
    low, high = values[at], values[at + 1]
    # 0 to 1 from an even code to an odd one, 1 to 2 from an odd one to an even one.
    parity = grid[at] % 2
    side = np.where(2 * capped == low + high, 0.5, np.where(2 * capped < low + high, 0.25, 0.75))
    place = np.where(capped == low, 0, np.where(capped == high, 1, side)) + parity
    step = np.abs(_rounded(np.where(minus, -place, place), mode)) > parity
    chosen = at + step
    exact = (capped == values[chosen]) & (size == capped)
    over = size > ANY_CASE[result] if result in ANY_CASE else grid[chosen] < 0
    bits = grid[chosen]
    fraction, lowest = {"HiF8": (1, -15)}.get(result) or ((2, 0) if result in QUARTERS else FORMATS[result])
    _, exponent = np.frexp(size)
    unit = np.ldexp(1.0, exponent - 1 - fraction)
    near = np.abs(_rounded(np.where(minus, -size, size) / unit, mode)) * unit
    tiny = ~exact & (near < 2.0**lowest)
    flags = np.where(exact, 0, NX) | np.where(tiny, UF, 0)
    beyond = LARGEST[result] if saturate or result not in INFINITY else INFINITY[result]
    bits = np.where(over, beyond, bits)
    infinite = np.isinf(x)
    bits = np.where(infinite, INFINITY.get(result, LARGEST[result]), bits)
    bits = np.where(minus & ~((bits == 0) & (result == "HiF8")), bits | sign_bit(result), bits)
    if result == "E4M3":
        bits = np.where((over | infinite) & (not saturate), 0x7F, bits)
    flags = np.where(over, OF | NX, flags)
    flags = np.where(infinite, 0 if result in INFINITY else OF | NX, flags)
    return np.where(np.isnan(x), NAN.get(result, 0), bits), np.where(np.isnan(x), 0, flags)


def _to_scales(x: Reals, mode: int, saturate: bool) -> tuple[Ints, Ints]:
    half, exponent = np.frexp(x)
    e = exponent - 1
    above = {2: e < 0, 3: np.zeros(x.shape, bool), 4: np.ones(x.shape, bool), 6: e % 2 == 0}
    up = above.get(mode, half * half > 0.5) & (half != 0.5)
    bits, flags = e + up + 127, np.where(half == 0.5, 0, NX)
    small, large = x < 2.0**-127, x > 2.0**127
    bits = np.where(small, 0x00 if saturate else 0xFF, np.where(large, 0xFE if saturate else 0xFF, bits))
    flags = np.where(small, UF | NX, np.where(large, OF | NX, flags))
    bad = ~(x > 0)
    return np.where(bad, 0xFF, bits), np.where(bad, NV, flags)
