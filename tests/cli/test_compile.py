"""``ptoc compile``: every level, specifications, files and terminals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kernel_files import LINEAR, Run, Write

import ptoc as package
from ptoc.backend import assemble

SPECS = ("--spec", "5x9:float16", "--spec", "9x3:float16", "--spec", "5x3:float32")
PTOC = str(Path(sys.executable).with_name("ptoc"))


@pytest.mark.parametrize(
    ("level", "text"),
    [("nd", "nd.matmul_acc"), ("tile", "tile.matmul"), ("pto", "BSTART.TMATMUL.ACC FP16"), ("asm", ".loc")],
)
def test_each_level_is_printed(level: str, text: str, ptoc: Run, write: Write) -> None:
    result = ptoc("compile", write(LINEAR), "--emit", level)
    assert (result.status, result.err) == (0, "")
    assert text in result.out


def test_the_assembly_is_that_of_the_image(ptoc: Run, write: Write) -> None:
    file = write(LINEAR)
    text = ptoc("compile", file, *SPECS).out
    assert ptoc("compile", file, *SPECS, "--emit", "image", "-o", "linear.img").status == 0
    assert assemble(text) == Path("linear.img").read_bytes()


def test_specifications_stand_for_example_inputs(ptoc: Run, write: Write) -> None:
    with_inputs = ptoc("compile", write(LINEAR), "--emit", "nd")
    without = ptoc("compile", write(LINEAR.partition("def inputs")[0]), *SPECS, "--emit", "nd")
    assert without.status == 0
    assert without.out == with_inputs.out


def test_a_row_stride_is_given_in_bytes(ptoc: Run, write: Write) -> None:
    specs = ("--spec", "5x9:float16:32", *SPECS[2:])
    assert "memref<5x9xf16, strided<[16, 1]>>" in ptoc("compile", write(LINEAR), *specs, "--emit", "nd").out


def test_locations_are_printed_on_request(ptoc: Run, write: Write) -> None:
    file = write(LINEAR)
    assert 'loc("linear.py":7' in ptoc("compile", file, "--emit", "tile", "--locations").out
    assert "loc(" not in ptoc("compile", file, "--emit", "tile").out


def test_output_goes_to_a_file(ptoc: Run, write: Write, tmp_path: Path) -> None:
    file = write(LINEAR)
    expected = ptoc("compile", file).out
    assert ptoc("compile", file, "-o", "linear.s").out == ""
    assert (tmp_path / "linear.s").read_text() == expected
    result = ptoc("compile", file, "-o", "no/such/folder/x")
    assert (result.status, result.err) == (1, "no/such/folder/x: No such file or directory\n")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("5x9", "is not like 512x512:float16"),
        ("5x9x2:float16", "is not like 512x512:float16"),
        ("5x9:float17", "numpy has no dtype called float17"),
        ("5x9:complex64", "has dtype complex64"),
        ("9:float16:18", "no row stride"),
    ],
)
def test_a_bad_specification_is_misuse(spec: str, message: str, ptoc: Run, write: Write) -> None:
    result = ptoc("compile", write(LINEAR), "--spec", spec)
    assert (result.status, result.out) == (2, "")
    assert message in result.err


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (SPECS[:4], "linear.py:5: linear: missing a required argument: 'c'"),
        (("--spec", "5x8:float16", *SPECS[2:]), "linear.py:7: "),
    ],
)
def test_specifications_that_do_not_fit_are_an_error(
    specs: tuple[str, ...], message: str, ptoc: Run, write: Write
) -> None:
    result = ptoc("compile", write(LINEAR), *specs)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(message)


def test_locations_belong_to_ir(ptoc: Run, write: Write) -> None:
    assert ptoc("compile", write(LINEAR), "--emit", "asm", "--locations").status == 2


def test_an_image_is_not_written_to_a_terminal(ptoc: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(LINEAR)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    result = ptoc("compile", file, "--emit", "image")
    assert (result.status, result.out) == (2, "")
    assert "write it to a file with -o" in result.err


def test_an_image_goes_through_a_pipe(write: Write) -> None:
    command = [PTOC, "compile", write(LINEAR), "--emit", "image"]
    image = subprocess.run(command, capture_output=True, check=True).stdout
    text = subprocess.run([PTOC, "dis", "-"], input=image, capture_output=True, check=True).stdout
    again = subprocess.run([PTOC, "as", "-"], input=text, capture_output=True, check=True).stdout
    assert again == image
    assert package.backend.disassemble(image).encode() == text
