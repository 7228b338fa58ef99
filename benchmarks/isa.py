"""What disassembling and assembling cost, as multiples of what Python cannot do without.

Disassembling is compared with unpacking the words (`struct.iter_unpack`), assembling with splitting the same text into
tokens (one compiled regular expression), and 4 MiB with 1 MiB. All are measured in turns, in one process; a ratio is
the median of the ratios of the rounds. Times are of the processor, so that other work on the machine does not count.

The input is to three quarters the code of compiled kernels, one after the other and repeated as often as needed, and to
one quarter instructions with random legal fields, nearly all of them different. Compiled code alone is faster, for its
lines repeat; random instructions alone are slower. Both are measured too, but the limits are about the mix.

Run: python benchmarks/isa.py [--rounds 7] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import re
import statistics
import struct
import time
from collections.abc import Callable, Iterator

import numpy as np

import ptoc
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


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Ratios and rates by input."""
    results: dict[str, dict[str, float]] = {}
    found = inputs()
    texts = {name: disassemble(code) for name, code in found.items()}
    for name, code in found.items():
        assert assemble(texts[name], raw=True) == code, name
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
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

    def ratio(numerator: tuple[str, str], denominator: tuple[str, str]) -> float:
        return statistics.median(a / b for a, b in zip(times[numerator], times[denominator]))

    for name, code in found.items():
        size = len(code) / MIB
        results[name] = {
            "disassemble / unpack": ratio((name, "disassemble"), (name, "unpack")),
            "assemble / tokenise": ratio((name, "assemble"), (name, "tokenise")),
            "disassemble MiB/s": size / statistics.median(times[name, "disassemble"]),
            "assemble MiB/s": size / statistics.median(times[name, "assemble"]),
            "lines": float(texts[name].count("\n")),
            "different lines": float(len(set(texts[name].split("\n")))),
        }
    for step in ("disassemble", "assemble"):
        results["mix 4 MiB"][f"{step} / 1 MiB"] = ratio(("mix 4 MiB", step), ("mix", step))
    return results


def verdicts(results: dict[str, dict[str, float]]) -> Iterator[tuple[str, float, float]]:
    """What the limits are about: name, ratio, limit."""
    yield "disassemble 1 MiB / unpack", results["mix"]["disassemble / unpack"], LIMITS["disassemble"]
    yield "assemble 1 MiB / tokenise", results["mix"]["assemble / tokenise"], LIMITS["assemble"]
    for step in ("disassemble", "assemble"):
        yield f"{step} 4 MiB / 1 MiB", results["mix 4 MiB"][f"{step} / 1 MiB"], LIMITS[f"{step} 4 MiB"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="measurements of everything (default: 7)")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON too")
    options = parser.parse_args()
    results = measure(options.rounds)
    for name, row in results.items():
        print(name)
        for what, value in row.items():
            print(f"  {what:<24}{value:>12.2f}")
    good = True
    print("limits")
    for what, value, limit in verdicts(results):
        good = good and value <= limit
        print(f"  {what:<30}{value:>8.2f}  of at most {limit:g}: {'holds' if value <= limit else 'BROKEN'}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"results": results, "holds": good}, file, indent=1)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
