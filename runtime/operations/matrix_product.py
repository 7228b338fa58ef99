"""The raw accumulators of a matrix bundle.

PEs that share one B are multiplied in a single call, their rows stacked: rows are independent of each other, so
the bits are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics import convert, formats, matmul
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


def products(schema: MatrixSchema, primaries: dict[str, Primary], work: list[Work]) -> tuple[list[Words], int]:
    """Raw accumulators of every PE, and the flags of CScale."""
    starts, flags = _starts(work)
    rights = [_right_tile(primaries, item) for item in work]
    if len(work) == 1 or any(tile is not rights[0] for tile in rights):
        found = []
        for item, tile, start in zip(work, rights, starts):
            a, b = _left(schema, primaries, item), _right(schema, primaries, tile)
            found.append(_multiply(schema, a, b, start))
        return found, flags
    start = None if starts[0] is None else np.concatenate([s for s in starts if s is not None])
    a, b = _stack(schema, primaries, work), _right(schema, primaries, rights[0])
    return rows_of(_multiply(schema, a, b, start), work), flags


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


def _stack(schema: MatrixSchema, primaries: dict[str, Primary], work: list[Work]) -> Numbers:
    """The rows of all PEs; they already lie behind each other in a Shared A that all of them read."""
    primary = primaries.get("A")
    if primary is not None and primary.common:
        return _numbers(schema.a_type, primary.on(0), primary.transposed)[: schema.m, : schema.k]
    return np.concatenate([_left(schema, primaries, item) for item in work])


def _right_tile(primaries: dict[str, Primary], item: Work) -> Tile:
    return primaries["B"].on(item.pe) if "B" in primaries else item.tiles["B"]


def _right(schema: MatrixSchema, primaries: dict[str, Primary], tile: Tile) -> Numbers:
    transposed = "B" in primaries and primaries["B"].transposed
    return _numbers(schema.b_type, tile, transposed)[: schema.k, : schema.n]


def _numbers(dtype: DType, tile: Tile, transposed: bool) -> Numbers:
    """The logical matrix of an operand as FP32 numbers, remembered with the tile it comes from."""
    key = "transposed" if transposed else "numbers"
    numbers: Numbers | None = tile.cache.get(key)
    if numbers is None:
        decode: Any = formats.decode_floats if dtype.is_float else formats.decode_integers
        numbers = decode(dtype, np.ascontiguousarray(tile.values.T if transposed else tile.values))
        tile.cache[key] = numbers
    return numbers


def _multiply(schema: MatrixSchema, a: Numbers, b: Numbers, start: Words | None) -> Words:
    if not schema.accumulator.is_float:
        bits = matmul.product_bits(schema.a_type, schema.b_type)
        return matmul.accumulate_integers(a, b, start, product_bits=bits)
    exact = matmul.exact_products(schema.a_type, schema.b_type)
    floats = None if start is None else start.view(np.float32)
    return matmul.accumulate_floats(a, b, floats, exact=exact).view(np.uint32)
