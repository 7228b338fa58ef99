"""``ptoc run`` and ``ptoc validate``: files with kernels, good ones and every kind of bad one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_files import LINEAR, PAIR, Run, Write

from ptoc.comparing import first_mismatch
from ptoc.passes import epilogues
from ptoc.validation import Comparison, Report

VERDICT = "linear: bits equal to numpy in PTO order; plain numpy within "


def test_run_prints_the_verdict(ptoc: Run, write: Write) -> None:
    result = ptoc("run", write(LINEAR))
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(VERDICT) and result.out.count("\n") == 1


def test_verbose_and_validate_print_the_whole_report(ptoc: Run, write: Write) -> None:
    file = write(LINEAR)
    reports = [ptoc("run", "-v", file), ptoc("validate", f"{file}:linear")]
    assert reports[0] == reports[1]
    assert reports[0].status == 0
    assert reports[0].out.startswith("result: 15 elements, bits equal to numpy in PTO order\n")
    assert reports[0].out.splitlines()[-1].startswith(VERDICT)


def test_several_cores_share_the_work(ptoc: Run, write: Write) -> None:
    file = write(PAIR + "def inputs():\n    return {'pick': (np.ones((500, 70)), np.zeros((500, 70)))}\n")
    assert ptoc("run", "--cores", "4", file) == ptoc("run", file)
    assert ptoc("run", file).status == 0
    assert ptoc("validate", "--cores", "4", file) == ptoc("validate", file)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--bisect",), "to bisect"),
        (("--reduce", "case.py"), "to reduce"),
        (("--bisect", "--reduce", "case.py"), "to bisect or reduce"),
    ],
)
def test_bisect_and_reduce_of_a_good_kernel_say_so(
    options: tuple[str, ...], words: str, ptoc: Run, write: Write
) -> None:
    file = write(LINEAR)
    asked, plain = ptoc("validate", *options, file), ptoc("validate", file)
    assert asked.status == 0
    assert asked.out == plain.out + f"linear is right, so there is nothing {words}\n"
    assert not Path("case.py").exists()


@pytest.mark.parametrize(("path", "words"), [("no/such/case.py", "no directory no/such"), (".", ". is a directory")])
def test_where_a_reduced_case_goes_is_looked_at_first(path: str, words: str, ptoc: Run, write: Write) -> None:
    result = ptoc("validate", "--reduce", path, write(LINEAR))
    assert (result.status, result.out) == (1, "")
    assert words in result.err.splitlines()[0]


def test_bisect_and_reduce_of_a_wrong_one(ptoc: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epilogues, "activated", lambda op, epilogue: epilogue)
    sums = "c + np.matmul(x, w, dtype=np.float32)"
    file = write(LINEAR.replace(sums, f"np.maximum({sums}, 0)"))
    result = ptoc("validate", "--bisect", "--reduce", "case.py", file)
    assert result.status == 1
    assert "linear: wrong after fuse-epilogue: " in result.out
    assert re.search(r"^- +%\d+ = nd.relu", result.out, re.MULTILINE)
    script = Path("case.py").read_text(encoding="utf-8")
    assert "np.maximum(" in script and "np.float16" in script
    with pytest.raises(SystemExit, match="True"):
        exec(script, {})


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_number_of_cores_that_is_none(command: str, ptoc: Run, write: Write) -> None:
    result = ptoc(command, "--cores", "0", write(PAIR))
    assert result.status == 2
    assert "argument --cores: at least 1 is needed" in result.err


def test_stats_are_plain_text_away_from_a_terminal(ptoc: Run, write: Write) -> None:
    result = ptoc("run", "--stats", write(LINEAR))
    assert result.status == 0
    rows = dict(line.rsplit(maxsplit=1) for line in result.out.splitlines()[2:])
    assert rows["  macs useful"] == str(5 * 9 * 3)


def test_a_profile_names_kinds_of_bundles(ptoc: Run, write: Write) -> None:
    result = ptoc("run", "--profile", write(LINEAR))
    assert result.status == 0
    assert {"TLOAD", "all"} <= {line.split()[0] for line in result.out.splitlines()}


def test_stats_are_a_table_on_a_terminal(ptoc: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(LINEAR)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    result = ptoc("run", "--stats", file)
    assert result.status == 0
    assert "│ macs useful" in result.out


def test_arrays_without_elements_need_no_program(ptoc: Run, write: Write) -> None:
    text = PAIR + "\ndef inputs(kernel):\n    return np.float32([]), np.float32([])\n"
    result = ptoc("run", "--stats", write(text) + ":pick")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("pick: bits equal")


def wrong_report(kernel: object, *args: object) -> Report:
    left, right = np.float32([1, 2]), np.float32([1, 3])
    bad = Comparison("result", 2, first_mismatch(left, right), 1, None, 0, 0, None)
    return Report("linear", (bad,))


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_wrong_result_is_a_finding(command: str, ptoc: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptoc.validation.validate", wrong_report)
    result = ptoc(command, write(LINEAR))
    assert result.status == 1
    assert "1 of 2 elements differ from numpy in PTO order" in result.out
    assert result.out.endswith("linear: WRONG in result\n")


INPUTS_OF_BOTH = """
def inputs(kernel):
    assert kernel in ("keep", "pick")
    return np.float32([1, 0, 2]), np.float32([3, 4, 1])
"""
INPUTS_OF_ONE = "\ndef inputs():\n    return {'pick': (np.float32([1, 0, 2]), np.float32([3, 4, 1]))}\n"


@pytest.mark.parametrize(
    ("text", "file", "reference", "kernel"),
    [
        (PAIR + INPUTS_OF_BOTH, "pair.py", "pair.py:keep", "keep"),
        (PAIR + INPUTS_OF_BOTH, "pair.py", "pair.py:pick", "pick"),
        (PAIR + INPUTS_OF_BOTH, "keep.py", "keep.py", "keep"),
        (PAIR + INPUTS_OF_ONE, "pair.py", "pair.py", "pick"),
        (LINEAR.replace("inputs()", "inputs(seed=1)"), "other.py", "other.py", "linear"),
        ("import numpy as np" + LINEAR + "\nassert __name__ != '__main__'\n", "a.b.py", "a.b.py", "linear"),
    ],
)
def test_the_kernel_is_found(text: str, file: str, reference: str, kernel: str, ptoc: Run, write: Write) -> None:
    write(text, file)
    result = ptoc("run", reference)
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(f"{kernel}: bits equal")


def test_modules_beside_the_file_can_be_imported(ptoc: Run, write: Write) -> None:
    write("SCALE = 2\n", "neighbour_of_linear.py")
    before = list(sys.path)
    assert ptoc("run", write("import neighbour_of_linear\n" + LINEAR)).status == 0
    assert sys.path == before


def test_an_imported_kernel_does_not_count_beside_own_ones(ptoc: Run, write: Write) -> None:
    write(PAIR, "library_of_kernels.py")
    file = write("from library_of_kernels import keep, pick\n" + LINEAR)
    assert ptoc("run", file).out.startswith("linear: ")
    assert "no arrays" not in ptoc("compile", f"{file}:keep", "--spec", "4:float32", "--spec", "4:float32").err


BAD_FILES = {
    "no kernel": ("x = 1\n", "linear.py", "linear.py has no kernel\nhelp: decorate"),
    "several kernels": (
        PAIR,
        "linear.py",
        "linear.py has several kernels: keep, pick\nhelp: name one, as in linear.py:keep",
    ),
    "unknown kernel": (
        LINEAR,
        "linear.py:square",
        "linear.py has no kernel called 'square'\nhelp: its kernels are linear",
    ),
    "not a kernel": (
        LINEAR,
        "linear.py:inputs",
        "linear.py:9:5: inputs in linear.py is not a kernel\n    9 | def inputs():\n      |     ^^^^^^\nhelp: decorate",
    ),
    "no inputs": (
        PAIR,
        "linear.py:keep",
        "the example inputs of linear.py: inputs() is missing\nhelp: define inputs()",
    ),
    "inputs for another": (PAIR + INPUTS_OF_ONE, "linear.py:keep", "inputs() has no arrays for keep"),
    "inputs are no arrays": (PAIR + "\ndef inputs():\n    return 7\n", "linear.py:keep", "inputs() returns an int"),
    "too few inputs": (
        PAIR + "\ndef inputs():\n    return np.float32([1])\n",
        "linear.py:keep",
        "linear.py:6:5: keep(src, dst), given 1 array: missing a required argument: 'dst'\n",
    ),
    "syntax": (
        "x = 1\ny = (2 +\n",
        "linear.py",
        "linear.py:2:5: SyntaxError: '(' was never closed\n    2 | y = (2 +\n      |     ^\n",
    ),
    "import": ("\nimport nowhere_to_be_found\n", "linear.py", "linear.py:2:1: ModuleNotFoundError: No module named"),
    "crash at import": ("\n\n1 / 0\n", "linear.py", "linear.py:3:1: ZeroDivisionError: division by zero"),
    "exit at import": ("import sys\nsys.exit(3)\n", "linear.py", "linear.py ends the interpreter (exit code 3)"),
    "crash in inputs": (
        "def inputs():\n    return nothing\n" + PAIR,
        "linear.py:keep",
        "linear.py:2:12: NameError: name",
    ),
    "crash in the kernel": (
        LINEAR.replace("return c +", "return d +"),
        "linear.py",
        "linear.py:7:12: NameError: name 'd' is not defined",
    ),
    "shapes": (LINEAR.replace("(9, 3)", "(8, 3)"), "linear.py", "linear.py:7:16: np.matmul of "),
    "binary": (b"\x7fELF\0\0", "linear.py", "linear.py"),
    "not UTF-8": (b"x = '\xff'\n", "linear.py", "linear.py"),
    "dtype": (PAIR + INPUTS_OF_ONE.replace("float32", "complex64"), "linear.py", "argument a has dtype complex64"),
    "unsupported": (
        LINEAR.replace("return c +", "return np.sin(c) +"),
        "linear.py",
        "linear.py:7:12: ",
    ),
}


@pytest.mark.parametrize("command", ["run", "validate", "compile"])
@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_one_message_that_says_where(case: str, command: str, ptoc: Run, write: Write) -> None:
    text, reference, message = BAD_FILES[case]
    write(text)
    result = ptoc(command, reference)
    assert (result.status, result.out) == (1, "")
    assert message in re.sub("rule: .*\n", "", result.err)
    assert "\nrule: kernel-files" in result.err or ":7:" in result.err or "argument" in result.err, result.err
    assert "\nhelp: " in result.err
    assert "internal error" not in result.err
