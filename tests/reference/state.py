"""Tiles and what stops a program (tiles.md sections 2 to 5, program.md section 7)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reference.values import bits_of

HANDS = "TUMN"
POOL = 256 * 1024


class Refusal(Exception):
    """An architectural fault."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Waiting(Exception):
    """A store of a Shared tile that is not there yet."""


def refuse_if(condition: object, kind: str) -> None:
    """One check: a condition that must not hold."""
    if condition:
        raise Refusal(kind)


def size(code: int) -> int:
    """Bytes of a SizeCode."""
    return 128 << (code - 1)


def up(x: int, a: int) -> int:
    return -(-x // a) * a


def power_of_two(x: int) -> bool:
    return x > 0 and x & (x - 1) == 0


@dataclass
class Tile:
    """A tile; ``values`` holds the defined elements by their physical number, so what is absent is undefined."""

    kind: str
    dtype: str
    layout: str
    capacity: int
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    values: dict[int, int] = field(default_factory=dict)

    @property
    def bits(self) -> int:
        return 1 if self.kind == "predicate" else bits_of(self.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return self.valid_rows, self.valid_cols

    @property
    def description(self) -> tuple[object, ...]:
        return (self.kind, self.dtype, self.layout, self.capacity, self.rows, self.cols, *self.shape)

    def place(self, r: int, c: int) -> int:
        """The physical element number of a logical element."""
        return place(self.layout, bits_of(self.dtype), self.rows, self.cols, r, c)

    def get(self, r: int, c: int) -> int | None:
        return self.values.get(self.place(r, c))

    def defined(self, rows: int, cols: int) -> bool:
        """Whether every element of the rectangle at the origin has a value."""
        return all(self.get(r, c) is not None for r in range(rows) for c in range(cols))

    def at(self, r: int, c: int) -> int:
        """An element that is known to be defined."""
        return self.values[self.place(r, c)]

    def put(self, r: int, c: int, bits: int) -> None:
        self.values[self.place(r, c)] = bits

    def empty(self) -> Tile:
        return replace(self, values={})


def cell(layout: str, bits: int) -> tuple[int, int]:
    """Rows and columns of one CELL."""
    if layout == "CUBE_N8":
        return 1024 // bits // 8, 8
    rows = 16 if layout == "CUBE_M16" else 32
    return rows, 1024 // bits // rows


def place(layout: str, bits: int, rows: int, cols: int, r: int, c: int) -> int:
    """The index formulas of tiles.md, of a tile with the physical shape rows x cols."""
    if layout == "NORM":
        return r * cols + c
    if layout == "DN":
        return c * rows + r
    if layout in ("ZN", "NZ"):
        inner = 256 // bits
        br, ir, bc, ic = r // 16, r % 16, c // inner, c % inner
        if layout == "ZN":
            return (br * (cols // inner) + bc) * 16 * inner + ic * 16 + ir
        return (bc * (rows // 16) + br) * 16 * inner + ir * inner + ic
    cr, cc = cell(layout, bits)
    if layout == "CUBE_N8":
        return ((c // 8) * (rows // cr) + r // cr) * (cr * 8) + (c % 8) * cr + r % cr
    x = c % cc
    if layout == "CUBE_M16" and bits == 4:
        x = (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15)[x]
    return (c // cc) * cr * cc + r * cc + x


def norm_tile(dtype: str, capacity: int, valid_rows: int, valid_cols: int, cols: int, kind: str) -> Tile:
    """A row-major tile; a shape that does not fit is a fault of the given kind."""
    refuse_if(not power_of_two(cols) or cols > 32768 or valid_cols > cols, kind)
    rows = capacity * 8 // (cols * bits_of(dtype))
    refuse_if(rows < 1 or rows > 65535 or valid_rows > rows, kind)
    return Tile("numeric", dtype, "NORM", capacity, rows, cols, valid_rows, valid_cols)


def cube_tile(dtype: str, layout: str, capacity: int, valid_rows: int, valid_cols: int) -> Tile:
    """A CUBE tile; one that does not fit is TileAllocation."""
    cr, cc = cell(layout, bits_of(dtype))
    if layout == "CUBE_N8":
        rows, cols = up(valid_rows, cr), up(valid_cols, 8)
    else:
        refuse_if(valid_rows > cr, "TileAllocation")
        rows, cols = cr, up(valid_cols, cc)
    refuse_if((rows // cr) * (cols // cc) * 128 > capacity, "TileAllocation")
    return Tile("numeric", dtype, layout, capacity, rows, cols, valid_rows, valid_cols)


@dataclass
class Generation:
    """An open B.ASSEMBLE generation of a Shared tile."""

    capacity: int
    mask: int
    cols: int
    dtype: str
    cells: set[int] = field(default_factory=set)
    values: dict[int, int] = field(default_factory=dict)
    valid_cols: int = 0


@dataclass
class Shared:
    """A published Shared tile and the PEs that may write it again."""

    tile: Tile
    mask: int
