"""Types of values: tiles, predicate tiles, Shared tiles and queues."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.attributes import dtype_of, element_type
from ptoc.isa import dtypes, layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.registers import (
    CELL_BYTES,
    MAX_COLUMNS,
    MAX_DIMENSION,
    MAX_LOCAL_SIZE_CODE,
    MAX_SHARED_SIZE_CODE,
    size_bytes,
    size_code,
)


class TileLayout(StrEnum):
    """Layouts of tile values; the spelling of ``ptoc.isa.layouts`` in lower case."""

    NORM = "norm"
    DN = "dn"
    ZN = "zn"
    NZ = "nz"
    CUBE_M16 = "cube_m16"
    CUBE_M32 = "cube_m32"
    CUBE_N8 = "cube_n8"

    @property
    def isa_name(self) -> str:
        return self.value.upper()

    @property
    def plain(self) -> bool:
        """Whether a tile in it has physical rows and columns of its own, as row-major ones have."""
        return self.isa_name in layouts.PLAIN_LAYOUTS


@irdl_attr_definition
class LayoutAttr(EnumAttribute[TileLayout], SpacedOpaqueSyntaxAttribute):
    name = "tile.layout"


def _verify_capacity(nbytes: int, what: str) -> None:
    if size_code(nbytes) > MAX_LOCAL_SIZE_CODE:
        raise VerifyException(f"{what} needs {nbytes} bytes, more than a Local tile holds")


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A numeric tile: in a plain layout with its physical rows and columns, CUBE with its largest valid shape.

    ZN and NZ tiles consist of whole blocks of 16 rows and 32 bytes, row-major and column-major ones of elements.
    """

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
        if self.layout.data.plain:
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
        if self.layout.data.plain:
            self._verify_plain(rows, cols, dtype)
        else:
            if dtype not in dtypes.CUBE_TYPES:
                raise VerifyException(f"{dtype} has no CUBE form")
            if rows > layouts.M_ROWS.get(self.layout.data.isa_name, rows):
                raise VerifyException(f"{self.layout.data} does not hold {rows} rows")
        _verify_capacity(self._storage_bytes(), f"tile {rows}x{cols} of {dtype}")

    def _verify_plain(self, rows: int, cols: int, dtype: DType) -> None:
        layout = self.layout.data
        if cols & (cols - 1) or cols > MAX_COLUMNS:
            what = "row-major" if layout is TileLayout.NORM else layout.value
            raise VerifyException(f"a {what} tile has a power-of-two column count, not {cols}")
        physical = self.capacity * 8 // (cols * dtype.bits)
        if not layouts.whole_blocks(layout.isa_name, dtype.bits, physical, cols):
            block = "{} x {}".format(*layouts.block_shape(layout.isa_name, dtype.bits))
            raise VerifyException(f"{layout.value} tiles of {dtype} have whole blocks of {block}, not {rows}x{cols}")


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


def is_tile(value: SSAValue) -> bool:
    """Whether a value lives in a tile register."""
    return isinstance(value.type, TileType | PredicateType)


def tile_capacity(value: SSAValue) -> int:
    """Bytes that a tile value takes on each PE."""
    return cast("TileType | PredicateType", value.type).capacity
