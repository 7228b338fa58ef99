"""Post-processing against numpy, rational arithmetic and worked values."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from float_patterns import patterns
from hypothesis import given
from hypothesis import strategies as st

from ptoc.isa.dtypes import FP32, S32
from ptoc.isa.postprocess import PRE_QUANT_MODES, ReluMode, Rounding
from ptoc.runtime.numerics import convert
from ptoc.runtime.numerics.flags import NV, NX, OVERFLOW, UNDERFLOW
from ptoc.runtime.numerics.narrow import narrow
from ptoc.runtime.numerics.rounding import to_integers


def converted(code: int, raw: np.ndarray, *, saturate: bool = False) -> tuple[np.ndarray, int]:
    post = convert.PostProcess(PRE_QUANT_MODES[code], ReluMode.NONE, Rounding.RNE, saturate)
    bits, flags = convert.post_process(post, FP32, raw[None, :], convert.NO_PARAMETERS)
    return bits[0], flags


@pytest.mark.parametrize(("code", "dtype", "nan"), [(1, np.float16, 0x7E00), (16, ml_dtypes.bfloat16, 0x7FC0)])
def test_narrowing_is_numpys_astype(code: int, dtype: type, nan: int) -> None:
    raw = patterns(20000)
    values = raw.view(np.float32)
    with np.errstate(all="ignore"):
        want = values.astype(dtype).view(np.uint16)
    want = np.where(np.isnan(values), np.uint16(nan), want)
    bits, _ = converted(code, raw)
    assert (bits == want).all()


def test_saturation_replaces_overflow_infinity_and_nan() -> None:
    raw = np.array([0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x7FC00000], np.uint32)
    bits, flags = converted(1, raw, saturate=True)
    assert bits.tolist() == [0x7BFF, 0xFBFF, 0x7BFF, 0]
    assert flags == OVERFLOW


@pytest.mark.parametrize(
    ("raw", "flags"),
    [(0x3F800000, 0), (0x3F800001, NX), (0x33000000, UNDERFLOW), (0x47800000, OVERFLOW), (0x7F800001, NV)],
)
def test_flags_of_narrowing(raw: int, flags: int) -> None:
    assert converted(1, np.array([raw], np.uint32))[1] == flags


def words(*values: int) -> np.ndarray:
    return np.array(values, np.uint64)


def scale_word(scale: float, offset: int = 0, width: int = 0) -> int:
    low = int(np.float32(scale).view(np.uint32))
    return low | (offset & ((1 << width) - 1)) << 37


def exact_quantization(v: int, scale: float, offset: int, rounding: Rounding, saturate: bool) -> int:
    """PreQuantMode 3 (S32 to S8) on rationals."""
    x = Fraction(v) * Fraction(scale)
    low = x.numerator // x.denominator
    rest = x - low
    nearest = low + (rest > Fraction(1, 2))
    choose = {
        Rounding.RNE: low + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1)),
        Rounding.RTZ: low + (v < 0 and rest != 0),
        Rounding.RTM: low,
        Rounding.RTP: low + (rest != 0),
        Rounding.RNA: nearest + (rest == Fraction(1, 2) and v > 0),
        Rounding.RTO: low + (rest != 0 and low % 2 == 0),
        Rounding.RHB: low + (rest >= Fraction(1, 2)),
    }
    rounded = choose[Rounding.RNE if rounding == Rounding.DEFAULT else rounding]
    y = max(-256, min(255, int(rounded))) + offset
    return max(-128, min(127, y)) if saturate else (y + 128) % 256 - 128


@given(
    st.lists(st.one_of(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-300, 300)), min_size=1, max_size=8),
    st.sampled_from([1.0, 0.5, 0.25, 2.0, 0.0078125, 1.5, 0.3330078125]),
    st.integers(-256, 255),
    st.sampled_from(list(Rounding)),
    st.booleans(),
)
def test_quantization_is_exact(
    values: list[int], scale: float, offset: int, rounding: Rounding, saturate: bool
) -> None:
    mode = PRE_QUANT_MODES[3]
    word = words(scale_word(scale, offset, 9))
    assert convert.quantization_legal(mode, word)
    post = convert.PostProcess(mode, ReluMode.NONE, rounding, saturate)
    raw = np.array([values], np.int32).view(np.uint32)
    bits, _ = convert.post_process(post, S32, raw, convert.decode_parameters(mode, word, None))
    want = [exact_quantization(v, scale, offset, rounding, saturate) for v in values]
    assert bits.view(np.int8)[0].tolist() == want


@pytest.mark.parametrize(
    ("rounding", "want"),
    [
        (Rounding.RNE, [2, -2, 4, -4, 3, -3, 2, -2]),
        (Rounding.RTZ, [2, -2, 3, -3, 2, -2, 2, -2]),
        (Rounding.RTM, [2, -3, 3, -4, 2, -3, 2, -3]),
        (Rounding.RTP, [3, -2, 4, -3, 3, -2, 3, -2]),
        (Rounding.RNA, [3, -3, 4, -4, 3, -3, 2, -2]),
        (Rounding.RTO, [3, -3, 3, -3, 3, -3, 3, -3]),
        (Rounding.RHB, [3, -2, 4, -3, 3, -3, 2, -2]),
    ],
)
def test_rounding_codes(rounding: Rounding, want: list[int]) -> None:
    x = np.array([2.5, -2.5, 3.5, -3.5, 2.75, -2.75, 2.25, -2.25])
    assert to_integers(x, rounding).tolist() == want


@pytest.mark.parametrize(
    ("word", "legal"),
    [
        (scale_word(1.0), True),
        (scale_word(1.0, -1, 9), True),
        (0, False),
        (scale_word(1.0) | 1, False),
        (scale_word(1.0) | 1 << 46, False),
        (0x80000000 | scale_word(1.0), False),
        (0x7F800000, False),
        (0x00400000, False),
    ],
)
def test_quantization_words(word: int, legal: bool) -> None:
    assert convert.quantization_legal(PRE_QUANT_MODES[3], words(word)) == legal


@pytest.mark.parametrize(
    ("word", "legal"),
    [(0, True), (0x1FA00, True), (0x40000, False), (0x3FC00, False), (1, False), (1 << 20 | 0x1FA00, False)],
)
def test_slope_words(word: int, legal: bool) -> None:
    assert convert.slope_legal(words(word)) == legal


def test_leaky_relu_uses_the_slope_instead_of_the_scale() -> None:
    mode = PRE_QUANT_MODES[32]
    post = convert.PostProcess(mode, ReluMode.LRELU, Rounding.RNE, False)
    parameters = convert.decode_parameters(mode, words(scale_word(1.0)), words(0x1FA00))
    raw = np.array([[0xBF000BB0]], np.uint32)
    bits, flags = convert.post_process(post, FP32, raw, parameters)
    assert (bits[0, 0], flags) == (0xB601, NX)


@pytest.mark.parametrize(
    ("code", "value", "want"), [(25, 1.0625, 0x09), (26, 1.0625, 0x38), (25, -0.0, 0), (26, 449.0, 0x7F)]
)
def test_eight_bit_floats(code: int, value: float, want: int) -> None:
    mode = PRE_QUANT_MODES[code]
    post = convert.PostProcess(mode, ReluMode.NONE, mode.rounding or Rounding.RNE, False)
    parameters = convert.decode_parameters(mode, words(scale_word(1.0)), None)
    raw = np.array([[value]], np.float32).view(np.uint32)
    assert convert.post_process(post, FP32, raw, parameters)[0][0, 0] == want


@pytest.mark.parametrize("relu", [ReluMode.NONE, ReluMode.RELU])
@pytest.mark.parametrize("code", [0, 1, 16])
def test_the_short_way_gives_the_bits_and_flags_of_the_general_one(code: int, relu: ReluMode) -> None:
    mode = PRE_QUANT_MODES[code]
    post = convert.PostProcess(mode, relu, Rounding.RNE, False)
    for seed in range(200):
        raw = np.random.default_rng(seed).choice(patterns(2000, seed), (2, 3))
        result = mode.result or FP32
        quick = narrow(result.name, relu, raw)
        if quick is None or post.identity:
            continue
        bits, flags = convert.general(post, FP32, raw, convert.NO_PARAMETERS)
        assert quick[1] == flags
        assert (quick[0] == bits).all()
