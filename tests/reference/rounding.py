"""Exact numbers to integers and to floating codes (numerics.md sections 5.4 and 6)."""

from __future__ import annotations

import math
from fractions import Fraction

from reference.values import number

RNE, RTZ, RTM, RTP, RNA, RTO, RHB = range(1, 8)

NV, OVER, TINY, INEXACT = 0x01, 0x14, 0x18, 0x10

NAN = {"FP32": 0x7FC00000, "FP16": 0x7E00, "BF16": 0x7FC0, "E4M3": 0x7F, "HiF8": 0x80}
INFINITY = {"FP32": 0x7F800000, "FP16": 0x7C00, "BF16": 0x7F80, "HiF8": 0x6F}
LARGEST = {"FP32": 0x7F7FFFFF, "FP16": 0x7BFF, "BF16": 0x7F7F, "E4M3": 0x7E, "HiF8": 0x6E}
SIGN = {"FP32": 0x80000000, "FP16": 0x8000, "BF16": 0x8000, "E4M3": 0x80, "HiF8": 0x80}
SMALLEST_NORMAL = {"FP32": -126, "FP16": -14, "BF16": -126, "E4M3": -6, "HiF8": -15}
FRACTION = {"FP32": 23, "FP16": 10, "BF16": 7}


def to_integer(x: Fraction, mode: int) -> int:
    """x rounded with an RMode code; 0 means nearest even."""
    low = math.floor(x)
    rest = x - low
    if not rest:
        return low
    half = Fraction(1, 2)
    if mode in (0, RNE):
        return low + (rest > half or (rest == half and low % 2 == 1))
    if mode == RTZ:
        return low + (x < 0)
    if mode == RTM:
        return low
    if mode == RTP:
        return low + 1
    if mode == RNA:
        return low + (rest > half or (rest == half and x > 0))
    if mode == RTO:
        return low if low % 2 else low + 1
    return low + (rest >= half)


def overflowed(name: str, negative: bool, saturate: bool) -> int:
    """The code of a value beyond the largest finite one."""
    if name == "E4M3" and not saturate:
        return NAN["E4M3"]
    return (LARGEST if saturate else INFINITY)[name] | (SIGN[name] if negative else 0)


def to_float(name: str, x: Fraction, mode: int, saturate: bool) -> tuple[int, int]:
    """The code of a finite number and the flags of getting there (step 8)."""
    if not x:
        return 0, 0
    if name in ("E4M3", "HiF8"):
        return _by_table(name, x, saturate)
    tiny = abs(x) < Fraction(2) ** SMALLEST_NORMAL[name]
    exponent = max(_floor_log2(abs(x)), SMALLEST_NORMAL[name])
    unit = Fraction(2) ** (exponent - FRACTION[name])
    count = to_integer(x / unit, mode)
    if abs(count * unit) > Fraction(number(name, LARGEST[name])):
        return overflowed(name, x < 0, saturate), OVER
    flags = 0 if count * unit == x else TINY if tiny else INEXACT
    return _pack(name, abs(count) * unit) | (SIGN[name] if x < 0 else 0), flags


def _floor_log2(x: Fraction) -> int:
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def _pack(name: str, x: Fraction) -> int:
    """The code of a non-negative representable number."""
    fraction, least = FRACTION[name], SMALLEST_NORMAL[name]
    if x < Fraction(2) ** least:
        return int(x / Fraction(2) ** (least - fraction))
    exponent = _floor_log2(x)
    significand = int(x / Fraction(2) ** (exponent - fraction))
    return (exponent - least + 1 << fraction) + significand - (1 << fraction)


def _by_table(name: str, x: Fraction, saturate: bool) -> tuple[int, int]:
    """The nearest of all codes; ties go to the even code (E4M3) or to the greater value (HiF8)."""
    if abs(x) > Fraction(number(name, LARGEST[name])):
        return overflowed(name, x < 0, saturate), OVER
    distances = [(abs(value - x), code) for value, code in _CODES[name]]
    nearest = min(distance for distance, _ in distances)
    tied = [code for distance, code in distances if distance == nearest]
    if len(tied) > 1:
        tied.sort(key=lambda code: code % 2 if name == "E4M3" else -number(name, code))
    code = tied[0]
    exact = nearest == 0
    if number(name, code) == 0:
        code = 0
    return code, 0 if exact else TINY if abs(x) < Fraction(2) ** SMALLEST_NORMAL[name] else INEXACT


_CODES = {
    name: [(Fraction(number(name, code)), code) for code in range(256) if math.isfinite(number(name, code))]
    for name in ("E4M3", "HiF8")
}
