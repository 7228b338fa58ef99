"""numpy in PTO's order: what the machine must compute, said in plain numpy.

An oracle beside the simulator, so nothing here is shared with it. The machine's rule for a float matmul is
two roundings to float32 per step, with ascending k, starting from C; numpy's own matmul rounds in whatever
order its BLAS likes and adds C last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_CANONICAL_NAN = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC0_0000}
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
def relu(x: Array) -> Array:
    """The machine's ReLU: +0 where ``x`` is negative, -0 and -inf included; NaN stays, as the canonical NaN.

    ``x`` is of any shape, of float32, float16, bfloat16 or an integer type.
    """
    if x.dtype.kind in "iu":
        return np.where(x > 0, x, x.dtype.type(0))
    return _canonical(np.where(np.signbit(x) & ~np.isnan(x), x.dtype.type(0), x))


@np.errstate(all="ignore")
def convert(x: Array, dtype: npt.DTypeLike) -> Array:
    """float32 ``x`` rounded to nearest, ties to even, as float32, float16 or bfloat16; NaN canonical.

    Numbers beyond the range become infinite, tiny ones subnormal or a zero of their sign.
    """
    target = np.dtype(dtype)
    if x.dtype != np.float32 or target.name not in _CANONICAL_NAN:
        raise TypeError(f"there is no conversion from {x.dtype} to {target}")
    return _canonical(x.astype(target))


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
