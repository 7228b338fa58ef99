"""Programs under construction: instructions, registers and memory, executed by the reference as they come.

So the generator knows at every step which tiles are live, and stops where the program does.
"""

from __future__ import annotations

import random
import struct

from ptoc.isa.encoding import make
from ptoc.isa.forms import Instruction
from reference.agreement import Case
from reference.bundle import MASKS
from reference.machine import Reference
from reference.values import CODES

MEMORY = 1 << 16
RANDOM, FLOATS, SMALL, WORDS, OFFSETS = 0x0000, 0x4000, 0x6000, 0x7000, 0x7400
SLOPES, SHIFTS, STEPS, OUT = 0x7800, 0x7C00, 0x8000, 0xC000
"""Areas of memory: any bits, ordinary FP32 numbers, bytes near zero, legal parameter words, small multiples of 8."""


def memory_image(rng: random.Random) -> bytes:
    """Memory with something useful for every kind of operand."""
    out = bytearray(rng.randbytes(MEMORY))
    for at in range(FLOATS, SMALL, 4):
        x = rng.choice([0.0, -0.0, -1.5, rng.uniform(-4, 4), rng.uniform(-600, 600), 2.0 ** rng.randint(-149, 120)])
        out[at : at + 4] = struct.pack("<f", x)
    for at in range(SMALL, WORDS):
        out[at] = rng.randint(-4, 4) & 0xFF
    for at in range(WORDS, STEPS, 8):
        if at < SLOPES:
            word = scale_word(rng, rng.randint(0, 511) if at >= OFFSETS else 0)
        else:
            word = slope_word(rng) if at < SHIFTS else shift_word(rng)
        out[at : at + 8] = word.to_bytes(8, "little")
    for at in range(STEPS, OUT, 4):
        out[at : at + 4] = (8 * rng.randint(0, 200)).to_bytes(4, "little")
    return bytes(out)


def scale_word(rng: random.Random, offset: int) -> int:
    """A scale that is legal in every scale mode, with an offset that only some have."""
    return (rng.randint(120, 134) << 10 | rng.getrandbits(10)) << 13 | offset << 37


def slope_word(rng: random.Random) -> int:
    return rng.choice([0, rng.randint(115, 130) << 10 | rng.getrandbits(10)])


def shift_word(rng: random.Random) -> int:
    return rng.randint(0, 15) << 32


class Builder:
    """A random program with its start state; ``done`` once the reference has stopped."""

    def __init__(self, seed: int, memory: bytes | None = None) -> None:
        self.rng = random.Random(seed)
        self.program: list[Instruction] = []
        self.memory = memory_image(self.rng) if memory is None else memory
        self.gpr = [[0] * 24 for _ in range(4)]
        self.machine = Reference(bytearray(self.memory), [[0] * 24 for _ in range(4)])
        self._free = list(range(1, 24))
        self.done = False
        self.mutation = 0.03

    @property
    def case(self) -> Case:
        return Case(self.memory, self.gpr, self.program)

    def register(self, values: list[int]) -> int:
        """The code of a register that holds these values, one per PE."""
        values = [value % 2**64 for value in values]
        for code in range(24):
            used = code not in self._free
            if used and [regs[code] for regs in self.machine.gpr] == values:
                return code
        if not self._free:
            return self.rng.randrange(24)
        code = self._free.pop(0)
        for pe, value in enumerate(values):
            self.gpr[pe][code] = self.machine.gpr[pe][code] = value
        return code

    def emit(self, *instructions: Instruction) -> None:
        """Append one bundle, perhaps spoiled, and execute it; most of those that fault are taken back."""
        if self.done:
            return
        bundle = list(instructions)
        if self.rng.random() < self.mutation:
            self._spoil(bundle)
        machine, before = self.machine, len(self.program)
        started, generations, gpr = machine.started, dict(machine.open), [list(regs) for regs in machine.gpr]
        self.program += bundle
        if machine.run(bundle) is None:
            return
        self.done = self.rng.random() < 0.3
        if not self.done:
            del self.program[before:]
            machine.bundle, machine.group, machine.started = None, "closed", started
            machine.open, machine.gpr = generations, gpr

    def _spoil(self, bundle: list[Instruction]) -> None:
        """One small error somewhere: a field, a missing, a repeated or a moved command, one from elsewhere."""
        rng, at = self.rng, self.rng.randrange(len(bundle))
        kind = rng.random()
        if kind < 0.7:
            bundle[at] = changed(rng, bundle[at])
        elif kind < 0.8:
            del bundle[at]
        elif kind < 0.88:
            bundle.insert(rng.randrange(len(bundle)), bundle[at])
        elif kind < 0.96:
            bundle.insert(rng.randrange(len(bundle)), bundle.pop(at))
        else:
            bundle.insert(at, make("ADDI", RegDst=rng.randrange(24), SrcL=rng.randrange(24), uimm12=rng.getrandbits(3)))


def changed(rng: random.Random, inst: Instruction) -> Instruction:
    """The instruction with another legal value in one field."""
    if not inst.form.fields:
        return inst
    at = rng.randrange(len(inst.form.fields))
    field, values = inst.form.fields[at], list(inst.values)
    if field.allowed is not None:
        values[at] = rng.choice(sorted(field.allowed))
    else:
        values[at] = rng.choice([field.low, field.high, rng.randint(field.low, field.high), values[at] ^ 1])
    if field.name == "Function":
        return inst
    return Instruction(inst.form, tuple(values)) if field.accepts(values[at]) and field.name != "Mode" else inst


# Commands by their usual operands


def start(operation: str, dtype: str) -> Instruction:
    from reference import indexed, layout, sorting, vector

    selectors = vector.SELECTORS | layout.SELECTORS | indexed.SELECTORS | sorting.SELECTORS
    for (mode, function), name in selectors.items():
        if name == operation:
            return make("BSTART.TEPL", DataType=CODES[dtype], Mode=mode, Function=function)
    return make("BSTART." + operation.replace("_", "."), DataType=CODES.get(dtype, 31))


def stop() -> Instruction:
    return make("BSTOP")


def dim(n: int, value: int, register: int = 0) -> Instruction:
    if value < 256 and not register and value % 3 == 0:
        return make("C.B.DIMI", LoopNest=n, imm8=value)
    return make(f"B.DIM.LB{n}", uimm17=value, RegSrc=register)


def ior(*registers: int) -> Instruction:
    return make("B.IOR", **{f"RegSrc{i}": code for i, code in enumerate(registers)})


def datr(layout: int = 0, dtype: int = 31, pad: int = 0, cmode: int = 0, rmode: int = 0, sat: int = 0) -> Instruction:
    return make("B.DATR", Layout=layout, DataType=dtype, PadValueOrByteId=pad, CMode=cmode, RMode=rmode, Sat=sat)


def iot(mask: int, *sources: int, hand: int = 0, size: int = 0, last: bool = True) -> Instruction:
    fields = {f"SrcTile{i}": source for i, source in enumerate(sources)}
    fields |= {"L": int(last), "PEMode": MASKS.index(mask)}
    if size:
        fields |= {"SizeCode": size, "DstTile": hand}
    return make(f"B.IOT.{'S' * len(sources)}{'D' if size else ''}", **fields)


def ios(mask: int, name: int, size: int = 0) -> Instruction:
    return make("B.IOS", SharedTID=name, SizeCode=size, PEMode=MASKS.index(mask))


def subview(slot: int, register: int, cells: int, size: int) -> Instruction:
    return make("B.SUBVIEW", SrcSelect=slot, RegSrc=register, uimm11=cells, SubviewSizeCode=size)


def assemble(init: bool, last: bool, register: int, cells: int, size: int) -> Instruction:
    return make("B.ASSEMBLE", INIT=init, LAST=last, RegSrc=register, uimm11=cells, SizeCode=size)
