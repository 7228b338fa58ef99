"""What a kernel demands of its stores, read from the ``nd`` module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ptoc.dialects import nd
from ptoc.dialects.attributes import Predicate, dtype_of, shape_2d
from ptoc.dialects.batching import matrices_of
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import ReluMode
from ptoc.passes.checking.errors import WrongProgram
from ptoc.passes.checking.machine import NOT_FINISHED
from ptoc.passes.checking.meanings import NEVER_WRITTEN, Block, Compared, Finish, Meaning, Splat, Sum, Words
from ptoc.passes.checking.memory import Array, Place

Kind = Literal["store", "scatter"]

RELATIONS = {
    each: code
    for code, each in enumerate((Predicate.EQ, Predicate.NE, Predicate.LT, Predicate.GT, Predicate.LE, Predicate.GE))
}
"""CMode of each relation, in the order of the ISA."""

WRITES = nd.StoreOp | nd.MaskedStoreOp | nd.ScatterOp


@dataclass(frozen=True, eq=False)
class Write:
    """One write of the kernel: its number among them, and how every element of ``dest`` is visited, in this order."""

    number: int
    op: WRITES
    dest: Array
    visits: tuple[Kind, ...]

    @property
    def overlaps(self) -> bool:
        """Whether stores may overlap, which all store what the kernel demands: slots of a product do."""
        return isinstance(self.op, nd.StoreOp) and isinstance(self.op.value.owner, nd.MatmulAccOp)

    @property
    def free(self) -> bool:
        """Whether the data says where elements go."""
        return isinstance(self.op, nd.ScatterOp)


class Demands:
    """The writes of a kernel, and what they store."""

    def __init__(self, function: func.FuncOp, arrays: Sequence[Array]) -> None:
        block = function.body.block
        self.arrays = dict(zip(block.args, arrays))
        self.position: dict[Operation, int] = {op: n for n, op in enumerate(block.ops)}
        ops = [op for op in self.position if isinstance(op, WRITES)]
        self.writes = [Write(n, op, self.arrays[op.dest], _visits(op)) for n, op in enumerate(ops)]

    @property
    def written(self) -> set[int]:
        return {write.dest.number for write in self.writes}

    # -- values -----------------------------------------------------------------------------------

    def element_by_element(self, value: SSAValue, place: Place, dtype: DType | None = None) -> Meaning:
        """The elements of a tensor that belong to those of ``place``, which has the tensor's shape."""
        op = value.owner
        dtype = dtype or element_of(value)
        if isinstance(op, nd.SplatOp):
            return Splat(op.bits.data, dtype.nbytes)
        if isinstance(op, nd.BroadcastOp):
            return self._repeated(op, place, dtype)
        if not isinstance(op, nd.LoadOp):
            raise WrongProgram(f"the checker does not know {value.type} of {value.owner} as data")
        source, target = self.arrays[op.source], place.array
        size, item = (place.rows, place.cols), source.dtype.nbytes
        shapes = (source.rows, source.cols) == (target.rows, target.cols)
        if source.dense and target.dense and shapes:
            start, stride = (n // target.dtype.nbytes * item for n in (place.start, place.stride))
        else:
            row, col = target.rectangle(place.start, place.stride, *size)
            start, stride = row * source.stride + col * item, source.stride
        return Block(source.number, dtype, start, stride, *size, self._version(op))

    def _repeated(self, op: nd.BroadcastOp, place: Place, dtype: DType) -> Meaning:
        """A row that belongs to every row of ``place``."""
        _, col = place.array.rectangle(place.start, place.stride, place.rows, place.cols)
        if isinstance(op.source.owner, nd.SplatOp):
            return Splat(op.source.owner.bits.data, dtype.nbytes)
        assert isinstance(op.source.owner, nd.LoadOp)
        source = self.arrays[op.source.owner.source]
        version = self._version(op.source.owner)
        return Block(source.number, dtype, col * dtype.nbytes, 0, place.rows, place.cols, version)

    def _version(self, load: nd.LoadOp) -> int:
        """The last write to the array before it is loaded."""
        before = (write for write in self.writes if self.position[write.op] < self.position[load])
        return max((write.number for write in before if write.op.dest is load.source), default=NEVER_WRITTEN)

    def mask(self, value: SSAValue, place: Place) -> Compared:
        """The mask that belongs to the elements of ``place``; other tensors of bool are compared with zero."""
        op = value.owner
        if isinstance(op, nd.CompareOp):
            lhs, rhs = (self.element_by_element(v, place) for v in (op.lhs, op.rhs))
            return Compared(RELATIONS[op.predicate.data], element_of(op.lhs), lhs, rhs)
        zero = Splat(0, dtypes.U8.nbytes)
        return Compared(RELATIONS[Predicate.NE], dtypes.U8, self.element_by_element(value, place), zero)

    # -- writes -----------------------------------------------------------------------------------

    def stored(self, write: Write, place: Place) -> Meaning:
        """What TSTORE writes there: the value, or what stands where a mask is false."""
        assert isinstance(write.op, nd.StoreOp)
        op = write.op.value.owner
        if isinstance(op, nd.MatmulAccOp):
            return self._product(op, place)
        if isinstance(op, nd.WhereOp):
            return self.element_by_element(op.on_false, place)
        if isinstance(op, nd.CompareOp):
            return Splat(0, place.array.dtype.nbytes)
        return self.element_by_element(write.op.value, place)

    def scattered(self, write: Write, place: Place) -> tuple[Meaning, Meaning]:
        """What MSCATTER_MASK writes there, and the mask under which it does."""
        if not isinstance(write.op, nd.StoreOp):
            return self.element_by_element(write.op.value, place), self.mask(write.op.mask, place)
        op = write.op.value.owner
        if isinstance(op, nd.WhereOp):
            return self.element_by_element(op.on_true, place), self.mask(op.mask, place)
        return Splat(1, place.array.dtype.nbytes), self.mask(write.op.value, place)

    def _product(self, op: nd.MatmulAccOp, place: Place) -> Sum:
        """Rows of ``a`` by columns of ``b``, all of them, added to elements of ``acc``."""
        if op.is_column:
            row, col = place.first_of_column(), 0
        else:
            row, col = place.array.rectangle(place.start, place.stride, place.rows, place.cols)
        accumulator = dtypes.accumulator(element_of(op.a), element_of(op.b))
        assert accumulator is not None
        m, n, depth = op.size
        # In a stack, the matrices of the product that the rows belong to.
        number, row = divmod(row, m)
        a_place, b_place = matrices_of(op.axes, number)
        a, b = self._matrix(op.a), self._matrix(op.b, column=op.is_column)
        if op.trans_a is None:
            left = a.part(a_place * m + row, 0, place.rows, depth)
        else:
            left = replace(a.part(a_place * depth, row, depth, place.rows), turned=True)
        if op.trans_b is None:
            right = b.part(b_place * depth, col, depth, place.cols)
        else:
            right = replace(b.part(b_place * n + col, 0, place.cols, depth), turned=True)
        start = None if op.acc is None else self.element_by_element(op.acc, place, accumulator)
        scale = None
        if op.scale is not None:
            exponents = self._matrix(op.scale, column=len(cast(TensorType, op.scale.type).get_shape()) == 1)
            scale = exponents.part(row, 0, place.rows, 1)
        return Sum(start, scale, ((left, right),), _finish(op, accumulator, col, place.cols))

    def _matrix(self, value: SSAValue, *, column: bool = False) -> Block:
        """All of a tensor that stands in memory; ``column``: it has one dimension, of rows."""
        op, repeated = value.owner, False
        if isinstance(op, nd.BroadcastOp):
            op, repeated = op.source.owner, True
        assert isinstance(op, nd.LoadOp)
        array, (rows, cols) = self.arrays[op.source], shape_2d(value.type)
        stride = 0 if repeated else array.stride
        if column:
            rows, cols, stride = cols, rows, array.dtype.nbytes
        return Block(array.number, array.dtype, 0, stride, rows, cols, self._version(op))


def element_of(value: SSAValue) -> DType:
    return dtype_of(cast(TensorType, value.type).element_type)


def _visits(op: WRITES) -> tuple[Kind, ...]:
    if not isinstance(op, nd.StoreOp):
        return ("scatter",)
    chosen = isinstance(op.value.owner, nd.WhereOp | nd.CompareOp)
    return ("store", "scatter") if chosen else ("store",)


def _finish(op: nd.MatmulAccOp, accumulator: DType, col: int, cols: int) -> Finish | None:
    """What the kernel asks for behind the sum, for some columns."""
    post, stored = op.post_processing, element_of(op.result)
    mode = post.mode(accumulator, accumulator if stored.bits == accumulator.bits else stored)
    tiles = []
    if mode.parameter == "vector":
        tiles.append(Words(post.quantization(mode)).part(0, col, 1, cols))
    if post.relu_mode == ReluMode.PRELU:
        tiles.append(Words(post.slopes()).part(0, col, 1, cols))
    words = post.from_tiles.words(mode)
    finish = Finish(mode.code, post.relu_mode, post.rounding, int(post.saturate), words, tuple(tiles))
    return None if finish == NOT_FINISHED else finish
