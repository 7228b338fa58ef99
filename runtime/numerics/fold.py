"""Lines of elements folded to one element each, from left to right, every step rounded to the element type.

``steps`` is a steps x lines array of raw bits, contiguous: one vector operation then performs a step on all lines.
Results have one element per line. ``up`` are the flags that need not be looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics import arithmetic
from ptoc.runtime.numerics.arithmetic import Result, native, to_keys
from ptoc.runtime.numerics.flags import NV, NX
from ptoc.runtime.numerics.formats import canonical_nan, decode_floats, integers, is_nan, is_signalling

Bits = NDArray[Any]
Floats = NDArray[np.float32]
_NAMES = {"FP64": 0x3FF << 52, "FP16": 0x3C00, "BF16": 0x3F80, "E4M3": 0x38, "E5M2": 0x3C}


def one(dtype: DType) -> int:
    """The code of 1."""
    return _NAMES.get(dtype.name, 0x3F80_0000) if dtype.is_float else 1


def total(dtype: DType, steps: Bits, up: int = 0) -> Result:
    """Sums, from +0 on; integers modulo 2^width."""
    if not dtype.is_float:
        return np.add.reduce(steps, axis=0, dtype=steps.dtype), 0
    quick = native(_sums, dtype, up, steps)
    if quick is None and dtype.bits == 16 and up & NX:
        quick = _half_sums(dtype, steps)
    return (quick, 0) if quick is not None else _folded(arithmetic.add, dtype, steps, 0, up)


def product(dtype: DType, steps: Bits, up: int = 0) -> Result:
    """Products, from 1 on; integers modulo 2^width."""
    if not dtype.is_float:
        return np.multiply.reduce(steps, axis=0, dtype=steps.dtype), 0
    quick = native(_products, dtype, up, steps)
    return (quick, 0) if quick is not None else _folded(arithmetic.multiply, dtype, steps, one(dtype), up)


def _in_order(function: np.ufunc, values: Bits, start: float) -> Bits:
    """A reduction over the first axis, which numpy performs one step after the other where lines are contiguous.

    A single line it would add up in pairs, but not when it accumulates.
    """
    if values.shape[1] > 1:
        result: Bits = function.reduce(values, axis=0, initial=values.dtype.type(start))
        return result
    first = np.full((1, 1), start, values.dtype)
    return np.array(function.accumulate(np.concatenate([first, values]), axis=0)[-1])


def _sums(values: Bits) -> Bits:
    return _in_order(np.add, values, 0.0)


def _products(values: Bits) -> Bits:
    return _in_order(np.multiply, values, 1.0)


def _half_sums(dtype: DType, steps: Bits) -> Bits | None:
    """Finite sums of FP16 or BF16, each rounded by way of FP32, which has more than twice as many bits and two.

    A sum of two numbers of a type is exact where it is subnormal, and one that overflowed does not become finite again.
    """
    rounded = _rounded_half if dtype.name == "FP16" else _rounded_bfloat
    values = decode_floats(dtype, steps)
    sums = np.zeros(steps.shape[1], np.float32)
    with np.errstate(all="ignore"):
        for row in values:
            sums += row
            sums = rounded(sums)
        if not np.isfinite(sums).all():
            return None
        if dtype.name == "FP16":
            return sums.astype(np.float16).view(np.uint16)
        return (sums.view(np.uint32) >> np.uint32(16)).astype(np.uint16)


def _rounded_half(values: Floats) -> Floats:
    return values.astype(np.float16).astype(np.float32)


def _rounded_bfloat(values: Floats) -> Floats:
    bits = values.view(np.uint32)
    kept = bits + (np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)))
    return (kept & np.uint32(0xFFFF_0000)).view(np.float32)


def _folded(step: Callable[..., Result], dtype: DType, steps: Bits, start: int, up: int) -> Result:
    bits: Bits = np.full(steps.shape[1], start, steps.dtype)
    raised = 0
    for row in steps:
        bits, flags = step(dtype, bits, row, up | raised)
        raised |= flags
    return bits, raised


def largest(dtype: DType, steps: Bits, up: int = 0) -> Result:
    """The largest element of every line; a number wins over a NaN, and a single element is as it is."""
    return _extreme(dtype, steps, np.argmax)


def smallest(dtype: DType, steps: Bits, up: int = 0) -> Result:
    """The smallest element of every line."""
    return _extreme(dtype, steps, np.argmin)


def place_of_largest(dtype: DType, steps: Bits, up: int = 0) -> Result:
    """The step at which the largest element of every line first comes, as U32."""
    places, _, flags = _places(dtype, steps, np.argmax)
    return places.astype(np.uint32), flags


def place_of_smallest(dtype: DType, steps: Bits, up: int = 0) -> Result:
    """The step at which the smallest element of every line first comes, as U32."""
    places, _, flags = _places(dtype, steps, np.argmin)
    return places.astype(np.uint32), flags


def _extreme(dtype: DType, steps: Bits, find: Any) -> Result:
    choose = np.maximum if find is np.argmax else np.minimum
    if len(steps) == 1:
        return steps[0].copy(), 0
    if not dtype.is_float:
        bits: Bits = choose.reduce(integers(dtype, steps), axis=0).view(steps.dtype)
        return bits, 0
    nan = is_nan(dtype, steps)
    if not nan.any():
        return arithmetic.from_keys(choose.reduce(to_keys(steps), axis=0)), 0
    places, lost, flags = _places(dtype, steps, find)
    found = np.take_along_axis(steps, places[None, :], axis=0)[0]
    return np.where(lost, steps.dtype.type(canonical_nan(dtype)), found), flags


def _places(dtype: DType, steps: Bits, find: Any) -> tuple[NDArray[np.intp], NDArray[np.bool_], int]:
    """Where the extreme elements are, which lines are all NaN, and the flags."""
    lines = steps.shape[1]
    if not dtype.is_float:
        return find(integers(dtype, steps), axis=0), np.zeros(lines, bool), 0
    keys, nan = to_keys(steps), is_nan(dtype, steps)
    if not nan.any():
        return find(keys, axis=0), np.zeros(lines, bool), 0
    limits = np.iinfo(keys.dtype)
    # These keys belong to NaNs themselves, so no number shares them.
    places = find(np.where(nan, keys.dtype.type(limits.min if find is np.argmax else limits.max), keys), axis=0)
    lost: NDArray[np.bool_] = np.asarray(nan.all(axis=0))
    if len(steps) == 1:
        return places, lost, 0
    # Two NaNs make the canonical one: where the second is that and the first is not, the second has won.
    canonical = steps.dtype.type(canonical_nan(dtype))
    second = (steps[0] != canonical) & (steps[1] == canonical)
    places = np.where(lost, np.where(second, 1, 0), places)
    return places, lost, NV if is_signalling(dtype, steps).any() else 0
