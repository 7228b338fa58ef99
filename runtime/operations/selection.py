"""Comparison with a scalar, choice by a predicate, and a scalar in every element: bits are moved as they are."""

from __future__ import annotations

import numpy as np

from ptoc.runtime.numerics.compare import compare
from ptoc.runtime.operations.vector import Bits, Form, Operands


def _compare_scalar(o: Operands) -> tuple[Bits, int]:
    truth, flags = compare(o.attributes.cmode, o.dtype, o.tiles[0], o.scalar)
    return truth.view("u1"), flags


def _select(o: Operands) -> tuple[Bits, int]:
    predicate, true, false = o.tiles
    return np.where(predicate.view(bool), true, false), 0


def _select_scalar(o: Operands) -> tuple[Bits, int]:
    predicate, true = o.tiles
    return np.where(predicate.view(bool), true, o.scalar), 0


def _fill(o: Operands) -> tuple[Bits, int]:
    return np.full(o.shape, o.scalar[0, 0], o.scalar.dtype), 0


OPERATIONS: dict[str, Form] = {
    "TCMPS": Form(_compare_scalar, ("full",)),
    "TSEL": Form(_select, ("predicate", "full", "full"), encodings=False),
    "TSELS": Form(_select_scalar, ("predicate", "full"), encodings=False),
    "TEXPANDS": Form(_fill, (), encodings=False),
}
