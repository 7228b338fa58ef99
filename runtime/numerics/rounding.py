"""Rounding of exact reals, held in float64, by the eight RMode codes.

Products of an accumulator (at most 32 significant bits) and a parameter (11 bits) are exact in float64, and
so is every scaling by a power of two here: one rounding is all that ever happens.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.postprocess import Rounding

Reals = NDArray[np.float64]


def _to_odd(x: Reals) -> Reals:
    low: Reals = np.floor(x)
    odd: Reals = low + ((low != x) & (np.fmod(low, 2.0) == 0))
    return odd


def _half_up(x: Reals) -> Reals:
    low: Reals = np.floor(x)
    rounded: Reals = np.copysign(low + (x - low >= 0.5), x)
    return rounded


def _half_away(x: Reals) -> Reals:
    magnitude: Reals = np.abs(x)
    low: Reals = np.floor(magnitude)
    rounded: Reals = np.copysign(low + (magnitude - low >= 0.5), x)
    return rounded


_ROUND: dict[Rounding, Callable[[Reals], Reals]] = {
    Rounding.DEFAULT: np.rint,
    Rounding.RNE: np.rint,
    Rounding.RTZ: np.trunc,
    Rounding.RTM: np.floor,
    Rounding.RTP: np.ceil,
    Rounding.RNA: _half_away,
    Rounding.RTO: _to_odd,
    Rounding.RHB: _half_up,
}


def to_integers(x: Reals, rounding: Rounding) -> Reals:
    """The integer each element rounds to."""
    return _ROUND[rounding](x)


def to_precision(x: Reals, fraction_bits: int, lowest_exponent: int, rounding: Rounding) -> Reals:
    """Each element rounded to ``fraction_bits`` below its leading bit, fewer below 2^lowest_exponent.

    The exponent is unbounded above: overflow is for the caller to see.
    """
    _, exponent = np.frexp(x)
    quantum = np.maximum(exponent - 1, lowest_exponent) - fraction_bits
    rounded: Reals = np.ldexp(to_integers(np.ldexp(x, -quantum), rounding), quantum)
    return rounded
