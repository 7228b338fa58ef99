"""B.FPATR facts: what every PreQuantMode converts, its parameters, and the rounding codes."""

from __future__ import annotations

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


def plain_conversion(source: DType, result: DType) -> int | None:
    """The PreQuantMode that converts ``source`` to ``result`` without a parameter word, if there is one."""
    if source == result:
        return 0
    for mode in PRE_QUANT_MODES.values():
        if mode.source == source and mode.result == result and not mode.parameter:
            return mode.code
    return None
