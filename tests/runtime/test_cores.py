"""Several cores over one memory, one after the other and in worker processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import numpy as np
import pytest
from machine_programs import code, cube_load, load, store

from ptoc.isa.faults import FaultKind
from ptoc.runtime import Machine, Memory, SimulatorDiagnostic, SimulatorError, Watch, parallel

JOBS = (1, 2, 5)
COPY = load("U8", 16, 4, "T", mask="0001") + store("U8", "T#1", mask="0001")


def launched(text: str, cores: int = 4, *, step: int = 0x100, **more: int) -> Machine:
    """Core n copies from 0x1000 + n * step to 0x8000 + n * step."""
    m = Machine(memory=Memory(1 << 16), cores=cores)
    m.memory.write(0, np.random.default_rng(0).integers(0, 256, 1 << 15, np.uint8).tobytes())
    m.load(code(text))
    m.set_gpr("a1", 16)
    m.set_gpr("x2", cores)
    for core in range(cores):
        m.set_gpr("x1", core, core=core)
        m.set_gpr("a0", 0x1000 + core * step, core=core)
        m.set_gpr("a2", 0x8000 + core * step, core=core)
    for name, value in more.items():
        m.set_gpr(name, value)
    return m


def state(m: Machine) -> tuple[object, ...]:
    tiles = [
        [(hand, n, tile.payload()) for pe in range(4) for hand, n, tile in m.tiles(pe, core)]
        for core in range(len(m.processors))
    ]
    gprs = [[file[code] for code in range(len(file))] for c in range(len(m.processors)) for file in m.gpr_of(c)]
    return m.memory.read(0, 1 << 16), tiles, gprs, m.flags, repr(m.counters)


@pytest.mark.parametrize("jobs", JOBS)
def test_cores_do_their_own_part(jobs: int) -> None:
    m = launched(COPY)
    before = m.memory.read(0, 1 << 15)
    outcome = m.run(jobs=jobs)
    assert (outcome.status, outcome.core) == ("halted", 0)
    for core in range(4):
        assert m.memory.read(0x8000 + core * 0x100, 64) == before[0x1000 + core * 0x100 :][:64]
    assert m.counters.operations == {"TLOAD": 4, "TSTORE": 4}
    assert m.findings == ()


def test_jobs_give_the_state_of_a_run_in_sequence() -> None:
    text = COPY + cube_load("FP16", "ND2M16", 8, 16, "U", size=2) + "add a0, x1, ->a4\n"
    runs = []
    for jobs in JOBS:
        m = launched(text)
        m.run(jobs=jobs)
        runs.append(state(m))
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("jobs", JOBS)
def test_cores_can_be_stopped_and_go_on(jobs: int) -> None:
    m = launched(COPY)
    assert m.run(7, jobs=jobs).status == "limit"
    assert m.run(jobs=jobs).status == "halted"
    whole = launched(COPY)
    whole.run()
    assert state(m) == state(whole)


@pytest.mark.parametrize("jobs", JOBS)
def test_each_core_has_its_own_tiles(jobs: int) -> None:
    shared = "BSTART.TLOAD U8; B.DIM LB0, 4; B.IOR a0, a1; B.IOS mask=0001, ->S3<1>; BSTOP\n"
    m = launched(load("U8", 16, 4, "T", mask="0001") + shared)
    m.run(jobs=jobs)
    for core in range(4):
        [(_, _, tile)] = m.tiles(0, core)
        assert tile.payload()[:64] == m.memory.read(0x1000 + core * 0x100, 64)
        parent = m.shared_tile(3, core)
        assert parent is not None
        assert parent.payload()[:4] == m.memory.read(0x1000 + core * 0x100, 4)


@pytest.mark.parametrize("jobs", JOBS)
def test_a_fault_names_its_core_and_the_others_finish(jobs: int) -> None:
    m = launched(COPY)
    m.set_gpr("a0", 1 << 20, core=2)
    outcome = m.run(jobs=jobs)
    assert (outcome.status, outcome.core) == ("fault", 2)
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.core, outcome.fault.pe) == (FaultKind.DataPage, 2, 0)
    assert m.memory.read(0x8200, 64) == bytes(64)
    assert m.memory.read(0x8300, 64) == m.memory.read(0x1300, 64)


@pytest.mark.parametrize("jobs", JOBS)
def test_an_error_of_the_simulator_names_its_core(jobs: int) -> None:
    m = launched("jr a3, 0\n")
    m.set_gpr("a3", m.processors[0].halt_address)
    m.set_gpr("a3", 4, 1, core=3)
    with pytest.raises(SimulatorDiagnostic, match="divergent") as caught:
        m.run(jobs=jobs)
    assert "on core 3" in caught.value.__notes__


@pytest.mark.parametrize("jobs", JOBS)
def test_a_tile_that_nobody_on_the_core_publishes_is_waited_for(jobs: int) -> None:
    """Shared tiles belong to one core, so core 1 waits although core 0 publishes S1."""
    publish = "BSTART.TLOAD U8; B.DIM LB0, 4; B.IOR a0, a1; B.IOS mask=0001, ->S1<1>; BSTOP\n"
    skip = f"BSTART.STD COND, .+{len(code('BSTART.STD COND, .+2; setc.ne x1, zero; BSTOP')) + len(code(publish))}"
    text = f"{skip}; setc.ne x1, zero; BSTOP\n{publish}BSTART.TSTORE U8; B.IOR a2, a1; B.IOS S1, mask=0001; BSTOP"
    outcome = launched(text, 2).run(jobs=jobs)
    assert (outcome.status, outcome.core, outcome.bundle) == ("waiting", 1, 1)


@pytest.mark.parametrize("jobs", JOBS)
def test_cores_that_write_the_same_bytes_are_found(jobs: int) -> None:
    m = launched(COPY, 2, step=0x20)
    m.watch = Watch()
    m.run(jobs=jobs)
    [finding] = m.findings
    assert (finding.kind, finding.harmful, finding.core, finding.bundle) == ("core-overlap", True, 1, 1)
    assert "core 1 writes 0x8020, which core 0 writes" in finding.message
    assert finding.text[0] == "BSTART.TSTORE U8"


def test_jobs_find_overlap_without_a_watch() -> None:
    m = launched(COPY, 2, step=0x20)
    m.run(jobs=2)
    assert [finding.kind for finding in m.findings] == ["core-overlap"]


@pytest.mark.parametrize("jobs", JOBS)
def test_a_core_that_reads_what_another_writes_is_found(jobs: int) -> None:
    m = launched(COPY, 2)
    m.set_gpr("a0", 0x8010, core=1)
    m.watch = Watch()
    m.run(jobs=jobs)
    [finding] = m.findings
    assert (finding.kind, finding.address, finding.core) == ("core-race", 0x8010, 1)


def test_a_watch_sees_the_same_in_workers() -> None:
    dead = "BSTART.TSTORE U8; B.IOR a2, a1; B.IOT T#1, mask=0000, last; BSTOP\n"
    found = []
    for jobs in JOBS:
        m = launched(COPY + dead)
        m.watch = Watch()
        m.run(jobs=jobs)
        found.append(m.findings)
    assert found[0] == found[1] == found[2] and [finding.core for finding in found[0]] == [0, 1, 2, 3]


def test_a_worker_that_is_killed_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    m = launched(COPY)
    before = m.memory.read(0, 1 << 16)
    run: Callable[..., object] = m.processors[0].run

    def killed(*arguments: object) -> object:
        os.kill(os.getpid(), signal.SIGKILL)
        return run(*arguments)

    monkeypatch.setattr(m.processors[1], "run", killed)
    with pytest.raises(SimulatorError, match="killed"):
        m.run(jobs=2)
    assert m.memory.read(0, 1 << 16) == before
    monkeypatch.undo()
    assert m.run(jobs=2).status == "halted"


def test_without_fork_the_cores_run_in_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "available", lambda: False)
    m, other = launched(COPY), launched(COPY)
    m.run(jobs=3), other.run()
    assert state(m) == state(other)


def test_regions_keep_their_buffers() -> None:
    data = np.zeros(0x100, np.uint8)
    m = launched(COPY, 2)
    m.memory.map(1 << 20, data)
    m.set_gpr("a2", 1 << 20, core=1)
    m.run(jobs=2)
    assert bytes(data[:64]) == m.memory.read(0x1100, 64)


@pytest.mark.parametrize("cores", [0, -1])
def test_a_machine_has_a_core(cores: int) -> None:
    with pytest.raises(ValueError, match="at least one core"):
        Machine(cores=cores)
