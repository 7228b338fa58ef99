"""The elements of TQUANT and TDEQUANT against exact rationals, in every rounding mode."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

import numpy as np
import pytest

from ptoc.isa.dtypes import BY_NAME
from ptoc.isa.postprocess import Rounding
from ptoc.runtime.numerics.affine import dequantise, quantise
from reference import arithmetic as exact
from reference.element_cases import element, specials
from reference.sorting import quantised
from reference.values import integer

MULTIPLIERS = (1.0, 0.5, 0.1, 3.0, 2.0**-149, 1.1754942e-38, 2.0**127, 3.4028235e38, 2.0**-20)


def single(x: float) -> float:
    return float(np.float32(x))


@pytest.mark.parametrize("mode", range(8))
@pytest.mark.parametrize("name", ["S8", "U8"])
def test_quantised_elements(name: str, mode: int) -> None:
    rng = random.Random(f"{name} {mode}")
    low, high = exact.limits(name)
    for multiplier in map(single, MULTIPLIERS):
        halves = [rng.randint(-600, 600) / 2 / multiplier for _ in range(40)]
        near = [struct.unpack("<I", np.float32(x).tobytes())[0] for x in halves if abs(x) < 3e38]
        bits = [*specials("FP32"), *near, *(element(rng, "FP32") for _ in range(60))]
        zero, saturate = rng.choice([0, low, high, rng.randint(low, high)]), bool(rng.getrandbits(1))
        together = 0
        for pattern in bits:
            given = np.array([[pattern]], np.uint32)
            got, flags = quantise(BY_NAME[name], given, multiplier, zero, Rounding(mode), saturate)
            want = quantised(name, pattern, Fraction(multiplier), zero, mode, saturate)
            assert (int(got[0, 0]), flags) == want, (hex(pattern), multiplier, zero, saturate)
            together |= flags
        whole = np.array([bits], np.uint32)
        assert quantise(BY_NAME[name], whole, multiplier, zero, Rounding(mode), saturate)[1] == together


@pytest.mark.parametrize("mode", range(8))
@pytest.mark.parametrize("name", ["S8", "U8"])
def test_dequantised_elements(name: str, mode: int) -> None:
    low, high = exact.limits(name)
    codes = np.arange(256, dtype=np.uint8)[None, :]
    for multiplier in map(single, MULTIPLIERS):
        for zero in (0, low, high, 3):
            got, flags = dequantise(BY_NAME[name], codes, multiplier, zero, Rounding(mode))
            m = Fraction(multiplier)
            want = [exact.rounded("FP32", (integer(name, code) - zero) * m, mode or 1) for code in range(256)]
            assert got[0].tolist() == [bits for bits, _ in want], (multiplier, zero)
            assert flags == int(np.bitwise_or.reduce([raised for _, raised in want]))
