"""What a product is, as far as its planning is concerned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptoc.isa.dtypes import DType


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Part of a matrix."""

    row: int
    col: int
    rows: int
    cols: int


@dataclass(frozen=True, slots=True)
class MatmulShape:
    """``m x n`` sums of ``k`` products of types ``a`` and ``b``; ``has_c`` when they start from a matrix.

    ``c_rows`` are the rows of that matrix in memory where they are not ``m``: one that starts every row of sums, none
    of a constant. ``result`` is the type in memory; ``scaled`` says that the first piece of a sum scales C, ``trans_a``
    and ``trans_b`` that an operand lies in memory as its transpose. ``row_max`` asks for the maximum of every row of
    sums, from a matrix column on with ``initial``, ``group`` for that of so many columns of each; without ``stored``
    the maxima are all that is wanted.
    """

    m: int
    n: int
    k: int
    a: DType
    b: DType
    accumulator: DType
    has_c: bool
    result: DType
    scaled: bool = False
    trans_a: bool = False
    trans_b: bool = False
    row_max: bool = False
    initial: bool = False
    group: int = 0
    stored: bool = True
    c_rows: int | None = None

    @property
    def started(self) -> bool:
        """Whether the first piece of a sum is like the others: it adds to an accumulator."""
        return self.has_c and not self.scaled

    @property
    def column_unit(self) -> int:
        """A number of columns of which slots have a multiple: groups are whole, and so are bytes of packed results."""
        return self.group or (2 if self.result.packed and self.stored and self.n > 1 else 1)

    @property
    def macs(self) -> int:
        return self.m * self.n * self.k

    @property
    def a_bytes(self) -> int:
        return self.m * self.k * self.a.bits // 8

    @property
    def b_bytes(self) -> int:
        return self.k * self.n * self.b.bits // 8

    @property
    def c_bytes(self) -> int:
        """Bytes that the sums start from, as they lie in memory."""
        rows = self.m if self.c_rows is None else self.c_rows
        return rows * self.n * self.accumulator.nbytes * self.has_c

    @property
    def result_bytes(self) -> int:
        """Bytes of the sums as they are stored."""
        return self.m * self.n * self.result.bits // 8 * self.stored

    @property
    def maxima_bytes(self) -> int:
        """Bytes of all maxima, and of what those of rows start from."""
        groups = self.n // self.group if self.group else 0
        return self.m * (self.row_max + self.initial + groups) * self.accumulator.nbytes

    def part(self, area: Rectangle) -> MatmulShape:
        """The product that computes part of the result."""
        return replace(self, m=area.rows, n=area.cols)
