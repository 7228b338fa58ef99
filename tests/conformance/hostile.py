"""Programs that nobody meant: random bytes, random instructions, vectors with bits and words changed.

Whatever such a program is, it ends normally, waits, faults or reaches the step limit, a fault changes nothing,
and the only other exceptions are the simulator's diagnostics.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from ptoc.isa.encoding import BY_KEY, FORMS, make
from ptoc.isa.faults import FaultKind
from ptoc.isa.forms import Form, Instruction
from ptoc.runtime import Machine, Memory
from ptoc.runtime.errors import SimulatorError
from ptoc.runtime.outcome import Outcome
from ptoc.runtime.tiles import Tile

VECTORS = Path(__file__).parents[1] / "vectors"
MAX_STEPS = 300
SMALL_MEMORY = 1 << 13


@dataclass
class Program:
    """An image with the memory and the registers it starts with."""

    code: bytes
    memory_size: int
    segments: tuple[tuple[int, bytes], ...] = ()
    gpr: tuple[tuple[int, int, int], ...] = ()

    def machine(self) -> Machine:
        memory = Memory(self.memory_size)
        for address, data in self.segments:
            memory.write(address, data)
        machine = Machine(memory=memory)
        machine.load(self.code)
        for pe, code, value in self.gpr:
            machine.set_gpr(code, value, pe)
        return machine


def run(program: Program) -> str:
    """How a program ends; ``AssertionError`` when a fault has changed something."""
    machine = program.machine()
    try:
        outcome = machine.run(MAX_STEPS)
    except SimulatorError as error:
        return type(error).__name__
    if outcome.fault is None:
        return outcome.status
    if outcome.fault.kind != FaultKind.BundlePostCommit:
        check_nothing_changed(program, machine, outcome)
    return str(outcome.fault.kind)


def check_nothing_changed(program: Program, machine: Machine, outcome: Outcome) -> None:
    """The state after a fault is that after all instructions before the faulting one."""
    twin = program.machine()
    twin.run(outcome.steps - 1)
    before, after = _state(twin), _state(machine)
    assert before == after, f"{outcome.fault} changed {[key for key in before if before[key] != after.get(key)]}"
    lost = twin.processors[0].core.shared.open.keys() - machine.processors[0].core.shared.open.keys()
    block = machine.processors[0].block
    writes = {} if block is None else {b.number: b.assembly for b in block.shared}
    assert all(writes.get(number) for number in lost), "a fault elsewhere dropped an open generation"


def _state(machine: Machine) -> dict[str, Any]:
    state: dict[str, Any] = {"flags": machine.flags}
    for region in machine.memory.regions:
        state["memory"] = region.data.tobytes()
    for pe in range(4):
        state |= {f"PE{pe} {hand}#{n}": _of(tile) for hand, n, tile in machine.tiles(pe)}
    core = machine.processors[0].core
    state |= {f"S{number}": (_of(shared.tile), shared.mask) for number, shared in core.shared.tiles.items()}
    return state


def _of(tile: Tile) -> tuple[Any, ...]:
    defined = None if tile.defined is None else tile.defined.tobytes()
    return tile.descriptor, tile.values.tobytes(), tile.pad, defined


# Where programs come from


@cache
def _vectors() -> list[dict[str, Any]]:
    found = []
    for path in sorted(VECTORS.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines]
    return [case for case in found if case["memory"]["size"] <= 1 << 17]


@cache
def _of_vector(number: int) -> tuple[list[bytes], Program]:
    case = _vectors()[number]
    words = [int(word, 16).to_bytes(bits // 8, "little") for word, bits in case["program"]]
    segments = tuple((address, bytes.fromhex(data)) for address, data in case["memory"]["segments"])
    gpr = tuple((pe, code, int(value, 16)) for pe, code, value in case["gpr"])
    return words, Program(b"".join(words), case["memory"]["size"], segments, gpr)


def mutated_vector(rng: random.Random) -> Program:
    """A vector with a few bits, words or registers changed."""
    words, program = _of_vector(rng.randrange(len(_vectors())))
    words, gpr = list(words), list(program.gpr)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at, kind = rng.randrange(len(words)), rng.random()
        if kind < 0.6:
            word = int.from_bytes(words[at], "little") ^ 1 << rng.randrange(8 * len(words[at]))
            words[at] = word.to_bytes(len(words[at]), "little")
        elif kind < 0.7 and len(words) > 1:
            del words[at]
        elif kind < 0.8:
            words.insert(at, rng.choice(words))
        elif kind < 0.9:
            words.insert(at, random_instruction(rng).to_bytes())
        elif gpr:
            pe, code, value = gpr.pop(rng.randrange(len(gpr)))
            gpr.append((pe, code, (value ^ 1 << rng.randrange(64)) % 2**64))
    return Program(b"".join(words), program.memory_size, program.segments, tuple(gpr))


_STARTS = [BY_KEY[f"BSTART.{name}"] for name in ("TLOAD", "TSTORE", "TMATMUL", "TMATMUL.ACC", "MSCATTER.MASK")]
_DIMS = [BY_KEY[key] for key in ("B.DIM.LB0", "B.DIM.LB1", "C.B.DIMI")]
_HEADER = [BY_KEY[key] for key in ("B.IOR", "B.IOT.D", "B.IOT.S", "B.IOT.SD", "B.IOT.SS", "B.IOT.SSD")]
_RANGES = [BY_KEY[key] for key in ("B.IOS", "B.SUBVIEW", "B.ASSEMBLE", "B.DATR", "B.FPATR", "B.CATR")]
_COMMON = [form for form in FORMS if form.tier in ("needed", "core")]


def random_instruction(rng: random.Random, forms: list[Form] | None = None) -> Instruction:
    """Any form with any legal field values, small ones more often."""
    form = rng.choice(forms or FORMS)
    values = []
    for field in form.fields:
        if field.allowed is not None:
            values.append(rng.choice(sorted(field.allowed)))
        else:
            high = field.high if rng.random() < 0.3 else min(field.high, 8 * field.step)
            low = max(field.low, -16 * field.step)
            values.append(rng.randrange(low, high + 1, field.step))
    return Instruction(form, tuple(values))


def random_instructions(rng: random.Random) -> Program:
    """Legal words in an order that means something only by accident."""
    forms = rng.choice([_COMMON, list(FORMS)])
    code = b"".join(random_instruction(rng, forms).to_bytes() for _ in range(rng.randint(1, 40)))
    return Program(code, SMALL_MEMORY, gpr=_registers(rng))


def random_bundles(rng: random.Random) -> Program:
    """Tile bundles of the right shape with random operands: loads, then whatever may read them."""
    code = b""
    mode = rng.randrange(1, 8)
    for n in range(rng.randint(1, 8)):
        start = random_instruction(rng, _STARTS[:1] if n < 2 else _STARTS)
        header = [random_instruction(rng, _DIMS) for _ in range(rng.randint(0, 3))]
        header += [random_instruction(rng, _HEADER) for _ in range(rng.randint(0, 2))]
        if rng.random() < 0.4:
            header += [random_instruction(rng, _RANGES) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.8:
            header = [inst for at, inst in enumerate(header) if inst.form not in [h.form for h in header[:at]]]
        if start.key == "BSTART.TLOAD" and rng.random() < 0.9:
            header = [inst for inst in header if not inst.key.startswith("B.IO")]
            header.append(make("B.IOT.D", SizeCode=rng.randint(1, 4), DstTile=rng.randrange(4), PEMode=mode, L=1))
        if start.key.startswith("BSTART.TMATMUL"):
            header.insert(0, make("B.FPATR"))
        code += b"".join(inst.to_bytes() for inst in (start, *header, make("BSTOP")))
    return Program(code, SMALL_MEMORY, gpr=_registers(rng))


def random_bytes(rng: random.Random) -> Program:
    return Program(rng.randbytes(rng.randint(0, 96)), SMALL_MEMORY, gpr=_registers(rng))


def _registers(rng: random.Random) -> tuple[tuple[int, int, int], ...]:
    values = (0, 1, 8, 64, SMALL_MEMORY, 0x10000, 0x10004, 2**63, 2**64 - 8)
    found = []
    for code in range(1, 24):
        value = rng.choice(values)
        found += [(pe, code, value if rng.random() < 0.9 else rng.choice(values)) for pe in range(4)]
    return tuple(found)


SOURCES: tuple[Callable[[random.Random], Program], ...] = (
    mutated_vector,
    mutated_vector,
    random_bundles,
    random_instructions,
    random_bytes,
)


def fuzz(first: int, count: int, seconds: float) -> tuple[int, Counter[str]]:
    """Run so many programs, or as many as the time allows; how many that were, and how they ended.

    Program ``n`` is the same in every run: ``program(n)`` gives it alone.
    """
    ends: Counter[str] = Counter()
    stop = monotonic() + seconds
    for number in range(first, first + count):
        if monotonic() > stop:
            return number - first, ends
        try:
            ends[run(program(number))] += 1
        except Exception as error:
            error.add_note(f"in program {number}")
            raise
    return count, ends


def program(number: int) -> Program:
    """The program of a number."""
    rng = random.Random(number)
    return SOURCES[number % len(SOURCES)](rng)
