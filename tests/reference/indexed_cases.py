"""Random programs about one indexed operation, or about TPREFETCH."""

from __future__ import annotations

from ptoc.isa.forms import Instruction
from reference import builder as b
from reference.agreement import Case
from reference.builder import Builder
from reference.bundle_programs import BUNDLES, random_program
from reference.element_cases import element
from reference.indexed import BYTE_INDEX, NP20, ROLES, ROW_INDEX
from reference.layout_cases import Bundles, Loaded
from reference.values import NAMES, bits_of

SPACE = 0xC000
"""Where indexed accesses go."""


def program(operation: str, seed: int) -> Case:
    """A program with some bundles of the operation, most of them legal."""
    return random_program(operation, seed, Indexed, count=BUNDLES - 1, filled_from=SPACE)


class Indexed(Bundles):
    """One bundle of an indexed operation."""

    def __init__(self, build: Builder, operation: str, memory: bytearray, base: int) -> None:
        self.types = NP20 if operation != "TPREFETCH" else [t for t in NAMES.values() if bits_of(t) < 64]
        super().__init__(build, operation, memory, base)

    def _typed(self) -> None:
        self.dtype = self.rng.choice(self.types)

    # Rows by index

    def tgather(self) -> list[Instruction]:
        self._typed()
        rng, to = self.rng, self.layout()
        value = self.load(*self.shape())
        rows, cols = rng.randint(1, 6), rng.randint(1, value.cols) + self.mistaken(0.03)
        numbers = [rng.randrange(value.rows) for _ in range(rows * cols)]
        if rng.random() < 0.08:
            numbers[rng.randrange(len(numbers))] = rng.choice([-1, value.rows])
        index = self.load(rows, cols, rng.choice(ROW_INDEX), values=numbers)
        return self.to([value, index], rows, cols, to, *self.attributes(to))

    def tscatter(self) -> list[Instruction]:
        self._typed()
        rng, to = self.rng, self.layout()
        value = self.load(*self.shape())
        rows = value.rows + rng.randint(0, 3)
        columns = [rng.sample(range(rows), value.rows) for _ in range(value.cols)]
        numbers = [column[r] for r in range(value.rows) for column in columns]
        if rng.random() < 0.12:
            numbers[rng.randrange(len(numbers))] = rng.choice([-1, rows, numbers[0]])
        index = self.load(value.rows, value.cols, rng.choice(ROW_INDEX), values=numbers)
        return self.to([value, index], rows, value.cols + self.mistaken(0.03), to, *self.attributes(to))

    # Memory

    def _displacements(self, count: int) -> list[int]:
        """Aligned byte displacements, some of them equal."""
        rng, step = self.rng, bits_of(self.dtype) // 8
        few = rng.random() < 0.4
        numbers = [step * rng.randrange(4 if few else 200) for _ in range(count)]
        if rng.random() < 0.08:
            numbers[rng.randrange(count)] = rng.choice([1, 1 << 20, -(1 << 17)])
        return numbers

    def _memory(self) -> list[Instruction]:
        self._typed()
        rng = self.rng
        rows, cols = rng.randint(1, 4), rng.randint(1, 8)
        layout = "NORM" if self.name == "MGATHER_MASK" else self.layout(0.2)
        wide, size = self.room(self.dtype, layout, rows, cols)
        sources = {role: self._role(role, rows, cols, layout) for role in ROLES[self.name]}
        if "data" in sources and rng.random() < 0.95:
            wide = sources["data"].wide
        base = [SPACE + 0x400 + (pe * 0x40 if rng.random() < 0.5 else 0) for pe in range(4)]
        pad = [] if self.name == "MSCATTER" else [rng.randrange(4)]
        attributes = self.attributes(layout, **({"pad": pad[0]} if pad and rng.random() < 0.7 else {}))
        selectors = [source.selector for source in sources.values()]
        ends = {} if self.name == "MSCATTER" else {"hand": self.hand, "size": size}
        records = [b.iot(self.mask, *selectors[:2], last=False)] if len(selectors) > 2 else []
        return [
            b.start(self.name, self.dtype),
            *attributes,
            *self.dims(rows, cols, wide),
            b.ior(self.build.register(base)),
            *records,
            b.iot(self.mask, *selectors[len(records) * 2 :], **ends),
        ]

    mgather = mgather_mask = mgather_cas = mscatter = _memory

    def _role(self, role: str, rows: int, cols: int, layout: str) -> Loaded:
        rng, count = self.rng, rows * cols
        if role == "index":
            return self.load(rows, cols, rng.choice(BYTE_INDEX), layout, self._displacements(count))
        if role == "mask":
            return self._mask(rows, cols)
        values = [element(rng, self.dtype) for _ in range(count)]
        if role == "expected":
            # Often what stands there, or what another lane has put there.
            data = self.memory[SPACE + 0x400 :]
            step = bits_of(self.dtype) // 8
            there = [int.from_bytes(data[n * step : (n + 1) * step], "little") for n in range(4)]
            values = [rng.choice([*there, 1, 2, 3]) for _ in range(count)]
        if role == "replacement":
            values = [rng.choice([1, 2, 3, value]) for value in values]
        return self.load(rows, cols, self.dtype, layout, values)

    def _mask(self, rows: int, cols: int) -> Loaded:
        left = self.load(rows, cols, "U8", "NORM", [self.rng.randrange(2) for _ in range(rows * cols)])
        compare = [b.start("TCMP", "U8"), b.datr(pad=self.rng.randrange(4), cmode=0), b.dim(0, cols), b.dim(1, rows)]
        zeros = [b.start("TEXPANDS", "U8"), b.dim(0, cols), b.dim(1, rows), b.dim(2, left.wide)]
        self.loads.append([*zeros, b.iot(self.mask, hand=3, size=left.size), b.stop()])
        binding = b.iot(self.mask, left.selector, 48, hand=2, size=left.size)
        self.loads.append([*compare, b.dim(2, left.wide), binding, b.stop()])
        return Loaded(32, "U8", "NORM", rows, cols, left.wide, left.size)

    def tprefetch(self) -> list[Instruction]:
        self._typed()
        rng, bits = self.rng, bits_of(self.dtype)
        rows, cols = rng.randint(1, 5), rng.randint(1, 9)
        wide, _ = self.room(self.dtype, "NORM", rows, cols)
        commands: list[Instruction] = [*self.attributes("NORM"), *self.dims(rows, cols, wide)]
        if rng.random() < 0.9:
            step = max(1, bits // 8)
            end = (1 << 16) - (rng.choice([0, 0, 1]) * step * wide * rows)
            bases = [rng.choice([pe * 64, pe * 64, end - rng.randrange(1, 12) * step]) for pe in range(4)]
            bases[0] += self.mistaken(0.05)
            stride = rng.choice([wide, 0, rng.randrange(40), 2**64 - 4])
            commands.append(b.ior(self.build.register(bases), self.build.register([stride] * 4)))
        if rng.random() < 0.04:
            commands.append(b.iot(self.mask, 0))
        return [b.start(self.name, self.dtype), *commands]
