"""What a tile holds, in terms of the arrays of the launch.

Two meanings are equal when the same elements are computed in the same way, in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptoc.isa.dtypes import DType

NEVER_WRITTEN = -1
"""Of a block that the launch finds in memory."""

UNKNOWN_VERSION = -2
"""Of a block that some write has changed in part."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of elements of an array: from byte ``start`` on, ``stride`` bytes apart.

    ``version`` is the number of the kernel's write that these elements come from.
    ``turned``: a matrix operand that is the transpose of these rows and columns.
    """

    array: int
    dtype: DType
    start: int
    stride: int
    rows: int
    cols: int
    version: int = NEVER_WRITTEN
    turned: bool = False

    def part(self, row: int, col: int, rows: int, cols: int) -> Block:
        start = self.start + row * self.stride + col * self.dtype.nbytes
        return replace(self, start=start, rows=rows, cols=cols)

    @property
    def canonical(self) -> Block:
        """The stride of a single row means nothing."""
        return replace(self, stride=0) if self.rows == 1 else self

    def beside(self, right: Block) -> Block | None:
        """The two as one block, if ``right`` continues its rows."""
        start = self.start + self.cols * self.dtype.nbytes
        continued = self.rows == right.rows and right == replace(self, start=start, cols=right.cols)
        return replace(self, cols=self.cols + right.cols) if continued else None

    def above(self, below: Block) -> Block | None:
        """The two as one block, if ``below`` continues its columns."""
        start = self.start + self.rows * self.stride
        continued = self.cols == below.cols and below == replace(self, start=start, rows=below.rows)
        return replace(self, rows=self.rows + below.rows) if continued else None


@dataclass(frozen=True, slots=True)
class Splat:
    """Elements of ``nbytes`` bytes with the same bits."""

    bits: int
    nbytes: int

    def part(self, row: int, col: int, rows: int, cols: int) -> Splat:
        return self

    @property
    def canonical(self) -> Splat:
        return self


@dataclass(frozen=True, slots=True)
class Pattern:
    """Integers ``first + r * row_step + c * col_step``."""

    first: int
    row_step: int
    col_step: int

    def part(self, row: int, col: int, rows: int, cols: int) -> Pattern:
        return replace(self, first=self.first + row * self.row_step + col * self.col_step)

    @property
    def canonical(self) -> Pattern:
        return self


@dataclass(frozen=True, slots=True)
class Words:
    """A row of 64-bit parameter words."""

    words: tuple[int, ...]

    def part(self, row: int, col: int, rows: int, cols: int) -> Words:
        return Words(self.words[col : col + cols])

    @property
    def canonical(self) -> Words:
        return self


@dataclass(frozen=True, slots=True)
class Compared:
    """A predicate tile: a relation of two numeric ones, by its CMode."""

    relation: int
    dtype: DType
    lhs: Meaning
    rhs: Meaning

    def part(self, row: int, col: int, rows: int, cols: int) -> Compared:
        return replace(self, lhs=self.lhs.part(row, col, rows, cols), rhs=self.rhs.part(row, col, rows, cols))

    @property
    def canonical(self) -> Compared:
        return replace(self, lhs=self.lhs.canonical, rhs=self.rhs.canonical)


@dataclass(frozen=True, slots=True)
class Finish:
    """What becomes of a finished sum: the codes of B.FPATR and B.DATR, words from registers and from tiles."""

    mode: int
    relu: int
    rounding: int
    saturate: int
    words: tuple[int, ...]
    tiles: tuple[Meaning, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """``start`` (divided by ``scale``), plus products in this order: columns of A by rows of B.

    Pieces that continue one another are one piece, so a whole sum has one.
    """

    start: Meaning | None
    scale: Meaning | None
    pieces: tuple[tuple[Meaning, Meaning], ...]
    finish: Finish | None = None

    def plus(self, a: Meaning, b: Meaning) -> Sum:
        """The sum with one more piece, which lies beside or below the last one if K goes on."""
        left, right = self.pieces[-1] if self.pieces else (None, None)
        if isinstance(left, Block) and isinstance(right, Block) and isinstance(a, Block) and isinstance(b, Block):
            rows = left.above(a) if a.turned else left.beside(a)
            cols = right.beside(b) if b.turned else right.above(b)
            if rows is not None and cols is not None:
                return replace(self, pieces=(*self.pieces[:-1], (rows, cols)))
        return replace(self, pieces=(*self.pieces, (a, b)))

    def part(self, row: int, col: int, rows: int, cols: int) -> Sum:
        """Only CUBE tiles hold sums, and those are stored whole."""
        return self

    @property
    def canonical(self) -> Sum:
        start, scale = (None if each is None else each.canonical for each in (self.start, self.scale))
        return Sum(start, scale, tuple((a.canonical, b.canonical) for a, b in self.pieces), self.finish)


Meaning = Block | Splat | Pattern | Words | Compared | Sum
