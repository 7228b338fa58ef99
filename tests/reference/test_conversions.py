"""Post-processing of single accumulators: the simulator against the exact arithmetic of the reference."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptoc.isa import dtypes
from ptoc.isa.postprocess import PRE_QUANT_MODES, ReluMode, Rounding
from ptoc.runtime.numerics import convert
from reference.builder import scale_word, shift_word, slope_word
from reference.post import ANY, MODES, SHIFTS, Element

ACCUMULATORS = {"FP32": dtypes.FP32, "S32": dtypes.S32, "U32": dtypes.U32}
BORDERS = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x43800000, 0x477FE000, 0x477FF000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]


def simulated(element: Element, rmode: int, v: int, word: int | None, slope: int | None) -> tuple[int, int]:
    """The simulator's bits and flags for one accumulator."""
    mode = PRE_QUANT_MODES[element.mode]
    words = [None if x is None else np.array([x], np.uint64) for x in (word, slope)]
    rounding = Rounding(rmode) if mode.rounding is None else mode.rounding
    post = convert.PostProcess(mode, ReluMode(element.relu), rounding, element.saturate)
    parameters = convert.decode_parameters(mode, *words)
    bits, flags = convert.post_process(post, ACCUMULATORS[element.accumulator], np.array([[v]], np.uint32), parameters)
    return int(bits[0, 0]), flags


def accumulators(rng: random.Random) -> list[int]:
    signs = [v | sign << 31 for v in BORDERS for sign in (0, 1)]
    return signs + [rng.getrandbits(32) for _ in range(20)] + [rng.randint(-300, 300) & 0xFFFFFFFF for _ in range(20)]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode(mode: int) -> None:
    rng = random.Random(mode)
    needs, _, parameter, offset, rounding, free = MODES[mode]
    for _ in range(12):
        accumulator = needs or rng.choice(["FP32", "S32", "U32"])
        relu, saturate = rng.randrange(4), bool(free and rng.getrandbits(1))
        rmode = rng.randrange(8) if rounding == ANY else 0
        element = Element(mode, relu, accumulator, rmode, saturate)
        word = shift_word(rng) if mode in SHIFTS else scale_word(rng, rng.getrandbits(offset))
        slope = slope_word(rng) if relu >= 2 else None
        for v in accumulators(rng):
            operands = (v, word if parameter else None, slope)
            assert simulated(element, rmode, *operands) == element(*operands), (hex(v), relu, rmode, saturate)


@pytest.mark.parametrize("v", [0x7FC00000, 0x7F800000, 0xFF800000])
def test_the_offset_is_none_of_a_special_value(v: int) -> None:
    """Once an offset that alone leaves the range set the overflow flags for a NaN."""
    word = 0x3F800000 | 200 << 37
    for saturate in (False, True):
        element = Element(24, 0, "FP32", 0, saturate)
        assert simulated(element, 0, v, word, None) == element(v, word, None)


@pytest.mark.parametrize("rmode", range(8))
def test_what_rounds_to_zero_keeps_its_sign(rmode: int) -> None:
    """Once RHB made +0 of a small negative number."""
    element = Element(27, 0, "FP32", rmode, False)
    word = 0x3E800000
    assert simulated(element, rmode, 0x80000001, word, None) == element(0x80000001, word, None)
