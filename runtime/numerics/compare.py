"""Element comparison of TCMP on raw bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics.flags import NV
from ptoc.runtime.numerics.formats import integers, is_nan, is_signalling

Bits = NDArray[Any]
_NATIVE = {64: np.float64, 32: np.float32}
"""Widths whose patterns are floats of the host, those of TF32 and HF32 included."""


def compare(mode: int, dtype: DType, left: Bits, right: Bits) -> tuple[NDArray[np.bool_], int]:
    """The truth values of CMode 0..5 (EQ, NE, LT, GT, LE, GE) and the flags raised.

    A NaN makes every relation but NE false; a signalling one sets NV.
    """
    if not dtype.is_float:
        return _relation(mode, integers(dtype, left), integers(dtype, right)), 0
    if dtype.bits in _NATIVE:
        # numpy's own relations are those of the ISA; a signalling NaN is the one thing to look for besides.
        x, y = (bits.view(_NATIVE[dtype.bits]) for bits in (left, right))
        signalling = any(
            np.isnan(values).any() and is_signalling(dtype, bits).any() for values, bits in ((x, left), (y, right))
        )
        with np.errstate(invalid="ignore"):
            return _relation(mode, x, y), NV if signalling else 0
    nan = is_nan(dtype, left) | is_nan(dtype, right)
    truth = _relation(mode, _keys(left), _keys(right))
    if mode == 1:
        truth |= nan
    else:
        truth &= ~nan
    signalling = bool(is_signalling(dtype, left).any() or is_signalling(dtype, right).any())
    return truth, NV if signalling else 0


def _relation(mode: int, left: Bits, right: Bits) -> NDArray[np.bool_]:
    relations = (np.equal, np.not_equal, np.less, np.greater, np.less_equal, np.greater_equal)
    result: NDArray[np.bool_] = relations[mode](left, right)
    return result


def _keys(bits: Bits) -> Bits:
    """Signed integers in the order of the values; both zeros are 0."""
    width = 8 * bits.dtype.itemsize
    top = bits.dtype.type((1 << (width - 1)) - 1)
    magnitude = (bits & top).view(f"i{bits.dtype.itemsize}")
    keys: Bits = np.where(bits > top, -magnitude, magnitude)
    return keys
