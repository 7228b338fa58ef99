"""Launch arguments of a kernel function: what each array is for, kept as argument attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.ir import Attribute, BlockArgument

from ptoc.passes.diagnostics import reject

KIND = "ptoc.kind"
INPUT = "input"
INOUT = "inout"
OUTPUT = "output"
SCRATCH = "scratch"
KINDS = INPUT, INOUT, OUTPUT, SCRATCH


def argument_kinds(function: func.FuncOp) -> list[str]:
    """``input``, ``inout``, ``output`` or ``scratch`` for every argument of a kernel; ``Diagnostic`` for others."""
    attrs = function.arg_attrs
    if attrs is None:
        return [INPUT] * len(function.body.block.args)
    kinds = []
    for number, attribute in enumerate(attrs):
        kind = cast(DictionaryAttr, attribute).data.get(KIND, StringAttr(INPUT))
        if not isinstance(kind, StringAttr) or kind.data not in KINDS:
            message = f"{KIND} of argument {number} is {kind}"
            reject(function, message, rule="ir", hint=f"the kinds are {', '.join(KINDS)}")
        kinds.append(kind.data)
    return kinds


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
