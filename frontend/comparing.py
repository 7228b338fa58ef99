"""Bit comparison of arrays for reports: distances, the first mismatch, and where mismatches stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

UNORDERED = (1 << 64) - 1
"""The distance between a NaN and a number."""

_CANONICAL_NAN = {
    "float8_e4m3fn": 0x7F,
    "float16": 0x7E00,
    "bfloat16": 0x7FC0,
    "float32": 0x7FC0_0000,
    "float64": 0x7FF8 << 48,
}


@dataclass(frozen=True)
class Mismatch:
    """The first element that differs: its index, both canonical bit patterns and their distance in ulp."""

    index: tuple[int, ...]
    left_bits: int
    right_bits: int
    ulp: int


def canonical_bits(array: Array) -> Array:
    """The bit patterns as unsigned integers of the same width and shape, every NaN as the canonical one.

    For float8_e4m3fn, float16, bfloat16, float32, float64, bool and integers, int4 as int8; ``TypeError`` for other
    dtypes.
    """
    if array.dtype.name == "int4":
        return array.astype(np.int8).view(np.uint8)
    bits = np.ascontiguousarray(array).view(f"u{array.itemsize}").reshape(array.shape)
    if array.dtype.name in _CANONICAL_NAN:
        return np.where(_is_nan(array), bits.dtype.type(_CANONICAL_NAN[array.dtype.name]), bits)
    if array.dtype.kind in "biu":
        return bits.copy()
    raise TypeError(f"arrays of {array.dtype} cannot be compared bit by bit")


def ulp_distance(x: Array, y: Array) -> npt.NDArray[np.uint64]:
    """How many steps between representable values lie between ``x`` and ``y``, element by element.

    The steps of integers are ones. Both zeros are one value. Two NaNs are at distance 0, a NaN and a number
    at ``UNORDERED``. ``ValueError`` unless shapes and dtypes are the same.
    """
    _require_alike(x, y)
    left, right = _ranks(x), _ranks(y)
    distance = np.asarray(np.maximum(left, right) - np.minimum(left, right))
    if x.dtype.name not in _CANONICAL_NAN:
        return distance
    left_nan, right_nan = _is_nan(x), _is_nan(y)
    distance[left_nan | right_nan] = UNORDERED
    distance[left_nan & right_nan] = 0
    return distance


def first_mismatch(x: Array, y: Array) -> Mismatch | None:
    """The first element, rows first, whose canonical bits differ; ``None`` when there is none.

    ``ValueError`` unless shapes and dtypes are the same.
    """
    _require_alike(x, y)
    left, right = canonical_bits(x), canonical_bits(y)
    differing = np.flatnonzero(left != right)
    if not differing.size:
        return None
    index = tuple(int(i) for i in np.unravel_index(differing[0], x.shape))
    distance = ulp_distance(x[index].reshape(1), y[index].reshape(1))
    return Mismatch(index, int(left[index]), int(right[index]), int(distance[0]))


def pattern(mask: npt.NDArray[np.bool_]) -> str | None:
    """Where the true elements of a mask of one or two dimensions stand, in words.

    A bare place ("columns ≥ 96", "every second row") is true throughout; "all in columns ≥ 96" says that
    nothing outside is true. ``None`` when nothing is true or no few words say where.
    """
    if mask.ndim not in (1, 2) or not mask.any():
        return None
    if mask.all():
        return "everywhere"
    if np.count_nonzero(mask) == 1:
        return f"element [{', '.join(str(int(i)) for i in np.argwhere(mask)[0])}] only"
    if mask.ndim == 1:
        return _place(mask, "element")

    rows, columns = np.logical_or.reduce(mask, axis=1), np.logical_or.reduce(mask, axis=0)
    named = [place for place in (_place(columns, "column"), _place(rows, "row")) if place]
    if not named:
        return None
    described = sum(line.all() for line in (rows, columns)) + len(named) == 2
    throughout = described and np.array_equal(mask, rows[:, None] & columns)
    return ("" if throughout else "all in ") + " of ".join(named)


def _place(line: npt.NDArray[np.bool_], noun: str) -> str | None:
    """The true places along one axis; ``None`` when they are all places or have no simple name."""
    edges = np.flatnonzero(np.diff(line, prepend=False, append=False))
    starts, stops = edges[::2].tolist(), edges[1::2].tolist()
    if len(starts) == 1:
        return _run(starts[0], stops[0], len(line), noun)
    return _repeated(line, starts, stops, noun)


def _run(start: int, stop: int, length: int, noun: str) -> str | None:
    if stop - start == length:
        return None
    if stop - start == 1:
        return {0: f"the first {noun}", length - 1: f"the last {noun}"}.get(start, f"{noun} {start}")
    if stop == length:
        return f"{noun}s ≥ {start}"
    if start == 0:
        return f"{noun}s < {stop}"
    return f"{noun}s {start} to {stop - 1}"


def _repeated(line: npt.NDArray[np.bool_], starts: list[int], stops: list[int], noun: str) -> str | None:
    """Runs of one width at one period over the whole axis, of which only the last may be cut short."""
    start, width, period = starts[0], stops[0] - starts[0], starts[1] - starts[0]
    phase = np.arange(len(line)) % period
    if not np.array_equal(line, (phase >= start) & (phase < start + width)):
        return None
    if width > 1:
        return f"{noun}s {start} to {start + width - 1} of every {period}"
    every = f"every second {noun}" if period == 2 else f"one {noun} in {period}"
    return every if start == 0 else f"{every} from {noun} {start} on"


def _is_nan(array: Array) -> npt.NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return np.isnan(array)


def _ranks(array: Array) -> npt.NDArray[np.uint64]:
    """Unsigned integers in the order of the values, one apart for neighbours; both zeros share one."""
    bits = canonical_bits(array).astype(np.uint64)
    if array.dtype.kind in "bu":
        return bits
    if array.dtype.name == "int4":
        return bits ^ np.uint64(0x80)
    sign = np.uint64(1 << 8 * array.itemsize - 1)
    if array.dtype.kind == "i":
        return bits ^ sign
    magnitude = bits & (sign - np.uint64(1))
    return np.where(bits & sign, sign - magnitude, sign + magnitude)


def _require_alike(x: Array, y: Array) -> None:
    if x.shape != y.shape or x.dtype != y.dtype:
        raise ValueError(f"{x.dtype}{list(x.shape)} cannot be compared with {y.dtype}{list(y.shape)}")
