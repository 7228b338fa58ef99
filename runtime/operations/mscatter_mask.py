"""MSCATTER_MASK: selected elements of a tile go to the addresses that an index tile names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptoc.isa.dtypes import SCATTER_INDEX_TYPES, SCATTER_TYPES, DType
from ptoc.isa.faults import Fault
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.core import Core
from ptoc.runtime.errors import AccessFault
from ptoc.runtime.lanes import lane
from ptoc.runtime.operations.common import (
    LEGALITY,
    check_attributes,
    dimensions,
    power_of_two,
    reject_zero_dimensions,
    resolve,
)
from ptoc.runtime.operations.displaced import displacements, of_lane
from ptoc.runtime.stores import Store, commit
from ptoc.runtime.tiles import PREDICATE, Tile


@dataclass(frozen=True)
class Scatter:
    """A checked MSCATTER_MASK; later lanes and PEs win where targets coincide."""

    pes: tuple[int, ...]
    dtype: DType
    shape: tuple[int, int]
    cols: int
    base: int

    def __call__(self, core: Core, bundle: Bundle) -> None:
        first, second = bundle.locals
        stores = []
        for pe in self.pes:
            data, index = (resolve(core, bundle, pe, first, slot) for slot in (0, 1))
            mask = resolve(core, bundle, pe, second, 0)
            self._check(data, index, mask)
            lanes = np.flatnonzero(mask.values != 0)
            addresses = displacements(index).take(lanes) + np.uint64(lane(core.regs[self.base], pe))
            values = data.values.take(lanes)
            try:
                window = core.window(bundle, pe)
                core.memory.probe_elements(addresses, values.dtype.itemsize, write=True, window=window)
            except AccessFault as fault:
                raise of_lane(fault, pe, lanes, self.shape) from None
            stores.append(Store(pe, addresses, values))
        commit(core, bundle, stores)
        core.counters.gm_bytes_written += sum(store.values.nbytes for store in stores)

    def _check(self, data: Tile, index: Tile, mask: Tile) -> None:
        d, i, m = data.descriptor, index.descriptor, mask.descriptor
        if not (d.row_major and i.row_major) or m.kind != PREDICATE:
            raise Fault(LEGALITY, "the sources are row-major data and index and a predicate tile")
        if d.dtype != self.dtype or i.dtype not in SCATTER_INDEX_TYPES:
            raise Fault(LEGALITY, f"{d.dtype} data with {i.dtype} index is not scattered")
        if not d.valid_shape == i.valid_shape == m.valid_shape == self.shape or d.cols != self.cols:
            raise Fault(LEGALITY, "the shapes of data, index, mask and bundle differ")


def prepare(bundle: Bundle) -> Scatter:
    """Check one MSCATTER_MASK bundle."""
    registers, dtype = bundle.registers, bundle.dtype
    if bundle.shared or registers is None or any(registers.sources[1:]) or registers.destination:
        raise Fault(LEGALITY, "MSCATTER_MASK has Local sources and a base register, nothing else")
    shapes = [(len(b.sources), b.stores, b.last) for b in bundle.locals]
    if shapes != [(2, False, False), (1, False, True)]:
        raise Fault(LEGALITY, "MSCATTER_MASK binds data and index, then the mask, marked last")
    dims = dimensions(bundle)
    reject_zero_dimensions(dims)
    if dims[0] is None:
        raise Fault(LEGALITY, "MSCATTER_MASK sets LB0")
    cols = dims[2] or dims[0]
    if dims[0] > cols or not power_of_two(cols):
        raise Fault(LEGALITY, f"{dims[0]} valid columns do not lie in a power of two of {cols} columns")
    # The layout field must be that of the sources, and a predicate tile is row-major.
    check_attributes(bundle)
    if dtype is None or dtype not in SCATTER_TYPES:
        raise Fault(LEGALITY, f"{dtype} is not scattered")
    return Scatter(bundle.pes, dtype, (dims[1] or 1, dims[0]), cols, registers.sources[0])
