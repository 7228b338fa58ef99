"""Decoding of matmul operands against numpy and ml_dtypes."""

from __future__ import annotations

import numpy as np
import pytest
from float_patterns import patterns

from ptoc.isa.dtypes import BY_NAME, HIF8, MATMUL_TYPES, DType
from ptoc.runtime.numerics import formats, kernels, matmul


@pytest.fixture(params=[None, kernels], ids=["portable", "compiled"])
def loaded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul.CHOICE, "loaded", request.param)


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("dtype", [t for t in MATMUL_TYPES if t.is_float and t.numpy_name], ids=str)
def test_decoding_equals_the_numpy_type(dtype: DType) -> None:
    top = 1 << (dtype.bits - dtype.must_be_zero.bit_count())
    codes = patterns(1000) if dtype.bits == 32 else np.arange(top).astype(f"u{dtype.nbytes}")
    values = codes.view(dtype.numpy)
    want = values.astype(np.float32)
    got = matmul.decode(dtype, codes)
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    assert same.all()


@pytest.mark.parametrize("dtype", [t for t in MATMUL_TYPES if t.bits <= 16], ids=str)
def test_compiled_decoding_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch, dtype: DType) -> None:
    codes = np.arange(1 << dtype.bits).astype(f"u{dtype.nbytes}")[:, None]
    results = []
    for module in (None, kernels):
        monkeypatch.setattr(matmul.CHOICE, "loaded", module)
        results.append(matmul.decode(dtype, codes))
    portable, compiled = results
    same = (portable.view(np.uint32) == compiled.view(np.uint32)) | (np.isnan(portable) & np.isnan(compiled))
    assert portable.shape == compiled.shape == codes.shape and same.all()


def test_hif8_codes_are_distinct_and_complete() -> None:
    table = formats.small_table(HIF8)
    finite = table[np.isfinite(table)]
    assert len(finite) == len(set(finite.tolist())) == 253
    assert {0x08: 1, 0x18: 0.5, 0x60: 256, 0x6E: 32768, 0x7E: 2.0**-15, 0x01: 2.0**-22, 0x88: -1}.items() <= {
        code: float(value) for code, value in enumerate(table)
    }.items()


@pytest.mark.parametrize("name", ["S16", "S8", "S4X2", "U16", "U8", "U4X2"])
def test_integers_decode_exactly(name: str) -> None:
    dtype = BY_NAME[name]
    codes = np.arange(1 << dtype.bits)
    want = codes - ((codes >> (dtype.bits - 1)) << dtype.bits if dtype.numeric_class == "signed" else 0)
    assert (formats.decode_integers(dtype, codes.astype(f"u{dtype.nbytes}")) == want).all()
