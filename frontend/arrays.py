"""What a compiled program is fixed to: the shape, row stride and dtype of every array."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ptoc.errors import ArgumentError

CONTIGUOUS = "pass np.ascontiguousarray(...) of it, and copy the result back where the kernel assigns to it"

LARGEST_EXTENT = (1 << 31) - 1
"""Rows or columns of an array: what stays below keeps every address of a launch inside 64 bits."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Shape, dtype and byte strides of a one- or two-dimensional array.

    Strides of axes with one element do not matter and are kept in their dense form, so equal specs compare equal.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    @property
    def row_bytes(self) -> int:
        return self.shape[-1] * self.dtype.itemsize

    @property
    def rows(self) -> int:
        return self.shape[0] if len(self.shape) == 2 else 1

    @property
    def row_stride(self) -> int:
        """Bytes from one row to the next; that of a single row is its length."""
        return self.strides[0] if len(self.shape) == 2 else self.row_bytes

    @property
    def extent(self) -> int:
        """Bytes from the first element to the end of the last."""
        return (self.rows - 1) * self.row_stride + self.row_bytes if self.size else 0

    @property
    def dense(self) -> bool:
        return self.rows == 1 or self.row_stride == self.row_bytes

    def __str__(self) -> str:
        shape = "x".join(str(d) for d in self.shape)
        return f"{shape} {self.dtype}" + ("" if self.dense else f", rows {self.row_stride} bytes apart")


def dense_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """C-order strides in bytes."""
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def spec(shape: Sequence[int] | int, dtype: npt.DTypeLike, strides: Sequence[int] | None = None) -> ArraySpec:
    """The specification of an array argument, for ``kernel.compile``.

    ``shape`` has one or two extents, ``strides`` (bytes, as numpy's) default to C order. ``dtype`` may be any numpy
    or ml_dtypes dtype, or ``"bfloat16"``. ``ArgumentError`` for what ``check_spec`` rejects.
    """
    try:
        extents = tuple(operator.index(d) for d in (shape if isinstance(shape, Sequence) else (shape,)))
    except TypeError:
        raise ArgumentError(f"{shape!r} is no shape", hint="a shape is one or two integers") from None
    if isinstance(dtype, str) and dtype == "bfloat16":
        import ml_dtypes

        dtype = ml_dtypes.bfloat16
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        raise ArgumentError(f"numpy has no dtype called {dtype}") from None
    steps = dense_strides(extents, resolved.itemsize) if strides is None else tuple(int(s) for s in strides)
    return check_spec(extents, resolved, steps, "an array")


def spec_of(array: object, name: str) -> ArraySpec:
    """The specification of an argument named ``name``; ``ArgumentError`` when it cannot be one."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"argument {name} is a {type(array).__name__}, not a numpy array",
            hint="pass arrays only; Python scalars belong into the kernel's source",
        )
    if type(array) not in (np.ndarray, np.memmap):
        raise ArgumentError(
            f"argument {name} is a {type(array).__name__}, whose own rules ptoc does not follow",
            hint="pass np.asarray(...) of it",
        )
    return check_spec(array.shape, array.dtype, array.strides, f"argument {name}")


def check_spec(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], what: str) -> ArraySpec:
    """A valid specification: one or two dimensions, a dtype of PTO, unit column stride, row stride ≥ 0."""
    if len(shape) not in (1, 2):
        raise ArgumentError(
            f"{what} has {len(shape)} dimensions; ptoc takes arrays of one or two",
            hint="reshape it to rows by columns",
        )
    if any(extent < 0 for extent in shape):
        raise ArgumentError(f"{what} has a negative extent in {shape}")
    if any(extent > LARGEST_EXTENT for extent in shape):
        raise ArgumentError(f"{what} has an extent beyond {LARGEST_EXTENT} in {shape}")
    check_dtype(dtype, what)
    dense = dense_strides(shape, dtype.itemsize)
    steps = tuple(d if extent <= 1 else s for extent, s, d in zip(shape, strides, dense))
    if 0 in shape:
        return ArraySpec(shape, dtype, dense)
    if steps[-1] != dtype.itemsize:
        raise ArgumentError(
            f"{what} has columns {steps[-1]} bytes apart, its elements are {dtype.itemsize} bytes",
            rule="TLOAD and TSTORE step through the columns of a row element by element",
            hint=CONTIGUOUS,
        )
    if len(shape) == 2 and (steps[0] < 0 or steps[0] % dtype.itemsize):
        raise ArgumentError(
            f"{what} has rows {steps[0]} bytes apart; that must be zero or a positive multiple of {dtype.itemsize}",
            rule="GM accesses are aligned to the element",
            hint=CONTIGUOUS,
        )
    return ArraySpec(shape, dtype, steps)


def copy_with_strides(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy of a checked array that keeps the row stride, a zero one too; elements between the rows are not copied."""
    if array.flags.c_contiguous or not array.size:
        return array.copy()
    if array.strides[0] == 0:
        return np.broadcast_to(array[:1].copy(), array.shape)
    rows, item = array.shape[0], array.itemsize
    buffer = np.zeros((rows - 1) * array.strides[0] + array.shape[-1] * item, np.uint8)
    view = np.lib.stride_tricks.as_strided(buffer.view(array.dtype), array.shape, array.strides)
    view[...] = array
    return view


def check_cores(cores: object) -> None:
    """``ArgumentError`` unless ``cores`` is a number of cores that a machine can have."""
    if not isinstance(cores, int) or isinstance(cores, bool) or cores < 1:
        raise ArgumentError(f"a machine has one core or more, not {cores!r}")


_SUPPORTED = [
    "bool",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


def check_dtype(dtype: np.dtype[Any], what: str) -> None:
    """``ArgumentError`` unless kernels can use arrays of this dtype."""
    if dtype.name not in _SUPPORTED or not dtype.isnative:
        raise ArgumentError(
            f"{what} has dtype {dtype}, which ptoc does not support",
            hint=f"use one of {', '.join(_SUPPORTED)} in native byte order",
        )
