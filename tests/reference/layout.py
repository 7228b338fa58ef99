"""Bundles of the SFU operations of mode 3, of TMOV and of GMOV, element by element (layout_ops.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from reference import arithmetic as exact
from reference.bundle import Bundle
from reference.machine import Reference
from reference.state import Tile, norm_tile, refuse_if, size
from reference.values import CODES, NAMES, bits_of, names
from reference.vector import A9, ALLOCATION, CONTROL, LAYOUTS, LEGALITY

MOVE24 = [name for name in NAMES.values() if name != "HiF4X2"]
CARRIER17 = names("HiF8 E4M3 E5M2 E3M2 E2M3 E8M0 S8 U8 FP16 BF16 S16 U16 FP32 TF32 HF32 S32 U32")
A7 = [name for name in A9 if name not in ("S8", "U8")]
ONE = {"FP32": 0x3F800000, "FP16": 0x3C00}


@dataclass(frozen=True)
class Row:
    """A line of the table: ``records`` are sources and destination of every B.IOT, ``scalars`` registers of B.IOR."""

    function: int
    types: list[str]
    records: tuple[tuple[int, bool], ...]
    scalars: int = 0
    attributes: tuple[str, ...] = ()
    dims: str = "123"
    early: bool = False
    relaid: bool = True


_ONE_TO_ONE, _TWO_TO_ONE, _TO_ONE = ((1, True),), ((2, True),), ((0, True),)
ROWS = {
    "TCONCAT": Row(0, MOVE24, _TWO_TO_ONE, attributes=("Layout",)),
    "TEXTRACT": Row(2, MOVE24, _ONE_TO_ONE, 2, ("Layout",)),
    "TINSERT": Row(3, MOVE24, _TWO_TO_ONE, 2, ("Layout",)),
    "TFILLPAD": Row(5, CARRIER17, _ONE_TO_ONE, 1, ("Layout",)),
    "TCI": Row(6, names("S32 S16 U32 U16"), _TO_ONE, 2),
    "TTRI": Row(7, names("FP32 FP16 S32 S16 U32 U16"), _TO_ONE, 2),
    "TTRANS": Row(14, MOVE24, _ONE_TO_ONE, attributes=("Layout",)),
    "TPARTADD": Row(17, A9, _TWO_TO_ONE, early=True, relaid=False),
    "TPARTMUL": Row(18, A7, _TWO_TO_ONE, early=True, relaid=False),
    "TPARTMAX": Row(19, A9, _TWO_TO_ONE, early=True, relaid=False),
    "TPARTMIN": Row(20, A9, _TWO_TO_ONE, early=True, relaid=False),
}
SELECTORS = {(3, row.function): name for name, row in ROWS.items()}
PLAIN = {"NORM", "DN", "ZN", "NZ"}


def check_records(bundle: Bundle, records: tuple[tuple[int, bool], ...], scalars: int) -> None:
    """Step 2 of vector.md section 3, and the structure of the records."""
    counts = sum(len(b.sources) for b in bundle.locals), sum(bool(b.size) for b in bundle.locals)
    refuse_if(counts != (sum(n for n, _ in records), sum(to for _, to in records)), CONTROL)
    refuse_if(not bundle.locals[-1].last, CONTROL)
    if bundle.ior is not None:
        refuse_if(any(bundle.ior[f"RegSrc{i}"] for i in range(scalars, 3)) or bundle.ior["RegDst"], CONTROL)
    refuse_if(bundle.shared or (bundle.ior is not None and not scalars), LEGALITY)
    refuse_if([(len(b.sources), bool(b.size)) for b in bundle.locals] != list(records), LEGALITY)


def sources_of(machine: Reference, bundle: Bundle, pe: int) -> list[Tile]:
    """The tiles that the records name on a PE."""
    return [
        machine.source(pe, binder, slot, bundle.pes) for binder in bundle.locals for slot in range(len(binder.sources))
    ]


def relaid(tile: Tile, layout: str) -> Tile:
    """An empty tile in another layout; a fractal one needs whole blocks."""
    if layout in ("ZN", "NZ"):
        refuse_if(tile.rows % 16 or tile.cols % (256 // bits_of(tile.dtype)), LEGALITY)
    tile.layout = layout
    return tile


def perform(machine: Reference, bundle: Bundle) -> None:
    """The checks in their order on all PEs, then the effect."""
    row = ROWS[bundle.operation]
    check_records(bundle, row.records, row.scalars)
    refuse_if(bundle.stray_attributes(*row.attributes), LEGALITY)
    refuse_if(NAMES[bundle.dtype] not in row.types, LEGALITY)
    dims = [bundle.dimension(n) for n in range(3)]
    refuse_if(dims[0] is None or 0 in dims, LEGALITY)
    jobs = [Job(machine, bundle, pe, row, NAMES[bundle.dtype], dims) for pe in bundle.pes]
    for job in jobs:
        job.check()
    for job in jobs:
        for binder, tile in zip([b for b in bundle.locals if b.size], job.effect()):
            machine.publish(job.pe, binder.hand, tile)


@dataclass
class Job:
    """One bundle on one PE."""

    machine: Reference
    bundle: Bundle
    pe: int
    row: Row
    dtype: str
    dims: list[int | None]
    tiles: list[Tile] = field(default_factory=list)
    outs: list[Tile] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.bundle.operation

    @property
    def shape(self) -> tuple[int, int]:
        return self.dims[1] or 1, self.dims[0] or 1

    def scalar(self, n: int) -> int:
        return self.machine.gpr[self.pe][self.bundle.ior[f"RegSrc{n}"]] if self.bundle.ior else 0

    @property
    def offsets(self) -> tuple[int, int]:
        return self.scalar(0) % 65536, self.scalar(1) % 65536

    @property
    def element(self) -> int:
        return self.scalar(0) % 2 ** bits_of(self.dtype)

    @property
    def diagonal(self) -> int:
        d = self.scalar(0)
        return d - 2**64 if d >= 2**63 else d

    def check(self) -> None:
        if self.name in ("TCI", "TTRI"):
            refuse_if(self.scalar(1) > 1, LEGALITY)
            refuse_if(self.name == "TCI" and self.shape[0] != 1, LEGALITY)
            refuse_if(self.name == "TTRI" and not -65535 <= self.diagonal <= 65535, LEGALITY)
        refuse_if(self.name.startswith("TPART") and self.bundle.datr is not None, LEGALITY)
        if self.row.early:
            self.sources()
        binders = [b for b in self.bundle.locals if b.size]
        self.outs = [self.allocated(size(b.size)) for b in binders]
        used = [s for b in self.bundle.locals for s in b.sources]
        self.machine.room(self.pe, [(b.hand, size(b.size)) for b in binders], used)
        if not self.row.early:
            self.sources()

    def allocated(self, capacity: int) -> Tile:
        rows, cols = self.shape
        out = norm_tile(self.dtype, capacity, rows, cols, self.dims[2] or cols, ALLOCATION)
        return relaid(out, LAYOUTS[self.bundle.layout][1])

    def sources(self) -> None:
        self.tiles = sources_of(self.machine, self.bundle, self.pe)
        for tile in self.tiles:
            refuse_if(tile.kind != "numeric" or tile.dtype != self.dtype, LEGALITY)
            refuse_if(tile.layout not in (PLAIN if self.row.relaid else {"NORM"}), LEGALITY)
            refuse_if(not tile.defined(*tile.shape), LEGALITY)
        legal: dict[str, Callable[[], bool]] = {
            "TCONCAT": self._concatenates,
            "TEXTRACT": lambda: self._inside(self.shape, self.tiles[0].shape),
            "TINSERT": self._inserts,
            "TFILLPAD": self._grows,
            "TTRANS": lambda: self.tiles[0].shape == (self.dims[0], self.dims[1] or 1),
        }
        check = self._covers if self.name.startswith("TPART") else legal.get(self.name, lambda: True)
        refuse_if(not check(), LEGALITY)

    def _inside(self, inner: tuple[int, int], outer: tuple[int, int]) -> bool:
        row, col = self.offsets
        return row + inner[0] <= outer[0] and col + inner[1] <= outer[1]

    def _concatenates(self) -> bool:
        (r0, c0), (r1, c1) = (tile.shape for tile in self.tiles)
        return r0 == r1 and self.shape == (r0, c0 + c1)

    def _inserts(self) -> bool:
        old, src = self.tiles
        return old.description == self.outs[0].description and self._inside(src.shape, old.shape)

    def _grows(self) -> bool:
        src, out = self.tiles[0], self.outs[0]
        sizes = zip((src.rows, src.cols, *src.shape), (out.rows, out.cols, *out.shape))
        return all(old <= new for old, new in sizes)

    def _covers(self) -> bool:
        shapes = [tile.shape for tile in self.tiles]
        return self.shape in shapes and all(r <= self.shape[0] and c <= self.shape[1] for r, c in shapes)

    # Effects

    def effect(self) -> list[Tile]:
        out = self.outs[0]
        if self.name == "TINSERT":
            old, src = self.tiles
            out.values = dict(old.values)
            for r in range(src.valid_rows):
                for c in range(src.valid_cols):
                    out.put(self.offsets[0] + r, self.offsets[1] + c, src.at(r, c))
            return [out]
        around = None
        if self.name == "TEXTRACT" and self.bundle.datr is not None:
            around = 0
        if self.name == "TFILLPAD":
            around = self.element
        if around is not None:
            out.values = dict.fromkeys(range(out.rows * out.cols), around)
        element = self.part if self.name.startswith("TPART") else getattr(self, self.name.lower())
        for r in range(out.valid_rows):
            for c in range(out.valid_cols):
                out.put(r, c, element(r, c))
        return [out]

    def tconcat(self, r: int, c: int) -> int:
        left, right = self.tiles
        return left.at(r, c) if c < left.valid_cols else right.at(r, c - left.valid_cols)

    def textract(self, r: int, c: int) -> int:
        row, col = self.offsets
        return self.tiles[0].at(row + r, col + c)

    def tfillpad(self, r: int, c: int) -> int:
        src = self.tiles[0]
        return src.at(r, c) if r < src.valid_rows and c < src.valid_cols else self.element

    def ttrans(self, r: int, c: int) -> int:
        return self.tiles[0].at(c, r)

    def tci(self, r: int, c: int) -> int:
        return (self.scalar(0) + (-c if self.scalar(1) else c)) % 2 ** bits_of(self.dtype)

    def ttri(self, r: int, c: int) -> int:
        inside = c >= r + self.diagonal if self.scalar(1) else c <= r + self.diagonal
        return ONE.get(self.dtype, 1) if inside else 0

    def part(self, r: int, c: int) -> int:
        has = [r < tile.valid_rows and c < tile.valid_cols for tile in self.tiles]
        if has != [True, True]:
            return self.tiles[has.index(True)].at(r, c)
        left, right = self.tiles
        bits, flags = exact.binary(self.name.removeprefix("TPART"), self.dtype, left.at(r, c), right.at(r, c))
        self.machine.flags |= flags
        return bits


def move(machine: Reference, bundle: Bundle) -> None:
    """TMOV and GMOV: the result is described like its source."""
    peer = bundle.operation == "GMOV"
    check_records(bundle, _ONE_TO_ONE, int(peer))
    dims = [bundle.dimension(n) for n in range(3)]
    refuse_if(bundle.stray_attributes("Layout") or 0 in dims, LEGALITY)
    refuse_if(peer and dims != [None] * 3, LEGALITY)
    refuse_if(peer and bundle.dtype in (CODES["FP64"], CODES["S64"], CODES["U64"]), LEGALITY)
    [one] = bundle.locals
    tiles = {pe: machine.source(pe, one, 0, bundle.pes) for pe in (range(4) if peer else [])}
    from_pe = dict.fromkeys(bundle.pes, 0)
    if peer:
        refuse_if(len({tile.description for tile in tiles.values()}) > 1, LEGALITY)
        refuse_if(not all(tile.defined(*tile.shape) for tile in tiles.values()), LEGALITY)
        refuse_if(tiles[0].layout not in PLAIN, LEGALITY)
        code = bundle.ior["RegSrc0"] if bundle.ior else 0
        from_pe = {pe: machine.gpr[pe][code] for pe in range(4)}
        refuse_if(any(p > 3 for p in from_pe.values()), LEGALITY)
        _check_move(bundle, tiles[0], dims, size(one.size))
    for pe in bundle.pes:
        if not peer:
            tiles[pe] = machine.source(pe, one, 0, bundle.pes)
            _check_move(bundle, tiles[pe], dims, size(one.size))
        machine.room(pe, [(one.hand, size(one.size))], one.sources)
    for pe in bundle.pes:
        src = tiles[from_pe[pe] if peer else pe]
        copy = src.empty()
        copy.values = dict(src.values)
        machine.publish(pe, one.hand, copy)


def _check_move(bundle: Bundle, tile: Tile, dims: list[int | None], capacity: int) -> None:
    refuse_if(tile.kind != "numeric" or bundle.dtype not in (31, CODES[tile.dtype]), LEGALITY)
    refuse_if(bundle.datr is not None and LAYOUTS[bundle.layout][1] != tile.layout, LEGALITY)
    own = (tile.valid_cols, tile.valid_rows, tile.cols)
    refuse_if(any(value is not None and value != has for value, has in zip(dims, own)), LEGALITY)
    refuse_if(tile.capacity != capacity, LEGALITY)
