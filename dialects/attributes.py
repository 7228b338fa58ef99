"""Attributes and type helpers that the dialects share."""

from __future__ import annotations

from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    ContainerType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefType,
    NoneAttr,
    ShapedType,
    Signedness,
    StridedLayoutAttr,
    UnitAttr,
    bf16,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType


@irdl_attr_definition
class HiF8Type(ParametrizedAttribute, TypeAttribute):
    """The elements of a tile of HiF8; in arrays they are ``ui8``, as numpy has no such type."""

    name = "nd.hif8"


_FLOATS: dict[DType, Attribute] = {
    dtypes.HIF8: HiF8Type(),
    dtypes.E4M3: Float8E4M3FNType(),
    dtypes.E5M2: Float8E5M2Type(),
    dtypes.FP16: f16,
    dtypes.BF16: bf16,
    dtypes.FP32: f32,
    dtypes.FP64: f64,
}
_FLOAT_TYPES: dict[type, DType] = {
    HiF8Type: dtypes.HIF8,
    Float8E4M3FNType: dtypes.E4M3,
    Float8E5M2Type: dtypes.E5M2,
    Float16Type: dtypes.FP16,
    BFloat16Type: dtypes.BF16,
    Float32Type: dtypes.FP32,
    Float64Type: dtypes.FP64,
}
_INTEGERS: dict[tuple[Signedness, int], DType] = {
    (Signedness.SIGNED if t.numeric_class == "signed" else Signedness.UNSIGNED, t.bits): t
    for t in dtypes.ALL
    if not t.is_float
}


def element_type(dtype: DType) -> Attribute:
    """The builtin type that stands for a PTO data type: ``f16``, ``bf16``, ``f32``, ``f64``, ``si8``, ``ui8``, …"""
    if dtype in _FLOATS:
        return _FLOATS[dtype]
    if dtype.is_float:
        raise ValueError(f"{dtype} has no builtin type")
    signedness = Signedness.SIGNED if dtype.numeric_class == "signed" else Signedness.UNSIGNED
    return IntegerType(dtype.bits, signedness)


def dtype_of(element: Attribute) -> DType:
    """The PTO data type of an element type; ``i1`` (a numpy bool, one byte) is U8 in memory."""
    if element == i1:
        return dtypes.U8
    if isinstance(element, IntegerType):
        found = _INTEGERS.get((element.signedness.data, element.width.data))
        if found is not None:
            return found
    elif type(element) in _FLOAT_TYPES:
        return _FLOAT_TYPES[type(element)]
    raise VerifyException(f"{element} is not an element type of PTO; use f16, bf16, f32, f64, siN or uiN")


def row_stride_bytes(type_: MemRefType) -> int:
    """Bytes from one row of a 1-D or 2-D array to the next (0 for one dimension); packed rows start at whole bytes."""
    shape = type_.get_shape()
    if len(shape) < 2:
        return 0
    dtype = dtype_of(type_.element_type)
    if isinstance(type_.layout, StridedLayoutAttr):
        return cast(int, type_.get_strides()[0]) * dtype.nbytes  # pyright: ignore[reportOptionalSubscript]
    return dtype.bytes_of(shape[1])


def shape_2d(type_: Attribute) -> tuple[int, int]:
    """Rows and columns of an array or tensor type; without two dimensions it is one row, without any one element."""
    rows, cols = (1, 1, *cast(ShapedType, type_).get_shape())[-2:]
    return rows, cols


def unit_attrs(**flags: bool) -> dict[str, UnitAttr]:
    """The properties for flags that are set."""
    return {name: UnitAttr() for name, flag in flags.items() if flag}


def verify_array_type(type_: Attribute) -> None:
    """At most 2-D, static shape, an element type of PTO, unit column stride."""
    if not isinstance(type_, ShapedType) or not isinstance(type_, ContainerType):
        raise VerifyException(f"{type_} is not an array type")
    if type_.get_num_dims() > 2 or any(d < 0 for d in type_.get_shape()):
        raise VerifyException(f"{type_}: arrays have at most two dimensions, of known size")
    dtype_of(type_.get_element_type())
    if isinstance(type_, MemRefType) and not isinstance(type_.layout, NoneAttr):
        if dtype_of(type_.get_element_type()).packed:
            raise VerifyException(f"{type_}: rows of packed elements are dense")
        strides = type_.get_strides()
        if strides is None or any(s is None for s in strides) or strides[-1] != 1:
            raise VerifyException(f"{type_}: only the row stride may differ from the dense one")


class Predicate(StrEnum):
    """Relations of TCMP, by their CMode names."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    GT = "gt"
    LE = "le"
    GE = "ge"


@irdl_attr_definition
class PredicateAttr(EnumAttribute[Predicate], SpacedOpaqueSyntaxAttribute):
    name = "nd.predicate"


@irdl_attr_definition
class BitsAttr(Data[int]):
    """The bit pattern of one element, printed in hexadecimal: exact for NaN, infinities and −0."""

    name = "nd.bits"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        with parser.in_angle_brackets():
            return parser.parse_integer(allow_negative=False)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.data:#x}")


@irdl_attr_definition
class RowAttr(Data[tuple[int, ...]]):
    """The bit patterns of a row of elements, as ``BitsAttr`` has that of one."""

    name = "nd.row"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_integer))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"{bits:#x}" for bits in self.data))
