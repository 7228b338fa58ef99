"""Array–scalar comparisons as comparisons with a constant of the array's own dtype.

numpy converts both sides of ``array < scalar`` to a common type (NEP 50) and compares there. Those
conversions never reverse an order, so along the ordered values of the array's dtype an ordering comparison
changes its answer at most once. Finding that place by bisection, with numpy itself as the judge, gives the
same truth value for every element, whatever the promotion rules of the two types are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Operator = Literal["eq", "ne", "lt", "gt", "le", "ge"]

UFUNCS: dict[Operator, np.ufunc] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "gt": np.greater,
    "le": np.less_equal,
    "ge": np.greater_equal,
}


@dataclass(frozen=True)
class Comparison:
    """``element <op> constant``, the constant given by its bit pattern in the array's dtype."""

    op: Operator
    bits: int


@dataclass(frozen=True)
class Constant:
    """The same answer for every element, NaN included."""

    value: bool


@dataclass(frozen=True)
class _Values:
    """The values of a dtype other than NaN as consecutive integers ``first`` to ``last``, in their order.

    An integer stands for itself; a float stands at its magnitude's bit pattern with its own sign, so that
    +0 and -0, which no comparison tells apart, share the place 0.
    """

    dtype: np.dtype[Any]
    first: int
    last: int
    has_nan: bool

    def bits(self, place: int) -> int:
        width = 8 * self.dtype.itemsize
        if not self.has_nan:
            return place & (1 << width) - 1
        return place if place >= 0 else 1 << width - 1 | -place

    def element(self, bits: int) -> npt.NDArray[Any]:
        return np.array([bits], dtype=f"u{self.dtype.itemsize}").view(self.dtype)


_INFINITIES = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F80_0000, "float64": 0x7FF0 << 48}


def _values(dtype: npt.DTypeLike) -> _Values:
    dtype = np.dtype(dtype)
    if dtype.isnative and dtype.name in _INFINITIES:
        infinity = _INFINITIES[dtype.name]
        return _Values(dtype, -infinity, infinity, has_nan=True)
    if dtype.isnative and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return _Values(dtype, limits.min, limits.max, has_nan=False)
    raise TypeError(f"arrays of {dtype} cannot be compared: only native integers and floats of 16 to 64 bits")


def fold(op: Operator, dtype: npt.DTypeLike, scalar: object) -> Comparison | Constant:
    """The comparison ``array <op> scalar`` with ``scalar`` replaced by a constant of the array's dtype.

    ``dtype`` is float16, bfloat16, float32, float64 or an integer type; ``scalar`` a Python or numpy bool,
    integer or real. The result gives numpy's answer for every element, NaN included, and keeps ``op`` where
    the scalar is a value of the dtype: ``int32 > 5`` stays, ``int32 > 0.5`` becomes ``>= 1`` and
    ``uint8 > 300`` the constant False.

    ``TypeError`` for another dtype, for a scalar that is no real number and for one that numpy refuses;
    ``ValueError`` when several values in the midst of the dtype equal the scalar (int64 against 2.0**60).
    """
    values = _values(dtype)
    _require_real(scalar)

    def holds(name: Operator, bits: int) -> bool:
        return bool(UFUNCS[name](values.element(bits), scalar)[0])

    try:
        with np.errstate(all="ignore"):
            return _fold(op, values, holds)
    except (TypeError, OverflowError) as error:
        raise TypeError(f"numpy cannot compare {values.dtype} with {scalar!r}: {error}") from error


def _require_real(scalar: object) -> None:
    if isinstance(scalar, (bool, int, float)):
        return
    # The types that ml_dtypes registers with numpy (isbuiltin == 2) are all real, whatever their kind says.
    if isinstance(scalar, np.generic) and (scalar.dtype.kind in "biuf" or scalar.dtype.isbuiltin == 2):
        return
    raise TypeError(f"an array is compared with an array or a real number, not with {scalar!r}")


def _fold(op: Operator, values: _Values, holds: Callable[[Operator, int], bool]) -> Comparison | Constant:
    first, beyond = values.first, values.last + 1
    if not any(holds(name, values.bits(first)) for name in ("lt", "eq", "gt")):
        return Constant(op == "ne")  # the scalar is NaN

    low = _first(first, beyond, lambda place: holds("ge", values.bits(place)))
    high = _first(low, beyond, lambda place: holds("gt", values.bits(place)))
    if op == "ne":
        return _outside(values, low, high)
    start, stop = {
        "lt": (first, low), "le": (first, high), "eq": (low, high), "ge": (low, beyond), "gt": (high, beyond),
    }[op]  # fmt: skip
    if start == stop:
        return Constant(False)
    if not values.has_nan and (start, stop) == (first, beyond):
        return Constant(True)
    if high - low == 1:
        return Comparison(op, values.bits(low))
    if stop == beyond:
        return Comparison("ge", values.bits(start))
    if start == first:
        return Comparison("le", values.bits(stop - 1))
    raise _several(values, stop - start)


def _outside(values: _Values, low: int, high: int) -> Comparison | Constant:
    """The comparison that is false from ``low`` to ``high - 1`` and true elsewhere, for NaN too."""
    if low == high:
        return Constant(True)
    if high - low == 1:
        return Comparison("ne", values.bits(low))
    if values.has_nan:
        raise _several(values, high - low)
    if low == values.first and high > values.last:
        return Constant(False)
    if low == values.first:
        return Comparison("ge", values.bits(high))
    if high > values.last:
        return Comparison("le", values.bits(low - 1))
    raise _several(values, high - low)


def _several(values: _Values, count: int) -> ValueError:
    return ValueError(f"{count} values of {values.dtype} equal the scalar; one comparison cannot find them")


def _first(start: int, stop: int, holds: Callable[[int], bool]) -> int:
    """The first place before ``stop`` from which on the condition holds, or ``stop``."""
    while start < stop:
        middle = (start + stop) // 2
        if holds(middle):
            stop = middle
        else:
            start = middle + 1
    return start
