"""TLOAD: a strided rectangle of global memory becomes a tile."""

from __future__ import annotations

from functools import lru_cache

from ptoc.isa import layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.layouts import CUBE_LOAD, CUBE_STORE, NORM_LOAD, dense_stride
from ptoc.isa.registers import CELL_BYTES, size_bytes
from ptoc.runtime.bundle import PAD_MAX, PAD_MIN, PAD_NULL, Assembly, Bundle, LocalBinding, SharedBinding
from ptoc.runtime.core import Core
from ptoc.runtime.lanes import MASK64, lane
from ptoc.runtime.memory import Bits
from ptoc.runtime.operations.common import (
    ALLOCATION,
    CONTROL,
    LEGALITY,
    check_attributes,
    check_cube_transfer,
    check_cube_type,
    check_transfer_registers,
    cube_tile,
    dimensions,
    reject_zero_dimensions,
    row_major,
    transfer_rectangle,
)
from ptoc.runtime.shared import MAX_CELL_OFFSET, Fragment, Generation
from ptoc.runtime.tiles import Descriptor, Destination, Tile


def execute(core: Core, bundle: Bundle) -> None:
    """Perform one TLOAD bundle in the form its attributes and bindings select."""
    if bundle.datr.layout in CUBE_LOAD or bundle.datr.layout in CUBE_STORE:
        _load_cube(core, bundle)
    elif bundle.shared:
        _load_shared(core, bundle)
    else:
        _load_plain(core, bundle)


def _sole_destination(bundle: Bundle) -> LocalBinding | None:
    """The one B.IOT of a load, or ``None`` when the bindings are anything else."""
    if len(bundle.locals) != 1:
        return None
    binding = bundle.locals[0]
    return binding if binding.stores and not binding.sources and binding.last else None


def _load_plain(core: Core, bundle: Bundle) -> None:
    binding = _sole_destination(bundle)
    if binding is None:
        raise Fault(CONTROL, "TLOAD has exactly one destination, marked last, and no source")
    check_transfer_registers(bundle, CONTROL)
    check_attributes(bundle, "layout")
    layout = NORM_LOAD.get(bundle.datr.layout)
    if layout is None:
        raise Fault(LEGALITY, f"layout code {bundle.datr.layout} is none of TLOAD's")
    dims = dimensions(bundle)
    reject_zero_dimensions(dims)
    assert bundle.dtype is not None
    cols, capacity = dims[0] or 1, size_bytes(binding.size_code)
    descriptor = _plain_tile(bundle.dtype, layout, capacity, dims[1] or 1, cols, dims[2] or cols)
    dense = dense_stride(descriptor.cols, bundle.dtype)
    _load_local(core, bundle, binding, descriptor, dense, None)


@lru_cache(maxsize=4096)
def _plain_tile(
    dtype: DType, layout: str, capacity: int, rows: int, valid_cols: int, cols: int
) -> Descriptor:
    plain = row_major(dtype, capacity, rows, valid_cols, cols, ALLOCATION)
    try:
        layouts.plain_index(layout, dtype.bits, plain.rows, plain.cols)
    except ValueError as error:
        raise Fault(LEGALITY, str(error)) from None
    return Descriptor(plain.kind, dtype, layout, capacity, plain.rows, cols, rows, valid_cols)


def _load_cube(core: Core, bundle: Bundle) -> None:
    binding, dims = _sole_destination(bundle), dimensions(bundle)
    check_cube_transfer(bundle, CUBE_LOAD, binding, dims)
    assert bundle.dtype is not None and binding is not None and dims[0] and dims[1]
    check_cube_type(bundle.dtype)
    layout = CUBE_LOAD[bundle.datr.layout]
    descriptor = cube_tile(bundle.dtype, layout, size_bytes(binding.size_code), dims[1], dims[0])
    dense = dense_stride(dims[0], bundle.dtype)
    _load_local(core, bundle, binding, descriptor, dense, _pad(bundle.dtype, bundle.datr.pad))


def _pad(dtype: DType, code: int) -> int | None:
    """The pattern a PadValue code gives the padding; Null leaves it undefined."""
    if code == PAD_NULL:
        return None
    return {PAD_MAX: dtype.pad_max, PAD_MIN: dtype.pad_min}.get(code, 0)


def _load_local(
    core: Core, bundle: Bundle, binding: LocalBinding, descriptor: Descriptor, dense: int, pad: int | None
) -> None:
    destination = (Destination(binding.hand, descriptor.capacity),)
    rows, cols, bits = descriptor.valid_rows, descriptor.valid_cols, descriptor.dtype.bits
    memory, pes = core.memory, bundle.pes
    accesses = []
    for pe in pes:
        core.local[pe].check(destination, ())
        rect = transfer_rectangle(core, bundle, pe, rows, cols, dense, bits)
        accesses.append((rect, memory.probe(rect, window=core.window(bundle, pe))))
    for pe, (rect, view) in zip(pes, accesses):
        core.local[pe].publish(binding.hand, Tile(descriptor, memory.load(rect, view), pad=pad))
    core.counters.gm_bytes_read += len(pes) * (rows * cols * bits // 8)


# Shared destinations


def _load_shared(core: Core, bundle: Bundle) -> None:
    binding = bundle.shared[0]
    try:
        _load_shared_checked(core, bundle, binding)
    except Fault:
        # The one exception to "a fault changes nothing": the generation this bundle was adding to is lost.
        if binding.assembly is not None and not binding.assembly.init:
            core.shared.open.pop(binding.number, None)
        raise


def _load_shared_checked(core: Core, bundle: Bundle, binding: SharedBinding) -> None:
    if len(bundle.shared) > 1:
        raise Fault(LEGALITY, "TLOAD has one Shared destination")
    check_transfer_registers(bundle, CONTROL)
    check_attributes(bundle)
    assembly = binding.assembly
    continues = assembly is not None and not assembly.init
    if bundle.locals or (binding.size_code == 0) != continues:
        raise Fault(LEGALITY, "TLOAD needs a Shared destination and no Local binding")
    if len(bundle.pes) > 1 and assembly is None:
        raise Fault(LEGALITY, "several PEs write one Shared tile only through B.ASSEMBLE")
    dims = dimensions(bundle)
    reject_zero_dimensions(dims)
    if assembly is not None:
        _load_fragments(core, bundle, binding, assembly)
        return
    assert bundle.dtype is not None
    cols = dims[0] or 1
    capacity = size_bytes(binding.size_code)
    descriptor = row_major(bundle.dtype, capacity, dims[1] or 1, cols, dims[2] or cols, LEGALITY)
    _check_rewrite(core, binding, descriptor)
    core.shared.check_pool(binding.number, capacity)
    [values] = _load_rectangles(core, bundle, descriptor)
    existing = core.shared.tiles.get(binding.number)
    core.shared.publish(binding.number, Tile(descriptor, values), existing.mask if existing else binding.mask)


def _check_rewrite(core: Core, binding: SharedBinding, descriptor: Descriptor) -> None:
    """A plain load may replace an object only by one of the same descriptor, from one of its writers."""
    if binding.number in core.shared.open:
        raise Fault(LEGALITY, f"S{binding.number} is being assembled")
    existing = core.shared.tiles.get(binding.number)
    if existing is None:
        return
    if existing.tile.descriptor != descriptor or binding.mask & ~existing.mask:
        raise Fault(LEGALITY, f"S{binding.number} holds a tile of another description or other writers")


def _load_rectangles(core: Core, bundle: Bundle, descriptor: Descriptor) -> list[Bits]:
    """The rectangle of every selected PE, all probed before the first is read."""
    rows, cols, dtype = descriptor.valid_rows, descriptor.valid_cols, descriptor.dtype
    dense = dense_stride(descriptor.cols, dtype)
    accesses = []
    for pe in bundle.pes:
        rect = transfer_rectangle(core, bundle, pe, rows, cols, dense, dtype.bits)
        accesses.append((rect, core.memory.probe(rect, window=core.window(bundle, pe))))
    core.counters.gm_bytes_read += len(accesses) * (rows * cols * dtype.bits // 8)
    return [core.memory.load(rect, view) for rect, view in accesses]


def _load_fragments(core: Core, bundle: Bundle, binding: SharedBinding, assembly: Assembly) -> None:
    """B.ASSEMBLE: every selected PE fills its own fragment of the parent."""
    shared, dims, dtype = core.shared, dimensions(bundle), bundle.dtype
    assert dtype is not None
    if assembly.size_code == 0:
        raise Fault(LEGALITY, "a fragment needs a size")
    cols = dims[0] or 1
    fragment_bytes = size_bytes(assembly.size_code)
    descriptor = row_major(dtype, fragment_bytes, dims[1] or 1, cols, dims[2] or cols, LEGALITY)
    generation = _generation(core, binding, assembly, descriptor)
    fragments = _fragments(core, bundle, generation, assembly, fragment_bytes // CELL_BYTES)
    if assembly.last and not generation.covered(fragments):
        raise Fault(LEGALITY, f"S{binding.number} is not covered by its fragments")
    if assembly.init:
        shared.check_pool(binding.number, generation.capacity)
    for fragment, values in zip(fragments, _load_rectangles(core, bundle, descriptor)):
        generation.place(fragment, values)
    shared.open[binding.number] = generation
    shared.peak = max(shared.peak, shared.used())
    if assembly.last:
        del shared.open[binding.number]
        shared.publish(binding.number, generation.assembled(), generation.mask)


def _generation(core: Core, binding: SharedBinding, assembly: Assembly, fragment: Descriptor) -> Generation:
    """The open generation a bundle continues, or the one it would open."""
    found = core.shared.open.get(binding.number)
    if (found is None) != assembly.init:
        state = "already" if found is not None else "not"
        raise Fault(LEGALITY, f"S{binding.number} is {state} being assembled")
    if found is None:
        return Generation(size_bytes(binding.size_code), binding.mask, fragment.cols, fragment.dtype)
    if not found.matches(binding.mask, fragment.cols, fragment.dtype):
        raise Fault(LEGALITY, "the fragments of a parent agree in mask, columns and type")
    return found


def _fragments(
    core: Core, bundle: Bundle, generation: Generation, assembly: Assembly, cells: int
) -> list[Fragment]:
    """Where each selected PE writes; the ranges stay inside the parent and apart from each other."""
    fragments: list[Fragment] = []
    register = core.regs[assembly.register]
    for pe in bundle.pes:
        first = lane(register, pe) + assembly.immediate & MASK64  # type: ignore[arg-type]
        fragment = Fragment(first, cells)
        if first > MAX_CELL_OFFSET or fragment.end * CELL_BYTES > generation.capacity:
            raise Fault(LEGALITY, f"the fragment of PE{pe} leaves its parent")
        if any(fragment.overlaps(other) for other in (*generation.fragments, *fragments)):
            raise Fault(LEGALITY, f"the fragment of PE{pe} overlaps another one")
        fragments.append(fragment)
    return fragments
