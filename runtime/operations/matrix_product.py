"""The raw accumulators of a matrix bundle.

The rows of the PEs are pieces of one result array, which are independent of each other and may be multiplied at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics import convert, matmul
from ptoc.runtime.operations.matrix_schema import MatrixSchema
from ptoc.runtime.operations.matrix_shared import Primary
from ptoc.runtime.tiles import Descriptor, Tile

Words = NDArray[np.uint32]
Numbers = NDArray[np.float32]
Bits = NDArray[Any]


class Work(NamedTuple):
    """What one PE has to do once its checks have passed: its rows, Local sources, parameters and results."""

    pe: int
    rows: int
    tiles: dict[str, Tile]
    parameters: convert.Parameters
    results: dict[str, Descriptor]


def products(schema: MatrixSchema, primaries: dict[str, Primary], work: list[Work]) -> tuple[Words, int]:
    """Raw accumulators of every PE, their rows stacked, and the flags of CScale."""
    starts, flags = _starts(work)
    shape = (sum(item.rows for item in work), schema.n)
    out: Words = np.zeros(shape, np.uint32) if starts[0] is None else np.empty(shape, np.uint32)
    pieces = []
    for item, start, rows in zip(work, starts, rows_of(out, work)):
        a, b = _left(schema, primaries, item), _right(schema, primaries, item)
        pieces.append(matmul.Piece(a, b, rows if start is None else np.ascontiguousarray(start), rows))
    matmul.multiply(schema.a_type, schema.b_type, pieces)
    return out, flags


def rows_of(stacked: Bits, work: list[Work]) -> list[Bits]:
    """The rows of every PE in an array that stacks them."""
    parts, first = [], 0
    for item in work:
        parts.append(stacked[first : first + item.rows])
        first += item.rows
    return parts


def _starts(work: list[Work]) -> tuple[list[Words | None], int]:
    """C of every PE, scaled where the bundle asks for it, and the flags of that."""
    starts: list[Words | None] = []
    flags = 0
    for item in work:
        c, scale = item.tiles.get("C"), item.tiles.get("CScale")
        values = None if c is None else c.values
        if values is not None and scale is not None:
            values, raised = matmul.scale_rows(values, scale.values[:, 0])
            flags |= raised
        starts.append(values)
    return starts, flags


def _left(schema: MatrixSchema, primaries: dict[str, Primary], item: Work) -> Numbers:
    """A on one PE: its Local tile, or its rows of the Shared one."""
    primary = primaries.get("A")
    if primary is None:
        return _numbers(schema.a_type, item.tiles["A"], False)
    whole = _numbers(schema.a_type, primary.on(item.pe), primary.transposed)
    first = schema.first_row(item.pe)
    return whole[first : first + item.rows, : schema.k]


def _right(schema: MatrixSchema, primaries: dict[str, Primary], item: Work) -> Numbers:
    """B on one PE."""
    primary = primaries.get("B")
    if primary is None:
        return _numbers(schema.b_type, item.tiles["B"], False)
    whole = _numbers(schema.b_type, primary.on(item.pe), primary.transposed)
    return np.ascontiguousarray(whole[: schema.k, : schema.n])


def _numbers(dtype: DType, tile: Tile, transposed: bool) -> Numbers:
    """The logical matrix of an operand as FP32 numbers, remembered with the tile it comes from."""
    key = "transposed" if transposed else "numbers"
    numbers: Numbers | None = tile.cache.get(key)
    if numbers is None:
        numbers = matmul.decode(dtype, np.ascontiguousarray(tile.values.T if transposed else tile.values))
        tile.cache[key] = numbers
    return numbers
