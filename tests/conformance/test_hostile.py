"""Fuzz: random and mutated programs, each reproducible by its number."""

from __future__ import annotations

import pytest

from conformance.hostile import Program, check_nothing_changed, fuzz
from ptoc.isa.text import parse_instruction

TOTAL, CHUNKS = 200_000, 8
SECONDS = 40.0
"""Of each chunk: enough on a machine of our kind, and a limit of about five minutes for all on a slower one."""


def test_some_hostile_programs() -> None:
    done, ends = fuzz(0, 2500, 20.0)
    assert done and {"halted", "TileLegality", "BundleControl", "IllegalInstruction"} <= ends.keys()


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_hostile_programs(chunk: int) -> None:
    size = TOTAL // CHUNKS
    done, ends = fuzz(chunk * size, size, SECONDS)
    assert done >= size // 10 and sum(ends.values()) == done


def test_a_fault_that_changed_something_is_noticed() -> None:
    text = ("BSTART.TLOAD U8", "B.IOT mask=0001, last, ->T<1>", "BSTOP", "BSTOP")
    code = b"".join(parse_instruction(line).instruction.to_bytes() for line in text)
    program = Program(code, 256)
    machine = program.machine()
    outcome = machine.run()
    assert outcome.fault is not None
    check_nothing_changed(program, machine, outcome)
    machine.memory.write(7, b"x")
    with pytest.raises(AssertionError, match="memory"):
        check_nothing_changed(program, machine, outcome)
