"""``ptoc sim``: run an image on given memory and registers, and show what it did.

The registers x0 to x3 start as a launch sets them (PE, core, number of cores, address of the image's data), the
others with 0. Numbers are decimal, or hexadecimal after 0x. Findings that are harmful make the exit code 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import os.path
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ptoc.cli import FINDING, GOOD, output
from ptoc.cli.numbers import cores, count, number
from ptoc.isa.registers import GPR, PE_COUNT

if TYPE_CHECKING:
    from ptoc.isa.image import Image
    from ptoc.runtime import Finding, Machine, Outcome

_ROW_BYTES = 16
IMAGE_HINT = "`ptoc compile --emit image` and `ptoc as` write images"


class Mapping(NamedTuple):
    """``ADDRESS=FILE``."""

    address: int
    file: str


class Register(NamedTuple):
    """``NAME=VALUE[@PE]``; on all PEs without one."""

    name: str
    value: int
    pe: int | None


class Range(NamedTuple):
    """``ADDRESS:LENGTH``, and the file that takes the bytes if they are not to be printed."""

    address: int
    length: int
    file: str | None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="ptoc sim", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("image", metavar="IMAGE", help="an image, as `ptoc compile --emit image` and `ptoc as` write it; - is stdin")
    add("--memory", type=number, metavar="SIZE", help="map SIZE zero bytes at address 0")
    add("--map", action="append", default=[], type=_mapping, metavar="ADDRESS=FILE", help="put a file into memory")
    add("--gpr", action="append", default=[], type=_register, metavar="NAME=VALUE[@PE]", help="set a register")
    add("--dump", action="append", default=[], type=_range, metavar="ADDRESS:LENGTH[=FILE]",
        help="print memory after the run, or write it to a file")  # fmt: skip
    add("--max-steps", type=number, metavar="N", help="stop after N instructions")
    add("--cores", type=cores, default=1, metavar="N", help="run the program on N cores over the same memory")
    add("--jobs", type=count, default=1, metavar="N", help="run the cores in N processes at once")
    add("--seed", type=number, metavar="N", help="use what the architecture leaves open as the seed N says")
    add(
        "--adversarial",
        type=number,
        default=0,
        metavar="N",
        help="repeat with N seeds and report what differs",
    )
    add("--watch", action="store_true", help="report contested bytes, dead bundles and accesses that went wrong")
    add("--trace", metavar="FILE", help="write a trace for Perfetto (https://ui.perfetto.dev)")
    options = parser.parse_args(arguments)
    for wanted in options.dump:
        if wanted.file is not None:
            output.check_no_terminal(parser, wanted.file, "memory", "--dump ADDRESS:LENGTH=FILE")

    from ptoc.errors import InputError
    from ptoc.isa.image import ImageError, unpack
    from ptoc.isa.revisions import RevisionError
    from ptoc.runtime import Machine, SimulatorError, Trace, Watch

    try:
        image = unpack(output.read_bytes(options.image))
    except ImageError as error:
        raise InputError(f"{options.image}: {error}", rule="assembly", hint=IMAGE_HINT) from None
    machine = Machine(cores=options.cores, order_seed=options.seed)
    machine.watch = Watch() if options.watch else None
    machine.trace = Trace() if options.trace else None
    try:
        _fill_memory(machine, options.memory, options.map)
        _set_registers(machine, image, options.gpr)
    except (ValueError, OverflowError, MemoryError) as error:
        raise InputError(str(error), rule="ptoc-sim", hint="regions lie apart, and registers hold 64 bits") from None
    try:
        machine.load(image.code, entry=image.entry, isa=image.isa)
    except RevisionError as error:
        raise InputError(f"{options.image}: {error}", rule="revisions", hint=IMAGE_HINT) from None
    machine.lines = image.lines
    try:
        outcome = machine.run(options.max_steps, jobs=options.jobs, adversarial=options.adversarial)
    except SimulatorError as error:
        raise InputError(
            "\n".join([str(error), *getattr(error, "__notes__", ())]),
            rule="simulator",
            hint="the program leaves what the simulator models; `ptoc dis` shows it",
        ) from None
    finally:
        if machine.trace is not None:
            machine.trace.write(options.trace)
    findings = machine.findings
    print("\n".join([*_report(outcome, machine), *_findings(findings)]))
    _print_counters(machine)
    for wanted in options.dump:
        _dump(machine, wanted)
    return FINDING if outcome.status != "halted" or any(finding.harmful for finding in findings) else GOOD


def _fill_memory(machine: Machine, size: int | None, files: Sequence[Mapping]) -> None:
    """Zeros first, then files, in mapped memory or as regions of their own."""
    if size:
        machine.memory.map(0, size, name="memory")
    for mapping in files:
        data = output.read_bytes(mapping.file)
        if machine.memory.region_of(mapping.address, len(data)) is not None:
            machine.memory.write(mapping.address, data)
        else:
            machine.memory.map(mapping.address, data, name=os.path.basename(mapping.file))


def _set_registers(machine: Machine, image: Image, given: Sequence[Register]) -> None:
    from ptoc.passes import abi

    for pe in range(PE_COUNT):
        machine.set_gpr(abi.PE_REGISTER, pe, pe)
    machine.set_gpr(abi.CORES_REGISTER, len(machine.processors))
    for core in range(len(machine.processors)):
        machine.set_gpr(abi.CORE_REGISTER, core, core=core)
    if image.data:
        end = max((region.end for region in machine.memory.regions), default=0)
        address = abi.array_offsets([end, len(image.data)])[1]
        machine.memory.map(address, image.data, writable=False, name="constants")
        machine.set_gpr(abi.DATA_REGISTER, address)
    for register in given:
        machine.set_gpr(register.name, register.value, register.pe)


def _report(outcome: Outcome, machine: Machine) -> Iterator[str]:
    from ptoc.definition import source_at

    fault = outcome.fault
    core = f"core {outcome.core}: " if len(machine.processors) > 1 and outcome.status != "halted" else ""
    if fault is None:
        ends = {"waiting": "waits for a Shared tile that nothing completes", "limit": "stopped by --max-steps"}
        yield f"{core}{ends.get(outcome.status, outcome.status)} after {outcome.steps} instructions"
        return
    yield f"{core}fault: {fault}"
    where = source_at(machine.lines, fault.pc - machine.load_address)
    excerpt = None if where is None else where.excerpt()
    yield from () if excerpt is None else (excerpt,)
    yield from (f"    {line}" for line in fault.text)


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield str(finding)
        yield from (f"    {line}" for line in finding.text)


def _print_counters(machine: Machine) -> None:
    rows: dict[str, int] = {}
    for field in dataclasses.fields(machine.counters):
        value = getattr(machine.counters, field.name)
        rows |= value if isinstance(value, dict) else {field.name: value}
    output.print_table("counters", rows)


def _dump(machine: Machine, wanted: Range) -> None:
    from ptoc.errors import InputError

    try:
        data = machine.memory.read(wanted.address, wanted.length)
    except ValueError as error:
        raise InputError(
            f"cannot dump {wanted.address:#x}:{wanted.length}: {error}",
            rule="ptoc-sim",
            hint="dump what --memory and --map have mapped",
        ) from None
    if wanted.file is not None:
        output.write_bytes(data, wanted.file)
        return
    print(f"memory at {wanted.address:#x}")
    for start in range(0, len(data), _ROW_BYTES):
        print(f"  {wanted.address + start:08x}  {data[start : start + _ROW_BYTES].hex(' ')}")


def _mapping(text: str) -> Mapping:
    address, equals, file = text.partition("=")
    if not equals or not file:
        raise argparse.ArgumentTypeError(f"{text!r} is not ADDRESS=FILE")
    return Mapping(number(address), file)


def _register(text: str) -> Register:
    match = re.fullmatch(r"(\w+)=(-?\w+)(?:@([0-3]))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE or NAME=VALUE@PE with a PE of 0 to 3")
    if match[1] not in GPR:
        raise argparse.ArgumentTypeError(f"no register is called {match[1]}; they are {', '.join(GPR)}")
    sign = -1 if match[2].startswith("-") else 1
    return Register(match[1], sign * number(match[2].lstrip("-")), int(match[3]) if match[3] else None)


def _range(text: str) -> Range:
    place, equals, file = text.partition("=")
    address, colon, length = place.partition(":")
    if not colon or (equals and not file):
        raise argparse.ArgumentTypeError(f"{text!r} is not ADDRESS:LENGTH or ADDRESS:LENGTH=FILE")
    return Range(number(address), number(length), file or None)
