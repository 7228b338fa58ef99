"""Vector bundles on tiles of 64 KiB against the same numpy expressions on the same numbers.

The program is a loop of one bundle on all four PEs; numpy computes as many results of as many arrays, and keeps as many
of them as a hand does. Pools are made wide enough for sixteen tiles of this size in a hand. Exponentials and logarithms
are correctly rounded, so they are compared with numpy's of float64, rounded once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Report
from benchmarks.simulator import ALL_PES, BASE, STRIDE, looped
from ptoc.isa import dtypes, operations
from ptoc.isa.dtypes import DType
from ptoc.isa.encoding import make
from ptoc.isa.registers import GENERATIONS, PE_COUNT, size_code
from ptoc.runtime import Machine, Memory

BYTES = 1 << 16
TURNS = 100
"""Bundles of a run: enough to hide what starting it costs."""

ELEMENTWISE, REDUCTION = 3, 4
COLUMNS = 128
Arrays = Callable[..., Any]

_BINARY: dict[str, Arrays] = {"TADD": np.add, "TSUB": np.subtract, "TMUL": np.multiply, "TDIV": np.divide}
_EXTREME: dict[str, Arrays] = {"TMAX": np.maximum, "TMIN": np.minimum}
_UNARY: dict[str, Arrays] = {"TABS": np.abs, "TNEG": np.negative, "TSQRT": np.sqrt}
_ROUNDED: dict[str, Arrays] = {
    "TEXP": lambda x: np.exp(x.astype(np.float64)).astype(x.dtype),
    "TLOG": lambda x: np.log(x.astype(np.float64)).astype(x.dtype),
}
_RELU: dict[str, Arrays] = {"TRELU": lambda x: np.maximum(x, 0)}
_BITS: dict[str, Arrays] = {"TAND": np.bitwise_and, "TSHL": np.left_shift}


def measure(report: Report) -> None:
    for name, function in {**_BINARY, **_EXTREME}.items():
        for dtype in ("FP32", "FP16", "BF16", "S32", "S8"):
            if name != "TDIV" or dtype[0] != "S":
                _compare(report, name, dtype, function, 2, ELEMENTWISE)
    for name, function in _BITS.items():
        _compare(report, name, "U32", function, 2, ELEMENTWISE)
    for name, function in {**_UNARY, **_ROUNDED, **_RELU}.items():
        for dtype in ("FP32", "FP16"):
            _compare(report, name, dtype, function, 1, ELEMENTWISE)
    for name, function in (("TROWSUM", np.add), ("TROWMAX", np.maximum), ("TROWPROD", np.multiply)):
        for dtype in ("FP32", "FP16", "S32"):
            _compare(report, name, dtype, _rows(function, dtypes.BY_NAME[dtype]), 1, REDUCTION)


def _rows(function: np.ufunc, dtype: DType) -> Arrays:
    return lambda x: function.reduce(x, axis=1, dtype=dtype.numpy)


def _compare(report: Report, name: str, dtype: str, function: Arrays, sources: int, limit: float) -> None:
    kind = dtypes.BY_NAME[dtype]
    rows = BYTES // (COLUMNS * kind.nbytes)
    arrays = [_numbers(kind, rows, seed) for seed in range(sources)]
    program = _program(name, kind, rows, sources)
    memory = Memory(1 << 20)
    for n, array in enumerate(arrays):
        memory.write(n * BYTES, array.tobytes())
    machine = Machine(memory=memory)

    tiles = [[array.copy() for array in arrays] for _ in range(PE_COUNT)]
    kept: deque[Any] = deque(maxlen=PE_COUNT * GENERATIONS)

    def ours() -> None:
        for pe in range(PE_COUNT):
            machine.tiles(pe).used = -(1 << 40)
        machine.set_gpr("s0", 0)
        machine.set_gpr("a0", 0)
        machine.set_gpr("a1", COLUMNS * kind.nbytes)
        machine.load(program)
        before = machine.counters.operations.get(name, 0)
        outcome = machine.run()
        assert outcome.status == "halted", outcome.fault
        assert machine.counters.operations[name] == before + TURNS

    def theirs() -> None:
        with np.errstate(all="ignore"):
            for _ in range(TURNS):
                for own in tiles:
                    kept.append(function(*own))

    report.compare(f"{name} {dtype}", ours, theirs, limit, times=1)


def _numbers(dtype: DType, rows: int, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if dtype.is_float:
        return (rng.random((rows, COLUMNS)) + 0.5).astype(dtype.numpy)
    return rng.integers(1, 7, (rows, COLUMNS)).astype(dtype.numpy)


def _program(name: str, dtype: DType, rows: int, sources: int) -> bytes:
    operation = operations.BY_NAME[name]
    words = []
    for hand in range(sources):
        words += [
            make("BSTART.TLOAD", DataType=dtype.code),
            make("B.DIM.LB0", uimm17=COLUMNS),
            make("B.DIM.LB1", uimm17=rows),
            make("B.IOR", RegSrc0=BASE, RegSrc1=STRIDE),
            make("B.IOT.D", L=1, PEMode=ALL_PES, SizeCode=size_code(BYTES), DstTile=hand),
            make("BSTOP"),
        ]
        words.append(make("HL.LIS", RegDst=BASE, simm32=(hand + 1) * BYTES))
    size = size_code(BYTES if operation.mode < 2 else max(128, rows * dtype.nbytes))
    binding = {"L": 1, "PEMode": ALL_PES, "SizeCode": size, "DstTile": 2}
    selectors = {f"SrcTile{i}": 16 * i for i in range(sources)}
    body = [
        make("BSTART.TEPL", DataType=dtype.code, Mode=operation.mode, Function=operation.function),
        make("B.DIM.LB0", uimm17=COLUMNS),
        make("B.DIM.LB1", uimm17=rows),
        make(f"B.IOT.{'S' * sources}D", **selectors, **binding),
        make("BSTOP"),
    ]
    return b"".join(w.to_bytes() for w in words) + looped(b"".join(w.to_bytes() for w in body), TURNS)
