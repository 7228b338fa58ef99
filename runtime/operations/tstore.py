"""TSTORE: the valid rectangle of a tile goes to global memory."""

from __future__ import annotations

from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.layouts import CUBE_LOAD, CUBE_STORE, dense_stride
from ptoc.runtime.bundle import Bundle, LocalBinding
from ptoc.runtime.core import Core
from ptoc.runtime.errors import WaitForShared
from ptoc.runtime.lanes import MASK64, lane
from ptoc.runtime.memory import Bits, Rectangle
from ptoc.runtime.operations.common import (
    CONTROL,
    LEGALITY,
    Dimensions,
    check_attributes,
    check_cube_transfer,
    check_cube_type,
    check_defined,
    check_encoding,
    check_transfer_registers,
    dimensions,
    find_source,
    reject_zero_dimensions,
    resolve,
    transfer_rectangle,
)
from ptoc.runtime.shared import view_of
from ptoc.runtime.tiles import Tile

Write = tuple[Rectangle, Bits, Bits | None]


def execute(core: Core, bundle: Bundle) -> None:
    """Perform one TSTORE bundle in the form its attributes and bindings select."""
    if bundle.datr.layout in CUBE_LOAD or bundle.datr.layout in CUBE_STORE:
        writes = _store_cube(core, bundle)
    elif bundle.shared:
        writes = _store_shared(core, bundle)
    else:
        writes = _store_plain(core, bundle)
    for rect, values, view in writes:
        core.memory.store(rect, values, view)
        core.counters.gm_bytes_written += rect.rows * rect.cols * rect.bits // 8


def _sole_source(bundle: Bundle) -> LocalBinding | None:
    """The one B.IOT of a store, or ``None`` when the bindings are anything else."""
    if len(bundle.locals) != 1:
        return None
    binding = bundle.locals[0]
    return binding if len(binding.sources) == 1 and not binding.stores and binding.last else None


def _store_plain(core: Core, bundle: Bundle) -> list[Write]:
    check_transfer_registers(bundle, CONTROL)
    pes = bundle.pes
    for pe in pes:
        for selector in bundle.local_sources:
            find_source(core, pe, selector)
    binding = _sole_source(bundle)
    if binding is None:
        raise Fault(LEGALITY, "TSTORE has exactly one source, marked last, and no destination")
    check_attributes(bundle)
    dims = dimensions(bundle)
    assert bundle.dtype is not None
    return [_plain_write(core, bundle, pe, resolve(core, bundle, pe, binding, 0), dims) for pe in pes]


def _plain_write(core: Core, bundle: Bundle, pe: int, tile: Tile, dims: Dimensions) -> Write:
    """The checked write of one PE from a row-major tile, whose shape stands in for omitted dimensions."""
    d, dtype = tile.descriptor, bundle.dtype
    assert dtype is not None
    reject_zero_dimensions(dims)
    valid_cols, valid_rows, cols = dims[0] or d.valid_cols, dims[1] or d.valid_rows, dims[2] or d.cols
    if cols != d.cols or valid_cols > d.valid_cols or valid_rows > d.valid_rows:
        raise Fault(LEGALITY, f"{valid_rows} x {valid_cols} of {cols} columns is not inside the source")
    if not d.row_major or d.dtype != dtype:
        raise Fault(LEGALITY, f"the source is no row-major {dtype} tile")
    return _write(core, bundle, pe, tile, valid_rows, valid_cols, dense_stride(d.cols, dtype))


def _write(core: Core, bundle: Bundle, pe: int, tile: Tile, rows: int, cols: int, dense: int) -> Write:
    dtype: DType = tile.descriptor.dtype
    check_defined(tile, rows, cols)
    check_encoding(dtype, tile, rows, cols)
    rect = transfer_rectangle(core, bundle, pe, rows, cols, dense, dtype.bits)
    view = core.memory.probe(rect, write=True, window=core.window(bundle, pe))
    return rect, tile.values[:rows, :cols], view


def _store_cube(core: Core, bundle: Bundle) -> list[Write]:
    binding, dims, dtype = _sole_source(bundle), dimensions(bundle), bundle.dtype
    check_cube_transfer(bundle, CUBE_STORE, binding, dims)
    assert binding is not None and dtype is not None and dims[0] and dims[1]
    layout, shape = CUBE_STORE[bundle.datr.layout], (dims[1], dims[0])
    dense = dense_stride(dims[0], dtype)
    writes = []
    for pe in bundle.pes:
        tile = resolve(core, bundle, pe, binding, 0)
        d = tile.descriptor
        if not d.numeric or d.layout != layout or d.dtype != dtype or d.valid_shape != shape:
            raise Fault(LEGALITY, f"the source is no {layout} tile of {shape[0]} x {shape[1]} {dtype}")
        check_cube_type(dtype)
        writes.append(_write(core, bundle, pe, tile, *shape, dense))
    return writes


def _store_shared(core: Core, bundle: Bundle) -> list[Write]:
    binding = bundle.shared[0]
    if len(bundle.shared) > 1 or binding.size_code or binding.assembly is not None or bundle.locals:
        raise Fault(LEGALITY, "TSTORE has exactly one Shared source and no other binding")
    check_transfer_registers(bundle, CONTROL)
    check_attributes(bundle)
    published = core.shared.tiles.get(binding.number)
    if published is None:
        raise WaitForShared(f"S{binding.number} is not complete")
    dims, view = dimensions(bundle), binding.view
    if view is None:
        return [_plain_write(core, bundle, pe, published.tile, dims) for pe in bundle.pes]
    register = core.regs[view.register]
    writes = []
    for pe in bundle.pes:
        offset = lane(register, pe) + view.immediate & MASK64  # type: ignore[arg-type]
        writes.append(_plain_write(core, bundle, pe, view_of(published.tile, offset, view.size_code), dims))
    return writes
