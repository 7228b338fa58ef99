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


class Stack(NamedTuple):
    """The accumulators of some PEs as rows of one array; the D of each of them remembers it."""

    rows: Words
    pes: list[int]


def products(schema: MatrixSchema, primaries: dict[str, Primary], work: list[Work]) -> tuple[Stack, list[Words], int]:
    """Raw accumulators of every PE, together and one by one, and the flags of CScale."""
    flags = 0
    shape = (sum([item.rows for item in work]), schema.n)
    accumulates = "C" in work[0].tiles
    out: Words = np.empty(shape, np.uint32) if accumulates else np.zeros(shape, np.uint32)
    raws = rows_of(out, work)
    whole = _whole(schema, primaries, work, out)
    if whole is not None:
        pieces = [whole]
    else:
        starts = raws
        if accumulates:
            starts, flags = _starts(work)
        lefts, rights = _lefts(schema, primaries, work), _rights(schema, primaries, work)
        pieces = list(map(matmul.Piece, lefts, rights, starts, raws))
    matmul.multiply(schema.a_type, schema.b_type, pieces)
    return Stack(out, [item.pe for item in work]), raws, flags


def _whole(schema: MatrixSchema, primaries: dict[str, Primary], work: list[Work], out: Words) -> matmul.Piece | None:
    """All PEs as one product, where their rows of A and of C already are rows of one array."""
    a, b = primaries.get("A"), primaries.get("B")
    if a is None or b is None or not (a.common and b.common):
        return None
    start = out
    if "C" in work[0].tiles:
        stack: Stack | None = work[0].tiles["C"].cache.get(Stack)
        if stack is None or stack.pes != [item.pe for item in work]:
            return None
        if "CScale" in work[0].tiles or any(item.tiles["C"].cache.get(Stack) is not stack for item in work):
            return None
        start = stack.rows
    left, right = _shared_numbers(schema.a_type, a, 0), _shared_numbers(schema.b_type, b, 0)
    right = np.ascontiguousarray(right[: schema.k, : schema.n])
    return matmul.Piece(left[: schema.m, : schema.k], right, start, out)


def rows_of(stacked: Bits, work: list[Work]) -> list[Bits]:
    """The rows of every PE in an array that stacks them."""
    parts, first = [], 0
    for item in work:
        last = first + item.rows
        parts.append(stacked[first:last])
        first = last
    return parts


def _starts(work: list[Work]) -> tuple[list[Words], int]:
    """C of every PE, scaled where the bundle asks for it, and the flags of that."""
    starts: list[Words] = []
    flags = 0
    for item in work:
        values, scale = item.tiles["C"].values, item.tiles.get("CScale")
        if scale is not None:
            values, raised = matmul.scale_rows(values, scale.values[:, 0])
            flags |= raised
        starts.append(values if values.flags.c_contiguous else values.copy())
    return starts, flags


def _lefts(schema: MatrixSchema, primaries: dict[str, Primary], work: list[Work]) -> list[Numbers]:
    """A of every PE: its Local tile, or its rows of the Shared one."""
    primary = primaries.get("A")
    if primary is None:
        return [_numbers(schema.a_type, item.tiles["A"], False) for item in work]
    found = []
    for item in work:
        whole = _shared_numbers(schema.a_type, primary, item.pe)
        first = schema.first_row(item.pe)
        found.append(whole[first : first + item.rows, : schema.k])
    return found


def _rights(schema: MatrixSchema, primaries: dict[str, Primary], work: list[Work]) -> list[Numbers]:
    """B of every PE; the same array for those that read the same tile."""
    primary = primaries.get("B")
    if primary is None:
        return [_numbers(schema.b_type, item.tiles["B"], False) for item in work]
    found: list[Numbers] = []
    for item in work:
        if found and primary.common:
            found.append(found[0])
            continue
        whole = _shared_numbers(schema.b_type, primary, item.pe)
        found.append(np.ascontiguousarray(whole[: schema.k, : schema.n]))
    return found


def _shared_numbers(dtype: DType, primary: Primary, pe: int) -> Numbers:
    """The matrix that a PE reads of a Shared operand; whole rows are decoded once with their parent."""
    tile = primary.on(pe)
    rows = None if primary.transposed else tile.cache.get("rows")
    return _numbers(dtype, tile, primary.transposed) if rows is None else _numbers(dtype, primary.parent, False)[rows]


def _numbers(dtype: DType, tile: Tile, transposed: bool) -> Numbers:
    """The logical matrix of an operand as FP32 numbers, remembered with the tile it comes from."""
    key = "transposed" if transposed else "numbers"
    numbers: Numbers | None = tile.cache.get(key)
    if numbers is None:
        numbers = matmul.decode(dtype, np.ascontiguousarray(tile.values.T if transposed else tile.values))
        tile.cache[key] = numbers
    return numbers
