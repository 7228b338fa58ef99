"""``tile-tensors``: every write of a tensor becomes a loop nest in which its values are tiles.

Of the axes of a nest one makes the columns of tiles, one their rows, and the cores and PEs share one
(``planning.nest_tiling``). A value is computed in the outermost loop that knows its indices, once for all loops inside,
and only along the axes on which it depends: a row mean is a column of a tile, and meets a whole tile in TROWEXPANDSUB.
A fold is a loop of its own over runs of its axis, unless the tile holds them all.

    %m = nd.fold "max" %x axis 1 chunk 64               %t = tile.load %in[…]
    %b = nd.expand %m                            becomes %m = tile.operation "TROWMAX" %t …
    %y = nd.operation "TSUB" %x, %b                      %y = tile.operation "TROWEXPANDSUB" %t, %m …
    nd.store_view %y, %out …                             tile.store %y, %out[…] …
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ptoc.dialects import nd, tile
from ptoc.dialects.attributes import Predicate
from ptoc.dialects.nd.tensors import FOLDS, dtype
from ptoc.dialects.tile import IotaAttr, PredicateType, TileLayout, TileType, WordsAttr
from ptoc.dialects.tile.base import pes_attr
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.operations import BY_NAME
from ptoc.passes.nests import TENSOR_WRITES, Access, Axis, Nest, TensorWrite, nest_of, operations_of
from ptoc.passes.planning.nest_tiling import NestShape, NestTiling, nest_tiling
from ptoc.passes.planning.tiling import RowBlock, line_width, split_rows
from ptoc.passes.rewriting import Emitter, Index, erase_dead, the_function
from ptoc.passes.rounds import emit_rounds
from ptoc.passes.tile_values import constant_array

COMMUTATIVE = frozenset({"TADD", "TMUL", "TAND", "TOR", "TXOR"})
"""Operations whose operands may be exchanged; TMAX and TMIN of two NaNs or equal numbers do not care either."""

CMODES = tuple(Predicate)
"""Comparisons by their codes."""

EXCHANGED = {
    Predicate.LT: Predicate.GT,
    Predicate.GT: Predicate.LT,
    Predicate.LE: Predicate.GE,
    Predicate.GE: Predicate.LE,
}
"""Comparisons by what they are with the operands exchanged, where that is another one."""


@dataclass(frozen=True)
class TileTensors(ModulePass):
    name = "tile-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        for write in [each for each in block.ops if isinstance(each, TENSOR_WRITES)]:
            for nest in _nests(write):
                _emit(op, nest)
            Rewriter.erase_op(write)
        erase_dead(block)


def _nests(write: TensorWrite) -> Iterable[Nest]:
    """The nests of a write; one over a single long axis is cut into lines, so that every PE gets some."""
    nest = nest_of(write).merged()
    if len(nest.sizes) > 1 or not nest.order or nest.fold_axes:
        return [nest]
    size = nest.sizes[nest.order[0]]
    width = line_width(size, _shape(nest).widest)
    return [nest] if width >= size else nest.in_lines(width)


def _shape(nest: Nest) -> NestShape:
    """What the planner is told of a nest."""
    values = [op.results[0] for op in operations_of(nest.write)]
    contiguous: dict[int, int] = {}
    for op, access in nest.accesses.items():
        if isinstance(op, nd.IotaOp | nd.ConstantOp):
            continue
        array = op.operands[0] if isinstance(op, nd.LoadViewOp) else cast(TensorWrite, op).dest
        for axis, stride in access.strides.items():
            if stride == 1:
                contiguous[axis] = contiguous.get(axis, 0) + nest.sizes[axis] * dtype(array).nbytes
    runs = [fold.chunk.value.data for fold, axis in nest.folded.items() if axis is not None]
    return NestShape(
        nest.sizes,
        nest.order,
        contiguous,
        max(dtype(value).nbytes for value in (*values, nest.write.value)),
        sum(not isinstance(value.owner, nd.SplatOp | nd.ExpandOp | nd.ReshapeOp) for value in values),
        next(iter(nest.fold_axes), None),
        max(runs, default=1),
        isinstance(nest.write, nd.StoreAtOp),
    )


def _emit(module: ModuleOp, nest: Nest) -> None:
    tiling = nest_tiling(_shape(nest))
    top = Emitter.before(nest.write)
    parallel = tiling.parallel
    if parallel is None:
        blocks: Sequence[RowBlock] = (RowBlock(0, 1, 1, 1),)
    else:
        blocks = split_rows(nest.sizes[parallel], tiling.extent(parallel))
    for block in blocks:
        _Emission(module, nest, tiling, block, top).run()


@dataclass
class _Scope:
    """The body of a loop: the indices that it binds, each with how many of them a tile has, and what is computed."""

    emitter: Emitter
    bound: dict[Axis, tuple[Index, int]]
    values: dict[tuple[object, ...], SSAValue] = field(default_factory=dict)


Form = frozenset[Axis]
"""Those of the two tile axes that a tile has."""


class _Emission:
    """The code of a nest for one kind of block of its parallel axis."""

    def __init__(self, module: ModuleOp, nest: Nest, tiling: NestTiling, block: RowBlock, top: Emitter) -> None:
        self.module = module
        self.nest = nest
        self.tiling = tiling
        self.block = block
        whole = {
            axis: (cast(Index, 0), size)
            for axis, size in nest.sizes.items()
            if axis != tiling.parallel and size <= tiling.extent(axis)
        }
        self.scopes = [_Scope(top, whole)]
        self.tile_axes = frozenset(axis for axis in (tiling.row, tiling.col) if axis is not None)

    def run(self) -> None:
        bound, parallel = self.scopes[0].bound, self.tiling.parallel
        axes = [axis for axis in self.nest.order if axis not in bound and axis != parallel]
        # What is folded comes last, so that what is folded of it stands outside.
        axes.sort(key=lambda axis: axis in self.nest.fold_axes)
        before = self.scopes

        def body(e: Emitter, first: Index) -> None:
            here = {} if parallel is None else {parallel: (first, self.block.rows)}
            self.scopes = [*before, _Scope(e, here)]
            self._loops(axes)
            self.scopes = before

        alone = self.nest.write.alone is not None
        emit_rounds(before[0].emitter, self.block, body, alone=alone)

    def _loops(self, axes: Sequence[Axis]) -> None:
        if not axes:
            self._write()
            return
        axis, *inner = axes
        extent, size = self.tiling.extent(axis), self.nest.sizes[axis]
        whole = size // extent * extent
        before = self.scopes

        def body(e: Emitter, index: Index, _: Sequence[SSAValue] = (), extent: int = extent) -> Sequence[SSAValue]:
            self.scopes = [*before, _Scope(e, {axis: (index, extent)})]
            self._loops(inner)
            self.scopes = before
            return ()

        e = before[-1].emitter
        e.loop(0, whole, extent, body, name="index")
        if whole < size:
            body(e, whole, extent=size - whole)

    # Where things are computed.

    def _scope(self, axes: frozenset[Axis]) -> int:
        """How many of the open scopes are needed to know the indices of these axes."""
        missing = set(axes)
        for depth, scope in enumerate(self.scopes):
            missing -= scope.bound.keys()
            if not missing:
                return depth
        raise AssertionError(f"axes {missing} are not bound")

    def _once(self, key: tuple[object, ...], axes: frozenset[Axis], make: Callable[[Emitter], SSAValue]) -> SSAValue:
        """What ``make`` makes where the indices of these axes are known, which it does once there."""
        depth = self._scope(axes)
        scope = self.scopes[depth]
        if key not in scope.values:
            inner, self.scopes = self.scopes, self.scopes[: depth + 1]
            scope.values[key] = make(scope.emitter)
            self.scopes = inner
        return scope.values[key]

    def _place(self, axis: Axis) -> tuple[Index, int]:
        return next(scope.bound[axis] for scope in self.scopes if axis in scope.bound)

    # Shapes.

    def _size(self, form: Form) -> tuple[int, int]:
        """Valid rows and columns of a tile with these axes, as the scopes have them."""
        row, col = self.tiling.row, self.tiling.col
        rows = self._place(row)[1] if row is not None and row in form else 1
        cols = self._place(col)[1] if col is not None and col in form else 1
        return rows, cols

    def _physical(self, form: Form) -> tuple[int, int]:
        row, col = self.tiling.row, self.tiling.col
        rows = self.block.rows if row == self.tiling.parallel else self.tiling.rows
        return self.tiling.physical(row=row in form, col=col in form, rows=rows)

    def _type(self, form: Form, dtype: DType) -> TileType:
        return TileType.get(*self._physical(form), dtype, TileLayout.NORM)

    def _form(self, value: SSAValue) -> Form:
        return self.nest.depends[value] & self.tile_axes

    def _operation(
        self,
        e: Emitter,
        name: str,
        sources: Sequence[SSAValue],
        size: Form,
        result: Attribute | None,
        *,
        scalars: Sequence[Index] = (),
        datr: Mapping[str, int] | None = None,
        at: tuple[SSAValue, Index] | None = None,
    ) -> SSAValue:
        rows, cols = self._size(size)
        datr = datr or {}
        fields = DictionaryAttr({key: IntegerAttr(number, i64) for key, number in datr.items()})
        array, offset = at if at is not None else (None, None)
        op = tile.OperationOp(
            operands=[
                sources,
                array,
                None if offset is None else e.index(offset),
                [e.index(cols), e.index(rows)],
                [e.index(_signed(s)) for s in scalars],
            ],
            properties={"operation": StringAttr(name), "pes": pes_attr(self.block.pes)}
            | ({"datr": fields} if datr else {}),
            result_types=[[] if result is None else [result]],
        )
        e.emit(op)
        return op.tiles[0] if result is not None else array  # type: ignore[return-value]

    # Values as tiles.

    def _tile(self, value: SSAValue, form: Form | None = None) -> SSAValue:
        """The tile of a value, repeated along the axes of ``form`` on which it does not depend; masks as bytes."""
        natural = self._form(value)
        form = natural if form is None else natural | form
        outer = self.nest.depends[value] - self.tile_axes
        if isinstance(value.owner, nd.SplatOp):
            return self._splat(value.owner.bits.data, dtype(value), form)
        if form == natural:
            return self._once(("tile", value), outer | form, lambda e: self._compute(e, value))

        def repeat(e: Emitter) -> SSAValue:
            missing = form - natural
            axis = next(iter(missing & {self.tiling.row})) if self.tiling.row in missing else next(iter(missing))
            if len(missing) > 1:
                axis = cast(Axis, self.tiling.row)
            source = self._tile(value, form - {axis})
            name = "TROWEXPAND" if axis == self.tiling.col else "TCOLEXPAND"
            return self._operation(e, name, [source], form, self._type(form, dtype(value)))

        return self._once(("tile", value, form), outer | form, repeat)

    def _splat(self, bits: int, kind: DType, form: Form) -> SSAValue:
        def make(e: Emitter) -> SSAValue:
            return self._operation(e, "TEXPANDS", [], form, self._type(form, kind), scalars=[bits])

        return self._once(("splat", bits, kind, form), form, make)

    def _predicate(self, value: SSAValue, form: Form) -> SSAValue:
        """The predicate tile of a mask with these axes."""
        form = self._form(value) | form
        owner = value.owner
        axes = (self.nest.depends[value] - self.tile_axes) | form

        def make(e: Emitter) -> SSAValue:
            result = PredicateType.get(*self._physical(form))
            if isinstance(owner, nd.ExpandOp | nd.ReshapeOp):
                return self._predicate(owner.source, form)
            if isinstance(owner, nd.OperationOp) and owner.operation.data == "TCMP":
                return self._compare(e, owner, form, result)
            data = self._tile(value, form)
            return self._operation(
                e, "TCMPS", [data], form, result, scalars=[0], datr={"CMode": CMODES.index(Predicate.NE)}
            )

        return self._once(("predicate", value, form), axes, make)

    def _compare(self, e: Emitter, op: nd.OperationOp, form: Form, result: PredicateType) -> SSAValue:
        x, y = op.inputs
        mode = CMODES[op.fields.get("CMode", 0)]
        if isinstance(_bare(x).owner, nd.SplatOp) and not isinstance(_bare(y).owner, nd.SplatOp):
            x, y, mode = y, x, EXCHANGED.get(mode, mode)
        datr = {"CMode": CMODES.index(mode)}
        left, splat = self._tile(x, form), _bare(y).owner
        if isinstance(splat, nd.SplatOp):
            return self._operation(e, "TCMPS", [left], form, result, scalars=[splat.bits.data], datr=datr)
        return self._operation(e, "TCMP", [left, self._tile(y, form)], form, result, datr=datr)

    def _compute(self, e: Emitter, value: SSAValue) -> SSAValue:
        """The tile of a value with the axes on which it depends."""
        op, form = value.owner, self._form(value)
        match op:
            case nd.LoadViewOp():
                return self._load(e, op, form)
            case nd.ConstantOp():
                return self._constant(e, op, form)
            case nd.IotaOp():
                return self._iota(e, op, form)
            case nd.GatherOp():
                index = self._tile(op.displacements, form)
                type_ = self._type(form, dtype(value))
                return self._operation(e, "MGATHER", [index], form, type_, at=(op.source, 0))
            case nd.ExpandOp() | nd.ReshapeOp():
                return self._tile(op.source)
            case nd.FoldOp():
                return self._fold(e, op)
            case nd.OperationOp():
                return self._element_by_element(e, op, form)
        raise AssertionError(f"{value.owner} has no tiles")

    def _element_by_element(self, e: Emitter, op: nd.OperationOp, form: Form) -> SSAValue:
        name, inputs = op.operation.data, list(op.inputs)
        type_ = self._type(form, dtype(op.result))
        if name == "TCMP":
            predicate = self._predicate(op.result, form)
            ones = self._splat(1, dtypes.U8, form)
            return self._operation(e, "TSELS", [predicate, ones], form, type_, scalars=[0])
        if name == "TSEL":
            mask, x, y = inputs
            predicate, splat = self._predicate(mask, form), _bare(y).owner
            if isinstance(splat, nd.SplatOp):
                bits = splat.bits.data
                return self._operation(e, "TSELS", [predicate, self._tile(x, form)], form, type_, scalars=[bits])
            return self._operation(e, name, [predicate, self._tile(x, form), self._tile(y, form)], form, type_)
        if len(inputs) == 2:
            return self._binary(e, name, inputs[0], inputs[1], form, type_)
        return self._operation(e, name, [self._tile(v, form) for v in inputs], form, type_, datr=op.fields)

    def _binary(self, e: Emitter, name: str, x: SSAValue, y: SSAValue, form: Form, type_: TileType) -> SSAValue:
        if name in COMMUTATIVE and (
            isinstance(_bare(x).owner, nd.SplatOp) or (self._form(x) < form and self._form(y) == form)
        ):
            x, y = y, x
        splat = _bare(y).owner
        if isinstance(splat, nd.SplatOp) and name + "S" in BY_NAME:
            return self._operation(e, name + "S", [self._tile(x, form)], form, type_, scalars=[splat.bits.data])
        row, col = self.tiling.row, self.tiling.col
        missing = form - self._form(y)
        if missing and not isinstance(splat, nd.SplatOp):
            axis = row if row in missing and len(missing) > 1 else next(iter(missing))
            expanded = f"{'TROW' if axis == col else 'TCOL'}EXPAND{name[1:]}"
            if expanded in BY_NAME and axis is not None:
                other = self._tile(y, form - {axis})
                return self._operation(e, expanded, [self._tile(x, form), other], form, type_)
        return self._operation(e, name, [self._tile(x, form), self._tile(y, form)], form, type_)

    # Memory.

    def _address(self, e: Emitter, access: Access, nbytes: int) -> Index:
        """Bytes from the start of an array to the first element of a tile."""
        address: Index = access.offset * nbytes
        for axis, stride in sorted(access.strides.items()):
            address = e.add(address, e.mul(self._place(axis)[0], stride * nbytes))
        return address

    def _rows_in_memory(self, access: Access, form: Form) -> int | None:
        """Elements from one row of a tile to the next, if its rows are contiguous and follow each other upwards."""
        row, col = self.tiling.row, self.tiling.col
        across = access.stride(col) if col in form else 1
        down = access.stride(row) if row in form else 0
        return down if across == 1 and down >= 0 else None

    def _pattern(self, access: Access, form: Form, nbytes: int) -> SSAValue:
        """A tile of byte displacements: where each element of a tile stands from the tile's first."""
        row, col = self.tiling.row, self.tiling.col
        down, across = (access.stride(a) * nbytes if a in form else 0 for a in (row, col))
        rows, cols = self._physical(form)
        kind = dtypes.S32 if abs(rows * down) + abs(cols * across) < 1 << 31 else dtypes.S64
        return self._counted(kind, down, across, form)

    def _counted(self, kind: DType, down: int, across: int, form: Form) -> SSAValue:
        """A tile of whole numbers that grow by ``down`` from row to row, and by ``across`` from column to column."""
        rows, cols = self._size(form)
        _, wide = self._physical(form)

        def make(e: Emitter) -> SSAValue:
            data = IotaAttr.get(kind.nbytes, rows, down, wide, across)
            array = constant_array(e, self.module, data, kind, wide * kind.nbytes)
            return array.load(e, 0, 0, (rows, cols), self.block.pes, self._type(form, kind))

        return self._once(("counted", kind, down, across, form), form, make)

    def _load(self, e: Emitter, op: nd.LoadViewOp, form: Form) -> SSAValue:
        access, kind = self.nest.accesses[op], dtype(op.result)
        address, type_ = self._address(e, access, kind.nbytes), self._type(form, kind)
        stride = self._rows_in_memory(access, form)
        if stride is None:
            pattern = self._pattern(access, form, kind.nbytes)
            return self._operation(e, "MGATHER", [pattern], form, type_, at=(op.source, address))
        size = tuple(e.index(n) for n in self._size(form))
        load = tile.LoadOp(
            op.source,
            e.index(address),
            e.index(stride * kind.nbytes),
            cast(tuple[SSAValue, SSAValue], size),
            self.block.pes,
            type_,
        )
        return e.emit(load).result

    def _constant(self, e: Emitter, op: nd.ConstantOp, form: Form) -> SSAValue:
        kind = dtype(op.result)
        data = b"".join(bits.to_bytes(kind.nbytes, "little") for bits in op.bits.data)
        data += bytes(-len(data) % 8)
        words = [int.from_bytes(data[n : n + 8], "little") for n in range(0, len(data), 8)]
        array = replace(constant_array(e, self.module, WordsAttr.get(words), kind, 0), constant=False)
        column = self.nest.accesses[op]
        [index] = [self._place(axis)[0] for axis in column.strides] or [0]
        if self.tiling.col not in form and form:
            array = replace(array, stride=kind.nbytes)
            return array.load(e, index, 0, self._size(form), self.block.pes, self._type(form, kind))
        return array.load(e, 0, index, self._size(form), self.block.pes, self._type(form, kind))

    def _iota(self, e: Emitter, op: nd.IotaOp, form: Form) -> SSAValue:
        access, kind = self.nest.accesses[op], dtype(op.result)
        row, col = self.tiling.row, self.tiling.col
        down, across = (access.stride(a) if a in form else 0 for a in (row, col))
        start = self._address(e, access, 1)
        type_ = self._type(form, kind)
        if not form:
            return self._operation(e, "TEXPANDS", [], form, type_, scalars=[start])
        pattern = self._counted(kind, down, across, form)
        return pattern if start == 0 else self._operation(e, "TADDS", [pattern], form, type_, scalars=[start])

    def _write(self) -> None:
        write, e = self.nest.write, self.scopes[-1].emitter
        form = frozenset(self.nest.order) & self.tile_axes
        value = self._tile(write.value, form)
        if isinstance(write, nd.StoreAtOp):
            places = self._tile(write.displacements, form)
            self._scatter(e, [value, places], write.mask, (write.dest, 0), form)
            return
        access, kind = self.nest.accesses[write], dtype(write.value)
        address, stride = self._address(e, access, kind.nbytes), self._rows_in_memory(access, form)
        if stride is None:
            pattern = self._pattern(access, form, kind.nbytes)
            self._scatter(e, [value, pattern], None, (write.dest, address), form)
            return
        rows, cols = (e.index(n) for n in self._size(form))
        offsets = e.index(address), e.index(stride * kind.nbytes)
        e.emit(tile.StoreOp(value, write.dest, *offsets, (rows, cols), self.block.pes))

    def _scatter(
        self, e: Emitter, sources: list[SSAValue], mask: SSAValue | None, at: tuple[SSAValue, Index], form: Form
    ) -> None:
        if mask is None:
            self._operation(e, "MSCATTER", sources, form, None, at=at)
            return
        rows, cols = (e.index(n) for n in self._size(form))
        predicate = self._predicate(mask, form)
        e.emit(tile.ScatterOp(*sources, predicate, at[0], e.index(at[1]), (rows, cols), self.block.pes))

    # Folds.

    def _fold(self, e: Emitter, op: nd.FoldOp) -> SSAValue:
        axis = self.nest.folded[op]
        if axis is None:
            return self._fold_one(e, op)
        size, run = self.nest.sizes[axis], op.chunk.value.data
        if any(axis in scope.bound for scope in self.scopes):
            return self._run(e, op, axis)
        before = self.scopes

        def part(e: Emitter, index: Index, extent: int) -> SSAValue:
            self.scopes = [*before, _Scope(e, {axis: (index, extent)})]
            result = self._run(e, op, axis)
            self.scopes = before
            return result

        form = self._form(op.result)
        pair, type_ = FOLDS[op.function.data].pair, self._type(form, dtype(op.result))

        def step(e: Emitter, index: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [self._operation(e, pair, [carried[0], part(e, index, run)], form, type_)]

        # What comes out of the loop is folded once more before it is used: carried tiles keep a hand to themselves.
        last = (size - 1) // run * run
        [total] = e.loop(run, last, run, step, [part(e, 0, run)], name="run")
        return self._operation(e, pair, [total, part(e, last, size - last)], form, type_)

    def _run(self, e: Emitter, op: nd.FoldOp, axis: Axis) -> SSAValue:
        """One run of a fold."""
        operations = FOLDS[op.function.data]
        name = operations.row if axis == self.tiling.col else operations.column
        form = self._form(op.result)
        source = self._tile(op.source, form | {axis})
        return self._operation(e, name, [source], form | {axis}, self._type(form, dtype(op.result)))

    def _fold_one(self, e: Emitter, op: nd.FoldOp) -> SSAValue:
        """A fold of single elements."""
        form, pair = self._form(op.result), FOLDS[op.function.data].pair
        type_ = self._type(form, dtype(op.result))
        if not pair:
            return self._operation(e, "TEXPANDS", [], form, type_, scalars=[0])
        source = self._tile(op.source)
        return self._operation(e, pair + "S", [source], form, type_, scalars=[0]) if pair == "TADD" else source


def _bare(value: SSAValue) -> SSAValue:
    """What a value repeats."""
    while isinstance(value.owner, nd.ExpandOp | nd.ReshapeOp):
        value = value.owner.source
    return value


def _signed(word: Index) -> Index:
    """A word as the index constant that has its bits."""
    return word - (1 << 64) if isinstance(word, int) and word >> 63 == 1 else word
