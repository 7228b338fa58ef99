"""The whole compiler on one page: a kernel's module goes from ``nd`` over ``tile`` to ``pto``.

Each stage is a list of pass names; the IR is verified where a stage ends.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ptoc.passes import PASSES

STAGES: dict[str, tuple[str, ...]] = {
    # Whole tensors: nothing is empty; what follows a matmul becomes part of it; what needs an array gets one; each
    # write is one loop nest; what cores may share.
    "nd": ("remove-empty", "fuse-epilogue", "materialize-operands", "split-nests", "divide-among-cores"),
    # Tiles in loops, then the registers they live in.
    "tile": ("tile-matmul", "tile-tensors", "tile-elementwise", "simplify-loops", "release-shared", "allocate-rings"),
    # Instructions.
    "pto": ("convert-tile-to-pto",),
}

Observer = Callable[[str, ModuleOp], None]
"""Called with a pass name and the module it left."""


def run_stage(context: Context, module: ModuleOp, stage: str, observer: Observer | None = None) -> None:
    """Run the passes of one stage on a module in place, and verify the result.

    ``Diagnostic`` when the kernel cannot be compiled.
    """
    for name in STAGES[stage]:
        PASSES[name]()().apply(context, module)
        if observer is not None:
            observer(name, module)
    module.verify()
