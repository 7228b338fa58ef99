"""HiF8 results of float sums: bit for bit the nearest code of the exact product, and what no machine makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import Array, assert_same
from test_epilogues import F32, SHARED_TOO, check, floats, integers, product, row, sums

import ptoc

U8 = np.dtype(np.uint8)
LARGEST = 32768.0


def saturated(x: Array) -> Array:
    """What Sat makes of numbers."""
    codes: Array = ptoc.hifloat8(np.where(np.isnan(x), 0.0, np.clip(x, -LARGEST, LARGEST)))
    return codes


def spread(shape: tuple[int, int, int], flavour: int) -> tuple[Array, Array, Array]:
    """Operands whose sums are of all magnitudes, beyond both ends of HiF8; with flavour 1 special values."""
    a, b, c = floats(shape, flavour)
    powers = np.random.default_rng(41).integers(-30, 20, c.shape)
    a = np.where(np.arange(len(a))[:, None] % 2 == 0, 0, a).astype(a.dtype)
    with np.errstate(over="ignore"):
        return a, b, np.ldexp(c, powers).astype(F32)


Exact = tuple[Callable[[Any, Array], Any], Callable[[Array, Array], Array]]
FORMS: dict[str, Exact] = {
    "alone": (lambda y, s: ptoc.hifloat8(y), lambda x, s: ptoc.hifloat8(x)),
    "a scale": (lambda y, s: ptoc.hifloat8(y * 0.75), lambda x, s: ptoc.hifloat8(x * 0.75)),
    "a row of scales": (lambda y, s: ptoc.hifloat8(y * s), lambda x, s: ptoc.hifloat8(x * s)),
    "clipped": (lambda y, s: ptoc.hifloat8(np.clip(y * s, -LARGEST, LARGEST)), lambda x, s: saturated(x * s)),
    "ReLU": (
        lambda y, s: ptoc.hifloat8(np.maximum(y, 0) * s),
        lambda x, s: ptoc.hifloat8(np.where(x < 0, 0.0, x * s)),
    ),
    "leaky": (
        lambda y, s: ptoc.hifloat8(np.where(y > 0, s * y, 0.25 * y)),
        lambda x, s: ptoc.hifloat8(np.where(x > 0, s * x, 0.25 * x)),
    ),
    "in float64": (
        lambda y, s: ptoc.hifloat8(y.astype(np.float64) * 0.375),
        lambda x, s: ptoc.hifloat8(x * 0.375),
    ),
}


@pytest.mark.parametrize("shape", SHARED_TOO, ids=str)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("flavour", [0, 1])
def test_codes_of_sums(name: str, shape: tuple[int, int, int], flavour: int) -> None:
    kernel, exact = FORMS[name]
    scales = row(shape[1], 42, -3, 3)
    check(
        lambda a, b, c: kernel(product(a, b, c), scales),
        spread(shape, flavour),
        lambda x: exact(x, scales.astype(np.float64)),
    )


def test_the_machine_rounds_the_exact_product_once() -> None:
    """Just below the midpoint of 1 and 1.125, which numpy reaches by rounding to float32 first."""
    middle = 1.0625
    scales = np.arange(1024, 2048) / 1024
    below = np.nextafter((middle / scales).astype(F32), F32.type(0))
    turned = (below * scales.astype(F32) == F32.type(middle)) & (below.astype(np.float64) * scales < middle)
    total, scale = below[turned][0], float(scales[turned][0])

    def kernel(a: Any, b: Any) -> Any:
        return ptoc.hifloat8(np.matmul(a, b) * scale)

    a, b = np.full((1, 1), total), np.ones((1, 1), F32)
    assert kernel(a, b) == 0x09
    assert ptoc.jit(kernel)(a, b) == 0x08
    report = ptoc.validate(kernel, a, b)
    assert report.ok and report.max_ulp == 1, str(report)


def test_codes_are_bytes_like_others() -> None:
    """Written into an argument, selected under a mask, compared, and multiplied as the bytes they are."""
    a, b, c = floats((40, 50, 33))
    other = np.arange(40 * 50, dtype=U8).reshape(40, 50)

    def kernel(a: Any, b: Any, c: Any, x: Any, out: Any) -> Any:
        codes = ptoc.hifloat8(product(a, b, c))
        out[:] = codes
        return np.where(codes > x, codes, x), codes == x, np.matmul(codes, x.T, dtype=np.uint32)

    out = np.zeros((40, 50), U8)
    codes = ptoc.hifloat8(sums(a, b, c))
    results = ptoc.jit(kernel)(a, b, c, other, out)
    assert_same(out, codes)
    assert_same(results[0], np.maximum(codes, other))
    assert_same(results[1], codes == other)
    assert_same(results[2], np.matmul(codes, other.T, dtype=np.uint32))


def test_codes_of_a_stack() -> None:
    rng = np.random.default_rng(43)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((3, 20, 40), (3, 40, 17)))
    report = ptoc.validate(lambda a, b: ptoc.hifloat8(np.matmul(a, b, dtype=np.float32) * 0.5), a, b)
    assert report.ok, str(report)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "one limit": lambda y: ptoc.hifloat8(np.minimum(y, LARGEST)),
    "other limits": lambda y: ptoc.hifloat8(np.clip(y, -448, 448)),
    "rounded": lambda y: ptoc.hifloat8(np.rint(y)),
    "converted before": lambda y: ptoc.hifloat8(y.astype(np.float16)),
    "scaled afterwards": lambda y: ptoc.hifloat8(y) * 2,
    "no number of FP19": lambda y: ptoc.hifloat8(y * 0.1),
    "values in a kernel": lambda y: ptoc.hifloat8_values(ptoc.hifloat8(y)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_hif8_result(name: str, golden: Callable[..., None]) -> None:
    with pytest.raises(ptoc.PtocError) as caught:
        ptoc.jit(lambda a, b, c: REFUSED[name](product(a, b, c)))(*floats((5, 3, 2)))
    error = caught.value
    assert error.where is not None and error.where.file == __file__
    golden(f"{error.message}\nrule: {error.rule}\nhelp: {error.hint}\n")


def test_integer_sums_and_arrays_are_refused() -> None:
    with pytest.raises(ptoc.UnsupportedError, match=r"ptoc\.hifloat8 of int32 sums"):
        ptoc.jit(lambda a, b, c: ptoc.hifloat8(product(a, b, c) * 0.5))(*integers((5, 3, 2)))
    with pytest.raises(ptoc.UnsupportedError, match=r"ptoc\.hifloat8 of .*int32"):
        ptoc.jit(lambda a, b, c: ptoc.hifloat8(product(a, b, c)))(*integers((5, 3, 2)))
    with pytest.raises(ptoc.UnsupportedError, match="result of a matmul"):
        ptoc.jit(lambda x: ptoc.hifloat8(x))(np.ones((3, 4), F32))
