"""Tiles put together, cut, turned and padded: every element keeps its bits and gets another place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptoc.runtime.memory import carrier
from ptoc.runtime.operations.common import require
from ptoc.runtime.operations.shaped import Given, Operation, Outcome


def offsets(given: Given) -> tuple[int, int]:
    """First row and column of a window: the low 16 bits of two registers."""
    return given.scalars[0] & 0xFFFF, given.scalars[1] & 0xFFFF


def _fits(given: Given, inner: tuple[int, int], outer: tuple[int, int]) -> None:
    """A window of the shape ``inner`` lies inside a rectangle of the shape ``outer``."""
    row, col = offsets(given)
    left = f"{inner[0]} x {inner[1]} elements at ({row}, {col}) leave the {outer[0]} x {outer[1]} elements"
    require(row + inner[0] <= outer[0] and col + inner[1] <= outer[1], left)


class Concatenation(Operation):
    """TCONCAT: the second source to the right of the first."""

    def check_results(self, given: Given) -> None:
        left, right = given.shape(0), given.shape(1)
        require(left[0] == right[0], f"the sources have {left[0]} and {right[0]} rows")
        wanted = (left[0], left[1] + right[1])
        require((given.rows, given.cols) == wanted, f"the result has {wanted[0]} x {wanted[1]} elements")

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        return (Outcome(np.concatenate([given.bits(0), given.bits(1)], axis=1)),), 0


class Window(Operation):
    """TEXTRACT: a rectangle of the source."""

    def check_results(self, given: Given) -> None:
        _fits(given, (given.rows, given.cols), given.shape(0))

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        row, col = offsets(given)
        values = given.bits(0)[row : row + given.rows, col : col + given.cols]
        # A B.DATR that is there has pad code 0, which is no absence of padding here.
        return (Outcome(values.copy(), None if given.bundle.attributes is None else 0),), 0


class Insertion(Operation):
    """TINSERT: a copy of the first source, padding included, with the second in it."""

    def check_results(self, given: Given) -> None:
        require(given.tiles[0].descriptor == given.results[0], "the result is described like the tile it copies")
        _fits(given, given.shape(1), given.shape(0))

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        row, col = offsets(given)
        rows, cols = given.shape(1)
        values = given.bits(0).copy()
        values[row : row + rows, col : col + cols] = given.bits(1)
        return (Outcome(values, given.tiles[0].pad),), 0


class Padding(Operation):
    """TFILLPAD: the source in a tile at least as large, whose other elements are all the scalar."""

    def check_results(self, given: Given) -> None:
        source, result = given.tiles[0].descriptor, given.results[0]
        sizes = (
            (source.rows, result.rows),
            (source.cols, result.cols),
            (source.valid_rows, result.valid_rows),
            (source.valid_cols, result.valid_cols),
        )
        require(all(old <= new for old, new in sizes), "the result is smaller than the source")

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        rows, cols = given.shape(0)
        values = np.full((given.rows, given.cols), given.element, carrier(given.dtype.bits))
        values[:rows, :cols] = given.bits(0)
        return (Outcome(values, given.element),), 0


class Transposition(Operation):
    """TTRANS: rows become columns."""

    def check_results(self, given: Given) -> None:
        rows, cols = given.shape(0)
        require((given.cols, given.rows) == (rows, cols), f"the transpose has {cols} x {rows} elements")

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        return (Outcome(given.bits(0).T.copy()),), 0


OPERATIONS: dict[str, Operation] = {
    "TCONCAT": Concatenation(),
    "TEXTRACT": Window(),
    "TINSERT": Insertion(),
    "TFILLPAD": Padding(),
    "TTRANS": Transposition(),
}
