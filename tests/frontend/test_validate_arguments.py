"""validate refuses what a call refuses, before it touches an array; kernels call kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptoc


@ptoc.jit
def product(a: Any, b: Any) -> Any:
    return a @ b


@ptoc.jit
def assign(d: Any, s: Any) -> None:
    d[:] = s


def read_only(shape: tuple[int, int]) -> np.ndarray:
    array = np.zeros(shape, np.float32)
    array.flags.writeable = False
    return array


def overlapping() -> tuple[np.ndarray, np.ndarray]:
    base = np.zeros((5, 4), np.float32)
    return base[1:], base[:-1]


ONES = np.ones((60, 50), np.float32)
BAD: dict[str, Callable[[], Any]] = {
    "no dimensions": lambda: (product, np.ones((), np.float32), ONES),
    "objects": lambda: (product, np.full((50, 60), None).T, ONES),
    "a list": lambda: (product, [[1.0]], ONES),
    "shared": lambda: (assign, *overlapping()),
    "read-only": lambda: (assign, read_only((3, 4)), np.zeros((3, 4), np.float32)),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("run", [ptoc.validate, lambda kernel, *args: kernel(*args)], ids=["validate", "call"])
def test_one_error_for_a_call_and_for_validate(case: str, run: Callable[..., Any]) -> None:
    kernel, *args = BAD[case]()
    with pytest.raises(ptoc.ArgumentError) as error:
        run(kernel, *args)
    assert error.value.hint


def test_a_kernel_becomes_part_of_the_kernel_that_calls_it() -> None:
    @ptoc.jit
    def positive(a: Any, b: Any) -> Any:
        return product(a, b) > 0

    a, b = (np.random.default_rng(n).standard_normal((30, 30)).astype(np.float32) for n in (0, 1))
    assert (positive(a, b) == positive.function(a, b)).all()
    assert ptoc.validate(positive, a, b).ok


def test_an_array_of_another_kernel_is_refused() -> None:
    kept: list[Any] = []

    @ptoc.jit
    def keep(a: Any) -> Any:
        kept.append(a)
        return a > 0

    @ptoc.jit
    def mix(a: Any) -> Any:
        return a > kept[0]

    keep(np.zeros(3, np.float32))
    with pytest.raises(ptoc.UnsupportedError, match="another kernel"):
        mix(np.zeros(3, np.float32))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ptoc.spec((1, 2), "floet"),
        lambda: ptoc.spec("44", "float32"),
        lambda: ptoc.spec((1.5, 2), "float32"),
        lambda: ptoc.jit(3),
    ],
)
def test_wrong_specifications_are_argument_errors(make: Callable[[], Any]) -> None:
    with pytest.raises(ptoc.ArgumentError):
        make()


def test_a_dtype_that_does_not_exist() -> None:
    with pytest.raises(ptoc.UnsupportedError, match="bogus"):
        ptoc.jit(lambda a: a.astype("bogus"))(np.zeros(3, np.float32))


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"z": 1}, "has no parameter called 'z'", "its parameters are left, right"),
        ({"rihgt": 1}, "has no parameter called 'rihgt'", "did you mean right?"),
        ({"right": 1, "cores": 4}, "has no parameter called 'cores'", "target=ptoc.Target(cores=...)"),
        ({}, "missing a required argument: 'right'", "give one array for each parameter"),
    ],
)
def test_keywords_that_are_no_parameters(arguments: dict[str, Any], message: str, hint: str) -> None:
    @ptoc.jit
    def product(left: Any, right: Any) -> Any:
        return left @ right

    array = np.ones((2, 2), np.float16)
    with pytest.raises(ptoc.ArgumentError, match=message) as caught:
        ptoc.validate(product, array, **dict.fromkeys(arguments, array))
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("dtype", ["int4", "float8_e4m3fn"])
def test_dtypes_that_only_results_have(dtype: str) -> None:
    for given in (dtype, getattr(ml_dtypes, dtype)):
        with pytest.raises(ptoc.ArgumentError, match=f"dtype {dtype}, which only results have") as caught:
            ptoc.spec((4, 4), given)
        assert f".astype(ml_dtypes.{dtype})" in (caught.value.hint or "")


def test_levels_that_a_program_does_not_have() -> None:
    program = ptoc.jit(lambda a: a > 0).compile(ptoc.spec((4, 4), "float32"))
    with pytest.raises(ptoc.ArgumentError, match="no IR level is called 'foo'; the levels are nd, tile and pto"):
        program.ir("foo")  # type: ignore[arg-type]
