"""``rematerialize``: compute index values again where they are used, instead of keeping them in registers.

Without options the values of the function's top level are computed once for each loop nest or bundle that uses them;
with ``blocks`` every index value is computed between two loops, and in each block, that use it; with
``everywhere`` right before each use. It trades scalar instructions for registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.passes.rewriting import the_function

_CHEAP = (
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.ShRUIOp,
    arith.DivUIOp,
    arith.MinUIOp,
    arith.AndIOp,
    arith.CmpiOp,
    arith.SelectOp,
)


@dataclass(frozen=True)
class Rematerialize(ModulePass):
    name = "rematerialize"

    blocks: bool = False
    everywhere: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        deep = self.blocks or self.everywhere
        # Users come before what they use, so a chain of values is cloned as a whole.
        for each in list(block.walk(reverse=True) if deep else reversed(block.ops)):
            if isinstance(each, _CHEAP):
                _sink(each, partial(self._place, block, each))

    def _place(self, top: Block, op: Operation, user: Operation) -> Operation:
        """Before which operation a value is computed for one of its users."""
        if self.everywhere:
            return user
        if not self.blocks:
            return _ancestor(user, top)
        block, loop = user.parent, _next_loop(user)
        assert block is not None
        users = {use.operation for use in op.results[0].uses}
        return next(each for each in block.ops if each in users and _next_loop(each) is loop)


def _next_loop(op: Operation | None) -> scf.ForOp | None:
    """The first loop of a block from an operation on."""
    while op is not None and not isinstance(op, scf.ForOp):
        op = op.next_op
    return op


def _sink(op: Operation, place_for: Callable[[Operation], Operation]) -> None:
    """Clone an operation to the places for its users."""
    users: dict[Operation, list[tuple[Operation, int]]] = {}
    for use in op.results[0].uses:
        users.setdefault(place_for(use.operation), []).append((use.operation, use.index))
    for place, uses in users.items():
        clone = op.clone()
        Rewriter.insert_op(clone, InsertPoint.before(place))
        for user, index in uses:
            user.operands[index] = clone.results[0]
    Rewriter.erase_op(op)


def _ancestor(op: Operation, block: Block) -> Operation:
    ancestor = block.find_ancestor_op_in_block(op)
    assert ancestor is not None
    return ancestor
