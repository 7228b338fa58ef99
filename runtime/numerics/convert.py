"""B.FPATR post-processing of raw accumulators: activation, scaling, conversion, and their flags.

Activation and scaling are one exact multiplication; then comes one rounding, the offset, and a clamp or wrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import HIF8_LARGEST, DType
from ptoc.isa.postprocess import PreQuantMode, ReluMode, Rounding
from ptoc.runtime.numerics.flags import NV, NX, OVERFLOW, UNDERFLOW
from ptoc.runtime.numerics.formats import nearest_hif8, signalling, small_table
from ptoc.runtime.numerics.narrow import narrow
from ptoc.runtime.numerics.rounding import Reals, to_integers, to_precision

Bits = NDArray[Any]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PostProcess:
    """How a bundle turns its accumulators into D; ``rounding`` is already resolved against the mode."""

    mode: PreQuantMode
    relu: ReluMode
    rounding: Rounding
    saturate: bool

    @property
    def identity(self) -> bool:
        return self.mode.code == 0 and self.relu == ReluMode.NONE


@dataclass(frozen=True)
class Parameters:
    """Decoded parameter words: one value for all columns (shape ``(1,)``) or one per column."""

    scale: Reals
    offset: NDArray[np.int64]
    shift: NDArray[np.int64]
    slope: Reals


_ONE = np.ones(1)
_NO_INTEGER = np.zeros(1, np.int64)
NO_PARAMETERS = Parameters(_ONE, _NO_INTEGER, _NO_INTEGER, _ONE)


def quantization_legal(mode: PreQuantMode, words: Words) -> bool:
    """Whether every word has the layout of the mode: no stray bits, and a scale that is a positive normal."""
    if mode.shift:
        return not (words & ~np.uint64(0xF << 32)).any()
    offset_mask = ((1 << mode.offset_bits) - 1) << 37
    stray = words & np.uint64(~(0x7FFFF << 13 | offset_mask) & 0xFFFF_FFFF_FFFF_FFFF)
    return not stray.any() and bool(_positive_normal(words >> np.uint64(13) & np.uint64(0x7FFFF)).all())


def slope_legal(words: Words) -> bool:
    """Whether every word is a bare FP19 that is +0 or a positive normal."""
    return bool(((words == 0) | (words < 1 << 19) & _positive_normal(words)).all())


def _positive_normal(fp19: Words) -> Mask:
    exponent = fp19 >> np.uint64(10)
    return (exponent >= 1) & (exponent <= 254)


def decode_parameters(mode: PreQuantMode, quantization: Words | None, slope: Words | None) -> Parameters:
    """The values of legal parameter words."""
    scale, offset, shift, factor = _ONE, _NO_INTEGER, _NO_INTEGER, _ONE
    if quantization is not None and mode.shift:
        shift = (quantization >> np.uint64(32)).astype(np.int64) + 1
    elif quantization is not None:
        scale = quantization.astype(np.uint32).view(np.float32).astype(np.float64)
        width = mode.offset_bits
        if width:
            raw = (quantization >> np.uint64(37)).astype(np.int64)
            offset = raw - ((raw >> (width - 1)) << width)
    if slope is not None:
        factor = (slope.astype(np.uint32) << np.uint32(13)).view(np.float32).astype(np.float64)
    return Parameters(scale, offset, shift, factor)


def post_process(
    post: PostProcess, accumulator: DType, raw: NDArray[np.uint32], parameters: Parameters
) -> tuple[Bits, int]:
    """The element bits of D for raw accumulators (rows x columns), and the flags of all elements together."""
    if post.identity:
        return raw, 0
    if post.mode.shift:
        return _shift(raw, parameters.shift)
    if accumulator.is_float and not post.mode.parameter and post.relu in (ReluMode.NONE, ReluMode.RELU):
        quick = narrow((post.mode.result or accumulator).name, post.relu, raw)
        if quick is not None:
            return quick
    return general(post, accumulator, raw, parameters)


def _shift(raw: NDArray[np.uint32], shift: NDArray[np.int64]) -> tuple[Bits, int]:
    shifted = raw.view(np.int32).astype(np.int64) >> shift
    clamped = np.clip(shifted, -0x8000, 0x7FFF)
    flags = OVERFLOW if (clamped != shifted).any() else 0
    return clamped.astype(np.int16).view(np.uint16), flags


@dataclass(frozen=True)
class _Operands:
    """Exact products with the elements that do not take the arithmetic path."""

    x: Reals
    minus_zero: Mask
    nan: Mask
    infinite: Mask
    signalling: bool

    @property
    def ordinary(self) -> Mask:
        return ~(self.nan | self.infinite)


def general(post: PostProcess, accumulator: DType, raw: NDArray[np.uint32], parameters: Parameters) -> tuple[Bits, int]:
    """Every conversion but the shifts, for all values."""
    result = post.mode.result or accumulator
    with np.errstate(all="ignore"):
        operands = _multiply(post.relu, accumulator, raw, parameters)
        if result.is_float:
            return _to_float(result, operands, post)
        if post.mode.code == 0:
            return _back_to_integer(result, operands.x)
        return _to_integer(result, operands, post, parameters.offset)


def _multiply(relu: ReluMode, accumulator: DType, raw: NDArray[np.uint32], parameters: Parameters) -> _Operands:
    none = np.zeros(raw.shape, bool)
    if accumulator.is_float:
        value = raw.view(np.float32).astype(np.float64)
        nan = np.isnan(value)
        negative = (raw >> np.uint32(31) != 0) & ~nan
    else:
        signed = accumulator.numeric_class == "signed"
        value = (raw.view(np.int32) if signed else raw).astype(np.float64)
        nan, negative = none, value < 0
    multiplier = np.broadcast_to(parameters.scale, raw.shape)
    if relu == ReluMode.RELU:
        multiplier = np.where(negative, 0.0, multiplier)
    elif relu != ReluMode.NONE:
        multiplier = np.where(negative, parameters.slope, multiplier)
    x = value * multiplier
    if not accumulator.is_float:
        return _Operands(x, none, none, none, False)
    suppressed = negative & (multiplier == 0)
    x[suppressed] = 0.0
    return _Operands(
        x,
        minus_zero=negative & (value == 0) & ~suppressed,
        nan=nan,
        infinite=np.isinf(value) & ~suppressed,
        signalling=bool(signalling(raw).any()),
    )


def _to_integer(result: DType, operands: _Operands, post: PostProcess, offset: NDArray[np.int64]) -> tuple[Bits, int]:
    low, high = -(1 << (result.bits - 1)), (1 << (result.bits - 1)) - 1
    ordinary = operands.ordinary
    x = np.where(ordinary, operands.x, 0.0)
    rounded = to_integers(x, post.rounding)
    reach = 1 << (post.mode.offset_bits - 1)
    limited = np.clip(rounded, -reach, reach - 1)
    y = limited.astype(np.int64) + offset
    clamped = np.clip(y, low, high)
    flags = 0
    clipped = limited != rounded
    # A NaN or an infinity takes no offset, so it is not an offset of zero that leaves the range.
    if ((clipped | (clamped != y)) & ordinary).any():
        flags |= OVERFLOW
    if (~clipped & (rounded != x)).any():
        flags |= NX
    out = clamped if post.saturate else y
    if not ordinary.all():
        out, special = _special_integers(out, operands, post.saturate, low, high)
        flags |= special
    return _narrow(out, result), flags


def _special_integers(
    out: NDArray[np.int64], operands: _Operands, saturate: bool, low: int, high: int
) -> tuple[NDArray[np.int64], int]:
    out = np.where(operands.nan, 0 if saturate else low, out)
    limits = np.where(operands.x > 0, high, low) if saturate else low
    out = np.where(operands.infinite, limits, out)
    flags = NV if operands.nan.any() else 0
    if operands.infinite.any():
        flags |= OVERFLOW if saturate else NV
    return out, flags


def _narrow(values: NDArray[np.int64], result: DType) -> Bits:
    """The low bits of integers, as element bits."""
    if result.packed:
        return (values & 0xF).astype(np.uint8)
    return values.astype(f"u{result.nbytes}")


def _back_to_integer(result: DType, x: Reals) -> tuple[Bits, int]:
    """An activated integer accumulator in its own type again: nearest even, with wrap."""
    rounded = np.rint(x)
    signed = result.numeric_class == "signed"
    low, high = (-(2.0**31), 2.0**31 - 1) if signed else (0.0, 2.0**32 - 1)
    outside = (rounded < low) | (rounded > high)
    flags = OVERFLOW if outside.any() else 0
    if (~outside & (rounded != x)).any():
        flags |= NX
    return np.mod(rounded, 2.0**32).astype(np.uint32), flags


def _to_float(result: DType, operands: _Operands, post: PostProcess) -> tuple[Bits, int]:
    ordinary = operands.ordinary
    everything_ordinary = bool(ordinary.all())
    x = operands.x if everything_ordinary else np.where(ordinary, operands.x, 0.0)
    encode = {"HiF8": _encode_hif8, "E4M3": _encode_e4m3}.get(result.name, _encode_wide)
    out, flags = encode(result, x, post)
    if result.name != "HiF8":
        out = np.where(operands.minus_zero, out.dtype.type(1 << (result.bits - 1)), out)
    if everything_ordinary:
        return out, flags
    nan, infinity, largest = _special_codes(result)
    out = np.where(operands.nan, out.dtype.type(0 if post.saturate else nan), out)
    if operands.signalling:
        flags |= NV
    if operands.infinite.any():
        sign = out.dtype.type(1 << (result.bits - 1))
        magnitude = out.dtype.type(largest if post.saturate else infinity)
        signed = magnitude | np.where(operands.x < 0, sign, out.dtype.type(0))
        if result.name == "E4M3" and not post.saturate:
            signed = np.full_like(out, nan)
        out = np.where(operands.infinite, signed, out)
        if post.saturate or result.name == "E4M3":
            flags |= OVERFLOW
    return out, flags


@cache
def _special_codes(dtype: DType) -> tuple[int, int, int]:
    """Canonical NaN, +Inf (E4M3: its NaN) and largest finite code of a conversion result."""
    codes = {
        "FP32": (0x7FC0_0000, 0x7F80_0000, 0x7F7F_FFFF),
        "FP16": (0x7E00, 0x7C00, 0x7BFF),
        "BF16": (0x7FC0, 0x7F80, 0x7F7F),
        "E4M3": (0x7F, 0x7F, 0x7E),
        "HiF8": (0x80, 0x6F, 0x6E),
    }
    return codes[dtype.name]


def _encode_wide(result: DType, x: Reals, post: PostProcess) -> tuple[Bits, int]:
    """FP32, FP16, BF16: round with gradual underflow; too large becomes infinite or the largest finite."""
    lowest = 1 - result.bias
    rounded = to_precision(x, result.fraction, lowest, post.rounding)
    largest = (2 - 2.0**-result.fraction) * 2.0**result.bias
    overflow = np.abs(rounded) > largest
    flags = _inexact(x, rounded, ~overflow, 2.0**lowest)
    if overflow.any():
        flags |= OVERFLOW
        rounded = np.where(overflow, np.copysign(largest if post.saturate else np.inf, rounded), rounded)
    rounded = np.where(x == 0, 0.0, rounded)
    if result.name == "FP16":
        return rounded.astype(np.float16).view(np.uint16), flags
    single = rounded.astype(np.float32).view(np.uint32)
    return (single if result.name == "FP32" else (single >> np.uint32(16)).astype(np.uint16)), flags


def _encode_e4m3(result: DType, x: Reals, post: PostProcess) -> tuple[Bits, int]:
    overflow = np.abs(x) > 448
    rounded = to_precision(np.where(overflow, 0.0, x), 3, -6, Rounding.RNE)
    flags = _inexact(x, rounded, ~overflow, 2.0**-6)
    magnitude = np.searchsorted(small_table(result)[:0x7F], np.abs(rounded)).astype(np.uint8)
    sign = ((rounded < 0) * 0x80).astype(np.uint8)
    out = magnitude | sign
    if overflow.any():
        flags |= OVERFLOW
        signed = (np.where(x < 0, 0xFE, 0x7E) if post.saturate else np.full(x.shape, 0x7F)).astype(np.uint8)
        out = np.where(overflow, signed, out)
    return out, flags


def _encode_hif8(result: DType, x: Reals, post: PostProcess) -> tuple[Bits, int]:
    overflow = np.abs(x) > HIF8_LARGEST
    out, nearest = nearest_hif8(x)
    flags = _inexact(x, nearest, ~overflow, 2.0**-15)
    if overflow.any():
        flags |= OVERFLOW
        magnitude = 0x6E if post.saturate else 0x6F
        out = np.where(overflow, np.where(x < 0, 0x80 | magnitude, magnitude), out).astype(np.uint8)
    return out, flags


def _inexact(x: Reals, rounded: Reals, counted: Mask, smallest_normal: float) -> int:
    inexact = counted & (rounded != x)
    if not inexact.any():
        return 0
    tiny = inexact & (np.abs(x) < smallest_normal)
    flags = UNDERFLOW if tiny.any() else 0
    return flags | NX
