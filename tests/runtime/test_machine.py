"""The machine around the operations: control, faults, windows, lockstep, counters."""

from __future__ import annotations

import numpy as np
import pytest
from machine_programs import code, cube_load, load, machine, store

from ptoc.isa.faults import FaultKind
from ptoc.isa.image import Image, LineRow, pack
from ptoc.runtime import Machine, Memory, SimulatorDiagnostic, UnsupportedOperation, Window

COPY = load("U8", 4, 2, "T") + store("U8", "T#1")


def test_a_program_halts_after_its_last_block() -> None:
    m = machine(COPY, a0=0x100, a1=8, a2=0x200)
    m.memory.write(0x100, bytes(range(1, 13)))
    outcome = m.run()
    assert (outcome.status, outcome.fault) == ("halted", None)
    assert m.memory.read(0x200, 12) == bytes([1, 2, 3, 4, 0, 0, 0, 0, 9, 10, 11, 12])
    assert m.counters.operations == {"TLOAD": 1, "TSTORE": 1}
    assert (m.counters.gm_bytes_read, m.counters.gm_bytes_written) == (32, 32)


def test_a_limit_stops_and_resumes() -> None:
    m = machine(COPY, a0=0x100, a1=8, a2=0x200)
    assert m.run(max_steps=3).status == "limit"
    assert m.run().status == "halted"


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("BSTART.TLOAD U8", FaultKind.InstructionPage, 0x10004),
        ("BSTOP", FaultKind.BundleControl, 0x10000),
        ("j .+0x100", FaultKind.InstructionPage, 0x10100),
        ("add t#1, a0, ->a1", FaultKind.IllegalInstruction, 0x10000),
    ],
)
def test_control_faults(text: str, kind: FaultKind, address: int) -> None:
    fault = machine(text).run().fault
    assert fault is not None
    assert (fault.kind, fault.address) == (kind, address)


def test_a_start_that_completes_a_taken_block_is_jumped_over() -> None:
    m = machine("BSTART.STD DIRECT, .+8; BSTART.TLOAD U8")
    assert m.run().status == "halted"
    assert m.processors[0].block is None and m.processors[0].started == 1


def test_an_undecodable_word() -> None:
    m = Machine()
    m.load(b"\xff\xff\xff\xff\xff\xff\xff\xff")
    fault = m.run().fault
    assert fault is not None and fault.kind is FaultKind.IllegalInstruction


def test_a_fault_names_its_bundle_and_line() -> None:
    first, second = code(load("U8", 4, 1, "T")), code(store("FP32", "T#1"))
    lines = (LineRow(0, "kernel.py", 3, 1), LineRow(len(first), "kernel.py", 7, 5))
    m = Machine(memory=Memory(1 << 12))
    m.load_image(pack(Image(first + second, lines=lines)))
    fault = m.run().fault
    assert fault is not None
    assert (fault.kind, fault.bundle, fault.source) == (FaultKind.TileLegality, 1, "kernel.py:7")
    assert fault.bpc == 0x10000 + len(first)
    assert fault.text[0] == "BSTART.TSTORE FP32" and fault.text[-1] == "BSTOP"
    assert "kernel.py:7" in str(fault)


def state(m: Machine) -> tuple[object, ...]:
    tiles = [[(*key, id(tile)) for *key, tile in m.tiles(pe)] for pe in range(4)]
    return m.memory.read(0, 1 << 12), tiles, m.flags, [m.tiles(pe).used for pe in range(4)]


@pytest.mark.parametrize(
    "bad",
    [
        load("U8", 4, 1, "T"),
        store("U8", "T#1", base="a3"),
        store("FP16", "T#1"),
        "BSTART.VEC TCMP, FP32; B.DIM LB0, 4; B.IOT T#1, T#2, mask=1111, last, ->U<1>; BSTOP",
    ],
)
def test_a_faulting_bundle_changes_nothing(bad: str) -> None:
    """PE3 alone has a bad address, so everything before it must have been held back."""
    good = code(load("U8", 4, 1, "T"))
    m = Machine(memory=Memory(1 << 12))
    m.load(good + code(bad))
    m.set_gpr("a1", 4)
    m.set_gpr("a3", 0xF00)
    m.run(max_steps=6)
    before = state(m)
    for register in ("a0", "a3"):
        m.set_gpr(register, 0x1000, pe=3)
    assert m.run().status == "fault"
    assert state(m) == before


def test_a_faulted_bundle_can_be_completed_again() -> None:
    m = machine(COPY, a0=0x100, a1=8, a2=0xFFFF)
    outcome = m.run()
    assert outcome.fault is not None and outcome.fault.kind is FaultKind.DataPage
    m.set_gpr("a2", 0x200)
    assert m.run().status == "halted"


def test_windows_keep_a_bundle_inside_its_array() -> None:
    m = machine(COPY, a0=0x100, a1=8, a2=0x200)
    store_start = len(code(load("U8", 4, 2, "T")))
    m.windows[store_start] = Window(0x200, 2, 4, 8)
    assert m.run().status == "halted"

    m = machine(COPY, a0=0x100, a1=8, a2=0x200)
    m.windows[store_start] = Window(0x200, 2, 3, 8)
    fault = m.run().fault
    assert fault is not None and (fault.kind, fault.address) == (FaultKind.DataPage, 0x203)

    m = machine(COPY, a0=0x100, a1=8, a2=0x200)
    m.windows[0] = [None, None, Window(0x100, 1, 4, 0), None]
    fault = m.run().fault
    assert fault is not None and (fault.kind, fault.address) == (FaultKind.DataPage, 0x108)


def test_registers_are_private_to_a_pe() -> None:
    m = machine("addi x0, 1, ->x1; mul x1, x1, ->x2", x0=0)
    for pe in range(4):
        m.gpr[pe][20] = pe
    assert m.run().status == "halted"
    assert [m.gpr[pe][22] for pe in range(4)] == [1, 4, 9, 16]
    assert [m.gpr[pe][0] for pe in range(4)] == [0, 0, 0, 0]


def test_divergent_control_is_a_diagnostic() -> None:
    m = machine("BSTART.STD COND, .+8; setc.ne x0, zero; BSTOP")
    m.set_gpr("x0", 1, pe=2)
    with pytest.raises(SimulatorDiagnostic, match="divergent condition"):
        m.run()


def test_divergent_dimensions_matter_on_selected_pes_only() -> None:
    text = "BSTART.TLOAD U8; B.DIM LB0, x0, 4; B.IOT mask=0011, last, ->T<1>; BSTOP"
    m = machine(text)
    m.set_gpr("x0", 1, pe=3)
    assert m.run().status == "halted"
    m = machine(text)
    m.set_gpr("x0", 1, pe=1)
    with pytest.raises(SimulatorDiagnostic, match="LB0"):
        m.run()


def test_what_is_not_simulated_says_so() -> None:
    text = "BSTART.SFU TIMG2COL, FP32; B.DIM LB0, 4; B.IOT T#1, mask=0001, last, ->U<1>; BSTOP"
    with pytest.raises(UnsupportedOperation, match="TIMG2COL"):
        machine(text).run()


def test_waiting_for_a_shared_tile() -> None:
    m = machine("BSTART.TSTORE U8; B.IOS S3, mask=0001; BSTOP")
    outcome = m.run()
    assert (outcome.status, outcome.bundle) == ("waiting", 0)


def test_a_loop_runs_through_the_same_words_with_other_dimensions() -> None:
    """A ragged edge: widths 4, 3, 2, 1 from one static bundle."""
    body = "BSTART.TLOAD U8; B.DIM LB0, s0; B.DIM LB2, 4; B.IOT mask=0001, last, ->T<1>; BSTOP; subi s0, 1, ->s0"
    size = len(code(body))
    m = machine(f"{body}; BSTART.STD COND, .-{size}; setc.ne s0, zero; BSTOP", s0=4)
    assert m.run().status == "halted"
    assert [tile.descriptor.valid_cols for _, _, tile in m.tiles(0)] == [1, 2, 3, 4]


def test_a_small_matmul_end_to_end() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(-128, 128, (5, 7), np.int8), rng.integers(-128, 128, (7, 3), np.int8)
    text = f"""
        addi zero, 7, ->a1; addi zero, 0x100, ->a0; {cube_load("S8", "ND2M16", 7, 5, "T", size=1)}
        addi zero, 3, ->a1; addi zero, 0x200, ->a0; {cube_load("S8", "ND2N8", 3, 7, "U", size=1)}
        BSTART.TMATMUL S8; B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM LB0, 5; B.DIM LB1, 3; B.DIM LB2, 7; B.IOT T#1, U#1, mask=1111, last, ->M<3>; BSTOP
    """
    m = machine(text)
    m.memory.write(0x100, a.tobytes())
    m.memory.write(0x200, b.tobytes())
    outcome = m.run()
    assert outcome.status == "halted", outcome.fault
    want = a.astype(np.int32) @ b.astype(np.int32)
    for pe in range(4):
        assert (m.tiles(pe).find(32).values.view(np.int32) == want).all()
    assert m.counters.macs == 4 * 5 * 3 * 7
