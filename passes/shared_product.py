"""The loops of a matmul whose operands are Shared, for a rectangle of whole row groups and column slots.

Each core holds a block of accumulators in its Local tiles: groups of 128 rows (32 per PE) by slots of 128 columns, or
64 where other work shares the pool. For each piece of K the rows of A are loaded once into Shared tiles, then for each
slot a piece of B, and every accumulator advances by one cooperative bundle. The accumulators are a queue: a bundle
takes the oldest and publishes its successor, so each is named by the same distance every time, and loops stay loops.

Shared operands have power-of-two K, so what is left of K behind the full pieces is cut into powers of two. The last
piece of the sum is post-processed and stored bundle by bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from ptoc.dialects import tile
from ptoc.dialects.tile import QueueType, SharedType, TileLayout, TileType
from ptoc.isa.registers import PE_COUNT
from ptoc.passes.planning.shared import GROUP_ROWS, SharedTiling, sum_schedule
from ptoc.passes.planning.tiling import Rectangle
from ptoc.passes.products import Product
from ptoc.passes.rewriting import Emitter, Index
from ptoc.passes.tile_values import pe_id

_B_NAME = 63
"""The Shared tile that holds the piece of B; those of A count from 0."""

PE_ROWS = GROUP_ROWS // PE_COUNT


@dataclass(frozen=True)
class _Block:
    """A block of accumulators: its first row and column, and how many row groups and column slots it has."""

    row: Index
    col: Index
    groups: int
    slots: int


@dataclass(frozen=True)
class SharedProduct:
    """One rectangle of a product, in blocks of ``tiling.groups`` by ``tiling.slots`` accumulators."""

    product: Product
    area: Rectangle
    tiling: SharedTiling

    def emit(self) -> None:
        """Emit the loops: full blocks, and once more with other counts for what is left of rows and columns."""
        area = self.area
        for row, row_end, groups in _cuts(area.row, area.rows // GROUP_ROWS, self.tiling.groups, GROUP_ROWS):
            for col, col_end, slots in _cuts(
                area.col, area.cols // self.tiling.cols, self.tiling.slots, self.tiling.cols
            ):
                self._blocks((row, row_end, groups), (col, col_end, slots))

    def _blocks(self, rows: tuple[int, int, int], cols: tuple[int, int, int]) -> None:
        """The blocks of one kind, row by row."""

        def row_of_blocks(e: Emitter, row: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def block(e: Emitter, col: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return self._block(e, _Block(row, col, rows[2], cols[2]))

            return e.loop(cols[0], cols[1], cols[2] * self.tiling.cols, block, name="col", keep=True)

        self.product.top.loop(rows[0], rows[1], rows[2] * GROUP_ROWS, row_of_blocks, name="row", keep=True)

    def _block(self, e: Emitter, block: _Block) -> Sequence[SSAValue]:
        """Start the block's accumulators, add all pieces, store the results."""
        plan = sum_schedule(self.product.shape.k, self.tiling.k, has_c=not self.product.first_differs)
        queue = e.emit(tile.QueueOp(self._queue_type())).result
        if self.product.c is not None:
            queue = self._slots(e, block, partial(self._fill, block), queue)
        if plan.first is not None:
            queue = self._piece(e, block, queue, *plan.first, first=True)
        (queue,) = e.loop(
            plan.start,
            plan.stop,
            self.tiling.k,
            lambda e, k, carried: (self._piece(e, block, carried[0], k, self.tiling.k),),
            (queue,),
            name="k",
            keep=True,
        )
        for piece in plan.middle:
            queue = self._piece(e, block, queue, *piece)
        self._piece(e, block, queue, *plan.last, first=plan.first is None and self.product.first_differs, last=True)
        return ()

    def _queue_type(self) -> QueueType:
        return QueueType(self._type(last=False))

    def _type(self, *, last: bool) -> TileType:
        return TileType.get(PE_ROWS, self.tiling.cols, self.product.type_of_piece(last=last), TileLayout.CUBE_M32)

    def _slots(
        self,
        e: Emitter,
        block: _Block,
        slot: Callable[[Emitter, Index, Sequence[SSAValue]], Sequence[SSAValue]],
        queue: SSAValue,
    ) -> SSAValue:
        """``slot(emitter, column, (queue,))`` for every slot of a block."""
        width = self.tiling.cols
        (queue,) = e.loop(
            0,
            block.slots * width,
            width,
            lambda e, col, carried: slot(e, e.add(block.col, col), carried),
            (queue,),
            name="slot",
        )
        return queue

    def _pe_row(self, e: Emitter, block: _Block, group: int) -> Index:
        """The first row of this PE in a row group."""
        return e.add(e.mul(pe_id(e), PE_ROWS), e.add(block.row, group * GROUP_ROWS))

    def _fill(self, block: _Block, e: Emitter, col: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Load the accumulators of one slot."""
        assert self.product.c is not None
        queue = carried[0]
        for group in range(block.groups):
            row, size = self._pe_row(e, block, group), (PE_ROWS, self.tiling.cols)
            c = self.product.c.load(e, row, col, size, PE_COUNT, self._type(last=False))
            queue = e.emit(tile.PushOp(c, queue)).result
        return (queue,)

    def _piece(
        self,
        e: Emitter,
        block: _Block,
        queue: SSAValue,
        k: Index,
        depth: int,
        *,
        first: bool = False,
        last: bool = False,
    ) -> SSAValue:
        """Advance every accumulator of the block by ``depth`` products; the last time, store the results."""
        product = self.product
        a_type = SharedType.get(GROUP_ROWS, depth, product.a.dtype)
        b_type = SharedType.get(depth, self.tiling.cols, product.b.dtype)
        rows = [
            product.a.load_shared(e, e.add(block.row, group * GROUP_ROWS), k, a_type, group)
            for group in range(block.groups)
        ]
        size = (GROUP_ROWS, self.tiling.cols, depth)

        def slot(e: Emitter, col: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            queue = carried[0]
            b = product.b.load_shared(e, k, col, b_type, _B_NAME)
            for group, a in enumerate(rows):
                acc = None
                if not first or product.c is not None:
                    acc, queue = e.emit(tile.PopOp(queue)).results
                row = partial(self._pe_row, e, block, group)
                d = product.piece(
                    e, acc, (a, b), size, PE_COUNT, self._type(last=last), row=row, col=col, first=first, last=last
                )
                if last:
                    product.dest.store(e, d, row(), col, (PE_ROWS, self.tiling.cols), PE_COUNT)
                else:
                    queue = e.emit(tile.PushOp(d, queue)).result
            return (queue,)

        return self._slots(e, block, slot, queue)


def _cuts(first: int, count: int, per_block: int, size: int) -> list[tuple[int, int, int]]:
    """Start, end and parts per block of the full blocks, then of the rest."""
    whole, rest = divmod(count, per_block)
    middle = first + whole * per_block * size
    cuts = [(first, middle, per_block)] if whole else []
    return cuts + ([(middle, middle + rest * size, rest)] if rest else [])
