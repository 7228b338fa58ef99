"""``rematerialize``: compute index values again where they are used, instead of keeping them in registers.

Without ``everywhere`` the values of the function's top level are computed once for each loop nest or bundle that
uses them; with it, every index value is computed right before each use. It trades scalar instructions for registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.passes.rewriting import the_function

_CHEAP = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinUIOp)


@dataclass(frozen=True)
class Rematerialize(ModulePass):
    name = "rematerialize"

    everywhere: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        ops = block.walk(reverse=True) if self.everywhere else reversed(list(block.ops))
        # Users come before what they use, so a chain of values is cloned as a whole.
        for each in [o for o in ops if isinstance(o, _CHEAP)]:
            _sink(each, None if self.everywhere else block)


def _sink(op: Operation, level: Block | None) -> None:
    """Clone an operation before each of its users, or before each operation of ``level`` that contains users."""
    users: dict[Operation, list[tuple[Operation, int]]] = {}
    for use in op.results[0].uses:
        place = use.operation if level is None else _ancestor(use.operation, level)
        users.setdefault(place, []).append((use.operation, use.index))
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
