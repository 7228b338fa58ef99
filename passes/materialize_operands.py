"""``materialize-operands``: give an array to every value that a tile loop cannot compute where it is used.

After this pass each write (``nd.store``, ``nd.masked_store``, ``nd.scatter``) becomes one loop nest over tiles that
reloads what it needs. That is right only if

* an operand that needs all of another result (an operand of a matmul, a branch of ``where``, …) stands in memory,
* nothing writes an array between the place where the kernel read it and the nest that reloads it, and
* a nest does not overwrite elements that it still has to read: only reads of the very element it writes are safe.

Intermediate arrays are appended to the function's arguments as scratch; the launcher provides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.dialects import nd
from ptoc.dialects.nd.tensors import shape_of
from ptoc.passes.arguments import SCRATCH, append_argument
from ptoc.passes.diagnostics import reject
from ptoc.passes.nests import TENSOR_WRITES, Access, NotOneNest, TensorWrite, nest_of, operations_of
from ptoc.passes.rewriting import erase_dead, the_function
from ptoc.passes.scratch import (
    dense,
    insert_after,
    insert_before,
    replace_uses,
    scratch_for,
    store_to_scratch,
)
from ptoc.passes.stored_matmuls import WRITES, Write, write_groups


@dataclass(frozen=True)
class MaterializeOperands(ModulePass):
    name = "materialize-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = the_function(op)
        _refuse_transposes(function)
        _materialize_results(function)
        _materialize_tensors(function)
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


def _materialize_tensors(function: func.FuncOp) -> None:
    """Store what passes between tensors of any rank and the rest, and what is reshaped, unless it is in memory."""
    for op in list(function.body.block.ops):
        if isinstance(op, nd.ReshapeOp) and not op.moves_only_units:
            _reshape_in_memory(function, op)
        elif isinstance(op, nd.StoreOp) and isinstance(op.value.owner, nd.TENSOR_OPS):
            insert_before([nd.StoreViewOp(op.value, op.dest)], op, op)
            Rewriter.erase_op(op)
        elif isinstance(op, nd.TENSOR_OPS):
            uses = [use for use in op.result.uses if not isinstance(use.operation, _OF_TENSORS)]
            if uses:
                array = store_to_scratch(function, op.result, op)
                _load_after(uses, nd.LoadOp(array), op)
        elif isinstance(op, nd.MatmulAccOp | nd.LoadOp):
            for result in op.results:
                uses = [use for use in result.uses if isinstance(use.operation, _OF_TENSORS)]
                if uses and isinstance(op, nd.LoadOp):
                    replace_uses(uses, _load_after(uses, nd.LoadViewOp(op.source), op, place=op))
                elif uses:
                    array = scratch_for(function, result)
                    insert_after([nd.StoreOp(result, array)], op, op)
                    _load_after(uses, nd.LoadViewOp(array), op)


_OF_TENSORS = (*nd.TENSOR_OPS, nd.StoreViewOp, nd.StoreAtOp)


def _load_after(
    uses: Sequence[Use], load: nd.LoadOp | nd.LoadViewOp, op: Operation, place: Operation | None = None
) -> SSAValue:
    """Insert a load behind the store that follows an operation, or behind ``place``, for some uses."""
    store = place or op.next_op
    assert store is not None
    insert_after([load], store, op)
    replace_uses(uses, load.result)
    return load.result


def _reshape_in_memory(function: func.FuncOp, op: nd.ReshapeOp) -> None:
    """Load what is reshaped in its new shape."""
    owner, view = op.source.owner, dense(shape_of(op.result))
    assert isinstance(owner, Operation)
    if isinstance(owner, nd.LoadViewOp) and owner.view.data.dense:
        load = nd.LoadViewOp(owner.source, replace(view, offset=owner.view.data.offset))
        place = owner
    else:
        array = store_to_scratch(function, op.source, owner)
        load = nd.LoadViewOp(array, view)
        assert owner.next_op is not None
        place = owner.next_op
    insert_after([load], place, op)
    op.result.replace_all_uses_with(load.result)
    Rewriter.erase_op(op)


def _materialize_hazards(module: ModuleOp, function: func.FuncOp) -> None:
    """Copy arrays that are overwritten before, or while, a nest reloads them."""
    position = {op: n for n, op in enumerate(function.body.block.ops)}
    writes = [op for op in position if isinstance(op, WRITES)]
    nests = [(group[0], write) for group in write_groups(module) for write in group]
    copied: set[Operation] = set()
    for nest, write in nests:
        for load, elementwise in list(_loads(write)):
            if load in copied:
                continue
            overwritten = any(
                _may_meet(load, other) and position[load] < position[other] < position[nest] for other in writes
            )
            if not overwritten and (elementwise or not _may_meet(load, write)):
                continue
            copied.add(load)
            _copy(function, load)


def _copy(function: func.FuncOp, load: nd.LoadOp | nd.LoadViewOp | nd.GatherOp) -> None:
    """Read from a copy, which is made where the array is read first."""
    if isinstance(load, nd.GatherOp):
        whole = nd.LoadViewOp(load.source)
        insert_before([whole], load, load)
        load.operands[0] = store_to_scratch(function, whole.result, whole)
        return
    if isinstance(load, nd.LoadOp):
        copy: nd.LoadOp | nd.LoadViewOp = _through_memory(function, load.result, load)
    else:
        copy = nd.LoadViewOp(store_to_scratch(function, load.result, load), dense(shape_of(load.result)))
        assert load.next_op is not None
        insert_after([copy], load.next_op, load)
    for use in list(load.result.uses):
        if not (isinstance(use.operation, nd.StoreOp | nd.StoreViewOp) and use.operation.dest is copy.source):
            use.operation.operands[use.index] = copy.result


def _may_meet(load: nd.LoadOp | nd.LoadViewOp | nd.GatherOp, write: Write) -> bool:
    """Whether a write may change something that is read: of one array, unless it is from separate stretches of it."""
    if write.dest is not load.source:
        return False
    if isinstance(load, nd.LoadViewOp) and isinstance(write, nd.StoreViewOp):
        (low, high), (first, last) = load.view.data.ends, write.view.data.ends
        return low <= last and first <= high
    return True


def _loads(write: Write) -> Iterator[tuple[nd.LoadOp | nd.LoadViewOp | nd.GatherOp, bool]]:
    """The loads a write depends on, and whether each reads only the element that is written.

    A nest of tensors may read more: it reads all that it folds before it writes the first of it.
    """
    if isinstance(write, TENSOR_WRITES):
        yield from _tensor_loads(write)
        return
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


def _tensor_loads(write: TensorWrite) -> Iterator[tuple[nd.LoadViewOp | nd.GatherOp, bool]]:
    try:
        accesses: Mapping[Operation, Access] = nest_of(write).accesses
    except NotOneNest:
        accesses = {}
    for op in operations_of(write):
        if isinstance(op, nd.LoadViewOp | nd.GatherOp):
            yield op, op in accesses and accesses[op] == accesses.get(write)
