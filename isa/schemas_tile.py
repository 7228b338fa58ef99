"""Schemas of reductions and expansions (mode 2), and of what rearranges, generates and sorts (mode 3)."""

from __future__ import annotations

from collections.abc import Iterator

from ptoc.isa import dtypes
from ptoc.isa.dtypes import ARITHMETIC_TYPES
from ptoc.isa.schema import NO_DIMENSIONS, PAD_CHOSEN, PAD_UNDEFINED, SAME, Dimension, Placement, Scalar, Schema, Types
from ptoc.isa.schemas_vector import (
    PAD,
    PORTABLE,
    PORTABLE_FLOAT,
    PORTABLE_PRODUCT,
    RAW_TYPES,
    ROW_OF_ONE,
    named,
)

MOVE_TYPES = frozenset(dtypes.ALL) - named("HiF4X2")

_OFFSETS = (Scalar("first row, in the low 16 bits"), Scalar("first column, in the low 16 bits"))
_ORDER = Scalar("0 sorts upwards, 1 downwards")
_QUANTISED = (Scalar("the multiplier as FP32 bits, finite and positive", "1.0"), Scalar("the zero point"))


def _reduced(
    meaning: str,
    *sources: str,
    types: Types = ARITHMETIC_TYPES,
    portable: Types | None = None,
    attributes: tuple[str, ...] = (PAD,),
    result: str = SAME,
    of_source: bool = False,
) -> Schema:
    return Schema(
        meaning,
        types,
        sources,
        attributes=attributes,
        result=result,
        padding=PAD_CHOSEN,
        portable=portable,
        of_source=of_source,
    )


def _lines(line: str, other: str, shape: str, prefix: str) -> Iterator[tuple[str, Schema]]:
    """Reductions of every row (or column) to one element, and operations of a tile with one row or column."""
    reduced = (
        ("SUM", "the sum", PORTABLE),
        ("MAX", "the largest element", PORTABLE),
        ("MIN", "the smallest element", PORTABLE),
        ("PROD", "the product", PORTABLE_PRODUCT),
    )
    for name, what, portable in reduced:
        yield prefix + name, _reduced(f"{what} of every {line}", "x", portable=portable, of_source=True)
    for name, what in (("ARGMAX", "largest"), ("ARGMIN", "smallest")):
        meaning = f"the {other} of the {what} element of every {line}"
        yield prefix + name, _reduced(meaning, "x", types=PORTABLE, result="U32", of_source=True)
    yield prefix + "EXPAND", _reduced(f"y repeated in every {other}", f"y ({shape})")
    repeated = f"y ({shape})"
    for name, what in (
        ("ADD", "x + y"),
        ("SUB", "x - y"),
        ("MUL", "x * y"),
        ("DIV", "x / y"),
        ("MAX", "the larger of x and y"),
        ("MIN", "the smaller of x and y"),
    ):
        yield f"{prefix}EXPAND{name}", _reduced(f"{what}, with y repeated in every {other}", "x", repeated)
    yield (
        f"{prefix}EXPANDEXPDIF",
        _reduced(
            f"e to the power of x - y, with y repeated in every {other}",
            "x",
            repeated,
            types=PORTABLE_FLOAT,
            attributes=("DataType", PAD),
            result="the type of the block start, or FP32 when B.DATR says so",
        ),
    )


def _rearranging() -> Iterator[tuple[str, Schema]]:
    layout, placed = ("Layout",), Placement.RESULT
    yield "TCONCAT", Schema("y to the right of x", MOVE_TYPES, ("x", "y"), attributes=layout, placement=placed)
    yield (
        "TEXTRACT",
        Schema(
            "a window of x",
            MOVE_TYPES,
            ("x",),
            scalars=_OFFSETS,
            attributes=layout,
            placement=placed,
            padding="undefined without B.DATR, zero with it",
        ),
    )
    yield (
        "TINSERT",
        Schema(
            "x with a window of it replaced by y",
            MOVE_TYPES,
            ("x", "y"),
            scalars=_OFFSETS,
            attributes=layout,
            placement=placed,
            padding="that of x",
        ),
    )
    positions = (Scalar("first matrix row, in the low 16 bits"), Scalar("first matrix column, in the low 16 bits"))
    image = "the part of a convolution's matrix that starts at a position; its rows are patches of the feature map"
    yield "TIMG2COL", Schema(image, PORTABLE, ("feature map",), scalars=positions)
    yield (
        "TFILLPAD",
        Schema(
            "x in a tile at least as large, with the scalar everywhere else",
            RAW_TYPES,
            ("x",),
            scalars=(Scalar("the element to fill with, in the low bits of the register"),),
            attributes=layout,
            placement=placed,
            padding="the scalar",
        ),
    )
    turned = "x with rows and columns exchanged"
    yield "TTRANS", Schema(turned, MOVE_TYPES, ("x",), attributes=layout, placement=placed)


def _generating() -> Iterator[tuple[str, Schema]]:
    steps = (Scalar("the first number"), Scalar("0 counts up, 1 counts down"))
    integers = named("S32 S16 U32 U16")
    yield "TCI", Schema("a row of consecutive integers", integers, scalars=steps, dimensions=ROW_OF_ONE)
    triangle = (Scalar("the diagonal, -65535 to 65535"), Scalar("0 for the lower triangle, 1 for the upper"))
    ones = "1 on one side of a diagonal and on it, 0 on the other"
    yield "TTRI", Schema(ones, integers | named("FP32 FP16"), scalars=triangle)
    yield (
        "THISTOGRAM",
        Schema(
            "how many elements of every row have a byte no larger than the column's number",
            named("U16 U32"),
            ("x", "filter of the higher bytes"),
            dimensions=NO_DIMENSIONS,
            attributes=(PAD, "DataType"),
            result="U32",
        ),
    )
    quantised = "x * multiplier + zero point, rounded to an integer of eight bits"
    yield (
        "TQUANT",
        Schema(
            quantised,
            named("FP32"),
            ("x",),
            scalars=_QUANTISED,
            attributes=("Sat", "DataType", "RMode"),
            result="S8 or U8, which B.DATR must say",
        ),
    )
    yield (
        "TDEQUANT",
        Schema(
            "(x - zero point) * multiplier",
            named("S8 U8"),
            ("x",),
            scalars=_QUANTISED,
            attributes=("DataType", "RMode"),
            result="FP32, which B.DATR must say",
        ),
    )


def _indexed() -> Iterator[tuple[str, Schema]]:
    sortable = named("FP32 FP16")
    yield (
        "TSORT",
        Schema(
            "every row sorted stably in groups of LB0 columns, and where in its group each element was",
            sortable,
            ("x",),
            ("sorted elements", "their former places"),
            scalars=(_ORDER,),
            dimensions=(Dimension("columns of a group, at most 64; 0 is as if absent", "32", zero=True), None, None),
            result="the type of the block start; U32 for the places",
        ),
    )
    merged = "two sorted rows merged into one"
    dimensions = NO_DIMENSIONS
    yield "TMRGSORT", Schema(merged, sortable, ("x", "y"), scalars=(_ORDER,), dimensions=dimensions)
    indices = named("S16 U16 S32 U32 S64 U64")
    for name, meaning, padding in (
        ("TGATHER", "the element of x in the same column and the row that the index says", PAD_UNDEFINED),
        ("TSCATTER", "zeros, with the elements of x in the same column and the row that the index says", "zero"),
    ):
        yield (
            name,
            Schema(
                meaning,
                dtypes.UNPACKED_TYPES,
                ("x", "row indices"),
                attributes=("Layout",),
                placement=Placement.RESULT,
                padding=padding,
                index="row indices",
                index_types=indices,
            ),
        )
    for name, what, types in (
        ("ADD", "the sum", PORTABLE),
        ("MUL", "the product", PORTABLE_PRODUCT),
        ("MAX", "the larger element", PORTABLE),
        ("MIN", "the smaller element", PORTABLE),
    ):
        meaning = f"{what} where both rectangles reach, the only element where one does"
        yield f"TPART{name}", Schema(meaning, types, ("x", "y"))


TILE: dict[str, Schema] = dict(
    [
        *_lines("row", "column", "one column", "TROW"),
        *_lines("column", "row", "one row", "TCOL"),
        *_rearranging(),
        *_generating(),
        *_indexed(),
    ]
)
