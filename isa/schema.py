"""What a bundle of one tile operation consists of: the columns of the tables of operation schemas."""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa.dtypes import DType

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
