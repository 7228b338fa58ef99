"""FP32 patterns worth trying: zeros, subnormals, rounding borders of the narrow types, infinities, NaNs."""

from __future__ import annotations

import numpy as np

_POSITIVE = """
    0 1 7fffff 800000 33800000 33800001 387ff000 38800000 3f800000 3f801000 3f803000
    477fe000 477fefff 477ff000 47800000 7f7f0000 7f7f7fff 7f7f8000 7f7fffff 7f800000 7f800001 7fc00000 7fffffff
"""
_BITS = np.array([int(text, 16) for text in _POSITIVE.split()], np.uint32)
SPECIALS = np.concatenate([_BITS, _BITS | np.uint32(0x8000_0000)])


def patterns(count: int, seed: int = 0) -> np.ndarray:
    """The special patterns and ``count`` random ones."""
    rng = np.random.default_rng(seed)
    return np.concatenate([SPECIALS, rng.integers(0, 1 << 32, count, np.uint32)])
