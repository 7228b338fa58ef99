"""TSTORE: the valid rectangle of a tile goes to global memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.layouts import CUBE_LOAD, CUBE_STORE, dense_stride
from ptoc.runtime.bundle import Bundle, LocalBinding, Registers
from ptoc.runtime.core import Core, Perform
from ptoc.runtime.errors import WaitForShared
from ptoc.runtime.lanes import MASK64, lane
from ptoc.runtime.operations.common import (
    CONTROL,
    LEGALITY,
    Dimensions,
    Transfer,
    check_attributes,
    check_cube_transfer,
    check_cube_type,
    check_defined,
    check_encoding,
    check_transfer_registers,
    dimensions,
    probe,
    reject_zero_dimensions,
    resolve,
)
from ptoc.runtime.shared import kept_view
from ptoc.runtime.stores import Store, commit
from ptoc.runtime.tiles import Descriptor, Tile


def prepare(bundle: Bundle) -> Perform:
    """Check one TSTORE bundle in the form its attributes and bindings select."""
    if bundle.datr.layout in CUBE_LOAD or bundle.datr.layout in CUBE_STORE:
        return _prepare_cube(bundle)
    return _prepare_shared(bundle) if bundle.shared else _prepare_plain(bundle)


def _sole_source(bundle: Bundle) -> LocalBinding | None:
    """The one B.IOT of a store, or ``None`` when the bindings are anything else."""
    if len(bundle.locals) != 1:
        return None
    binding = bundle.locals[0]
    return binding if len(binding.sources) == 1 and not binding.stores and binding.last else None


@lru_cache(maxsize=4096)
def _rectangle_of(descriptor: Descriptor, dtype: DType, dims: Dimensions, registers: Registers | None) -> Transfer:
    """What a plain store of a row-major tile writes; the tile's shape stands in for omitted dimensions."""
    d = descriptor
    reject_zero_dimensions(dims)
    valid_cols, valid_rows, cols = dims[0] or d.valid_cols, dims[1] or d.valid_rows, dims[2] or d.cols
    if cols != d.cols or valid_cols > d.valid_cols or valid_rows > d.valid_rows:
        raise Fault(LEGALITY, f"{valid_rows} x {valid_cols} of {cols} columns is not inside the source")
    if not d.row_major or d.dtype != dtype:
        raise Fault(LEGALITY, f"the source is no row-major {dtype} tile")
    return Transfer(valid_rows, valid_cols, dtype.bits, dense_stride(d.cols, dtype), registers)


def _checked(core: Core, bundle: Bundle, pe: int, tile: Tile, transfer: Transfer) -> Store:
    """The store of one PE, all its elements checked and probed."""
    rows, cols = transfer.rows, transfer.cols
    check_defined(tile, rows, cols, pe)
    check_encoding(tile.descriptor.dtype, tile, rows, cols)
    rect = transfer.rectangle(core, pe)
    return Store(pe, rect, tile.values[:rows, :cols], probe(core, bundle, pe, rect, write=True))


def _perform(core: Core, bundle: Bundle, stores: list[Store], dtype: DType) -> None:
    commit(core, bundle, stores)
    for store in stores:
        core.counters.gm_bytes_written += store.values.size * dtype.bits // 8


@dataclass(frozen=True)
class PlainStore:
    """A store of row-major Local tiles."""

    pes: tuple[int, ...]
    dtype: DType
    dims: Dimensions
    registers: Registers | None

    def __call__(self, core: Core, bundle: Bundle) -> None:
        stores = []
        for pe in self.pes:
            tile = resolve(core, bundle, pe, bundle.locals[0], 0)
            transfer = _rectangle_of(tile.descriptor, self.dtype, self.dims, self.registers)
            stores.append(_checked(core, bundle, pe, tile, transfer))
        _perform(core, bundle, stores, self.dtype)


def _prepare_plain(bundle: Bundle) -> PlainStore:
    check_transfer_registers(bundle, CONTROL)
    if _sole_source(bundle) is None:
        raise Fault(LEGALITY, "TSTORE has exactly one source, marked last, and no destination")
    check_attributes(bundle)
    dims = dimensions(bundle)
    reject_zero_dimensions(dims)
    assert bundle.dtype is not None
    return PlainStore(bundle.pes, bundle.dtype, dims, bundle.registers)


@dataclass(frozen=True)
class CubeStore:
    """A store of Local CUBE tiles of one exact layout, type and shape."""

    pes: tuple[int, ...]
    layout: str
    dtype: DType
    transfer: Transfer

    def __call__(self, core: Core, bundle: Bundle) -> None:
        shape = (self.transfer.rows, self.transfer.cols)
        stores = []
        for pe in self.pes:
            tile = resolve(core, bundle, pe, bundle.locals[0], 0)
            d = tile.descriptor
            if not d.numeric or d.layout != self.layout or d.dtype != self.dtype or d.valid_shape != shape:
                rule = f"the source is no {self.layout} tile of {shape[0]} x {shape[1]} {self.dtype}"
                raise Fault(LEGALITY, rule)
            stores.append(_checked(core, bundle, pe, tile, self.transfer))
        _perform(core, bundle, stores, self.dtype)


def _prepare_cube(bundle: Bundle) -> CubeStore:
    dims, dtype = dimensions(bundle), bundle.dtype
    check_cube_transfer(bundle, CUBE_STORE, _sole_source(bundle), dims)
    assert dtype is not None and dims[0] and dims[1]
    check_cube_type(dtype)
    transfer = Transfer(dims[1], dims[0], dtype.bits, dense_stride(dims[0], dtype), bundle.registers)
    return CubeStore(bundle.pes, CUBE_STORE[bundle.datr.layout], dtype, transfer)


@dataclass(frozen=True)
class SharedStore:
    """A store of a Shared tile, or of each PE's view of it, by every selected PE."""

    pes: tuple[int, ...]
    dtype: DType
    dims: Dimensions
    registers: Registers | None

    def __call__(self, core: Core, bundle: Bundle) -> None:
        binding = bundle.shared[0]
        published = core.shared.tiles.get(binding.number)
        if published is None:
            raise WaitForShared(f"S{binding.number} is not complete")
        tile, view = published.tile, binding.view
        stores = []
        for pe in self.pes:
            if view is not None:
                offset = lane(core.regs[view.register], pe) + view.immediate & MASK64
                tile = kept_view(published.tile, offset, view.size_code)
            transfer = _rectangle_of(tile.descriptor, self.dtype, self.dims, self.registers)
            stores.append(_checked(core, bundle, pe, tile, transfer))
        _perform(core, bundle, stores, self.dtype)


def _prepare_shared(bundle: Bundle) -> SharedStore:
    binding = bundle.shared[0]
    if len(bundle.shared) > 1 or binding.size_code or binding.assembly is not None or bundle.locals:
        raise Fault(LEGALITY, "TSTORE has exactly one Shared source and no other binding")
    check_transfer_registers(bundle, CONTROL)
    check_attributes(bundle)
    assert bundle.dtype is not None
    return SharedStore(bundle.pes, bundle.dtype, dimensions(bundle), bundle.registers)
