"""The quick ways of vector arithmetic against the general ones, on arrays large enough to take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ptoc.isa.dtypes import BF16, E5M2, FP16, FP32, FP64, S32, DType
from ptoc.isa.postprocess import Rounding
from ptoc.runtime.numerics import arithmetic, elementary, fold
from ptoc.runtime.numerics.arithmetic import together
from ptoc.runtime.numerics.cast import Cast, cast, elements
from ptoc.runtime.numerics.flags import NX

TYPES = [FP64, FP32, FP16, BF16]
OPERATIONS = ["add", "subtract", "multiply", "divide"]
SHAPE = (32, 48)


def bits(dtype: DType, values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return values.astype(dtype.numpy).view(f"u{dtype.nbytes}")


def samples(dtype: DType, rng: np.random.Generator, shape: tuple[int, int] = SHAPE) -> Iterator[np.ndarray]:
    """Ordinary numbers, integers, a wide range, ordinary ones with one infinity or zero, and any bits."""
    ordinary = rng.normal(size=shape)
    yield bits(dtype, ordinary)
    yield bits(dtype, rng.integers(1, 5, shape).astype(float))
    yield bits(dtype, ordinary * 2.0 ** rng.integers(-30, 30, shape))
    for special in (np.inf, 0.0, -0.0, np.nan, 2.0**-140):
        some = ordinary.copy()
        some[tuple(rng.integers(0, shape))] = special
        yield bits(dtype, some)
    yield rng.integers(0, 1 << 63, shape, np.uint64).astype(f"u{dtype.nbytes}")


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("up", [0, NX])
def test_binary_operations(operation: str, dtype: DType, up: int) -> None:
    rng = np.random.default_rng(up)
    for a in samples(dtype, rng):
        for b in samples(dtype, rng):
            want, flags = arithmetic._general(operation, dtype, a, b)
            got, raised = getattr(arithmetic, operation)(dtype, a, b, up)
            assert (got == want).all() and raised | up == together(flags) | up


@pytest.mark.parametrize("operation", ["exp", "log", "reciprocal", "square_root", "inverse_root"])
def test_functions_of_singles(operation: str) -> None:
    names = {"reciprocal": "recip", "square_root": "sqrt", "inverse_root": "rsqrt"}
    rng = np.random.default_rng(3)
    for a in [*samples(FP32, rng), *(a & np.uint32(0x7FFFFFFF) for a in samples(FP32, rng, (256, 256)))]:
        want, flags = elementary._general(names.get(operation, operation), FP32, a)
        for up in (0, NX):
            got, raised = getattr(elementary, operation)(FP32, a, up)
            assert (got == want).all() and raised | up == together(flags) | up


def in_order(step: Callable[..., tuple[np.ndarray, int]], dtype: DType, tile: np.ndarray, start: int) -> tuple:
    """One column after the other."""
    out, raised = np.full(len(tile), start, tile.dtype), 0
    for column in tile.T:
        out, flags = step(dtype, out, np.ascontiguousarray(column))
        raised |= flags
    return out, raised


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 400), (2, 300), (3, 129), (8, 140), (70, 33), (130, 2), (5, 1)])
def test_sums_and_products_are_made_in_order(dtype: DType, shape: tuple[int, int]) -> None:
    """Where numpy may add in pairs or blocks, the result must not show it."""
    rng = np.random.default_rng(shape)
    for tile in samples(dtype, rng, shape):
        for function, step, start in (
            (fold.total, arithmetic.add, 0),
            (fold.product, arithmetic.multiply, fold.one(dtype)),
        ):
            want, flags = in_order(step, dtype, tile, start)
            for up in (0, NX):
                for found, axis in ((tile, 1), (np.ascontiguousarray(tile.T), 0)):
                    got, raised = function(dtype, found, axis, up)
                    assert (got == want).all() and raised | up == flags | up


@pytest.mark.parametrize("dtype", [*TYPES, E5M2, S32], ids=str)
def test_extremes_of_lines(dtype: DType) -> None:
    rng = np.random.default_rng(5)
    tiles = samples(dtype, rng) if dtype.is_float else [rng.integers(0, 1 << 32, SHAPE).astype(np.uint32)]
    for tile in tiles:
        for function, step in ((fold.largest, arithmetic.maximum), (fold.smallest, arithmetic.minimum)):
            want, flags = tile[:, 0].copy(), 0
            for column in tile.T[1:]:
                want, more = step(dtype, want, np.ascontiguousarray(column))
                flags |= more
            for found, axis in ((tile, 1), (np.ascontiguousarray(tile.T), 0)):
                got, raised = function(dtype, found, axis)
                assert (got == want).all() and raised == flags


@pytest.mark.parametrize(
    ("x", "y", "want"), [(0x3C000000, 0x33800000, 0x3F810100), (0x3F800000, 0x3B000000, 0x402DA16E)]
)
def test_exponentials_of_differences(x: int, y: int, want: int) -> None:
    """The two results that the instruction set fixes."""
    difference, _ = arithmetic.subtract(FP32, np.array([[x]], np.uint32), np.array([[y]], np.uint32))
    assert elementary.exp(FP32, difference)[0][0, 0] == want


@pytest.mark.parametrize("result", [FP32, BF16, E5M2, S32, FP64], ids=str)
def test_large_tiles_are_converted_by_tables(result: DType) -> None:
    codes = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)
    how = Cast(FP16, result, Rounding.RNE, False)
    want, flags = elements(how, codes)
    got, raised = cast(how, codes)
    assert got.dtype == want.dtype and (got == want).all() and raised == together(flags)
