"""Gathers, scatters and exchanges of memory beside what looks on: freedom of order, watches, windows."""

from __future__ import annotations

import numpy as np
import pytest
from machine_programs import code, load, machine

from ptoc.runtime import Machine, Memory, Trace
from ptoc.runtime.sanitizers import Watch

INDEX = "BSTART.TLOAD S32; B.DIM LB0, 4; B.IOR a3, a1; B.IOT mask=0001, last, ->U<1>; BSTOP\n"
REPLACEMENT = "BSTART.TLOAD U8; B.DIM LB0, 4; B.IOR a5, a1; B.IOT mask=0001, last, ->M<1>; BSTOP\n"
SCATTER = "BSTART.MSCATTER U8; B.DIM LB0, 4; B.IOR a2; B.IOT T#1, U#1, mask=0001, last; BSTOP\n"
EXCHANGE = (
    "BSTART.MGATHER.CAS U8; B.DIM LB0, 4; B.IOR a2; B.IOT U#1, T#1, mask=0001\n"
    "B.IOT M#1, mask=0001, last, ->N<1>; BSTOP\n"
)
GATHER = "BSTART.MGATHER U8; B.DIM LB0, 4; B.IOR a2; B.IOT U#1, mask=0001, last, ->N<1>; BSTOP\n"


def prepared(bundle: str, index: list[int], data: list[int], replacement: list[int]) -> Machine:
    text = load("U8", 4, 1, "T") + INDEX + REPLACEMENT + bundle
    m = machine(text, a0=0x100, a1=16, a2=0x1000, a3=0x200, a5=0x300)
    m.memory.write(0x100, bytes(data))
    m.memory.write(0x200, np.int32(index).tobytes())
    m.memory.write(0x300, bytes(replacement))
    return m


def found(m: Machine) -> list[int]:
    return next(tile for hand, _, tile in m.tiles(0) if hand == "N").values[0].tolist()


def test_a_chain_of_exchanges_runs_in_order() -> None:
    m = prepared(EXCHANGE, [0, 0, 0, 0], [0, 1, 2, 9], [1, 2, 3, 4])
    assert m.run().status == "halted"
    assert found(m) == [0, 1, 2, 3] and m.memory.read(0x1000, 1) == b"\x03"


def test_a_seed_may_reverse_the_exchanges() -> None:
    m = prepared(EXCHANGE, [0, 0, 0, 0], [0, 1, 2, 9], [1, 2, 3, 4]).copy(order_seed=0)
    assert m.run().status == "halted"
    assert found(m) == [0, 0, 0, 0] and m.memory.read(0x1000, 1) == b"\x01"


def test_a_seed_does_not_change_exchanges_that_do_not_meet() -> None:
    for seed in (None, 0, 1, 2):
        m = prepared(EXCHANGE, [0, 1, 2, 3], [0, 5, 0, 9], [1, 2, 3, 4]).copy(order_seed=seed)
        assert m.run().status == "halted"
        assert found(m) == [0, 0, 0, 0] and m.memory.read(0x1000, 4) == bytes([1, 0, 3, 0])


@pytest.mark.parametrize(("seed", "winner"), [(None, 40), (0, 20)])
def test_the_winner_among_scattered_elements(seed: int | None, winner: int) -> None:
    m = prepared(SCATTER, [0, 8, 8, 8], [10, 20, 30, 40], [0] * 4).copy(order_seed=seed)
    assert m.run().status == "halted"
    assert m.memory.read(0x1008, 1) == bytes([winner])


@pytest.mark.parametrize("bundle", [SCATTER, EXCHANGE])
def test_a_watch_sees_elements_that_meet(bundle: str) -> None:
    m = prepared(bundle, [0, 8, 8, 8], [0, 0, 1, 2], [7, 1, 2, 3])
    m.watch = Watch()
    m.run()
    assert [(f.kind, f.harmful, f.address) for f in m.findings] == [("duplicate-target", True, 0x1008)]


@pytest.mark.parametrize("bundle", [GATHER, SCATTER, EXCHANGE])
def test_a_watch_sees_elements_that_leave_memory(bundle: str) -> None:
    m = prepared(bundle, [0, 1, 1 << 20, 3], [0] * 4, [0] * 4)
    m.watch = Watch()
    assert m.run().status == "fault"
    [finding] = m.findings
    assert (finding.kind, finding.pe, finding.address) == ("out-of-bounds", 0, 0x1000 + (1 << 20))
    assert "(0, 2)" in finding.message


def test_accesses_are_counted() -> None:
    m = prepared(EXCHANGE, [0, 1, 2, 3], [0, 5, 0, 9], [1, 2, 3, 4])
    m.run()
    assert m.counters.gm_bytes_read == 4 * 4 + 16 + 4 + 4 and m.counters.gm_bytes_written == 2


def test_exchanges_between_pes_run_in_their_order() -> None:
    text = (load("U8", 1, 1, "T") + INDEX + REPLACEMENT + EXCHANGE).replace("mask=0001", "mask=1111")
    m = machine(text.replace("LB0, 4", "LB0, 1"), a1=16, a2=0x1000, a3=0x200)
    for pe in range(4):
        m.set_gpr("a0", 0x100 + pe, pe)
        m.set_gpr("a5", 0x300 + pe, pe)
    m.memory.write(0x100, bytes([0, 1, 2, 9]))
    m.memory.write(0x300, bytes([1, 2, 3, 4]))
    assert m.run().status == "halted"
    values = [next(t for hand, _, t in m.tiles(pe) if hand == "N").values[0].tolist() for pe in range(4)]
    assert values == [[0], [1], [2], [3]] and m.memory.read(0x1000, 1) == b"\x03"


def two_cores(bundle: str) -> Machine:
    """Core 0 runs the bundle on displacements 0 to 3 from 0x1000; core 1 stores four bytes there."""
    indices = "BSTART.SFU TCI, S32; B.DIM LB0, 4; B.IOT mask=0001, last, ->U<1>; BSTOP\n"
    text = load("U8", 4, 1, "T", mask="0001") + indices + REPLACEMENT.replace("a3", "a5") + bundle
    m = Machine(memory=Memory(1 << 16), cores=2)
    m.load(code(text))
    for name, value in {"a0": 0x100, "a1": 16, "a5": 0x300}.items():
        m.set_gpr(name, value)
    return m


@pytest.mark.parametrize(
    ("bundle", "kinds"),
    [(GATHER, []), (SCATTER, ["core-overlap"]), (EXCHANGE, ["core-overlap", "core-race", "core-race"])],
)
def test_cores_that_meet_are_found(bundle: str, kinds: list[str]) -> None:
    m = two_cores(bundle)
    m.set_gpr("a2", 0x1000)
    m.watch = Watch()
    m.run()
    assert sorted(f.kind for f in m.findings) == kinds


def test_a_gather_of_what_another_core_writes_is_found() -> None:
    m = two_cores(GATHER + SCATTER.replace("a2", "a6"))
    m.set_gpr("a2", 0x1000, core=0)
    m.set_gpr("a2", 0x3000, core=1)
    m.set_gpr("a6", 0x2000, core=0)
    m.set_gpr("a6", 0x1002, core=1)
    m.watch = Watch()
    m.run()
    [finding] = m.findings
    assert (finding.kind, finding.core, finding.address, finding.harmful) == ("core-race", 0, 0x1002, True)


@pytest.mark.parametrize(("bundle", "kind"), [(GATHER, "load"), (SCATTER, "store"), (EXCHANGE, "exchange")])
def test_a_trace_shows_the_elements(bundle: str, kind: str) -> None:
    m = prepared(bundle, [0, 1, 2, 3], [0, 5, 0, 9], [1, 2, 3, 4])
    m.trace = Trace()
    m.run()
    last = [event for event in m.trace.events() if event["ph"] == "B"][-1]
    count = 2 if kind == "exchange" else 4
    assert (last["name"], last["args"]["accesses"]) == (kind, [{"pe": 0, "elements": count, "bytes": count}])
