"""Mistakes on the command line, and what they are told: one golden message each (kernels: ``test_mistakes.py``)."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kernel_files import LINEAR, PAIR, Run, Write

from ptoc.rules import RULES

PTOC = str(Path(sys.executable).with_name("ptoc"))

MISTAKES: dict[str, tuple[str, list[str]]] = {
    "inputs with two parameters": (LINEAR.replace("def inputs():", "def inputs(a, b):"), ["run", "linear.py"]),
    "inputs with keyword parameters": (LINEAR.replace("def inputs():", "def inputs(*, m):"), ["run", "linear.py"]),
    "too many inputs": (LINEAR.replace("in shapes]", "in shapes * 2]"), ["run", "linear.py"]),
    "too many specifications": (LINEAR, ["compile", "linear.py", *["--spec", "4x4:float32"] * 4]),
    "a directory": (LINEAR, ["run", "."]),
    "no such file": (LINEAR, ["run", "lineer.py"]),
    "no such kernel": (LINEAR, ["validate", "linear.py:lineer"]),
    "no inputs": (PAIR, ["run", "linear.py:keep"]),
    "a function that is no kernel": (LINEAR, ["run", "linear.py:inputs"]),
    "a misspelt name": (LINEAR.replace("return c +", "return d +"), ["run", "linear.py"]),
    "a syntax error": ("x = 1\ny = (2 +\n", ["run", "linear.py"]),
    "an unsupported function": (LINEAR.replace("return c +", "return np.tanh(c) +"), ["compile", "linear.py"]),
    "a folder that is not there": (LINEAR, ["validate", "--reduce", "no/case.py", "linear.py"]),
    "a kernel as an image": (LINEAR, ["dis", "linear.py"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message(name: str, ptoc: Run, write: Write, golden: Callable[..., None]) -> None:
    text, arguments = MISTAKES[name]
    write(text)
    result = ptoc(*arguments)
    assert (result.status, result.out) == (1, "")
    first = result.err.splitlines()[0]
    if re.match(r"linear\.py:\d+", first):
        assert re.search(r"\n +\d+ \| .+\n +\| +\^+\n", result.err), result.err
    rule = re.search(r"^rule: ([\w-]+): .+ \(docs/[\w.-]+#[\w-]+\)$", result.err, re.MULTILINE)
    assert rule is not None and rule[1] in RULES
    assert re.search(r"^help: .{8,}", result.err, re.MULTILINE)
    golden(result.err)


@pytest.mark.parametrize("command", ["run", "validate", "sim"])
def test_a_machine_has_not_any_number_of_cores(command: str, ptoc: Run, write: Write) -> None:
    result = ptoc(command, write(LINEAR), "--cores", "999999999")
    assert (result.status, result.out) == (2, "")
    assert "--cores: a machine has 1 to 1024 cores, not 999999999" in result.err


@pytest.mark.parametrize("redirection", [">&-", ">&- 2>&-", "<&-"])
def test_streams_may_be_closed(redirection: str, write: Write) -> None:
    write(LINEAR)
    result = subprocess.run(f"{PTOC} run linear.py {redirection}", shell=True, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_closed_stdin_is_no_internal_error(write: Write) -> None:
    write("")
    result = subprocess.run(f"{PTOC} dis - <&-", shell=True, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("stdin is closed\nrule: ")
