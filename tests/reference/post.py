"""Post-processing and maxima of a matrix bundle (numerics.md sections 5 to 7)."""

from __future__ import annotations

import math
from fractions import Fraction

from reference.rounding import INEXACT, NAN, NV, OVER, SIGN, overflowed, to_float, to_integer
from reference.values import CANONICAL_NAN, integer, number, signalling

RNE, RHB = 1, 7
ANY = -1

MODES = {
    0: (None, None, "", 0, 0, 0),
    1: ("FP32", "FP16", "", 0, RNE, 1),
    2: ("S32", "S8", "V", 9, ANY, 1),
    3: ("S32", "S8", "S", 9, ANY, 1),
    4: ("S32", "FP16", "V", 0, ANY, 1),
    5: ("S32", "FP16", "S", 0, ANY, 1),
    12: ("S32", "S16", "V", 0, 0, 0),
    13: ("S32", "S16", "S", 0, 0, 0),
    16: ("FP32", "BF16", "", 0, RNE, 1),
    17: ("S32", "S4X2", "S", 5, ANY, 1),
    18: ("S32", "S4X2", "V", 5, ANY, 1),
    19: ("S32", "S16", "S", 17, ANY, 1),
    20: ("S32", "S16", "V", 17, ANY, 1),
    23: ("FP32", "S8", "V", 9, ANY, 1),
    24: ("FP32", "S8", "S", 9, ANY, 1),
    25: ("FP32", "HiF8", "S", 0, RHB, 1),
    26: ("FP32", "E4M3", "S", 0, RNE, 1),
    27: ("FP32", "FP32", "S", 0, ANY, 1),
    28: ("FP32", "HiF8", "V", 0, RHB, 1),
    32: ("FP32", "FP16", "S", 0, RNE, 1),
    33: ("FP32", "FP16", "V", 0, RNE, 1),
    34: ("FP32", "BF16", "S", 0, RNE, 1),
    35: ("S32", "BF16", "S", 0, ANY, 1),
    36: ("FP32", "BF16", "V", 0, RNE, 1),
    37: ("FP32", "E4M3", "V", 0, RNE, 1),
    38: ("FP32", "FP32", "V", 0, ANY, 1),
    39: ("S32", "BF16", "V", 0, ANY, 1),
}
"""By PreQuantMode: accumulator, D, parameter, offset bits, rounding (ANY: RMode; 0: none), whether Sat is free."""

SHIFTS = (12, 13)
GROUPS = (0, 8, 16, 32, 48, 64, 80, 96, 112, 128)


def _fp19(bits: int) -> Fraction:
    return Fraction(number("FP32", bits << 13))


def word_legal(mode: int, word: int) -> bool:
    """Whether a quantization word has only the fields of its mode and a legal scale."""
    if mode in SHIFTS:
        return word & ~(15 << 32) == 0
    offset = (1 << MODES[mode][3]) - 1
    if word & ~(0x7FFFF << 13 | offset << 37):
        return False
    scale = word >> 13 & 0x7FFFF
    return not scale >> 18 and 1 <= scale >> 10 <= 254


def slope_legal(word: int) -> bool:
    """+0 or a positive normal FP19."""
    return word < 1 << 18 and (word == 0 or 1 <= word >> 10 <= 254)


class Element:
    """What happens to one accumulator: its words and the mode of the bundle."""

    def __init__(self, mode: int, relu: int, accumulator: str, rmode: int, saturate: bool) -> None:
        self.mode, self.relu, self.accumulator, self.saturate = mode, relu, accumulator, saturate
        self.dtype = MODES[mode][1] or accumulator
        fixed = MODES[mode][4]
        self.rounding = rmode if fixed == ANY else fixed

    def __call__(self, v: int, word: int | None, slope: int | None) -> tuple[int, int]:
        """The bits of D and the flags, from the bits of the raw accumulator."""
        if self.mode == 0 and self.relu == 0:
            return v, 0
        if self.mode in SHIFTS:
            assert word is not None
            return self._shifted(integer("S32", v) >> (word >> 32) + 1)
        floating = self.accumulator == "FP32"
        x = number("FP32", v) if floating else integer(self.accumulator, v)
        negative = not math.isnan(x) and math.copysign(1, x) < 0
        multiplier = Fraction(1) if word is None else _fp19(word >> 13 & 0x7FFFF)
        if negative and self.relu:
            multiplier = Fraction(0) if self.relu == 1 else _fp19(slope or 0)
        if math.isnan(x):
            return self._nan(signalling("FP32", v))
        if math.isinf(x):
            if x > 0 or multiplier:
                return self._infinite(x < 0)
            x = 0
        exact = Fraction(x) * multiplier
        if self.dtype in SIGN:
            if floating and v == 0x80000000 and multiplier:
                return (0 if self.dtype == "HiF8" else SIGN[self.dtype]), 0
            return to_float(self.dtype, exact, self.rounding, self.saturate)
        return self._integer(exact, word)

    def _range(self) -> tuple[int, int]:
        bits = {"S4X2": 4, "S8": 8, "S16": 16}.get(self.dtype, 32)
        return (0, (1 << bits) - 1) if self.dtype == "U32" else (-(1 << bits - 1), (1 << bits - 1) - 1)

    def _code(self, value: int) -> int:
        low, high = self._range()
        return value & (high - low)

    def _shifted(self, y: int) -> tuple[int, int]:
        low, high = self._range()
        return self._code(min(max(y, low), high)), 0 if low <= y <= high else OVER

    def _nan(self, loud: bool) -> tuple[int, int]:
        if self.dtype in SIGN:
            return 0 if self.saturate else NAN[self.dtype], NV if loud else 0
        return self._code(0 if self.saturate else self._range()[0]), NV

    def _infinite(self, negative: bool) -> tuple[int, int]:
        if self.dtype in SIGN:
            loud = self.saturate or self.dtype == "E4M3"
            return overflowed(self.dtype, negative, self.saturate), OVER if loud else 0
        low, high = self._range()
        if self.saturate:
            return self._code(low if negative else high), OVER
        return self._code(low), NV

    def _integer(self, x: Fraction, word: int | None) -> tuple[int, int]:
        low, high = self._range()
        r = to_integer(x, self.rounding)
        flags = 0 if r == x else INEXACT
        width = MODES[self.mode][3]
        if not width:
            return self._code(r), flags if low <= r <= high else OVER
        least, greatest = -(1 << width - 1), (1 << width - 1) - 1
        if not least <= r <= greatest:
            r, flags = min(max(r, least), greatest), OVER
        assert word is not None
        offset = word >> 37 & ((1 << width) - 1)
        y = r + (offset - (1 << width) if offset > greatest else offset)
        if low <= y <= high:
            return self._code(y), flags
        return self._code(min(max(y, low), high) if self.saturate else y), flags | OVER


def magnitude(accumulator: str, v: int) -> tuple[int, int]:
    """The absolute value of an accumulator and its flags."""
    if accumulator == "FP32":
        return v & 0x7FFFFFFF, 0
    if accumulator == "S32" and v >> 31:
        return (0x7FFFFFFF, 4) if v == 0x80000000 else (-v & 0xFFFFFFFF, 0)
    return v, 0


def maximum(accumulator: str, a: int, b: int) -> tuple[int, int]:
    """The greater of two accumulators and its flags."""
    if accumulator != "FP32":
        return (a if integer(accumulator, a) >= integer(accumulator, b) else b), 0
    flags = NV if signalling("FP32", a) or signalling("FP32", b) else 0
    x, y = number("FP32", a), number("FP32", b)
    if math.isnan(x):
        return (CANONICAL_NAN if math.isnan(y) else b), flags
    if math.isnan(y):
        return a, flags
    if x == 0 and y == 0:
        return a & b, flags
    return (a if x >= y else b), flags


def greatest(accumulator: str, row: list[int], absolute: bool, initial: int | None) -> tuple[int, int]:
    """The maximum of part of a row, ascending, and of RowMaxIn at last."""
    flags = 0
    found: int | None = None
    for v in row:
        if absolute:
            v, more = magnitude(accumulator, v)
            flags |= more
        if found is None:
            found, more = maximum(accumulator, v, v) if absolute else (v, 0)
        else:
            found, more = maximum(accumulator, found, v)
        flags |= more
    assert found is not None
    if initial is not None:
        if absolute:
            initial, more = magnitude(accumulator, initial)
            flags |= more
        found, more = maximum(accumulator, initial, found)
        flags |= more
    return found, flags
