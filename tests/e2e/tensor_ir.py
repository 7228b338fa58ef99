"""Kernels of ``nd`` tensors, written down as IR: the functions here make the text and run it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import ptoc
from ptoc.dialects.nd.tensors import View
from ptoc.program import Program

Array = npt.NDArray[Any]

_NAMES = {
    np.dtype(bool): "i1",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fn): "f8E4M3FN",
    np.dtype(ml_dtypes.float8_e5m2): "f8E5M2",
}


def element(dtype: npt.DTypeLike) -> str:
    """The element type of a dtype."""
    dtype = np.dtype(dtype)
    if dtype in _NAMES:
        return _NAMES[dtype]
    return {"f": "f", "i": "si", "u": "ui"}[dtype.kind] + str(8 * dtype.itemsize)


def tensor(shape: Sequence[int], dtype: npt.DTypeLike, kind: str = "tensor") -> str:
    """A tensor or memref type."""
    return f"{kind}<{'x'.join([*map(str, shape), element(dtype)])}>"


def view(shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0) -> str:
    """A view, of a dense array where no strides are given."""
    if strides is None:
        strides = [math.prod(shape[n + 1 :]) for n in range(len(shape))]
    return f"view <{offset} {list(shape)} {list(strides)}>"


class Kernel:
    """The text of a function under construction; values are named by numbers."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.lines: list[str] = []
        self.types: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}

    def array(self, shape: Sequence[int], dtype: npt.DTypeLike, kind: str = "input") -> str:
        """An argument, in memory."""
        size = math.prod(shape)
        name = f"%m{len(self.arguments)}"
        self.arguments.append(f'{name}: {tensor([size], dtype, "memref")} {{ptoc.kind = "{kind}"}}')
        self.types[name] = (size,), np.dtype(dtype)
        return name

    def made(self, text: str, shape: Sequence[int], dtype: npt.DTypeLike) -> str:
        """A new value."""
        name = f"%v{len(self.lines)}"
        self.types[name] = tuple(shape), np.dtype(dtype)
        self.lines.append(f"{name} = {text}")
        return name

    def type(self, name: str) -> str:
        return tensor(*self.types[name], "memref" if name.startswith("%m") else "tensor")

    def load(self, array: str, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0) -> str:
        dtype = self.types[array][1]
        text = f"nd.load_view {array} {view(shape, strides, offset)} : {self.type(array)} -> {tensor(shape, dtype)}"
        return self.made(text, shape, dtype)

    def store(self, value: str, array: str, strides: Sequence[int] | None = None, offset: int = 0) -> None:
        shape = self.types[value][0]
        where = view(shape, strides, offset)
        self.lines.append(f"nd.store_view {value}, {array} {where} : {self.type(value)} -> {self.type(array)}")

    def op(self, name: str, *inputs: str, dtype: npt.DTypeLike = None, datr: str = "") -> str:
        """An operation of the machine, or a function of numpy if its name is in small letters."""
        shape, own = self.types[inputs[-1]]
        dtype = np.dtype(dtype or own)
        kind = "operation" if name.isupper() else "elementwise"
        types = ", ".join(self.type(each) for each in inputs)
        attributes = f" datr {{{datr}}}" if datr else ""
        text = f'nd.{kind} "{name}" {", ".join(inputs)}{attributes} : {types} -> {tensor(shape, dtype)}'
        return self.made(text, shape, dtype)

    def fold(self, name: str, source: str, axis: int, chunk: int = 1024, dtype: npt.DTypeLike = None) -> str:
        shape, own = self.types[source]
        shape = (*shape[:axis], 1, *shape[axis + 1 :])
        result = tensor(shape, dtype or own)
        text = f'nd.fold "{name}" {source} axis {axis} chunk {chunk} : {self.type(source)} -> {result}'
        return self.made(text, shape, dtype or own)

    def moved(self, name: str, source: str, shape: Sequence[int]) -> str:
        """``nd.expand`` or ``nd.reshape``."""
        dtype = self.types[source][1]
        return self.made(f"nd.{name} {source} : {self.type(source)} -> {tensor(shape, dtype)}", shape, dtype)

    def splat(self, bits: int, shape: Sequence[int], dtype: npt.DTypeLike) -> str:
        return self.made(f"nd.splat <{bits:#x}> : {tensor(shape, dtype)}", shape, dtype)

    def iota(self, shape: Sequence[int], dtype: npt.DTypeLike, axis: int, start: int = 0, step: int = 1) -> str:
        return self.made(f"nd.iota {start} step {step} axis {axis} : {tensor(shape, dtype)}", shape, dtype)

    def gather(self, array: str, places: str) -> str:
        shape, dtype = self.types[places][0], self.types[array][1]
        types = f"{self.type(array)}, {self.type(places)}"
        return self.made(f"nd.gather {array} at {places} : {types} -> {tensor(shape, dtype)}", shape, dtype)

    def store_at(self, value: str, array: str, places: str, mask: str | None = None) -> None:
        where = f" where {mask}" if mask else ""
        types = f"{self.type(value)} -> {self.type(array)}, {self.type(places)}"
        types += f", {self.type(mask)}" if mask else ""
        self.lines.append(f"nd.store_at {value}, {array} at {places}{where} : {types}")

    def program(self) -> Program:
        """The compiled kernel."""
        lines = "\n  ".join(self.lines)
        return ptoc.compile_ir(f"func.func @kernel({', '.join(self.arguments)}) {{\n  {lines}\n  func.return\n}}")

    def run(self, *arrays: Array, cores: int = 1) -> tuple[Array, ...]:
        """What the kernel makes of arrays, which are flattened; the outputs are flat as well."""
        flat = [array.ravel() if array.ndim != 1 else array for array in arrays]
        result = self.program().run(*flat, cores=cores)
        return result if isinstance(result, tuple) else (result,)


def strided(array: Array, where: View) -> Array:
    """The elements of a flat array that a view has."""
    at = array[where.offset :]
    strides = [stride * array.itemsize for stride in where.strides]
    return np.lib.stride_tricks.as_strided(at, where.sizes, strides)
