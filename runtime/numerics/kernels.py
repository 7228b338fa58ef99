"""The compiled inner loop of floating matmul; importing this module loads numba.

Four rows by four k steps are held together so that each element of ``b`` is read once per four rows and
``acc`` once per four steps; the column loop is the vector loop. Additions stay in k order for every element.
Nothing may be reassociated; only ``fused`` may contract a product and a sum, and it is called only where
products are exact.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_NAN = np.float32(np.nan)


def _accumulate(a: Floats, b: Floats, acc: Floats) -> None:
    rows, depth = a.shape
    cols = b.shape[1]
    whole_rows = rows - rows % 4
    whole_depth = depth - depth % 4
    for m in range(0, whole_rows, 4):
        for k in range(0, whole_depth, 4):
            a00, a01, a02, a03 = a[m, k], a[m, k + 1], a[m, k + 2], a[m, k + 3]
            a10, a11, a12, a13 = a[m + 1, k], a[m + 1, k + 1], a[m + 1, k + 2], a[m + 1, k + 3]
            a20, a21, a22, a23 = a[m + 2, k], a[m + 2, k + 1], a[m + 2, k + 2], a[m + 2, k + 3]
            a30, a31, a32, a33 = a[m + 3, k], a[m + 3, k + 1], a[m + 3, k + 2], a[m + 3, k + 3]
            for n in range(cols):
                b0, b1, b2, b3 = b[k, n], b[k + 1, n], b[k + 2, n], b[k + 3, n]
                acc[m, n] = (((acc[m, n] + a00 * b0) + a01 * b1) + a02 * b2) + a03 * b3
                acc[m + 1, n] = (((acc[m + 1, n] + a10 * b0) + a11 * b1) + a12 * b2) + a13 * b3
                acc[m + 2, n] = (((acc[m + 2, n] + a20 * b0) + a21 * b1) + a22 * b2) + a23 * b3
                acc[m + 3, n] = (((acc[m + 3, n] + a30 * b0) + a31 * b1) + a32 * b2) + a33 * b3
        for k in range(whole_depth, depth):
            a00, a10, a20, a30 = a[m, k], a[m + 1, k], a[m + 2, k], a[m + 3, k]
            for n in range(cols):
                b0 = b[k, n]
                acc[m, n] += a00 * b0
                acc[m + 1, n] += a10 * b0
                acc[m + 2, n] += a20 * b0
                acc[m + 3, n] += a30 * b0
    for m in range(whole_rows, rows):
        for k in range(depth):
            a00 = a[m, k]
            for n in range(cols):
                acc[m, n] += a00 * b[k, n]
    for m in range(rows):
        for n in range(cols):
            value = acc[m, n]
            acc[m, n] = value if value == value else _NAN


def _compile(name: str, fastmath: Any) -> Any:
    """A compiled copy under its own name: numba's cache tells functions apart by name, not by flags."""
    function = FunctionType(_accumulate.__code__, globals(), name)
    function.__qualname__ = name
    signature = "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])"
    try:
        return numba.njit(signature, cache=True, fastmath=fastmath, error_model="numpy")(function)
    except RuntimeError:
        # No place for the cache: an installation and a home that cannot be written.
        return numba.njit(signature, fastmath=fastmath, error_model="numpy")(function)


separate: Any = _compile("separate", False)
fused: Any = _compile("fused", {"contract"})
