"""Exact decoding of element bits to FP32 values or integers, and the tables of the small formats."""

from __future__ import annotations

from functools import cache
from math import ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType

Floats = NDArray[np.float32]
Bits = NDArray[Any]
CANONICAL_NAN = 0x7FC0_0000


def hif8_value(code: int) -> float:
    """The value of one HiF8 byte: a prefix chooses how the other bits split into exponent and fraction."""
    specials = {0x00: 0.0, 0x80: float("nan"), 0x6F: float("inf"), 0xEF: float("-inf")}
    if code in specials:
        return specials[code]
    sign = -1.0 if code & 0x80 else 1.0
    body = code & 0x7F
    if body < 8:
        return sign * ldexp(1, body - 23)
    if body < 16:
        return sign * (1 + (body & 7) / 8)
    if body < 32:
        exponent, negative, mantissa = 1, body & 8, 1 + (body & 7) / 8
    elif body < 64:
        exponent, negative, mantissa = 2 + (body >> 3 & 1), body & 16, 1 + (body & 7) / 8
    elif body < 96:
        exponent, negative, mantissa = 4 + (body >> 2 & 3), body & 16, 1 + (body & 3) / 4
    else:
        exponent, negative, mantissa = 8 + (body >> 1 & 7), body & 16, 1 + (body & 1) / 2
    return sign * ldexp(mantissa, -exponent if negative else exponent)


def conventional_value(dtype: DType, code: int) -> float:
    """The value of a code of a sign/exponent/fraction format of at most eight bits."""
    fraction_bits, exponent_bits = dtype.fraction, dtype.exponent
    fraction = code & ((1 << fraction_bits) - 1)
    exponent = code >> fraction_bits & ((1 << exponent_bits) - 1)
    sign = -1.0 if code >> (fraction_bits + exponent_bits) & 1 else 1.0
    if dtype.name == "E4M3" and code & 0x7F == 0x7F:
        return float("nan")
    if dtype.name == "E5M2" and exponent == 31:
        return float("nan") if fraction else sign * float("inf")
    if exponent == 0:
        return sign * ldexp(fraction, 1 - dtype.bias - fraction_bits)
    return sign * ldexp(1 + fraction / (1 << fraction_bits), exponent - dtype.bias)


@cache
def small_table(dtype: DType) -> Floats:
    """FP32 value of all 256 bytes (or 16 nibbles) of a floating type of at most eight bits."""
    codes = range(16 if dtype.packed else 256)
    if dtype.name == "HiF8":
        values = [hif8_value(code) for code in codes]
    elif dtype.name == "E8M0":
        values = [ldexp(1, code - 127) for code in codes[:-1]] + [float("nan")]
    elif dtype.name in ("E1M2X2", "HiF4X2"):
        values = [(-1.0 if code & 8 else 1.0) * (code & 7) / 4 for code in codes]
    else:
        used = 0xFF & ~dtype.must_be_zero
        values = [conventional_value(dtype, code & used) for code in codes]
    table = np.array(values, np.float32)
    table.flags.writeable = False
    return table


@cache
def _hif8_order() -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
    """Codes of the finite HiF8 values, ascending, those values, and the midpoints between neighbours."""
    table = small_table(dtypes.HIF8).astype(np.float64)
    codes = np.flatnonzero(np.isfinite(table))
    codes = codes[np.argsort(table[codes], kind="stable")]
    values = table[codes]
    return codes.astype(np.uint8), values, (values[1:] + values[:-1]) / 2


def nearest_hif8(x: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Codes and values of the finite HiF8 numbers nearest to float64 numbers (no NaNs), of two the greater one.

    Numbers beyond the largest have that; what an overflow or a zero with a sign becomes is the caller's to say.
    """
    codes, values, middles = _hif8_order()
    nearest = np.searchsorted(middles, x, side="right")
    return codes[nearest], values[nearest]


@cache
def _fp16_table() -> Floats:
    """FP32 values of all FP16 patterns: one look-up per element beats ``astype`` and what numpy can do with bits."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def decode_floats(dtype: DType, bits: Bits) -> Floats:
    """FP32 values of a floating matmul operand; bits that a valid encoding keeps clear are ignored."""
    if dtype.bits <= 8:
        return small_table(dtype).take(bits, mode="clip")
    if dtype.name == "FP16":
        return _fp16_table().take(bits, mode="clip")
    if dtype.name == "BF16":
        return np.left_shift(bits, np.uint32(16), dtype=np.uint32).view(np.float32)
    if dtype.must_be_zero:
        return (bits & np.uint32(0xFFFF_FFFF & ~dtype.must_be_zero)).view(np.float32)
    return bits.view(np.float32)


def decode_reals(dtype: DType, bits: Bits) -> NDArray[np.float64]:
    """The exact values of a floating type as float64."""
    if dtype.bits == 64:
        return bits.view(np.float64)
    with np.errstate(invalid="ignore"):
        # A signalling NaN of the host becomes a quiet one here; who wants to know asks ``is_signalling``.
        return decode_floats(dtype, bits).astype(np.float64)


def integers(dtype: DType, bits: Bits) -> Bits:
    """Elements of an integer type of whole bytes as integers of the host, without a copy."""
    return bits.view(f"i{bits.dtype.itemsize}") if dtype.numeric_class == "signed" else bits


def decode_integers(dtype: DType, bits: Bits) -> Floats:
    """Integer values of at most sixteen bits, as FP32 numbers (which hold them exactly)."""
    if dtype.name == "S4X2":
        return ((bits ^ np.uint8(8)).astype(np.float32)) - np.float32(8)
    if dtype.numeric_class == "signed":
        bits = bits.view(f"i{bits.dtype.itemsize}")
    return bits.astype(np.float32)


def canonical_nans(values: Floats) -> Floats:
    """The same FP32 array with every NaN replaced by the canonical one, in place."""
    nan = np.isnan(values)
    if nan.any():
        values.view(np.uint32)[nan] = CANONICAL_NAN
    return values


def signalling(bits: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which FP32 patterns are signalling NaNs."""
    magnitude = bits & np.uint32(0x7FFF_FFFF)
    return (magnitude > np.uint32(0x7F80_0000)) & (magnitude < np.uint32(0x7FC0_0000))


_INFINITY = {"FP64": 0x7FF << 52, "E4M3": 0x7E, "E5M2": 0x7C, "FP16": 0x7C00, "BF16": 0x7F80}
_NO_NAN = frozenset(("E3M2", "E2M3", "E2M1X2", "E1M2X2", "HiF4X2"))
_ONE_NAN = {"HiF8": 0x80, "E8M0": 0xFF}
_QUIET_ONLY = frozenset(("E4M3", *_ONE_NAN))
_CANONICAL = {"FP64": 0x7FF8 << 48, "FP16": 0x7E00, "BF16": 0x7FC0, "E4M3": 0x7F, "E5M2": 0x7E, **_ONE_NAN}


def canonical_nan(dtype: DType) -> int:
    """The NaN that operations produce; types without one have 0 there."""
    return 0 if dtype.name in _NO_NAN else _CANONICAL.get(dtype.name, CANONICAL_NAN)


def infinity(dtype: DType) -> int | None:
    """The code of +Inf; ``None`` for types without one."""
    if dtype.name == "HiF8":
        return 0x6F
    if dtype.name in _QUIET_ONLY or dtype.name in _NO_NAN:
        return None
    return _INFINITY.get(dtype.name, 0x7F80_0000)


def largest_finite(dtype: DType) -> int:
    """The code of the largest finite number."""
    if dtype.name == "HiF8":
        return 0x6E
    if dtype.name in _NO_NAN:
        return 7 if dtype.packed else 0x1F
    return 0xFE if dtype.name == "E8M0" else dtype.pad_max


def is_nan(dtype: DType, bits: Bits) -> NDArray[np.bool_]:
    """Which elements of a floating type are NaNs."""
    result: NDArray[np.bool_]
    if dtype.name in _NO_NAN:
        return np.zeros(bits.shape, bool)
    if dtype.name in _ONE_NAN:
        result = bits == bits.dtype.type(_ONE_NAN[dtype.name])
        return result
    magnitude = bits & bits.dtype.type((1 << (8 * bits.dtype.itemsize - 1)) - 1)
    result = magnitude > bits.dtype.type(_INFINITY.get(dtype.name, 0x7F80_0000))
    return result


def is_signalling(dtype: DType, bits: Bits) -> NDArray[np.bool_]:
    """Which are NaNs whose most significant fraction bit is clear; the carrier types keep it where FP32 does."""
    if dtype.name in _NO_NAN or dtype.name in _QUIET_ONLY:
        return np.zeros(bits.shape, bool)
    fraction = 23 if dtype.bits == 32 else dtype.fraction
    quiet = bits & bits.dtype.type(1 << (fraction - 1))
    result: NDArray[np.bool_] = is_nan(dtype, bits) & (quiet == 0)
    return result
