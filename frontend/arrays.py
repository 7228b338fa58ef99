"""What a compiled program is fixed to: the shape, row stride and dtype of every array."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ptoc.errors import ArgumentError, kind_of

LARGEST_EXTENT = (1 << 31) - 1
"""Rows or columns of an array: what stays below keeps every address of a launch inside 64 bits."""


MAX_CORES = 1024
"""Cores of a machine: each costs the simulator its registers and tiles."""


class Placement(StrEnum):
    """How an argument gets into memory: as it is, as its transpose, or copied so that its rows are dense."""

    ROWS = "rows"
    TRANSPOSED = "transposed"
    COPIED = "copied"


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Shape, dtype and byte strides of an array, or of a result without dimensions.

    What speaks of rows is of an array that stands in memory row by row (``placed``), where the matrices of a stack lie
    below each other.

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
    def packed(self) -> bool:
        """Whether two elements share a byte in memory; numpy gives each its own, and strides are numpy's."""
        return self.dtype.name == "int4"

    @property
    def row_bytes(self) -> int:
        cols = math.prod(self.shape[-1:])
        return -(-cols // 2) if self.packed else cols * self.dtype.itemsize

    @property
    def rows(self) -> int:
        return self.shape[0] if len(self.shape) == 2 else 1

    @property
    def row_stride(self) -> int:
        """Bytes from one row to the next; that of a single row is its length."""
        return self.strides[0] if len(self.shape) == 2 and not self.packed else self.row_bytes

    @property
    def extent(self) -> int:
        """Bytes from the first element to the end of the last."""
        return (self.rows - 1) * self.row_stride + self.row_bytes if self.size else 0

    @property
    def dense(self) -> bool:
        return self.rows == 1 or self.row_stride == self.row_bytes

    @property
    def placement(self) -> Placement:
        """How the array may be placed without a copy, if it may: columns adjacent, rows whole elements apart."""
        if _by_rows(self) and self.folded is not None:
            return Placement.ROWS
        if len(self.shape) > 2:
            return Placement.COPIED
        return Placement.TRANSPOSED if _by_rows(self._transposed) else Placement.COPIED

    @property
    def folded(self) -> ArraySpec | None:
        """The array as rows below each other, if they are evenly spaced in memory."""
        if len(self.shape) <= 2:
            return self
        shape = folded_shape(self.shape)
        dense = dense_strides(shape, self.dtype.itemsize)
        axes = [(extent, step) for extent, step in zip(self.shape[:-1], self.strides) if extent > 1]
        if not self.size or not axes:
            return ArraySpec(shape, self.dtype, dense)
        if any(outer[1] != inner[0] * inner[1] for outer, inner in itertools.pairwise(axes)):
            return None
        return ArraySpec(shape, self.dtype, (axes[-1][1], *dense[1:]))

    @property
    def _transposed(self) -> ArraySpec:
        strides = self.strides[::-1]
        if self.shape and self.shape[0] == 1:
            # A single element in every row: they lie next to each other.
            strides = (*strides[:-1], self.dtype.itemsize)
        return ArraySpec(self.shape[::-1], self.dtype, strides)

    def placed(self, placement: Placement) -> ArraySpec:
        """The array that stands in memory."""
        if placement is Placement.COPIED:
            shape = folded_shape(self.shape)
            return ArraySpec(shape, self.dtype, dense_strides(shape, self.dtype.itemsize))
        if placement is Placement.TRANSPOSED:
            return self._transposed
        assert self.folded is not None
        return self.folded

    @property
    def may_overlap(self) -> bool:
        """Whether two elements may share a byte: some axis steps less far than those inside it reach."""
        if not self.size:
            return False
        reach = self.dtype.itemsize
        for step, extent in sorted((abs(s), n) for s, n in zip(self.strides, self.shape) if n > 1):
            if step < reach:
                return True
            reach += step * (extent - 1)
        return False

    def __str__(self) -> str:
        text = f"{'x'.join(str(d) for d in self.shape)} {self.dtype}"
        if self.placement is not Placement.ROWS:
            return f"{text}, elements {' and '.join(map(str, self.strides))} bytes apart"
        placed = self.placed(Placement.ROWS)
        return text + ("" if placed.dense else f", rows {placed.row_stride} bytes apart")


def _by_rows(spec: ArraySpec) -> bool:
    item = spec.dtype.itemsize
    if not spec.shape or spec.strides[-1] != item:
        return False
    return all(step >= 0 and step % item == 0 for step in spec.strides[:-1])


def folded_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array whose matrices, if it is a stack of them, lie below each other."""
    return shape if len(shape) <= 2 else (math.prod(shape[:-1]), shape[-1])


def in_memory(array: npt.NDArray[Any], placement: Placement) -> npt.NDArray[Any]:
    """A caller's array, or a view of it, with the shape that it has in memory."""
    return array.T if placement is Placement.TRANSPOSED else array.reshape(folded_shape(array.shape))


def dense_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """C-order strides in bytes."""
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def spec(shape: Sequence[int] | int, dtype: npt.DTypeLike, strides: Sequence[int] | None = None) -> ArraySpec:
    """The specification of an array argument, for ``kernel.compile``.

    ``shape`` has one extent or more, ``strides`` (bytes, as numpy's) default to C order. ``dtype`` may be any numpy
    or ml_dtypes dtype, or the name of one. ``ArgumentError`` for what ``check_spec`` rejects.
    """
    try:
        extents = tuple(operator.index(d) for d in (shape if isinstance(shape, Sequence) else (shape,)))
    except TypeError:
        raise ArgumentError(f"{shape!r} is no shape", hint="a shape is one integer or more") from None
    try:
        resolved = np.dtype(_of_ml_dtypes(dtype) if isinstance(dtype, str) else dtype)
    except TypeError:
        raise ArgumentError(f"numpy has no dtype called {dtype}", hint=_DTYPES) from None
    try:
        steps = dense_strides(extents, resolved.itemsize) if strides is None else tuple(map(operator.index, strides))
    except TypeError:
        steps = ()
    if len(steps) != len(extents):
        raise ArgumentError(f"{strides!r} are no strides of {shape!r}", hint="give one number of bytes for each extent")
    return check_spec(extents, resolved, steps, "an array")


def _of_ml_dtypes(name: str) -> npt.DTypeLike:
    """The dtype that ml_dtypes and not numpy has under a name, or the name."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return cast(npt.DTypeLike, getattr(ml_dtypes, name, name))


def spec_of(array: object, name: str) -> ArraySpec:
    """The specification of an argument named ``name``; ``ArgumentError`` when it cannot be one."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"argument {name} is {kind_of(array)}, not a numpy array",
            hint="pass arrays only; Python scalars belong into the kernel's source",
        )
    if type(array) not in (np.ndarray, np.memmap):
        raise ArgumentError(
            f"argument {name} is {kind_of(array)}, whose own rules ptoc does not follow",
            hint="pass np.asarray(...) of it",
        )
    return check_spec(array.shape, array.dtype, array.strides, f"argument {name}")


def check_spec(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], what: str) -> ArraySpec:
    """A valid specification: one dimension or more and a dtype of PTO."""
    if not shape:
        raise ArgumentError(f"{what} has no dimensions; ptoc takes arrays of one or more", hint="reshape it to (1,)")
    if any(extent < 0 for extent in shape):
        raise ArgumentError(f"{what} has a negative extent in {shape}", hint="extents count from 0")
    if any(extent > LARGEST_EXTENT for extent in (*shape, *folded_shape(shape))):
        raise ArgumentError(
            f"{what} has an extent beyond {LARGEST_EXTENT} in {shape}", hint="call the kernel for parts of the array"
        )
    check_dtype(dtype, what)
    dense = dense_strides(shape, dtype.itemsize)
    steps = tuple(d if extent <= 1 else s for extent, s, d in zip(shape, strides, dense))
    return ArraySpec(shape, dtype, dense if 0 in shape else steps)


def copy_with_strides(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy of a checked array that keeps the strides with which a launch places it, those of stacks included.

    A stride of zero stays zero. Elements in between are not copied. What a launch copies becomes dense.
    """
    placement = spec_of(array, "it").placement
    if placement is Placement.TRANSPOSED:
        return copy_with_strides(array.T).T
    if array.flags.c_contiguous or not array.size or placement is Placement.COPIED:
        return array.copy()
    if array.strides[0] == 0:
        return np.broadcast_to(copy_with_strides(array[0]), array.shape)
    buffer = np.zeros(sum((n - 1) * step for n, step in zip(array.shape, array.strides)) + array.itemsize, np.uint8)
    view = np.lib.stride_tricks.as_strided(buffer.view(array.dtype), array.shape, array.strides)
    view[...] = array
    return view


def check_cores(cores: object) -> None:
    """``ArgumentError`` unless ``cores`` is a number of cores that a machine can have."""
    if not isinstance(cores, int) or isinstance(cores, bool) or not 1 <= cores <= MAX_CORES:
        raise ArgumentError(
            f"a machine has 1 to {MAX_CORES} cores, not {cores!r}", rule="cores", hint="give a whole number of cores"
        )


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


_MADE = ("int4", "float8_e4m3fn")
"""What a kernel can make of the sums of a product, and not take."""


_DTYPES = f"use one of {', '.join(_SUPPORTED)} in native byte order"


def check_dtype(dtype: np.dtype[Any], what: str) -> None:
    """``ArgumentError`` unless kernels can use arrays of this dtype."""
    if dtype.name in _MADE:
        raise ArgumentError(
            f"{what} has dtype {dtype}, which only results have",
            hint=f"a kernel makes it of the sums of a matmul, by .astype(ml_dtypes.{dtype}); for arguments {_DTYPES}",
        )
    if dtype.name not in _SUPPORTED or not dtype.isnative:
        raise ArgumentError(
            f"{what} has dtype {dtype}, which ptoc does not support",
            hint=_DTYPES,
        )
