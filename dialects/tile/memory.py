"""Loads and stores of Local and Shared tiles, and views of Shared ones."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.attributes import dtype_of
from ptoc.dialects.tile.base import NAMES, RowsOperation, TileOperation, pes_attr, rest_attr
from ptoc.dialects.tile.types import SharedType, TileLayout, TileType
from ptoc.isa import layouts
from ptoc.isa.registers import SHARED_COUNT, size_bytes


@irdl_op_definition
class LoadOp(RowsOperation):
    """TLOAD: ``rows x cols`` elements at ``source + offset``, rows ``stride`` bytes apart.

    Memory is row-major; the tile has the layout of the result's type.
    """

    name = "tile.load"
    source = operand_def(MemRefType)
    offset = operand_def(IndexType)
    stride = operand_def(IndexType)
    rows = operand_def(IndexType)
    cols = operand_def(IndexType)
    result = result_def(TileType)
    assembly_format = (
        "$source `[` $offset `]` `stride` $stride `size` $rows `,` $cols `pes` $pes (`rest` $rest^)? "
        f"{NAMES} attr-dict `:` type($source) `->` type($result)"
    )
    traits = traits_def(MemoryReadEffect())

    def __init__(
        self,
        source: SSAValue,
        offset: SSAValue,
        stride: SSAValue,
        size: tuple[SSAValue, SSAValue],
        pes: int,
        result: TileType,
        *,
        rest: int = 0,
    ) -> None:
        super().__init__(
            operands=[source, offset, stride, *size],
            properties={"pes": pes_attr(pes)} | rest_attr(rest),
            result_types=[result],
        )

    def verify_operation(self) -> None:
        super().verify_operation()
        source = dtype_of(cast(MemRefType, self.source.type).element_type)
        if source.bits != cast(TileType, self.result.type).dtype.bits:
            raise VerifyException("array and tile have elements of one width")


@irdl_op_definition
class LoadSharedOp(TileOperation):
    """TLOAD to Shared tile ``shared``, issued by one PE for the whole core; replaces what had the name.

    The result's type is the largest shape that the tile may have: it holds ``rows x cols`` elements, all of them valid.
    """

    name = "tile.load_shared"
    source = operand_def(MemRefType)
    offset = operand_def(IndexType)
    stride = operand_def(IndexType)
    rows = operand_def(IndexType)
    cols = operand_def(IndexType)
    shared = prop_def(IntegerAttr.constr(i64))
    result = result_def(SharedType)
    assembly_format = (
        "$source `[` $offset `]` `stride` $stride `size` $rows `,` $cols `shared` $shared `pes` $pes "
        f"{NAMES} attr-dict `:` type($source) `->` type($result)"
    )
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        source: SSAValue,
        offset: SSAValue,
        stride: SSAValue,
        size: tuple[SSAValue, SSAValue],
        shared: int,
        result: SharedType,
    ) -> None:
        super().__init__(
            operands=[source, offset, stride, *size],
            properties={"pes": pes_attr(1), "shared": IntegerAttr(shared, i64)},
            result_types=[result],
        )

    def verify_operation(self) -> None:
        source = dtype_of(cast(MemRefType, self.source.type).element_type)
        if source.bits != cast(SharedType, self.result.type).dtype.bits:
            raise VerifyException("array and tile have elements of one width")
        if not 0 <= self.shared.value.data < SHARED_COUNT:
            raise VerifyException(f"Shared tiles are S0 to S{SHARED_COUNT - 1}")
        if self.mask != 1:
            raise VerifyException("one PE issues a Shared load")


@irdl_op_definition
class ViewOp(IRDLOperation):
    """B.SUBVIEW: whole rows of a Shared tile, from cell ``offset`` on."""

    name = "tile.view"
    source = operand_def(SharedType)
    offset = operand_def(IndexType)
    result = result_def(SharedType)
    assembly_format = "$source `[` $offset `]` attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, offset: SSAValue, result: SharedType) -> None:
        super().__init__(operands=[source, offset], result_types=[result])

    def verify_(self) -> None:
        source, result = cast(SharedType, self.source.type), cast(SharedType, self.result.type)
        if (source.cols, source.element) != (result.cols, result.element) or source.rows.data < result.rows.data:
            raise VerifyException("a view has the columns and the type of its source, and some of its rows")
        nbytes = layouts.element_bytes(result.rows.data * result.cols.data, result.dtype.bits)
        if nbytes != size_bytes(result.size_code):
            raise VerifyException(f"a view of {nbytes} bytes: the size is a power of two and at least a cell")


def shared_load(operand: SSAValue) -> LoadSharedOp | None:
    """The load behind a Shared operand, views looked through; ``None`` for other operands."""
    owner = operand.owner
    if isinstance(owner, ViewOp):
        owner = owner.source.owner
    return owner if isinstance(owner, LoadSharedOp) else None


@irdl_op_definition
class StoreOp(RowsOperation):
    """TSTORE: the valid ``rows x cols`` elements to ``dest + offset``, rows ``stride`` bytes apart."""

    name = "tile.store"
    value = operand_def(TileType)
    dest = operand_def(MemRefType)
    offset = operand_def(IndexType)
    stride = operand_def(IndexType)
    rows = operand_def(IndexType)
    cols = operand_def(IndexType)
    assembly_format = (
        "$value `,` $dest `[` $offset `]` `stride` $stride `size` $rows `,` $cols `pes` $pes (`rest` $rest^)? "
        f"{NAMES} attr-dict `:` type($value) `->` type($dest)"
    )
    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self,
        value: SSAValue,
        dest: SSAValue,
        offset: SSAValue,
        stride: SSAValue,
        size: tuple[SSAValue, SSAValue],
        pes: int,
        *,
        rest: int = 0,
    ) -> None:
        super().__init__(
            operands=[value, dest, offset, stride, *size], properties={"pes": pes_attr(pes)} | rest_attr(rest)
        )

    def verify_operation(self) -> None:
        super().verify_operation()
        dest, layout = dtype_of(cast(MemRefType, self.dest.type).element_type), cast(TileType, self.value.type).layout
        if layout.data.plain and layout.data is not TileLayout.NORM:
            raise VerifyException(f"TSTORE takes row-major and CUBE tiles, not {layout.data.value}")
        if dest.bits != cast(TileType, self.value.type).dtype.bits:
            raise VerifyException("array and tile have elements of one width")
