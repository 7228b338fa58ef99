"""``tile-matmul``: a stored ``nd.matmul_acc`` becomes loops over CUBE tiles.

Per PE a block of rows (16 or 32), inside it blocks of columns, inside them the sum over K in ascending pieces with
the accumulator carried from bundle to bundle. A is loaded as M16 or M32, B as N8, C and D have A's layout; row
strides come from the arrays. ReLU and conversion belong to the last piece of the sum only, so that piece stands
outside the K loop; so does the first when there is no C to start from. All operands are Local.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ptoc.dialects import nd, tile
from ptoc.dialects.attributes import dtype_of, row_stride_bytes, shape_2d
from ptoc.dialects.tile import TileLayout, TileType
from ptoc.isa.dtypes import DType
from ptoc.passes.diagnostics import reject
from ptoc.passes.fuse_epilogue import accumulator_of
from ptoc.passes.planning.rings import DoesNotFit
from ptoc.passes.planning.tiling import MatmulTiling, RowBlock, matmul_tiling, split_rows
from ptoc.passes.rewriting import Emitter, Index, the_function
from ptoc.passes.tile_values import Array, array_of, pe_id, splat_array


@dataclass(frozen=True)
class TileMatmul(ModulePass):
    name = "tile-matmul"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        for each in list(block.ops):
            if isinstance(each, nd.StoreOp) and isinstance(each.value.owner, nd.MatmulAccOp):
                matmul = each.value.owner
                _Nest(op, each, matmul).emit()
                Rewriter.erase_op(each)
                if not matmul.result.uses:
                    Rewriter.erase_op(matmul)


class _Nest:
    """The loops of one matmul."""

    def __init__(self, module: ModuleOp, store: nd.StoreOp, matmul: nd.MatmulAccOp) -> None:
        self.module = module
        self.top = Emitter.before(store)
        self.matmul = matmul
        self.a = array_of(matmul.a)
        self.b = array_of(matmul.b)
        self.dest = Array(store.dest, row_stride_bytes(cast(MemRefType, store.dest.type)))
        self.m, self.k = shape_2d(matmul.a.type)
        self.n = shape_2d(matmul.b.type)[1]
        self.accumulator = accumulator_of(matmul)
        try:
            self.tiling: MatmulTiling = matmul_tiling(
                self.m,
                self.n,
                self.k,
                self.a.dtype,
                self.b.dtype,
                self.accumulator,
                has_c=matmul.acc is not None,
            )
        except DoesNotFit as reason:
            reject(matmul, str(reason), rule="Local tile pool of 256 KiB per PE")
        self.c = self._accumulator_array()
        self.layout = TileLayout(self.tiling.layout.lower())

    def _accumulator_array(self) -> Array | None:
        acc = self.matmul.acc
        if acc is None:
            return None
        if isinstance(acc.owner, nd.SplatOp):
            return splat_array(self.top, self.module, acc.owner, self.tiling.n)
        return array_of(acc)

    @property
    def result_dtype(self) -> DType:
        result = dtype_of(cast(TensorType, self.matmul.result.type).element_type)
        return self.accumulator if result.bits == self.accumulator.bits else result

    def emit(self) -> None:
        for block in split_rows(self.m, self.tiling.m):
            self._row_block(block)

    def _row_block(self, block: RowBlock) -> None:
        per_round = block.pes * block.rows

        def round_(e: Emitter, start: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row = start
            if block.pes > 1:
                row = e.add(e.mul(pe_id(e), block.rows), start)
            e.loop(0, self.n, self.tiling.n, lambda e, col, _: self._column_block(e, block, row, col), name="col")
            return ()

        self.top.loop(block.first, block.first + block.rounds * per_round, per_round, round_, name="row")

    def _column_block(self, e: Emitter, block: RowBlock, row: Index, col: Index) -> Sequence[SSAValue]:
        width = e.remaining(self.n, col, self.tiling.n)
        acc = None
        if self.c is not None:
            acc_type = TileType.get(self.tiling.m, self.tiling.n, self.accumulator, self.layout)
            acc = self.c.load(e, row, col, (block.rows, width), block.pes, acc_type)
        result = self._sum(e, block, row, col, width, acc)
        self.dest.store(e, result, row, col, (block.rows, width), block.pes)
        return ()

    def _sum(self, e: Emitter, block: RowBlock, row: Index, col: Index, width: Index, acc: SSAValue | None) -> SSAValue:
        step = self.tiling.k
        start = 0
        last = (self.k - 1) // step * step
        if self.k - last == step and not self._postprocesses:
            last = self.k
        if acc is None and last > 0:
            acc = self._piece(e, block, row, col, width, 0, step, None, final=False)
            start = step

        def body(e: Emitter, k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return (self._piece(e, block, row, col, width, k, step, carried[0], final=False),)

        if acc is not None:
            (acc,) = e.loop(start, last, step, body, (acc,), name="k")
        if last < self.k:
            acc = self._piece(e, block, row, col, width, last, self.k - last, acc, final=True)
        assert acc is not None
        return acc

    @property
    def _postprocesses(self) -> bool:
        return self.matmul.relu is not None or self.result_dtype != self.accumulator

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
        final: bool,
    ) -> SSAValue:
        """One bundle's worth of the sum: ``depth`` products per element."""
        tiling = self.tiling
        a_type = TileType.get(tiling.m, tiling.k, self.a.dtype, self.layout)
        b_type = TileType.get(tiling.k, tiling.n, self.b.dtype, TileLayout.CUBE_N8)
        d_type = TileType.get(tiling.m, tiling.n, self.result_dtype if final else self.accumulator, self.layout)
        a = self.a.load(e, row, k, (block.rows, depth), block.pes, a_type)
        b = self.b.load(e, k, col, (depth, width), block.pes, b_type)
        size = (e.index(block.rows), e.index(width), e.index(depth))
        relu = final and self.matmul.relu is not None
        return e.emit(tile.MatmulOp(acc, a, b, size, block.pes, d_type, relu=relu)).result
