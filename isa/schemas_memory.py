"""Schemas of the memory operations (TLSU) and of the matrix operations (CUBE)."""

from __future__ import annotations

from collections.abc import Iterator

from ptoc.isa import dtypes
from ptoc.isa.schema import NO_DIMENSIONS, NO_PADDING, RECTANGLE, Dimension, Dimensions, Placement, Scalar, Schema
from ptoc.isa.schemas_vector import PAD

_EVERY = frozenset(dtypes.ALL)
_NARROW = frozenset(t for t in dtypes.ALL if t.bits <= 32)

_BASE = Scalar("address of the first element")
_STRIDE = Scalar("bytes from one row to the next", "rows without a gap")
_REQUIRED_BASE = Scalar("address that the displacements count from", None)
_INDEX, _MASK = "byte displacements", "mask"

_LOADED: Dimensions = (
    Dimension("valid columns", "1"),
    Dimension("valid rows", "1"),
    Dimension("physical columns", "LB0"),
)
_OF_SOURCE: Dimensions = (
    Dimension("valid columns", "those of the source"),
    Dimension("valid rows", "those of the source"),
    Dimension("physical columns", "those of the source"),
)
_PRODUCT: Dimensions = (
    Dimension("M, rows of the result", "1"),
    Dimension("N, columns of the result", "1"),
    Dimension("K, terms of every sum", "1"),
)


def _transfers() -> Iterator[tuple[str, Schema]]:
    pad_and_layout = (PAD, "Layout")
    yield (
        "TLOAD",
        Schema(
            "a rectangle of memory as a tile",
            _EVERY,
            scalars=(_BASE, _STRIDE),
            dimensions=_LOADED,
            attributes=pad_and_layout,
            padding="undefined; in CUBE layouts as the pad value of B.DATR says",
            in_memory=True,
            placement=Placement.LOADED,
        ),
    )
    yield (
        "TSTORE",
        Schema(
            "a tile as a rectangle of memory",
            _EVERY,
            ("x",),
            (),
            scalars=(_BASE, _STRIDE),
            dimensions=_OF_SOURCE,
            attributes=pad_and_layout,
            padding=NO_PADDING,
            in_memory=True,
            placement=Placement.STORED,
        ),
    )
    yield (
        "TMOV",
        Schema(
            "x again, defined where x is",
            _EVERY,
            ("x",),
            dimensions=_OF_SOURCE,
            attributes=("Layout",),
            padding="that of x",
            open_type=True,
            placement=Placement.KEPT,
        ),
    )
    yield (
        "TPREFETCH",
        Schema(
            "nothing but a hint that a rectangle of memory will be loaded",
            _NARROW,
            destinations=(),
            scalars=(_BASE, Scalar("elements from one row to the next", "LB2")),
            dimensions=_LOADED,
            attributes=("Layout",),
            padding=NO_PADDING,
            in_memory=True,
            placement=Placement.NO_TILE,
        ),
    )
    yield (
        "GMOV",
        Schema(
            "the tile of that name on another PE",
            _NARROW,
            ("x of the peer",),
            scalars=(Scalar("number of the PE, 0 to 3"),),
            dimensions=NO_DIMENSIONS,
            attributes=("Layout",),
            padding="that of x",
            placement=Placement.KEPT_PLAIN,
        ),
    )


def _scattered(meaning: str, *sources: str, loads: bool) -> Schema:
    """An operation on memory at byte displacements from a base."""
    return Schema(
        meaning,
        dtypes.SCATTER_TYPES,
        sources,
        ("result",) if loads else (),
        scalars=(_REQUIRED_BASE,),
        dimensions=RECTANGLE,
        attributes=(PAD, "Layout") if loads else ("Layout",),
        padding="as the pad value of B.DATR says, zero without it" if loads else NO_PADDING,
        mask=_MASK if _MASK in sources else None,
        index=_INDEX,
        index_types=dtypes.SCATTER_INDEX_TYPES,
        in_memory=True,
        placement=Placement.ALL,
    )


def _indexed() -> Iterator[tuple[str, Schema]]:
    yield "MGATHER", _scattered("the elements of memory at the displacements", _INDEX, loads=True)
    masked = "the elements of memory at the displacements where the mask holds, else the pad value"
    yield "MGATHER_MASK", _scattered(masked, _INDEX, _MASK, loads=True)
    exchange = "the elements of memory at the displacements; those equal to the expected ones are replaced there"
    yield "MGATHER_CAS", _scattered(exchange, _INDEX, "expected", "replacement", loads=True)
    yield "MSCATTER", _scattered("x in memory at the displacements", "x", _INDEX, loads=False)
    masked = "x in memory at the displacements where the mask holds"
    yield "MSCATTER_MASK", _scattered(masked, "x", _INDEX, _MASK, loads=False)


def _products() -> Iterator[tuple[str, Schema]]:
    # The reference lists element types for the plain products only; all products are taken to have them.
    for prefix, what, left, right in (
        ("TMATMUL", "matrix product", "left", "right"),
        ("TGEMV", "product of a vector and a matrix", "left vector", "right matrix"),
    ):
        for scaled in (False, True):
            operands = (left, "row scale", right, "column scale") if scaled else (left, right)
            name = prefix + "_MX" * scaled
            meaning = f"the {what}" + ", its operands scaled in groups" * scaled
            yield name, _product(meaning, *operands)
            yield f"{name}_BIAS", _product(f"{meaning}, plus a bias", *operands, "bias")
            yield f"{name}_ACC", _product(f"{meaning}, plus the accumulator", "accumulator", *operands)


def _product(meaning: str, *sources: str) -> Schema:
    return Schema(
        meaning + "; B.FPATR says what becomes of the sums",
        dtypes.MATMUL_TYPES,
        sources,
        dimensions=_PRODUCT,
        attributes=("DataType", "RMode", "Sat"),
        result="the accumulator's, or the one that B.FPATR converts to",
        placement=Placement.PRODUCT,
    )


MEMORY: dict[str, Schema] = dict([*_transfers(), *_indexed()])
MATRIX: dict[str, Schema] = dict(_products())
