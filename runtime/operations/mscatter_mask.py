"""MSCATTER_MASK: selected elements of a tile go to the addresses that an index tile names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from ptoc.isa.dtypes import SCATTER_INDEX_TYPES, SCATTER_TYPES
from ptoc.isa.faults import Fault
from ptoc.runtime.bundle import Bundle, LocalBinding
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import lane
from ptoc.runtime.operations.common import (
    LEGALITY,
    Dimensions,
    check_attributes,
    dimensions,
    find_source,
    power_of_two,
    resolve,
)
from ptoc.runtime.tiles import PREDICATE, Tile


def execute(core: Core, bundle: Bundle) -> None:
    """Perform one MSCATTER_MASK bundle: later lanes win where targets coincide."""
    first, second = _bindings(bundle)
    dims = dimensions(bundle)
    _check_dimensions(dims)
    check_attributes(bundle, "layout")
    pes = bundle.pes
    for pe in pes:
        for selector in bundle.local_sources:
            find_source(core, pe, selector)
    assert bundle.registers is not None and dims[0] is not None
    shape, cols = (dims[1] or 1, dims[0]), dims[2] or dims[0]
    base = core.regs[bundle.registers.sources[0]]
    stores = []
    for pe in pes:
        data = resolve(core, bundle, pe, first, 0)
        index = resolve(core, bundle, pe, first, 1)
        mask = resolve(core, bundle, pe, second, 0)
        _check_sources(bundle, data, index, mask, shape, cols)
        enabled = mask.values != 0
        addresses = np.uint64(lane(base, pe)) + _displacements(index)[enabled]  # type: ignore[arg-type]
        values = data.values[enabled]
        window = core.window(bundle, pe)
        core.memory.probe_elements(addresses, values.dtype.itemsize, write=True, window=window)
        stores.append((addresses, values))
    for addresses, values in stores:
        core.memory.scatter(addresses, values)
        core.counters.gm_bytes_written += values.nbytes


def _bindings(bundle: Bundle) -> tuple[LocalBinding, LocalBinding]:
    """Data and index, then the mask; a base register and nothing else."""
    registers = bundle.registers
    if bundle.shared or bundle.matrix is not None or registers is None:
        raise Fault(LEGALITY, "MSCATTER_MASK has Local sources and a base register")
    if any(registers.sources[1:]) or registers.destination:
        raise Fault(LEGALITY, "B.IOR names more than a base")
    shapes = [(len(b.sources), b.stores, b.last) for b in bundle.locals]
    if shapes != [(2, False, False), (1, False, True)]:
        raise Fault(LEGALITY, "MSCATTER_MASK binds data and index, then the mask, marked last")
    return bundle.locals[0], bundle.locals[1]


def _check_dimensions(dims: Dimensions) -> None:
    if dims[0] is None or 0 in dims:
        raise Fault(LEGALITY, "MSCATTER_MASK sets LB0, and no dimension is zero")
    cols = dims[2] or dims[0]
    if dims[0] > cols or not power_of_two(cols):
        raise Fault(LEGALITY, f"{dims[0]} valid columns do not lie in a power of two of {cols} columns")


def _check_sources(
    bundle: Bundle, data: Tile, index: Tile, mask: Tile, shape: tuple[int, int], cols: int
) -> None:
    d, i, m = data.descriptor, index.descriptor, mask.descriptor
    if not (d.row_major and i.row_major) or m.kind != PREDICATE or bundle.datr.layout != 0:
        raise Fault(LEGALITY, "the sources are row-major data and index and a predicate tile")
    if d.dtype != bundle.dtype or d.dtype not in SCATTER_TYPES or i.dtype not in SCATTER_INDEX_TYPES:
        raise Fault(LEGALITY, f"{d.dtype} data with {i.dtype} index is not scattered")
    if not d.valid_shape == i.valid_shape == m.valid_shape == shape or d.cols != cols:
        raise Fault(LEGALITY, "the shapes of data, index, mask and bundle differ")


def _displacements(index: Tile) -> NDArray[np.uint64]:
    """Byte displacements modulo 2^64, sign-extended for signed index types."""
    bits = index.values
    if index.descriptor.dtype.numeric_class == "signed":
        return bits.view(f"i{bits.dtype.itemsize}").astype(np.int64).view(np.uint64)
    return bits.astype(np.uint64)
