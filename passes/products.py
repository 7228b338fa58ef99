"""A stored matmul as the loop nests see it: its arrays, sizes and types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import SSAValue

from ptoc.dialects import nd, tile
from ptoc.dialects.attributes import dtype_of, row_stride_bytes
from ptoc.dialects.batching import Batch
from ptoc.dialects.postprocessing import NOTHING, Post
from ptoc.dialects.tile import SharedType, TileLayout, TileType
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import ReluMode
from ptoc.passes.epilogues import accumulator_of
from ptoc.passes.planning.search import Room
from ptoc.passes.planning.shapes import MatmulShape
from ptoc.passes.planning.tiling import power_of_two
from ptoc.passes.rewriting import Emitter, Index
from ptoc.passes.tile_values import Array, array_of, column_of, splat_array, words_array


@dataclass(frozen=True)
class Product:
    """``dest = post(c / 2**scale + a @ b)``; ``top`` emits in front of the store it replaces.

    ``a`` and ``b`` are the arrays as they lie in memory; ``alone`` says that one core does all of it. A ``batch`` has
    such a product for each of its places, from these arrays on.
    """

    top: Emitter
    shape: MatmulShape
    a: Array
    b: Array
    c: Array | None
    scale: Array | None
    dest: Array
    post: Post
    words: Array | None
    slopes: Array | None
    alone: bool
    batch: Batch = ()

    def further(self, e: Emitter, times: Index, a: int, b: int, results: int) -> Product:
        """The product that lies ``times`` as many matrices further in each of its arrays."""
        shape = self.shape
        return replace(
            self,
            a=self.a.below(e, times, a * (shape.k if shape.trans_a else shape.m)),
            b=self.b.below(e, times, b * (shape.n if shape.trans_b else shape.k)),
            c=None if self.c is None else self.c.below(e, times, results * shape.m),
            dest=self.dest.below(e, times, results * shape.m),
        )

    def room(self, *, alone: bool) -> Room:
        """The room for accumulators, in a kernel that the product has ``alone`` or not."""
        return Room(alone, any(each is not None for each in (self.scale, self.words, self.slopes)))

    @property
    def postprocesses(self) -> bool:
        """Whether the last piece of a sum does more than add."""
        return self.post != NOTHING or self.shape.result != self.shape.accumulator

    def type_of_piece(self, *, last: bool) -> DType:
        """What a piece of the sum results in: the accumulator, or at the end the result."""
        return self.shape.result if last else self.shape.accumulator

    def piece(
        self,
        e: Emitter,
        acc: SSAValue | None,
        operands: tuple[SSAValue, SSAValue],
        size: tuple[Index, Index, Index],
        pes: int,
        type_: TileType,
        *,
        share: tuple[int, int, int],
        row: Callable[[], Index],
        col: Index,
        first: bool,
        last: bool,
    ) -> SSAValue:
        """One bundle's worth of the sum, ``acc + a @ b``: the first one scales ``acc``, the last one is post-processed.

        ``share`` are the rows of PEs with a full share, how many these are, and the rows of the PE behind them.
        ``row`` emits the number of the first row of this PE, ``col`` is the first column.
        """
        scale = None
        if first and self.scale is not None:
            rows, sharing, rest = share
            column = TileType.get(type_.shape[0], 1, self.scale.dtype, TileLayout.CUBE_M32)
            scale = self.scale.load(e, row(), 0, (rows, 1), sharing, column, rest)
        m, n, k = (e.index(v) for v in size)
        rest = 0 if isinstance(operands[0].type, SharedType) else share[2]
        turned = {"trans_a": self.shape.trans_a, "trans_b": self.shape.trans_b}
        if not last:
            return e.emit(tile.MatmulOp(acc, *operands, (m, n, k), pes, type_, scale=scale, rest=rest, **turned)).result
        everyone = pes + (rest > 0)
        columns = TileType.get(1, power_of_two(type_.shape[1]), dtypes.U64, TileLayout.NORM)
        tiles = [
            None if array is None else array.load(e, 0, col, (1, n), everyone, columns)
            for array in (self.words, self.slopes)
        ]
        post = self.post.from_tiles
        return e.emit(
            tile.MatmulOp(acc, *operands, (m, n, k), pes, type_, post, scale, *tiles, rest=rest, **turned)
        ).result


def product_of(module: ModuleOp, store: nd.StoreOp, matmul: nd.MatmulAccOp) -> Product:
    """The product that a store of a matmul stands for."""
    top = Emitter.before(store)
    m, n, k = matmul.size
    a, b = array_of(matmul.a), column_of(matmul.b)
    dest = Array(store.dest, row_stride_bytes(cast(MemRefType, store.dest.type)))
    accumulator = accumulator_of(matmul)
    stored = dtype_of(cast(TensorType, matmul.result.type).element_type)
    result = accumulator if stored.bits == accumulator.bits else stored
    post = matmul.post_processing
    words = post.quantization(post.mode(accumulator, result))
    return Product(
        top,
        MatmulShape(
            m,
            n,
            k,
            a.dtype,
            b.dtype,
            accumulator,
            has_c=matmul.acc is not None,
            result=result,
            scaled=matmul.scale is not None,
            trans_a=matmul.trans_a is not None,
            trans_b=matmul.trans_b is not None,
        ),
        a,
        b,
        _accumulator_array(top, module, matmul, n),
        None if matmul.scale is None else column_of(matmul.scale),
        replace(dest, stride=dest.dtype.nbytes) if matmul.is_column else dest,
        post,
        words_array(top, module, words) if post.parameter == "vector" else None,
        words_array(top, module, post.slopes()) if post.relu_mode == ReluMode.PRELU else None,
        store.alone is not None,
        matmul.axes,
    )


def _accumulator_array(top: Emitter, module: ModuleOp, matmul: nd.MatmulAccOp, n: int) -> Array | None:
    if matmul.acc is None:
        return None
    if isinstance(matmul.acc.owner, nd.SplatOp):
        return splat_array(top, module, matmul.acc.owner, n)
    return column_of(matmul.acc) if matmul.is_column else array_of(matmul.acc)
