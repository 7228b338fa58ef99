"""TLOAD: a strided rectangle of global memory becomes a tile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ptoc.isa import layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.faults import Fault
from ptoc.isa.layouts import CUBE_LOAD, CUBE_STORE, NORM_LOAD, dense_stride
from ptoc.isa.registers import CELL_BYTES, size_bytes
from ptoc.runtime.bundle import PAD_MAX, PAD_MIN, PAD_NULL, Assembly, Bundle, LocalBinding, SharedBinding
from ptoc.runtime.core import Core, Perform
from ptoc.runtime.lanes import MASK64, lane
from ptoc.runtime.memory import Bits
from ptoc.runtime.operations.common import (
    ALLOCATION,
    CONTROL,
    LEGALITY,
    Transfer,
    check_attributes,
    check_cube_transfer,
    check_cube_type,
    check_transfer_registers,
    cube_tile,
    dimensions,
    probe,
    reject_zero_dimensions,
    row_major,
)
from ptoc.runtime.shared import MAX_CELL_OFFSET, Fragment, Generation
from ptoc.runtime.tiles import Descriptor, Destination, Tile


def prepare(bundle: Bundle) -> Perform:
    """Check one TLOAD bundle in the form its attributes and bindings select."""
    if bundle.datr.layout in CUBE_LOAD or bundle.datr.layout in CUBE_STORE:
        return _prepare_cube(bundle)
    return _prepare_shared(bundle) if bundle.shared else _prepare_plain(bundle)


def _transfer(bundle: Bundle, descriptor: Descriptor, dense_cols: int) -> Transfer:
    dtype = descriptor.dtype
    dense = dense_stride(dense_cols, dtype)
    return Transfer(descriptor.valid_rows, descriptor.valid_cols, dtype.bits, dense, bundle.registers)


# Local destinations


@dataclass(frozen=True)
class LocalLoad:
    """A checked load into one hand of every selected PE."""

    pes: tuple[int, ...]
    destination: Destination
    descriptor: Descriptor
    pad: int | None
    transfer: Transfer

    def __call__(self, core: Core, bundle: Bundle) -> None:
        memory, local = core.memory, core.local
        accesses = []
        previous = None
        for pe, rect in zip(self.pes, self.transfer.rectangles(core, self.pes)):
            local[pe].check((self.destination,), ())
            access = (rect, core.window(bundle, pe))
            if access != previous:
                view = probe(core, bundle, pe, rect)
            accesses.append((rect, view))
            previous = access
        for observer in core.observers:
            observer.loads(core, bundle, [(pe, rect) for pe, (rect, _) in zip(self.pes, accesses)])
        loaded = None
        for pe, (rect, view) in zip(self.pes, accesses):
            if rect is not loaded:
                tile = Tile(self.descriptor, memory.load(rect, view), pad=self.pad)
                loaded = rect
            local[pe].publish(self.destination.hand, tile)
        core.counters.gm_bytes_read += len(self.pes) * self.transfer.nbytes


def _sole_destination(bundle: Bundle) -> LocalBinding | None:
    """The one B.IOT of a load, or ``None`` when the bindings are anything else."""
    if len(bundle.locals) != 1:
        return None
    binding = bundle.locals[0]
    return binding if binding.stores and not binding.sources and binding.last else None


def _prepare_plain(bundle: Bundle) -> LocalLoad:
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
    transfer = _transfer(bundle, descriptor, descriptor.cols)
    return LocalLoad(bundle.pes, Destination(binding.hand, capacity), descriptor, None, transfer)


@lru_cache(maxsize=4096)
def _plain_tile(dtype: DType, layout: str, capacity: int, rows: int, valid_cols: int, cols: int) -> Descriptor:
    plain = row_major(dtype, capacity, rows, valid_cols, cols, ALLOCATION)
    if layout == layouts.NORM:
        return plain
    if not layouts.whole_blocks(layout, dtype.bits, plain.rows, plain.cols):
        raise Fault(LEGALITY, f"{layout} needs whole blocks of {layouts.block_shape(layout, dtype.bits)} elements")
    return Descriptor(plain.kind, dtype, layout, capacity, plain.rows, cols, rows, valid_cols)


def _prepare_cube(bundle: Bundle) -> LocalLoad:
    binding, dims = _sole_destination(bundle), dimensions(bundle)
    check_cube_transfer(bundle, CUBE_LOAD, binding, dims)
    assert bundle.dtype is not None and binding is not None and dims[0] and dims[1]
    check_cube_type(bundle.dtype)
    layout, capacity = CUBE_LOAD[bundle.datr.layout], size_bytes(binding.size_code)
    descriptor = cube_tile(bundle.dtype, layout, capacity, dims[1], dims[0])
    pad = _pad(bundle.dtype, bundle.datr.pad)
    transfer = _transfer(bundle, descriptor, dims[0])
    return LocalLoad(bundle.pes, Destination(binding.hand, capacity), descriptor, pad, transfer)


def _pad(dtype: DType, code: int) -> int | None:
    """The pattern a PadValue code gives the padding; Null leaves it undefined."""
    if code == PAD_NULL:
        return None
    return {PAD_MAX: dtype.pad_max, PAD_MIN: dtype.pad_min}.get(code, 0)


# Shared destinations


def _prepare_shared(bundle: Bundle) -> Perform:
    if len(bundle.shared) > 1:
        raise Fault(LEGALITY, "TLOAD has one Shared destination")
    check_transfer_registers(bundle, CONTROL)
    check_attributes(bundle)
    binding, dtype = bundle.shared[0], bundle.dtype
    assert dtype is not None
    assembly = binding.assembly
    continues = assembly is not None and not assembly.init
    if bundle.locals or (binding.size_code == 0) != continues:
        raise Fault(LEGALITY, "TLOAD needs a Shared destination and no Local binding")
    if len(bundle.pes) > 1 and assembly is None:
        raise Fault(LEGALITY, "several PEs write one Shared tile only through B.ASSEMBLE")
    dims = dimensions(bundle)
    reject_zero_dimensions(dims)
    size_code = binding.size_code if assembly is None else assembly.size_code
    if size_code == 0:
        raise Fault(LEGALITY, "a fragment needs a size")
    cols = dims[0] or 1
    descriptor = row_major(dtype, size_bytes(size_code), dims[1] or 1, cols, dims[2] or cols, LEGALITY)
    transfer = _transfer(bundle, descriptor, descriptor.cols)
    if assembly is None:
        return SharedLoad(bundle.pes, descriptor, transfer)
    return FragmentLoad(bundle.pes, descriptor, transfer)


@dataclass(frozen=True)
class SharedLoad:
    """A checked load of a whole Shared tile by one PE."""

    pes: tuple[int, ...]
    descriptor: Descriptor
    transfer: Transfer

    def __call__(self, core: Core, bundle: Bundle) -> None:
        shared, binding = core.shared, bundle.shared[0]
        _check_rewrite(core, binding, self.descriptor)
        shared.check_pool(binding.number, self.descriptor.capacity)
        [values] = _read(core, bundle, self.pes, self.transfer)
        existing = shared.tiles.get(binding.number)
        mask = binding.mask if existing is None else existing.mask
        shared.publish(binding.number, Tile(self.descriptor, values), mask)


def _check_rewrite(core: Core, binding: SharedBinding, descriptor: Descriptor) -> None:
    """A plain load may replace an object only by one of the same descriptor, from one of its writers."""
    if binding.number in core.shared.open:
        raise Fault(LEGALITY, f"S{binding.number} is being assembled")
    existing = core.shared.tiles.get(binding.number)
    if existing is None:
        return
    if existing.tile.descriptor != descriptor or binding.mask & ~existing.mask:
        raise Fault(LEGALITY, f"S{binding.number} holds a tile of another description or other writers")


def _read(core: Core, bundle: Bundle, pes: tuple[int, ...], transfer: Transfer) -> list[Bits]:
    """The rectangle of every selected PE, all probed before the first is read."""
    accesses = []
    for pe, rect in zip(pes, transfer.rectangles(core, pes)):
        accesses.append((rect, probe(core, bundle, pe, rect)))
    for observer in core.observers:
        observer.loads(core, bundle, [(pe, rect) for pe, (rect, _) in zip(pes, accesses)])
    core.counters.gm_bytes_read += len(pes) * transfer.nbytes
    return [core.memory.load(rect, view) for rect, view in accesses]


@dataclass(frozen=True)
class FragmentLoad:
    """B.ASSEMBLE: every selected PE fills its own fragment of a parent."""

    pes: tuple[int, ...]
    descriptor: Descriptor
    transfer: Transfer

    def __call__(self, core: Core, bundle: Bundle) -> None:
        shared, binding = core.shared, bundle.shared[0]
        assembly = binding.assembly
        assert assembly is not None
        generation = _generation(core, binding, assembly, self.descriptor)
        fragments = self._fragments(core, generation, assembly)
        if assembly.last and not generation.covered(fragments):
            raise Fault(LEGALITY, f"S{binding.number} is not covered by its fragments")
        if assembly.init:
            shared.check_pool(binding.number, generation.capacity)
        for fragment, values in zip(fragments, _read(core, bundle, self.pes, self.transfer)):
            generation.place(fragment, values)
        shared.keep_open(binding.number, generation)
        if assembly.last:
            shared.publish(binding.number, generation.assembled(), generation.mask)

    def _fragments(self, core: Core, generation: Generation, assembly: Assembly) -> list[Fragment]:
        """Where each PE writes; the ranges stay inside the parent and apart from each other."""
        fragments: list[Fragment] = []
        register = core.regs[assembly.register]
        cells = self.descriptor.capacity // CELL_BYTES
        for pe in self.pes:
            first = lane(register, pe) + assembly.immediate & MASK64
            fragment = Fragment(first, cells)
            if first > MAX_CELL_OFFSET or fragment.end * CELL_BYTES > generation.capacity:
                raise Fault(LEGALITY, f"the fragment of PE{pe} leaves its parent")
            if any(fragment.overlaps(other) for other in (*generation.fragments, *fragments)):
                raise Fault(LEGALITY, f"the fragment of PE{pe} overlaps another one")
            fragments.append(fragment)
        return fragments


def _generation(core: Core, binding: SharedBinding, assembly: Assembly, fragment: Descriptor) -> Generation:
    """The open generation a bundle continues, or the one it would open."""
    found = core.shared.open.get(binding.number)
    if (found is None) != assembly.init:
        state = "already" if found is not None else "not"
        raise Fault(LEGALITY, f"S{binding.number} is {state} being assembled")
    if found is None:
        capacity = size_bytes(binding.size_code)
        return Generation(capacity, binding.mask, fragment.cols, fragment.dtype, core.freedom)
    if not found.matches(binding.mask, fragment.cols, fragment.dtype):
        raise Fault(LEGALITY, "the fragments of a parent agree in mask, columns and type")
    return found
