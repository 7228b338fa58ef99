"""``ptoc.validate`` notices every mistake of a list, and ``bisect`` says which step made it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mutants import COMPILER, SIMULATOR, Mutant, arguments, constant, linear
from xdsl.dialects.builtin import ModuleOp

import ptoc
from ptoc.bisection import bisect
from ptoc.dialects import tile
from ptoc.errors import ArgumentError, CompileError, ProgramFault, UnsupportedError
from ptoc.reduction import reduce


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the replay of every program, which would notice most mistakes of passes by itself."""
    monkeypatch.delenv("PTOC_CHECK", raising=False)


def by_name(mutant: Mutant) -> str:
    return mutant.name


@pytest.mark.parametrize("kernel", {m.kernel for m in COMPILER + SIMULATOR}, ids=lambda kernel: kernel.__name__)
def test_without_a_mistake_there_is_none(kernel: object) -> None:
    assert ptoc.validate(kernel, *arguments(kernel)).ok
    assert bisect(kernel, *arguments(kernel)).guilty is None


@pytest.mark.parametrize("mutant", COMPILER + SIMULATOR, ids=by_name)
def test_a_mistake_is_noticed(mutant: Mutant) -> None:
    with mutant.made():
        try:
            report = ptoc.validate(mutant.kernel, *arguments(mutant.kernel))
        except (CompileError, ProgramFault, UnsupportedError):
            return
    assert not report.ok


@pytest.mark.parametrize("mutant", COMPILER + SIMULATOR, ids=by_name)
def test_the_guilty_step_is_named(mutant: Mutant) -> None:
    with mutant.made():
        found = bisect(mutant.kernel, *arguments(mutant.kernel))
    assert found.guilty == mutant.guilty, str(found)[:2000]
    assert found.reason


@pytest.mark.slow
@pytest.mark.parametrize("mutant", COMPILER + SIMULATOR, ids=by_name)
def test_a_mistake_is_reduced(mutant: Mutant, tmp_path: Path) -> None:
    check_reduced(mutant, tmp_path)


@pytest.mark.parametrize("mutant", [COMPILER[0], COMPILER[-1], SIMULATOR[0]], ids=by_name)
def test_some_mistakes_are_reduced(mutant: Mutant, tmp_path: Path) -> None:
    check_reduced(mutant, tmp_path)


def check_reduced(mutant: Mutant, folder: Path) -> None:
    """To a script that is wrong with the mistake, and not without."""
    given = arguments(mutant.kernel)
    with mutant.made():
        case = reduce(mutant.kernel, *given)
        assert run_script(case.script()) == 1
    assert sum(a.size for a in case.arrays) < sum(a.size for a in given)
    if mutant.small:
        assert max(n for a in case.arrays for n in a.shape) <= 8
    path = folder / "case.py"
    path.write_text(case.script(), encoding="utf-8")
    alone = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert alone.returncode == 0, alone.stdout + alone.stderr


def run_script(text: str) -> object:
    """The exit code of a script in this process."""
    with pytest.raises(SystemExit) as stop:
        exec(compile(text, "case.py", "exec"), {"__name__": "__main__"})
    return 1 if isinstance(stop.value.code, str) else int(stop.value.code or 0)


def test_there_is_nothing_to_reduce_of_a_kernel_that_is_right() -> None:
    kernel = COMPILER[0].kernel
    with pytest.raises(ArgumentError, match="nothing to reduce"):
        reduce(kernel, *arguments(kernel))


def test_distant_rows_stay_distant_where_that_matters() -> None:
    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(x > y, x, y)

    def nearer_rows(module: ModuleOp) -> None:
        """A stride of 100 elements is taken for one of 99."""
        for op in module.walk():
            if isinstance(op, tile.LoadOp) and op.stride.owner.value.value.data == 400:
                op.operands[list(op.operands).index(op.stride)] = constant(op, 396)

    x = np.arange(20 * 100, dtype=np.float32).reshape(20, 100)[:, :70]
    with Mutant("nearer rows", "tile-elementwise", kernel, nearer_rows).made():
        case = reduce(kernel, x, -np.ones((20, 70), np.float32))
        assert run_script(case.script()) == 1
    assert (400, 4) in {a.strides for a in case.arrays}
    assert max(n for a in case.arrays for n in a.shape) <= 8


def test_the_report_names_the_store() -> None:
    """First and worst element, the bundle that stored the first, and the line of the kernel."""
    by_name = {m.name: m for m in COMPILER}
    with by_name["fuse-epilogue: no accumulator"].made():
        report = ptoc.validate(linear, *arguments(linear))
    text = str(report)
    assert re.search(r"^  first at \[\d+, \d+\]: simulator 0x", text, re.MULTILINE)
    assert re.search(
        r"^  the first was stored by PE\d of core 0 in bundle \d+ \(BSTART.TSTORE FP32, .*mutants.py:\d+\)$",
        text,
        re.MULTILINE,
    )
    with by_name["tile-matmul: wrong address"].made():
        [comparison] = ptoc.validate(linear, *arguments(linear)).comparisons
    assert comparison.worst is not None and comparison.mismatch is not None
    assert comparison.worst.ulp >= comparison.mismatch.ulp


def test_a_mistake_in_a_stack_has_its_place() -> None:
    def stack(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.maximum(np.matmul(a, b, dtype=np.float32), 0)

    a, b = np.ones((2, 3, 40, 20), np.float16), -np.ones((3, 20, 9), np.float16)
    assert bisect(stack, a, b).guilty is None
    with {m.name: m for m in COMPILER}["fuse-epilogue: no relu"].made():
        assert bisect(stack, a, b).guilty == "fuse-epilogue"
        [comparison] = ptoc.validate(stack, a, b).comparisons
    assert comparison.first_outside is not None and comparison.first_outside.index == (0, 0, 0, 0)
    assert comparison.wrote is not None and "BSTART.TSTORE" in comparison.wrote


def test_a_mistake_in_a_stack_is_reduced_to_one_matrix() -> None:
    def stack(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.maximum(np.matmul(a, b, dtype=np.float32), 0)

    a, b = np.ones((2, 3, 40, 20), np.float16), np.ones((3, 20, 9), np.float16)
    b[2] = -1
    with pytest.raises(ArgumentError, match="nothing to reduce"):
        reduce(stack, a, b)
    with {m.name: m for m in COMPILER}["fuse-epilogue: no relu"].made():
        case = reduce(stack, a, b)
        assert run_script(case.script()) == 1
    assert [each.shape for each in case.arrays] == [(1, 1), (1, 1)]
