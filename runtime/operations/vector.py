"""The frame of the vector operations: one check, one effect, and rows that say what differs.

A row is a ``Form``: the function of the elements, the shape of every operand, and which checks apply. What a bundle may
consist of (tiles, scalars, attributes, dimensions, types) is read from the operation's schema. Checks come in the order
of the ISA: the records, then B.DATR, then the schema and, for all but plain elementwise operations, the sources; then
the destination; then what is left of the sources. All PEs are checked before anything is published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ptoc.isa import layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.registers import size_bytes
from ptoc.isa.schema import PREDICATE
from ptoc.runtime.bundle import PAD_MAX, PAD_MIN, PAD_NULL, PAD_ZERO, Bundle, DataAttributes
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import lane
from ptoc.runtime.memory import carrier
from ptoc.runtime.operations.common import (
    ALLOCATION,
    LEGALITY,
    check_defined,
    check_encoding,
    resolve,
    row_major,
)
from ptoc.runtime.operations.schema import check_bundle
from ptoc.runtime.tiles import Descriptor, Destination, Tile, predicate_descriptor

Bits = NDArray[Any]
Shape = Literal["full", "column", "row", "predicate"]
"""Of an operand: the rectangle of the dimensions, its first column, its first row, or a bit for each element of it."""


@dataclass(slots=True)
class Operands:
    """What an element function is given of one PE.

    ``tiles`` are the bits of the sources, ``scalar`` those of the scalar as 1 x 1 where there is one,
    ``shape`` the valid rows and columns of the bundle, ``up`` the flags that are up already.
    """

    dtype: DType
    result: DType
    tiles: tuple[Bits, ...]
    scalar: Any
    shape: tuple[int, int]
    attributes: DataAttributes
    up: int


Compute = Callable[[Operands], tuple[Bits, int]]


@dataclass(frozen=True)
class Form:
    """How an operation reads its tiles and what it makes of them.

    ``sources`` and ``result`` are shapes. ``early`` says that the sources are part of the schema, checked before the
    destination, ``encodings`` that elements must be valid encodings, ``divides`` that the last operand must not be zero
    in an integer type. ``typed`` gives the type of the result and raises TileLegality where there is none. ``relaid``
    gives the layouts of source and result.
    """

    compute: Compute
    sources: tuple[Shape, ...]
    result: Shape = "full"
    early: bool = True
    encodings: bool = True
    divides: bool = False
    typed: Callable[[Bundle], DType] | None = None
    relaid: Callable[[Bundle], tuple[str, str]] | None = None


@dataclass(frozen=True)
class Vector:
    """A checked bundle of a vector operation."""

    form: Form
    pes: tuple[int, ...]
    dtype: DType
    result: DType
    shape: tuple[int, int]
    cols: int
    layouts: tuple[str, str]
    selectors: tuple[int, ...]
    views: bool
    scalar: int | None
    destination: Destination
    descriptor: Descriptor | Fault | None
    pad: int | None
    known: list[tuple[Any, ...]] = field(default_factory=lambda: [(None,), ()])
    """The identities of the descriptors that were checked last, and the descriptors, which keeps them alive."""

    def __call__(self, core: Core, bundle: Bundle) -> None:
        operands = [self._operands(core, bundle, pe) for pe in self.pes]
        compute, hand, pad, raised = self.form.compute, self.destination.hand, self.pad, 0
        out = []
        for given, descriptor in operands:
            bits, flags = compute(given)
            raised |= flags
            out.append(Tile(descriptor, bits, pad=pad))
        core.flags |= raised
        for pe, tile in zip(self.pes, out):
            core.local[pe].publish(hand, tile)

    def _operands(self, core: Core, bundle: Bundle, pe: int) -> tuple[Operands, Descriptor]:
        """What one PE contributes, checked, and the descriptor of what it will publish."""
        scalar = self._scalar(core, pe) if self.scalar is not None else None
        if self.form.early:
            tiles = self._sources(core, bundle, pe)
            self._check_values(tiles, scalar, pe)
            descriptor = self._allocate(core, tiles, pe)
            self._check_match(tiles, descriptor)
        else:
            descriptor = self._allocate(core, (), pe)
            tiles = self._sources(core, bundle, pe)
            self._check_match(tiles, descriptor)
            self._check_values(tiles, scalar, pe)
        values = tuple([tile.values for tile in tiles])
        return Operands(self.dtype, self.result, values, scalar, self.shape, bundle.datr, core.flags), descriptor

    def _scalar(self, core: Core, pe: int) -> Bits:
        value = lane(core.regs[self.scalar], pe) & ((1 << self.dtype.bits) - 1) if self.scalar else 0
        return np.full((1, 1), value, carrier(self.dtype.bits))

    def _sources(self, core: Core, bundle: Bundle, pe: int) -> list[Tile]:
        find = core.local[pe].find
        tiles = [tile for selector in self.selectors if (tile := find(selector)) is not None]
        if self.views or len(tiles) < len(self.selectors):
            tiles = [resolve(core, bundle, pe, b, slot) for b in bundle.locals for slot in range(len(b.sources))]
        # Most executions meet the very descriptors that the last one did.
        if tuple([id(tile.descriptor) for tile in tiles]) == self.known[0]:
            return tiles
        for tile, shape in zip(tiles, self.form.sources):
            self._check_geometry(tile.descriptor, shape)
        whole = [t.descriptor.rows for t, shape in zip(tiles, self.form.sources) if shape in ("full", "predicate")]
        if whole and any(rows != whole[0] for rows in whole):
            raise Fault(LEGALITY, "the sources differ in physical rows")
        found = tuple([tile.descriptor for tile in tiles])
        self.known[:] = [tuple([id(d) for d in found]), found]
        return tiles

    def _check_geometry(self, d: Descriptor, shape: Shape) -> None:
        if shape == "predicate":
            if d.numeric:
                raise Fault(LEGALITY, "the first source is no predicate tile")
        elif not d.numeric or d.layout != self.layouts[0] or d.dtype != self.dtype:
            raise Fault(LEGALITY, f"a source is no {self.dtype} tile in the layout {self.layouts[0]}")
        rows, cols = self.shape
        wanted = {"column": ((rows, 1), 1), "row": ((1, cols), self.cols)}.get(shape, (self.shape, self.cols))
        if (d.valid_shape, d.cols) != wanted:
            (rows, cols), columns = wanted
            rule = f"a source has {d.valid_rows} x {d.valid_cols} elements in {d.cols} columns"
            raise Fault(LEGALITY, f"{rule}, not {rows} x {cols} in {columns}")

    def _check_values(self, tiles: Sequence[Tile], scalar: Bits | None, pe: int) -> None:
        """Definedness, encodings and integer divisors, of the valid elements and the scalar."""
        clear = self.dtype.must_be_zero if self.form.encodings else 0
        for tile in tiles:
            if tile.defined is not None:
                check_defined(tile, *tile.descriptor.valid_shape, pe)
            if clear and tile.descriptor.numeric:
                check_encoding(self.dtype, tile, *tile.descriptor.valid_shape)
        if clear and scalar is not None and int(scalar[0, 0]) & clear:
            raise Fault(LEGALITY, f"the scalar is no valid {self.dtype} encoding")
        if self.form.divides and not self.dtype.is_float:
            divisors = tiles[-1].values if scalar is None else scalar
            if not divisors.all():
                raise Fault(LEGALITY, f"an integer divisor is zero on PE{pe}")

    def _allocate(self, core: Core, tiles: Sequence[Tile], pe: int) -> Descriptor:
        descriptor = self.descriptor
        if descriptor is None:
            source = tiles[0].descriptor
            if source.rows * source.cols > self.destination.capacity * 8:
                rule = f"{source.rows * source.cols} predicate bits exceed {self.destination.capacity} bytes"
                raise Fault(ALLOCATION, rule)
            descriptor = predicate_descriptor(source, self.destination.capacity)
        if isinstance(descriptor, Fault):
            raise descriptor
        core.local[pe].check((self.destination,), self.selectors)
        return descriptor

    def _check_match(self, tiles: Sequence[Tile], descriptor: Descriptor) -> None:
        if self.form.result != "full":
            return
        for tile, shape in zip(tiles, self.form.sources):
            if shape in ("full", "predicate") and tile.descriptor.rows != descriptor.rows:
                rule = f"the result has {descriptor.rows} physical rows, a source {tile.descriptor.rows}"
                raise Fault(LEGALITY, rule)


def prepare(bundle: Bundle, form: Form) -> Vector:
    """Check one bundle of a vector operation as far as it says everything itself."""
    operation, dtype = bundle.operation, bundle.dtype
    assert operation is not None
    dims = check_bundle(bundle)
    schema = operation.schema
    assert dtype is not None and dims[0] is not None
    result = form.typed(bundle) if form.typed else dtype
    ends = form.relaid(bundle) if form.relaid else (layouts.NORM, layouts.NORM)
    binding = next(binding for binding in bundle.locals if binding.stores)
    destination = Destination(binding.hand, size_bytes(binding.size_code))
    shape, cols = (dims[1] or 1, dims[0]), dims[2] or dims[0]
    predicate = schema.result == PREDICATE
    return Vector(
        form,
        bundle.pes,
        dtype,
        result,
        shape,
        cols,
        ends,
        tuple(bundle.local_sources),
        any(any(b.views) for b in bundle.locals),
        (bundle.registers.sources[0] if bundle.registers else 0) if schema.scalars else None,
        destination,
        None if predicate else described(form.result, result, destination.capacity, shape, cols, ends[1]),
        padding(result, bundle.datr.pad, predicate=predicate),
    )


def described(
    result: Shape, dtype: DType, capacity: int, shape: tuple[int, int], cols: int, layout: str
) -> Descriptor | Fault:
    """The descriptor of the result, or the fault that its shape will be once it comes to that."""
    rows, valid = shape
    if result == "column":
        valid = cols = 1
    elif result == "row":
        rows = 1
    try:
        d = row_major(dtype, capacity, rows, valid, cols, ALLOCATION)
        if layout == layouts.NORM:
            return d
    except Fault as fault:
        return fault
    try:
        layouts.plain_index(layout, dtype.bits, d.rows, d.cols)
    except ValueError as error:
        return Fault(LEGALITY, str(error))
    return Descriptor(d.kind, dtype, layout, capacity, d.rows, d.cols, d.valid_rows, d.valid_cols)


def padding(dtype: DType, pad: int, *, predicate: bool = False) -> int | None:
    """The pattern that a pad value puts outside the valid rectangle; ``None`` leaves it undefined."""
    high, low = (1, 0) if predicate else (dtype.pad_max, dtype.pad_min)
    return {PAD_NULL: None, PAD_ZERO: 0, PAD_MAX: high, PAD_MIN: low}[pad]
