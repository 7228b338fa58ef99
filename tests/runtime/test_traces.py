"""Traces are JSON that Chrome and Perfetto read."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

from machine_programs import code, load, machine, store

from ptoc.isa.image import LineRow
from ptoc.runtime import Machine, Trace

COPY = load("U8", 4, 2, "T") + store("U8", "T#1", mask="0011")


def traced(text: str, *, cores: int = 1, jobs: int = 1, **registers: int) -> list[dict[str, Any]]:
    m = machine(text, **registers)
    if cores > 1:
        single, m = m, Machine(memory=m.memory, cores=cores)
        m.load(single.processors[0].code)
        for name, value in registers.items():
            m.set_gpr(name, value)
    m.lines = (LineRow(0, "kernel.py", 3, 1),)
    m.trace = Trace()
    m.run(jobs=jobs)
    out = io.StringIO()
    m.trace.write(out)
    events: list[dict[str, Any]] = json.loads(out.getvalue())["traceEvents"]
    return events


def balanced(events: list[dict[str, Any]]) -> bool:
    """Whether begin and end alternate on every track, with ends not before begins."""
    open_: dict[tuple[int, int], dict[str, Any]] = {}
    for event in events:
        track = (event["pid"], event.get("tid", -1))
        if event["ph"] == "B":
            if track in open_:
                return False
            open_[track] = event
        elif event["ph"] == "E":
            begin = open_.pop(track, None)
            if begin is None or begin["name"] != event["name"] or event["ts"] < begin["ts"]:
                return False
    return not open_


def names(events: list[dict[str, Any]], phase: str) -> Counter[tuple[int, str]]:
    return Counter((event.get("tid", -1), event["name"]) for event in events if event["ph"] == phase)


def test_bundles_and_accesses_have_their_tracks() -> None:
    events = traced(COPY, a0=0x100, a1=8, a2=0x200)
    assert balanced(events)
    spans = names(events, "B")
    assert [spans[pe, "TLOAD"] for pe in range(4)] == [1, 1, 1, 1]
    assert [spans[pe, "TSTORE"] for pe in range(4)] == [1, 1, 0, 0]
    assert (spans[4, "load"], spans[4, "store"]) == (1, 1)
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert tracks == {0: "PE0", 1: "PE1", 2: "PE2", 3: "PE3", 4: "GM", 5: "Shared"}


def test_spans_name_bundle_text_and_source() -> None:
    events = traced(COPY, a0=0x100, a1=8, a2=0x200)
    span = next(e for e in events if e["ph"] == "B" and e["name"] == "TSTORE")
    assert span["args"]["bundle"] == 1 and span["args"]["source"] == "kernel.py:3"
    assert span["args"]["text"].startswith("BSTART.TSTORE U8\n")
    access = next(e for e in events if e["ph"] == "B" and e["name"] == "load")["args"]["accesses"][0]
    assert access == {"pe": 0, "from": "0x100", "rows": 2, "row_bytes": 4, "stride": 8}


def test_publications_retirements_and_occupancy() -> None:
    events = traced(load("U8", 4, 2, "T") * 17, a0=0x100, a1=8)
    instants = names(events, "i")
    assert instants[0, "publish T"] == 17 and instants[0, "retire T"] == 1
    rings = [e["args"] for e in events if e["ph"] == "C" and e["name"] == "PE2 tiles"]
    assert [ring["T"] for ring in rings] == list(range(1, 17))
    pool = [e["args"]["used"] for e in events if e["ph"] == "C" and e["name"] == "PE0 pool bytes"]
    assert pool == [128 * n for n in range(1, 17)]
    read = [e["args"]["read"] for e in events if e["ph"] == "C" and e["name"] == "GM bytes"]
    assert read == [32 * n for n in range(1, 18)]


def test_shared_tiles() -> None:
    events = traced("BSTART.TLOAD U8; B.DIM LB0, 4; B.IOR a0, a1; B.IOS mask=0001, ->S9<2>; BSTOP", a0=0x100)
    assert names(events, "i")[5, "publish S9"] == 1
    assert [e["args"] for e in events if e["name"] == "Shared pool bytes"] == [{"used": 256}]


def test_faults_waits_and_halts_end_a_trace() -> None:
    waits = "BSTART.TSTORE U8; B.IOR a2, a1; B.IOS S1, mask=0001; BSTOP"
    for text, last in [(COPY, "fault DataPage"), (waits, "waiting"), ("addi a0, 1, ->a0", "halted")]:
        events = traced(text, a0=0x100, a1=8, a2=1 << 20)
        assert balanced(events)
        assert (events[-1]["ph"], events[-1]["name"]) == ("i", last)


def test_cores_are_processes_also_in_workers() -> None:
    single = traced(COPY, cores=2, a0=0x100, a1=8, a2=0x200)
    assert balanced(single) and {event["pid"] for event in single} == {0, 1}
    assert traced(COPY, cores=2, jobs=2, a0=0x100, a1=8, a2=0x200) == single


def test_equal_runs_write_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        m = machine(COPY, a0=0x100, a1=8, a2=0x200)
        m.trace = Trace()
        m.run()
        m.trace.write(tmp_path / name)
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()


def test_nothing_is_recorded_unless_asked_for() -> None:
    m = machine(COPY, a0=0x100, a1=8, a2=0x200)
    m.run()
    assert m.processors[0].core.observers == ()
    assert code(COPY)
