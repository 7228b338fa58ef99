"""Matmuls end to end, bit for bit, against a loop that adds one product at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import BF16, Array, Guarded, assert_same, specials

import ptoc
from ptoc.isa.registers import SHARED_POOL_BYTES
from ptoc.launch import run

F16, F32, S8, S16, S32 = (np.dtype(t) for t in ("float16", "float32", "int8", "int16", "int32"))
U8, U16, U32 = (np.dtype(t) for t in ("uint8", "uint16", "uint32"))

FAMILIES = {"FP16": (F16, F32), "BF16": (BF16, F32), "FP32": (F32, F32), "S8": (S8, S32), "U8": (U8, U32)}
NAMED_SHAPES = [(1, 1, 1), (33, 3, 9), (16, 104, 40), (128, 64, 32), (129, 65, 33), (512, 512, 512)]
CHUNKS, PER_CHUNK = 10, 20

# -- the reference ---------------------------------------------------------------------------------


@np.errstate(all="ignore")
def in_order(a: Array, b: Array, c: Array | None, accumulator: np.dtype[Any]) -> Array:
    """``c + a @ b``, one product after the other in ascending k, each product and each sum rounded (or wrapped)."""
    total = np.zeros((a.shape[0], b.shape[1]), accumulator)
    if c is not None:
        total[...] = c
    left, right = a.astype(accumulator), b.astype(accumulator)
    for k in range(a.shape[1]):
        product = left[:, k : k + 1] * right[k : k + 1, :]
        total = total + product
    return total


@np.errstate(all="ignore")
def relu(x: Array) -> Array:
    return np.where((x < 0) | ((x == 0) & np.signbit(x)), np.zeros((), x.dtype), x)


@np.errstate(all="ignore")
def narrow(x: Array, dtype: np.dtype[Any]) -> Array:
    return x.astype(dtype)


# -- data ------------------------------------------------------------------------------------------


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], flavour: int) -> Array:
    """Numbers of a flavour: 0 ordinary, 1 with a few special ones among them, 2 cancelling, 3 any bits or extremes."""
    if flavour == 3:
        return rng.integers(0, 256, (*shape[:-1], shape[-1] * dtype.itemsize), np.uint8).view(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        data = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return rng.choice(specials(dtype), shape) if flavour == 2 else data
    data = rng.standard_normal(shape).astype(dtype)
    if flavour == 1:
        for _ in range(3):
            data[tuple(rng.integers(0, n) for n in shape)] = rng.choice(specials(dtype))
    if flavour == 2:
        big = np.array([1, -1, 1e-3, 240, -240, 2**-20, 30000, -30000], dtype)
        data = rng.choice(big, shape)
    return data


def problem(
    rng: np.random.Generator, shape: tuple[int, int, int], operands: np.dtype[Any], accumulator: np.dtype[Any], n: int
) -> tuple[Array, Array, Array]:
    rows, cols, depth = shape
    flavour = n % 4
    a, b = (values(rng, s, operands, flavour) for s in ((rows, depth), (depth, cols)))
    return a, b, values(rng, (rows, cols), accumulator, 0 if flavour == 3 else flavour)


def accumulate(a: Any, b: Any, c: Any) -> Any:
    return c + np.matmul(a, b, dtype=c.dtype)


# -- the acceptance set ----------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [n if n < 4 else pytest.param(n, marks=pytest.mark.slow) for n in range(CHUNKS)])
@pytest.mark.parametrize("family", FAMILIES)
def test_random_shapes(family: str, chunk: int) -> None:
    """Ten chunks of twenty (M, N, K) in 1..300, the same shapes for all families."""
    operands, accumulator = FAMILIES[family]
    shapes = np.random.default_rng(chunk).integers(1, 300, (PER_CHUNK, 3), endpoint=True)
    rng = np.random.default_rng([chunk, *family.encode()])
    for n, (rows, cols, depth) in enumerate(shapes.tolist()):
        a, b, c = problem(rng, (rows, cols, depth), operands, accumulator, n)
        got = ptoc.jit(accumulate)(a, b, c)
        assert_same(got, in_order(a, b, c, accumulator), f"{family} M={rows} N={cols} K={depth} flavour {n % 4}")


@pytest.mark.parametrize("shape", NAMED_SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("family", FAMILIES)
def test_named_shapes(family: str, shape: tuple[int, int, int]) -> None:
    operands, accumulator = FAMILIES[family]
    kernel = ptoc.jit(accumulate)
    for flavour in (0,) if shape[0] == 512 else range(4):
        a, b, c = problem(np.random.default_rng(flavour), shape, operands, accumulator, flavour)
        assert_same(kernel(a, b, c), in_order(a, b, c, accumulator), f"flavour {flavour}")


# -- types -----------------------------------------------------------------------------------------

PAIRS = [
    *((x, y, F32) for x in (F16, BF16, F32) for y in (F16, BF16, F32)),
    *((x, y, S32) for x in (S8, S16) for y in (S8, S16)),
    *((x, y, U32) for x in (U8, U16) for y in (U8, U16)),
]


@pytest.mark.parametrize(("left", "right", "accumulator"), PAIRS, ids=str)
def test_every_legal_pair_of_operand_types(left: Any, right: Any, accumulator: Any) -> None:
    rng = np.random.default_rng(5)
    a, b = values(rng, (45, 83), left, 0), values(rng, (83, 37), right, 0)
    product = ptoc.jit(lambda a, b: np.matmul(a, b, dtype=accumulator))
    assert_same(product(a, b), in_order(a, b, None, accumulator))


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_narrow_matmul_is_rounded_once(dtype: np.dtype[Any]) -> None:
    """The dtype is numpy's, which for ``@`` of bfloat16 is float32: its matmul has no loop of that type."""
    rng = np.random.default_rng(6)
    a, b = values(rng, (33, 130), dtype, 0), values(rng, (130, 65), dtype, 0)
    total = in_order(a, b, None, F32)
    for kernel in (lambda a, b: a @ b, lambda a, b: np.dot(a, b), lambda a, b: a.dot(b)):
        assert_same(ptoc.jit(kernel)(a, b), narrow(total, kernel(a, b).dtype))
    assert np.dot(a, b).dtype == dtype


WIDENING = [(F16, F32, F32), (BF16, F32, F32), (S8, S32, S32), (S16, S32, S32), (U8, U32, U32), (U16, U32, U32)]


@pytest.mark.parametrize(("operands", "wide", "accumulator"), [*WIDENING, (U8, S32, U32), (U16, S32, U32)], ids=str)
def test_widening_of_operands_is_free(operands: Any, wide: Any, accumulator: Any) -> None:
    """``astype`` on both operands, on the left one alone and with c; a sum modulo 2^32 may be called signed."""
    rng = np.random.default_rng(7)
    a, b, c = values(rng, (40, 33), operands, 0), values(rng, (33, 50), operands, 0), values(rng, (40, 50), wide, 0)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        return a.astype(wide) @ b.astype(wide), c + np.matmul(a.astype(wide), b.astype(wide))

    program = ptoc.jit(kernel).program_for(a, b, c)
    plain, started = program.run(a, b, c)
    assert_same(plain, in_order(a, b, None, accumulator).view(wide))
    assert_same(started, in_order(a, b, c.view(accumulator), accumulator).view(wide))
    assert "cast" not in program.ir("nd")


def test_mixed_operands_widened_on_one_side() -> None:
    rng = np.random.default_rng(8)
    a, b = values(rng, (20, 30), F16, 0), values(rng, (30, 40), F32, 0)
    assert_same(ptoc.jit(lambda a, b: a.astype(np.float32) @ b)(a, b), in_order(a, b, None, F32))
    assert_same(ptoc.jit(lambda a, b: a @ b)(a, b), in_order(a, b, None, F32))


# -- what surrounds a matmul -----------------------------------------------------------------------

SHAPES = [(1, 1, 1), (40, 33, 50), (5, 300, 129), (129, 7, 300), (70, 513, 40)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("flavour", [0, 1])
def test_bias_relu_and_conversion(shape: tuple[int, int, int], flavour: int) -> None:
    """All combinations of what starts the sum and what ends it."""
    rows, depth, cols = shape
    rng = np.random.default_rng(9)
    a, b = values(rng, (rows, depth), F16, flavour), values(rng, (depth, cols), F16, flavour)
    starts = [None, *(values(rng, s, F32, flavour) for s in ((rows, cols), (cols,), (1, cols)))]
    zeros = np.zeros((), F32)
    for c in starts:
        for dtype in (None, F16, BF16):

            def kernel(a: Any, b: Any, c: Any = zeros, dtype: Any = dtype, bare: bool = c is None) -> Any:
                total = np.matmul(a, b, dtype=np.float32)
                total = total if bare else c + total
                after = np.maximum(total, 0)
                return (total, after) if dtype is None else (total.astype(dtype), after.astype(dtype))

            total = in_order(a, b, c, F32)
            wanted = [x if dtype is None else narrow(x, dtype) for x in (total, relu(total))]
            function = (lambda a, b, k=kernel: k(a, b)) if c is None else (lambda a, b, c, k=kernel: k(a, b, c))
            got = _jit(function, 2 if c is None else 3)(*([a, b] if c is None else [a, b, c]))
            for x, y in zip(got, wanted, strict=True):
                assert_same(x, y, f"c {None if c is None else c.shape}, result {dtype}")


def _jit(function: Callable[..., Any], arrays: int) -> Callable[..., Any]:
    """A kernel of exactly so many arrays, whatever defaults the function has."""
    if arrays == 2:
        return ptoc.jit(lambda a, b: function(a, b))
    return ptoc.jit(lambda a, b, c: function(a, b, c))


@pytest.mark.parametrize("scalar", [2.5, np.float32(-0.0), 3, np.float32("nan")], ids=repr)
def test_a_scalar_starts_the_sum(scalar: Any) -> None:
    rng = np.random.default_rng(10)
    a, b = values(rng, (33, 20), F32, 0), values(rng, (20, 9), F32, 0)
    got = ptoc.jit(lambda a, b: scalar + np.matmul(a, b))(a, b)
    assert_same(got, in_order(a, b, np.full((33, 9), scalar, F32), F32))


def test_integer_relu() -> None:
    rng = np.random.default_rng(11)
    for operands, accumulator in ((S8, S32), (U8, U32)):
        a, b, c = problem(rng, (40, 50, 33), operands, accumulator, 0)
        got = ptoc.jit(lambda a, b, c: np.maximum(0, accumulate(a, b, c)))(a, b, c)
        assert_same(got, np.maximum(in_order(a, b, c, accumulator), 0))


def test_sums_of_several_matmuls_go_through_one_accumulator() -> None:
    rng = np.random.default_rng(12)
    a, b, c = problem(rng, (40, 50, 33), F16, F32, 0)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        product = np.matmul(a, b, dtype=np.float32)
        return product + product, c + product + product, product

    once = in_order(a, b, None, F32)
    wanted = in_order(a, b, once, F32), in_order(a, b, in_order(a, b, c, F32), F32), once
    for got, expected in zip(ptoc.jit(kernel)(a, b, c), wanted, strict=True):
        assert_same(got, expected)


@pytest.mark.parametrize("layers", [2, 3, 5, 9])
@pytest.mark.parametrize("width", [10, 70, 200])
def test_layers(layers: int, width: int) -> None:
    """Each layer reads the one before; nine layers have more arrays than registers for them."""
    rng = np.random.default_rng(13)
    x = values(rng, (37, width), F16, 0)
    weights = [(values(rng, (width, width), F16, 0) / np.float16(8)).astype(F16) for _ in range(layers)]
    biases = [values(rng, (width,), F32, 0) for _ in range(layers)]

    def network(x: Any, *parameters: Any) -> Any:
        for w, c in zip(parameters[::2], parameters[1::2]):
            x = np.maximum(c + np.matmul(x, w, dtype=np.float32), 0).astype(np.float16)
        return x

    wanted = x
    for w, c in zip(weights, biases):
        wanted = narrow(relu(in_order(wanted, w, c, F32)), F16)
    parameters = [p for pair in zip(weights, biases) for p in pair]
    assert_same(ptoc.jit(network)(x, *parameters), wanted)


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("cols", [7, 13, 131, 790, 2045])
def test_columns_that_are_computed_twice_start_from_c_once(cols: int, cores: int) -> None:
    """Ragged columns, whose last slots overlap, where each result replaces what its sum starts from."""
    rng = np.random.default_rng(24)
    a, b, c = problem(rng, (150, cols, 70), F16, F32, 0)
    wanted = in_order(a, b, c, F32)

    def kernel(a: Any, b: Any, c: Any) -> None:
        c += np.matmul(a, b, dtype=np.float32)

    run(ptoc.jit(kernel).program_for(a, b, c), [a, b, c], cores)
    assert_same(c, wanted)


# -- pools -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cores", [1, 3])
def test_products_fit_beside_what_earlier_ones_leave(cores: int) -> None:
    """Each takes most of the Shared pool, in tiles of other names."""
    rng = np.random.default_rng(22)
    a, b = values(rng, (53, 342), S8, 0), values(rng, (342, 358), S8, 0)
    c, d = values(rng, (574, 947), F32, 0), values(rng, (947, 619), F32, 0)

    def kernel(a: Any, b: Any, c: Any, d: Any) -> Any:
        return np.matmul(a, b, dtype=np.int32), np.matmul(c, d)

    assert_runs_in_the_pool(kernel, (a, b, c, d), cores, [in_order(a, b, None, S32), in_order(c, d, None, F32)])


def test_bands_fit_beside_what_earlier_ones_leave() -> None:
    """On its own the last rows would take all of the Shared pool, in fewer tiles than the rows above have left."""
    a, b, c = problem(np.random.default_rng(23), (884, 782, 1619), F16, F32, 0)
    assert_runs_in_the_pool(accumulate, (a, b, c), 1, [in_order(a, b, c, F32)])


def assert_runs_in_the_pool(kernel: Any, arrays: tuple[Array, ...], cores: int, wanted: list[Array]) -> None:
    program = ptoc.jit(kernel).program_for(*arrays)
    machine, launched = run(program, list(arrays), cores)
    results = [launched[n] for n, kind in enumerate(program.kinds) if kind == "output"]
    for got, expected in zip(results, wanted, strict=True):
        assert_same(got, expected)
    assert 0 < machine.counters.peak_shared_bytes <= program.stats["peak_shared_bytes"] <= SHARED_POOL_BYTES


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
@pytest.mark.parametrize("gap", [1, 7, 64])
def test_rows_farther_apart(shape: tuple[int, int, int], gap: int) -> None:
    """Operands, c and the array that is written are views into wider, poisoned buffers."""
    rows, depth, cols = shape
    rng = np.random.default_rng(14)
    a, b = (Guarded(values(rng, s, F16, 0), gap) for s in ((rows, depth), (depth, cols)))
    c, out = (Guarded(values(rng, (rows, cols), F32, 0), g) for g in (2 * gap, gap))

    def kernel(a: Any, b: Any, c: Any, out: Any) -> None:
        np.add(c, np.matmul(a, b, dtype=np.float32), out=out)

    wanted = Guarded(in_order(a.array, b.array, c.array, F32), gap)
    before = [g.buffer.copy() for g in (a, b, c)]
    assert ptoc.jit(kernel)(a.array, b.array, c.array, out.array) is None
    assert_same(np.ascontiguousarray(out.array), np.ascontiguousarray(wanted.array))
    assert (out.buffer == wanted.buffer).all()
    assert all((g.buffer == old).all() for g, old in zip((a, b, c), before))


def test_repeated_rows() -> None:
    """A row stride of zero, in each operand and in c."""
    rng = np.random.default_rng(15)
    rows = {name: values(rng, (1, n), dtype, 0) for name, n, dtype in (("a", 33, F16), ("b", 50, F16), ("c", 50, F32))}
    full = {"a": values(rng, (40, 33), F16, 0), "b": values(rng, (33, 50), F16, 0), "c": values(rng, (40, 50), F32, 0)}
    for repeated in ("a", "b", "c", "abc"):
        arrays = {n: np.broadcast_to(rows[n], full[n].shape) if n in repeated else full[n] for n in full}
        got = ptoc.jit(accumulate)(**arrays)
        assert_same(got, in_order(arrays["a"], arrays["b"], arrays["c"], F32), repeated)


def test_overlapping_rows_of_an_input() -> None:
    """A row stride shorter than a row: windows that slide over a signal."""
    rng = np.random.default_rng(16)
    signal = values(rng, (200,), F32, 0)
    a = np.lib.stride_tricks.sliding_window_view(signal, 50)
    b = values(rng, (50, 9), F32, 0)
    assert_same(ptoc.jit(lambda a, b: a @ b)(a, b), in_order(a, b, None, F32))


def test_constant_and_repeated_operands_made_in_the_kernel() -> None:
    rng = np.random.default_rng(17)
    a, b, row = values(rng, (9, 20), F32, 0), values(rng, (20, 30), F32, 0), values(rng, (20,), F32, 0)

    def kernel(a: Any, b: Any, row: Any) -> Any:
        ones, rows = a.copy(), a.copy()
        ones[:] = 1.0
        rows[:] = row
        return ones @ b, rows @ b

    ones, rows = ptoc.jit(kernel)(a, b, row)
    assert_same(ones, in_order(np.ones_like(a), b, None, F32))
    assert_same(rows, in_order(np.broadcast_to(row, a.shape), b, None, F32))


def _plus(x: Any, y: Any) -> Any:
    return x + np.matmul(x, y)


def _in_place(x: Any, y: Any) -> None:
    x += np.matmul(x, y)


def _in_place_right(x: Any, y: Any) -> None:
    y += np.matmul(x, y)


def _sliced(x: Any, y: Any) -> None:
    x[:] = y + np.matmul(x, y)
    y[:] = x + np.matmul(y, x)


def _out(x: Any, y: Any) -> None:
    np.matmul(x, y, out=x)
    np.add(y, np.matmul(x, y), out=y)


def _swap(x: Any, y: Any) -> None:
    old = x.copy()
    x[:] = np.matmul(x, y)
    y[:] = np.matmul(old, x)


def _square(x: Any, y: Any) -> Any:
    x += np.matmul(x, x)
    return x, np.matmul(x, x)


def _in_place_after_read(x: Any, y: Any) -> Any:
    before = np.matmul(x, y)
    x[:] = y
    return before, np.matmul(x, y)


HAZARDS = [_in_place_after_read, _plus, _in_place, _in_place_right, _sliced, _out, _swap, _square]


@pytest.mark.parametrize("size", [5, 70, 150])
@pytest.mark.parametrize("kernel", HAZARDS, ids=lambda f: f.__name__.strip("_"))
def test_results_written_over_operands(kernel: Callable[..., Any], size: int) -> None:
    """Integers small enough for float32 to hold every sum exactly, so plain numpy is the judge."""
    rng = np.random.default_rng(18)
    x, y = (rng.integers(-3, 4, (size, size)).astype(F32) for _ in range(2))
    x[:, 8:] = y[:, 8:] = 0
    plain, machine = [x.copy(), y.copy()], [x.copy(), y.copy()]
    wanted, got = kernel(*plain), ptoc.jit(kernel)(*machine)
    for left, right in zip(machine, plain):
        assert_same(left, right)
    if wanted is not None:
        wanted, got = (r if isinstance(r, tuple) else (r,) for r in (wanted, got))
        for left, right in zip(got, wanted, strict=True):
            assert_same(left, right)


def test_in_place_sum_returns_the_argument_itself() -> None:
    a, b, c = problem(np.random.default_rng(19), (40, 50, 33), F16, F32, 0)
    wanted = in_order(a, b, c, F32)

    def kernel(a: Any, b: Any, c: Any) -> Any:
        c += np.matmul(a, b, dtype=np.float32)
        return c

    assert ptoc.jit(kernel)(a, b, c) is c
    assert_same(c, wanted)


def test_one_array_in_several_places() -> None:
    x = values(np.random.default_rng(20), (70, 70), F32, 0)
    assert_same(ptoc.jit(accumulate)(x, x, x), in_order(x, x, x, F32))


@pytest.mark.parametrize("arrays", [7, 8, 9, 12, 20])
@pytest.mark.parametrize("gap", [0, 3])
def test_many_arrays(arrays: int, gap: int) -> None:
    """Up to eight arrays can have a register each, more are reached from the first; each product overwrites one."""
    rng = np.random.default_rng(21)
    start = [Guarded(rng.integers(-2, 3, (40, 40)).astype(F32), gap) for _ in range(arrays)]
    wanted = [g.array.copy() for g in start]

    def kernel(*x: Any) -> None:
        for n in range(2, len(x)):
            x[n][:] = x[n - 2] + np.matmul(x[0], x[1])

    kernel(*wanted)
    ptoc.jit(kernel)(*[g.array for g in start])
    for got, expected in zip(start, wanted):
        assert_same(np.ascontiguousarray(got.array), expected)


@pytest.mark.parametrize("n", [70, 257, 300])
def test_products_and_masked_writes_share_the_registers(n: int) -> None:
    """Arrays give up their registers for the loops of two ragged products; sums of small integers are exact."""
    rng = np.random.default_rng(23)
    x, y, d = (rng.integers(-3, 4, (n, n)).astype(F32) for _ in range(3))
    mask = rng.random((n, n)) < 0.5
    wanted = d.copy()

    def kernel(x: Any, y: Any, mask: Any, d: Any) -> Any:
        p = np.matmul(x, y)
        q = np.matmul(p, y)
        d[mask] = q[mask]
        return np.where(mask, p, q)

    assert_same(ptoc.jit(kernel)(x, y, mask, d), kernel(x, y, mask, wanted))
    assert_same(d, wanted)


LONG = [(1, 1, 3000), (1, 3000, 1), (3000, 1, 1), (2000, 3, 2), (2, 5000, 3)]
LONG += [(17, 9, 5000), (300, 1, 300), (129, 513, 99)]


@pytest.mark.parametrize("shape", LONG, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_long_and_thin(family: str, shape: tuple[int, int, int]) -> None:
    operands, accumulator = FAMILIES[family]
    a, b, c = problem(np.random.default_rng(22), shape, operands, accumulator, 0)
    assert_same(ptoc.jit(accumulate)(a, b, c), in_order(a, b, c, accumulator))
