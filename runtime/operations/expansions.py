"""A column or row repeated over a tile, alone or as the right operand of an elementwise operation."""

from __future__ import annotations

import numpy as np

from ptoc.isa import dtypes
from ptoc.isa.dtypes import BF16, FP16, FP32, NONE_CODE, DType
from ptoc.isa.faults import Fault
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.numerics import arithmetic, elementary
from ptoc.runtime.numerics.flags import NV
from ptoc.runtime.numerics.formats import decode_floats, is_signalling
from ptoc.runtime.operations.common import LEGALITY
from ptoc.runtime.operations.elementwise import of_tiles
from ptoc.runtime.operations.vector import Bits, Form, Operands, Shape

_FUNCTIONS = {
    "ADD": arithmetic.add,
    "SUB": arithmetic.subtract,
    "MUL": arithmetic.multiply,
    "DIV": arithmetic.divide,
    "MAX": arithmetic.maximum,
    "MIN": arithmetic.minimum,
}
_DIFFERENCES = frozenset(((FP16, FP16), (BF16, BF16), (FP32, FP32), (FP16, FP32), (BF16, FP32)))
"""Types of the operands and the result of an exponential of differences."""


def _copy(o: Operands) -> tuple[Bits, int]:
    return np.array(np.broadcast_to(o.tiles[0], o.shape)), 0


def _exponential(o: Operands) -> tuple[Bits, int]:
    x, y = o.tiles
    widened = 0
    if o.result != o.dtype:
        # Widening may quiet a NaN of the host, but not for the subtraction behind it.
        widened = NV if any(is_signalling(o.dtype, bits).any() for bits in (x, y)) else 0
        x, y = (np.asarray(decode_floats(o.dtype, bits)).view(np.uint32) for bits in (x, y))
    difference, raised = arithmetic.subtract(o.result, x, y, o.up)
    bits, flags = elementary.exp(o.result, difference, o.up | raised)
    return bits, widened | raised | flags


def _difference_type(bundle: Bundle) -> DType:
    dtype, code = bundle.dtype, bundle.datr.dtype_code
    assert dtype is not None
    result = dtype if code == NONE_CODE else dtypes.BY_CODE[code]
    if (dtype, result) not in _DIFFERENCES:
        raise Fault(LEGALITY, f"{bundle.operation} makes no {result} of {dtype}")
    return result


def _rows() -> dict[str, Form]:
    rows = {}
    lines: tuple[tuple[str, Shape], ...] = (("TROWEXPAND", "column"), ("TCOLEXPAND", "row"))
    for prefix, line in lines:
        rows[prefix] = Form(_copy, (line,), encodings=False)
        for name, function in _FUNCTIONS.items():
            rows[prefix + name] = Form(of_tiles(function), ("full", line), divides=name == "DIV")
        rows[prefix + "EXPDIF"] = Form(_exponential, ("full", line), typed=_difference_type)
    return rows


OPERATIONS: dict[str, Form] = _rows()
