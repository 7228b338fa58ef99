"""TCVT: elements of any type as elements of any other, in every rounding mode, with flags.

Large tiles of types of at most sixteen bits are looked up in tables of all codes, one for each way of converting; the
general way fills them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import Rounding
from ptoc.runtime.numerics.arithmetic import Elements, Result, looked_up, table_of, together
from ptoc.runtime.numerics.encode import encode
from ptoc.runtime.numerics.flags import NV, NX, OVERFLOW, UNDERFLOW
from ptoc.runtime.numerics.formats import canonical_nan, decode_reals, infinity, is_signalling
from ptoc.runtime.numerics.rounding import Reals, to_integers

Bits = NDArray[Any]
_E8M0 = dtypes.BY_NAME["E8M0"]
_E8M0_SOURCES = frozenset((dtypes.FP16, dtypes.BF16, dtypes.FP32))
_WORTH_A_TABLE = 1 << 14
"""Elements of sixteen bits in one call, from which on a table is made for it and for those to come."""


@dataclass(frozen=True)
class Cast:
    """One way of converting; ``rounding`` may be the default, which depends on the types."""

    source: DType
    result: DType
    rounding: Rounding
    saturate: bool

    @property
    def legal(self) -> bool:
        """Scales are made of three types only."""
        return self.result != _E8M0 or self.source in _E8M0_SOURCES

    @property
    def mode(self) -> Rounding:
        """The rounding with the default resolved: toward zero from floats to integers, else to nearest even."""
        if self.rounding != Rounding.DEFAULT:
            return self.rounding
        return Rounding.RTZ if self.source.is_float and not self.result.is_float else Rounding.RNE


def cast(how: Cast, bits: Bits) -> Result:
    """The elements of a tile converted, and the flags raised."""
    small = how.source.bits <= 8 or (how.source.bits == 16 and bits.size >= _WORTH_A_TABLE)
    if small and how.result.bits <= 32:
        return looked_up(_table(how), bits, f"u{how.result.nbytes}")
    out, flags = elements(how, bits)
    return out, together(flags)


@lru_cache(maxsize=256)
def _table(how: Cast) -> NDArray[Any]:
    return table_of(elements(how, np.arange(1 << how.source.bits, dtype=np.uint32).astype(f"u{how.source.nbytes}")))


def elements(how: Cast, bits: Bits) -> Elements:
    """The elements converted, with the flags of every one."""
    with np.errstate(all="ignore"):
        if how.source.is_float:
            x = decode_reals(how.source, bits)
            if not how.result.is_float:
                return _float_to_integer(how, x)
            out, flags = _float_to_float(how, x)
            return out, flags | is_signalling(how.source, bits) * np.uint8(NV)
        values = _integers(how.source, bits)
        return _integer_to_float(how, values) if how.result.is_float else _integer_to_integer(how, values)


def _integers(dtype: DType, bits: Bits) -> Bits:
    """Integers as int64, or uint64 for U64."""
    if dtype.name == "U64":
        return bits
    if dtype.name == "S4X2":
        return (bits ^ np.uint8(8)).astype(np.int64) - 8
    signed = dtype.numeric_class == "signed"
    return (bits.view(f"i{bits.dtype.itemsize}") if signed else bits).astype(np.int64)


def _limits(dtype: DType) -> tuple[int, int]:
    if dtype.numeric_class == "signed":
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def _low_bits(dtype: DType, values: Bits) -> Bits:
    """Integers of sixty-four bits as elements."""
    narrow: Bits = values.view(np.uint64).astype(f"u{dtype.nbytes}")
    return narrow & np.uint8(0xF) if dtype.packed else narrow


def _pattern(dtype: DType, value: int) -> Any:
    return np.dtype(f"u{dtype.nbytes}").type(value & ((1 << dtype.bits) - 1))


def _integer_to_integer(how: Cast, values: Bits) -> Elements:
    out = _low_bits(how.result, values)
    if how.saturate:
        low, high = _limits(how.result)
        reach_low, reach_high = _limits(how.source)
        if high < reach_high:
            out = np.where(values > high, _pattern(how.result, high), out)
        if low > reach_low:
            out = np.where(values < low, _pattern(how.result, low), out)
    return out, np.zeros(values.shape, np.uint8)


def _float_to_integer(how: Cast, x: Reals) -> Elements:
    low, high = _limits(how.result)
    ordinary = np.isfinite(x)
    finite = np.where(ordinary, x, 0.0)
    rounded = to_integers(finite, how.mode)
    # The bounds themselves may be no float64 numbers; the power of two above the highest one is.
    above, below = rounded >= float(high + 1), rounded < float(low)
    outside = above | below
    magnitude = np.fmod(np.abs(rounded), 2.0**64).astype(np.uint64)
    out = _low_bits(how.result, np.where(rounded < 0, np.uint64(0) - magnitude, magnitude))
    clamp = np.isinf(x) | outside if how.saturate else np.isinf(x)
    out = np.where(clamp, np.where(x > 0, _pattern(how.result, high), _pattern(how.result, low)), out)
    flags = (rounded != finite) * np.uint8(NX)
    flags = np.where(outside, np.uint8(OVERFLOW), flags)
    return out, np.where(ordinary, flags, np.uint8(NV))


def _float_to_float(how: Cast, x: Reals) -> Elements:
    result = how.result
    if result == _E8M0:
        return _to_scale(how, x)
    if result.bits == 64:
        # Every number of every other type is one of FP64.
        out: Bits = np.where(np.isnan(x), np.nan, x).view(np.uint64)
        return np.where(np.isnan(x), np.uint64(canonical_nan(result)), out), np.zeros(x.shape, np.uint8)
    out, flags = encode(result, x, how.mode, how.saturate)
    if infinity(result) is None:
        infinite = np.isinf(x)
        flags = np.where(infinite, np.uint8(OVERFLOW), flags)
        if result.name == "E4M3" and how.saturate:
            out = np.where(infinite, np.where(x > 0, np.uint8(0x7E), np.uint8(0xFE)), out)
    return out, flags


def _integer_to_float(how: Cast, values: Bits) -> Elements:
    wide = np.abs(values).view(np.uint64) if values.dtype == np.int64 else values
    negative = values < 0
    if how.result.bits == 64:
        x = _to_double(wide, negative, how.mode)
        back = np.where(np.abs(x) >= 2.0**64, 0.0, np.abs(x)).astype(np.uint64)
        return x.view(np.uint64), (back != wide) * np.uint8(NX)
    return encode(how.result, _to_double(wide, negative, Rounding.RTO), how.mode, how.saturate)


def _to_double(magnitude: Bits, negative: NDArray[np.bool_], mode: Rounding) -> Reals:
    """Integers with a sign, rounded to 53 bits: in two halves, whose last bits decide."""
    if not (magnitude >> np.uint64(53)).any():
        exact = magnitude.astype(np.float64)
        return np.where(negative, -exact, exact)
    # The length of the upper half, which float64 holds; what has no upper half loses nothing.
    _, length = np.frexp((magnitude >> np.uint64(32)).astype(np.float64))
    drop = np.maximum(length - 21, 0)
    parts = magnitude >> drop.astype(np.uint64)
    rest = (magnitude - (parts << drop.astype(np.uint64))).astype(np.float64)
    fraction = np.ldexp(rest, -drop)
    # Small integers with the same last bits and the same fraction round in the same way.
    tail = (parts & np.uint64(3)).astype(np.float64)
    signed = np.where(negative, -(tail + fraction), tail + fraction)
    step = np.abs(to_integers(signed, mode)) - tail
    whole = np.ldexp((parts.astype(np.int64) + step.astype(np.int64)).astype(np.float64), drop)
    result: Reals = np.where(negative, -whole, whole)
    return result


def _to_scale(how: Cast, x: Reals) -> Elements:
    """Exponents: 2^e has the code e + 127, and what is no positive number the code of the NaN."""
    significand, exponent = np.frexp(x)
    lower = exponent - 1
    exact = significand == 0.5
    mode = how.mode
    if mode == Rounding.RTM:
        up = np.zeros(x.shape, bool)
    elif mode == Rounding.RTP:
        up = np.ones(x.shape, bool)
    elif mode == Rounding.RTZ:
        up = lower < 0
    elif mode == Rounding.RTO:
        up = lower % 2 == 0
    else:
        # The numbers of the source types are never the square root of two times a power of two.
        up = 2 * significand > np.sqrt(2.0)
    code = lower + 127 + (up & ~exact)
    small, large = x < 2.0**-127, x > 2.0**127
    out = np.where(small, 0 if how.saturate else 0xFF, np.where(large, 0xFE if how.saturate else 0xFF, code))
    invalid = np.isnan(x) | (x <= 0)
    flags = np.where(exact, np.uint8(0), np.uint8(NX))
    flags = np.where(small, np.uint8(UNDERFLOW), np.where(large, np.uint8(OVERFLOW), flags))
    out = np.where(invalid, 0xFF, out).astype(np.uint8)
    return out, np.where(invalid, np.uint8(NV), flags)
