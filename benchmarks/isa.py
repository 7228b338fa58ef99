"""What disassembling and assembling cost, as multiples of what Python cannot do without.

Disassembling is compared with unpacking the words (`struct.iter_unpack`), assembling with splitting the same text into
tokens (one compiled regular expression), and 4 MiB with 1 MiB. All are measured in turns, in one process; a ratio is
the median of the ratios of the rounds. Times are of the processor, so that other work on the machine does not count.

The input is to three quarters the code of compiled kernels, one after the other and repeated as often as needed, and to
one quarter instructions with random legal fields, nearly all of them different. Compiled code alone is faster, for its
lines repeat; random instructions alone are slower. Both are measured too, but the limits are about the mix.
"""

from __future__ import annotations

import gc
import itertools
import random
import re
import struct
import time
from collections.abc import Callable, Iterator

import numpy as np

import ptoc
from benchmarks.harness import Report, Row, Sample
from ptoc.backend import assemble, disassemble
from ptoc.isa.encoding import FORMS, Field, Form, Instruction
from ptoc.isa.text import canonical

MIB = 1 << 20
COMPILED, RANDOM = 3072, 1024
"""Bytes of each kind in the mix, by turns."""
LIMITS = {"disassemble": 100.0, "assemble": 15.0, "disassemble 4 MiB": 4.5, "assemble 4 MiB": 4.5}

TOKEN = re.compile(r"\w+|->|[^\w\s]")
WORD = struct.Struct("<I")


@ptoc.jit
def product(a, b):
    return np.matmul(a, b, dtype=np.float32)


@ptoc.jit
def update(a, b, c):
    c[...] = c + np.matmul(a, b, dtype=np.float32)


@ptoc.jit
def clip(x, y):
    return np.where(x < y, x, y)


def compiled_code() -> bytes:
    """The code of the kernels for shapes that fit tiles and shapes that do not."""
    programs = []
    for m, n, k in ((64, 64, 64), (100, 60, 200), (130, 257, 33), (512, 512, 512), (1000, 24, 72)):
        a, b, c = ptoc.spec((m, k), "float16"), ptoc.spec((k, n), "float16"), ptoc.spec((m, n), "float32")
        programs += [product.compile(a, b), update.compile(a, b, c), clip.compile(c, c)]
    return b"".join(program.code() for program in programs)


def random_code(generator: random.Random) -> Iterator[bytes]:
    forms = [form for form in FORMS if form.syntax and form.tier in ("needed", "core", "extra")]
    while True:
        inst = random_instruction(generator, generator.choice(forms))
        if canonical(inst):
            yield inst.to_bytes()


def random_instruction(generator: random.Random, form: Form) -> Instruction:
    def value(f: Field) -> int:
        if f.allowed is not None:
            return generator.choice(sorted(f.allowed))
        return generator.randrange(f.low, f.high + 1, f.step)

    return Instruction(form, tuple(map(value, form.fields)))


def whole_instructions(parts: Iterator[bytes], size: int) -> bytes:
    """At least ``size`` bytes."""
    found = bytearray()
    while len(found) < size:
        found += next(parts)
    return bytes(found)


def repeated(code: bytes) -> Iterator[bytes]:
    """Compiled code in stretches; what a cut instruction decodes to instead is as good as any."""
    for start in itertools.cycle(range(0, len(code), COMPILED)):
        yield code[start : start + COMPILED]


def mixed(compiled: Iterator[bytes], invented: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        yield next(compiled)
        yield whole_instructions(invented, RANDOM)


def inputs() -> dict[str, bytes]:
    generator = random.Random(1)
    compiled, invented = repeated(compiled_code()), random_code(generator)
    mix = whole_instructions(mixed(compiled, invented), 4 * MIB)
    return {
        "mix": mix[:MIB],
        "mix 4 MiB": mix[: 4 * MIB],
        "compiled": whole_instructions(compiled, MIB)[:MIB],
        "random": whole_instructions(invented, MIB)[:MIB],
    }


def unpack_words(code: bytes) -> None:
    for _ in WORD.iter_unpack(code):
        pass


def seconds(function: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(report: Report) -> None:
    found = inputs()
    texts = {name: disassemble(code) for name, code in found.items()}
    for name, code in found.items():
        assert assemble(texts[name], raw=True) == code, name
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(report.pairs):
        for name, code in found.items():
            text = texts[name]
            steps: dict[str, Callable[[], object]] = {
                "unpack": lambda code=code: unpack_words(code),
                "disassemble": lambda code=code: disassemble(code),
                "tokenise": lambda text=text: TOKEN.findall(text),
                "assemble": lambda text=text: assemble(text, raw=True),
            }
            for step, function in steps.items():
                times.setdefault((name, step), []).append(seconds(function))

    def ratio(what: str, one: tuple[str, str], other: tuple[str, str], limit: float | None) -> None:
        report.add(Row(what, Sample.of([a / b for a, b in zip(times[one], times[other])]), "x", limit))

    for name, code in found.items():
        for step, base in (("disassemble", "unpack"), ("assemble", "tokenise")):
            ratio(f"{step} / {base}, {name}", (name, step), (name, base), LIMITS[step] if name == "mix" else None)
            rate = [len(code) / MIB / t for t in times[name, step]]
            report.add(Row(f"{step}, {name}", Sample.of(rate), "MiB/s"))
        lines = texts[name].split("\n")
        report.note(f"    {name}: {len(lines) - 1} lines, {len(set(lines))} different ones")
    for step in ("disassemble", "assemble"):
        ratio(f"{step} 4 MiB / 1 MiB", ("mix 4 MiB", step), ("mix", step), LIMITS[f"{step} 4 MiB"])
