"""Element types: what their bits mean as numbers (dtypes.md sections 1 to 4 and 7)."""

from __future__ import annotations

import math
import struct


def names(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


NAMES = {
    **dict(enumerate(names("FP64 FP32 TF32 HF32 FP16 BF16 HiF8 E4M3 E5M2 E3M2 E2M3 E2M1X2 E1M2X2 E8M0 HiF4X2"))),
    **dict(enumerate(names("S64 S32 S16 S8 S4X2"), 16)),
    **dict(enumerate(names("U64 U32 U16 U8 U4X2"), 24)),
}
CODES = {name: code for code, name in NAMES.items()}

_BITS = {"FP64": 64, "FP32": 32, "TF32": 32, "HF32": 32, "FP16": 16, "BF16": 16}

_FIELDS = {
    "FP64": (11, 52, 1023),
    "FP32": (8, 23, 127),
    "TF32": (8, 23, 127),
    "HF32": (8, 23, 127),
    "FP16": (5, 10, 15),
    "BF16": (8, 7, 127),
    "E4M3": (4, 3, 7),
    "E5M2": (5, 2, 15),
    "E3M2": (3, 2, 3),
    "E2M3": (2, 3, 1),
    "E2M1X2": (2, 1, 1),
}
"""Exponent bits, fraction bits and bias."""

_IEEE = {"FP64", "FP32", "TF32", "HF32", "FP16", "BF16", "E5M2"}
"""Types whose top exponent holds infinities and NaNs, quiet when the top fraction bit is set."""

MUST_BE_ZERO = {"TF32": 0x1FFF, "HF32": 0x0FFF, "E3M2": 0xC0, "E2M3": 0xC0}

_PADS = {
    "FP64": (0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF),
    "FP32": (0x7F7FFFFF, 0xFF7FFFFF),
    "TF32": (0x7F7FE000, 0xFF7FE000),
    "HF32": (0x7F7FF000, 0xFF7FF000),
    "FP16": (0x7BFF, 0xFBFF),
    "BF16": (0x7F7F, 0xFF7F),
    "E4M3": (0x7E, 0xFE),
    "E5M2": (0x7B, 0xFB),
}

CANONICAL_NAN = 0x7FC00000


def bits_of(name: str) -> int:
    """Width of one element."""
    if name in _BITS:
        return _BITS[name]
    if name.endswith("X2"):
        return 4
    return int(name[1:]) if name[0] in "SU" else 8


def class_of(name: str) -> str:
    """floating, signed or unsigned."""
    if name[0] in "SU" and name[1].isdigit():
        return "signed" if name[0] == "S" else "unsigned"
    return "floating"


def padding(name: str, code: int) -> int | None:
    """The element that a PadValue code writes; ``None`` leaves it undefined."""
    width = bits_of(name)
    ones = (1 << width) - 1
    if code == 3:
        return None
    if code == 0:
        return 0
    if name in _PADS:
        return _PADS[name][code - 1]
    if class_of(name) == "signed" and name != "S4X2":
        return ones >> 1 if code == 1 else 1 << (width - 1)
    return ones if code == 1 else 0


def integer(name: str, bits: int) -> int:
    """An integer element; S4X2 is signed."""
    width = bits_of(name)
    return bits - (1 << width) if class_of(name) == "signed" and bits >> (width - 1) else bits


def number(name: str, bits: int) -> float:
    """A floating element, exact; bits that the type keeps clear are ignored."""
    if name == "HiF8":
        return _hif8(bits)
    if name in ("E1M2X2", "HiF4X2"):
        return math.copysign((bits & 7) / 4, -(bits >> 3) or 1)
    exponent_bits, fraction_bits, bias = _FIELDS[name]
    bits &= ~MUST_BE_ZERO.get(name, 0)
    sign = -1.0 if bits >> (exponent_bits + fraction_bits) & 1 else 1.0
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    if name == "E4M3" and bits & 0x7F == 0x7F:
        return math.nan
    if name in _IEEE and exponent == (1 << exponent_bits) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits)


def signalling(name: str, bits: int) -> bool:
    """Whether an element is a signalling NaN."""
    return name in _IEEE and math.isnan(number(name, bits)) and not bits >> (_FIELDS[name][1] - 1) & 1


def _hif8(code: int) -> float:
    special = {0x00: 0.0, 0x80: math.nan, 0x6F: math.inf, 0xEF: -math.inf}
    if code in special:
        return special[code]
    sign = -1.0 if code >> 7 else 1.0
    b = code & 0x7F
    if b < 8:
        return sign * 2.0 ** (b - 23)
    if b < 16:
        return sign * (1 + (b & 7) / 8)
    if b < 32:
        return sign * (1 + (b & 7) / 8) * 2.0 ** (-1 if b & 8 else 1)
    negative = bool(b & 16)
    if b < 64:
        magnitude, mantissa = 2 + (b >> 3 & 1), 1 + (b & 7) / 8
    elif b < 96:
        magnitude, mantissa = 4 + (b >> 2 & 3), 1 + (b & 3) / 4
    else:
        magnitude, mantissa = 8 + (b >> 1 & 7), 1 + (b & 1) / 2
    return sign * mantissa * 2.0 ** (-magnitude if negative else magnitude)


def single(x: float) -> float:
    """RNE32 of the numerics page: the nearest FP32, infinite beyond the largest."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def single_bits(x: float) -> int:
    """The stored pattern of an FP32 value; every NaN is the canonical one."""
    return CANONICAL_NAN if math.isnan(x) else int(struct.unpack("<I", struct.pack("<f", x))[0])
