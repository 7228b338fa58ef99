"""Element arithmetic of the vector operations on raw bits: exact, rounded once to nearest even, with flags.

A function takes the type, the operands' bits (which broadcast) and the flags that are up already, and returns the
result's bits and flags. Flags are sticky, so what is up is not looked for again: most calls are then one operation of
numpy. Everything else takes the general way, by way of float64 rounded to odd; types of eight bits take it once for
all pairs of codes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import FP32, DType
from ptoc.isa.postprocess import ReluMode
from ptoc.runtime.numerics import doubles
from ptoc.runtime.numerics.encode import Flags, encode, to_odd
from ptoc.runtime.numerics.flags import DZ, NV, NX, UF
from ptoc.runtime.numerics.formats import (
    canonical_nan,
    decode_floats,
    decode_reals,
    integers,
    is_nan,
    is_signalling,
)
from ptoc.runtime.numerics.narrow import narrow
from ptoc.runtime.numerics.rounding import Reals

Bits = NDArray[Any]
Floats = NDArray[np.float32]
Result = tuple[Bits, int]
Elements = tuple[Bits, Flags]

NATIVE: dict[str, type[np.floating[Any]]] = {"FP32": np.float32, "FP64": np.float64}
"""Types that the host computes with."""


def together(flags: Flags) -> int:
    """The flags of all elements."""
    return int(np.bitwise_or.reduce(flags, axis=None))


def unsigned(values: Bits, like: Bits) -> Bits:
    """Integers as the bits of elements, modulo their width."""
    return values.view(like.dtype) if values.dtype.itemsize == like.dtype.itemsize else values.astype(like.dtype)


# Floating operations, exact or rounded to odd


def sum_to_odd(x: Reals, y: Reals) -> Reals:
    total = x + y
    part = total - x
    return to_odd(total, (x - (total - part)) + (y - part))


def quotient_to_odd(x: Reals, y: Reals) -> Reals:
    """Of numbers with at most 24 significant bits: the remainder of the host's quotient is exact."""
    quotient = x / y
    high = (quotient.view(np.uint64) & np.uint64(0xFFFF_FFFF_E000_0000)).view(np.float64)
    rest = (x - high * y) - (quotient - high) * y
    return to_odd(quotient, np.where(np.isfinite(quotient) & np.isfinite(y), rest * np.sign(y), 0.0))


def root_to_odd(x: Reals) -> Reals:
    """The square root of numbers with at most 24 significant bits."""
    root = np.sqrt(x)
    high = (root.view(np.uint64) & np.uint64(0xFFFF_FFFF_F800_0000)).view(np.float64)
    low = root - high
    rest = ((x - high * high) - 2 * high * low) - low * low
    return to_odd(root, np.where(np.isfinite(root), rest, 0.0))


def _remainder_to_odd(x: Reals, y: Reals) -> Reals:
    rest = np.fmod(x, y)
    other = (rest != 0) & (np.signbit(rest) != np.signbit(y))
    rest = np.where(other & np.isfinite(y), sum_to_odd(rest, y), rest)
    return np.where(rest == 0, 0.0, rest)


_EXACT: dict[str, Callable[[Reals, Reals], Reals]] = {
    "add": sum_to_odd,
    "subtract": lambda x, y: sum_to_odd(x, -y),
    "multiply": np.multiply,
    "divide": quotient_to_odd,
    "remainder": _remainder_to_odd,
}


def _general(operation: str, dtype: DType, a: Bits, b: Bits) -> Elements:
    """Any floating operation of two operands on any values, with the flags of every element."""
    x, y = decode_reals(dtype, a), decode_reals(dtype, b)
    with np.errstate(all="ignore"):
        if dtype.bits == 64:
            bits, flags = doubles.OPERATIONS[operation](x, y)
        else:
            z = _EXACT[operation](x, y)
            bits, flags = encode(dtype, z)
        nan = np.isnan(x) | np.isnan(y)
        invalid = is_signalling(dtype, a) | is_signalling(dtype, b)
        if operation == "remainder":
            invalid = invalid | ((np.isinf(x) | (y == 0)) & ~nan)
            unchanged = (np.isinf(y) & np.isfinite(x)) | ((x == 0) & (y != 0) & ~nan)
            bits = np.where(unchanged, a, bits)
            flags = np.where(unchanged, np.uint8(0), flags)
        else:
            invalid = invalid | (_no_number(operation, x, y) & ~nan)
        flags = flags | invalid * np.uint8(NV)
        if operation == "divide":
            flags = flags | ((y == 0) & (x != 0) & np.isfinite(x)) * np.uint8(DZ)
        lost = nan | invalid
        if lost.any():
            bits = np.where(lost, bits.dtype.type(canonical_nan(dtype)), bits)
    return bits, flags


def _no_number(operation: str, x: Reals, y: Reals) -> NDArray[np.bool_]:
    """Which operands that are no NaNs have no result."""
    result: NDArray[np.bool_]
    if operation == "multiply":
        result = (np.isinf(x) & (y == 0)) | ((x == 0) & np.isinf(y))
    elif operation == "divide":
        result = (np.isinf(x) & np.isinf(y)) | ((x == 0) & (y == 0))
    else:
        opposite = np.signbit(x) != np.signbit(y)
        result = np.isinf(x) & np.isinf(y) & (opposite if operation == "add" else ~opposite)
    return result


@cache
def _pairs(operation: str, dtype: DType) -> NDArray[Any]:
    """Results and flags of all pairs of codes of eight bits; the left code is the high byte."""
    codes = np.arange(256, dtype=np.uint8)
    return table_of(_general(operation, dtype, np.repeat(codes, 256), np.tile(codes, 256)))


def table_of(elements: Elements) -> NDArray[Any]:
    """A table for ``looked_up``: words with results in their lower and flags in their upper half."""
    bits, flags = elements
    half = max(bits.dtype.itemsize, 2)
    if half == 8:
        raise ValueError("results of a table have at most 32 bits")
    word = np.dtype(f"u{2 * half}").type
    table: NDArray[Any] = bits.astype(word) | flags.astype(word) << word(8 * half)
    return table


def looked_up(table: NDArray[Any], codes: Bits, result: Any) -> Result:
    """Results, of the numpy type ``result``, and flags, from a table of all codes."""
    found = table.take(codes, mode="clip")
    return found.astype(result), int(np.bitwise_or.reduce(found, axis=None)) >> 4 * found.dtype.itemsize


def native(function: Callable[..., Any], dtype: DType, *operands: Bits) -> Bits | None:
    """The host's own operation, where it raised nothing but inexact and no result is a NaN."""
    host = NATIVE.get(dtype.name)
    if host is None:
        return None
    try:
        with np.errstate(all="raise"):
            result = function(*[bits.view(host) for bits in operands])
    except FloatingPointError:
        return None
    least = np.minimum.reduce(result, axis=None)
    # It is a NaN where any result is one.
    if least != least:
        return None
    bits: Bits = result.view(operands[0].dtype)
    return bits


def _float(operation: str, dtype: DType, a: Bits, b: Bits, up: int) -> Result:
    if dtype.bits == 8:
        return looked_up(_pairs(operation, dtype), a.astype(np.uint16) << np.uint16(8) | b, np.uint8)
    quick = _halves(operation, dtype, a, b, up) if dtype.bits == 16 else _quick(operation, dtype, a, b, up)
    if quick is not None:
        return quick
    bits, flags = _general(operation, dtype, a, b)
    return bits, together(flags)


def _quick(operation: str, dtype: DType, a: Bits, b: Bits, up: int) -> Result | None:
    """FP32 and FP64 by one operation of the host; whether it was inexact is mostly seen in the first row."""
    if operation == "remainder":
        return None
    bits = native(getattr(np, operation), dtype, a, b)
    if bits is None or up & NX:
        return None if bits is None else (bits, 0)
    if dtype.bits == 64:
        return (bits, NX) if together(_general(operation, dtype, a[:1], b[:1])[1]) & NX else None
    return bits, NX if _inexact(operation, a, b, bits) else 0


def _inexact(operation: str, a: Bits, b: Bits, bits: Bits) -> bool:
    """Whether any FP32 result that did not underflow or overflow differs from the exact one."""
    with np.errstate(invalid="ignore"):
        for rows in (slice(1), slice(None)):
            x, y, z = (values[rows].view(np.float32) for values in (a, b, bits))
            differs = _differs(operation, x, y, z)
            if differs.any() and (differs & np.isfinite(x) & np.isfinite(y)).any():
                return True
    return False


def _differs(operation: str, x: Floats, y: Floats, z: Floats) -> NDArray[np.bool_]:
    """Where a result is not the exact one of finite operands, by going back to them.

    From a sum the host gets back exactly by taking away the larger operand, and to the other one only if the sum was
    exact.
    """
    result: NDArray[np.bool_]
    if operation == "add":
        result = (z - x != y) | (z - y != x)
    elif operation == "subtract":
        result = (x - z != y) | (z + y != x)
    elif operation == "multiply":
        result = x.astype(np.float64) * y != z
    else:
        result = z.astype(np.float64) * y != x
    return result


def _halves(operation: str, dtype: DType, a: Bits, b: Bits, up: int) -> Result | None:
    """FP16 and BF16 by way of FP32, whose fraction is long enough for two roundings to be as good as one.

    That holds for normal results; where one is tiny, the general way decides.
    """
    if operation == "remainder":
        return None
    x, y = (np.asarray(decode_floats(dtype, bits)).view(np.uint32) for bits in (a, b))
    wide = native(getattr(np, operation), FP32, x, y)
    found = None if wide is None else narrow(dtype.name, ReluMode.NONE, wide)
    if wide is None or found is None or found[1] & UF:
        return None
    bits, flags = found
    return bits, flags if (flags | up) & NX or not _inexact(operation, x, y, wide) else NX


# Both kinds of numbers


def add(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """x + y; integers modulo 2^width."""
    return _float("add", dtype, a, b, up) if dtype.is_float else (a + b, 0)


def subtract(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """x - y; integers modulo 2^width."""
    return _float("subtract", dtype, a, b, up) if dtype.is_float else (a - b, 0)


def multiply(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """x * y; integers modulo 2^width."""
    return _float("multiply", dtype, a, b, up) if dtype.is_float else (a * b, 0)


def divide(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """x / y; an integer quotient is truncated, and no divisor is zero."""
    if dtype.is_float:
        return _float("divide", dtype, a, b, up)
    x, y = integers(dtype, a), integers(dtype, b)
    with np.errstate(over="ignore"):
        quotient = x // y
        if dtype.numeric_class == "signed":
            # The host rounds down: one too low where something is left of a negative quotient.
            quotient += ((x ^ y) < 0) & (quotient * y != x)
    return unsigned(quotient, a), 0


def remainder(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """x - y * floor(x / y), with the sign of y; no divisor of integers is zero."""
    if dtype.is_float:
        return _float("remainder", dtype, a, b, up)
    with np.errstate(over="ignore"):
        return unsigned(np.remainder(integers(dtype, a), integers(dtype, b)), a), 0


def bitwise_and(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    return a & b, 0


def bitwise_or(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    return a | b, 0


def bitwise_xor(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    return a ^ b, 0


def shift_left(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """x shifted by y modulo the width."""
    return a << (b & b.dtype.type(dtype.bits - 1)), 0


def shift_right(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """x shifted by y modulo the width; signed types keep the sign."""
    count = b & b.dtype.type(dtype.bits - 1)
    return unsigned(integers(dtype, a) >> integers(dtype, count), a), 0


def maximum(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """The larger of x and y: +0 is above -0, and a number wins over a NaN."""
    return _extremum(np.maximum, dtype, a, b)


def minimum(dtype: DType, a: Bits, b: Bits, up: int = 0) -> Result:
    """The smaller of x and y."""
    return _extremum(np.minimum, dtype, a, b)


def _extremum(choose: Any, dtype: DType, a: Bits, b: Bits) -> Result:
    if not dtype.is_float:
        return unsigned(choose(integers(dtype, a), integers(dtype, b)), a), 0
    if dtype.name in NATIVE:
        host = NATIVE[dtype.name]
        plain = choose(a.view(host), b.view(host))
        # Neither a NaN nor a zero, whose sign the host does not promise.
        if np.minimum.reduce(plain, axis=None) > 0 or (np.abs(plain) > 0).all():
            found: Bits = plain.view(a.dtype)
            return found, 0
    nan_a, nan_b = is_nan(dtype, a), is_nan(dtype, b)
    bits = from_keys(choose(to_keys(a), to_keys(b)))
    if not (nan_a.any() or nan_b.any()):
        return bits, 0
    bits = np.where(nan_a, b, np.where(nan_b, a, bits))
    bits = np.where(nan_a & nan_b, a.dtype.type(canonical_nan(dtype)), bits)
    signalling = is_signalling(dtype, a).any() or is_signalling(dtype, b).any()
    return bits, NV if signalling else 0


def to_keys(bits: Bits) -> Bits:
    """Signed integers in the order of floating codes, -0 below +0; ``from_keys`` undoes it."""
    signed = bits.view(f"i{bits.dtype.itemsize}")
    mask = signed >> signed.dtype.type(8 * bits.dtype.itemsize - 1)
    keys: Bits = signed ^ (mask & signed.dtype.type(np.iinfo(signed.dtype).max))
    return keys


def from_keys(keys: Bits) -> Bits:
    bits: Bits = to_keys(keys).view(f"u{keys.dtype.itemsize}")
    return bits


def fused(dtype: DType, a: Bits, b: Bits, c: Bits, up: int = 0) -> Result:
    """x * y + z, rounded once; integers modulo 2^width."""
    if not dtype.is_float:
        return a * b + c, 0
    x, y, z = (decode_reals(dtype, bits) for bits in (a, b, c))
    with np.errstate(all="ignore"):
        if dtype.bits == 64:
            bits, flags = doubles.fused(x, y, z)
            product = np.where(np.isinf(x) | np.isinf(y), x * y, np.where(np.isnan(x) | np.isnan(y), np.nan, 0.0))
            total = product + z
        else:
            product = x * y
            total = sum_to_odd(product, z)
            bits, flags = encode(dtype, total)
        nan = np.isnan(total)
        if nan.any():
            factors = np.isnan(x) | np.isnan(y)
            invalid = np.isnan(product) & ~factors
            invalid |= nan & ~(np.isnan(product) | np.isnan(z))
            for operand in (a, b, c):
                invalid |= is_signalling(dtype, operand)
            flags = flags | invalid * np.uint8(NV)
            bits = np.where(nan, bits.dtype.type(canonical_nan(dtype)), bits)
    return bits, together(flags)


# Operations of one operand without rounding


def absolute(dtype: DType, a: Bits, up: int = 0) -> Result:
    """The magnitude: the sign bit cleared, also of NaNs; the smallest integer stays."""
    if dtype.is_float:
        return a & a.dtype.type((1 << (dtype.bits - 1)) - 1), 0
    if dtype.numeric_class == "unsigned":
        return a.copy(), 0
    return unsigned(np.abs(integers(dtype, a)), a), 0


def negative(dtype: DType, a: Bits, up: int = 0) -> Result:
    """-x: the sign bit flipped, also of NaNs; integers modulo 2^width."""
    if dtype.is_float:
        return a ^ a.dtype.type(1 << (dtype.bits - 1)), 0
    return np.negative(a), 0


def invert(dtype: DType, a: Bits, up: int = 0) -> Result:
    return ~a, 0


def relu(dtype: DType, a: Bits, up: int = 0) -> Result:
    """Positive elements as they are, +0 for all others, the canonical NaN for NaNs."""
    if dtype.numeric_class == "unsigned":
        return a.copy(), 0
    signed = a.view(f"i{a.dtype.itemsize}")
    bits = unsigned(np.maximum(signed, signed.dtype.type(0)), a)
    if not dtype.is_float:
        return bits, 0
    nan = is_nan(dtype, a)
    if not nan.any():
        return bits, 0
    signalling = is_signalling(dtype, a).any()
    return np.where(nan, a.dtype.type(canonical_nan(dtype)), bits), NV if signalling else 0
