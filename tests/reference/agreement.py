"""One program on both simulators, and the first thing in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ptoc.isa.forms import Instruction
from ptoc.runtime import Machine, Memory
from ptoc.runtime.conformance import describe_tile
from ptoc.runtime.errors import SimulatorDiagnostic
from ptoc.runtime.tiles import Tile as SimulatedTile
from reference.machine import Reference
from reference.state import HANDS, Tile


@dataclass
class Case:
    """A start state and the instructions to execute one after the other."""

    memory: bytes
    gpr: list[list[int]]
    program: Sequence[Instruction]

    def __str__(self) -> str:
        return "\n".join(str(inst) for inst in self.program)


State = dict[str, Any]


def difference(case: Case) -> str | None:
    """What the two simulators leave differently, or ``None``."""
    ours, theirs = simulated(case), expected(case)
    for key in {**ours, **theirs}:
        if ours.get(key) != theirs.get(key):
            return f"{key}: simulator {_short(ours.get(key))}, reference {_short(theirs.get(key))}"
    return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 400 else f"{text[:400]}..."


def simulated(case: Case) -> State:
    """The state that ``ptoc.runtime`` leaves."""
    memory = Memory(len(case.memory))
    memory.write(0, case.memory)
    machine = Machine(memory=memory)
    machine.load(b"".join(inst.to_bytes() for inst in case.program))
    machine.set_gpr("ra", 0)
    for pe, regs in enumerate(case.gpr):
        for code, value in enumerate(regs):
            machine.set_gpr(code, value, pe)
    pc, end = machine.load_address, None
    for inst in case.program:
        try:
            outcome = machine.step_at(pc)
        except SimulatorDiagnostic:
            end = ("diagnostic", "", max(machine.processors[0].started - 1, 0))
            break
        if outcome.fault is not None:
            end = ("fault", str(outcome.fault.kind), outcome.fault.bundle)
            break
        if outcome.status == "waiting":
            end = ("waiting", "", outcome.bundle)
            break
        pc += inst.length
    state: State = {"end": end, "flags": machine.flags, "memory": memory.read(0, len(case.memory))}
    for pe in range(4):
        for hand, n, tile in machine.tiles(pe):
            state[f"PE{pe} {hand}#{n}"] = _of_simulator(tile)
    for number in range(64):
        shared = machine.shared_tile(number)
        if shared is not None:
            state[f"S{number}"] = _of_simulator(shared)
    return state


def expected(case: Case) -> State:
    """The state that the reference leaves."""
    machine = Reference(bytearray(case.memory), [list(regs) for regs in case.gpr])
    end = machine.run(case.program)
    state: State = {"end": end, "flags": machine.flags, "memory": bytes(machine.memory)}
    for pe, hands in enumerate(machine.hands):
        for hand, tiles in zip(HANDS, hands):
            for n, tile in enumerate(tiles, 1):
                state[f"PE{pe} {hand}#{n}"] = _of_reference(tile)
    for number, published in machine.shared.items():
        state[f"S{number}"] = _of_reference(published.tile)
    return state


def _of_simulator(tile: SimulatedTile) -> tuple[object, ...]:
    d = describe_tile(0, "", 0, tile)
    shape = ("kind", "dtype", "layout", "capacity", "rows", "cols", "valid_rows", "valid_cols")
    return (*(d[key] for key in shape), d["payload"], d["defined"])


def _of_reference(tile: Tile) -> tuple[object, ...]:
    """A tile with its payload and definedness as hex, undefined elements zero."""
    count, bits = tile.rows * tile.cols, tile.bits
    payload, defined = bytearray(-(-count * bits // 8)), bytearray(-(-count // 8))
    for i, value in tile.values.items():
        defined[i // 8] |= 1 << i % 8
        if bits < 8:
            payload[i * bits // 8] |= value << i * bits % 8
        else:
            payload[i * bits // 8 : (i + 1) * bits // 8] = value.to_bytes(bits // 8, "little")
    return (*tile.description, payload.hex(), defined.hex())
