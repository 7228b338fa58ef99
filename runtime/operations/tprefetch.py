"""TPREFETCH: the accesses that loading a rectangle would make on all four PEs, checked and not made."""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa.dtypes import DType
from ptoc.isa.registers import PE_COUNT
from ptoc.runtime.bundle import Bundle, Registers
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import lane, uniform
from ptoc.runtime.memory import Rectangle
from ptoc.runtime.operations.common import (
    CONTROL,
    check_attributes,
    check_transfer_registers,
    power_of_two,
    probe,
    reject_zero_dimensions,
    require,
)


@dataclass(frozen=True)
class Prefetch:
    """A checked TPREFETCH."""

    dtype: DType
    rows: int
    cols: int
    wide: int
    registers: Registers | None

    def __call__(self, core: Core, bundle: Bundle) -> None:
        for pe in range(PE_COUNT):
            for rect in self._rectangles(core, pe):
                probe(core, bundle, pe, rect)
        # Nothing is read, and no cache can be observed: neither counters nor observers take note.

    def _rectangles(self, core: Core, pe: int) -> list[Rectangle]:
        """The elements of one PE; rows that start in the middle of a byte are taken one by one."""
        base, stride = 0, self.wide
        if self.registers is not None:
            base, stride = (lane(core.regs[code], pe) for code in self.registers.sources[:2])
        bits = self.dtype.bits
        if stride * bits % 8 == 0:
            return [Rectangle(base, self.rows, self.cols, stride * bits // 8, bits)]
        starts = [(row * stride // 2, row * stride % 2) for row in range(self.rows)]
        return [Rectangle((base + at) % (1 << 64), 1, (self.cols + odd + 1) // 2, 0, 8) for at, odd in starts]


def prepare(bundle: Bundle) -> Prefetch:
    """Check one TPREFETCH bundle as far as it says everything itself."""
    registers, operation = bundle.registers, bundle.operation
    assert operation is not None and bundle.dtype is not None
    require(not bundle.locals, "TPREFETCH has no Tile operand", CONTROL)
    check_transfer_registers(bundle, CONTROL)
    check_attributes(bundle, "layout")
    require(not bundle.shared, "TPREFETCH has no Shared operand")
    require(bundle.dtype in operation.schema.types, f"TPREFETCH does not take {bundle.dtype}")
    everyone = range(PE_COUNT)
    lb0, lb1, lb2 = (
        None if value is None else uniform(value, everyone, f"dimension LB{number}")
        for number, value in enumerate(bundle.dims)
    )
    reject_zero_dimensions((lb0, lb1, lb2))
    rows, cols = lb1 or 1, lb0 or 1
    wide = lb2 or cols
    require(cols <= wide and power_of_two(wide), f"{cols} columns lie in no power of two of {wide} columns")
    return Prefetch(bundle.dtype, rows, cols, wide, registers)


OPERATIONS = {"TPREFETCH": prepare}
