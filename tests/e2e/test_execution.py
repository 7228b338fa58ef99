"""Every level of the IR computes the same: interpreted ``nd`` and ``tile``, and the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import Array, assert_same
from test_random_kernels import arguments, kernel_of

import ptoc
from ptoc.arrays import Placement, copy_with_strides, spec_of
from ptoc.bisection import FUSION
from ptoc.compiler import compile_kernel, trace_kernel
from ptoc.execution import execute
from ptoc.launch import run
from ptoc.passes.pipeline import STAGES
from ptoc.traced_functions import TracedFunctions
from ptoc.untracing import compiled, source_of

BF16, E4M3 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn)


def modules_of(function: Callable[..., Any], arrays: Sequence[Array]) -> tuple[Any, dict[str, Any]]:
    """The program of a kernel, and its module after every pass from ``fuse-epilogue`` to the last of ``tile``."""
    call = ptoc.jit(function).bind(tuple(arrays), {})
    seen: dict[str, Any] = {}
    program = compile_kernel(
        call.apply, "kernel", call.specs(), call.names, None, None, lambda name, m: seen.update({name: m.clone()})
    )
    order = [name for stage in STAGES.values() for name in stage]
    wanted = order[order.index(FUSION) : order.index(STAGES["pto"][0])]
    return program, {name: seen[name] for name in wanted}


def assert_levels_agree(function: Callable[..., Any], arrays: Sequence[Array], cores: int = 1) -> None:
    program, modules = modules_of(function, arrays)
    _, simulated = run(program, [copy_with_strides(a) for a in arrays], cores)
    kept = [n for n, kind in enumerate(program.kinds) if kind != "scratch"]
    for name, module in modules.items():
        # While nd operations are left, each core would do all of them.
        alone = name not in ("tile-elementwise", "simplify-loops", "release-shared", "allocate-rings")
        shapes = program.results.shapes
        values = execute(module, program.specs, program.places, arrays, shapes=shapes, cores=1 if alone else cores)
        for n in kept:
            assert_same(values[n].data, simulated[n], f"{name}, array {n}")


def assert_source_traces_to_the_same(function: Callable[..., Any], arrays: Sequence[Array]) -> None:
    """A kernel written from its trace computes the same, and the one written from that is the same."""
    traces = []
    for each in (function, None):
        kernel = each or compiled(source_of(traces[0].module))
        call = ptoc.jit(kernel).bind(tuple(in_memory(arrays, traces)), {})
        traces.append(trace_kernel(call.apply, "kernel", call.specs(), call.names, None)[0])
    first, second = traces
    assert source_of(second.module) == source_of(first.module)
    values = [
        execute(
            trace.module,
            [spec_of(a, "it") for a in in_memory(arrays, before)],
            trace.places,
            in_memory(arrays, before),
            functions=TracedFunctions,
        )
        for trace, before in ((first, []), (second, [first]))
    ]
    for left, right, place in zip(*values, [*first.places, *[None] * len(values[0])]):
        assert_same(right.data, left.data.T if place is Placement.TRANSPOSED else left.data)


def in_memory(arrays: Sequence[Array], traces: Sequence[Any]) -> list[Array]:
    """Arrays as they are, or as the first of some traces has them in memory."""
    places = traces[0].places if traces else [None] * len(arrays)
    return [a.T if place is Placement.TRANSPOSED else a for a, place in zip(arrays, places)]


# -- products ---------------------------------------------------------------------------------------

EPILOGUES: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda sums, n: sums,
    "relu": lambda sums, n: np.maximum(sums, 0),
    "half": lambda sums, n: np.maximum(sums, 0).astype(np.float16),
    "leaky": lambda sums, n: np.where(sums > 0, sums, sums * np.float32(0.25)),
    "by column": lambda sums, n: np.where(sums > 0, sums, sums * np.resize(np.array([0.25, 0.5], np.float32), n)),
    "scaled": lambda sums, n: (sums * np.float32(0.5)).astype(BF16),
    "saturated": lambda sums, n: np.clip(sums, -448, 448).astype(E4M3),
    "codes": lambda sums, n: ptoc.hifloat8(sums * np.resize(np.array([0.25, 0.5], np.float32), n)),
    "bytes": lambda sums, n: np.clip(np.rint(sums * np.resize(np.array([2.0, 0.5]), n)) + 3, -128, 127).astype(np.int8),
    "maxima": lambda sums, n: (sums, np.abs(sums).max(axis=1)),
}
WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "sums": EPILOGUES["sums"],
    "relu": EPILOGUES["relu"],
    "bytes": EPILOGUES["bytes"],
    "shifted": lambda sums, n: np.clip(sums >> 3, -32768, 32767).astype(np.int16),
    "nibbles": lambda sums, n: np.clip(np.rint(sums * 0.25), -8, 7).astype(ml_dtypes.int4),
    "half": lambda sums, n: (sums * np.resize(np.array([0.25, 2.0]), n)).astype(np.float16),
    "maxima": lambda sums, n: np.maximum(sums, 0).max(axis=1, keepdims=True),
}
extent = st.one_of(st.integers(1, 40), st.sampled_from([64, 65, 128, 130, 200]))
products = {
    "m": extent,
    "n": extent,
    "k": extent,
    "dtype": st.sampled_from(["float16", "bfloat16", "float32", "int8", "uint8"]),
    "start": st.booleans(),
    "epilogue": st.sampled_from(list(EPILOGUES)),
    "whole": st.sampled_from(list(WHOLE)),
    "transposed": st.tuples(st.booleans(), st.booleans()),
    "cores": st.sampled_from([1, 1, 3]),
    "seed": st.integers(0, 2**16),
}


def product_of(
    m: int, n: int, k: int, dtype: str, start: bool, epilogue: str, whole: str, transposed: Any, cores: int, seed: int
) -> tuple[Callable[..., Any], list[Array], int]:
    rng = np.random.default_rng(seed)
    kind = BF16 if dtype == "bfloat16" else np.dtype(dtype)
    sums = np.dtype("float32" if kind.kind not in "iu" else "int32" if kind.kind == "i" else "uint32")

    def values(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
        if dtype.kind in "iu":
            return rng.integers(-9 if dtype.kind == "i" else 0, 10, shape).astype(dtype)
        return rng.standard_normal(shape).astype(dtype)

    a = values((k, m) if transposed[0] else (m, k), kind)
    b = values((n, k) if transposed[1] else (k, n), kind)
    finish = EPILOGUES[epilogue] if kind.kind not in "iu" else WHOLE[whole] if kind.kind == "i" else EPILOGUES["sums"]

    def kernel(a: Any, b: Any, *c: Any) -> Any:
        left, right = (x.T if turned else x for x, turned in zip((a, b), transposed))
        total = np.matmul(left, right, dtype=sums)
        return finish(c[0] + total if c else total, n)

    def started(a: Any, b: Any, c: Any) -> Any:
        return kernel(a, b, c)

    def bare(a: Any, b: Any) -> Any:
        return kernel(a, b)

    return (started, [a, b, values((m, n), sums)], cores) if start else (bare, [a, b], cores)


@settings(max_examples=40, deadline=None)
@given(**products)
def test_products(**choices: Any) -> None:
    assert_levels_agree(*product_of(**choices))


stacks = {
    "left": st.sampled_from([(), (1,), (3,), (2, 3), (2, 1)]),
    "right": st.sampled_from([(), (1,), (3,), (1, 3)]),
    "size": st.tuples(*[st.sampled_from([1, 5, 16, 33, 70])] * 3),
    "dtype": st.sampled_from(["float16", "int8"]),
    "relu": st.booleans(),
    "cores": st.sampled_from([1, 3]),
    "seed": st.integers(0, 2**16),
}


def check_stack(left: Any, right: Any, size: Any, dtype: str, relu: bool, cores: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n, k = size
    a, b = (rng.integers(-9, 10, shape).astype(dtype) for shape in ((*left, m, k), (*right, k, n)))
    sums = np.dtype("int32" if dtype == "int8" else "float32")

    def kernel(a: Any, b: Any) -> Any:
        total = np.matmul(a, b, dtype=sums)
        return np.maximum(total, 0) if relu else total

    assert_levels_agree(kernel, [a, b], cores)


@settings(max_examples=20, deadline=None)
@given(**stacks)
def test_stacks(**choices: Any) -> None:
    check_stack(**choices)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(**stacks)
def test_many_stacks(**choices: Any) -> None:
    check_stack(**choices)


@settings(max_examples=20, deadline=None)
@given(**arguments, cores=st.sampled_from([1, 3]))
def test_random_statements(
    statements: list[str], returns: str, size: int, gaps: list[int], seed: int, cores: int
) -> None:
    assert_levels_agree(kernel_of(statements, returns), random_arrays(size, seed), cores)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(**products)
def test_many_products(**choices: Any) -> None:
    assert_levels_agree(*product_of(**choices))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(**arguments, cores=st.sampled_from([1, 3]))
def test_many_random_statements(
    statements: list[str], returns: str, size: int, gaps: list[int], seed: int, cores: int
) -> None:
    assert_levels_agree(kernel_of(statements, returns), random_arrays(size, seed), cores)


@settings(max_examples=40, deadline=None)
@given(**products)
def test_products_are_written_as_they_are_traced(**choices: Any) -> None:
    function, arrays, _ = product_of(**choices)
    assert_source_traces_to_the_same(function, arrays)


@settings(max_examples=40, deadline=None)
@given(**arguments)
def test_statements_are_written_as_they_are_traced(
    statements: list[str], returns: str, size: int, gaps: list[int], seed: int
) -> None:
    assert_source_traces_to_the_same(kernel_of(statements, returns), random_arrays(size, seed))


def random_arrays(size: int, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-3, 4, (size, size)).astype(np.float32) for _ in range(2))
    r, m = rng.integers(-3, 4, size).astype(np.float32), rng.random((size, size)) < 0.5
    places = rng.permutation(size * size).astype(np.int32).reshape(size, size) * 4
    return [x, y, r, m, places]


def test_traced_operations_are_those_of_numpy() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-9, 10, (6, 6)).astype(np.int8) for _ in range(2))

    def kernel(a: Any, b: Any) -> Any:
        return np.clip(np.floor(np.matmul(a, b, dtype=np.int32) * 0.5) - 2, -128, 127).astype(np.int8)

    call = ptoc.jit(kernel).bind((a, b), {})
    trace, _ = trace_kernel(call.apply, "kernel", call.specs(), call.names, None)
    values = execute(trace.module, call.specs(), trace.places, (a, b), functions=TracedFunctions)
    assert_same(values[2].data, kernel(a, b))
