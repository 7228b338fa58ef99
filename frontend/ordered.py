"""numpy in PTO's order: what the machine must compute, said in plain numpy.

An oracle beside the simulator, so nothing here is shared with it. The machine's rule for a float matmul is
two roundings to float32 per step, with ascending k, starting from C; numpy's own matmul rounds in whatever
order its BLAS likes and adds C last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ptoc.hif8 import hifloat8
from ptoc.isa.dtypes import HIF8_LARGEST

Array = npt.NDArray[Any]

_CANONICAL_NAN = {"float8_e4m3fn": 0x7F, "float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC0_0000}
_ACCUMULATORS = ("float32", "int32", "uint32")


@np.errstate(all="ignore")
def matmul(a: Array, b: Array, c: Array | None = None, *, accumulator: npt.DTypeLike) -> Array:
    """``c + a @ b`` as the machine accumulates it.

    ``a`` is M × K, ``b`` K × N; ``c`` holds accumulators and broadcasts to M × N, ``None`` stands for +0.
    ``accumulator`` is float32 for operands that float32 holds exactly, int32 for signed integers and uint32
    for unsigned ones. Integers wrap modulo 2**32; a NaN result is the canonical one, 0x7fc00000.

    ``ValueError`` for shapes that do not fit, ``TypeError`` for dtypes that do not.
    """
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"no matrix product of shapes {a.shape} and {b.shape}")
    acc_type = np.dtype(accumulator)
    for operand in (a, b):
        _require_operand(operand.dtype, acc_type)
    if c is not None and c.dtype != acc_type:
        raise TypeError(f"c is {c.dtype}, the accumulator {acc_type}")

    acc = np.zeros((a.shape[0], b.shape[1]), acc_type)
    if c is not None:
        acc[...] = c
    if acc_type.kind == "f":
        return _accumulate(acc, a.astype(np.float32), b.astype(np.float32))
    acc.view(np.uint32)[...] += _unsigned(a) @ _unsigned(b)
    return acc


@np.errstate(all="ignore")
def divided(c: Array, exponents: Array) -> Array:
    """float32 ``c`` (M x N) with row m divided by 2 to the power of ``exponents[m]``, unsigned bytes, rounded once."""
    exact = np.ldexp(np.asarray(c, np.float64), -exponents.reshape(-1, 1).astype(np.int32))
    return _canonical(exact.astype(np.float32))


@np.errstate(all="ignore")
def maxima(total: Array, initial: Array | None = None, *, absolute: bool = False) -> Array:
    """The machine's maximum of ``total`` (float32, int32 or uint32) along its last axis, and of ``initial``.

    ``initial`` has the shape of the result, ``None`` stands for nothing. A NaN loses against every number, -0 against
    +0; nothing but NaNs have the canonical one. ``absolute`` compares magnitudes, and that of -2**31 is 2**31 - 1.
    """
    values = total if initial is None else np.concatenate([total, initial[..., None]], axis=-1)
    if absolute:
        smallest = values == np.iinfo(np.int32).min if total.dtype == np.int32 else False
        values = np.where(smallest, np.iinfo(np.int32).max, np.abs(values)).astype(total.dtype)
    if total.dtype.kind != "f":
        return np.max(values, axis=-1)
    nan = np.isnan(values)
    best = np.max(np.where(nan, np.float32(-np.inf), values), axis=-1)
    positive_zero = np.any((values == 0) & ~np.signbit(values), axis=-1)
    best = np.where(best == 0, np.where(positive_zero, np.float32(0), np.float32(-0.0)), best)
    return _canonical(np.where(nan.all(axis=-1), np.float32(np.nan), best))


@np.errstate(all="ignore")
def finish(
    total: Array,
    dtype: npt.DTypeLike,
    *,
    relu: bool = False,
    slope: npt.ArrayLike | None = None,
    scale: npt.ArrayLike = 1.0,
    offset: npt.ArrayLike = 0,
    shift: npt.ArrayLike = 0,
    rounding: str = "rint",
    saturate: bool = False,
    hif8: bool = False,
) -> Array:
    """What the machine makes of finished sums (float32, int32 or uint32, any shape), as ``dtype``.

    With ``hif8`` they are codes of HiF8, as uint8.

    Parameters are numbers or one number per column.
    One exact multiplication, by ``scale`` or for negative sums (-0 is one) by ``slope`` (``relu``: by 0); one rounding,
    to an integer by the numpy function that ``rounding`` names, else to nearest even; the offset; and with ``saturate``
    a clamp. ``shift`` instead is an arithmetic shift to the right, clamped.

    ``TypeError`` for a dtype that no conversion leads to.
    """
    target = np.dtype(dtype)
    known = (*_CANONICAL_NAN, "int4", "int8", "int16", total.dtype.name)
    if target.name not in (("uint8",) if hif8 else known):
        raise TypeError(f"there is no conversion from {total.dtype} to {target}")
    negative = np.signbit(total) & ~np.isnan(total) if total.dtype.kind == "f" else total < 0
    if np.any(shift):
        limits = np.iinfo(target)
        return np.clip(total >> np.asarray(shift, np.int32), limits.min, limits.max).astype(target)
    multiplier = np.where(negative, 0.0 if relu else scale if slope is None else slope, scale)
    exact = np.where(multiplier == 0, 0.0, total.astype(np.float64) * multiplier)
    if hif8:
        return _to_hif8(exact, saturate)
    if target.kind in "iu" or target.name == "int4":
        return _to_integer(exact, target, offset, rounding, saturate)
    minus_zero = negative & (total == 0) & (multiplier != 0)
    return _to_float(np.where(minus_zero, -0.0, np.where(exact == 0, 0.0, exact)), target, saturate)


def _to_integer(x: Array, target: np.dtype[Any], offset: npt.ArrayLike, rounding: str, saturate: bool) -> Array:
    if target.itemsize == 4:
        return np.rint(x).astype(np.int64).astype(target)
    import ml_dtypes

    limits = ml_dtypes.iinfo(target)
    reach = 2 * (int(limits.max) + 1)
    whole = np.clip(np.nan_to_num(getattr(np, rounding)(x), nan=0.0), -reach, reach - 1)
    result = whole.astype(np.int64) + np.asarray(offset, np.int64)
    if not saturate:
        result = np.where(np.isfinite(x), result, limits.min)
        return result.astype(target)
    result = np.where(np.isinf(x), np.where(x > 0, limits.max, limits.min), result)
    return np.where(np.isnan(x), 0, np.clip(result, limits.min, limits.max)).astype(target)


def _to_float(x: Array, target: np.dtype[Any], saturate: bool) -> Array:
    import ml_dtypes

    largest = float(ml_dtypes.finfo(target).max)
    if target.name == "float8_e4m3fn":
        rounded = _nearest_e4m3(x)
        beyond = np.abs(x) > largest
    else:
        rounded = (_to_odd(x) if target.name == "bfloat16" else x).astype(target)
        beyond = np.isinf(rounded)
    if saturate:
        rounded = np.where(beyond, np.copysign(largest, x), np.where(np.isnan(x), 0.0, rounded)).astype(target)
    elif target.name == "float8_e4m3fn":
        rounded[beyond] = np.nan
    return _canonical(rounded)


def _to_hif8(x: Array, saturate: bool) -> Array:
    if saturate:
        x = np.where(np.isnan(x), 0.0, np.clip(x, -HIF8_LARGEST, HIF8_LARGEST))
    codes: Array = hifloat8(x)
    return codes


def _to_odd(x: Array) -> npt.NDArray[np.float32]:
    """float64 as float32, inexact numbers as the odd neighbour: a second rounding then is right for ``x`` itself."""
    nearest: npt.NDArray[np.float32] = x.astype(np.float32)
    away = np.abs(nearest.astype(np.float64)) > np.abs(x)
    bits = nearest.view(np.uint32) - away.astype(np.uint32)
    return np.where((nearest == x) | np.isnan(x), nearest, (bits | np.uint32(1)).view(np.float32))


def _nearest_e4m3(x: Array) -> Array:
    """Finite numbers up to 448 to nearest even; a number that becomes zero loses its sign, -0 keeps it."""
    import ml_dtypes

    inside = np.where(np.abs(x) <= 448, x, 0.0)
    unit = np.ldexp(1.0, np.maximum(np.frexp(inside)[1] - 1, -6) - 3)
    rounded = np.rint(inside / unit) * unit
    rounded = np.where((rounded == 0) & (inside != 0), 0.0, rounded)
    return np.where(np.isnan(x), np.nan, rounded).astype(ml_dtypes.float8_e4m3fn)


def _require_operand(operand: np.dtype[Any], accumulator: np.dtype[Any]) -> None:
    if accumulator.name not in _ACCUMULATORS:
        raise TypeError(f"the accumulator is one of {', '.join(_ACCUMULATORS)}, not {accumulator}")
    if accumulator.kind == "f":
        fits = operand.kind not in "biu" and np.can_cast(operand, np.float32, "safe")
    else:
        fits = operand.kind == accumulator.kind
    if not fits:
        raise TypeError(f"{operand} operands do not accumulate in {accumulator}")


def _accumulate(acc: Array, a: Array, b: Array) -> Array:
    product = np.empty_like(acc)
    columns = np.ascontiguousarray(a.T)
    for column, row in zip(columns, b):
        np.multiply(column[:, None], row, out=product)
        np.add(acc, product, out=acc)
    return _canonical(acc)


def _unsigned(x: Array) -> npt.NDArray[np.uint32]:
    """The integers modulo 2**32."""
    return x.astype(np.int64 if x.dtype.kind == "i" else np.uint64).astype(np.uint32)


def _canonical(x: Array) -> Array:
    """``x``, its NaNs overwritten in place with the one pattern of the type."""
    x.view(f"u{x.itemsize}")[np.isnan(x)] = _CANONICAL_NAN[x.dtype.name]
    return x
