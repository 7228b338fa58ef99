"""Folded comparisons against numpy's own answers."""

from typing import Any, get_args

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ptoc.thresholds import UFUNCS, Comparison, Constant, Operator, fold

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
OPERATORS: tuple[Operator, ...] = get_args(Operator)


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)


def from_bits(bits: npt.ArrayLike, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.atleast_1d(np.array(bits, dtype=f"u{dtype.itemsize}")).view(dtype)


def unfold(folded: Comparison | Constant, array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if isinstance(folded, Constant):
        return np.full(array.shape, folded.value)
    return UFUNCS[folded.op](array, from_bits(folded.bits, array.dtype))


def interesting(dtype: np.dtype[Any], scalar: Any) -> npt.NDArray[Any]:
    """Extremes, specials of both signs, and the values whose bit patterns lie around the scalar's."""
    width = 8 * dtype.itemsize
    sign = 1 << width - 1
    patterns = [0, sign, sign - 1, 2 * sign - 1]
    if dtype.kind not in "iu":
        for special in (1.0, np.inf):
            pattern = int(np.array(special, dtype).view(f"u{dtype.itemsize}"))
            patterns += [pattern, pattern | sign]
    centres = np.concatenate([from_bits(patterns, dtype), nearest(dtype, scalar)])
    bits = centres.view(f"u{dtype.itemsize}")
    near = np.arange(-3, 4).astype(bits.dtype)
    return (bits[:, None] + near).reshape(-1).view(dtype)


def nearest(dtype: np.dtype[Any], scalar: Any) -> npt.NDArray[Any]:
    """Elements near the scalar; for integers also those that a rounding to float64 may reach."""
    try:
        number = float(scalar)
    except OverflowError:
        number = np.inf
    if dtype.kind not in "iu":
        with np.errstate(all="ignore"):
            return np.array([number, -number], dtype)
    if not np.isfinite(number):
        return np.array([], dtype)
    limits = np.iinfo(dtype)
    around = [int(scalar) + distance for distance in (-600, 0, 600)]
    return np.array([min(max(value, limits.min), limits.max) for value in around], dtype)


def check(op: Operator, dtype: np.dtype[Any], scalar: Any) -> None:
    array = interesting(dtype, scalar)
    with np.errstate(all="ignore"):
        try:
            expected = UFUNCS[op](array, scalar)
        except (TypeError, OverflowError):
            with pytest.raises(TypeError):
                fold(op, dtype, scalar)
            return
        try:
            folded = fold(op, dtype, scalar)
        except ValueError:
            assert op in ("eq", "ne")
            assert np.count_nonzero(np.unique(array)[np.equal(np.unique(array), scalar)]) > 1
            return
        answer = unfold(folded, array)
    np.testing.assert_array_equal(answer, expected)


def scalars_of(name: str) -> st.SearchStrategy[Any]:
    dtype = numpy_dtype(name)
    return st.integers(0, (1 << 8 * dtype.itemsize) - 1).map(lambda bits: from_bits(bits, dtype)[0])


POWERS = st.builds(
    lambda exponent, distance, sign: sign * (2**exponent + distance),
    st.integers(0, 65),
    st.integers(-2, 2),
    st.sampled_from([-1, 1]),
)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    st.sampled_from([np.True_, np.False_]),
    st.integers(),
    st.sampled_from([10**400, -(10**400)]),
    POWERS,
    POWERS.map(float),
    st.floats(),
    st.sampled_from([0.1, -0.1, 0.5, 0.0, -0.0, float("nan"), float("inf"), -float("inf")]),
    *map(scalars_of, FLOATS + INTEGERS),
)


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
@given(op=st.sampled_from(OPERATORS), scalar=SCALARS)
@example(op="eq", scalar=2.0**63)
@example(op="ne", scalar=2.0**64)
@example(op="ne", scalar=float("nan"))
def test_equals_numpy(name: str, op: Operator, scalar: Any) -> None:
    check(op, numpy_dtype(name), scalar)


@pytest.mark.slow
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "python"])
@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_equals_numpy_around_the_powers_of_two_of_some_type(name: str, source: str) -> None:
    for exponent in (0, 1, 7, 8, 10, 11, 15, 16, 23, 24, 25, 31, 32, 52, 53, 54, 62, 63, 64, 65):
        for number in (2**exponent - 1, 2**exponent, 2**exponent + 1, 2.0**exponent, 2.0**-exponent):
            for scalar in (as_type(source, number), as_type(source, -number)):
                for op in OPERATORS if scalar is not None else ():
                    check(op, numpy_dtype(name), scalar)


def as_type(source: str, number: float) -> Any:
    """The number as a scalar of the type; ``None`` when the type does not hold it."""
    if source == "python":
        return number
    try:
        with np.errstate(all="ignore"):
            return numpy_dtype(source).type(number)
    except (OverflowError, TypeError):
        return None


def bits(value: float, name: str) -> int:
    dtype = numpy_dtype(name)
    return int(np.array(value, dtype).view(f"u{dtype.itemsize}"))


@pytest.mark.parametrize(
    ("name", "op", "scalar", "expected"),
    [
        ("uint8", "gt", 300, Constant(False)),
        ("uint8", "ne", -1, Constant(True)),
        ("uint8", "ge", 0, Constant(True)),
        ("uint8", "lt", 0, Constant(False)),
        ("int32", "gt", 5, Comparison("gt", 5)),
        ("int32", "gt", 0.5, Comparison("ge", 1)),
        ("int32", "lt", -0.5, Comparison("le", 0xFFFF_FFFF)),
        ("int32", "eq", 0.5, Constant(False)),
        ("int32", "ne", float("nan"), Constant(True)),
        ("int32", "le", float("inf"), Constant(True)),
        ("int8", "eq", True, Comparison("eq", 1)),
        ("int64", "gt", 2.0**53, Comparison("ge", 2**53 + 2)),
        ("int64", "eq", 2.0**63, Comparison("ge", 2**63 - 512)),
        ("int64", "ne", 2.0**63, Comparison("le", 2**63 - 513)),
        ("uint64", "eq", 2.0**64, Comparison("ge", 2**64 - 1024)),
        ("float32", "lt", float("nan"), Constant(False)),
        ("float32", "ne", float("nan"), Constant(True)),
        ("float32", "gt", -float("inf"), Comparison("gt", 0xFF80_0000)),
        ("float32", "lt", -float("inf"), Constant(False)),
        ("float32", "le", float("inf"), Comparison("le", 0x7F80_0000)),
        ("float32", "gt", np.float64(-1e300), Comparison("ge", 0xFF7F_FFFF)),
        ("float32", "lt", np.float64(1e300), Comparison("le", 0x7F7F_FFFF)),
        ("float16", "gt", -0.0, Comparison("gt", 0)),
        ("float16", "gt", 0.1, Comparison("gt", bits(0.1, "float16"))),
        ("float16", "gt", np.float32(0.1), Comparison("ge", bits(0.1, "float16") + 1)),
        ("float16", "ge", 1e10, Comparison("ge", 0x7C00)),
        ("bfloat16", "gt", 1.5, Comparison("gt", bits(1.5, "bfloat16"))),
    ],
)
def test_known_folds(name: str, op: Operator, scalar: Any, expected: Comparison | Constant) -> None:
    assert fold(op, numpy_dtype(name), scalar) == expected


@pytest.mark.parametrize("op", ["eq", "ne"])
def test_several_equal_values_in_the_midst_are_an_error(op: Operator) -> None:
    with pytest.raises(ValueError, match="values of int64 equal the scalar"):
        fold(op, np.int64, 2.0**60)


@pytest.mark.parametrize(
    "scalar", [1j, "a", None, np.complex64(1), np.datetime64("2020"), np.timedelta64(1), np.str_("a"), [1]]
)
def test_what_is_no_real_number_is_refused(scalar: object) -> None:
    with pytest.raises(TypeError, match="or a real number"):
        fold("lt", np.int64, scalar)


def test_numpys_own_refusal_is_passed_on() -> None:
    with pytest.raises(TypeError, match="numpy cannot compare float32"):
        fold("lt", np.float32, 10**400)


@pytest.mark.parametrize("dtype", ["bool", ">i4", ">f4", "complex64", "S3", "longdouble"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    with pytest.raises(TypeError, match="cannot be compared"):
        fold("lt", dtype, 1)


def test_no_warning_reaches_the_user(recwarn: pytest.WarningsRecorder) -> None:
    for name in FLOATS:
        for scalar in (1e300, 10**30, np.float64(1e300), np.float16("nan")):
            try:
                fold("lt", numpy_dtype(name), scalar)
            except TypeError:
                assert name == "bfloat16" and isinstance(scalar, int)
    assert not recwarn.list
