"""Launch arguments of a kernel function: what each array is for, kept as argument attributes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.ir import Attribute, BlockArgument

KIND = "ptoc.kind"
INPUT = "input"
INOUT = "inout"
OUTPUT = "output"
SCRATCH = "scratch"


def argument_kinds(function: func.FuncOp) -> list[str]:
    """``input``, ``inout``, ``output`` or ``scratch`` for every argument of a kernel."""
    attrs = function.arg_attrs
    if attrs is None:
        return [INPUT] * len(function.body.block.args)
    return [a.data[KIND].data if KIND in a.data else INPUT for a in attrs]  # pyright: ignore


def set_argument_kinds(function: func.FuncOp, kinds: Sequence[str]) -> None:
    function.properties["arg_attrs"] = ArrayAttr(DictionaryAttr({KIND: StringAttr(kind)}) for kind in kinds)


def append_argument(function: func.FuncOp, type_: Attribute, kind: str, hint: str) -> BlockArgument:
    """Add one more array to a kernel's launch arguments."""
    kinds = [*argument_kinds(function), kind]
    block = function.body.block
    argument = block.insert_arg(type_, len(block.args), function.location)
    argument.name_hint = f"{hint}{kinds.count(kind) - 1}"
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])
    set_argument_kinds(function, kinds)
    return argument
