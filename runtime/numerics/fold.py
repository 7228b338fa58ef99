"""Lines of elements folded to one element each, from left to right, every step rounded to the element type.

Functions take the raw bits of a tile and the axis to fold: 1 folds every row, 0 every column. Results have one element
per line. Where order matters, rows are first laid out as columns: one operation of numpy then makes a step on all of
them. ``up`` are the flags that need not be looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics import arithmetic
from ptoc.runtime.numerics.arithmetic import NATIVE, Result, native, to_keys
from ptoc.runtime.numerics.flags import NV, NX
from ptoc.runtime.numerics.formats import canonical_nan, decode_floats, integers, is_nan, is_signalling

Bits = NDArray[Any]
Floats = NDArray[np.float32]
_ONES = {"FP64": 0x3FF << 52, "FP16": 0x3C00, "BF16": 0x3F80, "E4M3": 0x38, "E5M2": 0x3C}

_BLOCK = 64


def one(dtype: DType) -> int:
    """The code of 1."""
    return _ONES.get(dtype.name, 0x3F80_0000) if dtype.is_float else 1


def _steps(tile: Bits, axis: int) -> Bits:
    """The tile as steps x lines, contiguous; it is turned in blocks that caches hold."""
    if not axis:
        return np.ascontiguousarray(tile)
    lines, steps = tile.shape
    turned = np.empty((steps, lines), tile.dtype)
    for first in range(0, lines, _BLOCK):
        turned[:, first : first + _BLOCK] = tile[first : first + _BLOCK].T
    return turned


def total(dtype: DType, tile: Bits, axis: int, up: int = 0) -> Result:
    """Sums, from +0 on; integers modulo 2^width."""
    return _total(np.add, arithmetic.add, 0.0, dtype, tile, axis, up)


def product(dtype: DType, tile: Bits, axis: int, up: int = 0) -> Result:
    """Products, from 1 on; integers modulo 2^width."""
    return _total(np.multiply, arithmetic.multiply, 1.0, dtype, tile, axis, up)


def _total(
    function: np.ufunc, step: Callable[..., Result], start: float, dtype: DType, tile: Bits, axis: int, up: int
) -> Result:
    if not dtype.is_float:
        return function.reduce(tile, axis=axis, dtype=tile.dtype), 0
    steps = _steps(tile, axis)
    if up & NX:
        # The host's sums say nothing of inexact steps.
        quick = native(lambda values: _in_order(function, values, start), dtype, steps)
        if quick is None and dtype.bits == 16:
            quick = _halves(function, start, dtype, steps)
        if quick is not None:
            return quick, 0
    return _folded(step, dtype, steps, one(dtype) if start else 0, up)


def _in_order(function: np.ufunc, values: Bits, start: float) -> Bits:
    """A reduction over the first axis, which numpy performs one step after the other where lines are contiguous.

    A single line it would add up in pairs, but not when it accumulates.
    """
    if values.shape[1] > 1:
        result: Bits = function.reduce(values, axis=0, initial=values.dtype.type(start))
        return result
    first = np.full((1, 1), start, values.dtype)
    return np.array(function.accumulate(np.concatenate([first, values]), axis=0)[-1])


def _halves(function: np.ufunc, start: float, dtype: DType, steps: Bits) -> Bits | None:
    """Sums or products of FP16 or BF16, each rounded by way of FP32, which has more than twice as many bits and two.

    ``None`` where one overflowed, which does not become finite again, or a product became tiny; sums that are tiny are
    exact.
    """
    rounded = _rounded_half if dtype.name == "FP16" else _rounded_bfloat
    sums = function is np.add
    least = np.full(steps.shape[1], np.inf, np.float32)
    out = np.full(steps.shape[1], start, np.float32)
    with np.errstate(all="ignore"):
        for row in decode_floats(dtype, steps):
            function(out, row, out=out)
            out = rounded(out)
            if not sums:
                np.minimum(least, np.abs(out), out=least)
        if not np.isfinite(out).all() or (not sums and (least <= np.float32(2.0 ** (1 - dtype.bias))).any()):
            return None
        if dtype.name == "FP16":
            return out.astype(np.float16).view(np.uint16)
        return (out.view(np.uint32) >> np.uint32(16)).astype(np.uint16)


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


def largest(dtype: DType, tile: Bits, axis: int, up: int = 0) -> Result:
    """The largest element of every line; a number wins over a NaN, and a single element is as it is."""
    return _extreme(np.maximum, np.argmax, dtype, tile, axis)


def smallest(dtype: DType, tile: Bits, axis: int, up: int = 0) -> Result:
    """The smallest element of every line."""
    return _extreme(np.minimum, np.argmin, dtype, tile, axis)


def place_of_largest(dtype: DType, tile: Bits, axis: int, up: int = 0) -> Result:
    """The step at which the largest element of every line first comes, as U32."""
    return _place(np.argmax, dtype, tile, axis)


def place_of_smallest(dtype: DType, tile: Bits, axis: int, up: int = 0) -> Result:
    """The step at which the smallest element of every line first comes, as U32."""
    return _place(np.argmin, dtype, tile, axis)


def _place(find: Any, dtype: DType, tile: Bits, axis: int) -> Result:
    if not dtype.is_float:
        return find(integers(dtype, tile), axis=axis).astype(np.uint32), 0
    places, _, flags = _places(dtype, _steps(tile, axis), find)
    return places.astype(np.uint32), flags


def _extreme(choose: np.ufunc, find: Any, dtype: DType, tile: Bits, axis: int) -> Result:
    if tile.shape[axis] == 1:
        return tile.take(0, axis=axis), 0
    if not dtype.is_float:
        bits: Bits = choose.reduce(integers(dtype, tile), axis=axis).view(tile.dtype)
        return bits, 0
    if dtype.name in NATIVE:
        plain = choose.reduce(tile.view(NATIVE[dtype.name]), axis=axis)
        # Neither a NaN, which the host would pass on, nor a zero, whose sign it does not promise.
        if (np.abs(plain) > 0).all():
            found: Bits = plain.view(tile.dtype)
            return found, 0
    nan = is_nan(dtype, tile)
    if not nan.any():
        return arithmetic.from_keys(choose.reduce(to_keys(tile), axis=axis)), 0
    steps = _steps(tile, axis)
    places, lost, flags = _places(dtype, steps, find)
    best = np.take_along_axis(steps, places[None, :], axis=0)[0]
    return np.where(lost, steps.dtype.type(canonical_nan(dtype)), best), flags


def _places(dtype: DType, steps: Bits, find: Any) -> tuple[NDArray[np.intp], NDArray[np.bool_], int]:
    """Where the extreme elements are, which lines are all NaN, and the flags."""
    lines = steps.shape[1]
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
