"""Blocks of accumulators: which sums a core holds at a time, in which hands, and what that costs.

The rows of the result are cut into *groups*: 128 rows, 32 on each of the four PEs, or what is left at the bottom. A
*lane* is a hand and the groups whose accumulators rotate through it. A *band* is a number of row blocks with the same
lanes; each of its blocks of accumulators spans the groups of all lanes and the slots of ``columns``, and reads its rows
of A and its columns of B once.

A hand has sixteen generations and the oldest may not be named, so a lane rotates at most fifteen accumulators; with
sixteen of them in every ring the tiles of all lanes have to fit the Local pool. Groups of different size stand in
different hands, because a PE without rows publishes nothing.

Operands are Shared, except where whole cells would be wasted on them: a few products at the start of every sum
(``head``), or all of a narrow product (a band that is ``local``). Local operands need two hands, M for B and N for A.
Every PE loads a B of its own then; where that is much beside the rest, fewer PEs do the work.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa import layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.registers import GENERATIONS, HANDS, size_bytes, size_code
from ptoc.passes.planning.columns import Columns
from ptoc.passes.planning.cost import Cost, k_cell, up
from ptoc.passes.planning.shapes import MatmulShape
from ptoc.passes.planning.sums import SumSchedule, local_sum, shared_sum
from ptoc.passes.planning.techniques import ALL, Techniques

GROUP_ROWS = 128
"""Rows of a cooperative matmul: 32 on each of the four PEs."""

HALF_GROUP_ROWS = 64
"""Up to so many rows a group has 16 on each PE."""

LIVE = GENERATIONS - 1
"""Accumulators that one hand can rotate."""

B_HAND, A_HAND = HANDS.index("M"), HANDS.index("N")
"""The hands of Local operands."""

HANDS_BESIDE_LOCAL = min(A_HAND, B_HAND)
"""The first so many hands are left to accumulators where operands are Local."""

B_NAME = 63
"""The Shared tile with the piece of B; those of A count from 0."""

RESIDENT_NAME = 24
"""The first Shared tile with rows of A that stay."""

GROUP_MAX_HAND = A_HAND
"""The hand of group maxima: what else stands there is read by the bundle behind it."""


@dataclass(frozen=True, slots=True)
class Lane:
    """``groups`` groups of ``rows`` rows each, whose accumulators rotate through one hand.

    ``share`` are the rows of a PE where Local operands are for fewer PEs than a cooperative bundle has.
    """

    hand: int
    groups: int
    rows: int
    share: int = 0

    @property
    def total_rows(self) -> int:
        return self.groups * self.rows

    @property
    def pe_rows(self) -> int:
        """Rows of a group on a PE that has its full share."""
        return self.share or (16 if self.rows <= HALF_GROUP_ROWS else 32)

    @property
    def layout(self) -> str:
        return layouts.CUBE_M16 if self.pe_rows == 16 else layouts.CUBE_M32

    @property
    def whole_pes(self) -> int:
        """PEs with their full share of rows."""
        return self.rows // self.pe_rows

    @property
    def rest(self) -> int:
        """Rows of the PE behind those."""
        return self.rows % self.pe_rows

    @property
    def pes(self) -> int:
        """PEs that have rows."""
        return -(-self.rows // self.pe_rows)

    @property
    def parts(self) -> int:
        """Bundles for what each PE does on its own: dimensions are one value for all PEs of a bundle."""
        return (self.whole_pes > 0) + (self.rest > 0)

    @property
    def max_hand(self) -> int:
        """The hand of row maxima beside these accumulators, which stand in T or U."""
        return 1 - self.hand

    def maxima_bytes(self, dtype: DType, cols: int) -> int:
        """Capacity of a row-major tile with so many maxima of each of a PE's rows."""
        return size_bytes(size_code(self.pe_rows * cols * dtype.nbytes))

    def tile_bytes(self, dtype: DType, cols: int) -> int:
        """Capacity of a tile with a PE's rows of a group."""
        return _cube_bytes(self.layout, dtype, self.pe_rows, cols)


@dataclass(frozen=True, slots=True)
class Band:
    """``repeat`` row blocks from ``row`` on, each with the groups of all lanes.

    Bundles add ``depth`` products per element. The first ``head`` products have Local operands, in a ``local`` band
    all. ``resident`` are the products of the last piece, if its rows of A stay in Shared storage for all blocks of
    columns.
    """

    row: int
    repeat: int
    lanes: tuple[Lane, ...]
    columns: Columns
    depth: int
    head: int = 0
    resident: int = 0
    local: bool = False

    @property
    def block_rows(self) -> int:
        return sum(lane.total_rows for lane in self.lanes)

    @property
    def rows(self) -> int:
        return self.repeat * self.block_rows

    @property
    def hands(self) -> frozenset[int]:
        """Hands in which tiles are published."""
        operands = {A_HAND, B_HAND} if self.local or self.head else set()
        return frozenset({lane.hand for lane in self.lanes} | operands)

    @property
    def pes(self) -> int:
        """PEs that have rows in some lane."""
        return max(lane.pes for lane in self.lanes)

    def schedule(self, shape: MatmulShape) -> SumSchedule:
        """The pieces of the sums behind the head."""
        if self.local:
            return local_sum(shape.k, self.depth, started=shape.started)
        started = shape.started or self.head > 0
        return shared_sum(self.head, shape.k, self.depth, started=started, resident=self.resident)


def _cube_bytes(layout: str, dtype: DType, rows: int, cols: int) -> int:
    return size_bytes(size_code(layouts.cube_geometry(layout, dtype.bits, rows, cols).storage_bytes))


def a_tiles(shape: MatmulShape, lane: Lane) -> int:
    """Shared tiles for the rows of a lane: one that bundles view, but one per group of a transposed A.

    A view has whole rows of a Shared tile, and those of a transposed A are products.
    """
    return lane.groups if shape.trans_a else 1


def stays_local(shape: MatmulShape, band: Band) -> bool:
    """Whether the rows of A of a row block are Local tiles that stay for all slots: their sums are of one piece."""
    slots, groups = band.columns.slots * band.columns.blocks, sum(lane.groups for lane in band.lanes)
    return band.local and band.depth >= shape.k and slots > 1 and groups <= LIVE and not shape.group


def a_shared_bytes(shape: MatmulShape, lane: Lane, depth: int) -> int:
    """Capacity of the Shared tiles with all rows of a lane."""
    tiles = a_tiles(shape, lane)
    return tiles * size_bytes(size_code(lane.total_rows // tiles * depth * shape.a.bits // 8))


def b_shared_bytes(shape: MatmulShape, width: int, depth: int) -> int:
    """Capacity of the Shared tile with a slot's columns of B."""
    return size_bytes(size_code(depth * width * shape.b.bits // 8))


def shared_names(shape: MatmulShape, band: Band) -> set[int]:
    """The Shared tiles that a band loads."""
    if band.local:
        return set()
    tiles = sum(a_tiles(shape, lane) for lane in band.lanes)
    resident = range(RESIDENT_NAME, RESIDENT_NAME + tiles) if band.resident else ()
    return {*range(tiles), *resident, B_NAME}


def shared_bytes(shape: MatmulShape, band: Band, techniques: Techniques = ALL) -> int:
    """Shared storage that a band takes."""
    if band.local:
        return 0
    streamed = b_shared_bytes(shape, band.columns.width, band.depth) if techniques.shared_b else 0
    resident = 0
    for lane in band.lanes:
        streamed += a_shared_bytes(shape, lane, band.depth) if techniques.shared_a else 0
        resident += a_shared_bytes(shape, lane, band.resident) if band.resident else 0
    return streamed * (1 + techniques.double_buffering) + resident


def local_bytes(shape: MatmulShape, band: Band, techniques: Techniques = ALL) -> int:
    """Local storage that a band takes on a PE once its rings are full."""
    width, deepest = band.columns.width, band.depth if band.local else band.head
    tiles = [lane.tile_bytes(shape.accumulator, width) for lane in band.lanes]
    if deepest:
        tiles.append(_cube_bytes(layouts.CUBE_N8, shape.b, deepest, width))
        tiles.append(max(lane.tile_bytes(shape.a, deepest) for lane in band.lanes))
    for lane in band.lanes:
        tiles += [lane.maxima_bytes(shape.accumulator, 1)] * shape.row_max
        tiles += [lane.maxima_bytes(shape.accumulator, width // shape.group)] if shape.group else []
    if not band.local and band.depth and not techniques.shared_a:
        tiles.append(max(lane.tile_bytes(shape.a, band.depth) for lane in band.lanes))
    if not band.local and band.depth and not techniques.shared_b:
        tiles.append(_cube_bytes(layouts.CUBE_N8, shape.b, band.depth, width))
    return GENERATIONS * sum(tiles)


def carries_maxima(shape: MatmulShape, columns: Columns) -> bool:
    """Whether the maximum of a row is found in several steps, so that it has to start somewhere."""
    return shape.row_max and columns.slots * columns.blocks > 1


def band_cost(shape: MatmulShape, band: Band, techniques: Techniques = ALL) -> Cost:
    """What a band costs."""
    columns, lanes = band.columns, band.lanes
    slots = columns.slots * columns.blocks
    pieces = [depth for _, depth in band.schedule(shape).pieces()]
    alone = pieces if band.local else [band.head] if band.head else []
    together = [] if band.local else pieces
    groups = sum(lane.groups for lane in lanes)
    parts = sum(lane.groups * lane.parts for lane in lanes)
    streamed = len(together) - (band.resident > 0)
    tiles = sum(a_tiles(shape, lane) for lane in lanes)

    starts = shape.initial or carries_maxima(shape, columns)
    bundles = parts * (slots * (shape.has_c + shape.stored + (shape.group > 0)) + shape.row_max + starts)
    bundles += len(together) * slots * (1 + (groups if techniques.shared_a else parts))
    bundles += streamed * columns.blocks * (tiles if techniques.shared_a else parts)
    once = stays_local(shape, band)
    bundles += parts * len(alone) * (1 if once else slots)
    bundles += len(alone) * slots * (1 + parts) + (tiles if band.resident else 0)

    issued = 0
    for lane in lanes:
        cell = k_cell(shape, lane.layout)
        depth = sum(up(d, cell) for d in [*alone, *together])
        issued += lane.groups * lane.pes * lane.pe_rows * depth

    sums, summed = band.rows * columns.moved, sum(alone)
    a_products = (sum(together) - band.resident) * columns.blocks + band.resident + summed * (1 if once else slots)
    b_products = sum(together) * (1 if techniques.shared_b else band.pes) + summed * band.pes
    return Cost(
        a=band.rows * a_products * shape.a.bits // 8,
        b=band.repeat * b_products * columns.moved * shape.b.bits // 8,
        c=sums * shape.accumulator.nbytes * shape.has_c,
        d=sums * shape.result.bits // 8 * shape.stored,
        maxima=band.rows * (shape.row_max + starts) * shape.accumulator.nbytes
        + (sums // shape.group * shape.accumulator.nbytes if shape.group else 0),
        bundles=band.repeat * bundles,
        issued=band.repeat * issued * columns.issued,
        local_bytes=local_bytes(shape, band, techniques),
        shared_bytes=shared_bytes(shape, band, techniques),
    )
