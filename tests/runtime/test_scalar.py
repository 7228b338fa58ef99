"""Scalar instructions on four PEs: results, queues, control."""

from __future__ import annotations

import numpy as np
import pytest
from machine_programs import code, machine

from ptoc.isa.encoding import FORMS, make
from ptoc.isa.faults import FaultKind
from ptoc.isa.registers import GPR
from ptoc.runtime import Machine
from ptoc.runtime.decode import resembles_start

TOP = 1 << 64
A, B, D, OUT = (GPR[name] for name in ("a0", "a1", "a2", "s0"))


def result(text: str, **registers: int) -> int:
    m = machine(text, **registers)
    assert m.run().status == "halted"
    return m.gpr[0][OUT]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("add a0, a1, ->s0", 12),
        ("sub a0, a1, ->s0", 2),
        ("sub a1, a0, ->s0", TOP - 2),
        ("add a0, a1<<3, ->s0", 47),
        ("add a0, a2.sw, ->s0", 6),
        ("add a0, a2.uw, ->s0", 7 + 0xFFFF_FFFF),
        ("add a0, a1.neg, ->s0", 2),
        ("and a0, a1.not, ->s0", 2),
        ("or a0, a1, ->s0", 7),
        ("xor a0, a1, ->s0", 2),
        ("sll a0, a1, ->s0", 7 << 5),
        ("srl a2, a1, ->s0", 0xFFFF_FFFF >> 5),
        ("sra a3, a1, ->s0", TOP - 1),
        ("mul a3, a0, ->s0", TOP - 7),
        ("madd a0, a1, a2, ->s0", 0xFFFF_FFFF + 35),
        ("divu a0, a1, ->s0", 1),
        ("divu a0, zero, ->s0", 0),
        ("remu a0, a1, ->s0", 2),
        ("remu a0, zero, ->s0", 7),
        ("max a3, a0, ->s0", 7),
        ("maxu a3, a0, ->s0", TOP - 1),
        ("min a3, a0, ->s0", TOP - 1),
        ("minu a3, a0, ->s0", 7),
        ("csel a0, a1, a2, ->s0", 5),
        ("csel zero, a1, a0, ->s0", 7),
        ("csel zero, a1, a0.neg, ->s0", TOP - 7),
        ("cmp.lt a3, a0, ->s0", 1),
        ("cmp.ltu a3, a0, ->s0", 0),
        ("cmp.eq a3, a2.sw, ->s0", 1),
        ("addi a0, 4095, ->s0", 4102),
        ("subi a0, 8, ->s0", TOP - 1),
        ("andi a3, -16, ->s0", TOP - 16),
        ("srai a3, 63, ->s0", TOP - 1),
        ("slli a0, 63, ->s0", 1 << 63),
        ("lui -1, ->s0", TOP - 4096),
        ("addtpc 1, ->s0", 0x11000),
        ("hl.lis -5, ->s0", TOP - 5),
        ("hl.liu 0xfffffffb, ->s0", 0xFFFF_FFFB),
        ("hl.lui 0x12345678, ->s0", 0x12345678 << 32),
        ("hl.addi a0, 0x123456, ->s0", 0x12345D),
        ("c.movi -3, ->s0", TOP - 3),
        ("c.movr a1, ->s0", 5),
    ],
)
def test_results(text: str, want: int) -> None:
    assert result(text, a0=7, a1=5, a2=0xFFFF_FFFF, a3=TOP - 1) == want


def test_queues_are_newest_first_and_reading_keeps_them() -> None:
    text = "c.movi 1, ->t; c.movi 2, ->t; c.movi 3, ->u; add t#1, t#2, ->s1; madd t#1, u#1, t#2, ->s0"
    assert result(text) == 7


def test_the_zero_register_stays_zero() -> None:
    assert result("c.movi 5, ->zero; addi zero, 1, ->s0") == 1


def test_pes_with_their_own_values_compute_as_if_alone() -> None:
    """Lockstep of four different machines equals four machines run one by one."""
    rng = np.random.default_rng(5)
    keys = ["ADD", "SUB", "XOR", "SRA", "MUL", "MADD", "DIVU", "MAX", "MINU", "CSEL", "CMP.LT", "ADDI", "SRAI"]
    words = []
    for key in rng.choice(keys, 120):
        form = make(str(key)).form
        fields = {f.name: int(rng.integers(2, 8)) for f in form.fields if f.name.startswith(("Src", "RegDst"))}
        fields |= {f.name: int(rng.integers(0, 4)) for f in form.fields if f.name == "SrcRType"}
        words.append(make(str(key), **fields).to_bytes())
    values = rng.integers(0, TOP, (4, 6), np.uint64).tolist()

    together = Machine()
    together.load(b"".join(words))
    for pe in range(4):
        for i, value in enumerate(values[pe]):
            together.set_gpr(2 + i, value, pe)
    assert together.run().status == "halted"
    for pe in range(4):
        alone = Machine()
        alone.load(b"".join(words))
        for i, value in enumerate(values[pe]):
            alone.set_gpr(2 + i, value)
        alone.run()
        assert [alone.gpr[0][i] for i in range(24)] == [together.gpr[pe][i] for i in range(24)]


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("setc.ltu a0, a1", False),
        ("setc.lt a3, a0", True),
        ("setc.eqi a0, 7", True),
        ("setc.ltui a0, 1<<12", True),
        ("setc.geui a0, 8", False),
        ("c.setc.ne a0, a1", True),
    ],
)
def test_conditions(condition: str, taken: bool) -> None:
    size = len(code(condition))
    text = f"BSTART.STD COND, .+{4 + size + 4 + 2}; {condition}; BSTOP; c.movi 1, ->s0; c.movi 2, ->s1"
    m = machine(text, a0=7, a1=5, a3=TOP - 1)
    assert m.run().status == "halted"
    assert (m.gpr[0][OUT] == 0) == taken
    assert m.gpr[0][GPR["s1"]] == 2


def test_a_call_returns_behind_it() -> None:
    """CALL jumps over the caller's continuation, the callee's RET comes back to it."""
    text = """
        BSTART.CALL .+14, .+8, ->ra; BSTOP
        c.movi 1, ->s0; j .+14
        BSTART.STD RET; c.movi 2, ->s1; BSTOP
    """
    m = machine(text)
    assert m.run().status == "halted"
    assert (m.gpr[0][OUT], m.gpr[0][GPR["s1"]]) == (1, 2)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("setc.eq a0, a0", FaultKind.BundleControl),
        ("BSTART.STD FALL; setc.eq a0, a0", FaultKind.BundleControl),
        ("BSTART.STD COND, .+8; setc.eq a0, a0; setc.eq a0, a0", FaultKind.BundleControl),
        ("setc.tgt a0", FaultKind.BundleControl),
        ("BSTART.STD COND, .+8; setc.eq t#1, a0", FaultKind.IllegalInstruction),
        ("jr a1, 0", FaultKind.InstructionPC),
        ("BSTART.STD DIRECT, .+8; setc.tgt a1; BSTOP", FaultKind.InstructionPC),
        ("BSTART.STD IND", FaultKind.BundleControl),
        ("BSTART.TLOAD U8; c.movi 1, ->t; B.DIM LB0, 1", FaultKind.BundleControl),
    ],
)
def test_control_faults(text: str, kind: FaultKind) -> None:
    fault = machine(text, a1=0x101).run().fault
    assert fault is not None and fault.kind is kind


@pytest.mark.parametrize(
    ("word", "length", "start"),
    [(0xF8011181, 4, True), (0x00331181, 4, True), (0x1800, 2, True), (0x1000, 2, True), (0x00002823, 4, False)],
)
def test_which_undecodable_words_count_as_starts(word: int, length: int, start: bool) -> None:
    assert resembles_start(FORMS, word, length) == start
