"""8-bit products against float32 BLAS of the same size, and bfloat16, whose products need a rounding of their own."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import ptoc
from benchmarks.harness import Report
from benchmarks.matmul import against_blas, operands


@ptoc.jit
def product(a, b):
    return np.matmul(a, b, dtype=np.int32)


def measure(report: Report) -> None:
    n = 1024
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-128, 128, (n, n), dtype=np.int8) for _ in range(2))
    x, y = a.astype(np.float32), b.astype(np.float32)
    report.compare(f"int8 {n}^3 / float32 BLAS", lambda: product(a, b), lambda: x @ y, 4, times=3)

    half, other, c = operands(512)
    arrays = half.astype(ml_dtypes.bfloat16), other.astype(ml_dtypes.bfloat16), c
    against_blas(report, "bfloat16 512^3", arrays, 8)
