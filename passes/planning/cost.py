"""What a product costs in memory traffic, bundles and multiply-adds, and the least it can cost.

The bound is for one core with S bytes of tiles: every element of a result goes out once, every element of C in memory
comes in once, and A and B come in at least once and at least as often as Hong and Kung's argument demands when S is
full of accumulators (in the form of Irony, Toledo and Tiskin). ``docs/planning.md`` tells the story.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

from ptoc.isa import layouts
from ptoc.isa.registers import LOCAL_POOL_BYTES, PE_COUNT, SHARED_POOL_BYTES
from ptoc.passes.planning.shapes import MatmulShape

ON_CHIP_BYTES = PE_COUNT * LOCAL_POOL_BYTES + SHARED_POOL_BYTES
"""Fast memory of a core."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes between memory and the core by operand, bundles, issued multiply-adds, and how full the pools get.

    ``maxima`` are those of rows and groups, and what the former start from.
    """

    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    maxima: int = 0
    bundles: int = 0
    issued: int = 0
    local_bytes: int = field(default=0, compare=False)
    shared_bytes: int = field(default=0, compare=False)

    @property
    def traffic(self) -> int:
        return self.a + self.b + self.c + self.d + self.maxima

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.a + other.a,
            self.b + other.b,
            self.c + other.c,
            self.d + other.d,
            self.maxima + other.maxima,
            self.bundles + other.bundles,
            self.issued + other.issued,
            max(self.local_bytes, other.local_bytes),
            max(self.shared_bytes, other.shared_bytes),
        )


def streamed_bound(shape: MatmulShape) -> float:
    """The least bytes of A and B that a core reads if it is full of accumulators all the time."""
    widest = max(shape.a.bits, shape.b.bits) / 8
    sums = sqrt(ON_CHIP_BYTES / shape.accumulator.nbytes)
    return 2 * widest * shape.macs / sums


def operand_bound(shape: MatmulShape) -> float:
    """The least bytes of A and B that a core reads."""
    return max(shape.a_bytes + shape.b_bytes, streamed_bound(shape))


def lower_bound(shape: MatmulShape) -> float:
    """The least bytes between memory and one core, results and C included."""
    return shape.c_bytes + shape.result_bytes + shape.maxima_bytes + operand_bound(shape)


def k_cell(shape: MatmulShape, layout: str) -> int:
    """Products that a cell of both operands holds along K."""
    a_cell = layouts.cell_shape(layout, shape.a.bits)[1]
    b_cell = layouts.cell_shape(layouts.CUBE_N8, shape.b.bits)[0]
    return max(a_cell, b_cell)


def up(n: int, unit: int) -> int:
    """``n`` rounded up to a multiple of ``unit``."""
    return -(-n // unit) * unit


def issued_bound(shape: MatmulShape) -> int:
    """Multiply-adds of the whole problem in the cells that waste the least."""
    return min(
        up(shape.m, rows) * up(shape.n, 8) * up(shape.k, k_cell(shape, layout))
        for layout, rows in layouts.M_ROWS.items()
    )
