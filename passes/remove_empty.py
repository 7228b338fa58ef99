"""``remove-empty``: nothing without elements or products reaches the tiles, which cannot be empty.

A write without elements is none. A sum without products gets one, zero times zero: in numpy it is +0.0, which is then
added to what else there is, so that -0.0 becomes +0.0 here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.dialects import nd
from ptoc.dialects.batching import matrices
from ptoc.passes.diagnostics import reject
from ptoc.passes.rewriting import erase_dead, the_function
from ptoc.passes.stored_matmuls import WRITES


@dataclass(frozen=True)
class RemoveEmpty(ModulePass):
    name = "remove-empty"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        for each in list(block.ops):
            if isinstance(each, nd.ScatterOp) and _is_empty(each.dest) and not _is_empty(each.value):
                what = "a displacement names no element of an array that has none"
                reject(each, what, rule="scatter", hint="scatter into an array that has elements")
            if isinstance(each, WRITES) and (_is_empty(each.dest) or _is_empty(each.value)):
                Rewriter.erase_op(each)
        erase_dead(block)
        for each in list(block.ops):
            if isinstance(each, nd.MatmulAccOp) and each.size[2] == 0:
                _give_a_product(each)
        erase_dead(block)


def _is_empty(array: SSAValue) -> bool:
    return 0 in cast(TensorType, array.type).get_shape()


def _give_a_product(matmul: nd.MatmulAccOp) -> None:
    """Replace the operands of a matmul by zeros of which each sum adds one product."""
    for position, (operand, number) in enumerate(zip((matmul.a, matmul.b), matrices(matmul.axes))):
        type_ = cast(TensorType, operand.type)
        rows, *cols = type_.get_shape()
        zeros = nd.SplatOp(0, TensorType(type_.element_type, [rows or number, *(extent or 1 for extent in cols)]))
        zeros.location = matmul.location
        Rewriter.insert_op(zeros, InsertPoint.before(matmul))
        matmul.operands[position] = zeros.result
