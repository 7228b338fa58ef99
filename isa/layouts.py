"""Tile layouts: B.DATR layout codes, CUBE cell geometry, and where an element stands in tile storage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from ptoc.isa.dtypes import DType
from ptoc.isa.registers import CELL_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LayoutCode(IntEnum):
    """The assigned codes of B.DATR.Layout; "ND" is row-major, "DN" column-major."""

    NORM = 0
    ND2DN = 1
    ND2ZN = 3
    ND2NZ = 4
    DN2ND = 6
    DN2ZN = 8
    DN2NZ = 9
    ZN2ND = 17
    ZN2DN = 18
    ZN2NZ = 20
    ND2M32 = 21
    ND2M16 = 22
    ND2N8 = 23
    M322ND = 24
    M162ND = 25
    N82ND = 26
    NZ2ND = 27
    NZ2DN = 28
    NZ2ZN = 30


CUBE_M16 = "CUBE_M16"
CUBE_M32 = "CUBE_M32"
CUBE_N8 = "CUBE_N8"
NORM = "NORM"
DN = "DN"
ZN = "ZN"
NZ = "NZ"
LAYOUTS: tuple[str, ...] = (NORM, DN, ZN, NZ, CUBE_M16, CUBE_M32, CUBE_N8)
"""Layouts a tile can be stored in."""

PLAIN_LAYOUTS = frozenset({NORM, DN, ZN, NZ})
"""Those that keep the physical shape of a tile and only order its elements."""
CUBE_LAYOUTS = frozenset({CUBE_M16, CUBE_M32, CUBE_N8})
M_ROWS: dict[str, int] = {CUBE_M16: 16, CUBE_M32: 32}
"""Rows of the two formats that hold matrix rows (A, C and D of a matmul)."""

CUBE_LOAD: dict[int, str] = {
    LayoutCode.ND2M32: CUBE_M32,
    LayoutCode.ND2M16: CUBE_M16,
    LayoutCode.ND2N8: CUBE_N8,
}
CUBE_STORE: dict[int, str] = {
    LayoutCode.M322ND: CUBE_M32,
    LayoutCode.M162ND: CUBE_M16,
    LayoutCode.N82ND: CUBE_N8,
}
NORM_LOAD: dict[int, str] = {
    LayoutCode.NORM: NORM,
    LayoutCode.ND2DN: DN,
    LayoutCode.ND2ZN: ZN,
    LayoutCode.ND2NZ: NZ,
}
"""Destination layouts of an ordinary Local TLOAD."""


_PLAIN_NAMES = {"ND": NORM, "DN": DN, "ZN": ZN, "NZ": NZ}


def conversion_ends(code: LayoutCode) -> tuple[str, str] | None:
    """The layouts of source and result that a code of TCVT names; ``None`` for the codes of CUBE transfers."""
    if code == LayoutCode.NORM:
        return NORM, NORM
    ends = [_PLAIN_NAMES.get(name) for name in code.name.split("2")]
    return None if len(ends) != 2 or ends[0] is None or ends[1] is None else (ends[0], ends[1])


_CODES = {ends: code for code in LayoutCode if (ends := conversion_ends(code)) is not None}


def conversion_code(source: str, result: str) -> LayoutCode:
    """The code that names the plain layouts of source and result; ``ValueError`` when none does."""
    code = _CODES.get((source, result))
    if code is None:
        raise ValueError(f"no code of B.DATR.Layout leads from {source} to {result}")
    return code


@dataclass(frozen=True)
class CubeGeometry:
    """Storage of a CUBE tile: cells of ``cell_rows x cell_cols`` elements, 128 bytes each.

    ``rows`` and ``cols`` are the storage shape (the valid shape rounded up to whole cells), ``k_repeat`` and
    ``n_repeat`` the cells along K and N.
    """

    layout: str
    bits: int
    cell_rows: int
    cell_cols: int
    rows: int
    cols: int
    k_repeat: int
    n_repeat: int

    @property
    def cells(self) -> int:
        return self.k_repeat * self.n_repeat

    @property
    def storage_bytes(self) -> int:
        return CELL_BYTES * self.cells


def cell_shape(layout: str, bits: int) -> tuple[int, int]:
    """Rows and columns of one 128-byte CELL of a CUBE layout for elements of 4 to 32 bits."""
    elements = CELL_BYTES * 8 // bits
    if layout == CUBE_N8:
        return elements // 8, 8
    rows = M_ROWS[layout]
    return rows, elements // rows


@lru_cache(maxsize=4096)
def cube_geometry(layout: str, bits: int, valid_rows: int, valid_cols: int) -> CubeGeometry:
    """Geometry of a CUBE tile with the given valid shape; ``ValueError`` when an M format has too many rows."""
    cell_rows, cell_cols = cell_shape(layout, bits)
    cols = -(-valid_cols // cell_cols) * cell_cols
    if layout == CUBE_N8:
        rows = -(-valid_rows // cell_rows) * cell_rows
        k_repeat, n_repeat = rows // cell_rows, cols // cell_cols
    else:
        if valid_rows > cell_rows:
            raise ValueError(f"{layout} holds at most {cell_rows} rows, not {valid_rows}")
        rows = cell_rows
        k_repeat, n_repeat = cols // cell_cols, 1
    return CubeGeometry(layout, bits, cell_rows, cell_cols, rows, cols, k_repeat, n_repeat)


@lru_cache(maxsize=512)
def cube_index(layout: str, bits: int, rows: int, cols: int) -> NDArray[np.int64]:
    """Physical element number of every (row, col) of a CUBE storage shape, as a read-only rows x cols array."""
    import numpy as np

    cell_rows, cell_cols = cell_shape(layout, bits)
    r = np.arange(rows, dtype=np.int64)[:, None]
    c = np.arange(cols, dtype=np.int64)[None, :]
    if layout == CUBE_N8:
        k_repeat = rows // cell_rows
        index = ((c // 8) * k_repeat + r // cell_rows) * (cell_rows * 8) + (c % 8) * cell_rows + r % cell_rows
    else:
        inner = c % cell_cols
        if layout == CUBE_M16 and bits == 4:
            # The two middle groups of four columns are exchanged in this one format.
            group = inner // 4
            inner = inner % 4 + 4 * np.where(group == 1, 2, np.where(group == 2, 1, group))
        index = (c // cell_cols) * (cell_rows * cell_cols) + r * cell_cols + inner
    index.flags.writeable = False
    return index


def block_shape(layout: str, bits: int) -> tuple[int, int]:
    """Rows and columns of a block of a plain layout; those of row- and column-major tiles are single elements."""
    return (16, 256 // bits) if layout in (ZN, NZ) else (1, 1)


def whole_blocks(layout: str, bits: int, rows: int, cols: int) -> bool:
    """Whether a physical shape consists of whole blocks of a plain layout."""
    block = block_shape(layout, bits)
    return rows % block[0] == 0 and cols % block[1] == 0


@lru_cache(maxsize=512)
def plain_index(layout: str, bits: int, rows: int, cols: int) -> NDArray[np.int64]:
    """Element number of every (row, col) of a row-major, column-major, ZN or NZ tile (read-only rows x cols).

    ``ValueError`` when a ZN or NZ tile does not consist of whole blocks.
    """
    import numpy as np

    r = np.arange(rows, dtype=np.int64)[:, None]
    c = np.arange(cols, dtype=np.int64)[None, :]
    if layout == NORM:
        index = r * cols + c
    elif layout == DN:
        index = c * rows + r
    else:
        outer, inner = block_shape(layout, bits)
        if not whole_blocks(layout, bits, rows, cols):
            raise ValueError(f"{layout} needs rows in multiples of {outer} and columns in multiples of {inner}")
        if layout == ZN:
            index = ((r // outer) * (cols // inner) + c // inner) * outer * inner + (c % inner) * outer + r % outer
        else:
            index = ((c // inner) * (rows // outer) + r // outer) * outer * inner + (r % outer) * inner + c % inner
    index.flags.writeable = False
    return index


def element_bytes(count: int, bits: int) -> int:
    """Bytes that ``count`` consecutive elements take in memory or tile storage."""
    return -(-count * bits // 8)


def dense_stride(columns: int, dtype: DType) -> int:
    """The row stride in bytes that an omitted B.IOR selects."""
    return element_bytes(columns, dtype.bits)
