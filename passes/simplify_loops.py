"""``simplify-loops``: what is computed again in every iteration, or twice, is computed once.

xDSL's common-subexpression elimination, loop-invariant code motion and dead-code elimination, with the source
locations that rewriting drops put back.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass

from ptoc.passes.rewriting import fill_locations


@dataclass(frozen=True)
class SimplifyLoops(ModulePass):
    name = "simplify-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in (
            CommonSubexpressionElimination(),
            LoopInvariantCodeMotionPass(),
            CommonSubexpressionElimination(),
            DeadCodeElimination(),
        ):
            each.apply(ctx, op)
        fill_locations(op)
