"""How fast the simulator is: microseconds per tiny bundle, and a 512 x 512 x 512 FP16 matmul.

All programs are plain instruction words made here, so the numbers say nothing about the compiler.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.harness import Report, Row, Sample
from ptoc.isa.dtypes import FP16, FP32, NONE_CODE, DType
from ptoc.isa.encoding import make
from ptoc.isa.layouts import LayoutCode
from ptoc.isa.registers import GPR, size_code
from ptoc.runtime import Machine, Memory

ALL_PES = 7
BASE, STRIDE = GPR["a0"], GPR["a1"]


def header(operation: str, dtype: DType, layout: LayoutCode | None, *dims: int) -> bytes:
    """A block start with its B.DATR and dimensions."""
    words = [make(f"BSTART.{operation}", DataType=dtype.code)]
    if layout is not None:
        words.append(make("B.DATR", Layout=layout, DataType=NONE_CODE))
    words += [make(f"B.DIM.LB{i}", uimm17=dim) for i, dim in enumerate(dims)]
    return b"".join(word.to_bytes() for word in words)


def load(dtype: DType, layout: LayoutCode | None, cols: int, rows: int, hand: int) -> bytes:
    binding = make("B.IOT.D", L=1, PEMode=ALL_PES, SizeCode=size_code(rows * cols * dtype.bits // 8), DstTile=hand)
    words = [make("B.IOR", RegSrc0=BASE, RegSrc1=STRIDE), binding, make("BSTOP")]
    return header("TLOAD", dtype, layout, cols, rows) + b"".join(word.to_bytes() for word in words)


def store(dtype: DType, layout: LayoutCode | None, cols: int, rows: int, selector: int) -> bytes:
    binding = make("B.IOT.S", SrcTile0=selector, L=1, PEMode=ALL_PES)
    words = [make("B.IOR", RegSrc0=BASE, RegSrc1=STRIDE), binding, make("BSTOP")]
    return header("TSTORE", dtype, layout, cols, rows) + b"".join(word.to_bytes() for word in words)


def multiply(m: int, n: int, k: int) -> bytes:
    """T#1 by U#1 plus M#1 into M, on all PEs."""
    words = [
        make("BSTART.TMATMUL.ACC", DataType=FP16.code),
        make("B.FPATR"),
        make("B.DIM.LB0", uimm17=m),
        make("B.DIM.LB1", uimm17=n),
        make("B.DIM.LB2", uimm17=k),
        make("B.IOT.SS", SrcTile0=32, SrcTile1=0, PEMode=ALL_PES),
        make("B.IOT.SD", SrcTile0=16, L=1, PEMode=ALL_PES, SizeCode=size_code(4 * m * n), DstTile=2),
        make("BSTOP"),
    ]
    return b"".join(word.to_bytes() for word in words)


def machine(code: bytes) -> Machine:
    m = Machine(memory=Memory(1 << 22))
    m.load(code)
    m.set_gpr("a0", 0x1000)
    m.set_gpr("a1", 0x400)
    for pe in range(4):
        m.set_gpr("a2", 0x1000 * pe, pe)
    return m


def run_seconds(m: Machine) -> float:
    """The time of a whole run."""
    start = time.perf_counter()
    outcome = m.run()
    elapsed = time.perf_counter() - start
    assert outcome.status == "halted", outcome.fault
    return elapsed


def per_bundle(
    report: Report,
    name: str,
    code: bytes,
    bundles: int,
    limit: float | None = None,
    launch: Callable[[bytes], Machine] = machine,
) -> None:
    """Microseconds per bundle, on a new machine for each run after one that warms up."""
    times = [1e6 * run_seconds(launch(code)) / bundles for _ in range(report.pairs + 1)]
    report.add(Row(name, Sample.of(times[1:]), "us per bundle", limit))


def looped(body: bytes, times: int) -> bytes:
    """A program that runs ``body`` many times: what a tiled loop costs when every word is met again."""
    counter, limit = GPR["s0"], GPR["s1"]
    tail = [make("ADDI", SrcL=counter, RegDst=counter, uimm12=1)]
    condition = [make("SETC.LTU", SrcL=counter, SrcR=limit), make("BSTOP")]
    prefix = make("HL.LIS", RegDst=limit, simm32=times).to_bytes()
    inner = body + b"".join(word.to_bytes() for word in tail)
    start = make("BSTART.STD.COND", simm17=-len(inner) // 2).to_bytes()
    return prefix + inner + start + b"".join(word.to_bytes() for word in condition)


def address(register: int, value: int, per_pe: bool = False) -> bytes:
    """Put an address into a register; ``per_pe`` adds the PE's own offset, which a2 holds."""
    if not per_pe:
        return make("HL.LIS", RegDst=register, simm32=value).to_bytes()
    t, add = 31, make("ADD", SrcL=24, SrcR=GPR["a2"], SrcRType=3, RegDst=register)
    return make("HL.LIS", RegDst=t, simm32=value).to_bytes() + add.to_bytes()


def shared_load(name: int, rows: int, cols: int) -> bytes:
    words = [
        make("BSTART.TLOAD", DataType=FP16.code),
        make("B.DIM.LB0", uimm17=cols),
        make("B.DIM.LB1", uimm17=rows),
        make("B.IOR", RegSrc0=BASE, RegSrc1=STRIDE),
        make("B.IOS", SharedTID=name, SizeCode=size_code(2 * rows * cols), PEMode=1),
        make("BSTOP"),
    ]
    return b"".join(word.to_bytes() for word in words)


def shared_multiply(a: int, b: int, n: int, k: int, hand: int, distance: int) -> bytes:
    """128 rows over four PEs: the accumulator at ``distance`` in a hand moves to its front."""
    words = [
        make("BSTART.TMATMUL.ACC", DataType=FP16.code),
        make("B.FPATR"),
        make("B.DIM.LB0", uimm17=128),
        make("B.DIM.LB1", uimm17=n),
        make("B.DIM.LB2", uimm17=k),
        make("B.IOS", SharedTID=a, PEMode=ALL_PES),
        make("B.IOS", SharedTID=b, PEMode=ALL_PES),
        make("B.IOT.SD", SrcTile0=16 * hand + distance - 1, L=1, PEMode=ALL_PES, SizeCode=6, DstTile=hand),
        make("BSTOP"),
    ]
    return b"".join(word.to_bytes() for word in words)


A, B, C = 0x10_0000, 0x20_0000, 0x30_0000
N = 512


def cube_matmul() -> tuple[bytes, int]:
    """512^3: operands Shared, two halves of C as 16 x 8 accumulators of 32 x 32 per PE, K in steps of 128."""
    slots, width, depth = 8, 32, 128
    parts: list[bytes] = []
    narrow, wide = (
        make("HL.LIS", RegDst=STRIDE, simm32=2 * N).to_bytes(),
        make("HL.LIS", RegDst=STRIDE, simm32=4 * N).to_bytes(),
    )
    for half in range(N // (slots * width)):
        columns = [half * slots * width + slot * width for slot in range(slots)]
        parts.append(wide)
        for column in columns:
            for hand in range(4):
                parts.append(address(BASE, C + 4 * (hand * 128 * N + column), per_pe=True))
                parts.append(load(FP32, LayoutCode.ND2M32, width, 32, hand))
        parts.append(narrow)
        for k in range(0, N, depth):
            for block in range(4):
                parts.append(address(BASE, A + 2 * (block * 128 * N + k)) + shared_load(block, 128, depth))
            for column in columns:
                parts.append(address(BASE, B + 2 * (k * N + column)) + shared_load(8, depth, width))
                parts += [shared_multiply(hand, 8, width, depth, hand, slots) for hand in range(4)]
        parts.append(wide)
        for slot, column in enumerate(columns):
            for hand in range(4):
                parts.append(address(BASE, C + 4 * (hand * 128 * N + column), per_pe=True))
                parts.append(store(FP32, LayoutCode.M322ND, width, 32, 16 * hand + slots - 1 - slot))
    return b"".join(parts), 480


def cube_machine(code: bytes) -> Machine:
    m = machine(code)
    rng = np.random.default_rng(0)
    for start in (A, B):
        m.memory.write(start, rng.standard_normal((N, N)).astype(np.float16).tobytes())
    for pe in range(4):
        m.set_gpr("a2", pe * 32 * 4 * N, pe)
    return m


def check(code: bytes) -> None:
    """The product is the one of the rule, bit for bit."""
    m = cube_machine(code)
    a, b = (np.frombuffer(m.memory.read(start, 2 * N * N), np.float16).reshape(N, N) for start in (A, B))
    want = np.zeros((N, N), np.float32)
    for k in range(N):
        want += a[:, k, None].astype(np.float32) * b[None, k].astype(np.float32)
    assert m.run().status == "halted"
    assert m.memory.read(C, 4 * N * N) == want.tobytes(), "wrong product"


def measure(report: Report) -> None:
    tiny = 2000
    nd2m16, m162nd, nd2n8 = LayoutCode.ND2M16, LayoutCode.M162ND, LayoutCode.ND2N8
    per_bundle(report, "TLOAD row-major 8 x 8", looped(load(FP16, None, 8, 8, 0), tiny), tiny)
    per_bundle(report, "TLOAD CUBE 16 x 8", looped(load(FP16, nd2m16, 8, 16, 0), tiny), tiny)
    own = address(BASE, 0x4000, per_pe=True)
    per_bundle(report, "TLOAD CUBE 16 x 8, own addresses", looped(own + load(FP16, nd2m16, 8, 16, 0), tiny), tiny)
    code = load(FP16, None, 8, 8, 0) + looped(store(FP16, None, 8, 8, 0), tiny)
    per_bundle(report, "TSTORE 8 x 8", code, tiny)
    operands = load(FP16, nd2m16, 8, 16, 0) + load(FP16, nd2n8, 8, 8, 1) + load(FP32, nd2m16, 8, 16, 2)
    per_bundle(report, "TMATMUL_ACC 16 x 8 x 8", operands + looped(multiply(16, 8, 8), tiny), tiny)
    per_bundle(report, "TSTORE CUBE 16 x 8", operands + looped(store(FP32, m162nd, 8, 16, 32), tiny), tiny)
    code, bundles = cube_matmul()
    check(code)
    per_bundle(report, "512^3 FP16, Shared operands", code, bundles, launch=cube_machine)
