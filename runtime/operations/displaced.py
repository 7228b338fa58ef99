"""Loads, stores and exchanges of single elements of memory at byte displacements from a base.

MSCATTER_MASK has its own list of rules and its own file; what both need is here. The machine goes through the lanes of
PE 0, then PE 1, and so on, in row-major order; where two lanes meet, a ``Freedom`` may order them otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.layouts import LayoutCode, conversion_ends
from ptoc.isa.registers import size_bytes
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.core import Core
from ptoc.runtime.errors import AccessFault
from ptoc.runtime.lanes import lane
from ptoc.runtime.memory import Bits, carrier
from ptoc.runtime.operations.common import (
    check_attributes,
    check_defined,
    dimensions,
    power_of_two,
    reject_zero_dimensions,
    require,
    resolve,
)
from ptoc.runtime.operations.schema import ATTRIBUTES
from ptoc.runtime.operations.vector import described, padding
from ptoc.runtime.stores import Store, commit
from ptoc.runtime.tiles import Descriptor, Destination, Tile

Addresses = NDArray[np.uint64]
INDEX, MASK, EXPECTED, REPLACEMENT, DATA = "index", "mask", "expected", "replacement", "data"
_ROLES: dict[str, tuple[str, ...]] = {
    "MGATHER": (INDEX,),
    "MGATHER_MASK": (INDEX, MASK),
    "MGATHER_CAS": (INDEX, EXPECTED, REPLACEMENT),
    "MSCATTER": (DATA, INDEX),
}
"""The sources of every operation, in the order of its bindings."""


def displacements(index: Tile) -> Addresses:
    """Byte displacements modulo 2^64, sign-extended for signed index types."""
    found: Addresses | None = index.cache.get("displacements")
    if found is None:
        bits = index.values
        if index.descriptor.dtype.numeric_class == "signed":
            found = bits.view(f"i{bits.dtype.itemsize}").astype(np.int64).view(np.uint64)
        else:
            found = bits.astype(np.uint64)
        index.cache["displacements"] = found
    return found


def of_lane(fault: AccessFault, pe: int, lanes: NDArray[np.int64], shape: tuple[int, int]) -> AccessFault:
    """The fault of the n-th enabled lane, with the place of that lane in the tile."""
    assert fault.element is not None
    return replace(fault, pe=pe, element=divmod(int(lanes[fault.element[1]]), shape[1]))


@dataclass(frozen=True, eq=False)
class Lanes:
    """The enabled lanes of one PE: their numbers in row-major order and their addresses, which have been probed."""

    pe: int
    tiles: dict[str, Tile]
    numbers: NDArray[np.int64]
    addresses: Addresses

    def taken(self, role: str) -> Bits:
        """The elements of a source in these lanes."""
        return self.tiles[role].values.take(self.numbers)


@dataclass(frozen=True)
class Displaced:
    """A checked bundle; ``descriptor`` and ``destination`` are those of the result of a gather."""

    name: str
    roles: tuple[str, ...]
    pes: tuple[int, ...]
    dtype: DType
    shape: tuple[int, int]
    cols: int
    layout: str
    base: int
    destination: Destination | None
    descriptor: Descriptor | Fault | None
    pad: int

    def __call__(self, core: Core, bundle: Bundle) -> None:
        work = [self._checked(core, bundle, pe) for pe in self.pes]
        if self.destination is None:
            commit(core, bundle, [Store(item.pe, item.addresses, item.taken(DATA)) for item in work])
            core.counters.gm_bytes_written += sum(item.addresses.size for item in work) * self.dtype.nbytes
            return
        for observer in core.observers:
            observer.gathers(core, bundle, [(item.pe, item.addresses) for item in work], self.dtype.nbytes)
        core.counters.gm_bytes_read += sum(item.addresses.size for item in work) * self.dtype.nbytes
        if EXPECTED in self.roles:
            loaded = _exchange(core, bundle, work)
        else:
            loaded = [core.memory.gather(item.addresses, self.dtype.nbytes) for item in work]
        assert isinstance(self.descriptor, Descriptor)
        for item, bits in zip(work, loaded):
            values = np.full(self.shape, self.pad, carrier(self.dtype.bits))
            values.reshape(-1)[item.numbers] = bits
            core.local[item.pe].publish(self.destination.hand, Tile(self.descriptor, values, pad=self.pad))

    def _checked(self, core: Core, bundle: Bundle, pe: int) -> Lanes:
        places = [(binding, slot) for binding in bundle.locals for slot in range(len(binding.sources))]
        tiles = {role: resolve(core, bundle, pe, *place) for role, place in zip(self.roles, places)}
        for role, tile in tiles.items():
            self._check(bundle, role, tile)
            check_defined(tile, *self.shape, pe)
        if self.destination is not None:
            if isinstance(self.descriptor, Fault):
                raise self.descriptor
            core.local[pe].check((self.destination,), bundle.local_sources)
        numbers = np.arange(self.shape[0] * self.shape[1])
        if MASK in tiles:
            numbers = np.flatnonzero(tiles[MASK].values != 0)
        addresses = displacements(tiles[INDEX]).take(numbers) + np.uint64(lane(core.regs[self.base], pe))
        try:
            write = DATA in tiles or EXPECTED in tiles
            core.memory.probe_elements(addresses, self.dtype.nbytes, write=write, window=core.window(bundle, pe))
        except AccessFault as fault:
            raise of_lane(fault, pe, numbers, self.shape) from None
        return Lanes(pe, tiles, numbers, addresses)

    def _check(self, bundle: Bundle, role: str, tile: Tile) -> None:
        d = tile.descriptor
        assert bundle.operation is not None
        types = bundle.operation.schema.index_types if role == INDEX else (self.dtype,)
        if role == MASK:
            require(not d.numeric, f"the mask of {self.name} is no predicate tile")
        else:
            require(d.numeric and d.dtype in types, f"{self.name} takes no {d.dtype} as {role}")
        require(d.layout == self.layout, f"the {role} of {self.name} is in the layout {d.layout}, not {self.layout}")
        require(d.valid_shape == self.shape, f"the {role} has no {self.shape[0]} x {self.shape[1]} elements")
        require(role != DATA or d.cols == self.cols, f"the data have {d.cols} physical columns, not {self.cols}")


def _exchange(core: Core, bundle: Bundle, work: Sequence[Lanes]) -> list[Bits]:
    """Compare and swap, lane by lane; returns what each lane has found."""
    addresses = np.concatenate([item.addresses for item in work])
    expected = np.concatenate([item.taken(EXPECTED) for item in work])
    replacement = np.concatenate([item.taken(REPLACEMENT) for item in work])
    old = core.memory.gather(addresses, expected.dtype.itemsize)
    distinct = np.unique(addresses).size == addresses.size
    order = np.arange(addresses.size)
    if not distinct:
        if core.freedom is not None:
            order = core.freedom.order(addresses.size)
        now: dict[int, int] = {}
        for n in order.tolist():
            address = int(addresses[n])
            old[n] = now.get(address, int(old[n]))
            now[address] = int(replacement[n]) if old[n] == expected[n] else int(old[n])
    swaps = old == expected
    ends = np.cumsum([item.addresses.size for item in work])
    starts = ends - [item.addresses.size for item in work]
    parts = [np.arange(start, end)[swaps[start:end]] for start, end in zip(starts, ends)]
    stores = [Store(item.pe, addresses[part], replacement[part]) for item, part in zip(work, parts)]
    for observer in core.observers:
        observer.stores(core, bundle, stores)
    order = order[swaps[order]]
    core.memory.scatter(addresses[order], replacement[order])
    core.counters.gm_bytes_written += int(order.size) * expected.dtype.itemsize
    return [old[start:end] for start, end in zip(starts, ends)]


def prepare(bundle: Bundle, name: str) -> Displaced:
    """Check one bundle as far as it says everything itself."""
    operation, registers, dtype = bundle.operation, bundle.registers, bundle.dtype
    assert operation is not None and dtype is not None
    schema = operation.schema
    require(not bundle.shared, f"{name} has no Shared operand")
    require(registers is not None, f"{name} needs B.IOR with its base")
    assert registers is not None
    require(not any(registers.sources[1:]) and not registers.destination, f"{name} takes no register but its base")
    records = [(len(binding.sources), binding.stores) for binding in bundle.locals]
    wanted = [(len(sources), to is not None) for sources, to in schema.bindings()]
    require(records == wanted and bundle.terminated, f"the operands of {name} are not those of its B.IOT, marked last")
    dims = dimensions(bundle)
    reject_zero_dimensions(dims)
    require(dims[0] is not None, f"{name} sets LB0")
    shape = dims[1] or 1, dims[0] or 1
    cols = dims[2] or shape[1]
    require(shape[1] <= cols and power_of_two(cols), f"{shape[1]} columns lie in no power of two of {cols} columns")
    check_attributes(bundle, *(ATTRIBUTES[attribute] for attribute in schema.attributes))
    ends = conversion_ends(LayoutCode(bundle.datr.layout))
    assert ends is not None  # those of CUBE transfers have been refused
    layout = ends[1]
    require(dtype in schema.types, f"{name} does not take {dtype}")
    pad = padding(dtype, bundle.datr.pad) or 0
    destination = descriptor = None
    if schema.destinations:
        [binding] = bundle.local_destinations
        destination = Destination(binding.hand, size_bytes(binding.size_code))
        descriptor = described("full", dtype, destination.capacity, shape, cols, layout)
    base = registers.sources[0]
    return Displaced(
        name, _ROLES[name], bundle.pes, dtype, shape, cols, layout, base, destination, descriptor, pad
    )  # fmt: skip


OPERATIONS = {name: partial(prepare, name=name) for name in _ROLES}
