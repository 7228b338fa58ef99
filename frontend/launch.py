"""Launching a program: arrays into simulated memory, registers by ``docs/abi.md``, results back.

Each array is a region of its own with unmapped bytes around it, and every bundle may touch only the array it was
compiled for: a stray address faults instead of hitting a neighbour. Arrays that the program writes are copies, which
are committed to the caller's arrays when the program has halted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from ptoc.arrays import ArraySpec, Placement
from ptoc.definition import source_at, widened
from ptoc.dialects import nd
from ptoc.dialects.parsing import source_of
from ptoc.errors import ArgumentError, ProgramFault, SourceLocation
from ptoc.isa.registers import PE_COUNT
from ptoc.passes import abi
from ptoc.passes.arguments import INOUT, INPUT, OUTPUT
from ptoc.passes.rewriting import the_function
from ptoc.passes.stored_matmuls import WRITES

if TYPE_CHECKING:
    from ptoc.program import Program
    from ptoc.runtime import Machine, Result
    from ptoc.runtime.outcome import FaultReport

Array = npt.NDArray[Any]

BASE_ADDRESS = 1 << 20

REPORT = "please report this kernel: the compiler made a program that faults"
WRITTEN = "the bundle comes from an operation of the IR; docs/isa/operations/ says what it takes"


def launch(program: Program, arrays: Sequence[Array], cores: int = 1) -> Any:
    """Run a program on checked arrays; the kernel's return value."""
    machine, results = run(program, arrays, cores)
    del machine
    return program.results.build(results)


def run(
    program: Program, arrays: Sequence[Array], cores: int = 1, *, watch: bool = False
) -> tuple[Machine, list[Array]]:
    """Run a program on ``cores``; the machine as it halted, and all launch arrays (the caller's own ones first).

    With ``watch`` the machine's findings tell of mistakes, and of results that depend on what the architecture
    leaves open.
    """
    check_arguments(program.specs, program.kinds, program.names, arrays, program.highest)
    buffers = [_buffer(spec, kind, array) for spec, kind, array in _launch_arrays(program, arrays)]
    machine = _machine(program, buffers, cores)
    if watch:
        from ptoc.runtime import Watch

        machine.watch = Watch(_results(program))
    if program.encoded.code:
        _execute(program, machine, arrays, adversarial=1 if watch else 0)
    results: list[Array] = list(arrays)
    for spec, kind, buffer in list(zip(program.launch_specs, program.kinds, buffers))[len(arrays) :]:
        shape = program.results.shapes.get(len(results), spec.shape)
        results.append(view_of(buffer, spec).reshape(shape) if kind == OUTPUT else buffer)
    placed = zip(arrays, program.places, program.launch_specs, program.kinds, buffers)
    for array, place, spec, kind, buffer in placed:
        if kind == INOUT:
            target = array.T if place is Placement.TRANSPOSED else array
            target[...] = view_of(buffer, spec).reshape(target.shape)
    return machine, results


def _launch_arrays(program: Program, arrays: Sequence[Array]) -> list[tuple[ArraySpec, str, Array | None]]:
    padded: list[Array | None] = [*program.in_memory(arrays), *[None] * (len(program.kinds) - len(arrays))]
    return list(zip(program.launch_specs, program.kinds, padded))


def check_arguments(
    specs: Sequence[ArraySpec],
    kinds: Sequence[str],
    names: Sequence[str],
    arrays: Sequence[Array],
    module: ModuleOp,
) -> None:
    """``ArgumentError`` when an array that the kernel writes cannot be written, or overlaps another argument.

    ``module`` is the kernel's ``nd``, which says where it writes.
    """
    for n, (array, spec, kind, name) in enumerate(zip(arrays, specs, kinds, names)):
        if kind != INOUT:
            continue
        if not array.flags.writeable:
            raise _unwriteable(f"{name}, which is read-only", module, n, spec)
        if spec.may_overlap:
            raise _unwriteable(f"{name}, whose elements may overlap ({spec})", module, n, spec)
        for m, (other, other_name) in enumerate(zip(arrays, names)):
            if m != n and _overlap(array, other):
                both = f"{spec} and {specs[m]}"
                raise _unwriteable(f"{name}, which shares memory with {other_name}", module, n, both, of=other_name)


def _unwriteable(what: str, module: ModuleOp, n: int, operands: object, of: str | None = None) -> ArgumentError:
    argument = the_function(module).body.block.args[n]
    places = [source_of(use.operation) for use in argument.uses if isinstance(use.operation, WRITES)]
    found = min((place for place in places if place is not None), default=None)
    return ArgumentError(
        f"the kernel assigns to {what}",
        where=None if found is None else widened(SourceLocation(found[0], found[1], found[2] or None)),
        operands=str(operands),
        rule="written-arguments",
        hint="pass a copy, and use what it holds afterwards" if of is None else f"pass a copy of {of}",
    )


def _overlap(x: Array, y: Array) -> bool:
    try:
        return np.shares_memory(x, y, max_work=1 << 16)
    except np.exceptions.TooHardError:
        return True


def _buffer(spec: ArraySpec, kind: str, array: Array | None) -> npt.NDArray[np.uint8]:
    """The bytes of an array from its first element to its last; an input that is dense is not copied."""
    if array is None:
        return np.zeros(spec.extent, np.uint8)
    if kind == INPUT and array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8)
    buffer = np.zeros(spec.extent, np.uint8)
    view_of(buffer, spec)[...] = array
    return buffer


def view_of(buffer: npt.NDArray[np.uint8], spec: ArraySpec) -> Array:
    """A buffer as the array that lies in it; packed elements are a copy, one byte each."""
    if spec.packed:
        return _unpacked(buffer, spec)
    strides = spec.strides if spec.rows > 1 else (spec.row_bytes, spec.dtype.itemsize)[2 - len(spec.shape) :]
    return np.lib.stride_tricks.as_strided(buffer.view(spec.dtype), spec.shape, strides)


def _unpacked(buffer: npt.NDArray[np.uint8], spec: ArraySpec) -> Array:
    """Packed elements, the even ones in the low half of their bytes."""
    rows = buffer.reshape(spec.rows, -1) if buffer.size else np.zeros((spec.rows, 0), np.uint8)
    nibbles = np.stack([rows & 0xF, rows >> 4], axis=-1).reshape(spec.rows, 2 * rows.shape[1])
    cols = math.prod(spec.shape[-1:])
    return np.ascontiguousarray(nibbles[:, :cols]).view(spec.dtype).reshape(spec.shape)


def _machine(program: Program, buffers: Sequence[npt.NDArray[np.uint8]], cores: int) -> Machine:
    """A machine with the program loaded, the arrays mapped and the registers set."""
    from ptoc.runtime.machine import Machine
    from ptoc.runtime.memory import Window

    machine = Machine(cores=cores)
    addresses = _addresses(program)
    windows = []
    for address, buffer, spec, kind, n in zip(
        addresses, buffers, program.launch_specs, program.kinds, range(len(buffers))
    ):
        name = _name(program, n)
        machine.memory.map(address, buffer, writable=kind != INPUT, name=name)
        if spec.dense:
            windows.append(Window(address, 1, spec.extent, 0, name))
        else:
            windows.append(Window(address, spec.rows, spec.row_bytes, spec.row_stride, name))
    data = program.encoded.data
    if data:
        machine.memory.map(addresses[-1], data, writable=False, name="constants")
    windows.append(Window(addresses[-1], 1, len(data), 0, "constants"))

    machine.load(program.encoded.code, entry=program.encoded.entry, isa=program.encoded.isa)
    machine.lines = program.encoded.lines
    machine.windows.update({row.offset: windows[row.argument] for row in program.encoded.accesses})
    for register, address in zip(abi.ARGUMENT_REGISTERS, addresses[:-1]):
        machine.set_gpr(register, address)
    for pe in range(PE_COUNT):
        machine.set_gpr(abi.PE_REGISTER, pe, pe)
    for core in range(cores):
        machine.set_gpr(abi.CORE_REGISTER, core, core=core)
    machine.set_gpr(abi.CORES_REGISTER, cores)
    machine.set_gpr(abi.DATA_REGISTER, addresses[-1])
    return machine


def _results(program: Program) -> Iterator[Result]:
    """The arrays that hold nothing until the program has written them."""
    from ptoc.runtime import Result, Window

    for n, (address, spec, kind) in enumerate(zip(_addresses(program), program.launch_specs, program.kinds)):
        if kind == OUTPUT:
            place = Window(address, spec.rows, spec.row_bytes, spec.row_stride)
            yield Result(_name(program, n), place, spec.dtype)


def _addresses(program: Program) -> list[int]:
    """Where the arrays of a launch start, and behind them the constants."""
    offsets = abi.array_offsets([spec.extent for spec in program.launch_specs] + [0])
    return [BASE_ADDRESS + offset for offset in offsets]


def address_of(program: Program, n: int, index: Sequence[int]) -> int:
    """The address of an element of an array of a launch, indexed as the caller sees the array."""
    given = n < len(program.places)
    spec = program.launch_specs[n]
    if given and program.places[n] is Placement.TRANSPOSED:
        index = index[::-1]
    else:
        shape = program.specs[n].shape if given else program.results.shapes.get(n, spec.shape)
        index = [int(i) for i in np.unravel_index(np.ravel_multi_index(tuple(index), shape), spec.shape)]
    if spec.packed:
        *row, col = index
        return _addresses(program)[n] + sum(row) * spec.row_stride + col // 2
    return _addresses(program)[n] + sum(map(operator.mul, index, spec.strides))


def _name(program: Program, n: int) -> str:
    """What to call an array of a launch: its parameter, or result or scratch array with its number."""
    return program.names[n] if n < len(program.names) else f"{program.kinds[n]} array {n}"


def _execute(program: Program, machine: Machine, arrays: Sequence[Array], adversarial: int) -> None:
    """Run to the halt; a fault becomes a ``ProgramFault`` that names bundle and source line."""
    outcome = machine.run(adversarial=adversarial)
    if outcome.status == "halted":
        return
    fault = outcome.fault
    if fault is None:
        raise ProgramFault(f"{program.name} stopped without halting: {outcome.status}", hint=REPORT)
    scatter = _scatter(program, arrays, fault.address, fault.bpc - machine.load_address)
    core = f" on core {outcome.core}" if len(machine.processors) > 1 else ""
    hint = WRITTEN if program.written else REPORT
    if scatter:
        hint = "disable it with the mask, or use a multiple of the element size inside the array"
    raise ProgramFault(
        f"{program.name} faulted{core}: {scatter or fault.rule}; no array was changed",
        kind=f"{fault.kind} at {fault.address:#x}",
        bundle="\n".join(fault.text),
        where=source_at(program.encoded.lines, fault.pc - machine.load_address),
        rule="scatter" if scatter else _rule_of(program, fault),
        hint=hint,
    )


def _rule_of(program: Program, fault: FaultReport) -> str:
    """The rule that a fault breaks which data is not to blame for."""
    if fault.kind.name.startswith("Data"):
        return "memory-accesses"
    return "ir" if program.written else "compiler"


def _scatter(program: Program, arrays: Sequence[Array], address: int, bundle: int) -> str | None:
    """What a fault of a scatter means in the kernel's words; ``None`` for another bundle's."""
    accesses = [row.argument for row in program.encoded.accesses if row.offset == bundle]
    block = the_function(program.highest).body.block
    scatters = [op for op in block.ops if isinstance(op, nd.ScatterOp) and block.args.index(op.dest) in accesses]
    if not scatters:
        return None
    n = block.args.index(scatters[0].dest)
    displacement = address - _addresses(program)[n]
    loads = [op.displacements.owner for op in scatters if isinstance(op.displacements.owner, nd.LoadOp)]
    found = ""
    for m in (block.args.index(load.source) for load in loads):
        places = np.argwhere(arrays[m] == displacement) if m < len(arrays) else ()
        if len(places):
            found = f", {_name(program, m)}[{', '.join(map(str, places[0]))}],"
    return f"displacement {displacement}{found} names no element of {_name(program, n)}, {program.launch_specs[n]}"
