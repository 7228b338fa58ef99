"""Executing a kernel's IR at any stage between tracing and bundles: ``nd`` and ``tile``, also side by side.

The arrays lie in memory as the launcher places them, so that byte offsets mean the same as in the program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions

from ptoc.arrays import ArraySpec, Placement, in_memory
from ptoc.launch import view_of
from ptoc.oracle import NdFunctions, Value
from ptoc.passes.rewriting import the_function
from ptoc.program import spec_of_type
from ptoc.tile_functions import Core, IndexFunctions, Memory, TileFunctions

Array = npt.NDArray[Any]


def memory_of(spec: ArraySpec, array: Array | None) -> Memory:
    """An array of a launch as the launcher places it: a copy of ``array``, or zeros."""
    if spec.packed:
        # A byte for each element here, and rows of an even number of them, as whole bytes have.
        buffer = np.zeros(2 * spec.extent, np.uint8)
        view = buffer.reshape(spec.rows, -1)[:, : math.prod(spec.shape[-1:])].reshape(spec.shape).view(spec.dtype)
        return Memory(view, None, buffer)
    buffer = np.zeros(spec.extent, np.uint8)
    view = view_of(buffer, spec)
    if array is not None:
        view[...] = array
    return Memory(view, None, buffer)


def execute(
    module: ModuleOp,
    specs: Sequence[ArraySpec],
    places: Sequence[Placement],
    arrays: Sequence[Array],
    *,
    shapes: Mapping[int, tuple[int, ...]] | None = None,
    functions: type[NdFunctions] = NdFunctions,
    cores: int = 1,
) -> list[Value]:
    """All launch arrays after a module ran on copies of a caller's ``arrays``; the caller's own come first.

    Bounds are those of ``functions``, which give the meaning of ``nd``. ``specs`` and ``places`` are those of the
    program, ``shapes`` those of results that are stacks, by their place; the other arrays of the launch follow from
    the module, which may be at any stage before ``pto``. The cores take turns; where ``nd`` operations are left there
    can be only one.
    ``Nonsense`` for what no machine can do.
    """
    function = the_function(module)
    launch = [memory_of(spec.placed(place), in_memory(a, place)) for spec, place, a in zip(specs, places, arrays)]
    launch += [memory_of(spec_of_type(arg.type), None) for arg in function.body.block.args[len(arrays) :]]
    for number in range(cores):
        interpreter = Interpreter(module)
        for each in (functions(), FuncFunctions(), IndexFunctions(), TileFunctions(Core(number, cores))):
            interpreter.register_implementations(each)
        interpreter.call_op(function, tuple(launch))
    own = [
        (each.transposed if place is Placement.TRANSPOSED else each).reshaped(array.shape)
        for each, place, array in zip(launch, places, arrays)
    ]
    others = [each.reshaped((shapes or {}).get(n, each.data.shape)) for n, each in enumerate(launch) if n >= len(own)]
    return [*own, *others]
