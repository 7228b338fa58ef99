"""Files with kernels as users write them, and what the fixtures of these tests are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LINEAR = """
import numpy as np
import ptoc

@ptoc.jit
def linear(x, w, c):
    return c + np.matmul(x, w, dtype=np.float32)

def inputs():
    rng = np.random.default_rng(1)
    shapes = ((5, 9), np.float16), ((9, 3), np.float16), ((5, 3), np.float32)
    return [rng.standard_normal(shape).astype(dtype) for shape, dtype in shapes]
"""

PAIR = """
import numpy as np
import ptoc

@ptoc.jit
def keep(src, dst):
    mask = src > 0.5
    dst[mask] = src[mask]

@ptoc.jit
def pick(a, b):
    return np.where(a > b, a, b)
"""


@dataclass(frozen=True)
class Result:
    """What a command printed and returned."""

    status: int
    out: str
    err: str


Run = Callable[..., Result]
Write = Callable[..., str]
