"""Rounding of exact reals, held in float64, by the eight RMode codes.

Products of an accumulator (at most 32 significant bits) and a parameter (11 bits) are exact in float64, and
so is every scaling by a power of two here: one rounding is all that ever happens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.postprocess import Rounding

Reals = NDArray[np.float64]


def to_integers(x: Reals, rounding: Rounding) -> Reals:
    """The integer each element rounds to."""
    if rounding in (Rounding.DEFAULT, Rounding.RNE):
        return np.rint(x)
    if rounding == Rounding.RTZ:
        return np.trunc(x)
    if rounding == Rounding.RTP:
        return np.ceil(x)
    low = np.floor(x)
    if rounding == Rounding.RTM:
        return low
    if rounding == Rounding.RTO:
        return low + ((low != x) & (np.fmod(low, 2.0) == 0))
    if rounding == Rounding.RHB:
        return low + (x - low >= 0.5)
    magnitude = np.abs(x)
    whole = np.floor(magnitude)
    return np.copysign(whole + (magnitude - whole >= 0.5), x)


def to_precision(x: Reals, fraction_bits: int, lowest_exponent: int, rounding: Rounding) -> Reals:
    """Each element rounded to ``fraction_bits`` below its leading bit, fewer below 2^lowest_exponent.

    The exponent is unbounded above: overflow is for the caller to see.
    """
    _, exponent = np.frexp(x)
    quantum = np.maximum(exponent - 1, lowest_exponent) - fraction_bits
    return np.ldexp(to_integers(np.ldexp(x, -quantum), rounding), quantum)
