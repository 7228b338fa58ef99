"""TCMP: two tiles compared element by element into a predicate tile."""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa.dtypes import COMPARE_TYPES, DType
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
    reject_zero_dimensions,
    resolve,
)
from ptoc.runtime.tiles import Destination, Tile, predicate_descriptor

LAST_MODE = 5


@dataclass(frozen=True)
class Comparison:
    """A checked TCMP of two tiles of one type and shape on every selected PE."""

    pes: tuple[int, ...]
    mode: int
    dtype: DType
    shape: tuple[int, int]
    cols: int
    destination: Destination
    pad: int | None

    def __call__(self, core: Core, bundle: Bundle) -> None:
        binding = bundle.locals[0]
        pairs = []
        for pe in self.pes:
            left, right = (resolve(core, bundle, pe, binding, slot) for slot in (0, 1))
            self._check(left, right)
            core.local[pe].check((self.destination,), binding.sources)
            pairs.append((left, right))
        for pe, (left, right) in zip(self.pes, pairs):
            truth, flags = compare(self.mode, self.dtype, left.values, right.values)
            core.flags |= flags
            descriptor = predicate_descriptor(left.descriptor, self.destination.capacity)
            core.local[pe].publish(self.destination.hand, Tile(descriptor, truth.view("u1"), pad=self.pad))

    def _check(self, left: Tile, right: Tile) -> None:
        a, b = left.descriptor, right.descriptor
        if not (a.row_major and b.row_major) or a.dtype != self.dtype or b.dtype != self.dtype:
            raise Fault(LEGALITY, f"a source is no row-major {self.dtype} tile")
        if (a.rows, a.cols, a.valid_shape) != (b.rows, b.cols, b.valid_shape):
            raise Fault(LEGALITY, "the sources differ in shape")
        if a.valid_shape != self.shape or a.cols != self.cols:
            raise Fault(LEGALITY, "the dimensions of the bundle are not those of the sources")
        check_encoding(self.dtype, left, *self.shape)
        check_encoding(self.dtype, right, *self.shape)
        if a.rows * a.cols > self.destination.capacity * 8:
            rule = f"{a.rows * a.cols} predicate bits exceed {self.destination.capacity} bytes"
            raise Fault(ALLOCATION, rule)


def prepare(bundle: Bundle) -> Comparison:
    """Check one TCMP bundle."""
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
    cols = dims[2] or dims[0]
    if dims[0] > cols:
        raise Fault(LEGALITY, f"{dims[0]} valid columns exceed {cols}")
    if bundle.dtype not in COMPARE_TYPES:
        raise Fault(LEGALITY, f"TCMP does not compare {bundle.dtype}")
    destination = Destination(binding.hand, size_bytes(binding.size_code))
    pad = {PAD_NULL: None, PAD_MAX: 1}.get(bundle.datr.pad, 0)
    shape = (dims[1] or 1, dims[0])
    return Comparison(bundle.pes, bundle.datr.cmode, bundle.dtype, shape, cols, destination, pad)
