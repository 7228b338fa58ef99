"""Masks over 16 Mi float32 elements, simulated, against numpy's own."""

from __future__ import annotations

import numpy as np

import ptoc
from benchmarks.harness import Report

SHAPE = (4096, 4096)


@ptoc.jit
def keep(x, out):
    mask = x > 0.75
    out[mask] = x[mask]


@ptoc.jit
def smaller(x, y):
    return np.where(x < y, x, y)


def measure(report: Report) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.random(SHAPE, dtype=np.float32) for _ in range(2))
    ours, theirs = np.zeros(SHAPE, np.float32), np.zeros(SHAPE, np.float32)
    report.compare("out[x > 0.75] = x[x > 0.75]", lambda: keep(x, ours), lambda: keep.function(x, theirs), 8)
    assert ours.tobytes() == theirs.tobytes()
    report.compare("np.where(x < y, x, y)", lambda: smaller(x, y), lambda: smaller.function(x, y), 8)
