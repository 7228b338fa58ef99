"""Operations by their rows in the tables of the ISA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, IntegerAttr, MemRefType, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    base,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.attributes import dtype_of
from ptoc.dialects.tile.base import TileOperation
from ptoc.dialects.tile.names import HandAttr
from ptoc.dialects.tile.types import PredicateType, TileType
from ptoc.isa.dtypes import DType
from ptoc.isa.encoding import BY_KEY
from ptoc.isa.layouts import LayoutCode
from ptoc.isa.operations import BY_NAME
from ptoc.isa.operations import TileOperation as IsaOperation
from ptoc.isa.schema import PREDICATE, SAME, Placement, Schema


@irdl_op_definition
class OperationOp(TileOperation):
    """Any operation that is no load, store or product, by its ISA name, as its row in the ISA's tables says.

    ``sources`` are tiles in the order of the bindings, ``size`` LB0 and LB1 (columns, rows) as far as the operation has
    them; LB2 is the physical columns of the result, or of what is reduced. ``scalars`` go into B.IOR behind the address
    of ``array``, which operations on memory have. ``datr`` are fields of B.DATR by their names. A result of another
    type than ``dtype``, that of the bundle, is what B.DATR asks for where the operation lets it choose, and so are
    layouts.
    """

    name = "tile.operation"
    operation = prop_def(StringAttr)
    sources = var_operand_def(base(TileType) | base(PredicateType))
    array = opt_operand_def(MemRefType)
    offset = opt_operand_def(IndexType)
    size = var_operand_def(IndexType)
    scalars = var_operand_def(IndexType)
    datr = opt_prop_def(DictionaryAttr)
    beside = opt_prop_def(ArrayAttr[HandAttr])
    tiles = var_result_def(base(TileType) | base(PredicateType))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$operation ($sources^)? (`at` $array^ `[` $offset `]`)? (`size` $size^)? (`scalars` $scalars^)? "
        "(`datr` $datr^)? `pes` $pes (`slots` $slots^)? (`into` $into^)? (`beside` $beside^)? "
        "attr-dict (`:` type($sources)^)? (`memory` type($array)^)? (`->` type($tiles)^)?"
    )
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @property
    def isa(self) -> IsaOperation:
        """The operation's row in the tables."""
        return BY_NAME[self.operation.data]

    @property
    def dtype(self) -> DType:
        """The type of the bundle: that of the first tile which is neither a mask nor an index, or else of the array."""
        schema = self.isa.schema
        tiles = [v.type for v, role in zip(self.sources, schema.sources) if role != schema.index]
        tiles += [result.type for result in self.tiles]
        numeric = [type_.dtype for type_ in tiles if isinstance(type_, TileType)]
        return numeric[0] if numeric else dtype_of(cast(MemRefType, cast(SSAValue, self.array).type).element_type)

    @property
    def converted(self) -> DType | None:
        """The type of the result, if B.DATR has to say it."""
        result = self.tiles[0].type if self.tiles else None
        if "DataType" not in self.isa.schema.attributes or not isinstance(result, TileType):
            return None
        return None if result.dtype == self.dtype else result.dtype

    @property
    def layout_code(self) -> LayoutCode:
        """The Layout field of B.DATR that the layouts of the tiles ask for; ``VerifyException`` if none does."""
        sources, results = (
            [v.type.layout.data.isa_name for v in values if isinstance(v.type, TileType)]
            for values in (self.sources, self.tiles)
        )
        try:
            return self.isa.schema.layout_code(sources, results)
        except ValueError as error:
            found = " and ".join(", ".join(names) for names in (sources, results) if names)
            raise VerifyException(f"{self.operation.data} has no tiles in {found}: {error}") from None

    @property
    def hands(self) -> tuple[HandAttr, ...]:
        if self.into is None:
            return ()
        return (self.into, *(() if self.beside is None else self.beside))

    def place(self, hands: Sequence[HandAttr]) -> None:
        self.into = hands[0]
        self.beside = ArrayAttr(hands[1:]) if len(hands) > 1 else None

    def verify_operation(self) -> None:
        name = self.operation.data
        operation = BY_NAME.get(name)
        if operation is None or operation.family == "CUBE" or name in ("TLOAD", "TSTORE"):
            raise VerifyException(f"{name} is no operation that tile.operation stands for")
        schema = operation.schema
        in_memory = schema.scalars[:1] if schema.in_memory else ()
        _verify_count(name, "source", len(self.sources), len(schema.sources))
        _verify_count(name, "result", len(self.tiles), len(schema.destinations))
        _verify_count(name, "array", int(self.array is not None), len(in_memory))
        if (self.array is None) != (self.offset is None):
            raise VerifyException("an array has an offset")
        scalars = schema.scalars[len(in_memory) :]
        needed = sum(scalar.default is None for scalar in scalars)
        if not needed <= len(self.scalars) <= len(scalars):
            raise VerifyException(f"{name} has {len(scalars)} scalars, of which {needed} have to be there")
        if len(self.size) > sum(each is not None for each in schema.dimensions[:2]):
            raise VerifyException(f"{name} does not have so many dimensions")
        for role, value in zip(schema.sources, self.sources):
            self._verify_source(schema, role, value)
        self._verify_types(schema)
        if schema.placement is not Placement.NO_TILE:
            _ = self.layout_code
        for field, number in ({} if self.datr is None else self.datr.data).items():
            if field not in self._attributes(schema):
                raise VerifyException(f"{name} has no attribute {field}; it has {', '.join(self._attributes(schema))}")
            form = BY_KEY["B.DATR"]
            legal = form.fields[form.position[field]]
            if not isinstance(number, IntegerAttr) or not legal.accepts(number.value.data):
                raise VerifyException(f"{field} of B.DATR is not {number}")

    @staticmethod
    def _attributes(schema: Schema) -> tuple[str, ...]:
        """Fields of B.DATR that the types of the tiles do not say."""
        said = {"DataType"} if schema.placement is Placement.NO_TILE else {"DataType", "Layout"}
        return tuple(field for field in schema.attributes if field not in said)

    def _verify_source(self, schema: Schema, role: str, value: SSAValue) -> None:
        predicate = role == schema.mask
        if isinstance(value.type, PredicateType) != predicate:
            kind = "predicate" if predicate else "numeric"
            raise VerifyException(f"{role} of {self.operation.data} is a {kind} tile")
        if role == schema.index and cast(TileType, value.type).dtype not in schema.index_types:
            raise VerifyException(f"{self.operation.data} has no {role} of {cast(TileType, value.type).dtype}")

    def _verify_types(self, schema: Schema) -> None:
        dtype = self.dtype
        if dtype not in schema.types:
            raise VerifyException(f"{self.operation.data} does not take {dtype}")
        for result in self.tiles[:1]:
            predicate = schema.result == PREDICATE
            if isinstance(result.type, PredicateType) != predicate:
                raise VerifyException(f"the result of {self.operation.data} is {schema.result}")
            if schema.result == SAME and cast(TileType, result.type).dtype != dtype:
                raise VerifyException(f"the result of {self.operation.data} has {schema.result}, {dtype}")


def _verify_count(name: str, what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise VerifyException(f"{name} has {wanted} {what}{'' if wanted == 1 else 's'}, not {found}")
