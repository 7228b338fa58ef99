"""TCVT: a tile of one type as a tile of another, in the same or another plain layout."""

from __future__ import annotations

from ptoc.isa import dtypes
from ptoc.isa.dtypes import NONE_CODE, DType
from ptoc.isa.faults import Fault
from ptoc.isa.layouts import LayoutCode, conversion_ends
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.numerics.cast import Cast, cast
from ptoc.runtime.operations.common import LEGALITY
from ptoc.runtime.operations.vector import Bits, Form, Operands


def _result(bundle: Bundle) -> DType:
    dtype, code = bundle.dtype, bundle.datr.dtype_code
    assert dtype is not None
    result = dtype if code == NONE_CODE else dtypes.BY_CODE[code]
    if not Cast(dtype, result, bundle.datr.rounding, bundle.datr.saturate).legal:
        raise Fault(LEGALITY, f"TCVT does not convert {dtype} to {result}")
    return result


def _ends(bundle: Bundle) -> tuple[str, str]:
    if bundle.datr.canonicalize:
        raise Fault(LEGALITY, "Canonicalize is for tiles in a private matrix representation, which no tile here has")
    ends = conversion_ends(LayoutCode(bundle.datr.layout))
    if ends is None:
        raise Fault(LEGALITY, f"{LayoutCode(bundle.datr.layout).name} is no layout of TCVT")
    return ends


def _convert(o: Operands) -> tuple[Bits, int]:
    how = Cast(o.dtype, o.result, o.attributes.rounding, o.attributes.saturate)
    return cast(how, o.tiles[0])


OPERATIONS: dict[str, Form] = {"TCVT": Form(_convert, ("full",), typed=_result, relaid=_ends)}
