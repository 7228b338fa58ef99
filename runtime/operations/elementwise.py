"""Operations that compute every element from those in the same place: of one tile, two, three, or one and a scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptoc.runtime.numerics import arithmetic, elementary
from ptoc.runtime.operations.vector import Bits, Compute, Form, Operands

Binary = Callable[..., tuple[Bits, int]]
"""Of a type, the bits of the operands and the flags that are up: the bits of the result, and the flags raised."""

_BINARY: dict[str, Binary] = {
    "TADD": arithmetic.add,
    "TSUB": arithmetic.subtract,
    "TMUL": arithmetic.multiply,
    "TDIV": arithmetic.divide,
    "TREM": arithmetic.remainder,
    "TAND": arithmetic.bitwise_and,
    "TOR": arithmetic.bitwise_or,
    "TXOR": arithmetic.bitwise_xor,
    "TSHL": arithmetic.shift_left,
    "TSHR": arithmetic.shift_right,
    "TMAX": arithmetic.maximum,
    "TMIN": arithmetic.minimum,
}
_UNARY: dict[str, Callable[..., tuple[Bits, int]]] = {
    "TABS": arithmetic.absolute,
    "TNOT": arithmetic.invert,
    "TNEG": arithmetic.negative,
    "TEXP": elementary.exp,
    "TLOG": elementary.log,
    "TRECIP": elementary.reciprocal,
    "TSQRT": elementary.square_root,
    "TRSQRT": elementary.inverse_root,
    "TRELU": arithmetic.relu,
}
_DIVISIONS = frozenset((arithmetic.divide, arithmetic.remainder))
_RAW = frozenset(
    (
        arithmetic.bitwise_and,
        arithmetic.bitwise_or,
        arithmetic.bitwise_xor,
        arithmetic.shift_left,
        arithmetic.shift_right,
        arithmetic.invert,
    )
)
"""Functions of bits, whose operands need not be valid encodings."""


def of_tiles(function: Any) -> Compute:
    """The function of all sources."""

    def compute(o: Operands) -> tuple[Bits, int]:
        result: tuple[Bits, int] = function(o.dtype, *o.tiles, o.up)
        return result

    return compute


def with_scalar(function: Any) -> Compute:
    """The function of the source and the scalar, in this order."""

    def compute(o: Operands) -> tuple[Bits, int]:
        result: tuple[Bits, int] = function(o.dtype, o.tiles[0], o.scalar, o.up)
        return result

    return compute


def _rows() -> dict[str, Form]:
    rows = {"TFMA": Form(of_tiles(arithmetic.fused), ("full", "full", "full"), early=False)}
    for name, function in _UNARY.items():
        rows[name] = Form(of_tiles(function), ("full",), early=False, encodings=function not in _RAW)
    for name, function in _BINARY.items():
        divides, encodings = function in _DIVISIONS, function not in _RAW
        rows[name] = Form(of_tiles(function), ("full", "full"), early=False, encodings=encodings, divides=divides)
        rows[name + "S"] = Form(with_scalar(function), ("full",), encodings=encodings, divides=divides)
    return rows


OPERATIONS: dict[str, Form] = _rows()
