"""Element arithmetic of the vector operations in exact rationals (vector.md sections 4, 8 and 9).

Functions take a type's name and element bits and return the result's bits and its flags.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

from reference.rounding import to_integer
from reference.values import bits_of, class_of, integer, names, number, signalling

NV, DZ, OF, UF, NX = 1, 2, 4, 8, 16
INEXACT = NX
Result = tuple[int, int]

FORMATS = {
    "FP32": (23, -126),
    "TF32": (10, -126),
    "HF32": (11, -126),
    "FP16": (10, -14),
    "BF16": (7, -126),
    "E4M3": (3, -6),
    "E5M2": (2, -14),
    "E3M2": (2, -2),
    "E2M3": (3, 0),
    "E2M1X2": (1, 0),
    "FP64": (52, -1022),
}
"""Fraction bits and the exponent of the smallest normal number."""

LARGEST = {
    "FP64": 0x7FEFFFFFFFFFFFFF,
    "FP32": 0x7F7FFFFF,
    "TF32": 0x7F7FE000,
    "HF32": 0x7F7FF000,
    "FP16": 0x7BFF,
    "BF16": 0x7F7F,
    "HiF8": 0x6E,
    "E4M3": 0x7E,
    "E5M2": 0x7B,
    "E3M2": 0x1F,
    "E2M3": 0x1F,
    "E2M1X2": 7,
    "E1M2X2": 7,
    "HiF4X2": 7,
}
NAN = {
    "FP64": 0x7FF8000000000000,
    "FP32": 0x7FC00000,
    "TF32": 0x7FC00000,
    "HF32": 0x7FC00000,
    "FP16": 0x7E00,
    "BF16": 0x7FC0,
    "E4M3": 0x7F,
    "E5M2": 0x7E,
    "E8M0": 0xFF,
    "HiF8": 0x80,
}
INFINITY = {
    "FP64": 0x7FF0000000000000,
    "FP32": 0x7F800000,
    "TF32": 0x7F800000,
    "HF32": 0x7F800000,
    "FP16": 0x7C00,
    "BF16": 0x7F80,
    "E5M2": 0x7C,
    "HiF8": 0x6F,
}
QUARTERS = names("E1M2X2 HiF4X2")
_CONTEXT = Context(prec=60, Emin=-(10**8), Emax=10**8)


def value(name: str, bits: int) -> float:
    """A floating element, those of E8M0 too."""
    if name == "E8M0":
        return math.nan if bits == 255 else 2.0 ** (bits - 127)
    return number(name, bits)


def sign_bit(name: str) -> int:
    return 0x20 if name in ("E3M2", "E2M3") else 1 << (bits_of(name) - 1)


def negative(name: str, bits: int) -> bool:
    """Whether the sign of a code is set."""
    return name not in ("E8M0",) and bool(bits & sign_bit(name))


def signed(name: str, code: int, minus: bool) -> int:
    if name == "HiF8" and code == 0:
        return 0
    return code | sign_bit(name) if minus else code


def log2(x: Fraction) -> int:
    """The exponent of the leading bit of a positive number."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def rounded(name: str, x: Fraction, mode: int = 1, saturate: bool = False, minus: bool | None = None) -> Result:
    """A finite number as a code; ``minus`` is the sign of a zero."""
    if x == 0:
        return signed(name, 0, bool(minus)), 0
    minus = x < 0
    if name == "HiF8":
        return _hif8(x, mode, saturate)
    largest = Fraction(value(name, LARGEST[name]))
    if name == "E4M3" and abs(x) > 448:
        return overflow(name, minus, saturate), OF | NX
    fraction, lowest = (2, 0) if name in QUARTERS else FORMATS[name]
    unit = Fraction(2) ** (max(log2(abs(x)), lowest) - fraction)
    near = abs(to_integer(x / unit, mode) * unit)
    if near > largest:
        return overflow(name, minus, saturate), OF | NX
    flags = 0 if near == abs(x) else NX | _tiny(x, fraction, lowest, mode)
    return signed(name, _code(name, near, fraction, lowest), minus), flags


def _tiny(x: Fraction, fraction: int, lowest: int, mode: int) -> int:
    """UF where the number is below the normal ones when it is rounded without an end of exponents."""
    unit = Fraction(2) ** (log2(abs(x)) - fraction)
    return UF if abs(to_integer(x / unit, mode) * unit) < Fraction(2) ** lowest else 0


def overflow(name: str, minus: bool, saturate: bool) -> int:
    if name == "E4M3" and not saturate:
        return 0x7F
    return signed(name, LARGEST[name] if saturate or name not in INFINITY else INFINITY[name], minus)


def _code(name: str, x: Fraction, fraction: int, lowest: int) -> int:
    carrier = 23 - fraction if name in ("TF32", "HF32") else 0
    if x < Fraction(2) ** lowest:
        return int(x / Fraction(2) ** (lowest - fraction)) << carrier
    exponent = log2(x)
    significand = int(x / Fraction(2) ** (exponent - fraction))
    return ((exponent - lowest + 1 << fraction) + significand - (1 << fraction)) << carrier


_HIF8 = sorted((Fraction(number("HiF8", code)), code) for code in range(0x7F + 1) if code != 0x6F)


def _hif8(x: Fraction, mode: int, saturate: bool) -> Result:
    minus, magnitude = x < 0, abs(x)
    if magnitude > 32768:
        return overflow("HiF8", minus, saturate), OF | NX
    low, low_code = max(pair for pair in _HIF8 if pair[0] <= magnitude)
    if low == magnitude:
        return signed("HiF8", low_code, minus), 0
    high, high_code = min(pair for pair in _HIF8 if pair[0] > magnitude)
    # Between the two numbers a position of integers, the even one standing for the even code.
    place = (magnitude - low) / (high - low) + low_code % 2
    up = abs(to_integer(-place if minus else place, mode)) > low_code % 2
    return signed("HiF8", high_code if up else low_code, minus), NX | _tiny(x, 1, -15, mode)


# Integers


def wrap(name: str, x: int) -> int:
    return x % 2 ** bits_of(name)


def _integer_binary(operation: str, name: str, a: int, b: int) -> int:
    x, y, width = integer(name, a), integer(name, b), bits_of(name)
    if operation == "DIV":
        q = abs(x) // abs(y)
        return wrap(name, q if (x < 0) == (y < 0) else -q)
    table: dict[str, Callable[[], int]] = {
        "ADD": lambda: x + y,
        "SUB": lambda: x - y,
        "MUL": lambda: x * y,
        "REM": lambda: x - y * math.floor(Fraction(x, y)),
        "AND": lambda: a & b,
        "OR": lambda: a | b,
        "XOR": lambda: a ^ b,
        "SHL": lambda: a << (b % width),
        "SHR": lambda: x >> (b % width),
        "MAX": lambda: max(x, y),
        "MIN": lambda: min(x, y),
    }
    return wrap(name, table[operation]())


# Floating numbers


def nan(name: str, invalid: bool) -> Result:
    return NAN[name], NV if invalid else 0


def infinite(name: str, minus: bool) -> int:
    return signed(name, INFINITY[name], minus) if name in INFINITY else 0x7F


def binary(operation: str, name: str, a: int, b: int) -> Result:
    """An operation of two elements by its name without the T."""
    if class_of(name) != "floating":
        return _integer_binary(operation, name, a, b), 0
    x, y = value(name, a), value(name, b)
    quiet = signalling(name, a) or signalling(name, b)
    minus_a, minus_b = negative(name, a), negative(name, b)
    if operation in ("MAX", "MIN"):
        return _extreme(operation == "MAX", name, a, b)
    if math.isnan(x) or math.isnan(y):
        return nan(name, quiet)
    if operation == "SUB":
        y, minus_b, operation = -y, not minus_b, "ADD"
    minus = minus_a != minus_b
    if operation == "ADD":
        if math.isinf(x) or math.isinf(y):
            if math.isinf(x) and math.isinf(y) and minus:
                return nan(name, True)
            return infinite(name, minus_a if math.isinf(x) else minus_b), 0
        return rounded(name, Fraction(x) + Fraction(y), minus=minus_a and minus_b)
    if operation == "MUL":
        if math.isinf(x) or math.isinf(y):
            return nan(name, True) if x == 0 or y == 0 else (infinite(name, minus), 0)
        return rounded(name, Fraction(x) * Fraction(y), minus=minus)
    if operation == "DIV":
        if math.isinf(x):
            return nan(name, True) if math.isinf(y) else (infinite(name, minus), 0)
        if math.isinf(y):
            return signed(name, 0, minus), 0
        if y == 0:
            return nan(name, True) if x == 0 else (infinite(name, minus), DZ)
        return rounded(name, Fraction(x) / Fraction(y), minus=minus)
    assert operation == "REM"
    if math.isinf(x) or y == 0:
        return nan(name, True)
    if math.isinf(y) or x == 0:
        return a, 0
    rest = Fraction(x) - Fraction(y) * math.floor(Fraction(x) / Fraction(y))
    return rounded(name, rest, minus=False)


def _extreme(largest: bool, name: str, a: int, b: int) -> Result:
    x, y = value(name, a), value(name, b)
    flags = NV if signalling(name, a) or signalling(name, b) else 0
    if math.isnan(x) and math.isnan(y):
        return NAN[name], flags
    if math.isnan(x) or math.isnan(y):
        return b if math.isnan(x) else a, flags
    if x == 0 and y == 0:
        minus = (negative(name, a) and negative(name, b)) if largest else (negative(name, a) or negative(name, b))
        return signed(name, 0, minus), flags
    return (a if (x >= y if largest else x <= y) else b), flags


def fused(name: str, a: int, b: int, c: int) -> Result:
    """x * y + z with one rounding."""
    if class_of(name) != "floating":
        return wrap(name, integer(name, a) * integer(name, b) + integer(name, c)), 0
    x, y, z = (value(name, bits) for bits in (a, b, c))
    invalid = any(signalling(name, bits) for bits in (a, b, c))
    invalid |= (math.isinf(x) and y == 0) or (x == 0 and math.isinf(y))
    if invalid:
        return nan(name, True)
    minus = negative(name, a) != negative(name, b)
    if any(map(math.isnan, (x, y, z))):
        return nan(name, False)
    if math.isinf(x) or math.isinf(y):
        if math.isinf(z) and (z < 0) != minus:
            return nan(name, True)
        return infinite(name, minus), 0
    if math.isinf(z):
        return c, 0
    return rounded(name, Fraction(x) * Fraction(y) + Fraction(z), minus=minus and negative(name, c))


ONE = {"FP64": 0x3FF0000000000000, "FP16": 0x3C00, "BF16": 0x3F80, "E4M3": 0x38, "E5M2": 0x3C}


def one(name: str) -> int:
    return ONE.get(name, 0x3F800000) if class_of(name) == "floating" else 1


def unary(operation: str, name: str, a: int) -> Result:
    """An operation of one element by its name without the T."""
    if operation == "NOT":
        return wrap(name, ~a), 0
    if class_of(name) != "floating":
        x = integer(name, a)
        return wrap(name, {"ABS": abs(x), "NEG": -x, "RELU": max(x, 0)}[operation]), 0
    if operation == "ABS":
        return a & ~sign_bit(name), 0
    if operation == "NEG":
        return a ^ sign_bit(name), 0
    y = value(name, a)
    if math.isnan(y):
        return nan(name, signalling(name, a))
    minus = negative(name, a)
    if operation == "RELU":
        return (0 if minus else a), 0
    if y == 0:
        if operation == "EXP":
            return one(name), 0
        return (a, 0) if operation == "SQRT" else (infinite(name, operation == "LOG" or minus), DZ)
    if y < 0 and operation in ("LOG", "SQRT", "RSQRT"):
        return nan(name, True)
    if math.isinf(y):
        if operation == "RECIP" or operation == "RSQRT" or (operation == "EXP" and minus):
            return signed(name, 0, minus and operation == "RECIP"), 0
        return infinite(name, False), 0
    if operation == "RECIP":
        return rounded(name, 1 / Fraction(y))
    if operation == "LOG" and y == 1:
        return 0, 0
    return rounded(name, _precise(operation, y))


def _precise(operation: str, y: float) -> Fraction:
    """The result to sixty digits, or exactly where it is a fraction that a type could hold."""
    if operation == "EXP" and abs(y) < 2.0**-100:
        return 1 + Fraction(y)
    if operation == "EXP":
        return Fraction(Decimal(max(-2000.0, min(2000.0, y))).exp(_CONTEXT))
    if operation == "LOG":
        return Fraction(Decimal(y).ln(_CONTEXT))
    x = Fraction(y)
    if operation == "RSQRT":
        x = 1 / x
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    if root * root == x:
        return root
    shifted = (x.numerator << 4000) // x.denominator
    return Fraction(2 * math.isqrt(shifted) + 1, 2 << 2000)


# Conversion


def limits(name: str) -> tuple[int, int]:
    width = bits_of(name)
    return (-(1 << width - 1), (1 << width - 1) - 1) if class_of(name) == "signed" else (0, (1 << width) - 1)


def converted(source: str, result: str, bits: int, mode: int = 0, saturate: bool = False) -> Result:
    """TCVT of one element."""
    floating = class_of(source) == "floating", class_of(result) == "floating"
    mode = mode or (2 if floating == (True, False) else 1)
    if floating == (False, False):
        x = integer(source, bits)
        low, high = limits(result)
        return wrap(result, min(max(x, low), high) if saturate else x), 0
    if floating == (False, True):
        return rounded(result, Fraction(integer(source, bits)), mode, saturate, minus=False)
    y, minus = value(source, bits), negative(source, bits)
    if not floating[1]:
        return _to_integer(result, y, mode, saturate)
    if result == "E8M0":
        return _to_scale(y, mode, saturate)
    invalid = NV if signalling(source, bits) else 0
    if math.isnan(y):
        return NAN.get(result, 0), invalid
    if math.isinf(y):
        if result in INFINITY:
            return infinite(result, minus), 0
        return overflow(result, minus, saturate), OF | NX
    return rounded(result, Fraction(y), mode, saturate, minus=minus)


def _to_integer(result: str, y: float, mode: int, saturate: bool) -> Result:
    low, high = limits(result)
    if math.isnan(y):
        return 0, NV
    if math.isinf(y):
        return wrap(result, high if y > 0 else low), NV
    x = to_integer(Fraction(y), mode)
    if not low <= x <= high:
        return wrap(result, min(max(x, low), high) if saturate else x), OF | NX
    return wrap(result, x), 0 if x == y else NX


def _to_scale(y: float, mode: int, saturate: bool) -> Result:
    if math.isnan(y) or y <= 0:
        return 0xFF, NV
    if y > 2.0**127:
        return (0xFE if saturate else 0xFF), OF | NX
    x = Fraction(y)
    if x < Fraction(2) ** -127:
        return (0x00 if saturate else 0xFF), UF | NX
    e = log2(x)
    if x == Fraction(2) ** e:
        return e + 127, 0
    if mode == 2:
        up = e < 0
    elif mode in (3, 4):
        up = mode == 4
    elif mode == 6:
        up = e % 2 == 0
    else:
        up = x * x > Fraction(2) ** (2 * e + 1)
    return e + up + 127, NX
