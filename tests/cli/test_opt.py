"""``ptoc opt``: round trips of compiled kernels, pipelines, and errors as messages."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from kernel_files import Run, Write

import ptoc as package
from ptoc.passes.pipeline import STAGES


@package.jit
def epilogue(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.maximum(np.matmul(a, b, dtype=np.float32), 0).astype(np.float16)


@package.jit
def masked(src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    mask = src > 0.5
    dst[mask] = src[mask]
    return np.where(mask, src, dst)


PROGRAMS = {
    "epilogue": epilogue.compile(package.spec((70, 300), "float16"), package.spec((300, 9), "float16")),
    "masked": masked.compile(package.spec((5, 7), "float32", (40, 4)), package.spec((5, 7), "float32")),
}
BROKEN = (
    "func.func @k(%a: memref<4x4xf32>) {\n  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x5xf32>\n  func.return\n}\n"
)
RELU = """
func.func @k(%a: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  %1 = nd.relu %0 : tensor<4x4xf32>
  nd.store %1, %a : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
"""


@pytest.mark.parametrize("locations", [False, True])
@pytest.mark.parametrize("level", ["nd", "tile", "pto"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_ir_round_trips(name: str, level: str, locations: bool, ptoc: Run, write: Write) -> None:
    text = PROGRAMS[name].ir(level, locations=locations)
    result = ptoc("opt", write(text, "k.mlir"), *(["--print-debuginfo"] if locations else []))
    assert (result.status, result.err) == (0, "")
    assert result.out == text


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_passes_of_the_pipeline_give_the_ir_of_the_compiler(name: str, ptoc: Run, write: Write) -> None:
    program = PROGRAMS[name]
    passes = ",".join(STAGES["tile"] + STAGES["pto"])
    result = ptoc("opt", write(program.ir("nd", locations=True), "k.mlir"), "-p", passes, "--print-debuginfo")
    assert (result.status, result.err) == (0, "")
    assert result.out == program.ir("pto", locations=True)


def test_upstream_passes_work_on_our_ir(ptoc: Run, write: Write) -> None:
    text = PROGRAMS["masked"].ir("tile")
    assert ptoc("opt", write(text, "k.mlir"), "-p", "cse,dce").out == text


def test_what_every_pass_changes_is_printed(ptoc: Run, write: Write) -> None:
    text = PROGRAMS["masked"].ir("nd")
    result = ptoc("opt", write(text, "k.mlir"), "-p", "cse,tile-elementwise", "--print-ir-diff", "--verify-each")
    assert result.status == 0
    same, changed = result.err.split("// tile-elementwise:\n")
    assert same == "// cse:\n// nothing changes\n"
    lines = changed.splitlines()
    assert lines[:2] == ["--- before", "+++ after"]
    taken, added = ([line[1:] for line in lines[2:] if line[0] == sign] for sign in "-+")
    assert set(taken) <= set(text.splitlines()) and set(added) <= set(result.out.splitlines())
    assert any("nd.masked_store" in line for line in taken) and any("tile.scatter" in line for line in added)


def test_verifying_and_not_verifying_exclude_each_other(ptoc: Run, write: Write) -> None:
    result = ptoc("opt", write(PROGRAMS["masked"].ir("nd"), "k.mlir"), "--verify-each", "--disable-verify")
    assert (result.status, result.out) == (2, "")
    assert result.err == "ptoc opt: error: --verify-each and --disable-verify exclude each other\n"


def test_verification_is_turned_off_for_one_command(ptoc: Run, write: Write) -> None:
    wrong = "func.func @f(%x: !tile.tile<4x6xf32, norm>) { func.return }"
    assert ptoc("opt", write(wrong, "wrong.mlir"), "--disable-verify").status == 0
    result = ptoc("opt", write(wrong, "wrong.mlir"))
    assert result.status == 1
    assert "a row-major tile has a power-of-two column count, not 6" in result.err


def test_upstream_tools_find_our_dialects_and_passes(write: Write) -> None:
    text = PROGRAMS["epilogue"].ir("nd")
    tool = Path(sys.executable).with_name("xdsl-opt")
    run = subprocess.run([tool, write(text, "k.mlir"), "-p", "tile-matmul"], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert "tile.matmul" in run.stdout


def test_the_ir_is_printed_after_every_pass(ptoc: Run, write: Write) -> None:
    text = PROGRAMS["masked"].ir("nd")
    result = ptoc("opt", write(text, "k.mlir"), "-p", "cse,tile-elementwise", "--print-ir-after-all")
    assert result.status == 0
    assert [line for line in result.err.splitlines() if line.startswith("// IR")] == [
        "// IR after cse:",
        "// IR after tile-elementwise:",
    ]
    assert result.err.partition("// IR after tile-elementwise:\n")[2].rstrip() == result.out.rstrip()
    between = ptoc("opt", "k.mlir", "-p", "cse,tile-elementwise", "--print-between-passes")
    assert "IR after cse:" in between.out


def test_text_comes_from_stdin(ptoc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAMS["masked"].ir("nd")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert ptoc("opt").out == text


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (BROKEN, [], "k.mlir:2:3: the loaded tensor has the shape and element type of the array\n    2 | %0 = nd.lo"),
        (RELU, ["-p", "cse,fuse-epilogue"], "k.mlir:4:3: fuse-epilogue: np.maximum(x, 0) is supported on"),
        (RELU + RELU.replace("@k", "@l"), ["-p", "fuse-epilogue"], "k.mlir: fuse-epilogue: a kernel module has one"),
        ("func.func @k(", [], "k.mlir:1:14"),
        ("nowhere.op\n", [], "Operation nowhere.op is not registered"),
        (b"\x7fELF\xff\xfe", [], "k.mlir is not text in UTF-8"),
    ],
)
def test_bad_ir_is_one_message(text: str | bytes, arguments: list[str], message: str, ptoc: Run, write: Write) -> None:
    result = ptoc("opt", write(text, "k.mlir"), *arguments)
    assert (result.status, result.out) == (1, "")
    assert message in result.err
    assert "internal error" not in result.err


def test_an_exception_in_a_pass_names_the_pass(ptoc: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("tile")

    monkeypatch.setattr("ptoc.passes.fuse_epilogue.FuseEpilogue.apply", broken)
    result = ptoc("opt", write(PROGRAMS["masked"].ir("nd"), "k.mlir"), "-p", "cse,fuse-epilogue")
    assert result.status == 1
    first, rule, _ = result.err.splitlines()
    assert first == "k.mlir: fuse-epilogue: this IR is not what the pass takes (KeyError: 'tile')"
    assert rule.startswith("rule: ptoc-opt: ")


def test_ir_that_a_pass_breaks_names_the_pass(ptoc: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    from xdsl.utils.exceptions import VerifyException

    def broken(*_: object) -> None:
        raise VerifyException("nothing is right")

    monkeypatch.setattr("ptoc.dialects.nd.MaskedStoreOp.verify_", lambda op: None)
    write(PROGRAMS["masked"].ir("nd"), "k.mlir")
    monkeypatch.setattr("ptoc.passes.fuse_epilogue.FuseEpilogue.apply", broken)
    err = ptoc("opt", "k.mlir", "-p", "fuse-epilogue").err
    assert err.startswith("k.mlir: fuse-epilogue: nothing is right\nrule: ptoc-opt: ")


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("fuse-epilog", "no pass is called fuse-epilog; did you mean fuse-epilogue?"),
        ("xyzzy", "no pass is called xyzzy; `ptoc passes` lists ours"),
        ("fuse-epilogue{depth=3}", "depth"),
        ("fuse-epilogue{", "Expected argument name here"),
    ],
)
def test_a_bad_pipeline_is_misuse(passes: str, message: str, ptoc: Run, write: Write) -> None:
    result = ptoc("opt", write(RELU, "k.mlir"), "-p", passes)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("ptoc opt: error: ") and message in result.err


def test_a_dialect_that_an_installed_package_publishes_is_not_registered_twice(
    ptoc: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xdsl.universe import XDSL_UNIVERSE, Universe

    from ptoc.dialects import DIALECTS
    from ptoc.passes import PASSES

    both = Universe(
        all_dialects=XDSL_UNIVERSE.all_dialects | DIALECTS,
        all_passes=XDSL_UNIVERSE.all_passes | PASSES,
        all_targets=XDSL_UNIVERSE.all_targets,
        all_frontends=XDSL_UNIVERSE.all_frontends,
    )
    monkeypatch.setattr(Universe, "get_multiverse", staticmethod(lambda: both))
    assert ptoc("opt", write(PROGRAMS["masked"].ir("tile"), "k.mlir")).status == 0
