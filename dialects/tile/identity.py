"""Which PE and which core runs the program, and how many cores do."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class PeIdOp(IRDLOperation):
    """The number of the PE, 0..3; a different value on each."""

    name = "tile.pe_id"
    result = result_def(IndexType)
    assembly_format = "attr-dict"
    traits = traits_def(Pure())

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@irdl_op_definition
class CoreIdOp(IRDLOperation):
    """The number of the core, from 0; the same on its four PEs."""

    name = "tile.core_id"
    result = result_def(IndexType)
    assembly_format = "attr-dict"
    traits = traits_def(Pure())

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@irdl_op_definition
class CoreCountOp(IRDLOperation):
    """How many cores run the program, at least one."""

    name = "tile.core_count"
    result = result_def(IndexType)
    assembly_format = "attr-dict"
    traits = traits_def(Pure())

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])
