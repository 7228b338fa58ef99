"""``materialize-operands``: give an array to every value that a tile loop cannot compute where it is used.

After this pass each write (``nd.store``, ``nd.masked_store``, ``nd.scatter``) becomes one loop nest over tiles that
reloads what it needs. That is right only if

* an operand that needs all of another result (an operand of a matmul, a branch of ``where``, …) stands in memory,
* nothing writes an array between the place where the kernel read it and the nest that reloads it, and
* a nest does not overwrite elements that it still has to read: only reads of the very element it writes are safe.

Intermediate arrays are appended to the function's arguments as scratch; the launcher provides them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.dialects import nd
from ptoc.passes.arguments import SCRATCH, append_argument
from ptoc.passes.diagnostics import reject
from ptoc.passes.rewriting import erase_dead, the_function
from ptoc.passes.stored_matmuls import WRITES, Write, write_groups


@dataclass(frozen=True)
class MaterializeOperands(ModulePass):
    name = "materialize-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = the_function(op)
        _refuse_transposes(function)
        _materialize_results(function)
        _materialize_hazards(op, function)
        erase_dead(function.body.block)


def _refuse_transposes(function: func.FuncOp) -> None:
    for op in function.body.block.ops:
        if isinstance(op, nd.TransposeOp) and op.result.uses:
            reject(
                op,
                "the transpose of an array is supported as an operand of a matmul only",
                rule="transposes",
                hint="transpose an argument before the call; what lies column by column is copied once",
            )


def _materialize_results(function: func.FuncOp) -> None:
    """Store every result that tile loops do not find where they look for it, an array.

    That is a matmul, ``where`` or mask used as data, except directly under an ``nd.store``; a constant operand of a
    matmul; and a repeated row that is repeated once more.
    """
    for op in list(function.body.block.ops):
        if not isinstance(op, nd.MatmulAccOp | nd.WhereOp | nd.CompareOp | nd.SplatOp | nd.BroadcastOp):
            continue
        for result in op.results:
            uses = [use for use in result.uses if _needs_array(op, use.operation, use.index)]
            if not uses:
                continue
            load = _through_memory(function, result, op)
            for use in uses:
                use.operation.operands[use.index] = load.result


def _needs_array(op: Operation, user: Operation, index: int) -> bool:
    if isinstance(user, nd.StoreOp):
        return False
    if isinstance(op, nd.SplatOp):
        return isinstance(user, nd.MatmulAccOp) and user.operands[index] not in (user.acc, user.initial)
    if isinstance(op, nd.BroadcastOp):
        return isinstance(user, nd.BroadcastOp)
    if isinstance(op, nd.CompareOp):
        # A mask is recomputed tile by tile where it selects; as data it is an array of bytes.
        return not (isinstance(user, nd.WhereOp | nd.MaskedStoreOp | nd.ScatterOp) and index == 0)
    return True


def _through_memory(function: func.FuncOp, value: SSAValue, after: Operation) -> nd.LoadOp:
    """Store a value to a new scratch array right after ``after``, and load it back."""
    type_ = cast(TensorType, value.type)
    scratch = append_argument(function, MemRefType(type_.element_type, type_.get_shape()), SCRATCH, "tmp")
    store, load = nd.StoreOp(value, scratch), nd.LoadOp(scratch)
    for each in (store, load):
        each.location = after.location
    Rewriter.insert_op([store, load], InsertPoint.after(after))
    return load


def _materialize_hazards(module: ModuleOp, function: func.FuncOp) -> None:
    """Copy arrays that are overwritten before, or while, a nest reloads them."""
    position = {op: n for n, op in enumerate(function.body.block.ops)}
    writes = [op for op in position if isinstance(op, WRITES)]
    nests = [(group[0], write) for group in write_groups(module) for write in group]
    copied: set[nd.LoadOp] = set()
    for nest, write in nests:
        for load, elementwise in list(_loads(write)):
            if load in copied:
                continue
            overwritten = any(
                other.dest is load.source and position[load] < position[other] < position[nest] for other in writes
            )
            if not overwritten and (elementwise or load.source is not write.dest):
                continue
            copied.add(load)
            copy = _through_memory(function, load.result, load)
            for use in list(load.result.uses):
                if not (isinstance(use.operation, nd.StoreOp) and use.operation.dest is copy.source):
                    use.operation.operands[use.index] = copy.result


def _loads(write: Write) -> Iterator[tuple[nd.LoadOp, bool]]:
    """The loads a write depends on, and whether each reads only the element that is written."""
    elementwise = not isinstance(write, nd.ScatterOp)

    def walk(value: SSAValue, elementwise: bool) -> Iterator[tuple[nd.LoadOp, bool]]:
        op = value.owner
        if isinstance(op, nd.LoadOp):
            yield op, elementwise
        elif isinstance(op, nd.MatmulAccOp):
            yield from walk(op.a, False)
            yield from walk(op.b, False)
            if op.scale is not None:
                yield from walk(op.scale, False)
            if op.acc is not None:
                yield from walk(op.acc, elementwise and value is op.result)
            if op.initial is not None:
                yield from walk(op.initial, elementwise and value is op.row_max)
        elif isinstance(op, Operation):
            inner = elementwise and not isinstance(op, nd.BroadcastOp)
            for operand in op.operands:
                yield from walk(operand, inner)

    for operand in write.operands:
        if isinstance(operand.type, TensorType):
            yield from walk(operand, elementwise)
