"""Reductions of every row or column to one element, or to the place of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptoc.isa.dtypes import U32, DType
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.numerics import fold
from ptoc.runtime.operations.vector import Bits, Compute, Form, Operands

_FOLDS: dict[str, Callable[..., tuple[Bits, int]]] = {
    "SUM": fold.total,
    "PROD": fold.product,
    "MAX": fold.largest,
    "MIN": fold.smallest,
    "ARGMAX": fold.place_of_largest,
    "ARGMIN": fold.place_of_smallest,
}


def _of_rows(function: Any) -> Compute:
    def compute(o: Operands) -> tuple[Bits, int]:
        bits, flags = function(o.dtype, o.tiles[0], 1, o.up)
        return bits[:, None], flags

    return compute


def _of_columns(function: Any) -> Compute:
    def compute(o: Operands) -> tuple[Bits, int]:
        bits, flags = function(o.dtype, o.tiles[0], 0, o.up)
        return bits[None, :], flags

    return compute


def _place(bundle: Bundle) -> DType:
    return U32


def _rows() -> dict[str, Form]:
    rows = {}
    for name, function in _FOLDS.items():
        typed = _place if name.startswith("ARG") else None
        rows[f"TROW{name}"] = Form(_of_rows(function), ("full",), "column", typed=typed)
        rows[f"TCOL{name}"] = Form(_of_columns(function), ("full",), "row", typed=typed)
    return rows


OPERATIONS: dict[str, Form] = _rows()
