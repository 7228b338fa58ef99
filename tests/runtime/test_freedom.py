"""What the architecture leaves open: seeds use it, and adversarial runs find who relies on it."""

from __future__ import annotations

import numpy as np
import pytest
from machine_programs import code, load, machine, store

from ptoc.isa.image import LineRow
from ptoc.runtime import Machine, Memory

SEEDS = (0, 1, 2, 3, 4, 5, 6, 7)

# Data from a0, index from a3, mask from a5 > 0; scattered to a2.
SCATTER = f"""
    {load("U8", 4, 1, "T")}
    BSTART.TLOAD S32; B.DIM LB0, 4; B.IOR a3, a1; B.IOT mask=0001, last, ->U<1>; BSTOP
    BSTART.TLOAD U8; B.DIM LB0, 4; B.IOR a5, a1; B.IOT mask=0001, last, ->M<1>; BSTOP
    BSTART.VEC TCMP, U8; B.DATR {{NORM, DTYPE_NONE, Zero, EQ, Default, 0, 0}}
    B.DIM LB0, 4; B.IOT M#1, M#1, mask=0001, last, ->N<1>; BSTOP
    BSTART.MSCATTER.MASK U8; B.DIM LB0, 4; B.IOT T#1, U#1, mask=0001; B.IOT N#1, mask=0001, last
    B.IOR a2; BSTOP
"""


def seeded(m: Machine, seed: int | None) -> Machine:
    return m.copy(order_seed=seed)


def scatter(index: list[int]) -> Machine:
    m = machine(SCATTER, a0=0x100, a1=16, a2=0x1000, a3=0x200, a5=0x300)
    m.memory.write(0x100, bytes([10, 20, 30, 40]))
    m.memory.write(0x200, np.int32(index).tobytes())
    return m


def overlapping_rows() -> Machine:
    """Rows of four bytes, two bytes apart."""
    text = load("U8", 4, 3, "T") + "BSTART.TSTORE U8; B.IOR a2, a3; B.IOT T#1, mask=0001, last; BSTOP"
    m = machine(text, a0=0x100, a1=4, a2=0x1000, a3=2)
    m.memory.write(0x100, bytes(range(1, 13)))
    return m


def pes_at_one_place() -> Machine:
    """Every PE stores its own byte to the same address."""
    text = load("U8", 1, 1, "T") + store("U8", "T#1")
    m = machine(text, a1=0, a2=0x1000)
    m.memory.write(0x100, bytes([1, 2, 3, 4]))
    for pe in range(4):
        m.set_gpr("a0", 0x100 + pe, pe)
    return m


def nibbles() -> Machine:
    """Two PEs store three nibbles each to the same two bytes."""
    text = "BSTART.TLOAD U4X2; B.DIM LB0, 3; B.DIM LB2, 4; B.IOR a0, a1; B.IOT mask=0011, last, ->T<1>; BSTOP\n"
    text += store("U4X2", "T#1", mask="0011")
    m = machine(text, a1=0, a2=0x1000)
    m.memory.write(0x100, bytes([0x21, 0x03, 0x54, 0x06]))
    m.memory.write(0x1000, bytes([0xFF, 0xFF]))
    for pe in range(2):
        m.set_gpr("a0", 0x100 + 2 * pe, pe)
    return m


@pytest.mark.parametrize(
    ("program", "address", "default", "opposite"),
    [
        (scatter([0, 8, 8, 1]), 0x1000, [10, 40, 0, 0, 0, 0, 0, 0, 30], [10, 40, 0, 0, 0, 0, 0, 0, 20]),
        (overlapping_rows(), 0x1000, [1, 2, 5, 6, 9, 10, 11, 12], [1, 2, 3, 4, 7, 8, 11, 12]),
        (pes_at_one_place(), 0x1000, [4], [1]),
        (nibbles(), 0x1000, [0x54, 0xF6], [0x21, 0xF3]),
    ],
    ids=["scatter", "rows", "PEs", "nibbles"],
)
def test_a_seed_picks_who_wins(program: Machine, address: int, default: list[int], opposite: list[int]) -> None:
    outcomes = {}
    for seed in (None, *SEEDS):
        m = seeded(program, seed)
        assert m.run().status == "halted"
        outcomes[seed] = list(m.memory.read(address, len(default)))
    assert outcomes[None] == default
    assert outcomes[0] == opposite
    assert len({tuple(found) for found in outcomes.values()}) > 1


def test_equal_seeds_give_equal_runs() -> None:
    first, second = (seeded(overlapping_rows(), 5) for _ in range(2))
    first.run(), second.run()
    assert first.memory.read(0x1000, 16) == second.memory.read(0x1000, 16)


def test_without_overlap_every_seed_gives_the_same_memory() -> None:
    m = machine(load("FP16", 8, 5, "T") + store("FP16", "T#1"), a0=0x100, a1=16, a2=0x1000)
    m.memory.write(0x100, bytes(range(80)))
    for seed in (None, *SEEDS):
        again = seeded(m, seed)
        assert again.run().status == "halted"
        assert again.memory.read(0x1000, 80) == bytes(range(80))


def test_undefined_elements_of_a_dump_follow_the_seed() -> None:
    text = "BSTART.TLOAD U8; B.DIM LB0, 3; B.DIM LB2, 4; B.IOR a0, a1; B.IOT mask=0001, last, ->T<1>; BSTOP"
    m = machine(text, a0=0x100)
    m.memory.write(0x100, bytes([1, 2, 3]))
    payloads = []
    for seed in (None, 0, 1):
        again = seeded(m, seed)
        again.run()
        [(_, _, tile)] = again.tiles(0)
        payloads.append(again.payload(tile))
    assert set(payloads[0][3:]) == {0} and set(payloads[1][3:]) == {255}
    assert all(payload[:3] == b"\1\2\3" for payload in payloads)
    assert len(set(payloads[2][3:])) > 2


def test_undefined_elements_of_an_assembled_parent_follow_the_seed() -> None:
    text = """
        BSTART.TLOAD U8; B.DIM LB0, 3; B.DIM LB2, 4; B.IOR a0, a1; B.IOS mask=0001, ->S1<1>
        B.ASSEMBLE 1, 1, zero, 0, 1; BSTOP
    """
    m = seeded(machine(text, a0=0x100, a1=4), 0)
    assert m.run().status == "halted", m.ended
    tile = m.shared_tile(1)
    assert tile is not None
    assert tile.payload()[3] == 0 and m.payload(tile)[3] == 255


def test_an_adversarial_run_names_bytes_and_bundle() -> None:
    m = pes_at_one_place()
    m.lines = (LineRow(0, "kernel.py", 3, 1), LineRow(len(code(load("U8", 1, 1, "T"))), "kernel.py", 9, 1))
    assert m.run(adversarial=2).status == "halted"
    found = [finding for finding in m.findings if finding.kind == "order-dependent"]
    assert found and all(finding.harmful for finding in found)
    first = found[0]
    assert (first.address, first.bundle, first.source) == (0x1000, 1, "kernel.py:9")
    assert first.text[0] == "BSTART.TSTORE U8" and first.text[-1] == "BSTOP"
    assert "1 bytes of gm from 0x1000 differ with seed 0" in str(first)
    assert m.memory.read(0x1000, 1) == b"\4"


def test_an_adversarial_run_of_a_clean_program_finds_nothing() -> None:
    m = machine(load("FP16", 8, 5, "T") + store("FP16", "T#1", mask="0001"), a0=0x100, a1=16, a2=0x1000)
    m.run(adversarial=3)
    assert m.findings == ()


def test_copies_share_nothing() -> None:
    m = overlapping_rows()
    m.run(max_steps=6)
    twin = m.copy()
    assert twin.run().status == "halted"
    assert m.memory.read(0x1000, 8) == bytes(8)
    assert m.run().status == "halted"
    assert m.memory.read(0, 1 << 16) == twin.memory.read(0, 1 << 16)
    assert isinstance(twin.memory, Memory) and twin.memory is not m.memory
