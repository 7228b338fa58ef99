"""Programs as text that end in one bundle, and how they end: what tests of checks are made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from conformance.cases import Own, dims

from ptoc.isa.registers import LOCAL_POOL_BYTES
from ptoc.isa.text import parse_instruction
from ptoc.runtime import Machine, Memory
from ptoc.runtime.conformance import run_case
from ptoc.runtime.tiles import Tile

Z = "NORM, DTYPE_NONE, Zero, EQ, Default, 0, 0"
TO_N = "last, ->N<1>"
ONE, BOTH, NONE = f"B.IOT T#1, mask=0001, {TO_N}", f"B.IOT T#1, U#1, mask=0001, {TO_N}", f"B.IOT mask=0001, {TO_N}"
LEGAL, CONTROL, ALLOCATION = "TileLegality", "BundleControl", "TileAllocation"


def bundle(operation: str, *shape: int, binding: str, ior: str = "", datr: str | None = Z) -> str:
    attributes = f"B.DATR {{{datr}}}; " if datr is not None else ""
    sizes = f"{dims(*shape)}; " if shape else ""
    scalars = f"B.IOR {ior}; " if ior else ""
    return f"BSTART.{operation}; {attributes}{sizes}{scalars}{binding}; BSTOP\n"


FIELDS = {
    "pad": "NORM, DTYPE_NONE, Max, EQ, Default, 0, 0",
    "cmode": "NORM, DTYPE_NONE, Zero, NE, Default, 0, 0",
    "rounding": "NORM, DTYPE_NONE, Zero, EQ, RTZ, 0, 0",
    "saturation": "NORM, DTYPE_NONE, Zero, EQ, Default, 1, 0",
    "canonical": "NORM, DTYPE_NONE, Zero, EQ, Default, 0, 1",
    "type": "NORM, FP16, Zero, EQ, Default, 0, 0",
}


def ends(text: str) -> str | None:
    """The fault of the last bundle; the ones before have none."""
    own = Own(text, "", 0)
    fault = run_case(own.start())["fault"]
    if fault is None:
        return None
    assert fault["bundle"] == text.count("BSTART") - 1
    return str(fault["kind"])


def machine_after(text: str, spoil: Callable[[Machine], None]) -> Machine:
    """A machine that has executed all bundles; before the last one something happens to it."""
    m = Machine(memory=Memory(1 << 16))
    pieces = [piece.strip() for piece in text.replace("\n", ";").split(";") if piece.strip()]
    program = [parse_instruction(piece).instruction for piece in pieces]
    m.load(b"".join(inst.to_bytes() for inst in program))
    m.set_gpr("a1", 64)
    m.set_gpr("a3", 1)
    last = max(n for n, piece in enumerate(pieces) if piece.startswith("BSTART"))
    pc = m.load_address
    for n, inst in enumerate(program):
        if n == last:
            spoil(m)
        fault = m.step_at(pc).fault
        if fault is not None:
            raise Faulted(fault.kind)
        pc += inst.length
    return m


class Faulted(Exception):
    """A bundle has faulted."""


def stepped(text: str, spoil: Callable[[Machine], None]) -> str | None:
    """The fault of the last bundle."""
    try:
        machine_after(text, spoil)
    except Faulted as fault:
        return str(fault)
    return None


def forget(m: Machine) -> None:
    """An element of the newest tile in hand T has no value any more."""
    ring = m.tiles(0).hands[0]
    defined = np.ones(ring[0].values.shape, bool)
    defined[2, 3] = False
    ring[0] = Tile(ring[0].descriptor, ring[0].values, defined=defined)


def fill_pool(m: Machine) -> None:
    m.tiles(0).used = LOCAL_POOL_BYTES
