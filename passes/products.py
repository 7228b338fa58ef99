"""A stored matmul as the loop nests see it: its arrays, sizes and types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue

from ptoc.dialects import nd, tile
from ptoc.dialects.attributes import row_stride_bytes
from ptoc.dialects.batching import RowAxes, RowAxis, StartedAxis, count, started
from ptoc.dialects.postprocessing import NOTHING, Post
from ptoc.dialects.tile import SharedType, SplatAttr, TileLayout, TileType
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import ReluMode, least_maximum
from ptoc.passes.epilogues import accumulator_of
from ptoc.passes.planning.search import Room
from ptoc.passes.planning.shapes import MatmulShape
from ptoc.passes.planning.tiling import power_of_two
from ptoc.passes.rewriting import Emitter, Index
from ptoc.passes.stored_matmuls import StoredMatmul
from ptoc.passes.tile_values import Array, array_of, column_of, constant_array, splat_array, words_array


@dataclass(frozen=True)
class Product:
    """``dest = post(c / 2**scale + a @ b)``; ``top`` emits in front of the store it replaces.

    ``a`` and ``b`` are the arrays as they lie in memory; ``alone`` says that one core does all of it. ``row_max`` and
    ``group_max`` take maxima of the sums, of magnitudes if ``absolute``; ``least`` makes what those of rows start from.
    A ``batch`` has such a product, without maxima, for each of its places, from these arrays on; ``b_rows`` are the
    rows of each right matrix as it lies in memory, of which a product may need only some. Several products may start
    from the same rows of C.
    """

    top: Emitter
    shape: MatmulShape
    a: Array
    b: Array
    c: Array | None
    scale: Array | None
    dest: Array | None
    post: Post
    words: Array | None
    slopes: Array | None
    alone: bool
    row_max: Array | None
    least: Callable[[], Array]
    group_max: Array | None
    absolute: bool
    b_rows: int
    batch: tuple[StartedAxis, ...] = ()

    def further(self, e: Emitter, times: Index, axis: StartedAxis, results: int) -> Product:
        """The product ``times`` further along an axis, behind ``results`` others each time."""
        shape = self.shape
        return replace(
            self,
            a=self.a.below(e, times, axis.a * (shape.k if shape.trans_a else shape.m)),
            b=self.b.below(e, times, axis.b * self.b_rows),
            c=None if self.c is None else self.c.behind(e, times, axis.c),
            dest=None if self.dest is None else self.dest.below(e, times, results * shape.m),
        )

    def parts(self) -> Iterator[Product]:
        """The products of which each is one loop nest: those of an odd number of packed columns are several.

        Slots of columns begin with whole bytes. So the last column, whose byte nobody else writes, is a product of its
        own; and so are the maxima, which need all columns.
        """
        shape = self.shape
        if self.dest is None or not shape.result.packed or shape.n % 2 == 0 or shape.n == 1:
            yield self
            return
        if self.row_max is not None or self.group_max is not None:
            sums = replace(shape, result=shape.accumulator, stored=False)
            yield replace(self, shape=sums, dest=None, post=NOTHING, words=None, slopes=None)
        bare = replace(self, row_max=None, group_max=None, absolute=False)
        yield bare._columns(0, shape.n - 1)
        yield bare._columns(shape.n - 1, 1)

    def _columns(self, first: int, cols: int) -> Product:
        """Some columns, without maxima."""
        shape = replace(self.shape, n=cols, row_max=False, initial=False, group=0)
        b = self.b.below(self.top, 1, first) if shape.trans_b else self.b.beside(first)
        c, dest, words, slopes = (
            None if each is None else each.beside(first) for each in (self.c, self.dest, self.words, self.slopes)
        )
        return replace(self, shape=shape, b=b, c=c, dest=dest, words=words, slopes=slopes)

    def room(self, *, alone: bool) -> Room:
        """The room for accumulators, in a kernel that the product has ``alone`` or not."""
        parameters = any(each is not None for each in (self.scale, self.words, self.slopes))
        return Room(alone, parameters, self.row_max is not None, self.shape.group)

    @property
    def postprocesses(self) -> bool:
        """Whether the last piece of a sum does more than add."""
        return self.post != NOTHING or self.shape.result != self.shape.accumulator

    def maxima_type(self, rows: int, cols: int = 1) -> TileType:
        """A tile with so many maxima of each row."""
        return TileType.get(rows, cols, self.shape.accumulator, TileLayout.NORM)

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
        initial: SSAValue | None = None,
    ) -> tile.MatmulOp:
        """One bundle's worth of the sum, ``acc + a @ b``: the first one scales ``acc``, the last one is post-processed.

        ``share`` are the rows of PEs with a full share, how many these are, and the rows of the PE behind them.
        ``row`` emits the number of the first row of this PE, ``col`` is the first column. The last one gives the maxima
        too, those of rows from ``initial`` on.
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
            return e.emit(tile.MatmulOp(acc, *operands, (m, n, k), pes, type_, scale=scale, rest=rest, **turned))
        everyone = pes + (rest > 0)
        columns = TileType.get(1, power_of_two(type_.shape[1]), dtypes.U64, TileLayout.NORM)
        tiles = [
            None if array is None else array.load(e, 0, col, (1, n), everyone, columns)
            for array in (self.words, self.slopes)
        ]
        rows, cols = type_.shape
        group = self.shape.group
        return e.emit(
            tile.MatmulOp(
                acc,
                *operands,
                (m, n, k),
                pes,
                type_,
                self.post.from_tiles,
                scale,
                *tiles,
                rest=rest,
                **turned,
                row_max=None if self.row_max is None else self.maxima_type(rows),
                initial=initial,
                group_max=None if self.group_max is None else self.maxima_type(rows, cols // group),
                group=group,
                absolute=self.absolute,
            )
        )


def product_of(module: ModuleOp, stored: StoredMatmul) -> Product:
    """The product that the stores of a matmul stand for."""
    top, matmul = Emitter.before(stored.stores[0]), stored.matmul
    m, n, k = matmul.size
    c = _accumulator_array(top, module, matmul, n)
    stride = 0 if c is None else c.stride
    m, stride, batch = started(matmul.axes, m, _rows_of_c(matmul), stride)
    c = None if c is None else replace(c, stride=stride)
    a, b = array_of(matmul.a), column_of(matmul.b)
    dest = _destination(stored, matmul.result, column=matmul.is_column)
    row_max = _destination(stored, matmul.row_max, column=True)
    group_max = _destination(stored, matmul.group_max)
    maxima = row_max is not None or group_max is not None
    absolute = maxima and matmul.absolute is not None
    accumulator = accumulator_of(matmul)
    result = matmul.finished_type(accumulator)
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
            row_max=row_max is not None,
            initial=row_max is not None and matmul.initial is not None,
            group=matmul.group.value.data if group_max is not None and matmul.group is not None else 0,
            stored=dest is not None,
            c_rows=_rows_in_memory(matmul, c),
        ),
        a,
        b,
        c,
        None if matmul.scale is None else column_of(matmul.scale),
        dest,
        post,
        words_array(top, module, words) if post.parameter == "vector" else None,
        words_array(top, module, post.slopes()) if post.relu_mode == ReluMode.PRELU else None,
        stored.alone,
        row_max,
        partial(_least, top, module, matmul.initial, accumulator, absolute),
        group_max,
        absolute,
        n if matmul.trans_b is not None else k,
        batch,
    )


def _destination(stored: StoredMatmul, result: SSAValue | None, *, column: bool = False) -> Array | None:
    """The array that takes a result of a matmul; a vector is a row, or a ``column``."""
    dest = stored.dest(result)
    if dest is None:
        return None
    array = Array(dest, row_stride_bytes(cast(MemRefType, dest.type)))
    vector = column and len(cast(MemRefType, dest.type).get_shape()) == 1
    return replace(array, stride=array.dtype.nbytes) if vector else array


def _least(top: Emitter, module: ModuleOp, initial: SSAValue | None, accumulator: DType, absolute: bool) -> Array:
    """What the maxima of rows start from: what the kernel gives, or what loses against every sum."""
    if initial is not None and not isinstance(initial.owner, nd.SplatOp):
        return column_of(initial)
    bits = least_maximum(accumulator, absolute=absolute) if initial is None else initial.owner.bits.data
    return constant_array(top, module, SplatAttr.get(accumulator.nbytes, bits, 1), accumulator, 0)


def _rows_in_memory(matmul: nd.MatmulAccOp, c: Array | None) -> int | None:
    """Rows of C that every row of sums shares; ``None`` where each has its own."""
    if c is None or c.stride:
        return None
    return 0 if isinstance(cast(SSAValue, matmul.acc).owner, nd.SplatOp) else 1


def _rows_of_c(matmul: nd.MatmulAccOp) -> RowAxes:
    """Which row of C each row of the sums starts from."""
    acc = None if matmul.acc is None else matmul.acc.owner
    if isinstance(acc, nd.BroadcastOp) and acc.rows is not None:
        return acc.rows.data
    return (RowAxis(matmul.size[0] * count(matmul.axes), 1),)


def _accumulator_array(top: Emitter, module: ModuleOp, matmul: nd.MatmulAccOp, n: int) -> Array | None:
    if matmul.acc is None:
        return None
    if isinstance(matmul.acc.owner, nd.SplatOp):
        return splat_array(top, module, matmul.acc.owner, n)
    return column_of(matmul.acc) if matmul.is_column else array_of(matmul.acc)
