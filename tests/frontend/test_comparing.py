"""Bit comparison and its words."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ptoc.comparing import UNORDERED, Mismatch, canonical_bits, first_mismatch, pattern, ulp_distance

FLOATS = [np.dtype(t) for t in ("float16", ml_dtypes.bfloat16, "float32", "float64")]
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
Array = npt.NDArray[Any]


def from_bits(bits: npt.ArrayLike, dtype: np.dtype[Any]) -> Array:
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)


def rank(bits: int, dtype: np.dtype[Any]) -> int:
    """The place of a value among all values of its type, zero at 0."""
    sign = 1 << 8 * dtype.itemsize - 1
    if dtype.kind == "u":
        return bits
    if dtype.kind == "i":
        return bits - 2 * sign if bits & sign else bits
    return sign - bits if bits & sign else bits


def is_nan(bits: int, dtype: np.dtype[Any]) -> bool:
    with np.errstate(invalid="ignore"):
        return dtype.kind not in "iu" and bool(np.isnan(from_bits([bits], dtype))[0])


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
@given(data=st.data())
def test_distance_is_the_difference_of_ranks(dtype: np.dtype[Any], data: st.DataObject) -> None:
    patterns = hnp.arrays(f"u{dtype.itemsize}", 8)
    left, right = data.draw(patterns), data.draw(patterns)
    distances = ulp_distance(left.view(dtype), right.view(dtype))
    assert distances.dtype == np.uint64
    for x, y, distance in zip(left.tolist(), right.tolist(), distances.tolist()):
        nans = is_nan(x, dtype) + is_nan(y, dtype)
        expected = {0: abs(rank(x, dtype) - rank(y, dtype)), 1: UNORDERED, 2: 0}[nans]
        assert distance == expected


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_neighbours_are_one_apart_and_zeros_none(dtype: np.dtype[Any]) -> None:
    sign = 1 << 8 * dtype.itemsize - 1
    assert ulp_distance(from_bits([0, 0, 1], dtype), from_bits([sign, 1, sign + 1], dtype)).tolist() == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("dtype", "nan"), [*zip(FLOATS, [0x7E00, 0x7FC0, 0x7FC0_0000, 0x7FF8_0000_0000_0000])], ids=str
)
def test_every_nan_has_one_pattern_and_zeros_two(dtype: np.dtype[Any], nan: int) -> None:
    sign = 1 << 8 * dtype.itemsize - 1
    infinity = int(np.array(np.inf, dtype).view(f"u{dtype.itemsize}"))
    array = from_bits([infinity + 1, 2 * sign - 1, infinity, 0, sign], dtype)
    assert canonical_bits(array).tolist() == [nan, nan, infinity, 0, sign]


def test_bits_of_other_types_and_of_strided_and_empty_arrays() -> None:
    assert canonical_bits(np.array([True, False])).tolist() == [1, 0]
    assert canonical_bits(np.array([-1], np.int16)).tolist() == [0xFFFF]
    assert canonical_bits(np.arange(12, dtype=np.int32).reshape(3, 4)[:, ::2]).tolist() == [
        [0, 2],
        [4, 6],
        [8, 10],
    ]
    assert canonical_bits(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert canonical_bits(np.float32(1).reshape(())).shape == ()
    with pytest.raises(TypeError, match="complex64"):
        canonical_bits(np.ones(2, np.complex64))


def test_the_bits_are_a_copy() -> None:
    array = np.zeros(2, np.uint8)
    canonical_bits(array)[0] = 1
    assert array[0] == 0


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
@given(data=st.data())
def test_the_first_mismatch_is_the_first(dtype: np.dtype[Any], data: st.DataObject) -> None:
    bits = data.draw(hnp.arrays(f"u{dtype.itemsize}", (3, 4)))
    changed = bits.copy()
    for index in data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=3)):
        changed[index] ^= bits.dtype.type(1 << data.draw(st.integers(0, 8 * dtype.itemsize - 1)))
    left, right = canonical_bits(bits.view(dtype)).tolist(), canonical_bits(changed.view(dtype)).tolist()
    differing = [(i, j) for i in range(3) for j in range(4) if left[i][j] != right[i][j]]
    found = first_mismatch(bits.view(dtype), changed.view(dtype))
    if not differing:
        assert found is None
        return
    i, j = differing[0]
    assert found is not None
    assert (found.index, found.left_bits, found.right_bits) == ((i, j), left[i][j], right[i][j])


def test_a_mismatch_says_its_distance() -> None:
    x, y = np.array([1, 2, 3], np.float32), np.array([1, 2, 3 + 2**-21], np.float32)
    assert first_mismatch(x, y) == Mismatch((2,), 0x4040_0000, 0x4040_0002, 2)
    zeros = np.array([0.0], np.float16), np.array([-0.0], np.float16)
    assert first_mismatch(*zeros) == Mismatch((0,), 0, 0x8000, 0)


@pytest.mark.parametrize("function", [ulp_distance, first_mismatch])
def test_arrays_that_are_not_alike_are_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="float32"):
        function(np.ones(2, np.float32), np.ones(2, np.float16))
    with pytest.raises(ValueError, match=r"\[2\].*\[3\]"):
        function(np.ones(2), np.ones(3))


def mask(*where: Any, shape: tuple[int, ...] = (64, 128)) -> npt.NDArray[np.bool_]:
    out = np.zeros(shape, bool)
    for index in where:
        out[index] = True
    return out


EVERY = slice(None)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (mask(), None),
        (mask(EVERY), "everywhere"),
        (mask((3, 5)), "element [3, 5] only"),
        (mask(np.s_[:, 96:]), "columns ≥ 96"),
        (mask(np.s_[:, :32]), "columns < 32"),
        (mask(np.s_[:, 32:64]), "columns 32 to 63"),
        (mask(np.s_[-1]), "the last row"),
        (mask(np.s_[0]), "the first row"),
        (mask(np.s_[7]), "row 7"),
        (mask(np.s_[::2]), "every second row"),
        (mask(np.s_[1::2]), "every second row from row 1 on"),
        (mask(np.s_[2::3]), "one row in 3 from row 2 on"),
        (mask(*(np.s_[k + 8 : k + 16] for k in range(0, 64, 32))), "rows 8 to 15 of every 32"),
        (mask(*(np.s_[k + 8 : k + 16] for k in range(0, 60, 24)), shape=(60, 4)), "rows 8 to 15 of every 24"),
        (mask(np.s_[32:, 96:]), "columns ≥ 96 of rows ≥ 32"),
        (
            mask((0, 97), (9, 96), (63, 99), (20, 98), *((5, c) for c in range(96, 128))),
            "all in columns ≥ 96",
        ),
        (mask((63, 1), (63, 2), (63, 50)), "all in the last row"),
        (mask((3, 1), (9, 40), (10, 2)), None),
        (mask(*((i, i) for i in range(64)), shape=(64, 64)), None),
        (mask(np.s_[5:], shape=(9,)), "elements ≥ 5"),
        (mask(2, shape=(9,)), "element [2] only"),
        (mask(0, 1, 5, shape=(9,)), None),
        (mask(0, shape=(2, 2, 2)), None),
        (mask(shape=(0, 4)), None),
    ],
)
def test_patterns_in_words(where: npt.NDArray[np.bool_], words: str | None) -> None:
    assert pattern(where) == words


@given(hnp.arrays(bool, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=6)))
def test_every_mask_has_words_or_none(where: npt.NDArray[np.bool_]) -> None:
    words = pattern(where)
    assert words is None or where.any()
