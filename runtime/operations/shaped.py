"""The frame of the SFU operations of mode 3, whose tiles differ in shape, type or layout.

An operation is an object that says what it asks of its scalars and sources, which results it has, and what is in them.
The rest is read from its schema and is the same for all: checks in the order of the ISA (the records; scalars, B.DATR
and schema; for some operations the sources; the destinations; what is left of the sources), all PEs before anything
is published. Elements are moved as they are: nothing but arithmetic raises flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ptoc.isa import layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.layouts import PLAIN_LAYOUTS, LayoutCode, conversion_ends
from ptoc.isa.registers import size_bytes
from ptoc.isa.schema import Placement, Types
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.core import Core, Perform
from ptoc.runtime.lanes import lane
from ptoc.runtime.operations.common import (
    Dimensions,
    check_defined,
    require,
    resolve,
)
from ptoc.runtime.operations.schema import check_bundle
from ptoc.runtime.operations.vector import described
from ptoc.runtime.tiles import Descriptor, Destination, Tile

Bits = NDArray[Any]
_ROW_MAJOR = frozenset({layouts.NORM})


class Outcome(NamedTuple):
    """What a tile is given: the bits of its valid rectangle, and the pattern around it if that is defined."""

    values: Bits
    pad: int | None = None


class Extent(NamedTuple):
    """A result: its type, valid rows and columns, and physical columns."""

    dtype: DType
    rows: int
    cols: int
    wide: int


@dataclass
class Given:
    """What one PE contributes. ``scalars`` are whole registers, 0 where B.IOR leaves them out; ``up`` the flags that
    are up already; ``tiles`` and ``results`` fill as the checks proceed."""

    bundle: Bundle
    dtype: DType
    dims: Dimensions
    layout: str
    pe: int
    scalars: tuple[int, ...]
    up: int
    tiles: list[Tile] = field(default_factory=list)
    results: list[Descriptor] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.dims[1] or 1

    @property
    def cols(self) -> int:
        assert self.dims[0] is not None
        return self.dims[0]

    @property
    def wide(self) -> int:
        """Physical columns."""
        return self.dims[2] or self.cols

    @property
    def element(self) -> int:
        """The first scalar as an element: the low bits of the register."""
        return self.scalars[0] & (1 << self.dtype.bits) - 1

    def bits(self, number: int) -> Bits:
        """The valid rectangle of a source."""
        return self.tiles[number].values

    def shape(self, number: int) -> tuple[int, int]:
        return self.tiles[number].descriptor.valid_shape


class Operation:
    """One operation of this frame; calling it with a bundle prepares that bundle.

    ``early`` says that the sources are checked before the destinations.
    """

    early = False

    def __call__(self, bundle: Bundle) -> Perform:
        return _prepare(bundle, self)

    def check(self, given: Given) -> None:
        """Scalars and dimensions, before any source."""

    def types(self, given: Given, number: int) -> Types:
        """The types a source may have."""
        return frozenset((given.dtype,))

    def needs_all(self, number: int) -> bool:
        """Whether every valid element of a source must be defined."""
        return True

    def check_sources(self, given: Given) -> None:
        """What the sources must be beside numeric tiles of their types with defined elements."""

    def extents(self, given: Given) -> Sequence[Extent]:
        """The results, in the order of the destinations; without sources yet unless they are checked early."""
        return (Extent(given.dtype, given.rows, given.cols, given.wide),)

    def check_results(self, given: Given) -> None:
        """How sources and results must match."""

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        """The results, and the flags raised."""
        raise NotImplementedError


@dataclass(frozen=True)
class Shaped:
    """A checked bundle of an operation of this frame."""

    operation: Operation
    dims: Dimensions
    layout: str
    destinations: tuple[Destination, ...]

    def __call__(self, core: Core, bundle: Bundle) -> None:
        work = [self._checked(core, bundle, pe) for pe in bundle.pes]
        raised, finished = 0, []
        for given in work:
            outcomes, flags = self.operation.compute(given)
            raised |= flags
            finished.append([Tile(d, out.values, pad=out.pad) for d, out in zip(given.results, outcomes)])
        core.flags |= raised
        for given, tiles in zip(work, finished):
            for destination, tile in zip(self.destinations, tiles):
                core.local[given.pe].publish(destination.hand, tile)

    def _checked(self, core: Core, bundle: Bundle, pe: int) -> Given:
        operation = self.operation
        given = _given(core, bundle, self.dims, self.layout, pe)
        operation.check(given)
        if operation.early:
            self._sources(core, given)
        for extent, destination in zip(operation.extents(given), self.destinations):
            shape = (extent.rows, extent.cols)
            found = described("full", extent.dtype, destination.capacity, shape, extent.wide, self.layout)
            if isinstance(found, Fault):
                raise found
            given.results.append(found)
        core.local[pe].check(self.destinations, bundle.local_sources)
        if not operation.early:
            self._sources(core, given)
        operation.check_results(given)
        return given

    def _sources(self, core: Core, given: Given) -> None:
        operation, bundle, pe = self.operation, given.bundle, given.pe
        assert bundle.operation is not None
        legal = PLAIN_LAYOUTS if bundle.operation.schema.placement is Placement.RESULT else _ROW_MAJOR
        given.tiles = [resolve(core, bundle, pe, b, slot) for b in bundle.locals for slot in range(len(b.sources))]
        for number, tile in enumerate(given.tiles):
            d = tile.descriptor
            types = operation.types(given, number)
            require(d.numeric and d.dtype in types, f"{d.dtype} is no type of source {number} of {bundle.operation}")
            require(d.layout in legal, f"source {number} of {bundle.operation} is in the layout {d.layout}")
            if operation.needs_all(number):
                check_defined(tile, *d.valid_shape, pe)
        operation.check_sources(given)


def _given(core: Core, bundle: Bundle, dims: Dimensions, layout: str, pe: int) -> Given:
    assert bundle.operation is not None and bundle.dtype is not None
    wanted = len(bundle.operation.schema.scalars)
    scalars = (0,) * wanted
    if bundle.registers is not None:
        scalars = tuple(lane(core.regs[code], pe) for code in bundle.registers.sources[:wanted])
    return Given(bundle, bundle.dtype, dims, layout, pe, scalars, core.flags)


def _prepare(bundle: Bundle, operation: Operation) -> Shaped:
    """Check one bundle as far as it says everything itself."""
    dims = check_bundle(bundle)
    ends = conversion_ends(LayoutCode(bundle.datr.layout))
    assert ends is not None  # those of CUBE transfers have been refused
    destinations = tuple(Destination(b.hand, size_bytes(b.size_code)) for b in bundle.local_destinations)
    return Shaped(operation, dims, ends[1], destinations)
