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


def test_ir_is_compiled(ptoc: Run, write: Write) -> None:
    file = write(LINEAR)
    assert ptoc("compile", file, "--emit", "tile", "-o", "linear.mlir").status == 0
    given, again = ptoc("compile", file), ptoc("compile", "linear.mlir")
    assert (again.status, again.err) == (0, "")
    assert [line for line in given.out.splitlines() if ".loc" not in line and ".file" not in line] == [
        line for line in again.out.splitlines() if ".loc" not in line and ".file" not in line
    ]
    assert ptoc("compile", "linear.mlir", *SPECS).status == 2
    assert ptoc("compile", "missing.mlir").status == 1
    Path("wrong.mlir").write_text("func.func @f(")
    result = ptoc("compile", "wrong.mlir")
    assert result.status == 1
    assert "docs/ir.md#compiling-ir" in result.err
    assert "Traceback" not in result.err


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
    assert result.status == 1
    assert result.err.startswith("no/such/folder/x: No such file or directory\nrule: command-line: ")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("5x9", "is not like 512x512:float16"),
        ("5xx9:float16", "is not like 512x512:float16"),
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
        (SPECS[:4], "linear.py:6:5: linear(x, w, c), given 2 arrays: missing a required argument: 'c'"),
        (("--spec", "5x8:float16", *SPECS[2:]), "linear.py:7:16: "),
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
    assert ptoc("compile", write(LINEAR), "--explain", "--locations").status == 2


EXPLANATION = """\
linear: matmul 1 of 1, linear.py:7
5 x 3 sums of 9 products: FP16 by FP16, added in FP32 from C on, stored as FP32
room for accumulators: 262,144 bytes of Local tiles on each PE, in T, U, M, N; the kernel does nothing else

lower bound: 264 bytes
   60  every element of C comes in once
   60  every result goes out once
  144  A and B come in once

4 plans:
  out by       rows           slots  blocks  K            traffic  / bound  utilisation  bundles  lanes   Local  Shared
  chosen       1 x (U 1 x 5)  1 x 3  1       9 Local          264    1.000        1.000        5      1  16,384       0
  utilisation  1 x (T 1 x 5)  2 x 8  1       9 Local          264    1.000        0.500        9      1  20,480       0
  utilisation  1 x (T 1 x 5)  2 x 8  1       8                264    1.000        0.500       14      1   8,192     256
  utilisation  1 x (T 1 x 5)  2 x 8  1       1 Local + 8      274    1.038        0.500       15      1  12,288     256

utilisation: 3 of 4 out; the best cells would issue at least 0.98 of the multiply-adds of the others
lanes:       none out; a single lane has the least code, and may move 277 bytes, 5% over the least
traffic:     none out; the others move at most 277 bytes, 5% over the least
bundles:     none out; the others take at most 5 bundles, 15% over the fewest
least:       none out; what is left moves 264 bytes, the least
chosen:      A comes in 1.00 times (per block of columns; Local: per slot), B 1.00 times (per row block; Local: per PE)
"""

WITH_OTHER_WORK = """
import numpy as np
import ptoc

SLOPES = np.float32([0.25, 0.5, 0.125])

@ptoc.jit
def work(x, w, c):
    y = np.matmul(x, w, dtype=np.float32)
    return c + np.matmul(x, w, dtype=np.float32), np.where(y > 0, y, SLOPES * y), c > 0
"""


def test_a_layout_is_explained(ptoc: Run, write: Write) -> None:
    result = ptoc("compile", write(LINEAR), "--explain", *SPECS)
    assert (result.status, result.out, result.err) == (0, EXPLANATION, "")


def test_every_matmul_is_explained_with_the_room_it_has(ptoc: Run, write: Write) -> None:
    out = ptoc("compile", write(WITH_OTHER_WORK), "--explain", *SPECS).out
    first, second = out.split("\n\nwork: matmul 2 of 2, linear.py:10\n")
    assert first.startswith("work: matmul 1 of 2, linear.py:10\n")
    assert "in T, U, M, N; the rest of the pool is for the kernel's other work\n" in first
    assert "in T, U, M; the rest of the pool is for the kernel's other work and tiles of parameters\n" in second


def test_an_explanation_is_no_level(ptoc: Run, write: Write) -> None:
    result = ptoc("compile", write(LINEAR), "--explain", "--emit", "nd")
    assert (result.status, result.out) == (2, "")
    assert "not allowed with" in result.err


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
