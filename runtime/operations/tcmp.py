"""TCMP: two tiles compared element by element into a predicate tile."""

from __future__ import annotations

from ptoc.isa.dtypes import COMPARE_TYPES
from ptoc.isa.faults import Fault
from ptoc.isa.registers import size_bytes
from ptoc.runtime.bundle import PAD_MAX, PAD_NULL, Bundle
from ptoc.runtime.core import Core
from ptoc.runtime.numerics.compare import compare
from ptoc.runtime.operations.common import (
    ALLOCATION,
    LEGALITY,
    check_attributes,
    check_encoding,
    dimensions,
    find_source,
    reject_zero_dimensions,
    resolve,
)
from ptoc.runtime.tiles import Destination, Tile, predicate_descriptor

LAST_MODE = 5


def execute(core: Core, bundle: Bundle) -> None:
    """Perform one TCMP bundle."""
    pes, dtype = bundle.pes, bundle.dtype
    for pe in pes:
        for selector in bundle.local_sources:
            find_source(core, pe, selector)
    if len(bundle.locals) != 1 or bundle.registers is not None or bundle.shared:
        raise Fault(LEGALITY, "TCMP has one Local binding and nothing else")
    binding = bundle.locals[0]
    if len(binding.sources) != 2 or not binding.stores or not binding.last:
        raise Fault(LEGALITY, "TCMP has two sources and a destination in one binding, marked last")
    check_attributes(bundle, "cmode", "pad")
    if bundle.datr.cmode > LAST_MODE:
        raise Fault(LEGALITY, f"CMode {bundle.datr.cmode} is reserved")
    dims = dimensions(bundle)
    reject_zero_dimensions(dims)
    if dims[0] is None:
        raise Fault(LEGALITY, "TCMP sets LB0")
    shape = (dims[1] or 1, dims[0])
    cols = dims[2] or dims[0]
    if dims[0] > cols:
        raise Fault(LEGALITY, f"{dims[0]} valid columns exceed {cols}")
    if dtype not in COMPARE_TYPES:
        raise Fault(LEGALITY, f"TCMP does not compare {dtype}")
    capacity = size_bytes(binding.size_code)
    destination = (Destination(binding.hand, capacity),)
    pairs = []
    for pe in pes:
        left, right = resolve(core, bundle, pe, binding, 0), resolve(core, bundle, pe, binding, 1)
        _check_sources(bundle, left, right, shape, cols)
        d = left.descriptor
        if d.rows * d.cols > capacity * 8:
            raise Fault(ALLOCATION, f"{d.rows * d.cols} predicate bits exceed {capacity} bytes")
        core.local[pe].check(destination, binding.sources)
        pairs.append((left, right))
    pad = {PAD_NULL: None, PAD_MAX: 1}.get(bundle.datr.pad, 0)
    for pe, (left, right) in zip(pes, pairs):
        truth, flags = compare(bundle.datr.cmode, dtype, left.values, right.values)
        core.flags |= flags
        tile = Tile(predicate_descriptor(left.descriptor, capacity), truth.view("u1"), pad=pad)
        core.local[pe].publish(binding.hand, tile)


def _check_sources(bundle: Bundle, left: Tile, right: Tile, shape: tuple[int, int], cols: int) -> None:
    a, b, dtype = left.descriptor, right.descriptor, bundle.dtype
    assert dtype is not None
    if not (a.row_major and b.row_major) or a.dtype != dtype or b.dtype != dtype:
        raise Fault(LEGALITY, f"a source is no row-major {dtype} tile")
    if (a.rows, a.cols, a.valid_shape) != (b.rows, b.cols, b.valid_shape):
        raise Fault(LEGALITY, "the sources differ in shape")
    if a.valid_shape != shape or a.cols != cols:
        raise Fault(LEGALITY, "the dimensions of the bundle are not those of the sources")
    check_encoding(dtype, left, *shape)
    check_encoding(dtype, right, *shape)
