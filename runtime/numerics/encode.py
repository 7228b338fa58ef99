"""Reals as elements of a floating type, by one rounding, with the flags of every element.

Reals are float64 numbers that are exact, or *rounded to odd*: of an inexact result the neighbour with an odd last
bit is taken, which no narrower format and no midpoint of one has. Rounding such a number again to at most 51
bits gives what rounding the exact one would, in every mode, and it is seen to be inexact. Exact errors of float64
operations, by which ``to_odd`` decides, are those of Dekker, Knuth, and Boldo and Melquiond.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import Rounding
from ptoc.runtime.numerics.flags import NX, OVERFLOW, UF
from ptoc.runtime.numerics.formats import canonical_nan, infinity, largest_finite, small_table
from ptoc.runtime.numerics.rounding import Reals, to_precision

Bits = NDArray[Any]
Mask = NDArray[np.bool_]
Flags = NDArray[np.uint8]
"""Status flags of every element."""

_EXPONENT = np.uint64(0x7FF << 52)
_BEFORE_ROUNDING = frozenset(("E4M3", "HiF8"))
"""Types whose numbers are too large when they exceed the largest one before they are rounded."""


class Format(NamedTuple):
    """Fraction bits, the exponent of the smallest normal number, and the largest number."""

    fraction: int
    lowest: int
    largest: float


@cache
def format_of(dtype: DType) -> Format:
    """The shape of a floating type; HiF8 has one fraction bit about its smallest normal number."""
    if dtype.name == "HiF8":
        return Format(1, -15, 32768.0)
    if dtype.bits <= 8:
        return Format(dtype.fraction, 1 - dtype.bias, float(small_table(dtype)[largest_finite(dtype)]))
    return Format(dtype.fraction, 1 - dtype.bias, (2 - 2.0**-dtype.fraction) * 2.0**dtype.bias)


def to_odd(near: Reals, error: Reals) -> Reals:
    """Exact numbers ``near + error`` rounded to odd, where ``error`` is less than one unit of ``near``."""
    move = (error != 0) & (near.view(np.int64) & 1 == 0) & np.isfinite(near)
    if not move.any():
        return near
    away = np.signbit(error) == np.signbit(near)
    return (near.view(np.int64) + np.where(move, np.where(away, 1, -1), 0)).view(np.float64)


def encode(dtype: DType, x: Reals, rounding: Rounding = Rounding.RNE, saturate: bool = False) -> tuple[Bits, Flags]:
    """The codes of reals in a floating type but FP64 and E8M0, and what rounding them raised.

    Infinities become those of the type without a flag, the NaN (E4M3) or the largest number where it has none; NaNs
    become the canonical one, or 0 where there is none. Finite numbers that are too large become the largest one or
    infinite, as ``saturate`` says.
    """
    ordinary = np.isfinite(x)
    special = not ordinary.all()
    finite = np.where(ordinary, x, 0.0) if special else x
    convert = _by_grid if dtype.bits <= 8 else _by_precision
    with np.errstate(all="ignore"):
        bits, overflow, inexact = convert(dtype, finite, rounding)
        flags = _flags(dtype, finite, rounding, overflow, inexact)
    sign = bits.dtype.type(_sign(dtype))
    if overflow.any():
        bits = np.where(overflow, _beyond(dtype, np.signbit(x), sign, saturate), bits)
    if special:
        bits = np.where(np.isinf(x), _beyond(dtype, np.signbit(x), sign, False), bits)
        bits = np.where(np.isnan(x), bits.dtype.type(canonical_nan(dtype)), bits)
    return bits, flags


def _sign(dtype: DType) -> int:
    """The sign bit; the six-bit types have it where their codes end."""
    width = 6 if dtype.must_be_zero and dtype.bits == 8 else dtype.bits
    return 1 << (width - 1)


def _beyond(dtype: DType, negative: Mask, sign: Any, saturate: bool) -> Bits:
    code = infinity(dtype)
    if saturate or (code is None and dtype.name != "E4M3"):
        code = largest_finite(dtype)
    if code is None:
        return np.full(negative.shape, canonical_nan(dtype), sign.dtype)
    signed: Bits = np.where(negative, sign | sign.dtype.type(code), sign.dtype.type(code))
    return signed


def _flags(dtype: DType, x: Reals, rounding: Rounding, overflow: Mask, inexact: Mask) -> Flags:
    form = format_of(dtype)
    flags: Flags = (inexact | overflow) * np.uint8(NX)
    if overflow.any():
        flags |= overflow * np.uint8(OVERFLOW)
    small = inexact & (np.abs(x) < 2.0**form.lowest)
    if small.any():
        # Tininess is judged after rounding, as if exponents had no lower end.
        unbounded = to_precision(x[small], form.fraction, -1100, rounding)
        flags[small] |= (np.abs(unbounded) < 2.0**form.lowest) * np.uint8(UF)
    return flags


def _by_precision(dtype: DType, x: Reals, rounding: Rounding) -> tuple[Bits, Mask, Mask]:
    form = format_of(dtype)
    if rounding in (Rounding.DEFAULT, Rounding.RNE):
        rounded = _nearest(x, form)
    else:
        rounded = to_precision(x, form.fraction, form.lowest, rounding)
    rounded = np.copysign(rounded, x)
    overflow = np.abs(rounded) > form.largest
    if dtype.name == "FP16":
        bits: Bits = rounded.astype(np.float16).view(np.uint16)
    else:
        bits = rounded.astype(np.float32).view(np.uint32)
        if dtype.bits == 16:
            bits = (bits >> np.uint32(16)).astype(np.uint16)
    return bits, overflow, rounded != x


def _nearest(x: Reals, form: Format) -> Reals:
    """To nearest even: adding a number whose last bit stands where the fraction is to end makes the host round."""
    leading = (x.view(np.uint64) & _EXPONENT).view(np.float64)
    leading = np.clip(leading, 2.0**form.lowest, 2.0**900)
    leading *= 1.5 * 2.0 ** (52 - form.fraction)
    rounded: Reals = (x + leading) - leading
    return rounded


class _Grid(NamedTuple):
    """The non-negative numbers of a small type, ascending, with one beyond the largest; and their codes."""

    values: Reals
    codes: NDArray[np.uint8]
    middles: Reals


@cache
def _grid(dtype: DType) -> _Grid:
    table = small_table(dtype).astype(np.float64)
    codes = np.flatnonzero(np.isfinite(table) & ~np.signbit(table) & (np.arange(len(table)) < 2 * _sign(dtype)))
    codes = codes[np.argsort(table[codes], kind="stable")]
    values = table[codes]
    values = np.append(values, 2 * values[-1] - values[-2])
    return _Grid(values, np.append(codes, 0).astype(np.uint8), (values[1:] + values[:-1]) / 2)


def _by_grid(dtype: DType, x: Reals, rounding: Rounding) -> tuple[Bits, Mask, Mask]:
    """Between two neighbours of a small type; the even one of two codes is the even number throughout."""
    grid = _grid(dtype)
    negative = np.signbit(x)
    magnitude = np.abs(x)
    capped = np.minimum(magnitude, grid.values[-1])
    low = np.searchsorted(grid.values, capped, side="right") - 1
    inexact = grid.values[low] != magnitude
    low = np.minimum(low, len(grid.middles) - 1)
    odd = (grid.codes[low] & 1).astype(bool)
    middle = grid.middles[low]
    if rounding in (Rounding.DEFAULT, Rounding.RNE):
        up = (capped > middle) | ((capped == middle) & odd)
    elif rounding == Rounding.RTZ:
        up = np.zeros(x.shape, bool)
    elif rounding == Rounding.RTM:
        up = negative
    elif rounding == Rounding.RTP:
        up = ~negative
    elif rounding == Rounding.RNA:
        up = capped >= middle
    elif rounding == Rounding.RTO:
        up = ~odd
    else:
        up = (capped > middle) | ((capped == middle) & ~negative)
    chosen = low + (up & inexact)
    chosen = np.where(capped == grid.values[-1], len(grid.middles), chosen)
    overflow = magnitude > grid.values[-2] if dtype.name in _BEFORE_ROUNDING else chosen == len(grid.middles)
    bits = grid.codes[chosen]
    signed = bits | np.where(negative, np.uint8(_sign(dtype)), np.uint8(0))
    if dtype.name == "HiF8":
        signed = np.where(bits == 0, bits, signed)
    return signed, overflow, inexact
