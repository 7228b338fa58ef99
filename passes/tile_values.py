"""Arrays as tile loops see them: a memref, a row stride, and addresses of blocks in it; constant data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.dialects import nd, tile
from ptoc.dialects.attributes import dtype_of, element_type, row_stride_bytes
from ptoc.dialects.tile import Data, SharedType, SplatAttr, TileType, WordsAttr
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.passes.rewriting import Emitter, Index


@dataclass(frozen=True)
class Array:
    """An array in memory whose rows are ``stride`` bytes apart (0: one row, repeated), from byte ``start`` on.

    ``constant`` arrays repeat one block everywhere: every address is their start.
    """

    memref: SSAValue
    stride: int
    constant: bool = False
    start: Index = 0

    @property
    def dtype(self) -> DType:
        return dtype_of(cast(MemRefType, self.memref.type).element_type)

    def offset(self, e: Emitter, row: Index, col: Index) -> SSAValue:
        """Byte offset of an element, of packed ones of an even column."""
        if self.constant:
            return e.index(0)
        across = e.divided(col, 2) if self.dtype.packed else e.mul(col, self.dtype.nbytes)
        return e.index(e.add(e.add(e.mul(row, self.stride), across), self.start))

    def below(self, e: Emitter, times: Index, rows: int) -> Array:
        """The array from ``times`` many ``rows`` on."""
        return replace(self, start=e.add(self.start, e.mul(times, rows * self.stride)))

    def behind(self, e: Emitter, times: Index, nbytes: int) -> Array:
        """The array from ``times`` as many bytes on."""
        return replace(self, start=e.add(self.start, e.mul(times, nbytes)))

    def beside(self, col: int) -> Array:
        """The array from a column on, of packed elements an even one."""
        return self if self.constant else replace(self, start=self.dtype.bytes_of(col))

    def load(
        self, e: Emitter, row: Index, col: Index, size: tuple[Index, Index], pes: int, type_: TileType, rest: int = 0
    ) -> SSAValue:
        """Load a block of ``size`` rows and columns at (row, col); ``rest`` rows on one more PE."""
        offset = self.offset(e, row, col)
        extent = (e.index(size[0]), e.index(size[1]))
        return e.emit(tile.LoadOp(self.memref, offset, e.index(self.stride), extent, pes, type_, rest=rest)).result

    def load_shared(
        self, e: Emitter, row: Index, col: Index, size: tuple[Index, Index], type_: SharedType, name: int
    ) -> SSAValue:
        """Load a block of ``size`` rows and columns at (row, col) into Shared tile ``name``."""
        offset = self.offset(e, row, col)
        extent = (e.index(size[0]), e.index(size[1]))
        return e.emit(tile.LoadSharedOp(self.memref, offset, e.index(self.stride), extent, name, type_)).result

    def store(
        self,
        e: Emitter,
        value: SSAValue,
        row: Index,
        col: Index,
        size: tuple[Index, Index],
        pes: int,
        rest: int = 0,
    ) -> None:
        """Store a tile's valid block of ``size`` rows and columns at (row, col); ``rest`` rows from one more PE."""
        offset = self.offset(e, row, col)
        extent = (e.index(size[0]), e.index(size[1]))
        e.emit(tile.StoreOp(value, self.memref, offset, e.index(self.stride), extent, pes, rest=rest))


def pe_id(e: Emitter) -> SSAValue:
    """The number of the PE."""
    result = e.emit(tile.PeIdOp()).result
    result.name_hint = "pe"
    return result


def core_id(e: Emitter) -> SSAValue:
    """The number of the core."""
    result = e.emit(tile.CoreIdOp()).result
    result.name_hint = "core"
    return result


def core_count(e: Emitter) -> SSAValue:
    """How many cores run the program."""
    result = e.emit(tile.CoreCountOp()).result
    result.name_hint = "cores"
    return result


def divided(e: Emitter, start: int, stop: int, step: int) -> tuple[Index, int, Index]:
    """A core's part of a loop: it starts at its own number and advances by the number of cores."""
    return e.add(e.mul(core_id(e), step), start), stop, e.mul(core_count(e), step)


def array_of(value: SSAValue) -> Array:
    """The array behind a loaded, possibly broadcast, tensor; of several repeated rows those that there are."""
    op = value.owner
    if isinstance(op, nd.BroadcastOp) and op.rows is not None:
        return array_of(op.source)
    if isinstance(op, nd.BroadcastOp):
        return Array(array_of(op.source).memref, 0)
    assert isinstance(op, nd.LoadOp), f"{value.type} is not in memory"
    return Array(op.source, row_stride_bytes(cast(MemRefType, op.source.type)))


def column_of(value: SSAValue) -> Array:
    """The array behind a loaded tensor of one dimension or one column, as a column."""
    array = array_of(value)
    one_dimension = len(cast(TensorType, value.type).get_shape()) == 1
    return replace(array, stride=array.dtype.nbytes) if one_dimension else array


def words_array(e: Emitter, module: ModuleOp, words: Sequence[int]) -> Array:
    """64-bit words as an array of one row."""
    return replace(constant_array(e, module, WordsAttr.get(words), dtypes.U64, 0), constant=False)


def constant_array(e: Emitter, module: ModuleOp, value: Data, dtype: DType, stride: int) -> Array:
    """Constant data as an array; equal data is shared."""
    globals_ = [op for op in module.body.block.ops if isinstance(op, tile.GlobalOp)]
    name = next((op.sym_name.data for op in globals_ if op.value == value), None)
    if name is None:
        name = f"const{len(globals_)}"
        created = tile.GlobalOp(name, value)
        created.location = e.origin.location
        first = module.body.block.first_op
        assert first is not None
        Rewriter.insert_op(created, InsertPoint.after(globals_[-1]) if globals_ else InsertPoint.before(first))
    count = value.nbytes // value.width.data
    memref = e.emit(tile.GetGlobalOp(name, MemRefType(element_type(dtype), [count]))).result
    return Array(memref, stride, constant=True)


def constant_byte(e: Emitter, module: ModuleOp) -> Array:
    """A byte to load where any will do: a constant, for no core may read an element that another one writes."""
    return constant_array(e, module, SplatAttr.get(1, 0, 1), dtypes.U8, 0)


def splat_array(e: Emitter, module: ModuleOp, op: nd.SplatOp, cols: int) -> Array:
    """A row of ``cols`` equal elements, repeated for every row."""
    dtype = dtype_of(cast(TensorType, op.result.type).element_type)
    return constant_array(e, module, SplatAttr.get(dtype.nbytes, op.bits.data, cols), dtype, 0)
