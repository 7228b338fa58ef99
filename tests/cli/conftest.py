"""The command line in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_files import Result, Run, Write

from ptoc.cli import main


@pytest.fixture
def ptoc(capsys: pytest.CaptureFixture[str]) -> Run:
    """``ptoc("run", "file.py")`` is that command line; what it prints never holds a traceback."""

    def run(*arguments: str) -> Result:
        status = main(arguments)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Result(status, captured.out, captured.err)

    return run


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """``write(text, name)`` makes a file in the current directory, which is a temporary one; its name."""
    monkeypatch.chdir(tmp_path)

    def make(text: str | bytes, name: str = "linear.py") -> str:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return make
