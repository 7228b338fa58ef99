"""Names of tiles in the register rings."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ptoc.isa.registers import GENERATIONS, HANDS


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
