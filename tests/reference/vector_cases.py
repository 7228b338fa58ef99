"""Random programs about one vector operation: its sources loaded with telling values, then the bundle itself."""

from __future__ import annotations

from ptoc.isa.forms import Instruction
from reference import builder as b
from reference.agreement import Case
from reference.builder import Builder
from reference.bundle_programs import AREA, random_program
from reference.element_cases import element
from reference.generator import MASKS, power, size_code
from reference.state import up
from reference.values import CODES, NAMES, bits_of, class_of
from reference.vector import F3, LAYOUTS, PAIRS, ROWS, Row

_CONVERTING = {"NORM": 0, "DN": 1, "ZN": 3, "NZ": 4}


def program(operation: str, seed: int) -> Case:
    """A program with some bundles of the operation, most of them legal."""
    return random_program(operation, seed, Bundles, restored=True)


class Bundles:
    """One bundle of the operation and the loads of its sources, whose elements are put into ``memory``."""

    def __init__(self, build: Builder, operation: str, memory: bytearray, base: int) -> None:
        self.build, self.rng, self.memory, self.base = build, build.rng, memory, base
        self.name, self.row = operation, ROWS[operation]
        # FP64 exponentials and logarithms are the host's, to one unit in the last place.
        types = [t for t in self.row.types if t != "FP64" or operation not in ("TEXP", "TLOG")]
        self.dtype = self.rng.choice(types)
        self.result, self.layout = self._result(self.row)
        self.mask = self.rng.choice(MASKS)
        self.pad = self.rng.randrange(4)
        self.loads: list[list[Instruction]] = []
        self._shape()
        selectors = [self._source(kind, slot) for slot, kind in enumerate(self.row.sources)]
        self.operation = self._bundle(selectors)

    def _result(self, row: Row) -> tuple[str, int]:
        rng = self.rng
        if row.kind == "convert":
            types = [t for t in NAMES.values() if t != "E8M0" or self.dtype in F3]
            return rng.choice(types), rng.choice([0, 0, 0, *LAYOUTS])
        if row.kind == "difference":
            return rng.choice([to for source, to in sorted(PAIRS) if source == self.dtype]), 0
        return ("U32" if row.kind == "argument" else self.dtype), 0

    def _shape(self) -> None:
        rng = self.rng
        self.rows, self.cols = rng.randint(1, 4), rng.randint(1, 9)
        self.wide = power(self.cols) << rng.choice([0, 0, 1])
        self.physical = power(self.rows)
        bits = max(bits_of(self.dtype), bits_of(self.result))
        narrow = min(bits_of(self.dtype), bits_of(self.result), 8 if "predicate" in self.row.sources else 64)
        if self.layout:
            self.physical, self.wide = 16, max(self.wide, 256 // narrow)
        # The same physical rows in both types, in tiles of at least one cell.
        self.physical = max(self.physical, 1024 // (self.wide * narrow) if self.wide * narrow < 1024 else 1)
        while self.physical * self.wide * bits > 8 * 4096:
            self.wide //= 2
            self.cols = min(self.cols, self.wide)

    def _source(self, kind: str, slot: int) -> int:
        """Load a source; returns its selector at the time of the bundle."""
        if kind == "predicate":
            for _ in range(2):
                self._load("U8", "full", slot, 3)
            dims = self._dimensions("full")
            attributes = b.datr(pad=self.rng.randrange(4), cmode=self.rng.randrange(6))
            code = size_code(-(-self.physical * self.wide // 8))
            self.loads.append(
                [b.start("TCMP", "U8"), attributes, *dims, b.iot(self.mask, 48, 49, hand=3, size=code), b.stop()]
            )
            return 48
        self._load(self.dtype, kind, slot, slot)
        return 16 * slot

    def _load(self, dtype: str, kind: str, slot: int, hand: int) -> None:
        rng, bits = self.rng, bits_of(dtype)
        rows, cols = {"column": (self.rows, 1), "row": (1, self.cols)}.get(kind, (self.rows, self.cols))
        stride = up(-(-cols * bits // 8), max(1, bits // 8))
        area = self.base + slot * AREA
        for r in range(rows):
            for c in range(cols):
                value = element(rng, dtype)
                if "DIV" in self.name or "REM" in self.name:
                    value = value or int(rng.random() < 0.98)
                self._put(area + r * stride, c, bits, value)
        base = self.build.register([area] * 4)
        layout = _CONVERTING[LAYOUTS[self.layout][0]] if kind == "full" else 0
        self.loads.append(
            [
                b.start("TLOAD", dtype),
                b.datr(layout),
                *self._dimensions(kind),
                b.ior(base, self.build.register([stride] * 4)),
                b.iot(self.mask, hand=hand, size=self._code(dtype, kind)),
                b.stop(),
            ]
        )

    def _put(self, row: int, c: int, bits: int, value: int) -> None:
        if bits == 4:
            at = row + c // 2
            self.memory[at] = self.memory[at] & (0xF0 if c % 2 == 0 else 0x0F) | value << 4 * (c % 2)
        else:
            at = row + c * bits // 8
            self.memory[at : at + bits // 8] = value.to_bytes(bits // 8, "little")

    def _dimensions(self, kind: str) -> list[Instruction]:
        rows, cols = {"column": (self.rows, 1), "row": (1, self.cols)}.get(kind, (self.rows, self.cols))
        return [b.dim(0, cols), b.dim(1, rows), b.dim(2, 1 if kind == "column" else self.wide)]

    def _code(self, dtype: str, kind: str) -> int:
        cols = 1 if kind == "column" else self.wide
        rows = {"column": self.rows, "row": 1}.get(kind, self.physical)
        return size_code(-(-rows * cols * bits_of(dtype) // 8))

    def _bundle(self, selectors: list[int]) -> list[Instruction]:
        rng, row = self.rng, self.row
        commands = [b.start(self.name, self.dtype)]
        if row.kind in ("convert", "difference"):
            neutral = [31] if self.result == self.dtype else []
            dtype = rng.choice([CODES[self.result], *neutral])
            more = {"rmode": rng.randrange(8), "sat": rng.getrandbits(1)} if row.kind == "convert" else {}
            commands.append(b.datr(self.layout, dtype, self.pad, **more))
        elif row.kind == "compare" or rng.random() < 0.8:
            commands.append(b.datr(dtype=rng.choice([0, 31]), pad=self.pad, cmode=self._cmode()))
        commands += self._dimensions("full")
        if row.scalar and rng.random() < 0.9:
            ignored = 0 if bits_of(self.dtype) == 64 else rng.choice([0, 1 << 63])
            values = [element(rng, self.dtype) | ignored for _ in range(4)]
            if class_of(self.dtype) != "floating" and ("DIV" in self.name or "REM" in self.name):
                values = [value or 3 for value in values]
            commands.append(b.ior(self.build.register(values)))
        result = self._result_code()
        hand = rng.randrange(4)
        pairs = [selectors[i : i + 2] for i in range(0, len(selectors), 2)] or [[]]
        commands += [b.iot(self.mask, *pair, last=False) for pair in pairs[:-1]]
        commands.append(b.iot(self.mask, *pairs[-1], hand=hand, size=result))
        return [*commands, b.stop()]

    def _cmode(self) -> int:
        return self.rng.randrange(6) if self.row.kind == "compare" else 0

    def _result_code(self) -> int:
        if self.row.result == "predicate":
            return size_code(-(-self.physical * self.wide // 8)) + self.rng.choice([0, 0, 1])
        code = self._code(self.result, self.row.result)
        spare = self.row.result != "full" and self.rng.random() < 0.3
        return code + spare
