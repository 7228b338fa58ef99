"""Matrix products in the machine's order.

Floating: ``acc = RNE32(acc + RNE32(a * b))`` with k ascending and two roundings per step. Integer: exact
modulo 2^32, so any order will do, and floating BLAS is used where every partial sum is exact.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics.flags import UNDERFLOW
from ptoc.runtime.numerics.formats import canonical_nans

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]
Kernel = Callable[[Floats, Floats, Floats], None]

_EXACT_PRODUCTS = frozenset(["FP16", "HiF8", "E4M3", "E5M2", "E3M2", "E2M3", "E2M1X2", "E1M2X2"])
_FLOAT32_EXACT = 1 << 24


def exact_products(a: DType, b: DType) -> bool:
    """Whether every product is exact in FP32, so that a fused multiply-add gives the same bits."""
    return a.name in _EXACT_PRODUCTS and b.name in _EXACT_PRODUCTS


def accumulate_floats(a: Floats, b: Floats, start: Floats | None, *, exact: bool) -> Floats:
    """``start + a @ b`` in the machine's order; NaNs of the result are canonical.

    ``exact`` promises that products need no rounding. The start defaults to +0 and is not modified.
    """
    if start is None:
        acc = np.zeros((a.shape[0], b.shape[1]), np.float32)
    else:
        acc = np.array(start, np.float32, order="C", copy=True)
    kernel = CHOICE.kernel(*acc.shape, a.shape[1], exact)
    kernel(np.ascontiguousarray(a), np.ascontiguousarray(b), acc)
    return acc


def accumulate_integers(a: Floats, b: Floats, start: Words | None, *, product_bits: int) -> Words:
    """``start + a @ b`` modulo 2^32 for integers held in FP32; no product exceeds 2^product_bits in size.

    The compiled kernel or floating BLAS does the sums: in FP32 where all of them stay exact, in FP64 otherwise.
    """
    if a.shape[1] << product_bits <= _FLOAT32_EXACT:
        product = _exact_product(a, b).astype(np.int32).view(np.uint32)
    else:
        product = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64).astype(np.uint32)
    return product if start is None else product + start


def _exact_product(a: Floats, b: Floats) -> Floats:
    """``a @ b`` where every partial sum is exact.

    Tiles are small for BLAS, whose threads wait for each other after each of them; the compiled kernel is used once
    it is loaded.
    """
    acc = np.zeros((a.shape[0], b.shape[1]), np.float32)
    kernel = CHOICE.kernel(*acc.shape, a.shape[1], True)
    if kernel is portable_kernel:
        return a @ b
    kernel(np.ascontiguousarray(a), np.ascontiguousarray(b), acc)
    return acc


def product_bits(a: DType, b: DType) -> int:
    """Bits of the largest magnitude of a product of two integers."""
    signed = a.numeric_class == "signed"
    return a.bits + b.bits - (2 if signed else 0)


def scale_rows(c: Words, exponents: NDArray[np.uint8]) -> tuple[Words, int]:
    """CScale: row m of FP32 ``c`` times 2^-exponents[m], rounded to nearest even; NaNs stay bit for bit."""
    values = c.view(np.float32)
    with np.errstate(all="ignore"):
        exact = np.ldexp(values.astype(np.float64), -exponents.astype(np.int64)[:, None])
        scaled = exact.astype(np.float32)
    finite = np.isfinite(values)
    # Scaling down can only be inexact below the normal range.
    inexact = bool((finite & (scaled.astype(np.float64) != exact)).any())
    return np.where(finite, scaled.view(np.uint32), c), UNDERFLOW if inexact else 0


class KernelChoice:
    """Which kernel multiplies: the portable one until it has cost about a tenth of a second.

    Loading numba takes longer than small programs run, and the bits are the same either way. With
    ``PTOC_NO_NUMBA=1``, or without numba, the portable kernel does everything.
    """

    def __init__(self) -> None:
        self._budget = _PORTABLE_BUDGET
        self._compiled: tuple[Kernel, Kernel] | None = None

    def kernel(self, rows: int, cols: int, depth: int, exact: bool) -> Kernel:
        """The kernel for one product; ``exact`` admits the fused one."""
        if self._compiled is None:
            self._budget -= depth * (_STEP_OVERHEAD + rows * cols)
            if self._budget > 0:
                return portable_kernel
            self._compiled = _load_compiled()
        return self._compiled[exact]


_PORTABLE_BUDGET = 100_000_000
"""Element updates of the portable kernel, at a nanosecond each."""
_STEP_OVERHEAD = 6_000
"""What one k step of the portable kernel costs besides, in element updates."""


def _load_compiled() -> tuple[Kernel, Kernel]:
    """The kernels for inexact and exact products."""
    if os.environ.get("PTOC_NO_NUMBA") == "1":
        return portable_kernel, portable_kernel
    try:
        from ptoc.runtime.numerics import kernels
    except ImportError:
        return portable_kernel, portable_kernel
    return kernels.separate, kernels.fused


CHOICE = KernelChoice()


def portable_kernel(a: Floats, b: Floats, acc: Floats) -> None:
    """The rule itself, vectorised over rows and columns; the compiled kernels give the same bits."""
    with np.errstate(all="ignore"):
        for k in range(a.shape[1]):
            acc += a[:, k, None] * b[None, k, :]
    canonical_nans(acc)
