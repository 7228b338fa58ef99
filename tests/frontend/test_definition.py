"""Where the parts of a kernel stand in its source, and kernels that are pickled."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptoc
from ptoc.definition import Definition, widened
from ptoc.errors import ArgumentError, SourceLocation


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


@decorated
def plain(first: Any, *rest: Any, last: Any = None, **more: Any) -> Any:
    def inner() -> int:
        return 1

    return (
        inner(), first
    )  # fmt: skip


def two_returns(x: Any) -> Any:
    if x.ndim:
        return x
    return x.copy()


lambdas = (lambda a: a + 1, lambda b, größe: [größe])


def text_of(where: SourceLocation | None) -> str:
    """The source that a place covers."""
    assert where is not None and where.column is not None
    assert where.end_line is not None and where.end_column is not None
    lines = Path(where.file).read_bytes().splitlines()[where.line - 1 : where.end_line]
    lines[-1] = lines[-1][: where.end_column - 1]
    lines[0] = lines[0][where.column - 1 :]
    return b"\n".join(lines).decode()


def test_the_parts_of_a_function() -> None:
    definition = Definition(plain)
    assert text_of(definition.name) == "plain"
    assert text_of(definition.parameter("first")) == "first: Any"
    assert text_of(definition.parameter("rest1")) == "rest: Any"
    assert text_of(definition.parameter("last")) == "last: Any"
    assert text_of(definition.parameter("anything")) == "more: Any"
    assert text_of(definition.result).split() == ["(", "inner(),", "first", ")"]
    assert definition.line == SourceLocation(__file__, plain.__code__.co_firstlineno)


def test_of_several_results_none_is_guessed() -> None:
    assert text_of(Definition(two_returns).result) == "two_returns"


def test_lambdas_of_one_line_are_told_apart_by_their_parameters() -> None:
    assert [text_of(Definition(each).name) for each in lambdas] == ["lambda", "lambda"]
    assert [text_of(Definition(each).result) for each in lambdas] == ["a + 1", "[größe]"]
    assert text_of(Definition(lambdas[1]).parameter("größe")) == "größe"


def test_a_partial_function_is_the_function() -> None:
    assert text_of(Definition(functools.partial(plain, last=1)).name) == "plain"


@pytest.mark.parametrize("function", [None, np.add, eval("lambda x: x", {})])
def test_without_source_there_is_a_line_or_nothing(function: Any) -> None:
    definition = Definition(function)
    places = (definition.name, definition.parameter("x"), definition.result)
    assert all(where == definition.line for where in places)


def test_an_operation_is_widened_when_it_is_the_only_one_there(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("x = f(1,\n  2)\ny = f(1).g(2)\nz = a\n")
    assert text_of(widened(SourceLocation(str(file), 1, 5))) == "f(1,\n  2)"
    for place in (SourceLocation(str(file), 3, 5), SourceLocation(str(file), 4, 5), SourceLocation(str(file), 1)):
        found = widened(place)
        assert found is not None and found.end_line is None
    assert widened(SourceLocation("/nowhere.py", 1, 5)) == SourceLocation("/nowhere.py", 1, 5)
    assert widened(None) is None


# -- pickling --------------------------------------------------------------------------------------


@ptoc.jit
def positive(x: Any) -> Any:
    return x > 0


named_otherwise = ptoc.jit(two_returns)


def test_a_kernel_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(positive)) is positive
    assert copy.deepcopy(positive) is positive and copy.copy(positive) is positive


def test_a_kernel_of_another_name_takes_its_function_along() -> None:
    again = pickle.loads(pickle.dumps(named_otherwise))
    assert again.function is two_returns and again.target == named_otherwise.target
    assert (again(np.ones(3, np.float32)) == 1).all()


def test_another_process_finds_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "kernels_to_pickle.py").write_text("import ptoc\n\n@ptoc.jit\ndef f(x):\n    return x > 0\n")
    code = (
        "import pickle, sys, subprocess, kernels_to_pickle as k\n"
        "load = 'import pickle, sys; print(pickle.load(sys.stdin.buffer).name)'\n"
        "subprocess.run([sys.executable, '-c', load], input=pickle.dumps(k.f), check=True)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("f\n", "")


def test_a_kernel_inside_of_a_function_is_refused() -> None:
    @ptoc.jit
    def local(x: Any) -> Any:
        return x > 0

    with pytest.raises(ArgumentError, match="local cannot be pickled") as caught:
        pickle.dumps(local)
    assert text_of(caught.value.where) == "local"
    assert copy.deepcopy(local) is local


# -- wrong kinds of Python values ------------------------------------------------------------------

WRONG_KINDS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "target": (lambda: ptoc.jit(target="x")(lambda x: x), ArgumentError, "the target of kernel is a str"),
    "target of zero": (lambda: ptoc.jit(target=0)(lambda x: x), ArgumentError, "the target of kernel is an int"),
    "no function": (lambda: ptoc.jit(3), ArgumentError, "ptoc.jit takes a function, not an int"),
    "options": (lambda: ptoc.jit(options={"fast": 1})(lambda x: x), ArgumentError, "no compile option"),
    "options of another kind": (lambda: ptoc.jit(options="fast")(lambda x: x), ArgumentError, "no compile option"),
    "cores": (lambda: ptoc.Target(cores="2"), ArgumentError, "a machine has 1 to 1024 cores, not '2'"),
    "too many cores": (lambda: ptoc.Target(cores=1025), ArgumentError, "not 1025"),
    "revision": (lambda: ptoc.Target(isa=3), ArgumentError, "3"),
    "strides": (lambda: ptoc.spec((2, 3), "float32", "ab"), ArgumentError, "are no strides of"),
    "too few strides": (lambda: ptoc.spec((2, 3), "float32", (4,)), ArgumentError, "are no strides of"),
    "dtype": (lambda: ptoc.spec((2, 3), "float31"), ArgumentError, "numpy has no dtype called float31"),
    "shape": (lambda: ptoc.spec("23", "float32"), ArgumentError, "is no shape"),
    "specification": (lambda: positive.compile((2, 3)), ArgumentError, "x is a tuple, not a ptoc.spec"),
    "validate": (lambda: ptoc.validate(3), ArgumentError, "validate takes a kernel, not an int"),
    "machine": (lambda: ptoc.runtime.Machine(cores="2"), TypeError, "cores is a number of cores, not str"),
    "memory": (lambda: ptoc.runtime.Machine(memory=64), TypeError, "memory is a ptoc.runtime.Memory, not int"),
    "code": (lambda: ptoc.runtime.Machine().load("BSTOP"), TypeError, "code is bytes"),
    "image": (lambda: ptoc.runtime.Machine().load_image("BSTOP"), TypeError, "image is bytes"),
    "assembly": (lambda: ptoc.backend.assemble(b"BSTOP"), TypeError, "assemble takes text, not bytes"),
    "disassembly": (lambda: ptoc.backend.disassemble("BSTOP"), TypeError, "disassemble takes bytes, not str"),
}


@pytest.mark.parametrize("name", WRONG_KINDS)
def test_a_value_of_the_wrong_kind_is_named(name: str) -> None:
    call, kind, words = WRONG_KINDS[name]
    with pytest.raises(kind, match=words.replace("(", r"\(")) as caught:
        call()
    assert kind is TypeError or "\nhelp: " in str(caught.value)
