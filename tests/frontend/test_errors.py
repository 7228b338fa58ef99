"""The errors that users see."""

import importlib.util
import pickle
from pathlib import Path
from types import ModuleType

import pytest

from ptoc import errors
from ptoc.errors import (
    ArgumentError,
    CompileError,
    InputError,
    ProgramFault,
    PtocError,
    SourceLocation,
    UnsupportedError,
    caller_location,
)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text("def f(a):\n    größe = a @ a\n    return größe + np.fft(a)\n", encoding="utf-8")
    return path


def load(path: Path, name: str, package: str | None = None) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    if package is not None:
        module.__package__ = package
    spec.loader.exec_module(module)
    return module


def test_a_bare_message_is_rendered_alone() -> None:
    assert str(PtocError("no such file")) == "no such file"


def test_all_parts_are_rendered_in_order(kernel: Path) -> None:
    error = UnsupportedError(
        "numpy.fft is not supported",
        where=SourceLocation(str(kernel), 3, 22, 3, 31),
        operands="3x4 float32",
        rule="rings",
        hint="use np.matmul",
    )
    error.others = (PtocError("another"),)
    assert str(error).splitlines() == [
        f"{kernel}:3:22: numpy.fft is not supported",
        "    3 | return größe + np.fft(a)",
        "      |                ^^^^^^^^^",
        "operands: 3x4 float32",
        "rule: rings: tiles live in rings of sixteen generations (docs/planning.md#rings)",
        "help: use np.matmul",
        "",
        "another",
    ]


def test_operands_that_the_message_has_are_not_repeated() -> None:
    error = PtocError("np.exp of 3x4 float32 is not supported", operands="3x4 float32")
    assert "operands" not in str(error)


@pytest.mark.parametrize(
    ("end", "marks"), [((None, None), "^"), ((2, 14), "^^^^^^^^^^^^^"), ((3, 5), "^^^^^^^^^^^^^"), ((2, 6), "^^^^^")]
)
def test_of_an_expression_of_several_lines_the_first_is_underlined(
    end: tuple[int | None, int | None], marks: str, tmp_path: Path
) -> None:
    path = tmp_path / "several.py"
    path.write_text("\nlonger + name\n")
    excerpt = SourceLocation(str(path), 2, 1, *end).excerpt()
    assert excerpt == f"    2 | longer + name\n      | {marks}"


def test_without_a_column_there_is_no_caret(kernel: Path) -> None:
    assert SourceLocation(str(kernel), 2).excerpt() == "    2 | größe = a @ a"


@pytest.mark.parametrize("line", [99, 0])
def test_a_source_line_that_cannot_be_read_is_left_out(kernel: Path, line: int) -> None:
    assert str(PtocError("x", where=SourceLocation(str(kernel), line))) == f"{kernel}:{line}: x"
    assert SourceLocation("/nowhere/at/all.py", 1, 4).excerpt() is None


def test_a_fault_names_its_kind_and_every_line_of_its_bundle() -> None:
    fault = ProgramFault("load outside memory", kind="MemoryFault", bundle="BSTART TLOAD\nB.DIM a0", hint="h")
    assert str(fault).splitlines() == [
        "load outside memory",
        "fault: MemoryFault",
        "bundle: BSTART TLOAD",
        "        B.DIM a0",
        "rule: memory-accesses: a bundle accesses the rows of the array that it was compiled for (docs/abi.md#memory)",
        "help: h",
    ]


@pytest.mark.parametrize("kind", [UnsupportedError, ArgumentError, CompileError, InputError, ProgramFault])
def test_one_tree_and_every_error_survives_pickling(kind: type[PtocError]) -> None:
    error = kind("message", where=SourceLocation("f.py", 3), rule="r", hint="h")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, PtocError) and type(copy) is kind
    assert str(copy) == str(error)


def test_an_argument_error_is_a_value_error() -> None:
    assert issubclass(ArgumentError, ValueError)


def test_the_caller_is_found_with_its_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "user.py"
    path.write_text("def f(g):\n    return [g(\n        2)]\n")
    [where] = load(path, "user").f(lambda _: caller_location(skip_packages=("ptoc", __name__)))
    assert where == SourceLocation(str(path), 2, 13)
    assert (where.end_line, where.end_column) == (3, 11)


@pytest.mark.parametrize(("name", "package"), [("ptoc.inner", None), ("__main__", "ptoc.cli")])
def test_frames_of_the_package_are_skipped(tmp_path: Path, name: str, package: str | None) -> None:
    path = tmp_path / "inner.py"
    path.write_text("def here(f):\n    return f()\n")
    where = load(path, name, package).here(caller_location)
    assert where is not None and where.file == __file__


def test_every_frame_may_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_top_package", lambda frame: "ptoc")
    assert caller_location() is None
