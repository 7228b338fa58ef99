"""The meaning of ``tile`` in numpy, for xDSL's interpreter: what each operation does on the four PEs of one core.

Beside the simulator, which executes bundles, this executes the IR that they are made of. Index values are ints, or
tuples with one int per PE; a tile is one array of element bits per PE. Before ring allocation operands are the SSA
values; once operations name hands and slots, tiles are looked up in rings as on the machine, so a wrong slot gives the
wrong tile here too. Shared tiles are always looked up by their names.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation, SSAValue

from ptoc import ordered
from ptoc.dialects import tile
from ptoc.dialects.attributes import dtype_of
from ptoc.dialects.tile import HandAttr, PredicateType, SharedType, SlotAttr, TileType
from ptoc.isa import dtypes, layouts, postprocess
from ptoc.isa.dtypes import DType
from ptoc.isa.registers import CELL_BYTES, GENERATIONS, HANDS, PE_COUNT
from ptoc.oracle import NUMPY_ROUNDING, Value
from ptoc.thresholds import UFUNCS
from ptoc.tile_operations import Refused, perform

Bits = npt.NDArray[Any]
Index = int | tuple[int, ...]
Tile = tuple[Bits | None, ...]
"""The element bits of the valid rectangle on each PE; ``None`` on those without the tile."""

_MASK = (1 << 64) - 1


class Nonsense(Exception):
    """What a program does that no machine could: ``op`` is at fault."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(message)
        self.op = op


@dataclass
class Memory(Value):
    """An array of a launch: ``data`` is a view of ``buffer``, its bytes from the first element to the last.

    Packed elements have a byte each, and rows an even number of those.
    """

    buffer: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))

    def rectangle(self, op: Operation, offset: int, rows: int, cols: int, stride: int, dtype: DType) -> Bits:
        """The elements of ``rows`` by ``cols`` at a byte offset, rows ``stride`` bytes apart: a view."""
        if dtype.packed:
            offset, stride = 2 * offset, 2 * stride
        width = dtype.nbytes
        end = offset + (rows - 1) * stride + cols * width
        if min(rows, cols) < 1 or not 0 <= offset <= end <= self.buffer.size:
            raise Nonsense(op, f"{rows} x {cols} elements at byte {offset} of {self.buffer.size}, stride {stride}")
        whole = self.buffer[offset:]
        return np.ndarray((rows, cols), f"<u{width}", whole.data, strides=(stride, width))


@dataclass
class Core:
    """The state of one core: its number, the tiles in its rings (newest first) by PE and hand, its Shared tiles."""

    number: int
    count: int
    rings: list[list[list[Bits]]] = field(default_factory=lambda: [[[] for _ in HANDS] for _ in range(PE_COUNT)])
    shared: dict[int, Bits] = field(default_factory=dict)


@dataclass(frozen=True)
class SharedName:
    """A Shared tile by its name, and the cells by which a view is behind its start."""

    number: int
    rows: int | None = None
    offset: Index = 0


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    operator.eq,
    operator.ne,
    lambda a, b: _signed(a) < _signed(b),
    lambda a, b: _signed(a) <= _signed(b),
    lambda a, b: _signed(a) > _signed(b),
    lambda a, b: _signed(a) >= _signed(b),
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)
"""The predicates of ``arith.cmpi`` by their numbers."""


def _on(value: Index, pe: int) -> int:
    return value if isinstance(value, int) else value[pe]


def _each(function: Callable[..., int], *operands: Index) -> Index:
    """A function of 64-bit words on every PE."""
    if all(isinstance(each, int) for each in operands):
        return int(function(*operands)) & _MASK
    found = tuple(int(function(*(_on(each, pe) for each in operands))) & _MASK for pe in range(PE_COUNT))
    return found[0] if len(set(found)) == 1 else found


def _lanes(value: Index) -> tuple[int, ...]:
    return (value,) * PE_COUNT if isinstance(value, int) else value


def _uniform(op: Operation, value: Index) -> int:
    if not isinstance(value, int):
        raise Nonsense(op, "a size differs between PEs")
    return value


def _pes(mask: int) -> list[int]:
    return [pe for pe in range(PE_COUNT) if mask >> pe & 1]


@register_impls
class IndexFunctions(InterpreterFunctions):
    """``arith`` on index values and ``scf.for``, as scalar instructions and branches do them."""

    @impl(arith.ConstantOp)
    def constant(self, interpreter: Interpreter, op: arith.ConstantOp, args: PythonValues) -> PythonValues:
        return (cast(IntegerAttr, op.value).value.data & _MASK,)

    @impl(arith.AddiOp)
    def add(self, interpreter: Interpreter, op: arith.AddiOp, args: PythonValues) -> PythonValues:
        return (_each(operator.add, *args),)

    @impl(arith.SubiOp)
    def subtract(self, interpreter: Interpreter, op: arith.SubiOp, args: PythonValues) -> PythonValues:
        return (_each(operator.sub, *args),)

    @impl(arith.MuliOp)
    def multiply(self, interpreter: Interpreter, op: arith.MuliOp, args: PythonValues) -> PythonValues:
        return (_each(operator.mul, *args),)

    @impl(arith.ShRUIOp)
    def shift_right(self, interpreter: Interpreter, op: arith.ShRUIOp, args: PythonValues) -> PythonValues:
        return (_each(operator.rshift, *args),)

    @impl(arith.DivUIOp)
    def divide(self, interpreter: Interpreter, op: arith.DivUIOp, args: PythonValues) -> PythonValues:
        return (_each(operator.floordiv, *args),)

    @impl(arith.AndIOp)
    def conjoin(self, interpreter: Interpreter, op: arith.AndIOp, args: PythonValues) -> PythonValues:
        return (_each(operator.and_, *args),)

    @impl(arith.MinUIOp)
    def minimum(self, interpreter: Interpreter, op: arith.MinUIOp, args: PythonValues) -> PythonValues:
        return (_each(min, *args),)

    @impl(arith.CmpiOp)
    def compare(self, interpreter: Interpreter, op: arith.CmpiOp, args: PythonValues) -> PythonValues:
        return (_each(_COMPARE[op.predicate.value.data], *args),)

    @impl(arith.SelectOp)
    def select(self, interpreter: Interpreter, op: arith.SelectOp, args: PythonValues) -> PythonValues:
        return (_each(lambda condition, yes, no: yes if condition else no, *args),)

    @impl(scf.ForOp)
    def loop(self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> PythonValues:
        start, stop, step = (_signed(_uniform(op, bound)) for bound in args[:3])
        carried = tuple(args[3:])
        if step < 1:
            raise Nonsense(op, f"a loop with the step {step}")
        for value in range(start, stop, step):
            carried = interpreter.run_ssacfg_region(op.body, (value & _MASK, *carried), "for")
        return carried

    @impl_terminator(scf.YieldOp)
    def leave(
        self, interpreter: Interpreter, op: scf.YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()


@register_impls
class TileFunctions(InterpreterFunctions):
    """``tile`` on one core; arrays of the launch are ``Memory``."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self.core = core

    @impl(tile.LoadOp)
    def load(self, interpreter: Interpreter, op: tile.LoadOp, args: PythonValues) -> PythonValues:
        source, offset, stride, _, cols = args
        dtype = cast(TileType, op.result.type).dtype
        found: list[Bits | None] = [None] * PE_COUNT
        for pe, rows in self._rows(op, args[3]):
            place = _on(offset, pe), rows, _uniform(op, cols), _on(stride, pe), dtype
            found[pe] = source.rectangle(op, *place).copy()
        return (self._publish(op, tuple(found)),)

    @impl(tile.LoadSharedOp)
    def load_shared(self, interpreter: Interpreter, op: tile.LoadSharedOp, args: PythonValues) -> PythonValues:
        source, offset, stride, rows, cols = args
        size = _uniform(op, rows), _uniform(op, cols)
        type_ = cast(SharedType, op.result.type)
        if size[0] > type_.shape[0] or size[1] > type_.shape[1]:
            raise Nonsense(op, f"{size[0]} x {size[1]} elements in {type_}")
        values = source.rectangle(op, _on(offset, 0), *size, _on(stride, 0), type_.dtype)
        number = op.shared.value.data
        self.core.shared[number] = values.copy()
        return (SharedName(number),)

    @impl(tile.ViewOp)
    def view(self, interpreter: Interpreter, op: tile.ViewOp, args: PythonValues) -> PythonValues:
        source, offset = args
        return (SharedName(source.number, cast(SharedType, op.result.type).shape[0], offset),)

    @impl(tile.StoreOp)
    def store(self, interpreter: Interpreter, op: tile.StoreOp, args: PythonValues) -> PythonValues:
        _, dest, offset, stride, _, cols = args
        [value] = self._tiles(op, args)
        dtype = cast(TileType, op.value.type).dtype
        for pe, rows in self._rows(op, args[4]):
            size = rows, _uniform(op, cols)
            dest.rectangle(op, _on(offset, pe), *size, _on(stride, pe), dtype)[...] = _valid(op, value[pe], *size)
        return ()

    @impl(tile.CompareOp)
    def compare(self, interpreter: Interpreter, op: tile.CompareOp, args: PythonValues) -> PythonValues:
        lhs, rhs = self._tiles(op, args)
        size = _uniform(op, args[2]), _uniform(op, args[3])
        numpy = cast(TileType, op.lhs.type).dtype.numpy
        found: list[Bits | None] = [None] * PE_COUNT
        for pe in _pes(op.mask):
            left, right = (_numbers(_valid(op, each[pe], *size), numpy) for each in (lhs, rhs))
            with np.errstate(invalid="ignore"):
                found[pe] = UFUNCS[op.predicate.data.value](left, right)
        return (self._publish(op, tuple(found)),)

    @impl(tile.ScatterOp)
    def scatter(self, interpreter: Interpreter, op: tile.ScatterOp, args: PythonValues) -> PythonValues:
        data, index, mask = self._tiles(op, args)
        dest, offset, rows, cols = args[3:]
        size = _uniform(op, rows), _uniform(op, cols)
        displacement = cast(TileType, op.index.type).dtype.numpy
        for pe in _pes(op.mask):
            enabled = _valid(op, mask[pe], *size).astype(bool)
            values = _valid(op, data[pe], *size)[enabled]
            places = _numbers(_valid(op, index[pe], *size), displacement)[enabled]
            for place, value in zip(places.tolist(), values):
                dtype = cast(TileType, op.data.type).dtype
                dest.rectangle(op, _on(offset, pe) + place, 1, 1, 0, dtype)[...] = value
        return ()

    @impl(tile.MatmulOp)
    def matmul(self, interpreter: Interpreter, op: tile.MatmulOp, args: PythonValues) -> PythonValues:
        tiles = dict(zip(op.tile_operands(), self._tiles(op, args)))
        sources = dict(zip(op.operands, args))
        m, n, k = (_uniform(op, sources[each]) for each in (op.m, op.n, op.k))
        types = [cast("TileType | SharedType", each.type).dtype for each in (op.a, op.b)]
        accumulator = dtypes.accumulator(*types)
        assert accumulator is not None
        found: list[list[Bits | None]] = [[None] * PE_COUNT for _ in op.results]
        for pe, first, rows in self._parts(op, m):
            if op.cooperative:
                a = self._shared(op, sources[op.a], pe, (m, k), op.trans_a is not None)[first : first + rows]
                b = self._shared(op, sources[op.b], pe, (k, n), op.trans_b is not None)
            else:
                a, b = _valid(op, tiles[op.a][pe], rows, k), _valid(op, tiles[op.b][pe], k, n)
            start = None
            if op.acc is not None:
                start = _valid(op, tiles[op.acc][pe], rows, n).view(accumulator.numpy)
            if op.scale is not None:
                assert start is not None
                start = ordered.divided(start, _valid(op, tiles[op.scale][pe], rows, 1))
            factors = (_numbers(each, dtype.numpy) for each, dtype in zip((a, b), types))
            total = ordered.matmul(*factors, start, accumulator=accumulator.numpy)
            columns = [None if each is None else tiles[each][pe] for each in (op.words, op.slopes)]
            initial = None if op.initial is None else _valid(op, tiles[op.initial][pe], rows, 1)
            for tiles_of_result, bits in zip(found, (_finished(op, total, *columns), *_maxima(op, total, initial))):
                tiles_of_result[pe] = bits
        hands: Sequence[HandAttr | None] = op.hands or [None] * len(found)
        return tuple(self._publish(op, tuple(each), hand) for each, hand in zip(found, hands))

    @impl(tile.OperationOp)
    def operation(self, interpreter: Interpreter, op: tile.OperationOp, args: PythonValues) -> PythonValues:
        given = dict(zip(op.operands, args))
        array = None if op.array is None else given[op.array].buffer
        offset = () if op.offset is None else _lanes(given[op.offset])
        size = [_uniform(op, given[each]) for each in op.size]
        scalars = [_lanes(given[each]) for each in op.scalars]
        try:
            found = perform(op, self._tiles(op, args), size, scalars, array, offset)
        except Refused as error:
            raise Nonsense(op, str(error)) from None
        hands: Sequence[HandAttr | None] = op.hands or [None] * len(found)
        return tuple(self._publish(op, tuple(each), hand) for each, hand in zip(found, hands))

    @impl(tile.QueueOp)
    def queue(self, interpreter: Interpreter, op: tile.QueueOp, args: PythonValues) -> PythonValues:
        return ((),)

    @impl(tile.PushOp)
    def push(self, interpreter: Interpreter, op: tile.PushOp, args: PythonValues) -> PythonValues:
        item, queue = args
        return ((*queue, item),)

    @impl(tile.PopOp)
    def pop(self, interpreter: Interpreter, op: tile.PopOp, args: PythonValues) -> PythonValues:
        [queue] = args
        if not queue:
            raise Nonsense(op, "an empty queue has no oldest tile")
        return queue[0], queue[1:]

    @impl(tile.PeIdOp)
    def pe_id(self, interpreter: Interpreter, op: tile.PeIdOp, args: PythonValues) -> PythonValues:
        return (tuple(range(PE_COUNT)),)

    @impl(tile.CoreIdOp)
    def core_id(self, interpreter: Interpreter, op: tile.CoreIdOp, args: PythonValues) -> PythonValues:
        return (self.core.number,)

    @impl(tile.CoreCountOp)
    def core_count(self, interpreter: Interpreter, op: tile.CoreCountOp, args: PythonValues) -> PythonValues:
        return (self.core.count,)

    @impl(tile.GetGlobalOp)
    def get_global(self, interpreter: Interpreter, op: tile.GetGlobalOp, args: PythonValues) -> PythonValues:
        symbol = op.global_name.string_value()
        for each in interpreter.module.walk():
            if isinstance(each, tile.GlobalOp) and each.sym_name.data == symbol:
                buffer = _constant(each.value)
                element = dtype_of(cast(MemRefType, op.result.type).element_type)
                return (Memory(buffer.view(f"<u{element.bits // 8}"), None, buffer),)
        raise Nonsense(op, f"there is no constant @{symbol}")

    def _rows(self, op: tile.RowsOperation, rows: Index) -> list[tuple[int, int]]:
        """The PEs of an operation, with the rows of each."""
        whole = op.pes.value.data
        return [
            (pe, _uniform(op, rows) if pe < whole or op.rest is None else op.rest.value.data) for pe in _pes(op.mask)
        ]

    def _parts(self, op: tile.MatmulOp, m: int) -> list[tuple[int, int, int]]:
        """The PEs that have rows of a product, with the first of them in A, and their number."""
        if not op.cooperative:
            return [(pe, 0, rows) for pe, rows in self._rows(op, m)]
        each = layouts.M_ROWS[cast(TileType, op.result.type).layout.data.isa_name]
        return [(pe, pe * each, min(each, m - pe * each)) for pe in range(PE_COUNT) if pe * each < m]

    def _tiles(self, op: tile.TileOperation, args: PythonValues) -> list[Tile]:
        """The tile operands: by their slots where they have any."""
        if op.slots is None:
            return [arg for value, arg in zip(op.operands, args) if _is_local(value)]
        return [tuple(self._slot(op, slot, pe) for pe in range(PE_COUNT)) for slot in op.slots]

    def _slot(self, op: tile.TileOperation, slot: SlotAttr, pe: int) -> Bits | None:
        ring = self.core.rings[pe][slot.number]
        return ring[slot.distance.data - 1] if slot.distance.data <= len(ring) else None

    def _shared(self, op: Operation, name: SharedName, pe: int, size: tuple[int, int], transposed: bool) -> Bits:
        """A matrix operand that lies in a Shared tile."""
        stored = self.core.shared.get(name.number)
        if stored is None:
            raise Nonsense(op, f"S{name.number} holds nothing")
        if name.rows is not None:
            cols = stored.shape[1]
            first = _on(name.offset, pe) * CELL_BYTES // stored.itemsize
            stored = stored.reshape(-1)[first : first + name.rows * cols]
            stored = stored[: stored.size // cols * cols].reshape(-1, cols)
        rows, cols = size[::-1] if transposed else size
        if stored.shape[1] != cols:
            raise Nonsense(op, f"S{name.number} has {stored.shape[1]} columns, not {cols}")
        matrix = _valid(op, stored, rows, cols)
        return matrix.T if transposed else matrix

    def _publish(self, op: tile.TileOperation, value: Tile, hand: HandAttr | None = None) -> Tile:
        hand = hand or op.into
        if hand is not None:
            for pe, bits in enumerate(value):
                if bits is not None:
                    ring = self.core.rings[pe][hand.number]
                    ring.insert(0, bits)
                    del ring[GENERATIONS:]
        return value


def _is_local(value: SSAValue) -> bool:
    return isinstance(value.type, TileType | PredicateType)


def _valid(op: Operation, bits: Bits | None, rows: int, cols: int) -> Bits:
    """The first ``rows`` by ``cols`` elements of a tile that has at least these."""
    if bits is None:
        raise Nonsense(op, "a source holds nothing")
    if bits.shape[0] < rows or bits.shape[1] < cols:
        raise Nonsense(op, f"a source has {bits.shape[0]} x {bits.shape[1]} elements, not {rows} x {cols}")
    return np.ascontiguousarray(bits[:rows, :cols])


def _numbers(bits: Bits, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(bits).view(dtype)


def _maxima(op: tile.MatmulOp, total: npt.NDArray[Any], initial: Bits | None) -> Iterator[Bits]:
    """The maxima of rows and of groups of columns that the bundle finds among its sums."""
    absolute = op.absolute is not None
    if op.row_max is not None:
        start = None if initial is None else _numbers(initial, total.dtype)[:, 0]
        yield ordered.maxima(total, start, absolute=absolute)[:, None].view(f"u{total.itemsize}")
    if op.group is not None:
        size = op.group.value.data
        groups = [total[:, start : start + size] for start in range(0, total.shape[1], size)]
        found = np.stack([ordered.maxima(each, absolute=absolute) for each in groups], axis=1)
        yield found.view(f"u{total.itemsize}")


def _finished(op: tile.MatmulOp, total: npt.NDArray[Any], words: Bits | None, slopes: Bits | None) -> Bits:
    """What the bundle makes of its sums; parameters by column come from rows of words."""
    result, mode, post = cast(TileType, op.result.type).dtype, op.pre_quant_mode, op.post_processing
    if mode.code == 0 and post.relu_mode == postprocess.ReluMode.NONE:
        return total.view(f"u{total.itemsize}")
    scale: npt.ArrayLike = 1.0 if post.scale is None else cast(float, post.scale)
    offset: npt.ArrayLike = post.offset
    shift: npt.ArrayLike = cast(int, post.shift)
    slope: npt.ArrayLike | None = cast("float | None", post.slope)
    columns = None if words is None else words[0].tolist()
    if columns is not None:
        scale = 1.0 if mode.shift else [postprocess.scale_of(word) for word in columns]
        offset = [postprocess.offset_of(word, mode.offset_bits) for word in columns]
        shift = [postprocess.shift_of(word) for word in columns] if mode.shift else 0
    if slopes is not None:
        slope = [postprocess.slope_of(word) for word in slopes[0].tolist()]
    finished = ordered.finish(
        total,
        total.dtype if mode.code == 0 else np.dtype(np.uint8) if post.hif8 else result.numpy,
        relu=post.relu,
        slope=slope,
        scale=np.asarray(scale),
        offset=np.asarray(offset),
        shift=np.asarray(shift),
        rounding=NUMPY_ROUNDING[post.rounding],
        saturate=post.saturate,
        hif8=post.hif8,
    )
    return finished.view(f"u{finished.itemsize}")


def _constant(data: tile.Data) -> npt.NDArray[np.uint8]:
    """The bytes of constant data."""
    if isinstance(data, tile.WordsAttr):
        return np.frombuffer(data.data, np.uint8)
    dtype = f"<u{data.width.data}"
    if isinstance(data, tile.SplatAttr):
        return np.full(data.count.data, data.bits.data, dtype).view(np.uint8)
    rows = np.arange(data.rows.data, dtype=np.uint64)[:, None] * np.uint64(data.row_step.data)
    cols = np.arange(data.cols.data, dtype=np.uint64) * np.uint64(data.col_step.data)
    return (rows + cols).astype(dtype).reshape(-1).view(np.uint8)
