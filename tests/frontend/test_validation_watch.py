"""``ptoc.validate`` watches the simulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ptoc
from ptoc.passes.arguments import OUTPUT
from ptoc.runtime import Finding, Machine


@ptoc.jit
def pick(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(a > b, a, b)


A, B = (np.arange(12, dtype=np.float32).reshape(3, 4) * sign for sign in (1, -1))


def test_a_correct_kernel_gives_no_findings() -> None:
    report = ptoc.validate(pick, A, B)
    assert report.ok and report.watch == ()


@pytest.mark.parametrize("harmful", [False, True])
def test_only_harmful_findings_make_a_report_bad(harmful: bool) -> None:
    report = replace(ptoc.validate(pick, A, B), watch=(Finding("some-kind", "something", harmful),))
    assert report.ok is not harmful
    assert ("WRONG, some-kind" in report.verdict) is harmful
    assert ("some-kind: something" in str(report)) is harmful


def test_validation_repeats_the_run_under_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int | None] = []
    run = Machine.run

    def recorded(machine: Machine, *arguments: int, **options: int) -> object:
        seeds.append(machine.order_seed)
        return run(machine, *arguments, **options)

    monkeypatch.setattr(Machine, "run", recorded)
    assert ptoc.validate(pick, A, B).ok
    assert seeds == [None, 0]


def test_a_run_watches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptoc.launch import run

    machine, _ = run(pick.program_for(A, B), [A, B])
    assert machine.watch is None and machine.findings == ()


def test_a_result_that_is_not_written_is_found() -> None:
    from ptoc.launch import run

    program = pick.program_for(A, B)
    kinds = tuple(OUTPUT if n == 1 else kind for n, kind in enumerate(program.kinds))
    machine, _ = run(replace(program, kinds=kinds), [A, B], watch=True)
    [finding] = machine.findings
    assert (finding.kind, finding.harmful) == ("unwritten-result", True)
    assert "12 of 12 elements of b" in finding.message
