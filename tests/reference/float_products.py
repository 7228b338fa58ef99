"""Random floating products of the simulator against a loop: ``python float_products.py FIRST COUNT``.

Every pair of the twelve floating types takes its turn; operands are random bits, specials (NaN, infinities, signed
zeros, subnormals, the largest numbers) or ordinary numbers. What was compared is printed, with the kernel.
"""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from ptoc.isa.dtypes import BY_NAME
from ptoc.runtime.numerics import formats, matmul
from reference.matrix import PRIMARIES
from reference.values import bits_of, class_of, number, single, single_bits

TYPES = [name for name in PRIMARIES if class_of(name) == "floating"]
PAIRS = [(a, b) for a in TYPES for b in TYPES]


def specials(name: str) -> list[int]:
    """Patterns at the borders of a type: zeros, subnormals, the largest numbers, infinities, NaNs."""
    bits = bits_of(name)
    top = 1 << bits - 1
    low = [0, 1, 2, 3]
    high = [top - 1 - n for n in range(min(4, top - 1))]
    exponent = {"FP32": 23, "TF32": 23, "HF32": 23, "FP16": 10, "BF16": 7, "E5M2": 2}.get(name)
    infinity = [] if exponent is None else [(top - 1) >> exponent << exponent, 1 << exponent, (1 << exponent) - 1]
    found = [*low, *high, *infinity]
    found += [0x6F, 0x80, 0x6E] if name == "HiF8" else []
    return found + [(code | top) % (1 << bits) for code in found]


def operand(rng: random.Random, name: str, rows: int, cols: int, kind: str) -> list[list[int]]:
    """A matrix of element codes."""
    bits, borders = bits_of(name), specials(name)

    def element() -> int:
        if kind == "specials" or (kind == "mixed" and rng.random() < 0.1):
            return rng.choice(borders)
        if bits == 32 and kind != "bits":
            return int(struct.unpack("<I", struct.pack("<f", rng.uniform(-2, 2) * 2.0 ** rng.randint(-3, 3)))[0])
        return rng.getrandbits(bits)

    return [[element() for _ in range(cols)] for _ in range(rows)]


def plain_loop(a: list[list[float]], b: list[list[float]], c: list[list[float]] | None) -> list[list[int]]:
    """The rule, element by element: k ascending, the product and the sum rounded each."""
    out = []
    for m, row in enumerate(a):
        out.append([])
        for n in range(len(b[0])):
            acc = 0.0 if c is None else c[m][n]
            for k, x in enumerate(row):
                acc = single(acc + single(x * b[k][n]))
            out[-1].append(single_bits(acc))
    return out


def wrong(seed: int) -> str:
    """What is wrong in the case of a seed, or an empty text."""
    rng = random.Random(seed)
    names = PAIRS[seed % len(PAIRS)]
    m, n, k = rng.randint(1, 9), rng.randint(1, 9), rng.choice([1, 2, rng.randint(3, 40)])
    kind = rng.choice(["bits", "mixed", "mixed", "specials", "ordinary"])
    shapes = ((m, k), (k, n))
    codes = [operand(rng, name, *shape, kind) for name, shape in zip(names, shapes)]
    start = operand(rng, "FP32", m, n, kind) if rng.random() < 0.7 else None
    types = [BY_NAME[name] for name in names]
    floats = [formats.decode_floats(t, np.array(c, f"u{max(1, t.bits // 8)}")) for t, c in zip(types, codes)]
    begin = None if start is None else np.array(start, np.uint32).view(np.float32)
    got = matmul.accumulate_floats(*floats, begin, exact=matmul.exact_products(*types)).view(np.uint32)
    exact = [[[number(name, code) for code in row] for row in matrix] for name, matrix in zip(names, codes)]
    want = plain_loop(*exact, None if start is None else [[number("FP32", code) for code in row] for row in start])
    return "" if got.tolist() == want else f"case {seed}: {m} x {n} x {k}, {' x '.join(names)}, {kind}"


def compare(first: int, count: int) -> list[str]:
    """The complaints of so many cases."""
    return [text for seed in range(first, first + count) if (text := wrong(seed))]


def main() -> None:
    # The compiled kernels are loaded when they pay; here they do from the first product on.
    matmul._PORTABLE_BUDGET = 0
    matmul.CHOICE = matmul.KernelChoice()
    complaints = compare(int(sys.argv[1]), int(sys.argv[2]))
    print(*complaints, sep="\n")
    print(f"{len(complaints)} wrong", "numba" in sys.modules)


if __name__ == "__main__":
    main()
