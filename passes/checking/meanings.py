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

    def widened(self, right: Block) -> Block | None:
        """The two as one block, if they are of the same rows and ``right`` starts in this one or behind it."""
        first, between = divmod(right.start - self.start, self.dtype.nbytes)
        near = not between and 0 <= first <= self.cols
        if not near or right != replace(self, start=right.start, cols=right.cols):
            return None
        return replace(self, cols=max(self.cols, first + right.cols))

    def deepened(self, below: Block) -> Block | None:
        """The two as one block, if they are of the same columns and ``below`` starts in this one or behind it."""
        first, between = divmod(below.start - self.start, self.stride) if self.stride else (0, 0)
        near = not between and 0 <= first <= self.rows
        if not near or below != replace(self, start=below.start, rows=below.rows):
            return None
        return replace(self, rows=max(self.rows, first + below.rows))


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

    def widened(self, right: Sum) -> Sum | None:
        """The two as sums of one rectangle, if ``right`` has the same rows and starts in these columns or behind."""
        start: Meaning | None = self.start
        if isinstance(self.start, Block) and isinstance(right.start, Block):
            start = self.start.widened(right.start)
            if start is None:
                return None
        elif self.start != right.start:
            return None
        pieces = []
        for (a, b), (other, beside) in zip(self.pieces, right.pieces):
            if a != other or not isinstance(b, Block) or not isinstance(beside, Block):
                return None
            wide = b.deepened(beside) if b.turned else b.widened(beside)
            if wide is None:
                return None
            pieces.append((a, wide))
        alike = (self.scale, self.finish, len(self.pieces)) == (right.scale, right.finish, len(right.pieces))
        return replace(self, start=start, pieces=tuple(pieces)) if alike else None

    def part(self, row: int, col: int, rows: int, cols: int) -> Sum:
        """Only CUBE tiles hold sums, and those are stored whole."""
        return self

    @property
    def canonical(self) -> Sum:
        start, scale = (None if each is None else each.canonical for each in (self.start, self.scale))
        return Sum(start, scale, tuple((a.canonical, b.canonical) for a, b in self.pieces), self.finish)


@dataclass(frozen=True, slots=True)
class Maxima:
    """The largest of ``sums`` in each row, ``start`` included, or in every ``group`` columns of it, if not 0.

    ``absolute``: of their magnitudes. Of a row, sums whose columns continue one another are one rectangle.
    """

    start: Meaning | None
    sums: tuple[Sum, ...]
    group: int
    absolute: bool

    def plus(self, more: Sum) -> Maxima:
        """Those of more columns as well."""
        wider = self.sums[-1].widened(more)
        return replace(self, sums=(*self.sums, more) if wider is None else (*self.sums[:-1], wider))

    def part(self, row: int, col: int, rows: int, cols: int) -> Maxima:
        """They are stored whole, as the sums are."""
        return self

    @property
    def canonical(self) -> Maxima:
        start = None if self.start is None else self.start.canonical
        return replace(self, start=start, sums=tuple(each.canonical for each in self.sums))


Meaning = Block | Splat | Pattern | Words | Compared | Sum | Maxima
