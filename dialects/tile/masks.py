"""Predicate tiles: how they are made, and stores under them."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.attributes import Predicate, PredicateAttr
from ptoc.dialects.tile.base import NAMES, TileOperation, pes_attr
from ptoc.dialects.tile.types import PredicateType, TileLayout, TileType
from ptoc.isa import dtypes


@irdl_op_definition
class CompareOp(TileOperation):
    """TCMP: compare two row-major tiles of one type over ``rows x cols`` elements."""

    name = "tile.compare"
    predicate = prop_def(PredicateAttr)
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    rows = operand_def(IndexType)
    cols = operand_def(IndexType)
    result = result_def(PredicateType)
    assembly_format = (
        "$predicate $lhs `,` $rhs `size` $rows `,` $cols `pes` $pes "
        f"{NAMES} attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"
    )
    traits = traits_def(Pure())

    def __init__(
        self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue, size: tuple[SSAValue, SSAValue], pes: int
    ) -> None:
        shape = cast(TileType, lhs.type).shape
        super().__init__(
            operands=[lhs, rhs, *size],
            properties={"predicate": PredicateAttr(predicate), "pes": pes_attr(pes)},
            result_types=[PredicateType.get(*shape)],
        )

    def verify_operation(self) -> None:
        lhs = cast(TileType, self.lhs.type)
        if self.rhs.type != lhs or lhs.layout.data is not TileLayout.NORM:
            raise VerifyException("TCMP compares two row-major tiles of one type and shape")
        if lhs.dtype not in dtypes.COMPARE_TYPES:
            raise VerifyException(f"TCMP does not compare {lhs.dtype}")
        if cast(PredicateType, self.result.type).shape != lhs.shape:
            raise VerifyException("the predicate has the shape of what is compared")


@irdl_op_definition
class ScatterOp(TileOperation):
    """MSCATTER_MASK: elements of ``data`` under ``mask`` to ``dest + offset + index`` (bytes)."""

    name = "tile.scatter"
    data = operand_def(TileType)
    index = operand_def(TileType)
    mask_tile = operand_def(PredicateType)
    dest = operand_def(MemRefType)
    offset = operand_def(IndexType)
    rows = operand_def(IndexType)
    cols = operand_def(IndexType)
    assembly_format = (
        "$data `at` $index `where` $mask_tile `,` $dest `[` $offset `]` `size` $rows `,` $cols `pes` $pes "
        f"{NAMES} attr-dict `:` type($data) `,` type($index) `,` type($mask_tile) `->` type($dest)"
    )
    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self,
        data: SSAValue,
        index: SSAValue,
        mask: SSAValue,
        dest: SSAValue,
        offset: SSAValue,
        size: tuple[SSAValue, SSAValue],
        pes: int,
    ) -> None:
        super().__init__(operands=[data, index, mask, dest, offset, *size], properties={"pes": pes_attr(pes)})

    def verify_operation(self) -> None:
        data, index = cast(TileType, self.data.type), cast(TileType, self.index.type)
        if {data.layout.data, index.layout.data} != {TileLayout.NORM}:
            raise VerifyException("MSCATTER_MASK takes row-major tiles")
        if data.dtype not in dtypes.SCATTER_TYPES or index.dtype not in dtypes.SCATTER_INDEX_TYPES:
            raise VerifyException(f"MSCATTER_MASK does not store {data.dtype} at {index.dtype} displacements")
