"""``tile-elementwise``: every remaining write becomes loops over row-major tiles.

A write is a copy (``nd.store`` of loaded data or of a constant), a selection (``nd.store`` of ``where``), a mask as
bytes (``nd.store`` of a comparison), a masked store, or a scatter. Comparisons become TCMP; a write under a mask
becomes MSCATTER_MASK with a constant pattern of byte displacements, so the mask never goes through memory. ``where``
stores the second branch whole and then the first one under the mask; a mask as bytes is zeros, then ones under it.

The cores of the machine take the rounds of rows in turn, unless a write is to be done by one of them alone; which ones
meet in an array and are therefore cut alike says ``divide-among-cores``.

Work on arrays that are all dense and of one shape is folded: the elements form one line, cut into rows that fill the
tiles of all PEs, whatever the shape was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ptoc.dialects import nd, tile
from ptoc.dialects.attributes import Predicate, dtype_of, row_stride_bytes, shape_2d
from ptoc.dialects.tile import IotaAttr, SplatAttr, TileLayout, TileType
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.passes.planning.tiling import RowBlock, line_width, plain_tiling, row_major_bytes, split_rows
from ptoc.passes.rewriting import Emitter, Index, the_function
from ptoc.passes.rounds import emit_rounds
from ptoc.passes.stored_matmuls import WRITES, Write
from ptoc.passes.tile_values import Array, constant_array


@dataclass(frozen=True)
class TileElementwise(ModulePass):
    name = "tile-elementwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        nests = [_Nest(op, each) for each in block.ops if isinstance(each, WRITES)]
        together: dict[Attribute, _Cut] = {}
        for nest in nests:
            number = nest.write.together
            if number is not None:
                together[number] = together.get(number, nest.cut).joined(nest.cut)
        for nest in nests:
            nest.emit(nest.cut if nest.write.together is None else together[nest.write.together])
            Rewriter.erase_op(nest.write)
        for each in reversed(list(block.ops)):
            if each.name.startswith("nd.") and not any(r.uses for r in each.results):
                Rewriter.erase_op(each)


@dataclass(frozen=True)
class _Cut:
    """What decides where a nest cuts its arrays: bytes of the widest element and of its tile, and whether it folds."""

    widest: int
    tile_bytes: int
    folds: bool

    def joined(self, other: _Cut) -> _Cut:
        """A cut that suits both."""
        return _Cut(max(self.widest, other.widest), min(self.tile_bytes, other.tile_bytes), self.folds and other.folds)


@dataclass(frozen=True)
class _Region:
    """A rectangle of the iteration space; ``line`` is the width of a folded line, 0 where nothing is folded."""

    rows: int
    cols: int
    first: int = 0
    line: int = 0


@dataclass(frozen=True)
class _Block:
    """One kind of tile inside a region: its static valid shape, its physical columns, and the PEs at work."""

    region: _Region
    rows: int
    cols: int
    tile_cols: int
    pes: int


def _element(value: SSAValue) -> Attribute:
    return cast("TensorType | MemRefType", value.type).element_type


class _Nest:
    """The loops of one write."""

    def __init__(self, module: ModuleOp, write: Write) -> None:
        self.module = module
        self.write = write
        self.top = Emitter.before(write)
        domain = write.value if isinstance(write, nd.ScatterOp) else write.dest
        self.rows, self.cols = shape_2d(domain.type)
        self.memrefs = set(_memrefs(write))
        widest = max(
            4 if self._needs_pattern else 1,
            *(dtype_of(cast(MemRefType, m.type).element_type).nbytes for m in self.memrefs),
            *(dtype_of(_element(v)).nbytes for v in write.operands),
        )
        self.cut = _Cut(widest, self._tile_bytes(widest), self._foldable())

    @property
    def _needs_pattern(self) -> bool:
        if isinstance(self.write, nd.StoreOp):
            return isinstance(self.write.value.owner, nd.WhereOp | nd.CompareOp)
        return True

    def emit(self, cut: _Cut) -> None:
        """Emit the loops, with tiles as ``cut`` says."""
        for region in self._regions(cut):
            tiling = plain_tiling(region.rows, region.cols, cut.widest, cut.tile_bytes)
            whole, rest = divmod(region.cols, tiling.cols)
            columns = [(0, whole * tiling.cols, tiling.cols)] if whole else []
            if rest:
                columns.append((whole * tiling.cols, region.cols, rest))
            if isinstance(self.write, nd.ScatterOp) and len(range(0, region.cols, tiling.cols)) > 1:
                # Where two elements meet, the last one in row-major order stays, so a row is finished before the next.
                self._loops(region, RowBlock(0, region.rows, 1, 1), columns, tiling.cols)
                continue
            for block in split_rows(region.rows, tiling.rows):
                for each in columns:
                    self._loops(region, block, [each], tiling.cols)

    def _tile_bytes(self, widest: int) -> int:
        """How large the widest tile may be, by what the nest loads, compares and holds."""
        ops = set(_operations(self.write))
        loads = sum(isinstance(op, nd.LoadOp) for op in ops)
        masks = [v for op in (*ops, self.write) for v in op.operands if _element(v) == i1]
        # Besides the kernel's own constants: the pattern of displacements, bytes to compare a bool array with, and
        # zeros and ones where a mask becomes bytes.
        constants = sum(isinstance(op, nd.SplatOp) for op in ops)
        constants += self._needs_pattern and not isinstance(self.write, nd.ScatterOp)
        constants += any(not isinstance(v.owner, nd.CompareOp) for v in masks)
        constants += 2 * (_element(self.write.dest) == i1)
        return row_major_bytes(loads, int(bool(masks)), constants, widest)

    def _regions(self, cut: _Cut) -> Iterator[_Region]:
        total = self.rows * self.cols
        if not cut.folds:
            yield _Region(self.rows, self.cols)
            return
        width = line_width(total, cut.widest)
        lines, rest = divmod(total, width)
        yield _Region(lines, width, 0, width)
        if rest:
            yield _Region(1, rest, lines * width, width)

    def _foldable(self) -> bool:
        """All arrays dense and of the shape of the iteration space."""
        shape = (self.rows, self.cols)
        dense = all(
            shape_2d(m.type) == shape
            and (self.rows == 1 or row_stride_bytes(cast(MemRefType, m.type)) == self.cols * _bytes(m))
            for m in self.memrefs
        )
        return dense and not any(isinstance(op, nd.BroadcastOp) for op in _operations(self.write))

    def _loops(self, region: _Region, rows: RowBlock, columns: Sequence[tuple[int, int, int]], tile_cols: int) -> None:
        """Round by round over ``rows``, in each over the columns (first, end, width of a tile)."""
        bodies = [self._body(_Block(region, rows.rows, width, tile_cols, rows.pes)) for _, _, width in columns]

        def each(e: Emitter, row: Index) -> None:
            for body, (start, stop, width) in zip(bodies, columns):
                e.loop(start, stop, width, partial(_column, body, row), name="col")

        emit_rounds(self.top, rows, each, alone=self.write.alone is not None)

    def _body(self, block: _Block) -> Callable[[Emitter, Index, Index], None]:
        """The code of one tile; what does not change from tile to tile is emitted here, before the loops."""
        write = self.write
        if isinstance(write, nd.ScatterOp):
            return self._scatter(write, block)
        if isinstance(write, nd.MaskedStoreOp):
            return self._select(block, write.mask, write.value, None)
        source = write.value.owner
        if isinstance(source, nd.WhereOp):
            return self._select(block, source.mask, source.on_true, source.on_false)
        if isinstance(source, nd.CompareOp):
            ones, zeros = (self._constant(block, dtypes.U8, bits) for bits in (1, 0))
            return self._select_tiles(block, write.value, lambda *_: ones, lambda *_: zeros)
        value = self._value(block, write.value)
        return lambda e, row, col: self._store(block, e, value(e, row, col), row, col)

    def _select(
        self, block: _Block, mask: SSAValue, on_true: SSAValue, on_false: SSAValue | None
    ) -> Callable[[Emitter, Index, Index], None]:
        first = self._value(block, on_true)
        second = None if on_false is None else self._value(block, on_false)
        return self._select_tiles(block, mask, first, second)

    def _select_tiles(
        self, block: _Block, mask: SSAValue, on_true: TileAt, on_false: TileAt | None
    ) -> Callable[[Emitter, Index, Index], None]:
        """Store ``on_false`` if there is one, then ``on_true`` under the mask; all reads come first."""
        predicate = self._mask(block, mask)
        pattern = self._pattern(block)

        def body(e: Emitter, row: Index, col: Index) -> None:
            selected = predicate(e, row, col)
            data = on_true(e, row, col)
            if on_false is not None:
                self._store(block, e, on_false(e, row, col), row, col)
            offset = self._array(self.write.dest, block).offset(e, row, col)
            size = (e.index(block.rows), e.index(block.cols))
            e.emit(tile.ScatterOp(data, pattern, selected, self.write.dest, offset, size, block.pes))

        return body

    def _scatter(self, write: nd.ScatterOp, block: _Block) -> Callable[[Emitter, Index, Index], None]:
        predicate = self._mask(block, write.mask)
        data = self._value(block, write.value)
        displacements = self._value(block, write.displacements)

        def body(e: Emitter, row: Index, col: Index) -> None:
            selected = predicate(e, row, col)
            operands = (data(e, row, col), displacements(e, row, col), selected)
            size = (e.index(block.rows), e.index(block.cols))
            e.emit(tile.ScatterOp(*operands, write.dest, e.index(0), size, block.pes))

        return body

    def _mask(self, block: _Block, mask: SSAValue) -> TileAt:
        op = mask.owner
        if isinstance(op, nd.CompareOp):
            relation, operands = op.predicate.data, (op.lhs, op.rhs)
        else:
            # A bool array, or a constant mask: its bytes differ from zero where the mask is true.
            relation, operands = Predicate.NE, (mask, None)
        lhs = self._value(block, operands[0])
        if operands[1] is None:
            zeros = self._constant(block, dtypes.U8, 0)
            rhs: TileAt = lambda *_: zeros  # noqa: E731
        elif operands[1] is operands[0]:
            rhs = lhs
        else:
            rhs = self._value(block, operands[1])

        def at(e: Emitter, row: Index, col: Index) -> SSAValue:
            left = lhs(e, row, col)
            right = left if rhs is lhs else rhs(e, row, col)
            size = (e.index(block.rows), e.index(block.cols))
            return e.emit(tile.CompareOp(relation, left, right, size, block.pes)).result

        return at

    def _value(self, block: _Block, value: SSAValue) -> TileAt:
        op = value.owner
        if isinstance(op, nd.SplatOp):
            constant = self._constant(block, dtype_of(_element(value)), op.bits.data)
            return lambda *_: constant
        if isinstance(op, nd.BroadcastOp):
            return self._value_of_array(block, op.source, repeat=True)
        return self._value_of_array(block, value, repeat=False)

    def _value_of_array(self, block: _Block, value: SSAValue, *, repeat: bool) -> TileAt:
        if repeat and isinstance(value.owner, nd.SplatOp):
            return self._value(block, value)
        assert isinstance(value.owner, nd.LoadOp), f"{value.type} is not in memory"
        array = Array(value.owner.source, 0) if repeat else self._array(value.owner.source, block)
        size, type_ = (block.rows, block.cols), self._tile_type(block, array.dtype)
        return lambda e, row, col: array.load(e, row, col, size, block.pes, type_)

    def _array(self, memref: SSAValue, block: _Block) -> Array:
        """An array as the block's region walks it: by its own rows, or folded into lines."""
        line, start = (block.region.line * _bytes(memref), block.region.first * _bytes(memref))
        return Array(memref, line or row_stride_bytes(cast(MemRefType, memref.type)), start=start)

    def _store(self, block: _Block, e: Emitter, value: SSAValue, row: Index, col: Index) -> None:
        dest = self._array(self.write.dest, block)
        dest.store(e, value, row, col, (block.rows, block.cols), block.pes)

    def _tile_type(self, block: _Block, dtype: DType) -> TileType:
        return TileType.get(block.rows, block.tile_cols, dtype, TileLayout.NORM)

    def _constant(self, block: _Block, dtype: DType, bits: int) -> SSAValue:
        data = SplatAttr.get(dtype.nbytes, bits, block.tile_cols)
        array = constant_array(self.top, self.module, data, dtype, 0)
        return array.load(self.top, 0, 0, (block.rows, block.cols), block.pes, self._tile_type(block, dtype))

    def _pattern(self, block: _Block) -> SSAValue:
        """A tile of byte displacements: where each element of a block stands from the block's first."""
        dest = self._array(self.write.dest, block)
        farthest = block.rows * dest.stride + block.tile_cols * dest.dtype.nbytes
        dtype = dtypes.S32 if farthest < 1 << 31 else dtypes.S64
        data = IotaAttr.get(dtype.nbytes, block.rows, dest.stride, block.tile_cols, dest.dtype.nbytes)
        array = constant_array(self.top, self.module, data, dtype, block.tile_cols * dtype.nbytes)
        return array.load(self.top, 0, 0, (block.rows, block.cols), block.pes, self._tile_type(block, dtype))


def _column(
    body: Callable[[Emitter, Index, Index], None], row: Index, e: Emitter, col: Index, _: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """A tile's code as the body of a loop over columns."""
    body(e, row, col)
    return ()


TileAt = Callable[[Emitter, Index, Index], SSAValue]
"""Emits the tile of a value at a row and column of the iteration space."""


def _bytes(memref: SSAValue) -> int:
    return dtype_of(cast(MemRefType, memref.type).element_type).nbytes


def _operations(write: Write) -> Iterator[Operation]:
    """The operations that compute what a write needs."""
    pending = [v for v in write.operands if isinstance(v.type, TensorType)]
    while pending:
        op = pending.pop().owner
        assert isinstance(op, Operation)
        yield op
        if not isinstance(op, nd.LoadOp):
            pending.extend(op.operands)


def _memrefs(write: Write) -> Iterator[SSAValue]:
    """Arrays that are walked element by element (not the target of a scatter)."""
    for op in _operations(write):
        if isinstance(op, nd.LoadOp):
            yield op.source
    if not isinstance(write, nd.ScatterOp):
        yield write.dest
