"""Element comparison of TCMP on raw bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics.flags import NV

Bits = NDArray[Any]
_INFINITY = {"FP64": 0x7FF << 52, "E4M3": 0x7E, "E5M2": 0x7C, "FP16": 0x7C00, "BF16": 0x7F80}
_NATIVE = {64: np.float64, 32: np.float32}
"""Widths whose patterns are floats of the host, those of TF32 and HF32 included."""


def compare(mode: int, dtype: DType, left: Bits, right: Bits) -> tuple[NDArray[np.bool_], int]:
    """The truth values of CMode 0..5 (EQ, NE, LT, GT, LE, GE) and the flags raised.

    A NaN makes every relation but NE false; a signalling one sets NV.
    """
    if not dtype.is_float:
        return _relation(mode, _integers(dtype, left), _integers(dtype, right)), 0
    if dtype.bits in _NATIVE:
        # numpy's own relations are those of the ISA; a signalling NaN is the one thing to look for besides.
        x, y = (bits.view(_NATIVE[dtype.bits]) for bits in (left, right))
        signalling = any(
            np.isnan(values).any() and _is_signalling(dtype, bits).any() for values, bits in ((x, left), (y, right))
        )
        with np.errstate(invalid="ignore"):
            return _relation(mode, x, y), NV if signalling else 0
    nan = _is_nan(dtype, left) | _is_nan(dtype, right)
    truth = _relation(mode, _keys(left), _keys(right))
    if mode == 1:
        truth |= nan
    else:
        truth &= ~nan
    quiet = dtype.name == "E4M3"
    signalling = not quiet and bool(_is_signalling(dtype, left).any() or _is_signalling(dtype, right).any())
    return truth, NV if signalling else 0


def _relation(mode: int, left: Bits, right: Bits) -> NDArray[np.bool_]:
    relations = (np.equal, np.not_equal, np.less, np.greater, np.less_equal, np.greater_equal)
    result: NDArray[np.bool_] = relations[mode](left, right)
    return result


def _integers(dtype: DType, bits: Bits) -> Bits:
    return bits.view(f"i{bits.dtype.itemsize}") if dtype.numeric_class == "signed" else bits


def _keys(bits: Bits) -> Bits:
    """Signed integers in the order of the values; both zeros are 0."""
    width = 8 * bits.dtype.itemsize
    top = bits.dtype.type((1 << (width - 1)) - 1)
    magnitude = (bits & top).view(f"i{bits.dtype.itemsize}")
    keys: Bits = np.where(bits > top, -magnitude, magnitude)
    return keys


def _magnitude(bits: Bits) -> Bits:
    magnitude: Bits = bits & bits.dtype.type((1 << (8 * bits.dtype.itemsize - 1)) - 1)
    return magnitude


def _is_nan(dtype: DType, bits: Bits) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = _magnitude(bits) > bits.dtype.type(_INFINITY.get(dtype.name, 0x7F80_0000))
    return result


def _is_signalling(dtype: DType, bits: Bits) -> NDArray[np.bool_]:
    """A NaN whose most significant fraction bit is clear; the carrier types keep it where FP32 does."""
    fraction = 23 if dtype.bits == 32 else dtype.fraction
    quiet = bits & bits.dtype.type(1 << (fraction - 1))
    result: NDArray[np.bool_] = _is_nan(dtype, bits) & (quiet == 0)
    return result
