"""``c + np.matmul(a, b, dtype=np.float32)`` of float16 operands, simulated, against numpy; compiled before."""

from __future__ import annotations

from functools import partial

import numpy as np

import ptoc
from benchmarks.harness import Report

LIMITS = {512: 6.0, 1024: 4.0}


@ptoc.jit
def update(a, b, c):
    return c + np.matmul(a, b, dtype=np.float32)


def operands(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    a, b, c = (rng.standard_normal((n, n), dtype=np.float32) for _ in range(3))
    return a.astype(np.float16), b.astype(np.float16), c


def in_numpy(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The same by float32 BLAS."""
    return a.astype(np.float32) @ b.astype(np.float32) + c


def against_blas(report: Report, what: str, arrays: tuple[np.ndarray, ...], limit: float) -> None:
    for _ in range(2):  # until the compiled kernel is loaded
        update(*arrays)
    report.compare(f"{what} / float32 BLAS + c", partial(update, *arrays), partial(in_numpy, *arrays), limit, times=3)


def measure(report: Report) -> None:
    for n, limit in LIMITS.items():
        against_blas(report, f"float16 {n}^3", operands(n), limit)
    a, b, c = operands(512)
    report.compare("float16 512^3 / numpy's float16 a @ b", lambda: update(a, b, c), lambda: a @ b, 1 / 20)
