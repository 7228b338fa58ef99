"""The IR tests under tests/filecheck, one pytest case per file."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent / "filecheck"
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.mlir"))


def run_lit(path: Path, output: Path) -> subprocess.CompletedProcess[str]:
    lit = Path(sys.executable).with_name("lit")
    command = [str(lit), "-v", f"-Doutput={output}", str(path)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("name", FILES)
def test_filecheck(name: str, tmp_path: Path) -> None:
    result = run_lit(ROOT / name, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("expected", "returncode"), [("hello", 0), ("goodbye", 1)])
def test_a_failing_check_is_a_failure(expected: str, returncode: int, tmp_path: Path) -> None:
    shutil.copy(ROOT / "lit.cfg.py", tmp_path)
    test = tmp_path / "echo.mlir"
    test.write_text(f"// RUN: echo hello | filecheck %s\n// CHECK: {expected}\n")
    assert run_lit(test, tmp_path / "out").returncode == returncode
