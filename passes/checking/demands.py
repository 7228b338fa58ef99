"""What a kernel demands of its stores, read from the ``nd`` module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ptoc.dialects import nd
from ptoc.dialects.attributes import Predicate, dtype_of, shape_2d
from ptoc.dialects.batching import matrices_of, row_of
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import ReluMode, least_maximum
from ptoc.passes.checking.errors import WrongProgram
from ptoc.passes.checking.machine import NOT_FINISHED
from ptoc.passes.checking.meanings import NEVER_WRITTEN, Block, Compared, Finish, Maxima, Meaning, Splat, Sum, Words
from ptoc.passes.checking.memory import Array, Place
from ptoc.passes.rewriting import the_function
from ptoc.passes.stored_matmuls import write_groups

Kind = Literal["store", "scatter"]

RELATIONS = {
    each: code
    for code, each in enumerate((Predicate.EQ, Predicate.NE, Predicate.LT, Predicate.GT, Predicate.LE, Predicate.GE))
}
"""CMode of each relation, in the order of the ISA."""

WRITES = nd.StoreOp | nd.MaskedStoreOp | nd.ScatterOp


@dataclass(frozen=True, eq=False)
class Write:
    """One write of the kernel: its number among them, and how every element of ``dest`` is visited, in this order.

    Writes with the same ``turn`` are done together: the sums of a product and their maxima.
    """

    number: int
    turn: int
    op: WRITES
    dest: Array
    visits: tuple[Kind, ...]

    @property
    def overlaps(self) -> bool:
        """Whether stores may overlap, which all store what the kernel demands: slots of a product do."""
        op = self.op.value.owner if isinstance(self.op, nd.StoreOp) else None
        return isinstance(op, nd.MatmulAccOp) and self.op.value is op.result

    @property
    def free(self) -> bool:
        """Whether the data says where elements go."""
        return isinstance(self.op, nd.ScatterOp)


class Demands:
    """The writes of a kernel, and what they store."""

    def __init__(self, module: ModuleOp, arrays: Sequence[Array]) -> None:
        block = the_function(module).body.block
        self.arrays = dict(zip(block.args, arrays))
        self.position: dict[Operation, int] = {op: n for n, op in enumerate(block.ops)}
        ops = [op for op in self.position if isinstance(op, WRITES)]
        turns = {op: n for n, group in enumerate(write_groups(module)) for op in group}
        self.writes = [Write(n, turns[op], op, self.arrays[op.dest], _visits(op)) for n, op in enumerate(ops)]

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
            start, stride = (n * 8 // target.dtype.bits * item for n in (place.start, place.stride))
        else:
            row, col = target.rectangle(place.start, place.stride, *size)
            start, stride = row * source.stride + col * item, source.stride
        return Block(source.number, dtype, start, stride, *size, self._version(op))

    def _repeated(self, op: nd.BroadcastOp, place: Place, dtype: DType) -> Meaning:
        """The row that belongs to every row of ``place``, or those of a stack."""
        row, col = place.array.rectangle(place.start, place.stride, place.rows, place.cols)
        if isinstance(op.source.owner, nd.SplatOp):
            return Splat(op.source.owner.bits.data, dtype.nbytes)
        assert isinstance(op.source.owner, nd.LoadOp)
        source = self.arrays[op.source.owner.source]
        version = self._version(op.source.owner)
        first = step = 0
        if op.rows is not None:
            first, *others = (row_of(op.rows.data, row + number) for number in range(place.rows))
            step = others[0] - first if others else 0
            if others != [first + step * number for number in range(1, place.rows)]:
                raise WrongProgram(f"{place.rows} rows from {row} on start from rows that are not evenly spaced")
        start, stride = first * source.stride + col * dtype.nbytes, step * source.stride
        return Block(source.number, dtype, start, stride, place.rows, place.cols, version)

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
            if write.op.value is op.row_max:
                return self._row_maxima(op, place)
            return self._product(op, place) if write.op.value is op.result else self._group_maxima(op, place)
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
        """The sums that belong to the elements of ``place``, with what becomes of them."""
        row, col = _first(place, column=op.is_column)
        start = None if op.acc is None else self.element_by_element(op.acc, place, _accumulator(op))
        finish = _finish(op, _accumulator(op), col, place.cols)
        return self._sums(op, row, col, place.rows, place.cols, start, finish)

    def _row_maxima(self, op: nd.MatmulAccOp, place: Place) -> Maxima:
        """The largest of all columns of the rows that ``place`` belongs to."""
        assert op.row_max is not None
        row, _ = _first(place, column=len(cast(TensorType, op.row_max.type).get_shape()) == 1)
        start: Meaning | None = None
        if op.initial is not None:
            start = self.element_by_element(op.initial, place)
            least = least_maximum(_accumulator(op), absolute=op.absolute is not None)
            start = None if start == Splat(least, _accumulator(op).nbytes) else start
        return Maxima(start, (self._raw(op, row, 0, place.rows, op.size[1]),), 0, op.absolute is not None)

    def _group_maxima(self, op: nd.MatmulAccOp, place: Place) -> Maxima:
        assert op.group is not None
        group = op.group.value.data
        row, col = place.array.rectangle(place.start, place.stride, place.rows, place.cols)
        raw = self._raw(op, row, col * group, place.rows, place.cols * group)
        return Maxima(None, (raw,), group, op.absolute is not None)

    def _raw(self, op: nd.MatmulAccOp, row: int, col: int, rows: int, cols: int) -> Sum:
        """Some of the sums, whatever becomes of them."""
        start: Meaning | None = None
        if op.acc is not None:
            start = self._start(op.acc, _accumulator(op)).part(row, col, rows, cols)
        return self._sums(op, row, col, rows, cols, start, None)

    def _start(self, value: SSAValue, accumulator: DType) -> Meaning:
        """What all sums start from."""
        if isinstance(value.owner, nd.SplatOp):
            return Splat(value.owner.bits.data, accumulator.nbytes)
        return self._matrix(value)

    def _sums(
        self, op: nd.MatmulAccOp, row: int, col: int, rows: int, cols: int, start: Meaning | None, finish: Finish | None
    ) -> Sum:
        """Rows of ``a`` by columns of ``b``, all of them, added to ``start``."""
        m, n, depth = op.size
        # In a stack, the matrices of the product that the rows belong to.
        number, row = divmod(row, m)
        a_place, b_place = matrices_of(op.axes, number)
        a, b = self._matrix(op.a), self._matrix(op.b, column=op.is_column)
        if op.trans_a is None:
            left = a.part(a_place * m + row, 0, rows, depth)
        else:
            left = replace(a.part(a_place * depth, row, depth, rows), turned=True)
        if op.trans_b is None:
            right = b.part(b_place * depth, col, depth, cols)
        else:
            right = replace(b.part(b_place * n + col, 0, cols, depth), turned=True)
        scale = None
        if op.scale is not None:
            exponents = self._matrix(op.scale, column=len(cast(TensorType, op.scale.type).get_shape()) == 1)
            scale = exponents.part(row, 0, rows, 1)
        return Sum(start, scale, ((left, right),), finish)

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


def _first(place: Place, *, column: bool) -> tuple[int, int]:
    """The row and column of the first element; the array is a vector if it is a ``column``."""
    if column:
        return place.first_of_column(), 0
    return place.array.rectangle(place.start, place.stride, place.rows, place.cols)


def _accumulator(op: nd.MatmulAccOp) -> DType:
    accumulator = dtypes.accumulator(element_of(op.a), element_of(op.b))
    assert accumulator is not None
    return accumulator


def element_of(value: SSAValue) -> DType:
    return dtype_of(cast(TensorType, value.type).element_type)


def _visits(op: WRITES) -> tuple[Kind, ...]:
    if not isinstance(op, nd.StoreOp):
        return ("scatter",)
    chosen = isinstance(op.value.owner, nd.WhereOp | nd.CompareOp)
    return ("store", "scatter") if chosen else ("store",)


def _finish(op: nd.MatmulAccOp, accumulator: DType, col: int, cols: int) -> Finish | None:
    """What the kernel asks for behind the sum, for some columns."""
    post = op.post_processing
    mode = post.mode(accumulator, op.finished_type(accumulator))
    tiles = []
    if mode.parameter == "vector":
        tiles.append(Words(post.quantization(mode)).part(0, col, 1, cols))
    if post.relu_mode == ReluMode.PRELU:
        tiles.append(Words(post.slopes()).part(0, col, 1, cols))
    words = post.from_tiles.words(mode)
    finish = Finish(mode.code, post.relu_mode, post.rounding, int(post.saturate), words, tuple(tiles))
    return None if finish == NOT_FINISHED else finish
