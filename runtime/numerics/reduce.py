"""Row and group maxima over raw accumulators."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics.flags import NV, OF
from ptoc.runtime.numerics.formats import CANONICAL_NAN, signalling

Words = NDArray[np.uint32]
_MAGNITUDE = np.uint32(0x7FFF_FFFF)


def row_maximum(accumulator: DType, raw: Words, *, absolute: bool, initial: Words | None = None) -> tuple[Words, int]:
    """The maximum of every row as a rows x 1 array, and the flags.

    ``absolute`` compares magnitudes; ``initial`` (rows x 1) takes part last. A single value is passed through
    untouched unless something makes it meet another one.
    """
    values, flags = (raw, 0) if not absolute else _absolute(accumulator, raw)
    if initial is not None:
        if absolute:
            initial, more = _absolute(accumulator, initial)
            flags |= more
        values = np.concatenate([initial, values], axis=1)
    if values.shape[1] == 1 and not (absolute and accumulator.is_float):
        return values.copy(), flags
    if not accumulator.is_float:
        ordered = values.view(np.int32) if accumulator.numeric_class == "signed" else values
        return ordered.max(axis=1, keepdims=True).view(np.uint32), flags
    return _float_maximum(values), flags | (NV if signalling(values).any() else 0)


def group_maximum(accumulator: DType, raw: Words, group: int, *, absolute: bool) -> tuple[Words, int]:
    """``row_maximum`` over every ``group`` columns (the last group may be short), rows x groups."""
    parts = [
        row_maximum(accumulator, raw[:, start : start + group], absolute=absolute)
        for start in range(0, raw.shape[1], group)
    ]
    flags = 0
    for _, more in parts:
        flags |= more
    return np.concatenate([values for values, _ in parts], axis=1), flags


def _absolute(accumulator: DType, raw: Words) -> tuple[Words, int]:
    if accumulator.is_float:
        return raw & _MAGNITUDE, 0
    if accumulator.numeric_class == "unsigned":
        return raw, 0
    smallest = raw == np.uint32(0x8000_0000)
    magnitude = np.abs(raw.view(np.int32)).view(np.uint32)
    return np.where(smallest, _MAGNITUDE, magnitude), OF if smallest.any() else 0


def _float_maximum(values: Words) -> Words:
    """The greatest number of each row, -0 below +0; NaNs lose, and only NaNs give the canonical one."""
    magnitude = values & _MAGNITUDE
    nan = magnitude > np.uint32(0x7F80_0000)
    signed = values.view(np.int32)
    key = np.where(signed < 0, signed ^ np.int32(0x7FFF_FFFF), signed)
    best = np.where(nan, np.int32(-0x8000_0000), key).max(axis=1, keepdims=True)
    bits = np.where(best < 0, best ^ np.int32(0x7FFF_FFFF), best).view(np.uint32)
    return np.where(nan.all(axis=1, keepdims=True), np.uint32(CANONICAL_NAN), bits)
