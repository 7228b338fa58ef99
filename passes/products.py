"""A stored matmul as the loop nests see it: its arrays, sizes and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import SSAValue

from ptoc.dialects import nd, tile
from ptoc.dialects.attributes import dtype_of, row_stride_bytes, shape_2d
from ptoc.dialects.postprocessing import NOTHING, Post
from ptoc.dialects.tile import TileType
from ptoc.isa.dtypes import DType
from ptoc.passes.epilogues import accumulator_of
from ptoc.passes.planning.tiling import MatmulShape
from ptoc.passes.rewriting import Emitter, Index
from ptoc.passes.tile_values import Array, array_of, splat_array


@dataclass(frozen=True)
class Product:
    """``dest = post(c + a @ b)``; ``top`` emits in front of the store it replaces."""

    top: Emitter
    shape: MatmulShape
    a: Array
    b: Array
    c: Array | None
    dest: Array
    result: DType
    post: Post

    @property
    def postprocesses(self) -> bool:
        """Whether the last piece of a sum does more than add."""
        return self.post != NOTHING or self.result != self.shape.accumulator

    def type_of_piece(self, *, last: bool) -> DType:
        """What a piece of the sum results in: the accumulator, or at the end the result."""
        return self.result if last else self.shape.accumulator

    def piece(
        self,
        e: Emitter,
        acc: SSAValue | None,
        operands: tuple[SSAValue, SSAValue],
        size: tuple[Index, Index, Index],
        pes: int,
        type_: TileType,
        *,
        last: bool,
    ) -> SSAValue:
        """One bundle's worth of the sum, ``acc + a @ b``; the last one is post-processed."""
        m, n, k = (e.index(v) for v in size)
        return e.emit(tile.MatmulOp(acc, *operands, (m, n, k), pes, type_, self.post if last else NOTHING)).result


def product_of(module: ModuleOp, store: nd.StoreOp, matmul: nd.MatmulAccOp) -> Product:
    """The product that a store of a matmul stands for."""
    top = Emitter.before(store)
    m, k = shape_2d(matmul.a.type)
    n = shape_2d(matmul.b.type)[1]
    a, b = array_of(matmul.a), array_of(matmul.b)
    accumulator = accumulator_of(matmul)
    stored = dtype_of(cast(TensorType, matmul.result.type).element_type)
    return Product(
        top,
        MatmulShape(m, n, k, a.dtype, b.dtype, accumulator, matmul.acc is not None),
        a,
        b,
        _accumulator_array(top, module, matmul, n),
        Array(store.dest, row_stride_bytes(cast(MemRefType, store.dest.type))),
        accumulator if stored.bits == accumulator.bits else stored,
        matmul.post_processing,
    )


def _accumulator_array(top: Emitter, module: ModuleOp, matmul: nd.MatmulAccOp, n: int) -> Array | None:
    if matmul.acc is None:
        return None
    if isinstance(matmul.acc.owner, nd.SplatOp):
        return splat_array(top, module, matmul.acc.owner, n)
    return array_of(matmul.acc)
