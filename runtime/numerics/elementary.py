"""Exponential, logarithm, reciprocal and roots of one operand, correctly rounded.

Types of at most sixteen bits are looked up in tables that the general way fills. float64 functions of the host are
good to a few units in their last place: where a result comes that close to a number or a midpoint of the type, it is
computed again with a hundred digits, enough for every power of two that is exact. FP64 itself is the host's function.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics import doubles
from ptoc.runtime.numerics.arithmetic import (
    Elements,
    Result,
    looked_up,
    native,
    quotient_to_odd,
    root_to_odd,
    table_of,
    together,
)
from ptoc.runtime.numerics.encode import encode, format_of, to_odd
from ptoc.runtime.numerics.flags import DZ, NV, NX, OVERFLOW, UNDERFLOW
from ptoc.runtime.numerics.formats import canonical_nan, decode_reals, is_signalling
from ptoc.runtime.numerics.rounding import Reals

Bits = NDArray[Any]
_DIGITS = decimal.Context(prec=100, Emin=-999999, Emax=999999)


def _exponential(x: Reals) -> Reals:
    finite = np.isfinite(x)
    y = np.exp(np.clip(x, -600.0, 600.0))
    y = np.where(finite, y, np.exp(x))
    # Of smaller arguments the host gives one, and nothing says on which side of it the result lies.
    return np.where((np.abs(x) < 2.0**-48) & (x != 0), np.where(x > 0, 1 + 2.0**-52, 1 - 2.0**-53), y)


def _reciprocal(x: Reals) -> Reals:
    return quotient_to_odd(np.ones(1), x)


def _inverse_root(x: Reals) -> Reals:
    y: Reals = 1 / np.sqrt(x)
    return y


_FUNCTIONS: dict[str, Callable[[Reals], Reals]] = {
    "exp": _exponential,
    "log": np.log,
    "recip": _reciprocal,
    "sqrt": root_to_odd,
    "rsqrt": _inverse_root,
}
_PRECISE: dict[str, Callable[[Decimal], Decimal]] = {
    "exp": lambda x: x.exp(_DIGITS),
    "log": lambda x: x.ln(_DIGITS),
    "rsqrt": lambda x: _DIGITS.divide(1, x.sqrt(_DIGITS)),
}


def _settled(operation: str, dtype: DType, x: Reals, y: Reals) -> Reals:
    """Results of the host rounded to odd where its error could matter."""
    form = format_of(dtype)
    candidates = np.isfinite(y) & (y != 0)
    if operation == "exp":
        candidates &= (np.abs(x) >= 2.0**-48) & (np.abs(x) < 600)
    _, exponent = np.frexp(y)
    steps = np.ldexp(y, form.fraction + 2 - np.maximum(exponent, form.lowest + 1))
    doubtful = candidates & (np.abs(steps - np.rint(steps)) < np.abs(steps) * 2.0**-50)
    if not doubtful.any():
        return y
    y = y.copy()
    for place in zip(*np.nonzero(doubtful)):
        precise = _PRECISE[operation](Decimal(float(x[place])))
        near = np.array([float(precise)])
        error = _DIGITS.subtract(precise, Decimal(float(near[0])))
        y[place] = to_odd(near, np.array([float(error)]))[0]
    return y


def _general(operation: str, dtype: DType, bits: Bits) -> Elements:
    x = decode_reals(dtype, bits)
    with np.errstate(all="ignore"):
        if dtype.bits == 64:
            y, out, flags = _double(operation, x)
        else:
            y = _FUNCTIONS[operation](x)
            if operation in _PRECISE:
                y = _settled(operation, dtype, x, y)
            out, flags = encode(dtype, y)
        nan = np.isnan(x)
        invalid = is_signalling(dtype, bits) | (np.isnan(y) & ~nan)
        flags = flags | invalid * np.uint8(NV)
        if operation in ("log", "recip", "rsqrt"):
            flags = flags | (x == 0) * np.uint8(DZ)
        out = np.where(np.isnan(y), out.dtype.type(canonical_nan(dtype)), out)
    return out, flags


def _double(operation: str, x: Reals) -> tuple[Reals, Bits, NDArray[np.uint8]]:
    if operation == "recip":
        out, flags = doubles.OPERATIONS["divide"](np.ones(x.shape), x)
        return out.view(np.float64), out, flags
    if operation == "sqrt":
        out, flags = doubles.root(x)
        return out.view(np.float64), out, flags
    y = _DOUBLES[operation](x)
    finite = np.isfinite(x) & ~np.isnan(y) & (x != 0)
    if operation == "rsqrt":
        significand, exponent = np.frexp(x)
        inexact = (significand != 0.5) | (exponent & 1 == 0)
    else:
        inexact = x != 1 if operation == "log" else finite
    flags = np.where(finite & inexact, np.uint8(NX), np.uint8(0))
    if operation == "exp":
        flags |= np.where(finite & np.isinf(y), np.uint8(OVERFLOW), np.uint8(0))
        flags |= np.where(finite & (y < 2.0**-1022), np.uint8(UNDERFLOW), np.uint8(0))
    return y, y.view(np.uint64), flags


def _double_inverse_root(x: Reals) -> Reals:
    """The host's two roundings, and a step with twice the digits by the first terms of the series about it."""
    significand, exponent = np.frexp(x)
    odd = exponent & 1
    m = np.where(odd, 2 * significand, significand)
    near = 1 / np.sqrt(m)
    square, lost = doubles.product(near, near)
    unit, more = doubles.product(square, m)
    rest = ((1 - unit) - more) - lost * m
    refined = near + near * (rest / 2 + rest * rest * 0.375)
    return np.where(np.isfinite(x) & (x > 0), np.ldexp(refined, -((exponent - odd) // 2)), 1 / np.sqrt(x))


_DOUBLES: dict[str, Callable[[Reals], Reals]] = {"exp": np.exp, "log": np.log, "rsqrt": _double_inverse_root}


@cache
def _table(operation: str, dtype: DType) -> NDArray[Any]:
    return table_of(_general(operation, dtype, np.arange(1 << dtype.bits, dtype=np.uint32).astype(f"u{dtype.nbytes}")))


_HOST: dict[str, Callable[..., Any]] = {"sqrt": np.sqrt, "recip": np.reciprocal}


def _singles(operation: str, dtype: DType, a: Bits) -> Result | None:
    """Normal FP32 results that are inexact beyond doubt: the host's float64 function, rounded once more."""
    if dtype.must_be_zero:
        return None
    try:
        with np.errstate(all="raise"):
            y = _NEAR[operation](a.view(np.float32).astype(np.float64))
            z = y.astype(np.float32)
    except FloatingPointError:
        return None
    # The last bits say how far a number or a midpoint of FP32 is; the host errs by less than eight of them.
    rest = y.view(np.uint64).astype(np.uint32) + np.uint32(8) & np.uint32((1 << 28) - 1)
    if (rest < np.uint32(16)).any() or not (np.abs(z) < np.inf).all() or (np.abs(z) < np.float32(2.0**-126)).any():
        return None
    return z.view(np.uint32), NX


_NEAR: dict[str, Callable[[Reals], Reals]] = {"exp": np.exp, "log": np.log, "rsqrt": _inverse_root}


def _apply(operation: str, dtype: DType, a: Bits, up: int) -> Result:
    if dtype.bits <= 16:
        return looked_up(_table(operation, dtype), a, a.dtype)
    if up & NX and operation in _HOST:
        quick = native(_HOST[operation], dtype, a)
        if quick is not None:
            return quick, 0
    if dtype.bits == 32 and operation in _PRECISE:
        quickly = _singles(operation, dtype, a)
        if quickly is not None:
            return quickly
    bits, flags = _general(operation, dtype, a)
    return bits, together(flags)


def exp(dtype: DType, a: Bits, up: int = 0) -> Result:
    """e to the power of x."""
    return _apply("exp", dtype, a, up)


def log(dtype: DType, a: Bits, up: int = 0) -> Result:
    """The natural logarithm of x."""
    return _apply("log", dtype, a, up)


def reciprocal(dtype: DType, a: Bits, up: int = 0) -> Result:
    """1 / x."""
    return _apply("recip", dtype, a, up)


def square_root(dtype: DType, a: Bits, up: int = 0) -> Result:
    """The square root of x."""
    return _apply("sqrt", dtype, a, up)


def inverse_root(dtype: DType, a: Bits, up: int = 0) -> Result:
    """1 / the square root of x, rounded once."""
    return _apply("rsqrt", dtype, a, up)
