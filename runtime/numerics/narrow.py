"""The conversions that programs use most, without parameters, in a handful of array operations.

They hold for finite values that do not overflow and say so by returning ``None`` otherwise; the general way in
``convert`` gives the same bits and flags for all values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.postprocess import ReluMode
from ptoc.runtime.numerics.flags import NX, UNDERFLOW

Words = NDArray[np.uint32]
_SMALLEST_NORMAL = {"FP16": np.float32(2.0**-14), "BF16": np.float32(2.0**-126)}


def narrow(result: str, relu: ReluMode, raw: Words) -> tuple[NDArray[Any], int] | None:
    """FP32 accumulators as FP32, FP16 or BF16, rounded to nearest even, optionally after a plain ReLU."""
    values = raw.view(np.float32)
    if not np.isfinite(values).all():
        return None
    if relu == ReluMode.RELU:
        raw = np.where(raw >= np.uint32(0x8000_0000), np.uint32(0), raw)
        values = raw.view(np.float32)
    if result == "FP32":
        return raw, 0
    bits, back = _to_half(values) if result == "FP16" else _to_bfloat(raw)
    if not np.isfinite(back).all():
        return None
    inexact = back != values
    if not inexact.any():
        return bits, 0
    tiny = inexact & (np.abs(values) < _SMALLEST_NORMAL[result])
    return bits, NX | (UNDERFLOW if tiny.any() else 0)


def _to_half(values: NDArray[np.float32]) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
    with np.errstate(all="ignore"):
        half = values.astype(np.float16)
    return half.view(np.uint16), half.astype(np.float32)


def _to_bfloat(raw: Words) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
    """Rounding on the pattern: half a unit, less one where the kept part is even, carries into it."""
    kept = raw + (np.uint32(0x7FFF) + (raw >> np.uint32(16) & np.uint32(1)))
    kept &= np.uint32(0xFFFF_0000)
    return (kept >> np.uint32(16)).astype(np.uint16), kept.view(np.float32)
