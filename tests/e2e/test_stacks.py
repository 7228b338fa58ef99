"""Stacks of matrices: numpy's matmul over broadcast axes, bit for bit, with all that may surround it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import BF16, Array, assert_same
from test_matmul import F16, F32, S8, S32, in_order, narrow, relu, values

import ptoc
from ptoc.errors import ShapeError, UnsupportedError
from ptoc.launch import run
from ptoc.passes.arguments import SCRATCH
from ptoc.passes.check_values import check_values


def stacked(a: Array, b: Array, c: Array | None, accumulator: Any) -> Array:
    """The sums of every product, one product after the other in ascending k."""
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left, right = (np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b))
    result = np.empty((*stack, a.shape[-2], b.shape[-1]), accumulator)
    start = None if c is None else np.broadcast_to(c, result.shape)
    for place in np.ndindex(*stack):
        result[place] = in_order(left[place], right[place], None if start is None else start[place], accumulator)
    return result


def broadcastable(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of two stacks that numpy broadcasts."""
    full = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    shapes = []
    for _ in range(2):
        kept = draw(st.integers(0, len(full)))
        shapes.append(tuple(draw(st.sampled_from([1, n])) for n in full[len(full) - kept :]))
    return shapes[0], shapes[1]


stacks = st.composite(broadcastable)()
extents = st.one_of(st.integers(1, 20), st.integers(1, 150))


def counted_as_stated(program: ptoc.Program, arrays: list[Array], cores: int) -> list[Array]:
    machine, launched = run(program, arrays, cores, watch=True)
    assert not [f for f in machine.findings if f.kind in ("core-overlap", "core-race", "order-dependent")]
    if cores == 1:
        found, stats = machine.counters, program.stats
        assert (found.gm_bytes_read, found.gm_bytes_written) == (stats["gm_bytes_read"], stats["gm_bytes_written"])
        assert found.bundles == stats["bundles"]
    return launched


@settings(deadline=None, max_examples=25)
@given(
    stacks, extents, extents, extents, st.sampled_from([(F16, F32), (S8, S32), (BF16, F32), (F32, F32)]),
    st.sampled_from(["none", "row", "full"]), st.integers(1, 3), st.integers(0, 1000),
)  # fmt: skip
def test_products(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    m: int, n: int, k: int, types: tuple[Any, Any], start: str, cores: int, seed: int,
) -> None:  # fmt: skip
    operands, accumulator = types
    rng = np.random.default_rng(seed)
    a, b = values(rng, (*shapes[0], m, k), operands, 0), values(rng, (*shapes[1], k, n), operands, 0)
    stack = np.broadcast_shapes(*shapes)
    c = {"none": None, "row": values(rng, (n,), accumulator, 0), "full": values(rng, (*stack, m, n), accumulator, 0)}[
        start
    ]
    arrays = [a, b] if c is None else [a, b, c]

    def kernel(a: Any, b: Any, *c: Any) -> Any:
        total = np.matmul(a, b, dtype=accumulator)
        return np.maximum(c[0] + total if c else total, 0)

    program = ptoc.jit(kernel).program_for(*arrays)
    got = program.results.build(counted_as_stated(program, arrays, cores))
    assert got.shape == (*stack, m, n)
    assert_same(got, relu(stacked(a, b, c, accumulator)))


@settings(deadline=None, max_examples=15)
@given(stacks, extents, extents, extents, st.booleans(), st.booleans())
def test_transposed_matrices(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], m: int, n: int, k: int, turn_a: bool, turn_b: bool
) -> None:
    rng = np.random.default_rng(m)
    a, b = values(rng, (*shapes[0], m, k), F16, 0), values(rng, (*shapes[1], k, n), F16, 0)
    arrays = [np.ascontiguousarray(x.swapaxes(-1, -2)) if t else x for x, t in ((a, turn_a), (b, turn_b))]

    def kernel(a: Any, b: Any) -> Any:
        left = np.swapaxes(a, -1, -2) if turn_a else a
        return left.astype(np.float32) @ (b.swapaxes(-2, -1) if turn_b else b)

    assert_same(ptoc.jit(kernel)(*arrays), stacked(a, b, None, F32))


@settings(deadline=None, max_examples=40)
@given(
    stacks, extents, extents, st.integers(1, 70), st.lists(st.booleans(), min_size=4, max_size=4), st.integers(0, 3),
    st.booleans(), st.sampled_from([(F16, F32), (S8, S32)]), st.integers(1, 3), st.integers(0, 1000),
)  # fmt: skip
def test_any_c(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], m: int, n: int, k: int, kept: list[bool], fewer: int,
    turned: bool, types: tuple[Any, Any], cores: int, seed: int,
) -> None:  # fmt: skip
    """C of any shape that broadcasts to the sums but for its columns: it is read where it lies."""
    operands, accumulator = types
    rng = np.random.default_rng(seed)
    a, b = values(rng, (*shapes[0], m, k), operands, 0), values(rng, (*shapes[1], k, n), operands, 0)
    rows = (*np.broadcast_shapes(*shapes), m)[fewer:]
    c = values(rng, (*(extent if keep else 1 for extent, keep in zip(rows, kept)), n), accumulator, 0)
    given = np.ascontiguousarray(a.swapaxes(-1, -2)) if turned else a

    def kernel(a: Any, b: Any, c: Any) -> Any:
        return c + np.matmul(a.mT if turned else a, b, dtype=accumulator)

    program = ptoc.jit(kernel).program_for(given, b, c)
    assert SCRATCH not in program.kinds
    assert_same(program.results.build(counted_as_stated(program, [given, b, c], cores)), stacked(a, b, c, accumulator))


def test_one_c_for_several_products() -> None:
    """A bias by matrix, a C with a stride that is overwritten afterwards, and one that is a product itself."""
    rng = np.random.default_rng(6)
    a, b = values(rng, (2, 3, 20, 30), F16, 0), values(rng, (3, 30, 40), F16, 0)
    left, right, wide = values(rng, (20, 30), F16, 0), values(rng, (30, 40), F16, 0), values(rng, (20, 64), F32, 0)
    bias = values(rng, (3, 1, 40), F32, 0)

    def kernel(a: Any, b: Any, c: Any, bias: Any, left: Any, right: Any) -> Any:
        total = c + np.matmul(a, b, dtype=np.float32)
        c[:] = np.matmul(left, right, dtype=np.float32)
        half = np.maximum(np.matmul(a, b, dtype=np.float32) + bias, 0).astype(np.float16)
        return total, half, np.matmul(left, b, dtype=np.float32) + np.matmul(a, b, dtype=np.float32)

    c = wide.copy()[:, 3:43]
    assert ptoc.validate(kernel, a, b, c, bias, left, right).ok
    total, half, both = ptoc.jit(kernel)(a, b, c, bias, left, right)
    assert_same(total, stacked(a, b, wide[:, 3:43], F32))
    assert_same(c, in_order(left, right, None, F32))
    assert_same(half, narrow(relu(stacked(a, b, bias, F32)), F16))
    assert_same(both, stacked(a, b, stacked(left, b, None, F32), F32))


def test_vectors_that_start_from_fewer() -> None:
    rng = np.random.default_rng(7)
    a, v, c = values(rng, (2, 3, 20, 30), F16, 0), values(rng, (30,), F16, 0), values(rng, (2, 1, 20), F32, 0)

    def kernel(a: Any, v: Any, c: Any) -> Any:
        return c + np.matmul(a, v, dtype=np.float32)

    assert ptoc.validate(kernel, a, v, c).ok
    turned = a.swapaxes(-1, -2)
    assert_same(ptoc.jit(kernel)(a, v, c), stacked(v[None], turned, c[..., None, :], F32)[..., 0, :])


def test_epilogues() -> None:
    rng = np.random.default_rng(1)
    a, b, c = values(rng, (3, 33, 50), F16, 0), values(rng, (3, 50, 20), F16, 0), values(rng, (3, 33, 20), F32, 0)
    total = stacked(a, b, c, F32)
    scale = np.linspace(0.5, 1, 20).astype(np.float16).astype(np.float32)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        total = c + np.matmul(a, b, dtype=np.float32)
        return np.where(total > 0, total, total * 0.25), total.astype(np.float16), (total * scale).astype(np.float16)

    assert ptoc.validate(kernel, a, b, c).ok
    leaky, half, _ = ptoc.jit(kernel)(a, b, c)
    assert_same(leaky, np.where(total > 0, total, total * np.float32(0.25)))
    assert_same(half, narrow(total, F16))
    eights = [values(rng, s, S8, 0) for s in ((2, 2, 9, 30), (2, 1, 30, 7))]
    assert ptoc.validate(
        lambda a, b: np.clip(np.rint(np.matmul(a, b, dtype=np.int32) * 0.03125) + 3, -128, 127).astype(np.int8), *eights
    ).ok


def test_in_place_and_through_memory() -> None:
    """A stack that each sum starts from and replaces, the result of one as the operand of another, and whole stacks
    element by element."""
    rng = np.random.default_rng(2)
    a, b, c = values(rng, (4, 30, 30), F16, 0), values(rng, (30, 30), F16, 0), values(rng, (4, 30, 30), F32, 0)
    start = c.copy()

    def kernel(a: Any, b: Any, c: Any) -> Any:
        c += np.matmul(a, b, dtype=np.float32)
        twice = np.matmul(np.matmul(a, b), a, dtype=np.float32)
        return twice, np.where(c > twice, c, twice)

    twice, larger = ptoc.jit(kernel)(a, b, c)
    assert_same(c, stacked(a, b, start, F32))
    assert_same(twice, stacked(narrow(stacked(a, b, None, F32), F16), a, None, F32))
    assert_same(larger, np.where(c > twice, c, twice))


@pytest.mark.parametrize("cores", [1, 2])
def test_strided_stacks(cores: int) -> None:
    """Rows farther apart are read where they lie; what has no even spacing is copied, and written back."""
    rng = np.random.default_rng(3)
    wide, b = values(rng, (3, 20, 64), F16, 0), values(rng, (6, 30, 40), F16, 0)
    out = np.zeros((3, 50, 40), F32)

    def kernel(a: Any, b: Any, out: Any) -> None:
        np.matmul(a, b, dtype=np.float32, out=out)

    arrays = [wide[:, :, 2:32], b[::2], out[:, 10:30]]
    program = ptoc.jit(kernel).program_for(*arrays)
    program.run(*arrays, cores=cores)
    assert program.stats["copied_bytes"] == arrays[1].nbytes + arrays[2].nbytes
    wanted = np.zeros_like(out)
    wanted[:, 10:30] = stacked(arrays[0], arrays[1], None, F32)
    assert_same(out, wanted)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3), extents, extents,
    st.sampled_from([(F16, F32), (S8, S32), (BF16, F32)]), st.sampled_from(["none", "row", "full"]),
    st.booleans(), st.booleans(), st.integers(1, 3),
)  # fmt: skip
def test_a_stack_and_a_vector(
    stack: list[int], depth: int, extent: int, types: tuple[Any, Any], start: str, left: bool, turned: bool, cores: int
) -> None:
    """numpy's shapes: one vector for each matrix, on either side, transposed or not; it is a row in what follows."""
    operands, accumulator = types
    rng = np.random.default_rng(extent)
    vector, matrices = values(rng, (depth,), operands, 0), values(rng, (*stack, depth, extent), operands, 0)
    c = {
        "none": None,
        "row": values(rng, (extent,), accumulator, 0),
        "full": values(rng, (*stack, extent), accumulator, 0),
    }[start]
    given = matrices if left else matrices.swapaxes(-1, -2)
    given = np.ascontiguousarray(given.swapaxes(-1, -2) if turned else given)

    def kernel(vector: Any, matrices: Any, *c: Any) -> Any:
        stack = matrices.mT if turned else matrices
        pair = (vector, stack) if left else (stack, vector)
        total = np.matmul(*pair, dtype=accumulator)
        return np.maximum(c[0] + total if c else total, 0)

    arrays = [vector, given] if c is None else [vector, given, c]
    program = ptoc.jit(kernel).program_for(*arrays)
    got = program.results.build(counted_as_stated(program, arrays, cores))
    start_of_rows = None if c is None else c[..., None, :]
    assert_same(got, relu(stacked(vector[None], matrices, start_of_rows, accumulator))[..., 0, :])


def test_what_follows_a_stack_and_a_vector() -> None:
    rng = np.random.default_rng(5)
    a, v = values(rng, (3, 40, 50), F16, 0), values(rng, (50,), F16, 0)
    scale = np.linspace(0.5, 1, 40).astype(np.float16).astype(np.float32)

    def kernel(a: Any, v: Any, out: Any) -> Any:
        total = np.matmul(a, v, dtype=np.float32, out=out)
        both = np.dot(a, v), np.dot(v, a.mT), a @ v
        return (total > 0, (np.matmul(a, v, dtype=np.float32) * scale).astype(np.float16), *both)

    out = np.zeros((3, 90), F32)
    assert ptoc.validate(kernel, a, v, out[:, 10:50]).ok
    positive, half, *rest = ptoc.jit(kernel)(a, v, out[:, 10:50])
    wanted = stacked(v[None], a.swapaxes(-1, -2), None, F32)[:, 0]
    assert_same(out[:, 10:50], wanted)
    assert not out[:, :10].any() and not out[:, 50:].any()
    assert_same(positive, wanted > 0)
    assert_same(half, narrow(wanted * scale, F16))
    for each in rest:
        assert_same(each, narrow(wanted, F16))


def compiled(*shapes: tuple[int, ...]) -> ptoc.Program:
    return ptoc.jit(lambda a, b: np.matmul(a, b, dtype=np.float32)).compile(*[ptoc.spec(s, F16) for s in shapes])


def test_programs_are_proven() -> None:
    """Each store is what the kernel demands there, in every product of a stack."""
    shapes_of_both = [((3, 5, 7), (3, 7, 9)), ((2, 1, 40, 33), (3, 33, 150)), ((4, 2, 129, 65), (4, 2, 65, 77))]
    for shapes in [*shapes_of_both, ((3, 70, 33), (33,))]:
        program = compiled(*shapes)
        assert check_values(program.modules["nd"], program.modules["pto"])


def test_code_does_not_grow_with_the_stack() -> None:
    sizes = {len(compiled((n, 200, 150), (n, 150, 100)).code()) for n in (2, 9, 64)}
    assert max(sizes) - min(sizes) <= 8


ONE_MATRIX = [((6, 20, 30), (30, 10)), ((2, 3, 20, 30), (1, 30, 10)), ((6, 20, 30), (1, 1, 30, 10))]


@pytest.mark.parametrize("shapes", ONE_MATRIX)
def test_rows_that_meet_one_matrix_are_a_single_product(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    stacked, flat = compiled(*shapes), compiled((120, 30), (30, 10))
    assert stacked.code() == flat.code()
    assert stacked.stats == flat.stats


def test_what_does_not_fit_is_refused() -> None:
    for shapes in [((2, 5, 7), (3, 7, 9)), ((2, 5, 7), (2, 8, 9)), ((4, 2, 5, 7), (4, 1, 3, 7, 9))]:
        with pytest.raises(ShapeError, match="do not meet"):
            compiled(*shapes)
    with pytest.raises(ShapeError, match="7 columns do not meet 5 rows"):
        compiled((2, 5, 7), (5,))
    with pytest.raises(ShapeError, match="7 columns do not meet 5 rows"):
        compiled((7,), (2, 5, 9))
    with pytest.raises(UnsupportedError, match="transposes of a stack"):
        ptoc.jit(lambda a: np.where(a.mT > 0, 1.0, 0.0)).compile(ptoc.spec((2, 5, 7), F32))
    with pytest.raises(UnsupportedError, match="reversing the axes"):
        ptoc.jit(lambda a, b: a.T @ b).compile(ptoc.spec((2, 5, 7), F16), ptoc.spec((2, 5, 7), F16))
    with pytest.raises(UnsupportedError, match="broadcasting"):
        ptoc.jit(lambda a, b, c: c + np.matmul(a, b, dtype=np.float32)).compile(
            ptoc.spec((2, 5, 7), F16), ptoc.spec((2, 7, 9), F16), ptoc.spec((2, 5, 1), F32)
        )
    with pytest.raises(UnsupportedError, match="broadcasting the sums of a matmul"):
        ptoc.jit(lambda a, b, c: c + np.matmul(a, b, dtype=np.float32)).compile(
            ptoc.spec((5, 7), F16), ptoc.spec((7, 9), F16), ptoc.spec((2, 5, 9), F32)
        )


EMPTY = [
    *[((2, 5, 0), (2, 0, 9)), ((0, 5, 7), (0, 7, 9)), ((0, 5, 7), (7, 9)), ((3, 0, 7), (3, 7, 9))],
    *[((2, 5, 0), (0,)), ((0,), (2, 0, 9)), ((0, 5, 7), (7,)), ((7,), (0, 7, 9)), ((3, 0, 7), (7,)), ((7,), (3, 7, 0))],
]


@pytest.mark.parametrize("shapes", EMPTY)
def test_empty_stacks(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.ones(s, F16) for s in shapes)
    wanted = np.matmul(a, b, dtype=np.float32)
    assert_same(compiled(*shapes).run(a, b), wanted)
    assert_same(ptoc.jit(lambda a, b: np.matmul(a, b, dtype=np.float32))(a, b), wanted)
