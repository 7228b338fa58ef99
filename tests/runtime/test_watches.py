"""What a watch reports: undefined reads, stray accesses, contested bytes, dead bundles, missing results."""

from __future__ import annotations

import numpy as np
import pytest
from machine_programs import code, load, machine, store
from test_freedom import nibbles, overlapping_rows, pes_at_one_place, scatter

from ptoc.isa.image import LineRow
from ptoc.runtime import Finding, Machine, Memory, Result, Watch, Window


def watched(m: Machine, *results: Result) -> tuple[Finding, ...]:
    m.watch = Watch(results)
    m.run()
    return m.findings


def only(m: Machine) -> Finding:
    [finding] = watched(m)
    return finding


def test_a_clean_run_has_no_findings() -> None:
    m = machine(load("U8", 4, 2, "T") + store("U8", "T#1", mask="0001"), a0=0x100, a1=8, a2=0x200)
    assert watched(m) == ()


def test_nobody_watches_by_default() -> None:
    m = pes_at_one_place()
    m.run()
    assert m.findings == () and m.processors[0].core.observers == ()


def test_duplicate_scatter_targets() -> None:
    finding = only(scatter([0, 8, 8, 1]))
    assert (finding.kind, finding.harmful, finding.pe, finding.address) == ("duplicate-target", True, 0, 0x1008)
    assert (finding.bundle, finding.text[0]) == (4, "BSTART.MSCATTER.MASK U8")


def test_duplicate_targets_of_equal_bits_are_a_note() -> None:
    m = scatter([0, 8, 8, 1])
    m.memory.write(0x100, bytes([10, 20, 20, 40]))
    assert not only(m).harmful


def test_rows_that_overlap() -> None:
    finding = only(overlapping_rows())
    assert (finding.kind, finding.harmful, finding.address) == ("overlapping-stores", True, 0x1002)
    assert "two rows of PE0" in finding.message


@pytest.mark.parametrize("make", [pes_at_one_place, nibbles])
def test_pes_that_overlap(make: type[Machine]) -> None:
    found = watched(make())
    assert [finding.kind for finding in found if finding.harmful] == ["overlapping-stores"]
    assert "PE0 and PE1" in found[0].message


def test_pes_that_store_the_same_bits_are_a_note() -> None:
    m = machine(load("U8", 4, 1, "T") + store("U8", "T#1"), a0=0x100, a1=8, a2=0x200)
    finding = only(m)
    assert (finding.kind, finding.harmful) == ("overlapping-stores", False)


def test_interleaved_rows_of_pes_do_not_overlap() -> None:
    m = machine(load("U8", 4, 3, "T") + store("U8", "T#1"), a0=0x100, a1=16)
    for pe in range(4):
        m.set_gpr("a2", 0x1000 + 4 * pe, pe)
    assert watched(m) == ()


def unordered(attributes: str) -> Machine:
    """PE0 and then PE1 store different bytes to one place."""
    second = store("U8", "T#2", mask="0001").replace("mask=0001", "mask=0010")
    between = f"BSTART.TSTORE U8; {attributes}B.IOR a3, a1; B.IOT T#1, mask=0001, last; BSTOP\n"
    text = load("U8", 1, 1, "T") * 2 + store("U8", "T#1", mask="0001") + between + second
    m = machine(text, a1=0, a2=0x1000, a3=0x1100)
    m.memory.write(0x100, bytes([1, 2, 3, 4]))
    for pe in range(4):
        m.set_gpr("a0", 0x100 + pe, pe)
    return m


def test_a_store_over_another_pes_store_is_a_note() -> None:
    finding = only(unordered(""))
    assert (finding.kind, finding.harmful, finding.pe, finding.bundle) == ("unordered-stores", False, 1, 4)
    assert "PE1 stores over what PE0 stored to 0x1000 in bundle 2" in finding.message


def test_an_ordered_bundle_between_them_makes_it_fine() -> None:
    assert watched(unordered("B.CATR {rl}; ")) == ()


def test_dead_bundles_and_how_often() -> None:
    dead = "BSTART.TSTORE U8; B.IOR a2, a1; B.IOT T#1, mask=0000, last; BSTOP\n"
    m = machine(dead)
    finding = only(m)
    assert (finding.kind, finding.harmful, finding.bundle, finding.count) == ("dead-bundle", False, 0, 1)
    looped = dead + "addi s0, 1, ->s0; BSTART.STD COND, .-24; setc.ltui s0, 3; BSTOP"
    size = len(code(dead)) + len(code("addi s0, 1, ->s0"))
    assert only(machine(looped.replace(".-24", f".-{size}"))).count == 3


def test_a_stray_access_names_pe_element_and_array() -> None:
    m = machine(load("U8", 4, 2, "T"), a0=0x100, a1=8)
    m.set_gpr("a0", 0x108, 2)
    m.windows[0] = Window(0x100, 1, 12, 0, name="argument x")
    m.lines = (LineRow(0, "kernel.py", 4, 1),)
    finding = only(m)
    assert (finding.kind, finding.harmful, finding.pe, finding.address) == ("out-of-bounds", True, 2, 0x110)
    assert "PE2" in finding.message and "(1, 0)" in finding.message and "argument x" in finding.message
    assert finding.source == "kernel.py:4" and finding.text[0] == "BSTART.TLOAD U8"


def test_a_stray_lane_of_a_scatter() -> None:
    finding = only(scatter([0, 8, 1 << 20, 1]))
    assert (finding.kind, finding.pe, finding.address) == ("out-of-bounds", 0, 0x1000 + (1 << 20))
    assert "element (0, 2)" in finding.message


def test_a_store_to_a_read_only_region_names_it() -> None:
    memory = Memory(0x1000)
    memory.map(0x2000, 64, writable=False, name="constants")
    m = machine(load("U8", 4, 1, "T") + store("U8", "T#1"), memory=memory, a0=0x100, a1=8, a2=0x2000)
    assert "constants is read-only" in only(m).message


def test_an_undefined_read_names_its_element() -> None:
    text = """
        BSTART.TLOAD U8; B.DIM LB0, 3; B.DIM LB2, 64; B.IOR a0, a1; B.IOS mask=0001, ->S1<2>
        B.ASSEMBLE 1, 0, zero, 0, 1; BSTOP
        BSTART.TLOAD U8; B.DIM LB0, 5; B.DIM LB1, 2; B.DIM LB2, 64; B.IOR a0, a1; B.IOS S1, mask=0001
        B.ASSEMBLE 0, 1, zero, 1, 1; BSTOP
        BSTART.TSTORE U8; B.IOR a2, a1; B.IOS S1, mask=0001; BSTOP
    """
    finding = only(machine(text, a0=0x100, a1=8, a2=0x1000))
    assert (finding.kind, finding.harmful, finding.pe, finding.bundle) == ("undefined-read", True, 0, 2)
    assert "(0, 3)" in finding.message


def result(address: int, count: int) -> Result:
    return Result("result", Window(address, 1, 4 * count, 0), np.dtype(np.float32))


def test_a_result_that_was_not_written() -> None:
    m = machine(load("FP32", 2, 1, "T") + store("FP32", "T#1", mask="0001"), a0=0x100, a1=8, a2=0x1000)
    found = watched(m, result(0x1000, 2), result(0x1000, 5))
    [finding] = found
    assert (finding.kind, finding.harmful, finding.address) == ("unwritten-result", True, 0x1008)
    assert "3 of 5 elements of result" in finding.message


def test_a_result_of_nothing_but_nans_is_a_note() -> None:
    m = machine(load("FP32", 2, 1, "T") + store("FP32", "T#1", mask="0001"), a0=0x100, a1=8, a2=0x1000)
    m.memory.write(0x100, np.float32([np.nan, -np.nan]).tobytes())
    [finding] = watched(m, result(0x1000, 2))
    assert (finding.kind, finding.harmful) == ("nan-result", False)


def test_results_of_a_run_that_faulted_are_not_looked_at() -> None:
    found = watched(machine(load("FP32", 2, 1, "T"), a0=0x101), result(0x1000, 2))
    assert [finding.kind for finding in found] == ["out-of-bounds"]


def test_findings_read_like_sentences() -> None:
    text = str(only(scatter([0, 8, 8, 1])))
    assert text == "duplicate-target: two lanes of PE0 store different bits to 0x1008 in no defined order [bundle 4]"
