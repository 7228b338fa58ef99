"""Schemas of the vector operations: element by element, with a scalar, and conversion (modes 0 and 1)."""

from __future__ import annotations

from collections.abc import Iterator

from ptoc.isa import dtypes
from ptoc.isa.dtypes import ARITHMETIC_TYPES, FLOAT_TYPES, INTEGER_TYPES
from ptoc.isa.schema import (
    PAD_CHOSEN,
    PREDICATE,
    RECTANGLE,
    SAME,
    Dimension,
    Dimensions,
    Placement,
    Scalar,
    Schema,
    Types,
)


def named(names: str) -> Types:
    return frozenset(dtypes.BY_NAME[name] for name in names.split())


PORTABLE = named("FP32 FP16 BF16 S32 S16 S8 U32 U16 U8")
PORTABLE_PRODUCT = PORTABLE - named("S8 U8")
PORTABLE_FLOAT = named("FP32 FP16 BF16")
RAW_TYPES: Types = frozenset(t for t in dtypes.UNPACKED_TYPES if t.bits <= 32)
"""Types whose elements are moved as they are, no wider than a word."""

PAD = "PadValueOrByteId"

_ELEMENT = Scalar("the scalar, in the low bits of the register")
_PAIR = ("left", "right")


def _elementwise(
    meaning: str,
    *sources: str,
    types: Types = ARITHMETIC_TYPES,
    portable: Types | None = None,
    scalar: bool = False,
    compares: bool = False,
    mask: str | None = None,
) -> Schema:
    return Schema(
        meaning,
        types,
        sources if mask is None else (mask, *sources),
        mask=mask,
        scalars=(_ELEMENT,) if scalar else (),
        attributes=("CMode", PAD) if compares else (PAD,),
        result=PREDICATE if compares else SAME,
        padding=PAD_CHOSEN,
        portable=portable,
    )


# Name: what it computes, of x and y, and where the narrow reading of the ISA allows it.
_ARITHMETIC: dict[str, tuple[str, Types]] = {
    "TADD": ("x + y", PORTABLE),
    "TSUB": ("x - y", PORTABLE),
    "TMUL": ("x * y", PORTABLE_PRODUCT),
    "TDIV": ("x / y; an integer division truncates, and by zero it is illegal", PORTABLE_PRODUCT),
    "TREM": ("the remainder of x by y, with the sign of y", PORTABLE_PRODUCT),
    "TMAX": ("the larger of x and y; a number wins over a NaN", PORTABLE),
    "TMIN": ("the smaller of x and y; a number wins over a NaN", PORTABLE),
}
_BITWISE: dict[str, str] = {
    "TAND": "x and y, bit by bit",
    "TOR": "x or y, bit by bit",
    "TXOR": "x exclusive or y, bit by bit",
    "TSHL": "x shifted left by y modulo the width",
    "TSHR": "x shifted right by y modulo the width; signed types keep the sign",
}
_SHIFTS = frozenset({"TSHL", "TSHR"})
_COMPARISON = "whether x stands to y as CMode says; only NE holds for a NaN"


def _binary() -> Iterator[tuple[str, Schema]]:
    """Operations of two tiles, and the same of a tile and a scalar."""
    for name, (meaning, portable) in _ARITHMETIC.items():
        yield name, _elementwise(meaning, *_PAIR, portable=portable)
        yield name + "S", _elementwise(meaning + "; y is the scalar", "left", portable=portable, scalar=True)
    for name, meaning in _BITWISE.items():
        sources = ("value", "count") if name in _SHIFTS else _PAIR
        yield name, _elementwise(meaning, *sources, types=INTEGER_TYPES)
        scalar = meaning + "; y is the scalar"
        yield name + "S", _elementwise(scalar, sources[0], types=INTEGER_TYPES, scalar=True)
    yield "TCMP", _elementwise(_COMPARISON, *_PAIR, portable=PORTABLE, compares=True)
    scalar = _COMPARISON + "; y is the scalar"
    yield "TCMPS", _elementwise(scalar, "left", portable=PORTABLE, scalar=True, compares=True)


def _unary() -> Iterator[tuple[str, Schema]]:
    yield "TABS", _elementwise("the absolute value; the smallest integer stays", "x", portable=PORTABLE_FLOAT)
    yield "TNOT", _elementwise("every bit inverted", "x", types=INTEGER_TYPES)
    yield "TNEG", _elementwise("-x; of unsigned types modulo 2^width", "x", portable=named("FP32 FP16 BF16 S32 S16 S8"))
    for name, meaning in (
        ("TEXP", "e to the power of x"),
        ("TLOG", "the natural logarithm of x"),
        ("TRECIP", "1 / x"),
        ("TSQRT", "the square root of x"),
        ("TRSQRT", "1 / the square root of x"),
    ):
        yield name, _elementwise(meaning, "x", types=FLOAT_TYPES, portable=PORTABLE_FLOAT)
    relu = "x where it is positive, else +0; a NaN stays a NaN"
    yield "TRELU", _elementwise(relu, "x", portable=named("FP32 FP16 BF16 S32"))


def _others() -> Iterator[tuple[str, Schema]]:
    yield (
        "TSEL",
        _elementwise("x where the predicate holds, else y", "x", "y", portable=RAW_TYPES, mask="predicate"),
    )
    select = "x where the predicate holds, else the scalar"
    yield "TSELS", _elementwise(select, "x", portable=RAW_TYPES, scalar=True, mask="predicate")
    fused = "x * y + z, rounded once"
    yield "TFMA", _elementwise(fused, "x", "y", "z", portable=PORTABLE_FLOAT)
    yield "TEXPANDS", _elementwise("the scalar in every element", scalar=True)
    yield (
        "TCVT",
        Schema(
            "x converted to another type, and stored in another layout",
            frozenset(dtypes.ALL),
            ("x",),
            attributes=(PAD, "Sat", "Canonicalize", "DataType", "RMode", "Layout"),
            placement=Placement.ENDS,
            result="the type of B.DATR, if it has one, else that of the block start",
            padding=PAD_CHOSEN,
        ),
    )


VECTOR: dict[str, Schema] = dict([*_binary(), *_unary(), *_others()])
ROW_OF_ONE: Dimensions = (RECTANGLE[0], Dimension("valid rows, which can only be 1", "1"), RECTANGLE[2])
"""Dimensions of a result with a single row."""
