"""``split-nests``: every write of a tensor is one loop nest.

Where a value would have to run along two axes at once, as ``x`` does in ``x.sum(0) + x.sum(1)``, or is folded along one
axis while another fold needs it along another, it goes through memory and the nest falls into two. What is only loaded,
or repeats something that is, is loaded once more instead.

    %y = nd.operation "TADD" %m, %n                  nd.store_view %n, %tmp …
    nd.store_view %y, %out …             becomes     %k = nd.load_view %tmp …
                                                     %y = nd.operation "TADD" %m, %k
                                                     nd.store_view %y, %out …
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ptoc.dialects import nd
from ptoc.dialects.nd.tensors import shape_of
from ptoc.passes.nests import TENSOR_WRITES, NotOneNest, TensorWrite, nest_of
from ptoc.passes.rewriting import erase_dead, the_function
from ptoc.passes.scratch import dense, insert_after, insert_before, store_to_scratch

_LEAVES = (nd.LoadViewOp, nd.SplatOp, nd.ConstantOp, nd.IotaOp)
"""Operations that cost as much twice as a load would."""


@dataclass(frozen=True)
class SplitNests(ModulePass):
    name = "split-nests"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = the_function(op)
        pending = [each for each in function.body.block.ops if isinstance(each, TENSOR_WRITES)]
        while pending:
            try:
                nest_of(pending[-1])
                pending.pop()
            except NotOneNest as reason:
                pending += _cut(function, reason.op, reason.index)
        erase_dead(function.body.block)


def _cut(function: func.FuncOp, op: Operation, index: int) -> list[TensorWrite]:
    """Give an operand a source of its own; the write of it, if there is one."""
    chain: list[Operation] = []
    value = op.operands[index]
    while isinstance(value.owner, nd.ExpandOp | nd.ReshapeOp):
        chain.append(value.owner)
        value = value.owner.source
    source, writes = _source(function, value)
    for each in reversed(chain):
        copy = each.clone({each.operands[0]: source})
        insert_before([copy], op, each)
        source = copy.results[0]
    op.operands[index] = source
    return writes


def _source(function: func.FuncOp, value: SSAValue) -> tuple[SSAValue, list[TensorWrite]]:
    owner = value.owner
    assert isinstance(owner, Operation)
    if isinstance(owner, _LEAVES):
        copy = owner.clone()
        insert_after([copy], owner, owner)
        return copy.results[0], []
    array = store_to_scratch(function, value, owner)
    store = owner.next_op
    assert isinstance(store, nd.StoreViewOp)
    load = nd.LoadViewOp(array, dense(shape_of(value)))
    insert_after([load], store, owner)
    return load.result, [store]
