"""Matrix products against the rule on scalars, and integers against Python."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from float_patterns import SPECIALS

from ptoc.isa.dtypes import BY_NAME
from ptoc.runtime.numerics import formats, kernels, matmul
from ptoc.runtime.numerics.flags import UNDERFLOW


def naive(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The rule on scalars."""
    out = c.copy()
    with np.errstate(all="ignore"):
        for m in range(a.shape[0]):
            for n in range(b.shape[1]):
                acc = np.float32(c[m, n])
                for k in range(a.shape[1]):
                    acc = np.float32(acc + np.float32(a[m, k] * b[k, n]))
                out[m, n] = acc
    bits = out.view(np.uint32)
    return np.where(np.isnan(out), np.uint32(0x7FC00000), bits)


def operand(rng: np.random.Generator, shape: tuple[int, int], wild: bool) -> np.ndarray:
    if not wild:
        return rng.standard_normal(shape).astype(np.float32)
    return rng.choice(SPECIALS, shape).view(np.float32)


@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 4, 4), (5, 7, 3), (9, 6, 17), (3, 13, 33)])
@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("kernel", [kernels.separate, matmul.portable_kernel])
def test_the_kernel_is_the_rule(shape: tuple[int, int, int], wild: bool, kernel: matmul.Kernel) -> None:
    rng = np.random.default_rng(sum(shape))
    m, k, n = shape
    a, b, c = (operand(rng, s, wild) for s in ((m, k), (k, n), (m, n)))
    out = np.empty((m, n), np.uint32)
    kernel(a, b, c.view(np.uint32), out)
    assert (out == naive(a, b, c)).all()


@pytest.mark.parametrize("name", ["FP16", "E4M3", "E5M2", "HiF8", "E3M2", "E2M1X2"])
def test_fused_products_are_exact(name: str) -> None:
    dtype = BY_NAME[name]
    rng = np.random.default_rng(1)
    a, b = (
        formats.decode_floats(dtype, rng.integers(0, 1 << dtype.bits, shape).astype(f"u{dtype.nbytes}"))
        for shape in ((13, 40), (40, 21))
    )
    c = rng.standard_normal((13, 21)).astype(np.float32)
    results = []
    for kernel in (kernels.fused, kernels.separate, matmul.portable_kernel):
        out = np.empty((13, 21), np.uint32)
        kernel(a, b, c.view(np.uint32), out)
        results.append(out)
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


def test_two_roundings_per_step() -> None:
    x = np.array([[1 + 2.0**-12]], np.float32)
    got = matmul.accumulate_floats(x, x, np.array([[-1.0]], np.float32), exact=False)
    assert got[0, 0] == np.float32(2.0**-11)


def test_order_of_accumulation() -> None:
    ones, start = np.ones((3, 1), np.float32), np.array([[0.5]], np.float32)
    for row, want in (([1e8, 1, -1e8], 0.0), ([1e8, -1e8, 1], 1.0)):
        a = np.array([row], np.float32)
        assert matmul.accumulate_floats(a, ones, start, exact=False)[0, 0] == want


LARGE = """
import sys
import numpy as np
from ptoc.runtime.numerics import matmul
x = np.ones((200, 200), np.float32)
print(matmul.accumulate_floats(x[:2, :2], x[:2, :2], None, exact=False).sum(), "numba" in sys.modules)
for _ in range(20):
    total = matmul.accumulate_floats(x, x, None, exact=False).sum()
print(total, "numba" in sys.modules)
"""


@pytest.mark.parametrize(("setting", "loaded"), [("", "True"), ("1", "False")])
def test_numba_is_loaded_when_it_pays(setting: str, loaded: str) -> None:
    env = {**os.environ, "PTOC_NO_NUMBA": setting}
    run = subprocess.run([sys.executable, "-c", LARGE], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["8.0", "False", "8e+06", loaded]


@pytest.mark.parametrize(("left", "right"), [("S8", "S8"), ("S16", "S16"), ("S8", "S4X2"), ("U16", "U16")])
@pytest.mark.parametrize("k", [1, 33, 1500])
@pytest.mark.parametrize("module", [None, kernels], ids=["portable", "compiled"])
def test_integer_products_wrap(
    monkeypatch: pytest.MonkeyPatch, left: str, right: str, k: int, module: ModuleType | None
) -> None:
    monkeypatch.setattr(matmul.CHOICE, "loaded", module)
    monkeypatch.setattr(matmul.CHOICE, "_decided", True)
    a_type, b_type = BY_NAME[left], BY_NAME[right]
    rng = np.random.default_rng(k)
    a_bits = rng.integers(0, 1 << a_type.bits, (3, k)).astype(f"u{a_type.nbytes}")
    b_bits = rng.integers(0, 1 << b_type.bits, (k, 4)).astype(f"u{b_type.nbytes}")
    a_bits[0], b_bits[:, 0] = (1 << a_type.bits) - 1, (1 << b_type.bits) - 1
    a_bits[1], b_bits[:, 1] = 1 << (a_type.bits - 1), 1 << (b_type.bits - 1)
    a, b = formats.decode_integers(a_type, a_bits), formats.decode_integers(b_type, b_bits)
    start = rng.integers(0, 1 << 32, (3, 4), np.uint32)
    got = matmul.accumulate_integers(a, b, start, product_bits=matmul.product_bits(a_type, b_type))
    exact = a.astype(object).astype(int).astype(object) @ b.astype(int).astype(object) + start.astype(object)
    assert (got.astype(object) == exact % (1 << 32)).all()


def test_cscale() -> None:
    c = np.array([[3.0]], np.float32).view(np.uint32)
    for s, bits, flags in ((0, 0x40400000, 0), (3, 0x3EC00000, 0), (149, 3, 0), (150, 2, UNDERFLOW)):
        scaled, raised = matmul.scale_rows(c, np.array([s], np.uint8))
        assert (scaled[0, 0], raised) == (bits, flags)
