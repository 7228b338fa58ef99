"""``ptoc sim`` with several cores, seeds, watches and traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kernel_files import Result, Run, Write

LOAD = "BSTART.TLOAD U8\nB.DIM LB0, 4\nB.IOR a0, a1\nB.IOT mask=1111, last, ->T<1>\nBSTOP\n"
STORE = "BSTART.TSTORE U8\nB.IOR a2, a1\nB.IOT T#1, mask={mask}, last\nBSTOP\n"
BY_CORE = "slli x1, 4, ->t\nadd a0, t#1, ->a0\nadd a2, t#1, ->a2\n"


def simulate(ptoc: Run, write: Write, text: str, *options: str) -> Result:
    """Assemble and run: bytes 0, 1, 2, ... at 0x100, a0 there and a2 at 0x200."""
    write(bytes(range(256)), "bytes.bin")
    assembled = ptoc("as", write(text, "program.s"), "-o", "program.img")
    assert assembled.status == 0, assembled.err
    memory = ("--memory", "0x400", "--map", "0x100=bytes.bin", "--gpr", "a0=0x100", "--gpr", "a2=0x200")
    return ptoc("sim", "program.img", *memory, *options)


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_cores_know_their_number(jobs: str, ptoc: Run, write: Write) -> None:
    text = BY_CORE + LOAD + STORE.format(mask="0001")
    result = simulate(ptoc, write, text, "--cores", "3", "--jobs", jobs, "--dump", "0x200:0x24=out.bin")
    assert (result.status, result.err) == (0, "")
    out = Path("out.bin").read_bytes()
    assert [list(out[16 * core : 16 * core + 4]) for core in range(3)] == [
        [16 * core + i for i in range(4)] for core in range(3)
    ]
    assert "  TLOAD                  3\n" in result.out


def test_a_fault_names_its_core(ptoc: Run, write: Write) -> None:
    text = "slli x1, 20, ->t\nadd a0, t#1, ->a0\n" + LOAD
    result = simulate(ptoc, write, text, "--cores", "2")
    assert result.status == 1
    assert result.out.startswith("core 1: fault: DataPage at 0x100100 in bundle 0")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_waiting_ends(jobs: str, ptoc: Run, write: Write) -> None:
    text = "BSTART.TSTORE U8\nB.IOR a2, a1\nB.IOS S1, mask=0001\nBSTOP\n"
    result = simulate(ptoc, write, text, "--cores", "2", "--jobs", jobs)
    assert result.status == 1
    assert result.out.startswith("core 0: waits for a Shared tile that nothing completes after")


def test_cores_that_meet_are_a_finding(ptoc: Run, write: Write) -> None:
    result = simulate(ptoc, write, LOAD + STORE.format(mask="0001"), "--cores", "2", "--watch")
    assert result.status == 1
    assert "core-overlap: core 1 writes 0x200, which core 0 writes" in result.out


CONTESTED = "add a0, x0, ->a0\n" + LOAD + STORE.format(mask="1111")


@pytest.mark.parametrize(("options", "first"), [((), "03"), (("--seed", "0"), "00")])
def test_a_seed_picks_a_winner(options: tuple[str, ...], first: str, ptoc: Run, write: Write) -> None:
    result = simulate(ptoc, write, CONTESTED, *options, "--dump", "0x200:1")
    assert result.status == 0
    assert result.out.endswith(f"  00000200  {first}\n")


def test_a_watch_reports_what_is_contested(ptoc: Run, write: Write) -> None:
    result = simulate(ptoc, write, CONTESTED, "--watch")
    assert result.status == 1
    assert "overlapping-stores: PE0 and PE1 store different bits to 0x200" in result.out


def test_adversarial_runs_report_what_differs(ptoc: Run, write: Write) -> None:
    result = simulate(ptoc, write, CONTESTED, "--adversarial", "2")
    assert result.status == 1
    assert "order-dependent: 4 bytes of memory from 0x200 differ with seed 0 [bundle 1]\n" in result.out
    assert "    BSTART.TSTORE U8\n" in result.out
    clean = simulate(ptoc, write, LOAD + STORE.format(mask="0001"), "--adversarial", "2")
    assert (clean.status, "order-dependent" in clean.out) == (0, False)


@pytest.mark.parametrize("options", [(), ("--gpr", "a0=0x8000")])
def test_a_trace_is_written_also_when_the_run_faults(options: tuple[str, ...], ptoc: Run, write: Write) -> None:
    simulate(ptoc, write, LOAD, "--trace", "trace.json", *options)
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    assert events[-1]["name"] == ("fault DataPage" if options else "halted")


@pytest.mark.parametrize("option", ["--cores", "--jobs"])
def test_counts_start_at_one(option: str, ptoc: Run, write: Write) -> None:
    result = simulate(ptoc, write, LOAD, option, "0")
    assert result.status == 2 and "at least 1 is needed" in result.err
