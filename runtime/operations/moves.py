"""Copies of whole tiles: TMOV on the same PE, GMOV from another one. Undefined elements stay undefined."""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa import layouts
from ptoc.isa.layouts import LayoutCode, conversion_ends
from ptoc.isa.registers import PE_COUNT, size_bytes
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.core import Core, Perform
from ptoc.runtime.lanes import lane
from ptoc.runtime.operations.common import (
    check_defined,
    dimensions,
    require,
    resolve,
)
from ptoc.runtime.operations.schema import check_bundle
from ptoc.runtime.tiles import Descriptor, Destination, Tile


def move(bundle: Bundle) -> Perform:
    """The ``prepare`` of TMOV."""
    return Move(*_copied(bundle))


def move_from_peer(bundle: Bundle) -> Perform:
    """The ``prepare`` of GMOV."""
    return PeerMove(*_copied(bundle))


def _copied(bundle: Bundle) -> tuple[tuple[int, ...], Destination]:
    """The PEs and the destination of a bundle that keeps to its schema."""
    check_bundle(bundle)
    [binding] = bundle.locals
    return bundle.pes, Destination(binding.hand, size_bytes(binding.size_code))


def _check_described(bundle: Bundle, d: Descriptor, destination: Destination) -> None:
    """What the bundle says of its result is what its source is."""
    name = bundle.operation
    require(d.numeric, f"the source of {name} is a predicate tile")
    require(bundle.dtype is None or d.dtype == bundle.dtype, f"the source of {name} has the type {d.dtype}")
    ends = conversion_ends(LayoutCode(bundle.datr.layout))
    stated = bundle.attributes is None or (ends is not None and ends[1] == d.layout)
    require(stated, f"B.DATR says another layout than {d.layout}, that of the source of {name}")
    dims = zip(dimensions(bundle), (d.valid_cols, d.valid_rows, d.cols))
    same = all(value is None or value == own for value, own in dims)
    require(same, f"the dimensions of {name} are those of its source")
    require(d.capacity == destination.capacity, f"{name} keeps the capacity of its source")


@dataclass(frozen=True)
class Move:
    """A checked TMOV."""

    pes: tuple[int, ...]
    destination: Destination

    def __call__(self, core: Core, bundle: Bundle) -> None:
        [binding] = bundle.locals
        found = []
        for pe in self.pes:
            tile = resolve(core, bundle, pe, binding, 0)
            _check_described(bundle, tile.descriptor, self.destination)
            core.local[pe].check((self.destination,), binding.sources)
            found.append(tile)
        for pe, tile in zip(self.pes, found):
            core.local[pe].publish(self.destination.hand, _copy(tile))


@dataclass(frozen=True)
class PeerMove:
    """A checked GMOV: all four PEs have the source, the selected ones take that of the PE each names."""

    pes: tuple[int, ...]
    destination: Destination

    def __call__(self, core: Core, bundle: Bundle) -> None:
        [binding] = bundle.locals
        everyone = range(PE_COUNT)
        fragments = [resolve(core, bundle, pe, binding, 0) for pe in everyone]
        d = fragments[0].descriptor
        _check_described(bundle, d, self.destination)
        require(d.layout not in layouts.CUBE_LAYOUTS, "GMOV copies no matrix operand")
        require(all(tile.descriptor == d for tile in fragments), "the source of GMOV differs between the PEs")
        for pe, tile in zip(everyone, fragments):
            check_defined(tile, *d.valid_shape, pe)
        code = 0 if bundle.registers is None else bundle.registers.sources[0]
        peers = [lane(core.regs[code], pe) for pe in everyone]
        require(max(peers) < PE_COUNT, f"there is no PE{max(peers)}")
        for pe in self.pes:
            core.local[pe].check((self.destination,), binding.sources)
        for pe in self.pes:
            core.local[pe].publish(self.destination.hand, _copy(fragments[peers[pe]]))


def _copy(tile: Tile) -> Tile:
    """A generation of its own; the elements are shared, since no tile ever changes."""
    return Tile(tile.descriptor, tile.values, pad=tile.pad, defined=tile.defined)


OPERATIONS = {"TMOV": move, "GMOV": move_from_peer}
