"""From a function to an image in a warm process with nothing cached, against jax and against itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ptoc
from benchmarks.harness import Report, Sample
from ptoc.backend.encoder import encode
from ptoc.backend.lowering import statements
from ptoc.compiler import trace_kernel
from ptoc.dialects import make_context
from ptoc.isa.image import pack
from ptoc.passes import PASSES
from ptoc.passes.pipeline import STAGES

N, CHAIN = 512, 50
OPERANDS = (ptoc.spec((N, N), "float16"), ptoc.spec((N, N), "float16"), ptoc.spec((N, N), "float32"))
PAIR = (ptoc.spec((N, N), "float32"),) * 2


def update(a, b, c):
    return c + np.matmul(a, b, dtype=np.float32)


def chain(length: int) -> Callable[..., Any]:
    """A kernel of so many operations, each on the result of the one before."""

    def chained(x, y):
        for _ in range(length):
            x = np.where(x < y, y, x)
        return x

    return chained


def image(function: Callable[..., Any], specs: tuple[ptoc.ArraySpec, ...]) -> bytes:
    """Compile as if for the first time."""
    return ptoc.jit(function).compile(*specs).image()


def jax_compiler() -> Callable[[], object] | None:
    """A fresh compilation of the same function by jax; ``None`` without jax."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    shapes = [jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in OPERANDS]

    def compile_once() -> object:
        jax.clear_caches()

        def function(a, b, c):  # new each time, so that nothing is found again
            return c + jnp.matmul(a, b, preferred_element_type=jnp.float32)

        return jax.jit(function).lower(*shapes).compile()

    return compile_once


def breakdown() -> dict[str, float]:
    """Seconds of every step of one compilation."""
    times: dict[str, float] = {}
    last = time.perf_counter()

    def done(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        times[step] = times.get(step, 0.0) + now - last
        last = now

    trace, _ = trace_kernel(update, "update", OPERANDS, ("a", "b", "c"), None)
    context, module = make_context(), trace.module
    done("trace")
    module.verify()
    done("verify")
    for passes in STAGES.values():
        for name in passes:
            PASSES[name]()().apply(context, module)
            done(name)
        module.verify()
        done("verify")
        module.clone()
        done("keep the level")
    listing = statements(module, None)
    done("statements")
    pack(encode(listing))
    done("encode and pack")
    return times


def measure(report: Report) -> None:
    compile_with_jax = jax_compiler()
    if compile_with_jax is None:
        report.note("  skipped: compiling against jax, which is not installed")
        report.measure("trace, compile and pack the matmul kernel", lambda: image(update, OPERANDS), "ms", 1e3)
    else:
        report.compare(f"matmul {N}^3 / jax", lambda: image(update, OPERANDS), compile_with_jax, 3)
    one, many = chain(1), chain(CHAIN)
    report.compare(
        f"{CHAIN} chained operations / one", lambda: image(many, PAIR), lambda: image(one, PAIR), 60, times=5
    )
    rounds = [breakdown() for _ in range(report.pairs)]
    total = sum(Sample.of([times[step] for times in rounds]).median for step in rounds[0])
    report.note("  by step:")
    for step in rounds[0]:
        median = Sample.of([times[step] for times in rounds]).median
        report.note(f"    {step:<24} {1e3 * median:7.2f} ms {100 * median / total:5.1f} %")
