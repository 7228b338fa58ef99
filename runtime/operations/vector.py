"""The frame of the vector operations: one check, one effect, and rows that say what differs.

A row is a ``Form``: the function of the elements, the shape of every operand, and which checks apply. What a bundle may
consist of (tiles, scalars, attributes, dimensions, types) is read from the operation's schema. Checks come in the order
of the ISA: the records, then B.DATR, then the schema and, for all but plain elementwise operations, the sources; then
the destination; then what is left of the sources. All PEs are checked before anything is published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ptoc.isa import layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.registers import size_bytes
from ptoc.isa.schemas_vector import PREDICATE
from ptoc.runtime.bundle import PAD_MAX, PAD_MIN, PAD_NULL, PAD_ZERO, Bundle, DataAttributes
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import lane
from ptoc.runtime.memory import carrier
from ptoc.runtime.operations.common import (
    ALLOCATION,
    CONTROL,
    LEGALITY,
    check_attributes,
    check_defined,
    check_encoding,
    dimensions,
    reject_zero_dimensions,
    resolve,
    row_major,
)
from ptoc.runtime.tiles import Descriptor, Destination, Tile, predicate_descriptor

Bits = NDArray[Any]
Shape = Literal["full", "column", "row", "predicate"]
"""Of an operand: the rectangle of the dimensions, its first column, its first row, or a bit for each element of it."""

_ATTRIBUTES = {
    "PadValueOrByteId": "pad",
    "CMode": "cmode",
    "Sat": "saturate",
    "Canonicalize": "canonicalize",
    "DataType": "dtype",
    "RMode": "rounding",
    "Layout": "layout",
}
"""Fields of B.DATR: their names in schemas, and here."""


@dataclass(frozen=True, slots=True)
class Operands:
    """What an element function is given of one PE.

    ``tiles`` are the bits of the sources, ``scalar`` those of the scalar as 1 x 1, ``shape`` the valid rows and columns
    of the bundle, ``up`` the flags that are up already.
    """

    dtype: DType
    result: DType
    tiles: tuple[Bits, ...]
    scalar: Bits
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
    scalar: int
    destination: Destination
    descriptor: Descriptor | Fault | None
    pad: int | None

    def __call__(self, core: Core, bundle: Bundle) -> None:
        operands = [self._operands(core, bundle, pe) for pe in self.pes]
        raised, out = 0, []
        for given, descriptor in operands:
            bits, flags = self.form.compute(given)
            raised |= flags
            out.append(Tile(descriptor, bits, pad=self.pad))
        core.flags |= raised
        for pe, tile in zip(self.pes, out):
            core.local[pe].publish(self.destination.hand, tile)

    def _operands(self, core: Core, bundle: Bundle, pe: int) -> tuple[Operands, Descriptor]:
        """What one PE contributes, checked, and the descriptor of what it will publish."""
        scalar = self._scalar(core, pe)
        tiles: list[Tile] = []
        if self.form.early:
            tiles = self._sources(core, bundle, pe)
            self._values(tiles, scalar, pe)
        descriptor = self._allocate(core, tiles, pe)
        if not self.form.early:
            tiles = self._sources(core, bundle, pe)
        self._match(tiles, descriptor)
        if not self.form.early:
            self._values(tiles, scalar, pe)
        values = tuple(tile.values for tile in tiles)
        given = Operands(self.dtype, self.result, values, scalar, self.shape, bundle.datr, core.flags)
        return given, descriptor

    def _scalar(self, core: Core, pe: int) -> Bits:
        value = lane(core.regs[self.scalar], pe) & ((1 << self.dtype.bits) - 1) if self.scalar else 0
        return np.full((1, 1), value, carrier(self.dtype.bits))

    def _sources(self, core: Core, bundle: Bundle, pe: int) -> list[Tile]:
        tiles = [
            resolve(core, bundle, pe, binding, slot)
            for binding in bundle.locals
            for slot in range(len(binding.sources))
        ]
        for tile, shape in zip(tiles, self.form.sources):
            self._geometry(tile.descriptor, shape)
        whole = [t.descriptor.rows for t, shape in zip(tiles, self.form.sources) if shape in ("full", "predicate")]
        if whole and any(rows != whole[0] for rows in whole):
            raise Fault(LEGALITY, "the sources differ in physical rows")
        return tiles

    def _geometry(self, d: Descriptor, shape: Shape) -> None:
        if shape == "predicate":
            if d.numeric:
                raise Fault(LEGALITY, "the first source is no predicate tile")
        elif not d.numeric or d.layout != self.layouts[0] or d.dtype != self.dtype:
            raise Fault(LEGALITY, f"a source is no {self.dtype} tile in the layout {self.layouts[0]}")
        rows, cols = self.shape
        wanted = {"column": ((rows, 1), 1), "row": ((1, cols), self.cols)}.get(shape, (self.shape, self.cols))
        if (d.valid_shape, d.cols) != wanted:
            raise Fault(LEGALITY, f"a source has {d.valid_rows} x {d.valid_cols} elements in {d.cols} columns, "
                        f"not {wanted[0][0]} x {wanted[0][1]} in {wanted[1]}")  # fmt: skip

    def _values(self, tiles: list[Tile], scalar: Bits, pe: int) -> None:
        """Definedness, encodings and integer divisors, of the valid elements and the scalar."""
        for tile in tiles:
            rows, cols = tile.descriptor.valid_shape
            check_defined(tile, rows, cols, pe)
            if self.form.encodings and tile.descriptor.numeric:
                check_encoding(self.dtype, tile, rows, cols)
        if self.form.encodings and self.dtype.must_be_zero and int(scalar[0, 0]) & self.dtype.must_be_zero:
            raise Fault(LEGALITY, f"the scalar is no valid {self.dtype} encoding")
        if self.form.divides and not self.dtype.is_float:
            divisors = tiles[-1].values if self.form.sources[1:] else scalar
            if not divisors.all():
                raise Fault(LEGALITY, f"an integer divisor is zero on PE{pe}")

    def _allocate(self, core: Core, tiles: list[Tile], pe: int) -> Descriptor:
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

    def _match(self, tiles: list[Tile], descriptor: Descriptor) -> None:
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
    _check_records(bundle)
    schema = operation.schema
    check_attributes(bundle, *(_ATTRIBUTES[name] for name in schema.attributes))
    dims = _check_schema(bundle)
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
        bundle.registers.sources[0] if bundle.registers else 0,
        destination,
        None if predicate else _described(form.result, result, destination.capacity, shape, cols, ends[1]),
        padding(result, bundle.datr.pad, predicate=predicate),
    )


def _check_records(bundle: Bundle) -> None:
    operation, registers = bundle.operation, bundle.registers
    assert operation is not None
    schema = operation.schema
    counts = len(bundle.local_sources), len(bundle.local_destinations)
    if counts != (len(schema.sources), len(schema.destinations)):
        wanted = f"{len(schema.sources)} sources and {len(schema.destinations)} destinations"
        raise Fault(CONTROL, f"{operation} has {wanted}, not {counts[0]} and {counts[1]}")
    if not bundle.terminated:
        raise Fault(CONTROL, "the final B.IOT is not marked last")
    if registers is not None and (any(registers.sources[len(schema.scalars) :]) or registers.destination):
        raise Fault(CONTROL, f"B.IOR names registers that {operation} does not use")


def _check_schema(bundle: Bundle) -> tuple[int | None, int | None, int | None]:
    operation = bundle.operation
    assert operation is not None
    schema = operation.schema
    if bundle.shared:
        raise Fault(LEGALITY, f"{operation} has no Shared operand")
    if bundle.registers is not None and not schema.scalars:
        raise Fault(LEGALITY, f"{operation} takes no scalar")
    records = [(len(binding.sources), binding.stores) for binding in bundle.locals]
    if records != [(len(sources), to is not None) for sources, to in schema.bindings()]:
        raise Fault(LEGALITY, f"the operands of {operation} are not distributed over its B.IOT in this way")
    dims = dimensions(bundle)
    reject_zero_dimensions(dims)
    for number, (value, dimension) in enumerate(zip(dims, schema.dimensions)):
        if value is None and dimension is not None and dimension.default is None:
            raise Fault(LEGALITY, f"{operation} sets LB{number}")
    if bundle.dtype not in schema.types:
        raise Fault(LEGALITY, f"{operation} does not take {bundle.dtype}")
    return dims


def _described(
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
