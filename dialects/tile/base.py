"""What all operations on tiles have in common."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.tile.names import HandAttr, SlotAttr
from ptoc.dialects.tile.types import PredicateType, TileType
from ptoc.isa.registers import PE_MODE, prefix_mask


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


def pes_attr(count: int) -> IntegerAttr:
    """The property ``pes``."""
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


def rest_attr(rows: int) -> dict[str, Attribute]:
    """The property ``rest``, absent where no PE has fewer rows."""
    return {"rest": IntegerAttr(rows, i64)} if rows else {}


NAMES = "(`slots` $slots^)? (`into` $into^)?"
"""Names of tiles in an assembly format."""
