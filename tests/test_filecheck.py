"""The IR tests under tests/filecheck, one pytest case per file."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent / "filecheck"
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.mlir"))


@pytest.mark.parametrize("name", FILES)
def test_filecheck(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lit.main", "-v", f"-Doutput={tmp_path}", str(ROOT / name)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
