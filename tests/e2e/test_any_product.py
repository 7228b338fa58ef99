"""Products of any shape, types, strides, start and epilogue: checked, and bit for bit the reference on 1 and 4 cores.

A case is drawn from its number, so that one that fails is found again. Epilogues and types take turns, so that all of
them are among the first cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from samples import BF16, Array, Guarded, assert_same
from test_epilogues import E4M3, ROUNDINGS, positive_zeros, to_bfloat16
from test_matmul import F16, F32, PAIRS, S8, S16, S32, in_order, relu, values

import ptoc
from ptoc.passes.check_values import check_values

CASES, CHUNK, FAST = 500, 10, 8
"""Cases, how many of them are one test, and how many tests are no long tail."""

# -- shapes ----------------------------------------------------------------------------------------

INT4 = np.dtype(ml_dtypes.int4)
EDGES = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 112, 113, 127, 128, 129, 255, 256, 257]
MOST_PRODUCTS = 12_000_000


def shape_of(rng: np.random.Generator) -> tuple[int, int, int]:
    """Rows, columns and depth: edges of blocks, anything, or one long dimension beside two thin ones."""
    while True:
        kind = rng.integers(4)
        if kind == 0:
            size = rng.choice(EDGES, 3)
        elif kind == 1:
            size = rng.integers(1, 300, 3, endpoint=True)
        elif kind == 2:
            size = rng.permutation([rng.integers(300, 3000), *rng.integers(1, 20, 2)])
        else:
            size = np.where(rng.random(3) < 0.5, rng.choice(EDGES, 3), rng.integers(200, 700, 3))
        if size.prod() <= MOST_PRODUCTS:
            rows, cols, depth = size.tolist()
            return rows, cols, depth


# -- strides ---------------------------------------------------------------------------------------


def _rows_apart(x: Array) -> Array:
    return np.pad(x, ((0, 0), (0, 5)), mode="edge")[:, : x.shape[1]]


def _windows(x: Array) -> Array:
    """Rows that overlap: each begins one element behind the one before."""
    signal = np.concatenate([x[0], x[:-1, 0]])
    return sliding_window_view(signal, x.shape[1])


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "dense": np.ascontiguousarray,
    "rows apart": _rows_apart,
    "Fortran": np.asfortranarray,
    "every other column": lambda x: x.repeat(2, axis=1)[:, ::2],
    "every other row": lambda x: x.repeat(2, axis=0)[::2],
    "columns backwards": lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    "rows backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "part of Fortran": lambda x: np.asfortranarray(_rows_apart(x))[:, : x.shape[1]],
    "one row repeated": lambda x: np.broadcast_to(x[0], x.shape),
    "windows": _windows,
}

# -- epilogues -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Epilogue:
    """``kernel`` of the sums as numpy says it; ``wanted`` of the same sums in float64.

    ``finite``: the reference says nothing about NaNs and infinities.
    """

    kernel: Callable[[Any], Any]
    wanted: Callable[[Array], Array]
    finite: bool = False


def fp19(rng: np.random.Generator, shape: tuple[int, ...], low: int, high: int) -> Array:
    """Numbers from 2**low on and below 2**high."""
    return (rng.integers(1024, 2048, shape) * 2.0 ** rng.integers(low, high, shape) / 1024).astype(F32)


def floating(rng: np.random.Generator, cols: int) -> dict[str, Epilogue]:
    """What may follow float32 sums."""
    s, t = (float(fp19(rng, (), low, high)) for low, high in ((-4, 4), (-6, 0)))
    scales, slopes = fp19(rng, (cols,), -3, 3), fp19(rng, (cols,), -6, 0)
    exact = scales.astype(np.float64)
    return {
        "nothing": Epilogue(lambda y: y, lambda x: x.astype(F32)),
        "ReLU": Epilogue(lambda y: np.maximum(y, 0), lambda x: relu(x).astype(F32)),
        "leaky": Epilogue(lambda y: np.where(y > 0, y, t * y), lambda x: np.where(x > 0, x, t * x).astype(F32)),
        "leaky, as a maximum": Epilogue(
            lambda y: np.maximum(y, t * y).astype(np.float16), lambda x: np.where(x > 0, x, t * x).astype(F16)
        ),
        "scale and slope": Epilogue(
            lambda y: np.where(y > 0, s * y, t * y), lambda x: np.where(x > 0, s * x, t * x).astype(F32)
        ),
        "scale": Epilogue(lambda y: y * s, lambda x: (x * s).astype(F32)),
        "float16": Epilogue(lambda y: y.astype(np.float16), lambda x: x.astype(F16)),
        "bfloat16": Epilogue(lambda y: y.astype(BF16), to_bfloat16),
        "ReLU, float16": Epilogue(lambda y: np.maximum(y, 0).astype(np.float16), lambda x: relu(x).astype(F16)),
        "scale, bfloat16": Epilogue(lambda y: (y * s).astype(BF16), lambda x: to_bfloat16(x * s)),
        "clip, float16": Epilogue(
            lambda y: np.clip(y * s, -65504, 65504).astype(np.float16),
            lambda x: np.clip(x * s, -65504, 65504).astype(F16),
            finite=True,
        ),
        "clip, float8": Epilogue(
            lambda y: np.clip(y, -448, 448).astype(E4M3),
            lambda x: positive_zeros(np.clip(x, -448, 448).astype(F32).astype(E4M3)),
            finite=True,
        ),
        "HiF8": Epilogue(lambda y: ptoc.hifloat8(y * s), lambda x: ptoc.hifloat8(x * s)),
        "HiF8 by column": Epilogue(lambda y: ptoc.hifloat8(y * scales), lambda x: ptoc.hifloat8(x * exact)),
        "slopes": Epilogue(
            lambda y: np.where(y > 0, y, slopes * y), lambda x: np.where(x > 0, x, slopes * x).astype(F32)
        ),
        "scales": Epilogue(lambda y: (y * scales).astype(np.float16), lambda x: (x * exact).astype(F16)),
        **requantised(rng, cols, s, scales, S8),
    }


def integer(rng: np.random.Generator, cols: int) -> dict[str, Epilogue]:
    """What may follow int32 sums."""
    s, t = (float(fp19(rng, (), low, high)) for low, high in ((-12, 0), (-14, -6)))
    scales, places = fp19(rng, (cols,), -12, -4), rng.integers(1, 17, cols, np.int32)
    shift = int(places[0])
    limits = -32768, 32767
    return {
        "nothing": Epilogue(lambda y: y, lambda x: x.astype(S32)),
        "ReLU": Epilogue(lambda y: np.maximum(y, 0), lambda x: np.maximum(x, 0).astype(S32)),
        "float16": Epilogue(lambda y: y.astype(np.float16), lambda x: x.astype(F16)),
        "bfloat16": Epilogue(lambda y: y.astype(BF16), to_bfloat16),
        "scale, float16": Epilogue(lambda y: (y * s).astype(np.float16), lambda x: (x * s).astype(F16)),
        "scales and slopes": Epilogue(
            lambda y: np.where(y > 0, y * scales, t * y).astype(BF16),
            lambda x: to_bfloat16(np.where(x > 0, x * scales.astype(np.float64), t * x)),
        ),
        "shift": Epilogue(
            lambda y: np.clip(y >> shift, *limits).astype(np.int16),
            lambda x: np.clip(np.floor(x / 2**shift), *limits).astype(S16),
        ),
        "shifts": Epilogue(
            lambda y: np.clip(y >> places, *limits).astype(np.int16),
            lambda x: np.clip(np.floor(x / 2.0**places), *limits).astype(S16),
        ),
        **requantised(rng, cols, s, scales, INT4),
        **requantised(rng, cols, s, scales, S8),
        **requantised(rng, cols, s, scales, S16),
    }


def requantised(
    rng: np.random.Generator, cols: int, s: float, scales: Array, dtype: np.dtype[Any]
) -> dict[str, Epilogue]:
    """Scale, rounding, offset and clipping, for all columns and by column, behind ReLU or not."""
    low, high = int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max)
    name = str(rng.choice(list(ROUNDINGS)))
    rounded, offsets = ROUNDINGS[name], rng.integers(max(low, -128), min(-low, 128), cols)
    offset, exact = int(offsets[0]), scales.astype(np.float64)
    return {
        f"{dtype}": Epilogue(
            lambda y: np.clip(getattr(np, name)(y * s) + offset, low, high).astype(dtype),
            lambda x: np.clip(rounded(x * s) + offset, low, high).astype(dtype),
            finite=True,
        ),
        f"{dtype} behind ReLU": Epilogue(
            lambda y: np.minimum(getattr(np, name)(np.maximum(y, 0) * s), high).astype(dtype),
            lambda x: np.minimum(rounded(np.maximum(x, 0) * s), high).astype(dtype),
            finite=True,
        ),
        f"{dtype} by column": Epilogue(
            lambda y: np.clip(getattr(np, name)(y * scales) + offsets, low, high).astype(dtype),
            lambda x: np.clip(rounded(x * exact) + offsets, low, high).astype(dtype),
            finite=True,
        ),
    }


def unsigned(rng: np.random.Generator, cols: int) -> dict[str, Epilogue]:
    """What may follow uint32 sums."""
    return {"nothing": Epilogue(lambda y: y, lambda x: x.astype(np.uint32))}


EPILOGUES = {"f": floating, "i": integer, "u": unsigned}

# -- cases -----------------------------------------------------------------------------------------

STARTS = ["nothing", "a matrix", "a matrix", "a row", "a matrix of one row", "divided rows"]


@dataclass(frozen=True)
class Case:
    """A kernel, its arrays and the result; ``out`` is what the result is written to, if it is not returned."""

    text: str
    kernel: Callable[..., Any]
    arrays: list[Array]
    wanted: Array
    out: Guarded | None


@np.errstate(all="ignore")
def case_of(number: int) -> Case:
    rng = np.random.default_rng([77, number])
    left, right, accumulator = PAIRS[number % len(PAIRS)]
    m, n, k = shape_of(rng)
    among = EPILOGUES[accumulator.kind](rng, n)
    alike = [n for n, pair in enumerate(PAIRS) if pair[2] == accumulator]
    turn, pair = divmod(number, len(PAIRS))
    name = list(among)[(turn * len(alike) + alike.index(pair)) % len(among)]
    epilogue = among[name]
    flavour = 0 if epilogue.finite else int(rng.integers(3))

    def drawn(shape: tuple[int, int], dtype: np.dtype[Any]) -> tuple[str, Array]:
        layout = str(rng.choice(list(LAYOUTS)))
        x = values(rng, shape, dtype, flavour)
        return layout, LAYOUTS[layout](x >> 12 if dtype == S32 else x)

    turned = (rng.random(2) < 0.25).tolist()
    (how_a, a), (how_b, b) = (
        drawn((cols, rows) if turn else (rows, cols), dtype)
        for turn, (rows, cols), dtype in zip(turned, ((m, k), (k, n)), (left, right))
    )
    start = str(rng.choice(STARTS[: 6 if accumulator == F32 else 5]))
    how_c, c = drawn((1 if "row" in start and start != "divided rows" else m, n), accumulator)
    c = c[0] if start == "a row" else c
    exponents = rng.integers(0, 20, m).astype(np.uint8)
    given = [a, b, *([] if start == "nothing" else [c]), *([exponents] if start == "divided rows" else [])]

    def kernel(*x: Any) -> Any:
        p, q = (each.T if turn else each for each, turn in zip(x, turned))
        y = np.matmul(p, q, dtype=accumulator)
        if start == "divided rows":
            y = np.ldexp(x[2], -x[3].astype(np.int32)[:, None]) + y
        elif start != "nothing":
            y = x[2] + y
        if not written:
            return epilogue.kernel(y)
        x[-1][:] = epilogue.kernel(y)
        return None

    first = None if start == "nothing" else c
    if start == "divided rows":
        first = np.ldexp(c.astype(np.float64), -exponents.astype(np.int32)[:, None]).astype(F32)
    sums = in_order(a.T if turned[0] else a, b.T if turned[1] else b, first, accumulator)
    wanted = epilogue.wanted(sums.astype(np.float64))
    written = bool(rng.random() < 0.3) and wanted.dtype not in (E4M3, INT4)  # which only results have
    out = Guarded(np.zeros_like(wanted), int(rng.integers(8))) if written else None
    text = f"case {number}: {m} x {n} x {k}, {left} ({how_a}{' turned' * turned[0]}) by {right}"
    text += f" ({how_b}{' turned' * turned[1]}), from {start} ({how_c}), {name}{', written' * written}"
    return Case(text, kernel, given, wanted, out)


def assert_case(number: int) -> None:
    case = case_of(number)
    arrays = [*case.arrays, *([] if case.out is None else [case.out.array])]
    program = ptoc.jit(case.kernel).program_for(*arrays)
    assert check_values(program.modules["nd"], program.modules["pto"], cores=(1, 4), budget=100_000), case.text
    for cores in (1, 4):
        got = program.run(*arrays, cores=cores)
        if case.out is None:
            assert_same(got, case.wanted, f"{case.text}, {cores} cores")
            continue
        assert got is None
        assert_same(np.ascontiguousarray(case.out.array), case.wanted, f"{case.text}, {cores} cores")
        case.out.array[...] = case.wanted
        stride = case.out.array.strides[0] // case.out.array.itemsize - case.wanted.shape[1]
        assert (case.out.buffer == Guarded(case.wanted, stride).buffer).all(), f"{case.text}: bytes between rows"
        case.out.array[...] = 0


CHUNKS = [n if n < FAST else pytest.param(n, marks=pytest.mark.slow) for n in range(CASES // CHUNK)]


@pytest.mark.parametrize("chunk", CHUNKS)
def test_any_product(chunk: int) -> None:
    for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        assert_case(number)
