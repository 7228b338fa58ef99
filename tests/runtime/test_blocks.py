"""Whole headers as one step do what their commands do one by one."""

from __future__ import annotations

import pytest
from machine_programs import code, cube_load, load, machine, store

from ptoc.runtime import Machine
from ptoc.runtime.outcome import Outcome

RAGGED = """
    BSTART.TLOAD FP32; B.DIM LB0, s0, 2; B.DIM LB1, 2; B.DIM LB2, 8
    B.IOR a0, a1; B.IOT mask=1111, last, ->U<1>; BSTOP
"""
NO_STOP = RAGGED.replace("; BSTOP", "")
VIEW = """
    BSTART.TLOAD FP32; B.DIM LB0, 16; B.DIM LB1, 8; B.IOR a0, a1
    B.IOS mask=0001, ->S1<3>; B.ASSEMBLE 1, 1, zero, 0, 3; BSTOP
    BSTART.TSTORE FP32; B.IOR a2, a1; B.IOS S1, mask=0001; B.SUBVIEW 0, s0, 2, 1; BSTOP
"""
LOCAL_VIEW = """
    BSTART.TSTORE FP16; B.DATR {M162ND, DTYPE_NONE, Null, EQ, Default, 0, 0}; B.DIM LB0, 16; B.DIM LB1, 16
    B.IOR a2, a1; B.IOT T#1, mask=1111, last; B.SUBVIEW 0, s0, 0, 3; BSTOP
"""
PROGRAMS = {
    "load and store": load("FP32", 4, 2, "T") + store("FP32", "T#1"),
    "CUBE": cube_load("FP16", "ND2M16", 8, 16, "T", size=2),
    "dimensions in registers": RAGGED + store("FP32", "U#1"),
    "a Local view": cube_load("FP16", "ND2M16", 64, 16, "T", size=5) + LOCAL_VIEW,
    "blocks without a stop": NO_STOP + NO_STOP + "BSTOP\n",
    "a shared view": VIEW,
    "a second record": load("FP32", 4, 2, "T").replace("B.DIM LB1", "B.DIM LB0"),
    "an illegal shape": load("FP32", 4, 200, "T"),
    "a page that is not there": "slli a0, 20, ->a0\n" + load("FP32", 4, 2, "T"),
}


def looped(body: str) -> str:
    """A body five times, whose dimensions and addresses change on the way."""
    body += "addi s0, 1, ->s0; addi a0, 64, ->a0; addi s1, 1, ->s1\n"
    return f"{body}BSTART.STD COND, .-{len(code(body))}; setc.ltui s1, 5; BSTOP\n"


def built(text: str) -> Machine:
    m = machine(text, a0=64, a1=64, a2=0x8000, s0=0, s1=0)
    m.memory.write(0, bytes(n * 7 % 251 for n in range(1 << 12)))
    return m


def step_by_step(m: Machine) -> tuple[Outcome, int]:
    """Run to the end in single steps; how it ended, and after how many."""
    steps = 0
    while True:
        outcome = m.run(1)
        steps += outcome.steps
        if outcome.status != "limit":
            return outcome, steps


def seen(m: Machine) -> tuple[object, ...]:
    """The state that a program can leave."""
    processor = m.processors[0]
    tiles = [(name, at, m.payload(tile)) for pe in range(4) for name, at, tile in m.tiles(pe)]
    return m.memory.read(0, 1 << 16), tiles, processor.regs, processor.pc, processor.started, m.flags, m.counters


@pytest.mark.parametrize("name", PROGRAMS)
def test_headers_are_their_commands(name: str) -> None:
    text = looped(PROGRAMS[name])
    slow, (want, steps) = (m := built(text)), step_by_step(m)
    for _ in range(2):  # the second machine finds what the first one has put together
        fast = built(text)
        outcome = fast.run()
        assert (outcome.status, outcome.fault, outcome.bundle, outcome.steps) == (
            want.status,
            want.fault,
            want.bundle,
            steps,
        )
        assert repr(seen(fast)) == repr(seen(slow))


def test_a_run_with_a_limit_stops_inside_a_header() -> None:
    text = looped(PROGRAMS["load and store"])
    assert built(text).run().status == "halted"
    whole = built(text).run().steps
    for limit in range(1, whole):
        m = built(text)
        first = m.run(limit)
        assert (first.status, first.steps) == ("limit", limit)
        rest = m.run()
        assert (rest.status, rest.steps) == ("halted", whole - limit)


def test_headers_become_one_step_when_they_are_met_again() -> None:
    m = built(looped(PROGRAMS["load and store"]))
    m.run()
    program = m.processors[0]._program
    starts = [pc for pc in program.blocks if program.blocks[pc] is not program.steps[pc]]
    assert len(starts) == 2
