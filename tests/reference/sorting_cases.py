"""Random programs about one operation that sorts, counts or quantises."""

from __future__ import annotations

import struct
from functools import cmp_to_key

from ptoc.isa.forms import Instruction
from reference import builder as b
from reference.agreement import Case
from reference.bundle_programs import random_program
from reference.element_cases import element
from reference.generator import power, size_code
from reference.layout_cases import Bundles, Loaded
from reference.sorting import TYPES, before
from reference.values import CODES, bits_of

SCALES = (1.0, 0.5, 2.0, 0.1, 3.0e-39, 1.0e38, 0.0625, 7.3)


def program(operation: str, seed: int) -> Case:
    """A program with some bundles of the operation, most of them legal."""
    return random_program(operation, seed, Sorted)


class Sorted(Bundles):
    """One bundle of such an operation."""

    def _typed(self) -> None:
        self.dtype = self.rng.choice(TYPES[self.name])

    def _near(self, count: int) -> list[int]:
        """Elements that are often equal."""
        few = [element(self.rng, self.dtype) for _ in range(4)] + [0, 1 << (bits_of(self.dtype) - 1)]
        return [self.rng.choice(few) if n % 2 else element(self.rng, self.dtype) for n in range(count)]

    def tsort(self) -> list[Instruction]:
        self._typed()
        rng = self.rng
        rows, cols = rng.randint(1, 3), rng.choice([rng.randint(1, 12), rng.randint(20, 90)])
        src = self.load(rows, cols, layout=self.layout(0.03), values=self._near(rows * cols))
        width = rng.choice([None, 0, rng.randint(1, 12), rng.randint(1, 64), 65 if self.mistaken() else 64])
        descending = rng.choice([0, 1, 1]) + self.mistaken(0.03)
        size = src.size + (1 if self.dtype == "FP16" else 0)
        return [
            b.start(self.name, self.dtype),
            *self.attributes(),
            *([] if width is None else [b.dim(0, width)]),
            *self.scalars(descending),
            b.iot(self.mask, src.selector, hand=self.hand, size=src.size + self.mistaken(0.03), last=False),
            b.iot(self.mask, hand=rng.randrange(4), size=size + self.mistaken(0.03)),
        ]

    def tmrgsort(self) -> list[Instruction]:
        self._typed()
        rng, descending = self.rng, self.rng.randint(0, 1)
        key = cmp_to_key(lambda x, y: before(self.dtype, descending == 1, x, y))
        sources = []
        for _ in range(2):
            values = sorted(self._near(rng.randint(1, 30)), key=key)
            if self.mistaken(0.04):
                values.reverse()
            rows = 1 + self.mistaken(0.02)
            sources.append(self.load(rows, len(values), layout="NORM", values=values * rows))
        cols = sum(source.cols for source in sources)
        size = size_code(power(cols) * bits_of(self.dtype) // 8) + rng.choice([0, 0, 1]) - self.mistaken(0.03) // 2
        return [
            b.start(self.name, self.dtype),
            *self.attributes(),
            *self.scalars(descending),
            b.iot(self.mask, *(s.selector for s in sources), hand=self.hand, size=max(size, 1)),
        ]

    def thistogram(self) -> list[Instruction]:
        self._typed()
        rng, top = self.rng, 1 if self.dtype == "U16" else 3
        rows, cols, chosen = rng.randint(1, 3), rng.randint(1, 12), rng.randint(0, top) + self.mistaken(0.04)
        high = [rng.choice([rng.getrandbits(8), 0, 255]) for _ in range(4)]
        filters = [high[0]] * rows if self.dtype == "U16" else high
        values = [self._with(high) if rng.random() < 0.8 else element(rng, self.dtype) for _ in range(rows * cols)]
        src = self.load(rows, cols, layout="NORM", values=values)
        count, size = max(1, len(filters) - self.mistaken(0.05)), size_code(1024 * rows) + rng.randint(0, 1)
        chooser = self.load(count, 1, "U8", "NORM", filters[:count])
        return [
            b.start(self.name, self.dtype),
            b.datr(dtype=CODES["U32"], pad=chosen % 4),
            b.iot(self.mask, src.selector, chooser.selector, hand=self.hand, size=size),
        ]

    def _with(self, high: list[int]) -> int:
        """An element some of whose higher bytes are given."""
        count = bits_of(self.dtype) // 8
        given = self.rng.randint(0, count - 1)
        data = high[:given] + [self.rng.choice([0, 1, 254, 255, self.rng.getrandbits(8)]) for _ in range(count - given)]
        return int.from_bytes(bytes(data[:count]), "big")

    def _affine(self, integer: str, result: str, src: Loaded, **fields: int) -> list[Instruction]:
        rng = self.rng
        low, high = (-128, 127) if integer == "S8" else (0, 255)
        scale = struct.unpack("<I", struct.pack("<f", rng.choice(SCALES)))[0]
        if self.mistaken(0.03):
            scale = rng.choice([0, 0x7F800000, 0x7FC00000, 0xBF800000])
        zero = rng.choice([0, rng.randint(low, high), low, high, high + 1 if self.mistaken() else 1])
        words = (scale | rng.choice([0, 1 << 40]), zero % 2**64)
        bits = {"S8": 8, "U8": 8, "FP32": 32}
        size = size_code((128 << src.size - 1) * bits[result] // bits[src.dtype])
        return [
            b.start(self.name, self.dtype),
            b.datr(dtype=CODES[result], rmode=rng.randrange(8), **fields),
            *self.dims(src.rows, src.cols, src.wide),
            *(self.scalars(*words) if rng.random() < 0.85 else []),
            b.iot(self.mask, src.selector, hand=self.hand, size=size + self.mistaken(0.03)),
        ]

    def _many(self, rows: int, cols: int, dtype: str, values: list[int]) -> Loaded:
        """A source whose capacity is four cells or more, so that bytes of its elements fill one."""
        loaded = self.load(rows, cols, dtype, "NORM", values)
        while (128 << loaded.size - 1) < (512 if dtype == "FP32" else 128):
            loaded.size += 1
        *most, _, stop = self.loads[-1]
        self.loads[-1] = [*most, b.iot(self.mask, hand=loaded.selector // 16, size=loaded.size), stop]
        return loaded

    def tquant(self) -> list[Instruction]:
        self._typed()
        rng, (rows, cols) = self.rng, self.shape()
        result = rng.choice(["S8", "U8"])
        values = []
        for _ in range(rows * cols):
            wide = rng.randint(-9, 9) * 2.0 ** rng.randint(-60, 90)
            x = rng.choice([rng.uniform(-300, 300), rng.randint(-520, 520) / 4, wide])
            values.append(struct.unpack("<I", struct.pack("<f", x))[0] if rng.random() < 0.8 else element(rng, "FP32"))
        return self._affine(result, result, self._many(rows, cols, "FP32", values), sat=rng.randint(0, 1))

    def tdequant(self) -> list[Instruction]:
        self._typed()
        rng, (rows, cols) = self.rng, self.shape()
        values = [rng.getrandbits(8) for _ in range(rows * cols)]
        return self._affine(self.dtype, "FP32", self._many(rows, cols, self.dtype, values))
