"""Random programs about one operation of ``reference.layout``: its sources loaded, then the bundle itself."""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa.encoding import make
from ptoc.isa.forms import Instruction
from reference import builder as b
from reference.agreement import Case
from reference.builder import Builder
from reference.bundle_programs import AREA, random_program
from reference.element_cases import element
from reference.generator import MASKS, cube_size, power, size_code
from reference.layout import ROWS
from reference.state import up
from reference.transfers import NO_CUBE
from reference.values import NAMES, bits_of

LOADED = {"NORM": 0, "DN": 1, "ZN": 3, "NZ": 4, "CUBE_M32": 21, "CUBE_M16": 22, "CUBE_N8": 23}
STORED = {"NORM": (0, 6, 17, 27), "DN": (1, 18, 28), "ZN": (3, 8, 30), "NZ": (4, 9, 20)}
"""Codes whose destination side is a layout."""


def program(operation: str, seed: int) -> Case:
    """A program with some bundles of the operation, most of them legal."""
    return random_program(operation, seed, Bundles)


@dataclass
class Loaded:
    """A source: its selector and what it is."""

    selector: int
    dtype: str
    layout: str
    rows: int
    cols: int
    wide: int
    size: int


class Bundles:
    """One bundle of an operation and the loads of its sources, whose elements are put into ``memory``."""

    def __init__(self, build: Builder, operation: str, memory: bytearray, base: int) -> None:
        self.build, self.rng, self.memory, self.base = build, build.rng, memory, base
        self.name = operation
        types = ROWS[operation].types if operation in ROWS else list(NAMES.values())
        self.dtype = self.rng.choice(types)
        self.mask = self.rng.choice(MASKS)
        self.loads: list[list[Instruction]] = []
        self.hand = self.rng.randrange(4)
        kind = "part" if operation.startswith("TPART") else operation.lower()
        self.operation: list[Instruction] = [*getattr(self, kind)(), b.stop()]

    # Sources and results

    def shape(self) -> tuple[int, int]:
        return self.rng.randint(1, 6), self.rng.randint(1, 12)

    def room(self, dtype: str, layout: str, rows: int, cols: int) -> tuple[int, int]:
        """Physical columns and a SizeCode for a tile."""
        bits, rng = bits_of(dtype), self.rng
        wide, physical = power(cols) << rng.choice([0, 0, 1]), power(rows) << rng.choice([0, 0, 1])
        if layout in ("ZN", "NZ"):
            wide, physical = max(wide, 256 // bits), max(physical, 16)
        return wide, size_code(-(-wide * physical * bits // 8))

    def layout(self, spread: float = 0.4) -> str:
        return self.rng.choice(["DN", "ZN", "NZ"]) if self.rng.random() < spread else "NORM"

    def load(
        self, rows: int, cols: int, dtype: str = "", layout: str = "", values: list[int] | None = None, mask: int = 0
    ) -> Loaded:
        """Load a source with random elements, or these."""
        rng, slot = self.rng, len(self.loads)
        dtype, layout = dtype or self.dtype, layout or self.layout()
        bits, area = bits_of(dtype), self.base + slot * AREA
        stride = up(-(-cols * bits // 8), max(1, bits // 8))
        for n in range(rows * cols):
            value = element(rng, dtype) if values is None else values[n] % 2**bits
            self._put(area + n // cols * stride, n % cols, bits, value)
        if layout.startswith("CUBE"):
            wide, size = 0, cube_size(layout, dtype, rows, cols)
        else:
            wide, size = self.room(dtype, layout, rows, cols)
        dims = [b.dim(0, cols), b.dim(1, rows), *([b.dim(2, wide)] if wide else [])]
        ior = b.ior(self.build.register([area] * 4), self.build.register([stride] * 4))
        binding = b.iot(mask or self.mask, hand=slot, size=size)
        self.loads.append([b.start("TLOAD", dtype), b.datr(LOADED[layout]), *dims, ior, binding, b.stop()])
        return Loaded(16 * slot, dtype, layout, rows, cols, wide, size)

    def _put(self, row: int, c: int, bits: int, value: int) -> None:
        if bits == 4:
            at = row + c // 2
            self.memory[at] = self.memory[at] & (0xF0 if c % 2 == 0 else 0x0F) | value << 4 * (c % 2)
        else:
            at = row + c * bits // 8
            self.memory[at : at + bits // 8] = value.to_bytes(bits // 8, "little")

    def dims(self, rows: int, cols: int, wide: int) -> list[Instruction]:
        found = [b.dim(0, cols)]
        if rows != 1 or self.rng.random() < 0.5:
            found.append(b.dim(1, rows))
        if wide != cols or self.rng.random() < 0.5:
            found.append(b.dim(2, wide))
        return found

    def attributes(self, layout: str = "NORM", **more: int) -> list[Instruction]:
        """B.DATR with a code for the layout of the result, or without need of one."""
        if layout == "NORM" and not more and self.rng.random() < 0.4:
            return []
        code = self.rng.choice(STORED[layout]) if layout in STORED else 0
        return [b.datr(code, **{"dtype": self.rng.choice([0, 31]), **more})]

    def scalars(self, *values: int) -> list[Instruction]:
        """B.IOR, each PE with the same values; left out sometimes where all are zero."""
        if not any(values) and self.rng.random() < 0.3:
            return []
        return [b.ior(*(self.build.register([value] * 4) for value in values))]

    def to(self, sources: list[Loaded], rows: int, cols: int, layout: str, *commands: Instruction) -> list[Instruction]:
        """A bundle with a result of this shape, in a layout of its own."""
        wide, size = self.room(self.dtype, layout, rows, cols)
        return [
            b.start(self.name, self.dtype),
            *commands,
            *self.dims(rows, cols, wide),
            b.iot(self.mask, *(s.selector for s in sources), hand=self.hand, size=size),
        ]

    def mistaken(self, chance: float = 0.06) -> int:
        """Mostly 0; added to what must be exact."""
        return self.rng.choice([1, 1, 2]) if self.rng.random() < chance else 0

    # Operations

    def tconcat(self) -> list[Instruction]:
        (rows, cols), more, to = self.shape(), self.rng.randint(1, 8), self.layout()
        sources = [self.load(rows, cols), self.load(rows + self.mistaken(), more)]
        return self.to(sources, rows, cols + more + self.mistaken(), to, *self.attributes(to))

    def textract(self) -> list[Instruction]:
        rng, to = self.rng, self.layout()
        src = self.load(*self.shape())
        row, col = rng.randrange(src.rows), rng.randrange(src.cols)
        rows, cols = rng.randint(1, src.rows - row) + self.mistaken(), rng.randint(1, src.cols - col) + self.mistaken()
        high = rng.choice([0, 0, 1 << 16, 1 << 63])
        return self.to([src], rows, cols, to, *self.attributes(to), *self.scalars(row | high, col))

    def tinsert(self) -> list[Instruction]:
        rng = self.rng
        old = self.load(*self.shape())
        rows, cols = rng.randint(1, old.rows), rng.randint(1, old.cols)
        row, col = rng.randint(0, old.rows - rows) + self.mistaken(), rng.randint(0, old.cols - cols) + self.mistaken()
        src = self.load(rows, cols)
        return [
            b.start(self.name, self.dtype),
            *self.attributes(old.layout if rng.random() > 0.06 else "DN"),
            *self.scalars(row, col),
            *self.dims(old.rows, old.cols, old.wide),
            b.iot(self.mask, old.selector, src.selector, hand=self.hand, size=old.size),
        ]

    def tfillpad(self) -> list[Instruction]:
        rng, to = self.rng, self.layout()
        src = self.load(*self.shape())
        rows, cols = src.rows + rng.randint(0, 3) - self.mistaken(), src.cols + rng.randint(0, 4)
        wide, size = self.room(self.dtype, to, max(rows, 1), max(cols, src.wide) if rng.random() < 0.9 else cols)
        return [
            b.start(self.name, self.dtype),
            *self.attributes(to),
            *self.scalars(element(rng, self.dtype) | rng.choice([0, 1 << 63])),
            *self.dims(max(rows, 1), cols, wide),
            b.iot(self.mask, src.selector, hand=self.hand, size=min(max(size, src.size), 10)),
        ]

    def ttrans(self) -> list[Instruction]:
        to, src = self.layout(), self.load(*self.shape())
        return self.to([src], src.cols, src.rows + self.mistaken(), to, *self.attributes(to))

    def tci(self) -> list[Instruction]:
        rng = self.rng
        scalars = self.scalars(rng.choice([0, rng.getrandbits(64)]), rng.randint(0, 1) + self.mistaken())
        cols = rng.choice([rng.randint(1, 12), rng.randint(1, 300)])
        return self.to([], 1 + self.mistaken(), cols, "NORM", *self.attributes(), *scalars)

    def ttri(self) -> list[Instruction]:
        rng = self.rng
        diagonal = rng.choice([0, rng.randint(-8, 14), -65535, 65535, 65536 if self.mistaken() else 1, 2]) % 2**64
        scalars = self.scalars(diagonal, rng.randint(0, 1) + self.mistaken(0.02))
        return self.to([], *self.shape(), "NORM", *self.attributes(), *scalars)

    def part(self) -> list[Instruction]:
        rng = self.rng
        rows, cols = self.shape()
        less = rng.randint(1, rows) + self.mistaken(), rng.randint(1, cols)
        shapes = [(rows, cols), less]
        if self.mistaken():
            shapes[0] = (max(1, rows - 1), cols)
        rng.shuffle(shapes)
        plain = [self.layout(0.03) for _ in shapes]
        sources = [self.load(*shape, layout=layout) for shape, layout in zip(shapes, plain)]
        return self.to(sources, rows, cols, "NORM", *([b.datr(dtype=31)] if rng.random() < 0.05 else []))

    def _copy(self, layouts: list[str], mask: int = 0) -> tuple[Loaded, list[Instruction]]:
        layout = self.rng.choice(layouts)
        src = self.load(*self.shape(), layout=layout, mask=mask)
        attributes = []
        if not layout.startswith("CUBE") and self.rng.random() < 0.6:
            attributes = [b.datr(self.rng.choice(STORED[layout]), self.rng.choice([0, 31]))]
        return src, attributes

    def tmov(self) -> list[Instruction]:
        rng = self.rng
        cubes = [] if self.dtype in NO_CUBE else ["CUBE_M32", "CUBE_M16", "CUBE_N8"]
        src, attributes = self._copy(["NORM", "NORM", "DN", "ZN", "NZ", *cubes])
        own = [b.dim(0, src.cols + self.mistaken()), b.dim(1, src.rows), *([b.dim(2, src.wide)] if src.wide else [])]
        dims = [dim for dim in own if rng.random() < 0.5]
        dtype = rng.choice([self.dtype, self.dtype, "none"])
        size = min(src.size + self.mistaken(), 10)
        return [b.start("TMOV", dtype), *attributes, *dims, b.iot(self.mask, src.selector, hand=self.hand, size=size)]

    def gmov(self) -> list[Instruction]:
        rng = self.rng
        while bits_of(self.dtype) == 64:
            self.dtype = rng.choice(list(NAMES.values()))
        layouts = ["NORM", "NORM", "DN", "ZN", "NZ"]
        src, attributes = self._copy(layouts, 15 if rng.random() < 0.95 else self.mask)
        # A value of its own on every PE, so that it shows whose tile was taken.
        own = [4 * self.base // AREA + pe for pe in range(4)]
        self.loads.append(
            [
                b.start("TEXPANDS", "U32"),
                make("B.DIM.LB0", uimm17=1),
                b.ior(self.build.register(own)),
                b.iot(15, hand=3, size=1),
                b.stop(),
            ]
        )
        selector = src.selector
        if rng.random() < 0.5:
            selector, self.dtype, attributes, src.size = 48, "U32", [], 1
        peers = [rng.randrange(4) + 4 * self.mistaken(0.02) for _ in range(4)]
        ior = [b.ior(self.build.register(peers))] if rng.random() < 0.9 else []
        size = min(src.size + self.mistaken(), 10)
        return [b.start("GMOV", self.dtype), *attributes, *ior, b.iot(self.mask, selector, hand=self.hand, size=size)]
