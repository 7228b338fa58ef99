"""Data and comparisons for end-to-end tests: awkward values, arrays inside poisoned buffers, equality of bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import ptoc

Array = npt.NDArray[Any]

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype("float16"), BF16, np.dtype("float32"), np.dtype("float64")]
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES = FLOATS + INTEGERS
BOOL = np.dtype(bool)

POISON = 0xA5
GUARD = 64  # bytes in front of an array and behind it


def specials(dtype: np.dtype[Any]) -> Array:
    """Both zeros, ones, the extremes; of a float also infinities, the ends of the subnormals, and NaNs."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        near = [limits.min, limits.min + 1, -1, 0, 1, 2, limits.max - 1, limits.max]
        return np.array([v for v in near if v >= limits.min], dtype)
    width = 8 * dtype.itemsize
    mantissa = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype.name]
    infinity = (1 << width - 1) - (1 << mantissa)
    one = int(np.ones((), dtype).view(f"u{dtype.itemsize}"))
    signalling, quiet = infinity + 1, infinity + (1 << mantissa - 1)
    magnitudes = [0, 1, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, infinity - 1, infinity, signalling, quiet]
    bits = [m | sign for m in magnitudes for sign in (0, 1 << width - 1)]
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)


def mixed(rng: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Small numbers, a third of them replaced by special values."""
    small = rng.integers(-3 if dtype.kind != "u" else 0, 4, shape).astype(dtype)
    rare = rng.choice(specials(dtype), tuple(shape))
    return np.where(rng.random(shape) < 1 / 3, rare, small)


@np.errstate(all="ignore")
def bits(x: Array) -> Array:
    """The elements as unsigned integers, all NaNs as one pattern."""
    dense = np.ascontiguousarray(x)
    if x.dtype == BOOL:
        return dense.view(np.uint8)
    unsigned = dense.view(f"u{x.itemsize}").copy()
    if x.dtype.kind not in "iu":
        unsigned[np.isnan(dense)] = -1 % (1 << 8 * x.itemsize)
    return unsigned


def assert_same(got: Any, wanted: Array, what: str = "") -> None:
    """Equal type, dtype, shape and bits, but for the payload of a NaN."""
    assert type(got) is np.ndarray, what
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), what
    wrong = np.argwhere(bits(got) != bits(wanted))
    assert not len(wrong), f"{what}: {len(wrong)} of {got.size} differ, first at {wrong[0]}"


class Guarded:
    """A copy of an array inside a buffer of poison; rows are ``gap`` elements farther apart than they are long."""

    def __init__(self, values: Array, gap: int = 0) -> None:
        rows, cols = values.shape if values.ndim == 2 else (1, len(values))
        stride = (cols + gap) * values.itemsize
        self.buffer = np.full(2 * GUARD + rows * stride, POISON, np.uint8)
        inner = self.buffer[GUARD : GUARD + rows * stride].view(values.dtype)
        self.array = inner.reshape(rows, cols + gap)[:, :cols] if values.ndim == 2 else inner[:cols]
        self.array[...] = values


def run_both(function: Callable[..., Any], arrays: Sequence[Array], gaps: Sequence[int] = ()) -> None:
    """The kernel under plain numpy and on the machine: results and every byte around and in the arguments are equal."""
    gaps = [*gaps, *[0] * (len(arrays) - len(gaps))]
    plain, machine = ([Guarded(a, gap) for a, gap in zip(arrays, gaps)] for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = function(*[g.array for g in plain])
    got = ptoc.jit(function)(*[g.array for g in machine])
    for number, (left, right) in enumerate(zip(machine, plain)):
        assert left.buffer.tobytes() == right.buffer.tobytes(), f"argument {number}"
    if wanted is None:
        assert got is None
        return
    results = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for number, (left, right) in enumerate(results):
        assert_same(left, right, f"result {number}")
