"""``fuse-epilogue``: what follows a matmul becomes part of it.

``c + a @ b`` starts the sum from ``c``; ReLU and the conversion of the result are done by B.FPATR. A matmul whose
value is also used elsewhere is computed again for each use: it costs work, never a wrong number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.dialects import nd
from ptoc.dialects.attributes import dtype_of
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import plain_conversion
from ptoc.passes.diagnostics import reject
from ptoc.passes.rewriting import erase_dead, the_function


@dataclass(frozen=True)
class FuseEpilogue(ModulePass):
    name = "fuse-epilogue"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        # A conversion that only widened an operand of a matmul has no user left, and needs none.
        erase_dead(block)
        for each in list(block.ops):
            fused = _fuse(each)
            if fused is None:
                continue
            fused.location = each.location
            Rewriter.insert_op(fused, InsertPoint.before(each))
            each.results[0].replace_all_uses_with(fused.result)
            Rewriter.erase_op(each)
        erase_dead(block)


def _matmul(value: SSAValue) -> nd.MatmulAccOp | None:
    return value.owner if isinstance(value.owner, nd.MatmulAccOp) else None


def _element(value: SSAValue) -> DType:
    return dtype_of(cast(TensorType, value.type).element_type)


def accumulator_of(op: nd.MatmulAccOp) -> DType:
    """The accumulator type of a verified matmul."""
    accumulator = dtypes.accumulator(_element(op.a), _element(op.b))
    assert accumulator is not None
    return accumulator


def _rebuilt(op: nd.MatmulAccOp, acc: SSAValue | None, result: TensorType, relu: bool) -> nd.MatmulAccOp:
    return nd.MatmulAccOp(op.a, op.b, acc, result, relu=relu)


def _fuse(op: Operation) -> nd.MatmulAccOp | None:
    if isinstance(op, nd.AddOp):
        return _fuse_add(op)
    if isinstance(op, nd.ReluOp):
        return _fuse_relu(op)
    if isinstance(op, nd.CastOp):
        return _fuse_cast(op)
    return None


def _fuse_add(op: nd.AddOp) -> nd.MatmulAccOp:
    for addend, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        matmul = _matmul(addend)
        if matmul is None or matmul.acc is not None or matmul.relu is not None:
            continue
        if _element(addend).bits == accumulator_of(matmul).bits:
            return _rebuilt(matmul, other, cast(TensorType, op.result.type), relu=False)
    reject(
        op,
        "this sum is not the accumulation of a matmul",
        rule="TMATMUL_ACC computes C + A @ B in the accumulator type, once per product",
        hint="write c + np.matmul(a, b, dtype=c.dtype), and apply np.maximum or astype afterwards",
    )


def _fuse_relu(op: nd.ReluOp) -> nd.MatmulAccOp:
    matmul = _matmul(op.source)
    if matmul is not None and _element(op.source).numeric_class != accumulator_of(matmul).numeric_class:
        reject(
            op,
            "np.maximum(x, 0) of an unsigned sum that is read as a signed one is not supported",
            rule="B.FPATR ReluMode acts on a matmul's accumulator, and an unsigned one is never negative",
            hint="sum in uint32, where np.maximum(x, 0) changes nothing",
        )
    if matmul is None:
        reject(
            op,
            "np.maximum(x, 0) is supported on the result of a matmul only",
            rule="B.FPATR ReluMode acts on a matmul's accumulator",
            hint="apply it directly to (c +) np.matmul(...)",
        )
    return _rebuilt(matmul, matmul.acc, cast(TensorType, op.result.type), relu=True)


def _fuse_cast(op: nd.CastOp) -> nd.MatmulAccOp:
    matmul, target = _matmul(op.source), _element(op.result)
    if (
        matmul is None
        or _element(op.source) != accumulator_of(matmul)
        or plain_conversion(_element(op.source), target) is None
    ):
        reject(
            op,
            f"astype from {_element(op.source).numpy_name} to {target.numpy_name} is not supported here",
            rule="B.FPATR converts a float32 accumulator to float16 or bfloat16",
            hint="use astype on matmul operands (to widen them) or on a float32 matmul result (to narrow it)",
        )
    return _rebuilt(matmul, matmul.acc, cast(TensorType, op.result.type), matmul.relu is not None)
