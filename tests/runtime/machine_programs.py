"""Machines from assembly text, for tests."""

from __future__ import annotations

from ptoc.isa.text import parse_instruction
from ptoc.runtime import Machine, Memory


def code(text: str) -> bytes:
    """The words of instructions separated by lines or semicolons (branch targets as ``.+8``)."""
    pieces = [piece.strip() for line in text.splitlines() for piece in line.split(";")]
    return b"".join(parse_instruction(piece).instruction.to_bytes() for piece in pieces if piece)


def machine(text: str, *, memory: Memory | None = None, **registers: int) -> Machine:
    """A machine with 64 KiB at 0 (or the given memory), a program and GPRs that all PEs share."""
    m = Machine(memory=memory or Memory(1 << 16))
    m.load(code(text))
    for name, value in registers.items():
        m.set_gpr(name, value)
    return m


def load(dtype: str, cols: int, rows: int, hand: str, *, size: int = 1, mask: str = "1111") -> str:
    """A TLOAD from a0 with stride a1 into a row-major tile."""
    return f"""
        BSTART.TLOAD {dtype}; B.DIM LB0, {cols}; B.DIM LB1, {rows}
        B.IOR a0, a1; B.IOT mask={mask}, last, ->{hand}<{size}>; BSTOP
    """


def cube_load(dtype: str, layout: str, cols: int, rows: int, hand: str, *, size: int = 1) -> str:
    """A TLOAD from a0 with stride a1 into a CUBE tile on all PEs."""
    return f"""
        BSTART.TLOAD {dtype}; B.DATR {{{layout}, DTYPE_NONE, Null, EQ, Default, 0, 0}}
        B.DIM LB0, {cols}; B.DIM LB1, {rows}
        B.IOR a0, a1; B.IOT mask=1111, last, ->{hand}<{size}>; BSTOP
    """


def store(dtype: str, source: str, *, base: str = "a2", mask: str = "1111") -> str:
    """A TSTORE of a whole row-major tile to ``base`` with stride a1."""
    return f"BSTART.TSTORE {dtype}; B.IOR {base}, a1; B.IOT {source}, mask={mask}, last; BSTOP\n"
