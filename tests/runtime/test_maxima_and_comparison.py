"""Row and group maxima, and TCMP against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from ptoc.isa.dtypes import ALL, FP16, FP32, S8, S32, DType
from ptoc.runtime.numerics import reduce
from ptoc.runtime.numerics.compare import compare
from ptoc.runtime.numerics.flags import NV, OF


def test_row_maxima() -> None:
    raw = np.array([[-5, 3, -9, 4]], np.int32).view(np.uint32)
    for absolute, initial, want in ((False, None, 4), (True, None, 9), (False, 6, 6), (True, -12, 12)):
        start = None if initial is None else np.array([[initial]], np.int32).view(np.uint32)
        got, _ = reduce.row_maximum(S32, raw, absolute=absolute, initial=start)
        assert got.view(np.int32)[0, 0] == want
    smallest = np.array([[0x80000000]], np.uint32)
    got, flags = reduce.row_maximum(S32, smallest, absolute=True)
    assert (got[0, 0], flags) == (0x7FFFFFFF, OF)


@pytest.mark.parametrize(
    ("row", "want", "flags"),
    [
        ([0x7FC00001, 0x3F800000], 0x3F800000, 0),
        ([0x7FC00001, 0xFFC00000], 0x7FC00000, 0),
        ([0x7F800001, 0xBF800000], 0xBF800000, NV),
        ([0x80000000, 0x00000000], 0, 0),
        ([0x80000000, 0x80000000], 0x80000000, 0),
        ([0xFF800000, 0xC0000000], 0xC0000000, 0),
        ([0x7F800001], 0x7F800001, 0),
    ],
)
def test_float_maxima(row: list[int], want: int, flags: int) -> None:
    got, raised = reduce.row_maximum(FP32, np.array([row], np.uint32), absolute=False)
    assert (got[0, 0], raised) == (want, flags)


def test_group_maxima_have_a_short_last_group() -> None:
    raw = np.arange(20, dtype=np.uint32)[None, :]
    got, _ = reduce.group_maximum(S32, raw, 8, absolute=False)
    assert got.tolist() == [[7, 15, 19]]


NUMPY_MODES = (np.equal, np.not_equal, np.less, np.greater, np.less_equal, np.greater_equal)


@pytest.mark.parametrize("dtype", [t for t in ALL if t.name in ("FP16", "BF16", "E4M3", "E5M2", "S8", "U8")], ids=str)
@pytest.mark.parametrize("mode", range(6))
def test_comparison_is_numpys(dtype: DType, mode: int) -> None:
    rng = np.random.default_rng(mode)
    pool = rng.integers(0, 1 << dtype.bits, 400).astype(f"u{dtype.nbytes}")
    left, right = pool[:, None], pool[None, :]
    shape = np.broadcast_shapes(left.shape, right.shape)
    left, right = np.broadcast_to(left, shape).copy(), np.broadcast_to(right, shape).copy()
    truth, _ = compare(mode, dtype, left, right)
    values = (left.view(dtype.numpy), right.view(dtype.numpy))
    if dtype.is_float:
        values = tuple(v.astype(np.float32) for v in values)
    assert (truth == NUMPY_MODES[mode](*values)).all()


def test_only_signalling_nans_raise_a_flag() -> None:
    one = np.array([0x3C00], np.uint16)
    assert compare(0, FP16, np.array([0x7C01], np.uint16), one)[1] == NV
    assert compare(0, FP16, np.array([0x7E01], np.uint16), one)[1] == 0
    assert compare(1, S8, np.array([0xFF], np.uint8), np.array([1], np.uint8)) == (np.array([True]), 0)
