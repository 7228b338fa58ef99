"""Comparisons, masked writes and scatters end to end: the same bits as plain numpy, in and around every array."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import BOOL, DTYPES, FLOATS, Array, Guarded, assert_same, mixed, run_both, specials

import ptoc
from ptoc.errors import ProgramFault, PtocError, UnsupportedError

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.gt, operator.le, operator.ge]


def six(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return tuple(compare(x, y) for compare in COMPARISONS)


@np.errstate(all="ignore")
def assert_same_all(got: Any, wanted: Any, what: str = "") -> None:
    for left, right in zip(got, wanted, strict=True):
        assert_same(left, right, what)


# -- comparisons -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_special_value_against_every_other(dtype: np.dtype[Any]) -> None:
    values = specials(dtype)
    left, right = np.meshgrid(values, values)
    run_both(six, [left, right])


SHAPES = [(1,), (2,), (63,), (64,), (255,), (256,), (257,), (1025,), (3000,)]
SHAPES += [(1, 1), (1, 70), (70, 1), (7, 13), (70, 69), (5, 64), (1000, 3), (3, 1000), (2, 2049), (257, 5), (1, 5000)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    for dtype, gap in itertools.product(("uint8", "float16", "int64"), (0, 5)):
        x, y = (mixed(rng, shape, np.dtype(dtype)) for _ in range(2))
        run_both(six, [x, y], [gap, 2 * gap])


COMMON = [0, 1, -1, 0.5, 300, -129, 2**63, float("nan"), float("inf"), np.float64(0.1), np.int8(-1), True]
RARE = [2, 127, 128, 255, 256, 2**31, -(2**31) - 1, 2**53 + 1, 2**64 - 1, 2**64, -(10**30), 0.0, -0.0, 1.5, -0.5]
RARE += [65504.0, 65520.0, 1e30, 5e-324, 3e38, -float("inf"), False, np.True_, np.uint8(255), np.int64(-(2**63))]
RARE += [np.uint64(2**63), np.int32(7), np.float16(0.1), np.float32(0.1), np.float64(2.0**62), np.float32(16777217)]


@pytest.mark.parametrize("scalars", [COMMON, pytest.param(RARE, marks=pytest.mark.slow)], ids=["common", "rare"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scalars_follow_nep_50(dtype: np.dtype[Any], scalars: list[Any]) -> None:
    """Every comparison with every kind of scalar, from both sides; what numpy refuses is refused.

    One thing alone is refused that numpy does: several neighbouring values that all equal the scalar, which happens
    where numpy compares 64-bit integers as float64, and float64 has gaps there.
    """
    values = np.concatenate([specials(dtype), np.array([0, 1, 2, 7, 100], dtype)])
    for scalar in scalars:
        refused: type[Exception] | None = None
        try:
            with np.errstate(all="ignore"):
                wanted = six(values, scalar) + six(scalar, values)
        except (TypeError, OverflowError) as error:
            refused = type(error)
        try:
            got = compared_with(scalar)(values)
        except UnsupportedError as error:
            gaps = dtype.itemsize == 8 and dtype.kind in "iu" and isinstance(scalar, float | np.floating)
            assert refused or (gaps and "values of" in error.message), error
            continue
        assert refused is None, scalar
        assert_same_all(got, [np.asarray(w) for w in wanted], repr(scalar))


def compared_with(scalar: Any) -> Callable[[Array], Any]:
    return ptoc.jit(lambda x: six(x, scalar) + six(scalar, x))


def test_arrays_without_dimensions_are_scalars() -> None:
    x = np.array([0.1, 0.5, 2.0], np.float32)
    limit = np.array(0.5)
    run_both(lambda x: (x > limit, x <= np.array(0.1), np.where(x > limit, x, np.array(7, np.float32))), [x])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_repeated_rows(dtype: np.dtype[Any]) -> None:
    """A row stride of zero, a row broadcast by numpy's rules, and both at once."""
    rng = np.random.default_rng(2)
    x, row = mixed(rng, (37, 19), dtype), mixed(rng, (1, 19), dtype)
    repeated = np.broadcast_to(row, x.shape)
    for y in (repeated, row, row[0]):
        assert_same_all(ptoc.jit(six)(x, y), six(x, y))
        assert_same_all(ptoc.jit(six)(y, x), six(y, x))
    assert_same_all(ptoc.jit(six)(repeated, repeated), six(repeated, repeated))
    assert_same_all(ptoc.jit(six)(row, row[0]), six(row, row[0]))


def test_windows_that_overlap() -> None:
    """Rows closer together than they are long, in inputs."""
    rng = np.random.default_rng(3)
    x = np.lib.stride_tricks.sliding_window_view(mixed(rng, (100,), np.dtype("int16")), 33)
    y = mixed(rng, x.shape, np.dtype("int16"))
    assert_same_all(ptoc.jit(six)(x, y), six(x, y))


extents = st.one_of(
    st.tuples(st.integers(1, 70), st.integers(1, 70)),
    st.tuples(st.integers(1, 3000)),
    st.sampled_from([(1000, 3), (3, 1000)]),
)


@settings(max_examples=40)
@given(
    shape=extents,
    dtype=st.sampled_from([*DTYPES, BOOL]),
    gaps=st.lists(st.sampled_from([0, 0, 1, 3, 17]), min_size=3, max_size=3),
    repeat=st.booleans(),
    compare=st.sampled_from(COMPARISONS),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_shape_stride_and_dtype(
    shape: tuple[int, ...], dtype: Any, gaps: list[int], repeat: bool, compare: Any, seed: int
) -> None:
    """A comparison, ``where``, a masked assignment from an array and one from a scalar, in one kernel."""
    rng = np.random.default_rng(seed)
    dst, src = mixed(rng, shape, dtype), mixed(rng, shape[-1:] if repeat else shape, dtype)
    other = mixed(rng, shape, np.dtype("int16"))

    def kernel(dst: Any, src: Any, other: Any) -> Any:
        mask = compare(other, 1)
        np.copyto(dst, src, where=mask)
        dst[other == 0] = 1
        return mask, np.where(other < 0, src, dst)

    run_both(kernel, [dst, src, other], gaps)


# -- masked writes ---------------------------------------------------------------------------------


def assign(dst: Any, src: Any, other: Any, mask: Any) -> None:
    dst[other > 0] = src[other > 0]


def assign_under_bool_array(dst: Any, src: Any, other: Any, mask: Any) -> None:
    dst[mask] = src[mask]


def assign_scalar(dst: Any, src: Any, other: Any, mask: Any) -> None:
    dst[mask] = 1
    dst[other == 0] = 0


def copyto(dst: Any, src: Any, other: Any, mask: Any) -> None:
    np.copyto(dst, src, where=mask)
    np.copyto(src, dst, where=other < 0)
    np.copyto(dst, True, where=other > 2)


def where(dst: Any, src: Any, other: Any, mask: Any) -> Any:
    return np.where(mask, dst, src), np.where(other > 0, src, dst), np.where(mask, mask, other > 0)


def where_with_scalars(dst: Any, src: Any, other: Any, mask: Any) -> Any:
    one = dst.dtype.type(1)
    return (
        np.where(mask, dst, one),
        np.where(mask, one, dst),
        np.where(mask, one, dst.dtype.type(0)),
        np.where(mask, 2, 3),
    )


def nested_where(dst: Any, src: Any, other: Any, mask: Any) -> Any:
    inner = np.where(other > 0, dst, src)
    return np.where(mask, inner, np.where(other < 0, inner, src)), np.where(np.where(mask, other > 0, mask), dst, inner)


def all_and_nothing(dst: Any, src: Any, other: Any, mask: Any) -> Any:
    dst[other > 40000] = src[other > 40000]
    src[other >= -40000] = dst[other >= -40000]
    dst[other != other] = 1
    return np.where(other < 40000, dst, src), other == other, other < -40000


def several_writes(dst: Any, src: Any, other: Any, mask: Any) -> Any:
    """What a write left behind is what the next statement reads; what was read before stays as it was."""
    before = dst.copy()
    dst[mask] = src[mask]
    src[other > 0] = dst[other > 0]
    kept = src[:]
    mask[other < 0] = True
    dst[mask] = before[mask]
    return before, kept, np.where(mask, before, dst)


def mask_as_data(dst: Any, src: Any, other: Any, mask: Any) -> Any:
    positive = other > 0
    mask[positive] = (other > 1)[positive]
    return positive, mask, np.where(positive, mask, other == 0)


def written_before_the_mask_is_used(dst: Any, src: Any, other: Any, mask: Any) -> None:
    positive = other > 0
    other[mask] = 0
    dst[positive] = src[positive]
    mask[:] = other > 0
    dst[mask] = 1


def whole_assignments(dst: Any, src: Any, other: Any, mask: Any) -> None:
    old = dst.copy()
    dst[:] = src
    src[...] = old
    other[:] = 3
    mask[:] = False


WRITES = [assign, assign_under_bool_array, assign_scalar, copyto, where, where_with_scalars, nested_where]
WRITES += [all_and_nothing, several_writes, mask_as_data, written_before_the_mask_is_used, whole_assignments]


@pytest.mark.parametrize("dtype", [*DTYPES, BOOL], ids=str)
@pytest.mark.parametrize("kernel", WRITES, ids=lambda f: f.__name__)
def test_masked_writes(kernel: Callable[..., Any], dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(4)
    for shape, gaps in (((9, 13), [0, 0, 0, 0]), ((33, 70), [3, 0, 5, 1]), ((1001,), [0, 0, 0, 0])):
        dst, src = mixed(rng, shape, dtype), mixed(rng, shape, dtype)
        other, mask = rng.integers(-4, 5, shape).astype(np.int32), rng.random(shape) < 0.5
        run_both(kernel, [dst, src, other, mask], gaps)


@pytest.mark.parametrize("dtype", [*DTYPES, BOOL], ids=str)
@pytest.mark.parametrize("value", [False, True])
def test_masks_that_are_the_same_everywhere(value: bool, dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(5)
    dst, src = mixed(rng, (20, 30), dtype), mixed(rng, (20, 30), dtype)
    mask = np.full(dst.shape, value)
    other = np.full(dst.shape, int(value))
    for kernel in (assign, assign_under_bool_array, where, copyto):
        run_both(kernel, [dst, src, other, mask])


def of_itself(x: Any, y: Any) -> Any:
    """The mask is computed from the array that is written."""
    x[x > 0] = y[x > 0]
    x[x == y] = 1
    y[y < x] = x[y < x]
    return np.where(x < y, x, y)


def swapped(x: Any, y: Any) -> None:
    keep = x.copy()
    x[:], y[:] = y, keep


def aliased(x: Any, y: Any) -> Any:
    view = x[:]
    view[y > 0] = 0
    return view, x.copy(), x.copy()


@pytest.mark.parametrize("shape", [(5,), (300,), (30, 40), (70, 3)], ids=str)
@pytest.mark.parametrize("kernel", [of_itself, swapped, aliased], ids=lambda f: f.__name__)
def test_arrays_read_and_written(kernel: Callable[..., Any], shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    for gap in (0, 4):
        run_both(kernel, [mixed(rng, shape, np.dtype("int16")) for _ in range(2)], [gap, 0])


def test_rows_broadcast_in_masks_and_branches() -> None:
    rng = np.random.default_rng(7)
    x, row = mixed(rng, (37, 19), np.dtype("float32")), mixed(rng, (19,), np.dtype("float32"))
    flags = rng.random(19) < 0.5

    def kernel(x: Any, row: Any, flags: Any) -> Any:
        column_wise = np.where(row > 0, x, 1), np.where(flags, x, row), np.where(x > row, row, x)
        line = row.copy()
        line[flags] = 0
        twice = x[:].copy()
        twice[:] = line
        np.copyto(x, row, where=flags)
        return (*column_wise, np.where(x < 0, twice, x), twice)

    for one_row in (row, row[None]):
        run_both(kernel, [x, one_row if one_row.ndim == 1 else one_row[0], flags], [3])


def test_a_single_row_repeated_twice() -> None:
    """A row becomes a 1 x N array, which then repeats itself."""
    rng = np.random.default_rng(8)
    one, row, x = (mixed(rng, s, np.dtype("int32")) for s in ((1, 13), (13,), (9, 13)))

    def kernel(one: Any, row: Any, x: Any) -> Any:
        line = one.copy()
        line[:] = row
        return np.where(x > 0, line, x), x < line

    run_both(kernel, [one, row, x])


def test_results_are_arrays_of_their_own() -> None:
    x = np.arange(6, dtype=np.int32)
    first, second, same = ptoc.jit(lambda x: (x.copy(), x.copy(), x))(x)
    assert same is x
    first[:] = 0
    assert (second == x).all()


@pytest.mark.parametrize("arrays", [7, 8, 9, 13, 20])
@pytest.mark.parametrize("gap", [0, 3])
def test_many_arrays(arrays: int, gap: int) -> None:
    """Up to eight arrays can have a register each, more are reached from the first."""
    rng = np.random.default_rng(9)

    def kernel(*x: Any) -> Any:
        for y in x[1:]:
            y[y > x[0]] = x[0][y > x[0]]
        return np.where(x[1] < x[2], x[1], x[2])

    run_both(kernel, [mixed(rng, (23, 31), np.dtype("int32")) for _ in range(arrays)], [gap] * arrays)


@pytest.mark.parametrize("statements", [10, 30])
def test_many_statements(statements: int) -> None:
    """More tiles than the rings hold: what is no longer needed is aged out between statements."""
    rng = np.random.default_rng(10)

    def kernel(x: Any, y: Any) -> Any:
        for n in range(statements):
            x[y > n] = n
            y[:] = np.where(x < n, y, x)
        return x, y == x

    run_both(kernel, [mixed(rng, (33, 70), np.dtype("int32")) for _ in range(2)])


# -- scatter ---------------------------------------------------------------------------------------


def scatter(dst: Any, displacements: Any, src: Any, mask: Any) -> None:
    ptoc.scatter(dst, displacements, src, mask)


def scattered(dst: Array, displacements: Array, src: Array, mask: Array) -> Array:
    """The same, byte by byte, in row-major order of the source; ``dst`` is dense."""
    memory = bytearray(dst.tobytes())
    for place, value, enabled in zip(displacements.ravel().tolist(), src.ravel(), mask.ravel()):
        if enabled:
            memory[place : place + dst.itemsize] = value.tobytes()
    return np.frombuffer(bytes(memory), dst.dtype).reshape(dst.shape)


WILD = {"int32": -5, "uint32": 2**32 - 3, "int64": -(2**63) + 1, "uint64": 2**64 - 1}


@pytest.mark.parametrize("kind", WILD)
@pytest.mark.parametrize("dtype", [*DTYPES, BOOL], ids=str)
def test_scatter(dtype: np.dtype[Any], kind: str) -> None:
    """Elements that meet, disabled lanes with displacements of no meaning, and every byte around dst as it was."""
    rng = np.random.default_rng(11)
    for shape, size in (((23, 17), 300), ((700,), 1000), ((1,), 1)):
        dst, src = mixed(rng, (size,), dtype), mixed(rng, shape, dtype)
        mask = rng.random(shape) < 0.6
        places = (rng.integers(0, size, shape) * dtype.itemsize).astype(kind)
        displacements = np.where(mask, places, np.array(WILD[kind], kind))
        guarded = Guarded(dst)
        ptoc.jit(scatter)(guarded.array, displacements, src, mask)
        assert guarded.buffer.tobytes() == Guarded(scattered(dst, places, src, mask)).buffer.tobytes()


@pytest.mark.parametrize("shape", [(3, 5000), (9, 3000), (2, 2049), (300, 20), (1, 5000)], ids=str)
@pytest.mark.parametrize("gap", [0, 5])
def test_the_last_element_in_row_major_order_stays(shape: tuple[int, int], gap: int) -> None:
    """Also where a row takes several tiles, and rows are not dense."""
    rng = np.random.default_rng(12)
    size = shape[1]
    dst, src = np.zeros(size, np.int16), rng.integers(1, 30000, shape).astype(np.int16)
    displacements = rng.permuted(np.tile(np.arange(size) * 2, shape[0])).reshape(shape).astype(np.int32)
    mask = rng.random(shape) < 0.8
    wanted = scattered(dst, displacements, src, mask)
    ptoc.jit(scatter)(dst, displacements, Guarded(src, gap).array, mask)
    assert_same(dst, wanted)


def test_scatter_into_rows_with_gaps() -> None:
    """Displacements count bytes in memory, so a row is a stride further; gaps are never written."""
    rng = np.random.default_rng(13)
    guarded = Guarded(np.zeros((10, 7), np.float32), 3)
    before = guarded.buffer.copy()
    row, col = rng.integers(0, 10, 60), rng.integers(0, 7, 60)
    src, mask = rng.standard_normal(60).astype(np.float32), rng.random(60) < 0.5
    ptoc.jit(scatter)(guarded.array, row * 40 + col * 4, src, mask)
    wanted = np.zeros((10, 7), np.float32)
    for r, c, value in zip(row[mask], col[mask], src[mask]):
        wanted[r, c] = value
    assert_same(np.ascontiguousarray(guarded.array), wanted)
    guarded.array[...] = 0
    assert (guarded.buffer == before).all()


def scatter_of_itself(x: Any, places: Any, y: Any) -> None:
    ptoc.scatter(x, places, x, y > 0)


def scatter_and_read(x: Any, places: Any, y: Any) -> Any:
    ptoc.scatter(x, places, y, x > 0)
    ptoc.scatter(y, places, x)
    return np.where(x > 0, x, y)


def scatter_displacements(x: Any, places: Any, y: Any) -> None:
    ptoc.scatter(places, places, places.copy(), y > 0)


def scatter_computed(x: Any, places: Any, y: Any) -> None:
    ptoc.scatter(x, places, np.where(y > 1, y, 1), places >= 80)
    ptoc.scatter(x, places, x[:], y > 10**30)


@pytest.mark.parametrize(
    "kernel",
    [scatter_of_itself, scatter_and_read, scatter_displacements, scatter_computed],
    ids=lambda f: f.__name__,
)
def test_scatter_into_arrays_that_are_read(kernel: Callable[..., Any]) -> None:
    """``ptoc.scatter`` on numpy arrays is the judge; it is held to a loop of its own above."""
    rng = np.random.default_rng(14)
    x, y = rng.standard_normal((2, 100)).astype(np.float64)
    run_both(kernel, [x, (rng.integers(0, 100, 100) * 8).astype(np.int64), y])


STRAY = [
    ("in front", "int32", -4),
    ("behind", "int32", 400),
    ("far in front", "int64", -(2**40)),
    ("far behind", "uint64", 2**63),
    ("at the end of the address space", "uint64", 2**64 - 4),
    ("beyond 2 GiB", "uint32", 2**32 - 4),
    ("between two elements", "int32", 6),
    ("over the end", "int32", 398),
    ("in a gap between rows", "int32", 28),
    ("in a gap, misaligned", "int32", 30),
]


@pytest.mark.parametrize(("kind", "place"), [s[1:] for s in STRAY], ids=[s[0] for s in STRAY])
@pytest.mark.parametrize("lane", [0, 37, 99])
def test_a_stray_displacement_changes_nothing(kind: str, place: int, lane: int) -> None:
    """A fault, even after other arrays were written by the kernel, and in whatever lane it happens."""
    rng = np.random.default_rng(15)
    arrays = [
        Guarded(rng.standard_normal((10, 7)).astype(np.float32), 3),
        Guarded((rng.integers(0, 10, 100) * 40).astype(kind)),
        Guarded(rng.standard_normal(100).astype(np.float32)),
        Guarded(np.ones(100, np.int32)),
        Guarded(np.zeros(100, np.float32)),
    ]
    arrays[1].array[lane] = place
    before = [g.buffer.copy() for g in arrays]

    def kernel(dst: Any, displacements: Any, src: Any, flags: Any, other: Any) -> Any:
        other[:] = src
        flags[displacements == 0] = 5
        ptoc.scatter(dst, displacements, src, flags > 0)
        return np.where(flags > 0, src, other)

    with pytest.raises(ProgramFault) as caught:
        ptoc.jit(kernel)(*[g.array for g in arrays])
    for guarded, old in zip(arrays, before):
        assert (guarded.buffer == old).all()
    assert caught.value.where is not None and caught.value.where.file == __file__
    assert "displacement" in str(caught.value)


def test_numpy_and_machine_refuse_the_same_displacements() -> None:
    dst, src, mask = np.zeros((10, 7), np.float32), np.ones(1, np.float32), np.ones(1, bool)
    for place in range(-8, 300, 2):
        outcomes = []
        for call in (scatter, ptoc.jit(scatter)):
            target = Guarded(dst, 3)
            try:
                call(target.array, np.array([place]), src, mask)
                outcomes.append(target.buffer.tobytes())
            except PtocError:
                outcomes.append(b"refused")
        assert outcomes[0] == outcomes[1], place


# -- values ----------------------------------------------------------------------------------------

TO_INTEGERS: list[Any] = [2.9, -1.5, True, np.int8(3), np.float32(7.9)]
TO_FLOATS: list[Any] = [1, 0.1, float("nan"), float("inf"), -0.0, 1e30, np.float64(1e-30), np.int64(2**60), True]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scalar_writes_convert_as_numpy_assigns(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(16)
    x, mask = mixed(rng, (40,), dtype), rng.random(40) < 0.5
    for value in TO_INTEGERS if dtype.kind in "iu" else TO_FLOATS:
        if dtype.kind != "u" or value != -1.5:
            run_both(writing(value), [x, mask])


def writing(value: Any) -> Callable[..., None]:
    def kernel(x: Any, mask: Any) -> None:
        x[mask] = value

    return kernel


REFUSED_VALUES = [
    ("int8", 300),
    ("uint8", -1),
    ("int32", float("nan")),
    ("int64", 2**63),
    ("float32", "1"),
    ("int16", 1j),
]


@pytest.mark.parametrize(("dtype", "value"), REFUSED_VALUES, ids=str)
def test_values_that_do_not_fit_are_refused(dtype: str, value: Any) -> None:
    x, mask = np.zeros(5, dtype), np.ones(5, bool)
    with pytest.raises(UnsupportedError):
        ptoc.jit(writing(value))(x, mask)
    assert not x.any()


def test_signalling_nans_survive_moves() -> None:
    """Bits are moved, not computed with."""
    for dtype in FLOATS:
        x = specials(dtype)
        run_both(lambda x, y: (x.copy(), np.where(y > 0, x, x)), [x, np.arange(len(x), dtype=np.int32) % 2])
