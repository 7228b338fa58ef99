"""What a bundle of one tile operation consists of: the columns of the tables of operation schemas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ptoc.isa import layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.layouts import CUBE_LAYOUTS, NORM, PLAIN_LAYOUTS, LayoutCode

Types = frozenset[DType]


@dataclass(frozen=True, slots=True)
class Dimension:
    """A value of B.DIM: what it says, and what it is without one (``None``: it must be given).

    ``zero`` says that an explicit zero is legal and means the default.
    """

    meaning: str
    default: str | None = None
    zero: bool = False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A register of B.IOR: what it holds, and what it is without B.IOR (``None``: B.IOR must be there)."""

    meaning: str
    default: str | None = "0"


Dimensions = tuple[Dimension | None, Dimension | None, Dimension | None]
"""LB0, LB1 and LB2; ``None`` is one that must be absent."""

RECTANGLE: Dimensions = (
    Dimension("valid columns"),
    Dimension("valid rows", "1"),
    Dimension("physical columns", "LB0"),
)
NO_DIMENSIONS: Dimensions = (None, None, None)

PAD_CHOSEN = "as the pad value of B.DATR says, undefined without B.DATR"
PAD_UNDEFINED = "undefined"
NO_PADDING = ""

SAME = "the type of the block start"
PREDICATE = "predicate, one bit for each element"


class Placement(StrEnum):
    """In which layouts an operation's numeric tiles are; predicate tiles are row-major always."""

    ROW_MAJOR = "every tile is row-major"
    ENDS = "source and result are in the plain layouts that B.DATR names"
    RESULT = "sources are in any plain layout, the result in the second that B.DATR names"
    ALL = "every tile is in the second plain layout that B.DATR names"
    KEPT = "the result is in the layout of the source, which B.DATR may name"
    KEPT_PLAIN = "the result is in the layout of the source, a plain one, which B.DATR may name"
    LOADED = "the plain or CUBE layout that B.DATR names"
    STORED = "row-major, or the CUBE layout that B.DATR names"
    PRODUCT = "Local operands are in CUBE layouts, as is the result; Shared ones are row-major"
    NO_TILE = "there is no tile"


@dataclass(frozen=True, slots=True)
class Schema:
    """The legal shape of one operation's bundle.

    ``types`` are the types its block start accepts, ``portable`` those of the narrow reading of the ISA.
    ``sources`` and ``destinations`` are tiles by their role, in the order of the bindings, ``scalars`` the
    registers of B.IOR from RegSrc0 on, ``attributes`` the fields of B.DATR that may be other than neutral.
    ``mask`` is the source that is a predicate tile, ``index`` the one whose elements have one of ``index_types`` and
    say places. ``result`` is the type of the destination, ``padding`` what stands outside its valid rectangle.
    """

    meaning: str
    types: Types
    sources: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ("result",)
    scalars: tuple[Scalar, ...] = ()
    dimensions: Dimensions = RECTANGLE
    attributes: tuple[str, ...] = ()
    result: str = SAME
    padding: str = PAD_UNDEFINED
    portable: Types | None = None
    mask: str | None = None
    index: str | None = None
    index_types: Types = frozenset()
    in_memory: bool = False
    """Whether the operation reads or writes memory; the first scalar is an address then."""
    open_type: bool = False
    """Whether the block start may leave the type open."""
    of_source: bool = False
    """Whether the dimensions are those of the source, and the result has others."""
    placement: Placement = Placement.ROW_MAJOR

    def layout_code(self, sources: Sequence[str], results: Sequence[str]) -> LayoutCode:
        """The Layout field of B.DATR for numeric tiles in these layouts; NORM where it may as well be absent.

        ``ValueError`` when the operation has no tiles in these layouts. It does not know of transfers and products.
        """
        match self.placement:
            case Placement.KEPT | Placement.KEPT_PLAIN:
                [source], [result] = sources, results
                legal = source == result and (source in PLAIN_LAYOUTS or self.placement is Placement.KEPT)
                return _legal(self.placement, legal)
            case Placement.ENDS:
                [source], [result] = sources, results
                _legal(self.placement, not {source, result} & CUBE_LAYOUTS)
                return layouts.conversion_code(source, result)
            case Placement.RESULT:
                _legal(self.placement, not {*sources, *results} & CUBE_LAYOUTS)
                return layouts.conversion_code(NORM, results[0])
            case Placement.ALL:
                every = {*sources, *results} | ({NORM} if self.mask is not None else set())
                _legal(self.placement, len(every) == 1 and every <= PLAIN_LAYOUTS)
                return layouts.conversion_code(NORM, *every)
            case _:
                return _legal(self.placement, {*sources, *results} <= {NORM})

    def bindings(self) -> tuple[tuple[tuple[str, ...], str | None], ...]:
        """The B.IOT records for the tiles: sources two by two, and the destination of each record.

        The first destination goes with the last sources, every further one has a record of its own.
        """
        pairs = [self.sources[i : i + 2] for i in range(0, len(self.sources), 2)]
        if not pairs and self.destinations:
            pairs = [()]
        to: list[str | None] = [None] * len(pairs)
        if self.destinations:
            to[-1] = self.destinations[0]
        further = [((), name) for name in self.destinations[1:]]
        return (*zip(pairs, to), *further)


def _legal(placement: Placement, met: bool) -> LayoutCode:
    if not met:
        raise ValueError(placement.value)
    return LayoutCode.NORM
