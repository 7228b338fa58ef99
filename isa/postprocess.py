"""B.FPATR facts: what every PreQuantMode converts, its parameters, and the rounding codes."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import IntEnum

from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType


class Rounding(IntEnum):
    """RMode codes of B.DATR."""

    DEFAULT = 0
    RNE = 1
    RTZ = 2
    RTM = 3
    RTP = 4
    RNA = 5
    RTO = 6
    RHB = 7


class ReluMode(IntEnum):
    NONE = 0
    RELU = 1
    LRELU = 2
    PRELU = 3


@dataclass(frozen=True)
class PreQuantMode:
    """One conversion of the accumulator.

    ``source`` is the accumulator type it applies to (``None``: every accumulator, kept as it is), ``parameter``
    where its word comes from ("scalar": B.IOR, "vector": a 1 x N U64 tile, "": none), ``offset_bits`` the width
    of the offset field, ``rounding`` a fixed code or ``None`` when RMode chooses it.
    """

    code: int
    source: DType | None
    result: DType | None
    parameter: str = ""
    offset_bits: int = 0
    rounding: Rounding | None = None
    shift: bool = False
    saturates: bool = True


def _rows() -> list[PreQuantMode]:
    f32, s32 = dtypes.FP32, dtypes.S32
    rne, rhb = Rounding.RNE, Rounding.RHB
    m = PreQuantMode
    return [
        m(0, None, None, rounding=rne, saturates=False),
        m(1, f32, dtypes.FP16, rounding=rne),
        m(2, s32, dtypes.S8, "vector", 9),
        m(3, s32, dtypes.S8, "scalar", 9),
        m(4, s32, dtypes.FP16, "vector"),
        m(5, s32, dtypes.FP16, "scalar"),
        m(12, s32, dtypes.S16, "vector", rounding=rne, shift=True, saturates=False),
        m(13, s32, dtypes.S16, "scalar", rounding=rne, shift=True, saturates=False),
        m(16, f32, dtypes.BF16, rounding=rne),
        m(17, s32, dtypes.S4X2, "scalar", 5),
        m(18, s32, dtypes.S4X2, "vector", 5),
        m(19, s32, dtypes.S16, "scalar", 17),
        m(20, s32, dtypes.S16, "vector", 17),
        m(23, f32, dtypes.S8, "vector", 9),
        m(24, f32, dtypes.S8, "scalar", 9),
        m(25, f32, dtypes.HIF8, "scalar", rounding=rhb),
        m(26, f32, dtypes.E4M3, "scalar", rounding=rne),
        m(27, f32, dtypes.FP32, "scalar"),
        m(28, f32, dtypes.HIF8, "vector", rounding=rhb),
        m(32, f32, dtypes.FP16, "scalar", rounding=rne),
        m(33, f32, dtypes.FP16, "vector", rounding=rne),
        m(34, f32, dtypes.BF16, "scalar", rounding=rne),
        m(35, s32, dtypes.BF16, "scalar"),
        m(36, f32, dtypes.BF16, "vector", rounding=rne),
        m(37, f32, dtypes.E4M3, "vector", rounding=rne),
        m(38, f32, dtypes.FP32, "vector"),
        m(39, s32, dtypes.BF16, "vector"),
    ]


PRE_QUANT_MODES: dict[int, PreQuantMode] = {row.code: row for row in _rows()}

GROUP_COLUMNS: tuple[int, ...] = (0, 8, 16, 32, 48, 64, 80, 96, 112, 128)
"""Columns of a group, indexed by GroupNCode; 0 is off."""


def least_maximum(accumulator: DType, *, absolute: bool) -> int:
    """The bits of a RowMaxIn that loses against every sum: a NaN loses even against infinity."""
    if accumulator.is_float:
        return 0x7FC0_0000
    return 0x8000_0000 if accumulator.numeric_class == "signed" and not absolute else 0


_FP19_DROPPED = 13
"""Low bits of an FP32 pattern that FP19 (sign, 8 bits of exponent, 10 of fraction) does not have."""

_OFFSET_PLACE, _SHIFT_PLACE = 37, 32

SHIFTS = range(1, 17)
"""Places by which a shift mode moves the accumulator to the right."""


def fp19(value: float) -> int | None:
    """The FP19 code of a positive normal number; ``None`` when ``value`` is not one of them."""
    try:
        pattern: int = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return None
    held = struct.unpack("<f", struct.pack("<I", pattern))[0] == value
    positive_normal = 1 <= pattern >> 23 <= 254
    return pattern >> _FP19_DROPPED if held and positive_normal and not pattern % (1 << _FP19_DROPPED) else None


def nearest_fp19(value: float) -> float:
    """The positive normal FP19 number nearest to a positive number."""
    smallest, largest = 2.0**-126, (2 - 2.0**-10) * 2.0**127
    if not smallest < value < largest:
        return smallest if value <= smallest else largest
    unit = 2.0 ** (math.frexp(value)[1] - 11)
    return round(value / unit) * unit


def scale_word(scale: float, offset: int, offset_bits: int) -> int:
    """The quantization word of a scale that FP19 holds, and an offset of so many bits (0: the mode has none)."""
    code = fp19(scale)
    if code is None or (offset and offset not in signed_range(offset_bits)):
        raise ValueError(f"no quantization word holds scale {scale} and offset {offset}")
    return code << _FP19_DROPPED | (offset & ((1 << offset_bits) - 1)) << _OFFSET_PLACE


def shift_word(places: int) -> int:
    """The quantization word of a shift mode."""
    if places not in SHIFTS:
        raise ValueError(f"the accumulator is shifted by 1 to 16 places, not {places}")
    return (places - 1) << _SHIFT_PLACE


def slope_word(slope: float) -> int:
    """The word of leaky and parametric ReLU for a slope that FP19 holds."""
    code = fp19(slope)
    if code is None:
        raise ValueError(f"no slope word holds {slope}")
    return code


def scale_of(word: int) -> float:
    """The scale that a quantization word holds."""
    return _single(word & 0xFFFF_FFFF)


def offset_of(word: int, offset_bits: int) -> int:
    """The offset that a quantization word holds in so many bits."""
    field = word >> _OFFSET_PLACE & ((1 << offset_bits) - 1)
    return field - (field >> max(0, offset_bits - 1) << offset_bits)


def shift_of(word: int) -> int:
    """The places that the word of a shift mode holds."""
    return (word >> _SHIFT_PLACE & 15) + 1


def slope_of(word: int) -> float:
    """The slope that a word of leaky and parametric ReLU holds."""
    return _single(word << _FP19_DROPPED & 0xFFFF_FFFF)


def _single(pattern: int) -> float:
    value: float = struct.unpack("<f", struct.pack("<I", pattern))[0]
    return value


def signed_range(bits: int) -> range:
    """The integers of so many bits in two's complement."""
    return range(-(1 << bits >> 1), 1 << bits >> 1)


def conversion(source: DType, result: DType, parameter: str, *, shift: bool = False) -> PreQuantMode | None:
    """The mode that converts ``source`` to ``result`` with a word from there ("scalar", "vector", "": none)."""
    if source == result and not parameter:
        return PRE_QUANT_MODES[0]
    for mode in PRE_QUANT_MODES.values():
        if (mode.source, mode.result, mode.parameter, mode.shift) == (source, result, parameter, shift):
            return mode
    return None
