"""The loops of a matmul with all operands in Local tiles and one accumulator per PE, for any rectangle of the result.

Per PE a block of rows (16 or 32), inside it blocks of columns, inside them the sum over K in ascending pieces with the
accumulator carried from bundle to bundle. A is loaded as M16 or M32, B as N8, C and D have A's layout. ReLU and
conversion belong to the last piece of the sum only, so that piece stands outside the K loop; so does the first when
there is no C to start from, or C is scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ptoc.dialects.tile import TileLayout, TileType
from ptoc.passes.planning.shapes import Rectangle
from ptoc.passes.planning.tiling import MatmulTiling, RowBlock, matmul_tiling, split_rows
from ptoc.passes.products import Product
from ptoc.passes.rewriting import Emitter, Index
from ptoc.passes.tile_values import core_id, pe_id


@dataclass(frozen=True)
class LocalProduct:
    """One rectangle of a product; ``DoesNotFit`` from ``plan`` when no tile size fits the Local pool."""

    product: Product
    area: Rectangle
    tiling: MatmulTiling
    layout: TileLayout

    @classmethod
    def plan(cls, product: Product, area: Rectangle) -> LocalProduct:
        tiling = matmul_tiling(product.shape.part(area))
        return cls(product, area, tiling, TileLayout(tiling.layout.lower()))

    def emit(self) -> None:
        """Emit the loops, which one core runs."""

        def turn(e: Emitter, _: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for block in split_rows(self.area.rows, self.tiling.m):
                self._row_block(e, block)
            return carried

        top = self.product.top
        top.loop(core_id(top), 1, 1, turn, name="turn")

    def _row_block(self, e: Emitter, block: RowBlock) -> None:
        per_round = block.pes * block.rows
        first = self.area.row + block.first

        def round_(e: Emitter, start: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row = start
            if block.pes > 1:
                row = e.add(e.mul(pe_id(e), block.rows), start)
            stop = self.area.col + self.area.cols
            return e.loop(
                self.area.col,
                stop,
                self.tiling.n,
                lambda e, col, _: self._column_block(e, block, row, col, e.remaining(stop, col, self.tiling.n)),
                name="col",
            )

        e.loop(first, first + block.rounds * per_round, per_round, round_, name="row")

    def _column_block(self, e: Emitter, block: RowBlock, row: Index, col: Index, width: Index) -> Sequence[SSAValue]:
        product, tiling = self.product, self.tiling
        acc = None
        if product.c is not None:
            acc_type = TileType.get(tiling.m, tiling.n, product.shape.accumulator, self.layout)
            acc = product.c.load(e, row, col, (block.rows, width), block.pes, acc_type)
        result = self._sum(e, block, row, col, width, acc)
        assert product.dest is not None
        product.dest.store(e, result, row, col, (block.rows, width), block.pes)
        return ()

    def _sum(self, e: Emitter, block: RowBlock, row: Index, col: Index, width: Index, acc: SSAValue | None) -> SSAValue:
        step, depth = self.tiling.k, self.product.shape.k
        start = 0
        last = (depth - 1) // step * step
        if depth - last == step and not self.product.postprocesses:
            last = depth
        if not self.product.shape.started and last > 0:
            acc = self._piece(e, block, row, col, width, 0, step, acc, first=True)
            start = step

        def body(e: Emitter, k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return (self._piece(e, block, row, col, width, k, step, carried[0]),)

        if acc is not None:
            (acc,) = e.loop(start, last, step, body, (acc,), name="k")
        if last < depth:
            acc = self._piece(e, block, row, col, width, last, depth - last, acc, first=last == 0, last=True)
        assert acc is not None
        return acc

    def _piece(
        self,
        e: Emitter,
        block: RowBlock,
        row: Index,
        col: Index,
        width: Index,
        k: Index,
        depth: int,
        acc: SSAValue | None,
        *,
        first: bool = False,
        last: bool = False,
    ) -> SSAValue:
        """One bundle's worth of the sum: ``depth`` products per element."""
        product, tiling = self.product, self.tiling
        a_type = TileType.get(tiling.m, tiling.k, product.a.dtype, self.layout)
        b_type = TileType.get(tiling.k, tiling.n, product.b.dtype, TileLayout.CUBE_N8)
        d_type = TileType.get(tiling.m, tiling.n, product.type_of_piece(last=last), self.layout)
        a = product.a.load(e, row, k, (block.rows, depth), block.pes, a_type)
        b = product.b.load(e, k, col, (depth, width), block.pes, b_type)
        size = (block.rows, width, depth)
        share = block.rows, block.pes, 0
        return product.piece(
            e, acc, (a, b), size, block.pes, d_type, share=share, row=lambda: row, col=col, first=first, last=last
        ).result
