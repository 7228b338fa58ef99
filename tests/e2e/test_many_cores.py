"""Programs on several cores: the bits of one core, no element that two cores touch, and every core with work to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import Array, assert_same, mixed
from test_random_kernels import STATEMENTS, arguments, kernel_of

import ptoc
from ptoc.errors import ArgumentError, ProgramFault
from ptoc.launch import run


def on(cores: int, function: Callable[..., Any], arrays: Sequence[Array]) -> list[Array]:
    """Results and arguments of a kernel after a watched run; what the watch finds of cores that meet is a failure."""
    copies = [a.copy() for a in arrays]
    program = ptoc.jit(function).program_for(*copies)
    machine, launched = run(program, copies, cores, watch=True)
    assert not [f for f in machine.findings if f.kind in ("core-overlap", "core-race", "order-dependent")]
    return [launched[n] for n, kind in enumerate(program.kinds) if kind != "scratch"]


def assert_equal_on_any_number(function: Callable[..., Any], arrays: Sequence[Array]) -> None:
    wanted = on(1, function, arrays)
    for cores in (2, 4, 7):
        for left, right in zip(on(cores, function, arrays), wanted, strict=True):
            assert_same(left, right, f"{cores} cores")


def pick(x: Any, y: Any) -> Any:
    return x > y, np.where(x > y, x, np.where(y == 1, y, x))


def in_place(x: Any, y: Any) -> None:
    x[x < y] = 1
    x[y > 0] = y[y > 0]
    y[:] = x


def by_row(x: Any, y: Any) -> None:
    """Every row needs the first rows of y, which are changed before and after."""
    y[y < 0] = 0
    x[x > y] = 0
    y[:] = x


shapes = st.one_of(
    st.tuples(st.integers(1, 300), st.integers(1, 300)),
    st.tuples(st.integers(1, 9), st.integers(1, 3000)),
    st.tuples(st.integers(1, 5000)),
)


@settings(max_examples=25)
@given(
    shapes,
    st.sampled_from([pick, in_place, by_row]),
    st.sampled_from(["int8", "float16", "float32", "int64"]),
    st.sampled_from([0, 0, 3]),
    st.integers(0, 2**16),
)
def test_any_shape(shape: tuple[int, ...], function: Callable[..., Any], dtype: str, gap: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    padded = (*shape[:-1], shape[-1] + gap)
    arrays = [mixed(rng, padded, np.dtype(dtype))[..., : shape[-1]] for _ in range(2)]
    assert_equal_on_any_number(function, arrays)


arguments = arguments | {
    "statements": st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=9),
    "returns": st.sampled_from(["x, y, t, k", "t.copy(), m", "np.where(k, x, t), y"]),
}


@settings(max_examples=40)
@given(**arguments)
def test_random_statements(statements: list[str], returns: str, size: int, gaps: list[int], seed: int) -> None:
    """Also scatters, and arrays that are read after they were written."""
    check_statements(statements, returns, size, seed)


def test_ageing_tiles_out_reads_no_array() -> None:
    statements = ["x[x > y] = y[x > y]", "y[k] = x[k]", "ptoc.scatter(y, places, y, k)", "m[:] = k"]
    statements += ["np.copyto(x, t, where=y > r)", "y[...] = np.where(k, y, r)"]
    check_statements(statements, "x, y, t, k", 70, 0)


def check_statements(statements: list[str], returns: str, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-3, 4, (size, size)).astype(np.float32) for _ in range(2))
    r, m = rng.integers(-3, 4, size).astype(np.float32), rng.random((size, size)) < 0.5
    rows, cols = rng.permuted(np.arange(size)), rng.permuted(np.arange(size))
    places = (rows[:, None] * size * 4 + cols[None, :] * 4).astype(np.int32)
    assert_equal_on_any_number(kernel_of(statements, returns), [x, y, r, m, places])


def work(function: Callable[..., Any], arrays: Sequence[Array], cores: int) -> list[int]:
    """Bytes that each core writes."""
    machine, _ = run(ptoc.jit(function).program_for(*arrays), arrays, cores)
    return [processor.core.measured().gm_bytes_written for processor in machine.processors]


def test_the_cores_share_the_rows() -> None:
    x, y = (np.ones((4096, 256), np.float32) for _ in range(2))
    assert work(lambda x, y: x > y, [x, y], 1) == [x.size]
    written = work(lambda x, y: x > y, [x, y], 4)
    assert sum(written) == x.size
    assert max(written) <= 1.2 * x.size / 4


def test_a_nest_that_reads_what_another_wrote_is_shared_as_well() -> None:
    x, y = (np.ones((4096, 256), np.float32) for _ in range(2))
    written = work(lambda x, y: np.where(x > y, x, np.where(y > 1, y, x)), [x, y], 4)
    assert max(written) <= 1.2 * sum(written) / 4


def test_fewer_rounds_than_cores() -> None:
    x, y = (np.ones((3, 5), np.float32) for _ in range(2))
    assert work(lambda x, y: x > y, [x, y], 4) == [0, 0, 0, 15]
    assert_equal_on_any_number(pick, [x, y])


def test_the_last_of_equal_targets_stays() -> None:
    """A scatter is one core's, so its order is that of its elements."""
    src = np.arange(3000, dtype=np.int32).reshape(60, 50)
    places = np.zeros(src.shape, np.int32)
    dst = np.zeros(4, np.int32)

    def kernel(dst: Any, places: Any, src: Any) -> None:
        ptoc.scatter(dst, places, src)

    for cores in (1, 4):
        copy = dst.copy()
        ptoc.jit(kernel).program_for(copy, places, src).run(copy, places, src, cores=cores)
        assert copy.tolist() == [2999, 0, 0, 0]


@settings(max_examples=15)
@given(st.tuples(*[st.integers(1, 400)] * 3), st.sampled_from(["float16", "int8"]), st.integers(0, 2**16))
def test_any_product(size: tuple[int, int, int], dtype: str, seed: int) -> None:
    m, n, k = size
    rng = np.random.default_rng(seed)
    wide = np.int32 if dtype == "int8" else np.float32
    arrays = [mixed(rng, shape, np.dtype(t)) for shape, t in (((m, k), dtype), ((k, n), dtype), ((m, n), wide))]
    assert_equal_on_any_number(lambda a, b, c: c + np.matmul(a, b, dtype=wide), arrays)


def test_a_target_says_how_many_cores_there_are() -> None:
    rng = np.random.default_rng(0)
    x, y = (mixed(rng, (500, 70), np.dtype("float16")) for _ in range(2))
    kernel = ptoc.jit(target=ptoc.Target(cores=4))(pick)
    for left, right in zip(kernel(x, y), ptoc.jit(pick)(x, y)):
        assert_same(left, right)
    report = ptoc.validate(kernel, x, y)
    assert report.ok, report


def test_a_fault_names_its_core() -> None:
    def kernel(dst: Any, places: Any, src: Any) -> None:
        dst[src > 0] = 1
        ptoc.scatter(dst, places, src)

    dst, src = np.zeros(8, np.int32), np.ones(8, np.int32)
    places = np.full(8, 1 << 20, np.int32)
    program = ptoc.jit(kernel).program_for(dst, places, src)
    with pytest.raises(ProgramFault, match=r"faulted on core 0: .*no array was changed"):
        program.run(dst, places, src, cores=2)
    assert not dst.any()


@pytest.mark.parametrize("cores", [0, -1, 1025, 1.0, True, "2", None])
def test_a_number_of_cores(cores: Any) -> None:
    x = np.ones(4, np.float32)
    program = ptoc.jit(lambda x: x > 0).program_for(x)
    with pytest.raises(ArgumentError, match="a machine has 1 to 1024 cores"):
        program.run(x, cores=cores)
    with pytest.raises(ArgumentError, match="a machine has 1 to 1024 cores"):
        ptoc.Target(cores=cores)
