"""Values that go through memory: stored to a scratch array where they are computed, and loaded from it where used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.dialects import nd
from ptoc.dialects.nd.tensors import View, element_of, shape_of
from ptoc.passes.arguments import SCRATCH, append_argument


def dense(shape: Sequence[int]) -> View:
    """The view of a whole dense array of a shape."""
    strides = tuple(math.prod(shape[n + 1 :]) for n in range(len(shape)))
    return View(0, tuple(shape), strides)


def scratch_for(function: func.FuncOp, value: SSAValue) -> SSAValue:
    """A new scratch array for a tensor: of its shape, or a line where it has not one or two dimensions."""
    shape = shape_of(value)
    sizes = shape if len(shape) in (1, 2) else (math.prod(shape),)
    return append_argument(function, MemRefType(element_of(value), sizes), SCRATCH, "tmp")


def store_to_scratch(function: func.FuncOp, value: SSAValue, after: Operation) -> SSAValue:
    """Store a tensor right after an operation to a new scratch array, which is the result."""
    array = scratch_for(function, value)
    insert_after([nd.StoreViewOp(value, array, dense(shape_of(value)))], after, after)
    return array


def insert_after(ops: Sequence[Operation], place: Operation, origin: Operation) -> None:
    """Insert operations after another one, with the location of what they come from."""
    for each in ops:
        each.location = origin.location
    Rewriter.insert_op(ops, InsertPoint.after(place))


def insert_before(ops: Sequence[Operation], place: Operation, origin: Operation) -> None:
    """Insert operations in front of another one, with the location of what they come from."""
    for each in ops:
        each.location = origin.location
    Rewriter.insert_op(ops, InsertPoint.before(place))


def replace_uses(uses: Iterable[Use], value: SSAValue) -> None:
    """Let some uses be of another value."""
    for use in list(uses):
        use.operation.operands[use.index] = value
