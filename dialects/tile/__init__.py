"""``tile``: SSA tiles inside ``scf`` loops with ``arith`` address arithmetic.

Tile sizes, CUBE layouts, strides, valid dimensions and the PEs that take part are decided and visible here.
Arrays stay memrefs: a load or store names its array and a byte offset into it, so the array an access belongs
to is never lost. Index values are per PE where they depend on ``tile.pe_id``; dimensions never do.

Ring allocation fills in ``into`` (the hand that receives a result) and ``slots`` (the relative names of the tile
operands, in operand order); before it both are absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Dialect,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.attributes import Predicate, PredicateAttr, dtype_of, element_type, unit_attrs
from ptoc.dialects.postprocessing import NOTHING, Post, PostAttr, post_attr
from ptoc.isa import dtypes, layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.encoding import BY_KEY
from ptoc.isa.operations import BY_NAME
from ptoc.isa.operations import TileOperation as IsaOperation
from ptoc.isa.postprocess import GROUP_COLUMNS, PreQuantMode, ReluMode
from ptoc.isa.registers import (
    CELL_BYTES,
    GENERATIONS,
    HANDS,
    MAX_COLUMNS,
    MAX_DIMENSION,
    MAX_LOCAL_SIZE_CODE,
    MAX_SHARED_SIZE_CODE,
    PE_COUNT,
    PE_MODE,
    SHARED_COUNT,
    prefix_mask,
    size_bytes,
    size_code,
)
from ptoc.isa.schema import SAME, Schema


class TileLayout(StrEnum):
    """Layouts of tile values; the spelling of ``ptoc.isa.layouts`` in lower case."""

    NORM = "norm"
    CUBE_M16 = "cube_m16"
    CUBE_M32 = "cube_m32"
    CUBE_N8 = "cube_n8"

    @property
    def isa_name(self) -> str:
        return self.value.upper()


@irdl_attr_definition
class LayoutAttr(EnumAttribute[TileLayout], SpacedOpaqueSyntaxAttribute):
    name = "tile.layout"


class Hand(StrEnum):
    """The four Local name spaces."""

    T = "T"
    U = "U"
    M = "M"
    N = "N"


@irdl_attr_definition
class HandAttr(EnumAttribute[Hand], SpacedOpaqueSyntaxAttribute):
    name = "tile.hand"

    @property
    def number(self) -> int:
        return HANDS.index(self.data.value)


@irdl_attr_definition
class SlotAttr(ParametrizedAttribute):
    """A relative tile name: ``#tile.slot<T 3>`` is T#3, the third newest generation of hand T."""

    name = "tile.slot"
    hand: StringAttr
    distance: IntAttr

    @classmethod
    def get(cls, hand: int, distance: int) -> SlotAttr:
        return cls(StringAttr(HANDS[hand]), IntAttr(distance))

    @property
    def number(self) -> int:
        return HANDS.index(self.hand.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            hand = parser.parse_identifier()
            return (StringAttr(hand), IntAttr(parser.parse_integer(allow_negative=False)))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.hand.data} {self.distance.data}")

    def verify(self) -> None:
        if self.hand.data not in HANDS or not 1 <= self.distance.data <= GENERATIONS:
            raise VerifyException(f"no tile is named {self.hand.data}#{self.distance.data}")


def _verify_capacity(nbytes: int, what: str) -> None:
    if size_code(nbytes) > MAX_LOCAL_SIZE_CODE:
        raise VerifyException(f"{what} needs {nbytes} bytes, more than a Local tile holds")


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A numeric tile: NORM with its physical rows and columns, CUBE with its largest valid shape."""

    name = "tile.tile"
    rows: IntAttr
    cols: IntAttr
    element: Attribute
    layout: LayoutAttr

    @classmethod
    def get(cls, rows: int, cols: int, element: Attribute | DType, layout: TileLayout) -> TileType:
        if isinstance(element, DType):
            element = element_type(element)
        return cls(IntAttr(rows), IntAttr(cols), element, LayoutAttr(layout))

    @property
    def dtype(self) -> DType:
        return dtype_of(self.element)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.data, self.cols.data

    @property
    def size_code(self) -> int:
        """SizeCode of the smallest allocation that holds the tile."""
        return size_code(self._storage_bytes())

    @property
    def capacity(self) -> int:
        """Bytes a PE is charged."""
        return size_bytes(self.size_code)

    def _storage_bytes(self) -> int:
        rows, cols = self.shape
        if self.layout.data is TileLayout.NORM:
            return layouts.element_bytes(rows * cols, self.dtype.bits)
        return layouts.cube_geometry(self.layout.data.isa_name, self.dtype.bits, rows, cols).storage_bytes

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            layout = TileLayout(parser.parse_identifier())
        if len(shape) != 2:
            parser.raise_error("a tile has two dimensions")
        return (IntAttr(shape[0]), IntAttr(shape[1]), element, LayoutAttr(layout))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.cols.data}x")
            printer.print_attribute(self.element)
            printer.print_string(f", {self.layout.data.value}")

    def verify(self) -> None:
        rows, cols = self.shape
        dtype = dtype_of(self.element)
        if not (1 <= rows <= MAX_DIMENSION and 1 <= cols <= MAX_DIMENSION):
            raise VerifyException(f"tile of {rows}x{cols}: both sizes are 1..{MAX_DIMENSION}")
        if self.layout.data is TileLayout.NORM:
            if cols & (cols - 1) or cols > MAX_COLUMNS:
                raise VerifyException(f"a row-major tile has a power-of-two column count, not {cols}")
        else:
            if dtype not in dtypes.CUBE_TYPES:
                raise VerifyException(f"{dtype} has no CUBE form")
            if rows > layouts.M_ROWS.get(self.layout.data.isa_name, rows):
                raise VerifyException(f"{self.layout.data} does not hold {rows} rows")
        _verify_capacity(self._storage_bytes(), f"tile {rows}x{cols} of {dtype}")


@irdl_attr_definition
class PredicateType(ParametrizedAttribute, TypeAttribute):
    """A predicate tile: one bit per element of the tiles that were compared."""

    name = "tile.predicate"
    rows: IntAttr
    cols: IntAttr

    @classmethod
    def get(cls, rows: int, cols: int) -> PredicateType:
        return cls(IntAttr(rows), IntAttr(cols))

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.data, self.cols.data

    @property
    def size_code(self) -> int:
        return size_code(layouts.element_bytes(self.rows.data * self.cols.data, 1))

    @property
    def capacity(self) -> int:
        return size_bytes(self.size_code)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims = parser.parse_dimension_list()
        if len(dims) != 2:
            parser.raise_error("a predicate tile has two dimensions")
        return (IntAttr(dims[0]), IntAttr(dims[1]))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.cols.data}")


@irdl_attr_definition
class SharedType(ParametrizedAttribute, TypeAttribute):
    """A Shared tile: a row-major operand of a cooperative matmul, all of whose elements are valid."""

    name = "tile.shared"
    rows: IntAttr
    cols: IntAttr
    element: Attribute

    @classmethod
    def get(cls, rows: int, cols: int, dtype: DType) -> SharedType:
        return cls(IntAttr(rows), IntAttr(cols), element_type(dtype))

    @property
    def dtype(self) -> DType:
        return dtype_of(self.element)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.data, self.cols.data

    @property
    def size_code(self) -> int:
        """SizeCode of the smallest object that holds the tile; a core is charged it once."""
        return size_code(layouts.element_bytes(self.rows.data * self.cols.data, self.dtype.bits))

    @property
    def cells(self) -> int:
        """Cells that the elements fill, counted from the start of the tile."""
        return layouts.element_bytes(self.rows.data * self.cols.data, self.dtype.bits) // CELL_BYTES

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
        if len(shape) != 2:
            parser.raise_error("a Shared tile has two dimensions")
        return (IntAttr(shape[0]), IntAttr(shape[1]), element)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.cols.data}x")
            printer.print_attribute(self.element)

    def verify(self) -> None:
        rows, cols = self.shape
        if not (1 <= rows <= MAX_DIMENSION and 1 <= cols <= MAX_COLUMNS) or cols & (cols - 1):
            raise VerifyException(f"Shared tile of {rows}x{cols}: columns are a power of two")
        if self.size_code > MAX_SHARED_SIZE_CODE:
            raise VerifyException(f"Shared tile of {rows}x{cols} {self.dtype} exceeds the Shared pool")


@irdl_attr_definition
class QueueType(ParametrizedAttribute, TypeAttribute):
    """Tiles of one type that leave in the order in which they came: the accumulators of a rotating block."""

    name = "tile.queue"
    item: TileType


@irdl_attr_definition
class SplatAttr(ParametrizedAttribute):
    """Constant data: ``count`` elements of ``width`` bytes, all with the same bits."""

    name = "tile.splat"
    width: IntAttr
    bits: IntAttr
    count: IntAttr

    @classmethod
    def get(cls, width: int, bits: int, count: int) -> SplatAttr:
        return cls(IntAttr(width), IntAttr(bits), IntAttr(count))

    @property
    def nbytes(self) -> int:
        return self.width.data * self.count.data

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return [IntAttr(v) for v in _parse_integers(parser, ("width", "bits", "count"))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"width = {self.width.data}, bits = {self.bits.data:#x}, count = {self.count.data}")


@irdl_attr_definition
class IotaAttr(ParametrizedAttribute):
    """Constant data: ``rows x cols`` integers of ``width`` bytes, ``r * row_step + c * col_step``."""

    name = "tile.iota"
    width: IntAttr
    rows: IntAttr
    row_step: IntAttr
    cols: IntAttr
    col_step: IntAttr

    @classmethod
    def get(cls, width: int, rows: int, row_step: int, cols: int, col_step: int) -> IotaAttr:
        return cls(*(IntAttr(v) for v in (width, rows, row_step, cols, col_step)))

    @property
    def nbytes(self) -> int:
        return self.width.data * self.rows.data * self.cols.data

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return [IntAttr(v) for v in _parse_integers(parser, ("width", "rows", "row_step", "cols", "col_step"))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(
                f"width = {self.width.data}, rows = {self.rows.data}, row_step = {self.row_step.data}, "
                f"cols = {self.cols.data}, col_step = {self.col_step.data}"
            )


@irdl_attr_definition
class WordsAttr(ParametrizedAttribute):
    """Constant data: 64-bit words."""

    name = "tile.words"
    words: ArrayAttr[IntAttr]

    @classmethod
    def get(cls, words: Sequence[int]) -> WordsAttr:
        return cls(ArrayAttr(map(IntAttr, words)))

    @property
    def width(self) -> IntAttr:
        return IntAttr(8)

    @property
    def nbytes(self) -> int:
        return 8 * len(self.words)

    @property
    def data(self) -> bytes:
        return b"".join(word.data.to_bytes(8, "little") for word in self.words)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        words = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_integer)
        return [ArrayAttr(map(IntAttr, words))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"{word.data:#x}" for word in self.words))


Data = SplatAttr | IotaAttr | WordsAttr


def _parse_integers(parser: AttrParser, names: Sequence[str]) -> list[int]:
    values = []
    with parser.in_angle_brackets():
        for position, name in enumerate(names):
            if position:
                parser.parse_punctuation(",")
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            values.append(parser.parse_integer(allow_negative=False))
    return values


class TileOperation(IRDLOperation):
    """What every tile operation has: the PEs that take part and, once allocated, its tile names."""

    pes = prop_def(IntegerAttr.constr(i64))
    slots = opt_prop_def(ArrayAttr[SlotAttr])
    into = opt_prop_def(HandAttr)

    @property
    def mask(self) -> int:
        """The PEs whose tiles take part; a result is published on these."""
        return prefix_mask(self.pes.value.data)

    def tile_operands(self) -> tuple[SSAValue, ...]:
        """Tile operands in the order of the bundle's sources."""
        return tuple(v for v in self.operands if isinstance(v.type, TileType | PredicateType))

    def tile_results(self) -> tuple[SSAValue, ...]:
        """The Local tiles this operation publishes, in the order of the bundle's destinations."""
        return tuple(r for r in self.results if isinstance(r.type, TileType | PredicateType))

    @property
    def hands(self) -> tuple[HandAttr, ...]:
        """The hands of the results; empty before they are allocated."""
        return () if self.into is None else (self.into,)

    @property
    def named(self) -> bool:
        """Whether all of its tiles have their names."""
        operands = 0 if self.slots is None else len(self.slots)
        return operands == len(self.tile_operands()) and len(self.hands) == len(self.tile_results())

    def place(self, hands: Sequence[HandAttr]) -> None:
        """Say in which hands the results are published."""
        (self.into,) = hands

    def verify_(self) -> None:
        if self.mask not in PE_MODE or not self.mask:
            raise VerifyException("one to four PEs take part")
        if self.slots is not None and len(self.slots) != len(self.tile_operands()):
            raise VerifyException("one slot per tile operand")
        if self.into is not None and len(self.hands) != len(self.tile_results()):
            raise VerifyException("one hand per tile result")
        self.verify_operation()

    def verify_operation(self) -> None:
        """Rules of the single operation."""


def _pes(count: int) -> IntegerAttr:
    return IntegerAttr(count, i64)


class RowsOperation(TileOperation):
    """An operation of which each PE does its own rows.

    ``pes`` PEs have the same number of rows; with ``rest`` the PE behind them has that many. Dimensions are one value
    for all PEs of a bundle, so the rest takes a bundle of its own.
    """

    rest = opt_prop_def(IntegerAttr.constr(i64))

    @property
    def mask(self) -> int:
        return prefix_mask(self.pes.value.data + (self.rest is not None))

    def verify_operation(self) -> None:
        if self.rest is not None and self.rest.value.data < 1:
            raise VerifyException("the rest has at least one row")


def _rest(rows: int) -> dict[str, Attribute]:
    return {"rest": IntegerAttr(rows, i64)} if rows else {}


_NAMES = "(`slots` $slots^)? (`into` $into^)?"


@irdl_op_definition
class LoadOp(RowsOperation):
    """TLOAD: ``rows x cols`` elements at ``source + offset``, rows ``stride`` bytes apart."""

    name = "tile.load"
    source = operand_def(MemRefType)
    offset = operand_def(IndexType)
    stride = operand_def(IndexType)
    rows = operand_def(IndexType)
    cols = operand_def(IndexType)
    result = result_def(TileType)
    assembly_format = (
        "$source `[` $offset `]` `stride` $stride `size` $rows `,` $cols `pes` $pes (`rest` $rest^)? "
        f"{_NAMES} attr-dict `:` type($source) `->` type($result)"
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
            properties={"pes": _pes(pes)} | _rest(rest),
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
        f"{_NAMES} attr-dict `:` type($source) `->` type($result)"
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
            properties={"pes": _pes(1), "shared": IntegerAttr(shared, i64)},
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
        f"{_NAMES} attr-dict `:` type($value) `->` type($dest)"
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
        super().__init__(operands=[value, dest, offset, stride, *size], properties={"pes": _pes(pes)} | _rest(rest))

    def verify_operation(self) -> None:
        super().verify_operation()
        dest = dtype_of(cast(MemRefType, self.dest.type).element_type)
        if dest.bits != cast(TileType, self.value.type).dtype.bits:
            raise VerifyException("array and tile have elements of one width")


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
        f"{_NAMES} attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"
    )
    traits = traits_def(Pure())

    def __init__(
        self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue, size: tuple[SSAValue, SSAValue], pes: int
    ) -> None:
        shape = cast(TileType, lhs.type).shape
        super().__init__(
            operands=[lhs, rhs, *size],
            properties={"predicate": PredicateAttr(predicate), "pes": _pes(pes)},
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
        f"{_NAMES} attr-dict `:` type($data) `,` type($index) `,` type($mask_tile) `->` type($dest)"
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
        super().__init__(operands=[data, index, mask, dest, offset, *size], properties={"pes": _pes(pes)})

    def verify_operation(self) -> None:
        data, index = cast(TileType, self.data.type), cast(TileType, self.index.type)
        if {data.layout.data, index.layout.data} != {TileLayout.NORM}:
            raise VerifyException("MSCATTER_MASK takes row-major tiles")
        if data.dtype not in dtypes.SCATTER_TYPES or index.dtype not in dtypes.SCATTER_INDEX_TYPES:
            raise VerifyException(f"MSCATTER_MASK does not store {data.dtype} at {index.dtype} displacements")


@irdl_op_definition
class OperationOp(TileOperation):
    """Any operation that is no load, store or product, by its ISA name, as its row in the ISA's tables says.

    ``sources`` are tiles in the order of the bindings, ``size`` LB0 and LB1 (columns, rows) as far as the operation has
    them; LB2 is the physical columns of the result, or of what is reduced. ``scalars`` go into B.IOR behind the address
    of ``array``, which operations on memory have. ``datr`` are fields of B.DATR by their names. A result of another
    type than ``dtype``, that of the bundle, is what B.DATR asks for where the operation lets it choose.
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
        tiles = [v.type for v, role in zip(self.sources, self.isa.schema.sources) if role not in _INDICES]
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
        in_memory = schema.scalars[:1] if operation.family == "TLSU" and name not in _NOT_IN_MEMORY else ()
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
            self._verify_source(role, value)
        self._verify_types(schema)
        for field, number in ({} if self.datr is None else self.datr.data).items():
            if field not in schema.attributes or field == "DataType":
                raise VerifyException(f"{name} has no attribute {field}; it has {', '.join(schema.attributes)}")
            form = BY_KEY["B.DATR"]
            legal = form.fields[form.position[field]]
            if not isinstance(number, IntegerAttr) or not legal.accepts(number.value.data):
                raise VerifyException(f"{field} of B.DATR is not {number}")

    def _verify_source(self, role: str, value: SSAValue) -> None:
        predicate = role in _MASKS
        if isinstance(value.type, PredicateType) != predicate:
            kind = "predicate" if predicate else "numeric"
            raise VerifyException(f"{role} of {self.operation.data} is a {kind} tile")
        if role in _INDICES and cast(TileType, value.type).dtype not in self.isa.schema.index_types:
            raise VerifyException(f"{self.operation.data} has no {role} of {cast(TileType, value.type).dtype}")

    def _verify_types(self, schema: Schema) -> None:
        dtype = self.dtype
        if dtype not in schema.types:
            raise VerifyException(f"{self.operation.data} does not take {dtype}")
        for result in self.tiles[:1]:
            predicate = schema.result.startswith("predicate")
            if isinstance(result.type, PredicateType) != predicate:
                raise VerifyException(f"the result of {self.operation.data} is {schema.result}")
            if schema.result == SAME and cast(TileType, result.type).dtype != dtype:
                raise VerifyException(f"the result of {self.operation.data} has {schema.result}, {dtype}")


_MASKS = ("predicate", "mask")
_INDICES = ("byte displacements", "row indices")
_NOT_IN_MEMORY = ("TMOV", "GMOV")
"""Operations of the load-store unit that move tiles."""


def _verify_count(name: str, what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise VerifyException(f"{name} has {wanted} {what}{'' if wanted == 1 else 's'}, not {found}")


@irdl_op_definition
class MatmulOp(RowsOperation):
    """TMATMUL, or TMATMUL.ACC with ``acc``.

    With Local operands ``m, n, k`` are the valid sizes on each PE. With Shared ones the product is cooperative: ``m``
    counts the rows of the core, and ``acc`` and the result hold each PE's part of them; with ``trans_a`` the Shared A
    is stored as ``k x m``, with ``trans_b`` the Shared B as ``n x k``. ``scale`` is CScale: a column of bytes, by whose
    powers of two the rows of ``acc`` are divided first; ``words`` and ``slopes`` hold the parameters that ``post``
    leaves to the columns.

    Further results are maxima of the sums, before ``post``: ``row_max`` of each row and of ``initial``, ``group_max``
    of each ``group`` columns; of magnitudes with ``absolute``. ``beside`` are their hands.
    """

    name = "tile.matmul"
    acc = opt_operand_def(TileType)
    a = operand_def(TileType | SharedType)
    b = operand_def(TileType | SharedType)
    scale = opt_operand_def(TileType)
    initial = opt_operand_def(TileType)
    words = opt_operand_def(TileType)
    slopes = opt_operand_def(TileType)
    m = operand_def(IndexType)
    n = operand_def(IndexType)
    k = operand_def(IndexType)
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)
    post = opt_prop_def(PostAttr)
    group = opt_prop_def(IntegerAttr.constr(i64))
    absolute = opt_prop_def(UnitAttr)
    beside = opt_prop_def(ArrayAttr[HandAttr])
    result = result_def(TileType)
    row_max = opt_result_def(TileType)
    group_max = opt_result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))
    assembly_format = (
        "$a `,` $b (`trans_a` $trans_a^)? (`trans_b` $trans_b^)? "
        "(`acc` $acc^ `:` type($acc))? (`scale` $scale^ `:` type($scale))? "
        "(`initial` $initial^ `:` type($initial))? "
        "(`words` $words^ `:` type($words))? (`slopes` $slopes^ `:` type($slopes))? "
        "`size` $m `,` $n `,` $k (`post` $post^)? (`group` $group^)? (`absolute` $absolute^)? "
        f"`pes` $pes (`rest` $rest^)? {_NAMES} (`beside` $beside^)? attr-dict "
        "`:` type($a) `,` type($b) `->` type($result) (`row_max` type($row_max)^)? (`group_max` type($group_max)^)?"
    )
    traits = traits_def(Pure())

    def __init__(
        self,
        acc: SSAValue | None,
        a: SSAValue,
        b: SSAValue,
        size: tuple[SSAValue, SSAValue, SSAValue],
        pes: int,
        result: TileType,
        post: Post = NOTHING,
        scale: SSAValue | None = None,
        words: SSAValue | None = None,
        slopes: SSAValue | None = None,
        *,
        rest: int = 0,
        trans_a: bool = False,
        trans_b: bool = False,
        row_max: TileType | None = None,
        initial: SSAValue | None = None,
        group_max: TileType | None = None,
        group: int = 0,
        absolute: bool = False,
    ) -> None:
        flags = unit_attrs(trans_a=trans_a, trans_b=trans_b, absolute=absolute)
        groups: dict[str, Attribute] = {"group": IntegerAttr(group, i64)} if group else {}
        super().__init__(
            operands=[acc, a, b, scale, initial, words, slopes, *size],
            properties={"pes": _pes(pes)} | _rest(rest) | flags | groups | post_attr(post),
            result_types=[result, row_max, group_max],
        )

    @property
    def post_processing(self) -> Post:
        return NOTHING if self.post is None else self.post.data

    @property
    def pre_quant_mode(self) -> PreQuantMode:
        """What turns the accumulator into the result's type."""
        a, b, d = (cast("TileType | SharedType", v.type).dtype for v in (self.a, self.b, self.result))
        accumulator = dtypes.accumulator(a, b)
        if accumulator is None:
            raise VerifyException(f"no matmul takes {a} and {b}")
        return self.post_processing.mode(accumulator, d)

    @property
    def hands(self) -> tuple[HandAttr, ...]:
        return (*super().hands, *(self.beside or ()))

    def place(self, hands: Sequence[HandAttr]) -> None:
        self.into, *beside = hands
        self.beside = ArrayAttr(beside) if beside else None

    @property
    def group_code(self) -> int:
        """GroupNCode of B.FPATR."""
        return 0 if self.group is None else GROUP_COLUMNS.index(self.group.value.data)

    def parameters(self) -> tuple[SSAValue, ...]:
        """The tiles that are read for this bundle alone, and are no operands of the product."""
        return tuple(each for each in (self.scale, self.words, self.slopes) if each is not None)

    @property
    def cooperative(self) -> bool:
        """Whether the operands are Shared."""
        return isinstance(self.a.type, SharedType)

    @property
    def mask(self) -> int:
        """In a cooperative product PEs without rows publish nothing."""
        rows = self.m.owner.value if isinstance(self.m.owner, arith.ConstantOp) else None
        if not self.cooperative or not isinstance(rows, IntegerAttr):
            return super().mask
        pe_rows = layouts.M_ROWS[cast(TileType, self.result.type).layout.data.isa_name]
        return prefix_mask(min(PE_COUNT, -(-rows.value.data // pe_rows)))

    def verify_operation(self) -> None:
        super().verify_operation()
        a, b, d = self.a.type, self.b.type, cast(TileType, self.result.type)
        mode = self.pre_quant_mode
        for transposed, operand in ((self.trans_a, a), (self.trans_b, b)):
            if transposed is not None and not isinstance(operand, SharedType):
                raise VerifyException("only a Shared operand is transposed")
        if isinstance(a, SharedType) and isinstance(b, SharedType):
            if self.pes.value.data != PE_COUNT or self.rest is not None:
                raise VerifyException("all PEs take part in a cooperative product")
            layout = d.layout
            if layout.data.isa_name not in layouts.M_ROWS:
                raise VerifyException("the result is cube_m16 or cube_m32")
        elif isinstance(a, TileType) and isinstance(b, TileType):
            if a.layout.data.isa_name not in layouts.M_ROWS or b.layout.data is not TileLayout.CUBE_N8:
                raise VerifyException("A is cube_m16 or cube_m32, B is cube_n8")
            layout = a.layout
            if d.layout != layout:
                raise VerifyException("the result has the layout of A")
        else:
            raise VerifyException("both operands are Local, or both are Shared")
        post = self.post_processing
        self._verify_columns(self.words, mode.parameter == "vector")
        self._verify_columns(self.slopes, post.relu_mode == ReluMode.PRELU)
        if post != post.from_tiles:
            raise VerifyException("what differs by column stands in tiles")
        if self.scale is not None:
            self._verify_scale(cast(TileType, self.scale.type))
        accumulator = dtypes.accumulator(cast("TileType | SharedType", a).dtype, cast("TileType | SharedType", b).dtype)
        assert accumulator is not None
        self._verify_maxima(accumulator)
        if self.acc is None:
            return
        c = cast(TileType, self.acc.type)
        if c.dtype != accumulator or c.layout != layout:
            raise VerifyException("the accumulator has the accumulator type and the layout of the result")
        if mode.code == 0 and c.capacity != d.capacity:
            raise VerifyException("accumulator and result have one capacity")

    def _verify_columns(self, words: SSAValue | None, wanted: bool) -> None:
        if (words is not None) != wanted:
            raise VerifyException("there is a tile of words where post leaves a parameter to the columns")
        if words is None:
            return
        type_ = cast(TileType, words.type)
        if (type_.dtype, type_.layout.data, type_.shape[0]) != (dtypes.U64, TileLayout.NORM, 1):
            raise VerifyException("parameters by column are one row of 64-bit words")

    def _verify_maxima(self, accumulator: DType) -> None:
        if self.initial is not None and self.row_max is None:
            raise VerifyException("RowMaxIn needs row maxima")
        if self.absolute is not None and self.row_max is None and self.group_max is None:
            raise VerifyException("there are no maxima of magnitudes here")
        if (self.group is not None) != (self.group_max is not None):
            raise VerifyException("group maxima, and they alone, have a number of columns")
        if self.group is not None and self.group.value.data not in GROUP_COLUMNS[1:]:
            raise VerifyException(f"no group has {self.group.value.data} columns")
        rows = cast(TileType, self.result.type).shape[0]
        for value in (self.row_max, self.initial, self.group_max):
            if value is None:
                continue
            type_ = cast(TileType, value.type)
            if (type_.dtype, type_.layout.data, type_.shape[0]) != (accumulator, TileLayout.NORM, rows):
                raise VerifyException(f"maxima of {rows} rows are row-major, in {accumulator}")
            if value is not self.group_max and type_.shape[1] != 1:
                raise VerifyException("maxima of rows are a column")

    def _verify_scale(self, scale: TileType) -> None:
        if self.acc is None or not cast(TileType, self.acc.type).dtype.is_float:
            raise VerifyException("CScale needs a floating accumulator")
        if (scale.dtype, scale.layout.data, scale.shape[1]) != (dtypes.U8, TileLayout.CUBE_M32, 1):
            raise VerifyException("CScale is a column of unsigned bytes in cube_m32")


@irdl_op_definition
class QueueOp(IRDLOperation):
    """An empty queue."""

    name = "tile.queue"
    result = result_def(QueueType)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, type_: QueueType) -> None:
        super().__init__(result_types=[type_])


@irdl_op_definition
class PushOp(IRDLOperation):
    """Append a tile that has just been published: nothing may be published in its hand in between."""

    name = "tile.push"
    item = operand_def(TileType)
    queue = operand_def(QueueType)
    result = result_def(QueueType)
    assembly_format = "$item `,` $queue attr-dict `:` type($item) `,` type($queue) `->` type($result)"

    def __init__(self, item: SSAValue, queue: SSAValue) -> None:
        super().__init__(operands=[item, queue], result_types=[queue.type])


@irdl_op_definition
class PopOp(IRDLOperation):
    """Take the oldest tile of a queue."""

    name = "tile.pop"
    queue = operand_def(QueueType)
    item = result_def(TileType)
    rest = result_def(QueueType)
    assembly_format = "$queue attr-dict `:` type($queue) `->` type($item) `,` type($rest)"

    def __init__(self, queue: SSAValue) -> None:
        super().__init__(operands=[queue], result_types=[cast(QueueType, queue.type).item, queue.type])


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


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """Constant data that the launcher copies into global memory."""

    name = "tile.global"
    sym_name = prop_def(SymbolNameConstraint())
    value = prop_def(base(SplatAttr) | base(IotaAttr) | base(WordsAttr))
    assembly_format = "$sym_name $value attr-dict"
    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, value: Data) -> None:
        super().__init__(properties={"sym_name": StringAttr(name), "value": value})


@irdl_op_definition
class GetGlobalOp(IRDLOperation):
    """A view of constant data as an array."""

    name = "tile.get_global"
    global_name = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(MemRefType)
    assembly_format = "$global_name attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, name: str, type_: MemRefType) -> None:
        super().__init__(properties={"global_name": SymbolRefAttr(name)}, result_types=[type_])


def is_tile(value: SSAValue) -> bool:
    """Whether a value lives in a tile register."""
    return isinstance(value.type, TileType | PredicateType)


def tile_capacity(value: SSAValue) -> int:
    """Bytes that a tile value takes on each PE."""
    return cast("TileType | PredicateType", value.type).capacity


TILE = Dialect(
    "tile",
    [
        LoadOp,
        LoadSharedOp,
        ViewOp,
        StoreOp,
        CompareOp,
        ScatterOp,
        OperationOp,
        MatmulOp,
        QueueOp,
        PushOp,
        PopOp,
        PeIdOp,
        CoreIdOp,
        CoreCountOp,
        GlobalOp,
        GetGlobalOp,
    ],
    [TileType, PredicateType, SharedType, QueueType, LayoutAttr, HandAttr, SlotAttr, SplatAttr, IotaAttr, WordsAttr],
)
"""The dialect, for an xDSL context."""
