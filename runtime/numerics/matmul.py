"""Matrix products in the machine's order.

Floating: ``acc = RNE32(acc + RNE32(a * b))`` with k ascending and two roundings per step. Integer: exact
modulo 2^32, so any order will do, and floating arithmetic is used where every partial sum is exact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import DType
from ptoc.runtime.numerics import formats, threads
from ptoc.runtime.numerics.flags import UNDERFLOW
from ptoc.runtime.numerics.formats import canonical_nans

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]
Kernel = Callable[[Floats, Floats, Words, Words], None]

_EXACT_PRODUCTS = frozenset(["FP16", "HiF8", "E4M3", "E5M2", "E3M2", "E2M3", "E2M1X2", "E1M2X2"])
_FLOAT32_EXACT = 1 << 24


class Piece(NamedTuple):
    """One product: ``out = start + a @ b``, in place if ``start`` is ``out``; accumulators are raw 32-bit words."""

    a: Floats
    b: Floats
    start: Words
    out: Words

    @property
    def work(self) -> int:
        """The multiply-adds it takes."""
        return int(self.out.size * self.a.shape[1])

    @property
    def step(self) -> int:
        """Rows of the parts that threads take turns at."""
        return 4 * max(1, round(len(self.out) * _PART / self.work / 4))


def exact_products(a: DType, b: DType) -> bool:
    """Whether every product is exact in FP32, so that a fused multiply-add gives the same bits."""
    return a.name in _EXACT_PRODUCTS and b.name in _EXACT_PRODUCTS


def multiply(a: DType, b: DType, pieces: Sequence[Piece]) -> None:
    """Perform products of operands of two types, floats or integers, which are held in FP32.

    Starts and results are FP32 patterns with canonical NaNs, or integers modulo 2^32.
    """
    if a.is_float:
        multiply_floats(pieces, exact=exact_products(a, b))
    else:
        multiply_integers(pieces, product_bits=product_bits(a, b))


def multiply_floats(pieces: Sequence[Piece], *, exact: bool) -> None:
    """Floating products in the machine's order; ``exact`` promises that products need no rounding."""
    compiled = CHOICE.kernels(pieces)
    if compiled is None:
        _perform(portable_kernel, pieces)
    else:
        kind = compiled.FUSED if exact else compiled.SEPARATE
        _share(compiled, compiled.fused if exact else compiled.separate, kind, 0, pieces)


def multiply_integers(pieces: Sequence[Piece], *, product_bits: int) -> None:
    """Integer products modulo 2^32; no product of two elements exceeds 2^product_bits in size."""
    reach = _FLOAT32_EXACT >> product_bits
    compiled = CHOICE.kernels(pieces) if reach >= _SHORTEST_REACH else None
    if compiled is None:
        _perform(partial(_portable_integers, reach=reach), pieces)
    else:
        _share(compiled, partial(compiled.whole, reach), compiled.WHOLE, reach, pieces)


def accumulate_floats(a: Floats, b: Floats, start: Floats | None, *, exact: bool) -> Floats:
    """``start + a @ b`` as ``multiply_floats`` does it; the start defaults to +0 and is not modified."""
    out = np.zeros((a.shape[0], b.shape[1]), np.uint32)
    begin = out if start is None else np.ascontiguousarray(start).view(np.uint32)
    multiply_floats([Piece(a, np.ascontiguousarray(b), begin, out)], exact=exact)
    return out.view(np.float32)


def accumulate_integers(a: Floats, b: Floats, start: Words | None, *, product_bits: int) -> Words:
    """``start + a @ b`` as ``multiply_integers`` does it; the start defaults to 0 and is not modified."""
    out = np.zeros((a.shape[0], b.shape[1]), np.uint32)
    begin = out if start is None else np.ascontiguousarray(start)
    multiply_integers([Piece(a, np.ascontiguousarray(b), begin, out)], product_bits=product_bits)
    return out


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


def decode(dtype: DType, bits: NDArray[Any]) -> Floats:
    """The values of a C-contiguous matrix of operand elements, floats or integers, in FP32."""
    if not dtype.is_float:
        return formats.decode_integers(dtype, bits)
    compiled = CHOICE.loaded
    if compiled is None or not (dtype.bits <= 8 or dtype.name == "FP16"):
        return formats.decode_floats(dtype, bits)
    words = np.empty(bits.shape, np.uint32)
    if dtype.bits <= 8:
        compiled.looked_up(formats.small_table(dtype).view(np.uint32), bits.reshape(-1), words.reshape(-1))
    else:
        compiled.halves(bits.reshape(-1), words.reshape(-1))
    return words.view(np.float32)


def _share(compiled: Any, kernel: Kernel, kind: int, reach: int, pieces: Sequence[Piece]) -> None:
    """Perform pieces with a compiled kernel, large ones together with the helpers."""
    team = threads.team()
    for piece in pieces:
        large = team.size > 1 and piece.work >= _WORTH_SHARING and piece.a.strides[1] == piece.a.itemsize
        if not (large and team.share(compiled, kind, reach, piece.step, *piece)):
            kernel(*piece)


def _perform(kernel: Kernel, pieces: Sequence[Piece]) -> None:
    for piece in pieces:
        kernel(*piece)


_WORTH_SHARING = 300_000
"""Multiply-adds from which a second thread saves more time than it takes to hand over."""
_PART = 250_000
"""Multiply-adds of the parts that threads take turns at."""
_SHORTEST_REACH = 4
"""Fewer products than this at a time are summed faster in FP64."""


class KernelChoice:
    """Whether compiled kernels multiply: not before portable ones have cost about a tenth of a second.

    Loading numba takes longer than small programs run, and the bits are the same either way. With
    ``PTOC_NO_NUMBA=1``, or without numba, the portable kernels do everything.
    """

    def __init__(self) -> None:
        self._budget = _PORTABLE_BUDGET
        self._decided = False
        self.loaded: Any = None

    def kernels(self, pieces: Sequence[Piece]) -> Any:
        """The module of compiled kernels for some products, or ``None``."""
        if not self._decided:
            for piece in pieces:
                self._budget -= piece.a.shape[1] * (_STEP_OVERHEAD + piece.out.size)
            if self._budget <= 0:
                self.loaded = _load_compiled()
                self._decided = True
        return self.loaded


_PORTABLE_BUDGET = 100_000_000
"""Element updates of the portable kernel, at a nanosecond each."""
_STEP_OVERHEAD = 6_000
"""What one k step of the portable kernel costs besides, in element updates."""


def _load_compiled() -> Any:
    """The module of compiled kernels, if it can be used."""
    if os.environ.get("PTOC_NO_NUMBA") == "1":
        return None
    try:
        from ptoc.runtime.numerics import kernels
    except ImportError:
        return None
    return kernels


CHOICE = KernelChoice()


def portable_kernel(a: Floats, b: Floats, start: Words, out: Words) -> None:
    """The rule itself, vectorised over rows and columns; the compiled kernels give the same bits."""
    out[...] = start
    acc = out.view(np.float32)
    with np.errstate(all="ignore"):
        for k in range(a.shape[1]):
            acc += a[:, k, None] * b[None, k, :]
    canonical_nans(acc)


def _portable_integers(a: Floats, b: Floats, start: Words, out: Words, *, reach: int) -> None:
    """Sums by floating BLAS: in FP32 where all of them stay exact, in FP64 otherwise."""
    if a.shape[1] <= reach:
        product = (a @ b).astype(np.int32).view(np.uint32)
    else:
        product = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64).astype(np.uint32)
    np.add(start, product, out=out)
