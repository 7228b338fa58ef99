"""Every PreQuantMode of the ISA's table can be asked for: a kernel for each, and the bundle that it becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from samples import BF16
from test_epilogues import E4M3, floats, integers, product

import ptoc
from ptoc.dialects import tile
from ptoc.isa import dtypes
from ptoc.isa.postprocess import PRE_QUANT_MODES

INT4 = np.dtype(ml_dtypes.int4)
SCALES = np.array([0.5, 0.25, 2.0], np.float32)
PLACES = np.array([1, 2, 16], np.int32)


def _integers(s: Any, dtype: Any) -> Callable[[Any], Any]:
    limits = ml_dtypes.iinfo(dtype)
    return lambda y: np.clip(np.rint(y * s) + 1, int(limits.min), int(limits.max)).astype(dtype)


def _shifted(places: Any) -> Callable[[Any], Any]:
    return lambda y: np.clip(y >> places, -32768, 32767).astype(np.int16)


FLOAT: dict[int, Callable[[Any], Any]] = {
    0: lambda y: y,
    1: lambda y: y.astype(np.float16),
    16: lambda y: y.astype(BF16),
    23: _integers(SCALES, np.int8),
    24: _integers(0.5, np.int8),
    25: lambda y: ptoc.hifloat8(y * 0.5),
    26: lambda y: (y * 0.5).astype(E4M3),
    27: lambda y: y * 0.5,
    28: lambda y: ptoc.hifloat8(y * SCALES),
    32: lambda y: (y * 0.5).astype(np.float16),
    33: lambda y: (y * SCALES).astype(np.float16),
    34: lambda y: (y * 0.5).astype(BF16),
    36: lambda y: (y * SCALES).astype(BF16),
    37: lambda y: (y * SCALES).astype(E4M3),
    38: lambda y: y * SCALES,
}
INTEGER: dict[int, Callable[[Any], Any]] = {
    0: lambda y: y,
    2: _integers(SCALES, np.int8),
    3: _integers(0.5, np.int8),
    4: lambda y: (y * SCALES).astype(np.float16),
    5: lambda y: (y * 0.5).astype(np.float16),
    12: _shifted(PLACES),
    13: _shifted(3),
    17: _integers(0.5, INT4),
    18: _integers(SCALES, INT4),
    19: _integers(0.5, np.int16),
    20: _integers(SCALES, np.int16),
    35: lambda y: (y * 0.5).astype(BF16),
    39: lambda y: (y * SCALES).astype(BF16),
}


def test_no_mode_is_missing() -> None:
    assert {*FLOAT, *INTEGER} == set(PRE_QUANT_MODES)
    for code, mode in PRE_QUANT_MODES.items():
        assert code == 0 or (code in (FLOAT if mode.source is not None and mode.source.is_float else INTEGER))


@pytest.mark.parametrize(("code", "integer"), [*((code, False) for code in FLOAT), *((code, True) for code in INTEGER)])
def test_a_kernel_selects_the_mode(code: int, integer: bool) -> None:
    epilogue = (INTEGER if integer else FLOAT)[code]
    arrays = (integers if integer else floats)((5, 3, 2))

    def kernel(a: Any, b: Any, c: Any) -> Any:
        return epilogue(product(a, b, c))

    program = ptoc.jit(kernel).program_for(*arrays)
    last = [op for op in program.module("tile").walk() if isinstance(op, tile.MatmulOp)]
    assert code in {op.pre_quant_mode.code for op in last}
    stored = PRE_QUANT_MODES[code].result or (dtypes.S32 if integer else dtypes.FP32)
    assert f"BSTART.TSTORE {stored}" in program.asm()
    report = ptoc.validate(kernel, *arrays)
    assert report.ok, str(report)
