"""Loop nests of ``nd`` tensors on the simulator: views, folds along any axis, broadcasting, masks, hazards."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_ir import Kernel, strided

from ptoc.dialects.nd.tensors import View

F32, I32 = np.dtype("float32"), np.dtype("int32")
RNG = np.random.default_rng(20261206)


def numbers(*shape: int, dtype: np.dtype = I32) -> np.ndarray:
    return RNG.integers(-1000, 1000, shape).astype(dtype)


@st.composite
def views(draw: st.DrawFn, sizes: tuple[int, ...]) -> View:
    """A view of some array with these sizes: dimensions in any order, with gaps, forwards or backwards."""
    order = draw(st.permutations(range(len(sizes))))
    strides = [0] * len(sizes)
    step = 1
    for dim in order:
        step *= draw(st.sampled_from([1, 1, 1, 2, 3]))
        strides[dim] = step * draw(st.sampled_from([1, 1, -1]))
        step *= sizes[dim]
    low = sum(min(0, (size - 1) * stride) for size, stride in zip(sizes, strides))
    return View(draw(st.integers(0, 3)) - low, sizes, tuple(strides))


SHAPES = st.lists(st.integers(1, 9), max_size=4).map(tuple)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), sizes=SHAPES, dtype=st.sampled_from(["int8", "float16", "float32", "int64", "bool"]))
def test_any_view_is_copied_to_any_other(data: st.DataObject, sizes: tuple[int, ...], dtype: str) -> None:
    source, dest = data.draw(views(sizes)), data.draw(views(sizes))
    k = Kernel()
    a = k.array([source.ends[1] + 1], dtype)
    out = k.array([dest.ends[1] + 1], dtype, "inout")
    k.store(k.load(a, sizes, source.strides, source.offset), out, dest.strides, dest.offset)
    x, y = numbers(source.ends[1] + 1).astype(dtype), numbers(dest.ends[1] + 1).astype(dtype)
    expected = y.copy()
    strided(expected, dest)[...] = strided(x, source)
    k.run(x, y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("shape", [(5,), (1500,), (3, 700), (130, 40), (2, 50, 3), (3, 4, 5, 6), (7, 1, 9)])
@pytest.mark.parametrize("name", ["sum", "max", "min", "prod"])
def test_folds_along_every_axis(shape: tuple[int, ...], name: str) -> None:
    x = numbers(*shape)
    for axis, chunk in itertools.product(range(len(shape)), (4, 1024)):
        k = Kernel()
        a, out = k.array(shape, I32), k.array([math.prod(shape) // shape[axis]], I32, "output")
        k.store(k.fold(name, k.load(a, shape), axis, chunk), out)
        [found] = k.run(x)
        expected = getattr(np, name)(x, axis=axis, keepdims=True, **({"dtype": I32} if name in ("sum", "prod") else {}))
        np.testing.assert_array_equal(found, expected.ravel(), err_msg=f"axis {axis}, chunk {chunk}")


def test_a_sum_is_one_left_fold_for_every_run_and_one_of_their_results() -> None:
    x = RNG.standard_normal(1000).astype(F32)
    k = Kernel()
    a, out = k.array([1000], F32), k.array([1], F32, "output")
    k.store(k.fold("sum", k.load(a, [1000]), 0, 64), out)
    [found] = k.run(x)
    runs = [np.add.accumulate(x[n : n + 64])[-1] for n in range(0, 1000, 64)]
    assert found[0] == np.add.accumulate(np.array(runs, F32))[-1]


def softmax(k: Kernel, a: str, shape: tuple[int, int], axis: int, chunk: int) -> str:
    x = k.load(a, shape)
    largest = k.moved("expand", k.fold("max", x, axis, chunk), shape)
    e = k.op("TEXP", k.op("TSUB", x, largest))
    return k.op("TDIV", e, k.moved("expand", k.fold("sum", e, axis, chunk), shape))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("chunk", [32, 1024])
@pytest.mark.parametrize("shape", [(30, 200), (200, 30), (1, 77), (77, 1)])
def test_softmax(shape: tuple[int, int], axis: int, chunk: int) -> None:
    k = Kernel()
    a, out = k.array(shape, F32), k.array(shape, F32, "output")
    k.store(softmax(k, a, shape, axis, chunk), out)
    x = RNG.standard_normal(shape).astype(F32)
    [found] = k.run(x)
    e = np.exp(x - x.max(axis, keepdims=True))
    np.testing.assert_allclose(found.reshape(shape), e / e.sum(axis, keepdims=True), rtol=1e-5)


def test_rows_that_fit_a_tile_are_loaded_once() -> None:
    shape = (300, 200)
    k = Kernel()
    a, out = k.array(shape, F32), k.array(shape, F32, "output")
    k.store(softmax(k, a, shape, 1, 1024), out)
    program = k.program()
    assert program.stats["gm_bytes_read"] == program.stats["gm_bytes_written"] == 4 * 300 * 200


def test_several_cores_share_a_nest() -> None:
    shape = (300, 50)
    x = numbers(*shape)
    k = Kernel()
    a, out = k.array(shape, I32), k.array(shape, I32, "output")
    row = k.load(a, shape)
    k.store(k.op("TSUB", row, k.moved("expand", k.fold("sum", row, 1), shape)), out)
    for cores in (1, 3):
        [found] = k.run(x, cores=cores)
        np.testing.assert_array_equal(found.reshape(shape), x - x.sum(1, keepdims=True, dtype=I32))


@pytest.mark.parametrize("size", [5, 40])
def test_sums_along_both_axes_of_one_array_meet(size: int) -> None:
    x = numbers(size, size)
    k = Kernel()
    a, out = k.array([size, size], I32), k.array([size], I32, "output")
    square = k.load(a, [size, size])
    one, two = (k.moved("reshape", k.fold("sum", square, axis), [size]) for axis in (0, 1))
    k.store(k.op("TADD", one, two), out)
    [found] = k.run(x)
    np.testing.assert_array_equal(found, (x.sum(0) + x.sum(1)).astype(I32))


def test_a_fold_of_folds_along_another_axis() -> None:
    shape = (40, 30)
    x = numbers(*shape)
    k = Kernel()
    a, out = k.array(shape, I32), k.array(shape, I32, "output")
    centered = k.load(a, shape)
    centered = k.op("TSUB", centered, k.moved("expand", k.fold("max", centered, 1), shape))
    centered = k.op("TSUB", centered, k.moved("expand", k.fold("sum", centered, 0), shape))
    k.store(centered, out)
    [found] = k.run(x)
    y = x - x.max(1, keepdims=True)
    np.testing.assert_array_equal(found.reshape(shape), y - y.sum(0, dtype=I32))


def test_a_vector_meets_itself_as_rows_and_columns() -> None:
    v = numbers(70)
    k = Kernel()
    a, out = k.array([70], I32), k.array([70, 70], I32, "output")
    x = k.load(a, [70])
    rows, columns = k.moved("expand", x, [70, 70]), k.moved("expand", k.moved("reshape", x, [70, 1]), [70, 70])
    k.store(k.op("TSUB", columns, rows), out)
    [found] = k.run(v)
    np.testing.assert_array_equal(found.reshape(70, 70), v[:, None] - v)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), ()])
@pytest.mark.parametrize("reversed_", [False, True])
@pytest.mark.parametrize("name", ["TSUB", "TMUL", "TAND", "TSHR"])
def test_broadcasting_along_any_axes(axes: tuple[int, ...], reversed_: bool, name: str) -> None:
    shape = (6, 5, 40)
    small = tuple(size if n in axes else 1 for n, size in enumerate(shape))
    x, y = numbers(*shape), numbers(*small)
    k = Kernel()
    a, b, out = k.array(shape, I32), k.array(small, I32), k.array(shape, I32, "output")
    operands = [k.load(a, shape), k.moved("expand", k.load(b, small), shape)]
    arrays = [x, np.broadcast_to(y, shape)]
    if reversed_:
        operands, arrays = operands[::-1], arrays[::-1]
    k.store(k.op(name, *operands), out)
    [found] = k.run(x, y)
    expected = {
        "TSUB": lambda p, q: p - q,
        "TMUL": lambda p, q: p * q,
        "TAND": lambda p, q: p & q,
        "TSHR": lambda p, q: p >> (q & 31),
    }[name](*arrays)
    np.testing.assert_array_equal(found.reshape(shape), expected)


@pytest.mark.parametrize("where", ["full", "row", "column", "scalar"])
def test_masks_of_any_axes_select_and_are_data(where: str) -> None:
    shape = (20, 33)
    small = {"full": (20, 33), "row": (1, 33), "column": (20, 1), "scalar": (1, 1)}[where]
    x, y, z = numbers(*shape), numbers(*small), numbers(*small)
    k = Kernel()
    a, b, c = k.array(shape, I32), k.array(small, I32), k.array(small, I32)
    out, bits, inverse = k.array(shape, I32, "output"), k.array(shape, bool, "output"), k.array(small, bool, "output")
    less = k.op("TCMP", k.load(b, small), k.load(c, small), dtype=bool, datr="CMode = 2 : i64")
    mask = k.moved("expand", less, shape)
    k.store(k.op("TSEL", mask, k.load(a, shape), k.splat(7, shape, I32)), out)
    k.store(mask, bits)
    k.store(k.op("TXOR", less, k.splat(1, small, bool)), inverse)
    found, stored, turned = k.run(x, y, z)
    np.testing.assert_array_equal(found.reshape(shape), np.where(y < z, x, 7))
    np.testing.assert_array_equal(stored.reshape(shape), np.broadcast_to(y < z, shape))
    np.testing.assert_array_equal(turned.reshape(small), ~(y < z))


def test_a_bool_array_selects() -> None:
    x, mask = numbers(10, 12), RNG.random((10, 12)) < 0.5
    k = Kernel()
    a, m, out = k.array([10, 12], I32), k.array([10, 12], bool), k.array([10, 12], I32, "output")
    value = k.load(a, [10, 12])
    k.store(k.op("TSEL", k.load(m, [10, 12]), k.op("TNEG", value), value), out)
    [found] = k.run(x, mask)
    np.testing.assert_array_equal(found.reshape(10, 12), np.where(mask, -x, x))


@pytest.mark.parametrize("compare", ["lt", "gt", "le", "ge", "eq", "ne"])
def test_a_scalar_on_the_left_of_a_comparison(compare: str) -> None:
    code = ["eq", "ne", "lt", "gt", "le", "ge"].index(compare)
    x = np.arange(-5, 6, dtype=I32)
    k = Kernel()
    a, out = k.array([11], I32), k.array([11], bool, "output")
    mask = k.op("TCMP", k.splat(2, [11], I32), k.load(a, [11]), dtype=bool, datr=f"CMode = {code} : i64")
    k.store(mask, out)
    [found] = k.run(x)
    np.testing.assert_array_equal(
        found,
        getattr(
            np,
            {
                "lt": "less",
                "gt": "greater",
                "le": "less_equal",
                "ge": "greater_equal",
                "eq": "equal",
                "ne": "not_equal",
            }[compare],
        )(2, x),
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint64"])
def test_places_along_any_axis(axis: int, dtype: str) -> None:
    shape = (9, 7, 50)
    k = Kernel()
    out = k.array(shape, dtype, "output")
    k.store(k.iota(shape, dtype, axis, 5, -3), out)
    [found] = k.run()
    places = np.arange(shape[axis]) * -3 + 5
    expected = np.broadcast_to(np.expand_dims(places, [n for n in range(3) if n != axis]), shape).astype(dtype)
    np.testing.assert_array_equal(found.reshape(shape), expected)


@pytest.mark.parametrize("dtype", ["int8", "float32", "int64"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gathers_and_stores_at_places(dtype: str, index: str) -> None:
    x, places = numbers(500).astype(dtype), RNG.permutation(500)[:300].reshape(20, 15).astype(index)
    k = Kernel()
    a, p = k.array([500], dtype), k.array([20, 15], index)
    back, out = k.array([500], dtype, "inout"), k.array([20, 15], dtype, "output")
    size = np.dtype(dtype).itemsize
    at = k.op("TMUL", k.load(p, [20, 15]), k.splat(size, [20, 15], index))
    k.store(k.gather(a, at), out)
    k.store_at(k.load(out, [20, 15]), back, at)
    y = numbers(500).astype(dtype)
    expected = y.copy()
    expected[places] = x[places]
    [found] = k.run(x, places, y)
    np.testing.assert_array_equal(found.reshape(20, 15), x[places])
    np.testing.assert_array_equal(y, expected)


def test_where_places_meet_the_last_one_stays() -> None:
    places = RNG.integers(0, 9, (40, 25)).astype(I32)
    value, mask = numbers(40, 25), RNG.random((40, 25)) < 0.8
    k = Kernel()
    v, p, m = k.array([40, 25], I32), k.array([40, 25], I32), k.array([40, 25], bool)
    out = k.array([10], I32, "inout")
    at = k.op("TSHL", k.load(p, [40, 25]), k.splat(2, [40, 25], I32))
    k.store_at(k.load(v, [40, 25]), out, at, k.load(m, [40, 25]))
    y = np.zeros(10, I32)
    expected = y.copy()
    for place, number, chosen in zip(places.ravel(), value.ravel(), mask.ravel()):
        if chosen:
            expected[place] = number
    k.run(value, places, mask, y)
    np.testing.assert_array_equal(y, expected)


def test_an_array_is_updated_in_place_row_by_row() -> None:
    x = numbers(50, 60)
    k = Kernel()
    a = k.array([50, 60], I32, "inout")
    value = k.load(a, [50, 60])
    k.store(k.op("TSUB", value, k.moved("expand", k.fold("max", value, 1, 16), [50, 60])), a)
    assert "tmp" not in str(k.program().modules["nd"])
    expected = x - x.max(1, keepdims=True)
    y = x.copy().ravel()
    k.run(y)
    np.testing.assert_array_equal(y.reshape(50, 60), expected)


@pytest.mark.parametrize("how", ["reversed", "transposed", "shifted", "gathered"])
def test_what_an_array_is_overwritten_with_is_read_before(how: str) -> None:
    x = numbers(40, 40)
    k = Kernel()
    a = k.array([40, 40], I32, "inout")
    if how == "gathered":
        places = k.iota([1600], I32, 0, 4 * 1599, -4)
        k.store(k.gather(a, places), a)
        expected = x.ravel()[::-1]
    elif how == "shifted":
        k.store(k.load(a, [1599], [1]), a, [1], 1)
        expected = np.concatenate([x.ravel()[:1], x.ravel()[:-1]])
    else:
        strides, offset = {"reversed": ([-40, -1], 1599), "transposed": ([1, 40], 0)}[how]
        k.store(k.load(a, [40, 40], strides, offset), a)
        expected = {"reversed": x[::-1, ::-1], "transposed": x.T}[how].ravel()
    y = x.copy().ravel()
    k.run(y)
    np.testing.assert_array_equal(y, expected)


def test_a_read_after_a_later_write_has_the_old_contents() -> None:
    x = numbers(30)
    k = Kernel()
    a, out = k.array([30], I32, "inout"), k.array([30], I32, "output")
    old = k.load(a, [30])
    k.store(k.op("TNEG", old), a)
    k.store(k.op("TADD", old, old), out)
    y = x.copy()
    [found] = k.run(y)
    np.testing.assert_array_equal(y, -x)
    np.testing.assert_array_equal(found, 2 * x)


def test_a_reshape_of_a_computed_value() -> None:
    x = numbers(6, 35)
    k = Kernel()
    a, out = k.array([6, 35], I32), k.array([10, 21], I32, "output")
    value = k.op("TNEG", k.load(a, [6, 35]))
    k.store(k.op("TNOT", k.moved("reshape", value, [10, 21])), out)
    [found] = k.run(x)
    np.testing.assert_array_equal(found, ~-x.ravel())


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1])
def test_places_of_extremes(name: str, axis: int) -> None:
    x = numbers(30, 45)
    k = Kernel()
    a, out = k.array([30, 45], I32), k.array([75 - (30, 45)[axis]], "uint32", "output")
    k.store(k.fold(name, k.load(a, [30, 45]), axis, 64, "uint32"), out)
    [found] = k.run(x)
    np.testing.assert_array_equal(found, getattr(x, name)(axis))


def test_long_chains_with_many_live_values() -> None:
    """Twenty values that are all used again at the end."""
    x = numbers(64, 64)
    k = Kernel()
    a, out = k.array([64, 64], I32), k.array([64, 64], I32, "output")
    values = [k.load(a, [64, 64])]
    expected = [x]
    for n in range(20):
        values.append(k.op("TXOR", values[-1], k.splat(n * 77 + 1, [64, 64], I32)))
        expected.append(expected[-1] ^ (n * 77 + 1))
    total, sums = values[-1], expected[-1]
    for value, number in zip(values[:-1], expected[:-1]):
        total = k.op("TADD", k.op("TMUL", total, k.splat(3, [64, 64], I32)), value)
        sums = sums * 3 + number
    k.store(total, out)
    [found] = k.run(x)
    np.testing.assert_array_equal(found.reshape(64, 64), sums)
