"""The command line as a whole: help, exit codes, and what becomes of exceptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_files import LINEAR, Run, Write

import ptoc as package
from ptoc import cli

PTOC = str(Path(sys.executable).with_name("ptoc"))


@pytest.mark.parametrize("command", [[PTOC], [sys.executable, "-m", "ptoc"]])
def test_the_console_script_and_the_module_are_one_command(command: list[str]) -> None:
    result = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"ptoc {package.__version__}\n", "")


def test_help_lists_every_command(ptoc: Run) -> None:
    result = ptoc("--help")
    assert result.status == 0
    assert all(f"  {name} " in result.out for name in cli.COMMANDS)


def test_no_command_is_misuse_and_shows_the_help(ptoc: Run) -> None:
    result = ptoc()
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("usage: ptoc COMMAND")


@pytest.mark.parametrize("arguments", ["explode", "--explode", "run", "run --explode", "sim x --gpr"])
def test_a_wrong_command_line_is_misuse(arguments: str, ptoc: Run) -> None:
    result = ptoc(*arguments.split())
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("usage: ")


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_explains_itself_under_its_name(command: str, ptoc: Run) -> None:
    result = ptoc(command, "--help")
    assert result.status == 0
    assert result.out.startswith(f"usage: ptoc {command} ")


def test_help_loads_nothing_heavy() -> None:
    heavy = ("numpy", "xdsl", "numba", "rich", "ml_dtypes")
    code = f"import sys; from ptoc.cli import main; main(['--help']); print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_a_bug_of_ours_is_one_message_and_a_traceback_on_request(
    ptoc: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(arguments: object) -> int:
        raise AssertionError("out of cheese")

    monkeypatch.setattr("ptoc.cli.passes.main", broken)
    result = ptoc("passes")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("internal error: AssertionError: out of cheese\nhelp: please report")
    monkeypatch.setenv("PTOC_DEBUG", "1")
    assert cli.main(["passes"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_quiet(ptoc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("ptoc.cli.passes.main", interrupted)
    result = ptoc("passes")
    assert (result.status, result.out, result.err) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize("arguments", [["passes"], ["run", "linear.py"]])
def test_a_closed_pipe_is_quiet(arguments: list[str], write: Write) -> None:
    write(LINEAR)
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([PTOC, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "missing.py"],
        ["compile", "missing.py", "--spec", "4:float32"],
        ["opt", "missing.mlir"],
        ["as", "missing.s", "-o", "x"],
        ["dis", "missing"],
        ["sim", "missing"],
    ],
)
def test_a_missing_file_is_named(arguments: list[str], ptoc: Run, write: Write) -> None:
    write("")
    result = ptoc(*arguments)
    assert (result.status, result.out) == (1, "")
    assert arguments[1] in result.err.splitlines()[0]


def test_passes_are_listed_in_the_order_of_the_pipeline(ptoc: Run) -> None:
    from ptoc.passes import PASSES
    from ptoc.passes.pipeline import STAGES

    result = ptoc("passes")
    listed = [line.split()[0] for line in result.out.splitlines() if line.startswith("  ")]
    assert result.status == 0
    assert set(listed) == set(PASSES)
    order = [name for names in STAGES.values() for name in names]
    assert listed[: len(order)] == order


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_no_internal_error(ptoc: Run, write: Write) -> None:
    result = ptoc("compile", write(LINEAR), "-o", "/dev/full")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("input or output failed: No space left on device\nrule: command-line: ")
