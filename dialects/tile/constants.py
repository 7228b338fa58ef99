"""Constant data, and the views through which programs read it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    IntAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import IRDLOperation, base, irdl_attr_definition, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolOpInterface


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
    """Constant data: ``rows x cols`` integers of ``width`` bytes, ``r * row_step + c * col_step`` modulo the width."""

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
            values.append(parser.parse_integer(allow_negative=name.endswith("step")))
    return values


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
