"""The loops of a matmul whose operands are Shared, following a plan of ``planning.bands``.

Each core holds a block of accumulators in its Local tiles: the row groups of all lanes by the slots of a column block.
For each piece of K the rows of A are loaded once into a Shared tile per lane, then for each slot a piece of B, and
every accumulator advances by one cooperative bundle. The accumulators of a lane are a queue: a bundle takes the oldest
and publishes its successor, so each is named by the same distance every time, and loops stay loops: their code does
not depend on how many groups, slots, blocks and pieces there are.

The last piece of the sum is post-processed and stored bundle by bundle. The maxima of groups are stored with it; those
of rows are a queue too, which goes through all columns of a row block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from xdsl.ir import SSAValue

from ptoc.dialects import tile
from ptoc.dialects.batching import StartedAxis, count
from ptoc.dialects.tile import Hand, HandAttr, QueueType, SharedType, TileLayout, TileType
from ptoc.isa.registers import HANDS, PE_COUNT
from ptoc.passes.planning.bands import (
    A_HAND,
    B_HAND,
    B_NAME,
    GROUP_MAX_HAND,
    RESIDENT_NAME,
    Band,
    Lane,
    a_tiles,
    carries_maxima,
    stays_local,
)
from ptoc.passes.planning.sums import LONG_SUM, SumSchedule
from ptoc.passes.products import Product
from ptoc.passes.rewriting import Emitter, Index
from ptoc.passes.tile_values import Array, core_id, divided, pe_id

Tiles = Sequence[SSAValue]
"""Tiles with the rows of A of one lane: Shared ones, or Local ones where they stay for all columns."""

Queues = Sequence[SSAValue | None]
"""The accumulators of each lane: a queue, or the only one, or nothing before that exists.

Where the sums are completed, the row maxima of what was completed before follow them.
"""


_Group = Callable[[Emitter, Index, Queues], Queues]
"""What happens to one group: an emitter, its number, and the queues before and after."""


@dataclass(frozen=True)
class _Slot:
    """A slot of a block: its first column and its width."""

    col: Index
    width: Index


@dataclass(frozen=True)
class _Block:
    """A block of accumulators: its first row, its first slot, and how many columns it has behind that."""

    row: Index
    first: _Slot
    left: Index
    resident: Sequence[Tiles] | None
    """The rows of A of the last piece, where they stay for all blocks of columns."""


@dataclass(frozen=True)
class _Piece:
    """Part of the sum: its first k and depth; whether its operands are Local, it starts or it completes the sums."""

    k: Index
    depth: int
    local: bool
    first: bool = False
    last: bool = False


@dataclass(frozen=True)
class SharedProduct:
    """One band of a product's rows, over all of its columns."""

    product: Product
    band: Band
    whole: bool = False
    """Whether one core does all of it."""

    def emit(self) -> None:
        """Emit the loops over a stack's axes, row blocks and column blocks. Cores share the longest, or one has all."""
        top = self.product.top
        if not self.product.alone:
            self._stack(top, self.product.batch)
            return

        def turn(e: Emitter, _: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            replace(self, whole=True)._stack(e, self.product.batch)
            return carried

        top.loop(core_id(top), 1, 1, turn, name="turn")

    def _stack(self, e: Emitter, axes: tuple[StartedAxis, ...]) -> None:
        """The products along some axes of a stack, or the only one."""
        if not axes:
            self._rows(e)
            return
        axis, inner = axes[0], axes[1:]
        longest = max(self.band.repeat, self.band.columns.blocks, *(each.extent for each in axes))
        shared = not self.whole and axis.extent == longest

        def place(e: Emitter, n: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            product = self.product.further(e, n, axis, count(inner))
            replace(self, product=product, whole=self.whole or shared)._stack(e, inner)
            return carried

        e.loop(*(divided(e, 0, axis.extent, 1) if shared else (0, axis.extent, 1)), place, name="batch")

    def _rows(self, e: Emitter) -> None:
        band = self.band
        rows = band.row, band.row + band.rows, band.block_rows
        by_rows = self._by_rows and not self.whole
        e.loop(*(divided(e, *rows) if by_rows else rows), self._row_block, name="row", keep=self._keep)

    @property
    def _by_rows(self) -> bool:
        """Whether cores share row blocks rather than blocks of columns, of which the maximum of a row needs all."""
        return self.band.repeat >= self.band.columns.blocks or self.product.shape.row_max

    def _row_block(self, e: Emitter, row: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The blocks of one row block, from left to right."""
        band, columns = self.band, self.band.columns
        resident = None
        if band.resident:
            resident = self._rows_of_a(e, row, self._schedule.last, RESIDENT_NAME)
        elif self._stays_local:
            resident = self._local_tiles(e, row)

        def block(e: Emitter, col: Index, maxima: Sequence[SSAValue]) -> Sequence[SSAValue]:
            end = e.minimum(e.add(col, columns.block), columns.moved)
            last = (columns.blocks - 1) * columns.block
            width = e.if_equal(col, last, columns.last_first, columns.first)
            return self._block(e, _Block(row, _Slot(col, width), e.sub(e.sub(end, col), width), resident), maxima)

        cols = 0, columns.total, columns.block
        together = self.whole or self._by_rows
        maxima = self._start_maxima(e, row)
        maxima = e.loop(*(cols if together else divided(e, *cols)), block, maxima, name="col", keep=self._keep)
        self._store_maxima(e, row, maxima)
        return carried

    def _start_maxima(self, e: Emitter, row: Index) -> Sequence[SSAValue]:
        """What the row maxima of a row block start from, where they are found in several steps."""
        if not carries_maxima(self.product.shape, self.band.columns):
            return ()
        [lane] = self.band.lanes
        least, type_ = self.product.least(), self.product.maxima_type(lane.pe_rows)

        def start(e: Emitter, number: Index, queues: Queues) -> Queues:
            return [_pushed(e, self._first_maximum(e, least, lane, _pe_row(e, lane, row, number)), queues[0])]

        queue = None if lane.groups == 1 else e.emit(tile.QueueOp(QueueType(type_))).result
        return _present(self._groups(e, lane, start, [queue]))

    def _first_maximum(self, e: Emitter, least: Array, lane: Lane, row: Index) -> SSAValue:
        """A column with what the maxima of a PE's rows start from."""
        rows, pes, rest = _share(lane)
        first = least.load(e, row, 0, (rows, 1), pes, self.product.maxima_type(lane.pe_rows), rest)
        return _pinned(first, lane.max_hand)

    def _store_maxima(self, e: Emitter, row: Index, maxima: Sequence[SSAValue]) -> None:
        """Store the row maxima of a row block.

        Nothing is published meanwhile, so each of them has another name, and this is no loop.
        """
        if not maxima:
            return
        [lane], queue = self.band.lanes, cast("SSAValue | None", maxima[0])
        for number in range(lane.groups):
            found, queue = _popped(e, queue)
            self._store_row_maxima(e, found, lane, _pe_row(e, lane, row, number))

    def _store_row_maxima(self, e: Emitter, maxima: SSAValue, lane: Lane, row: Index) -> None:
        rows, pes, rest = _share(lane)
        assert self.product.row_max is not None
        self.product.row_max.store(e, maxima, row, 0, (rows, 1), pes, rest)

    def _block(self, e: Emitter, block: _Block, maxima: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Start the block's accumulators, add all pieces, store the results; the row maxima before and after."""
        band, plan = self.band, self._schedule
        started = self.product.shape.started
        queues: Queues = [self._empty(e, lane) for lane in band.lanes]
        if self.product.c is not None:
            queues = self._slots(e, block, self._fill(block), queues)
        if band.head:
            queues = self._piece(e, block, _Piece(0, band.head, local=True, first=not started), queues)
            started = True
        if plan.first is not None:
            queues = self._piece(e, block, self._at(*plan.first, first=True), queues)
        if plan.start < plan.stop:

            def piece(e: Emitter, k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return _present(self._piece(e, block, self._at(k, plan.step), carried))

            loop = plan.start, plan.stop, plan.step
            queues = e.loop(*loop, piece, _present(queues), name="k", keep=self._keep)
        for k, depth in plan.middle:
            queues = self._piece(e, block, self._at(k, depth), queues)
        last = self._at(*plan.last, first=plan.first is None and not started, last=True)
        return _present(self._piece(e, block, last, [*queues, *maxima])[len(queues) :])

    def _at(self, k: Index, depth: int, *, first: bool = False, last: bool = False) -> _Piece:
        return _Piece(k, depth, self.band.local, first, last)

    @property
    def _schedule(self) -> SumSchedule:
        return self.band.schedule(self.product.shape)

    @property
    def _keep(self) -> bool:
        """Whether loops of one iteration stay loops: the code of a long sum does not depend on its size."""
        return self.product.shape.k >= LONG_SUM

    def _empty(self, e: Emitter, lane: Lane) -> SSAValue | None:
        """The queue of a lane before its first accumulator; a lone accumulator needs none."""
        if lane.groups * self.band.columns.slots == 1:
            return None
        return e.emit(tile.QueueOp(QueueType(self._type(lane)))).result

    def _type(self, lane: Lane, *, last: bool = False) -> TileType:
        layout = TileLayout(lane.layout.lower())
        return TileType.get(lane.pe_rows, self.band.columns.width, self.product.type_of_piece(last=last), layout)

    def _slots(
        self, e: Emitter, block: _Block, slot: Callable[[Emitter, _Slot, Queues], Queues], queues: Queues
    ) -> Queues:
        """``slot(emitter, slot, queues)`` for every slot of a block, from left to right."""
        columns = self.band.columns
        if columns.slots == 1:
            return slot(e, block.first, queues)

        def body(e: Emitter, _: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            col, width, left, *before = carried
            start: Index = col
            if columns.overlap:
                start = e.minimum(col, e.sub(columns.total, width))
            queues = _present(slot(e, _Slot(start, width), before))
            after = e.minimum(e.lowest_bit(left), columns.width)
            return (*(e.index(v) for v in (e.add(col, width), after, e.sub(left, after))), *queues)

        start = (block.first.col, block.first.width, block.left)
        _, _, _, *after = e.loop(0, columns.slots, 1, body, (*map(e.index, start), *_present(queues)), name="slot")
        return after

    def _groups(self, e: Emitter, lane: Lane, group: _Group, queues: Queues, *, apart: bool = False) -> Queues:
        """``group(emitter, number, queues)`` for every group of a lane; in code of its own for each if ``apart``."""
        if apart or lane.groups == 1:
            for number in range(lane.groups):
                queues = group(e, number, queues)
            return queues

        def body(e: Emitter, number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return _present(group(e, number, carried))

        return e.loop(0, lane.groups, 1, body, _present(queues), name="group")

    def _each_lane(self) -> list[tuple[int, Lane, int]]:
        """Number, lane, and the offset of its first row in the block."""
        found, offset = [], 0
        for number, lane in enumerate(self.band.lanes):
            found.append((number, lane, offset))
            offset += lane.total_rows
        return found

    def _fill(self, block: _Block) -> Callable[[Emitter, _Slot, Queues], Queues]:
        """Load the accumulators of one slot."""
        c = self.product.c
        assert c is not None

        def accumulator(lane: Lane, row: Index, slot: _Slot, e: Emitter, number: Index, queues: Queues) -> Queues:
            rows, pes, rest = _share(lane)
            size = (rows, slot.width)
            acc = c.load(e, _pe_row(e, lane, row, number), slot.col, size, pes, self._type(lane), rest)
            return [_pushed(e, _pinned(acc, lane.hand), queues[0])]

        def fill(e: Emitter, slot: _Slot, queues: Queues) -> Queues:
            return [
                queue
                for number, lane, offset in self._each_lane()
                for queue in self._groups(
                    e, lane, partial(accumulator, lane, e.add(block.row, offset), slot), [queues[number]]
                )
            ]

        return fill

    def _piece(self, e: Emitter, block: _Block, piece: _Piece, queues: Queues) -> Queues:
        """Advance every accumulator of the block by a piece of the sum; the last one stores the results."""
        rows: Sequence[Tiles] = [()] * len(self.band.lanes)
        if piece.last and block.resident:
            rows = block.resident
        elif not piece.local:
            rows = self._rows_of_a(e, block.row, (piece.k, piece.depth), 0)

        def slot(e: Emitter, slot: _Slot, queues: Queues) -> Queues:
            b = self._columns_of_b(e, piece, slot)
            advanced, maxima = [], queues[len(self.band.lanes) :]
            for number, lane, offset in self._each_lane():
                bundle = partial(self._bundle, piece, slot, lane, e.add(block.row, offset), rows[number], b)
                # Groups with tiles of their own name them in their code.
                apart = len(rows[number]) == lane.groups
                queue, *maxima = self._groups(e, lane, bundle, [queues[number], *maxima], apart=apart)
                advanced.append(queue)
            return [*advanced, *maxima]

        return self._slots(e, block, slot, queues)

    def _rows_of_a(self, e: Emitter, row: Index, piece: tuple[Index, int], first_name: int) -> Sequence[Tiles]:
        """The rows of A of every lane in Shared tiles, for one piece of the sum."""
        found, name = [], first_name
        for _, lane, offset in self._each_lane():
            tiles = a_tiles(self.product.shape, lane)
            rows = lane.total_rows // tiles
            starts = [e.add(row, offset + number * rows) for number in range(tiles)]
            found.append([self._tile_of_a(e, start, rows, piece, name + n) for n, start in enumerate(starts)])
            name += tiles
        return found

    def _tile_of_a(self, e: Emitter, row: Index, rows: int, piece: tuple[Index, int], name: int) -> SSAValue:
        """Rows of A in one Shared tile, as they lie in memory."""
        a, (k, depth) = self.product.a, piece
        if self.product.shape.trans_a:
            return a.load_shared(e, k, row, (depth, rows), SharedType.get(depth, rows, a.dtype), name)
        return a.load_shared(e, row, k, (rows, depth), SharedType.get(rows, depth, a.dtype), name)

    def _columns_of_b(self, e: Emitter, piece: _Piece, slot: _Slot) -> SSAValue:
        """The columns of B of a slot, in a Shared tile or in one of every PE."""
        b, width = self.product.b, self.band.columns.width
        size = (piece.depth, slot.width)
        if not piece.local and self.product.shape.trans_b:
            type_ = SharedType.get(width, piece.depth, b.dtype)
            return b.load_shared(e, slot.col, piece.k, (slot.width, piece.depth), type_, B_NAME)
        if not piece.local:
            return b.load_shared(e, piece.k, slot.col, size, SharedType.get(piece.depth, width, b.dtype), B_NAME)
        type_ = TileType.get(piece.depth, width, b.dtype, TileLayout.CUBE_N8)
        return _pinned(b.load(e, piece.k, slot.col, size, self.band.pes, type_), B_HAND)

    @property
    def _stays_local(self) -> bool:
        return stays_local(self.product.shape, self.band)

    def _local_tiles(self, e: Emitter, row: Index) -> Sequence[Tiles]:
        """The rows of A of every lane in Local tiles, for all of the sum.

        Those of lanes with fewer PEs come first: behind them a tile is published on all of these PEs or on none, so it
        has one name.
        """
        piece, found = _Piece(0, self.product.shape.k, local=True), {}
        for number, lane, offset in sorted(self._each_lane(), key=lambda each: each[1].pes):
            starts = [_pe_row(e, lane, e.add(row, offset), group) for group in range(lane.groups)]
            found[number] = [self._local_rows(e, piece, lane, start) for start in starts]
        return [found[number] for number in range(len(found))]

    def _local_rows(self, e: Emitter, piece: _Piece, lane: Lane, row: Index) -> SSAValue:
        """Each PE's rows of A in a Local tile."""
        a, (rows, pes, rest) = self.product.a, _share(lane)
        type_ = TileType.get(lane.pe_rows, piece.depth, a.dtype, TileLayout(lane.layout.lower()))
        return _pinned(a.load(e, row, piece.k, (rows, piece.depth), pes, type_, rest), A_HAND)

    def _bundle(
        self,
        piece: _Piece,
        slot: _Slot,
        lane: Lane,
        row: Index,
        rows_of_a: Tiles,
        b: SSAValue,
        e: Emitter,
        number: Index,
        queues: Queues,
    ) -> Queues:
        """Advance the accumulator of one group of a lane from ``row`` on; ``rows_of_a`` are its tiles, if any."""
        queue, *maxima = queues
        acc = initial = None
        if self.product.c is not None or not piece.first:
            acc, queue = _popped(e, queue)
        share = rows, pes, rest = _share(lane)
        pe_row = partial(_pe_row, e, lane, row, number)
        type_ = self._type(lane, last=piece.last)
        if piece.local:
            a = rows_of_a[cast(int, number)] if rows_of_a else self._local_rows(e, piece, lane, pe_row())
            size = rows, slot.width, piece.depth
        else:
            a, size = _group_of(e, rows_of_a, lane, number, piece.depth), (lane.rows, slot.width, piece.depth)
        if maxima:
            initial, *maxima = _popped(e, maxima[0])
        elif piece.last and self.product.shape.initial:
            initial = self._first_maximum(e, self.product.least(), lane, pe_row())
        op = self.product.piece(
            e,
            acc,
            (a, b),
            size,
            pes if piece.local else PE_COUNT,
            type_,
            share=share,
            row=pe_row,
            col=slot.col,
            first=piece.first,
            last=piece.last,
            initial=initial,
        )
        if self._stays_local:
            # Parameters would push A away in their hand.
            for parameter in op.parameters():
                _pinned(parameter, B_HAND)
        hands = [lane.hand] + [lane.max_hand] * (op.row_max is not None) + [GROUP_MAX_HAND] * (op.group_max is not None)
        op.place([_hand(hand) for hand in hands])
        if not piece.last:
            return [_pushed(e, op.result, queue)]
        if self.product.dest is not None:
            self.product.dest.store(e, op.result, pe_row(), slot.col, (rows, slot.width), pes, rest)
        if self.product.group_max is not None:
            assert op.group_max is not None
            col, width = (e.divided(v, self.product.shape.group) for v in (slot.col, slot.width))
            self.product.group_max.store(e, op.group_max, pe_row(), col, (rows, width), pes, rest)
        if maxima:
            return [queue, _pushed(e, cast(SSAValue, op.row_max), maxima[0])]
        if op.row_max is not None:
            self._store_row_maxima(e, op.row_max, lane, pe_row())
        return [queue]


def _present(queues: Queues) -> list[SSAValue]:
    """Queues that exist: only what starts a lone accumulator has none before it."""
    return [queue for queue in queues if queue is not None]


def _pushed(e: Emitter, item: SSAValue, queue: SSAValue | None) -> SSAValue:
    """The accumulators of a lane with one more."""
    if queue is None or not isinstance(queue.type, QueueType):
        return item
    return e.emit(tile.PushOp(item, queue)).result


def _popped(e: Emitter, queue: SSAValue | None) -> tuple[SSAValue, SSAValue | None]:
    """The oldest accumulator of a lane, and the others."""
    assert queue is not None
    if not isinstance(queue.type, QueueType):
        return queue, None
    acc, rest = e.emit(tile.PopOp(queue)).results
    return acc, rest


def _share(lane: Lane) -> tuple[int, int, int]:
    """Rows per PE, PEs, and the rest on one more PE, of what each PE does on its own."""
    if lane.whole_pes:
        return lane.pe_rows, lane.whole_pes, lane.rest
    return lane.rest, 1, 0


def _pe_row(e: Emitter, lane: Lane, row: Index, group: Index) -> Index:
    """The first row of this PE in a group of a lane that starts at ``row``."""
    row = e.add(row, e.mul(group, lane.rows))
    return row if lane.pes == 1 else e.add(e.mul(pe_id(e), lane.pe_rows), row)


def _pinned(value: SSAValue, hand: int) -> SSAValue:
    """A tile whose hand the plan has chosen."""
    op = value.owner
    assert isinstance(op, tile.TileOperation)
    op.place([_hand(hand)])
    return value


def _hand(number: int) -> HandAttr:
    return HandAttr(Hand(HANDS[number]))


def _group_of(e: Emitter, tiles: Tiles, lane: Lane, number: Index, depth: int) -> SSAValue:
    """The rows of one group among the Shared tiles of its lane: one of them, or a view of the only one."""
    if len(tiles) == lane.groups:
        return tiles[cast(int, number)]
    [whole] = tiles
    type_ = SharedType.get(lane.rows, depth, cast(SharedType, whole.type).dtype)
    return e.emit(tile.ViewOp(whole, e.index(e.mul(number, type_.cells)), type_)).result
