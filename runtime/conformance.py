"""One conformance vector: a start state and a program in, the complete outcome out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptoc.runtime.machine import Machine
from ptoc.runtime.memory import Memory
from ptoc.runtime.outcome import Outcome
from ptoc.runtime.tiles import Tile


def run_case(case: dict[str, Any]) -> dict[str, Any]:
    """Execute a vector from reset and describe what it left: fault, waiting, memory, tiles of PE0, flags."""
    memory = Memory(case["memory"]["size"])
    for address, data in case["memory"]["segments"]:
        memory.write(address, bytes.fromhex(data))
    before = {region.address: region.data.copy() for region in memory.regions}
    machine = Machine(memory=memory)
    words = [(int(word, 16), bits // 8) for word, bits in case["program"]]
    machine.load(b"".join(word.to_bytes(length, "little") for word, length in words))
    if not case.get("image"):
        machine.set_gpr("ra", 0)
    for pe, selector, value in case["gpr"]:
        machine.set_gpr(selector, int(value, 16), pe)
    outcome = machine.run() if case.get("image") else _in_order(machine, [length for _, length in words])
    result: dict[str, Any] = {
        "fault": None,
        "memory": _changes(memory, before),
        "tiles": [describe_tile(0, hand, n, tile) for hand, n, tile in machine.tiles(0)],
        "flags": machine.flags,
    }
    if outcome is not None and outcome.fault is not None:
        result["fault"] = {"kind": str(outcome.fault.kind), "bundle": outcome.fault.bundle}
    if outcome is not None and outcome.status == "waiting":
        result["waiting"] = outcome.bundle
    return result


def _in_order(machine: Machine, lengths: list[int]) -> Outcome | None:
    """Execute the words one after the other, wherever control would go, until one faults or waits."""
    pc = machine.load_address
    for length in lengths:
        outcome = machine.step_at(pc)
        if outcome.status in ("fault", "waiting"):
            return outcome
        pc += length
    return None


def _changes(memory: Memory, before: dict[int, np.ndarray[Any, Any]]) -> list[list[Any]]:
    """The span of changed bytes of every region, as [address, hex]."""
    changes: list[list[Any]] = []
    for region in memory.regions:
        changed = np.flatnonzero(region.data != before[region.address])
        if len(changed):
            first, last = int(changed[0]), int(changed[-1])
            changes.append([region.address + first, region.data[first : last + 1].tobytes().hex()])
    return changes


def describe_tile(pe: int, hand: str, distance: int, tile: Tile) -> dict[str, Any]:
    """A tile with its physical payload and definedness, in the form of the vectors."""
    d = tile.descriptor
    return {
        "pe": pe,
        "hand": hand,
        "n": distance,
        "kind": d.kind,
        "dtype": d.dtype.name,
        "layout": d.layout,
        "capacity": d.capacity,
        "rows": d.rows,
        "cols": d.cols,
        "valid_rows": d.valid_rows,
        "valid_cols": d.valid_cols,
        "payload": tile.payload().hex(),
        "defined": np.packbits(tile.definedness(), bitorder="little").tobytes().hex(),
    }
