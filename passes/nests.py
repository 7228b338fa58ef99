"""Loop nests of tensors: the axes over which everything that one write needs is computed, before tiles are chosen.

Dimensions that run along together are one axis. A value depends on some of the axes; the others repeat it. What a nest
reads, writes and counts is linear in the indices of its axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ptoc.dialects import nd
from ptoc.dialects.nd.tensors import shape_of

Axis = int
TensorWrite = nd.StoreViewOp | nd.StoreAtOp
TENSOR_WRITES = (nd.StoreViewOp, nd.StoreAtOp)
Linear = nd.LoadViewOp | nd.StoreViewOp | nd.IotaOp | nd.ConstantOp


class NotOneNest(Exception):
    """Operand ``index`` of ``op`` runs along two axes at once, or against a fold: it is to be in memory."""

    def __init__(self, op: Operation, index: int) -> None:
        super().__init__(f"operand {index} of {op.name} has to be in memory")
        self.op = op
        self.index = index


@dataclass(frozen=True)
class Access:
    """``offset`` plus ``strides`` times the indices of the axes, in elements or in whatever is counted."""

    offset: int
    strides: Mapping[Axis, int]

    def stride(self, axis: Axis | None) -> int:
        """The step along an axis; none along axes that repeat, and along no axis."""
        return 0 if axis is None else self.strides.get(axis, 0)


@dataclass(frozen=True)
class Nest:
    """What one write becomes.

    ``sizes`` are those of the axes, ``order`` the axes of what is written, outermost first, and ``folded`` the axis of
    each fold, none where it folds a single element. ``depends`` says along which axes a value differs.
    """

    write: TensorWrite
    sizes: Mapping[Axis, int]
    order: tuple[Axis, ...]
    accesses: Mapping[Operation, Access]
    depends: Mapping[SSAValue, frozenset[Axis]]
    folded: Mapping[nd.FoldOp, Axis | None]

    @property
    def fold_axes(self) -> set[Axis]:
        """The axes along which something is folded."""
        return {axis for axis in self.folded.values() if axis is not None}

    def merged(self) -> Nest:
        """The nest with neighbouring axes made one where everything runs along both as if they were one."""
        nest = self
        place = 0
        while place + 1 < len(nest.order):
            outer, inner = nest.order[place : place + 2]
            if nest._merge(outer, inner):
                nest = nest._with_merged(outer, inner)
                place = max(0, place - 1)
            else:
                place += 1
        return nest

    def _merge(self, outer: Axis, inner: Axis) -> bool:
        if {outer, inner} & self.fold_axes:
            return False
        size = self.sizes[inner]
        return all(a.stride(outer) == a.stride(inner) * size for a in self.accesses.values())

    def _with_merged(self, outer: Axis, inner: Axis) -> Nest:
        def strides(access: Access) -> dict[Axis, int]:
            kept = {axis: stride for axis, stride in access.strides.items() if axis != outer}
            return kept

        sizes = {axis: size for axis, size in self.sizes.items() if axis != outer}
        sizes[inner] = self.sizes[inner] * self.sizes[outer]
        return replace(
            self,
            sizes=sizes,
            order=tuple(axis for axis in self.order if axis != outer),
            accesses={op: replace(access, strides=strides(access)) for op, access in self.accesses.items()},
            depends={value: axes - {outer} for value, axes in self.depends.items()},
        )

    def in_lines(self, width: int) -> Iterator[Nest]:
        """A nest of a single axis as lines of ``width``, and what is left over as another nest."""
        [axis] = self.order
        lines, rest = divmod(self.sizes[axis], width)
        line = axis + 1

        def cut(access: Access) -> Access:
            stride = access.stride(axis)
            return replace(access, strides={line: stride * width, axis: stride} if stride else {})

        if lines:
            yield replace(
                self,
                sizes={line: lines, axis: width},
                order=(line, axis),
                accesses={op: cut(access) for op, access in self.accesses.items()},
                depends={value: axes | {line} if axis in axes else axes for value, axes in self.depends.items()},
            )
        if rest:
            yield replace(
                self,
                sizes={axis: rest},
                accesses={
                    op: replace(access, offset=access.offset + lines * width * access.stride(axis))
                    for op, access in self.accesses.items()
                },
            )


def operations_of(write: TensorWrite) -> list[Operation]:
    """The operations that compute what a write needs, each after its operands."""
    found: dict[Operation, None] = {}

    def visit(value: SSAValue) -> None:
        op = value.owner
        assert isinstance(op, Operation)
        if op in found:
            return
        for operand in op.operands:
            if isinstance(operand.type, TensorType) and not isinstance(op, nd.MatmulAccOp):
                visit(operand)
        found[op] = None

    for operand in write.operands:
        if isinstance(operand.type, TensorType):
            visit(operand)
    return list(found)


def nest_of(write: TensorWrite) -> Nest:
    """The nest of a write; ``NotOneNest`` when its values do not run along axes together."""
    operations = operations_of(write)
    axes = _Axes()
    for op in operations:
        axes.link(op)
    tensors = [n for n, operand in enumerate(write.operands) if isinstance(operand.type, TensorType)]
    for index in tensors[1:]:
        axes.join(write, index, _same(write.operands[tensors[0]], write.operands[index]))
    numbers = axes.numbers()
    nest = Nest(
        write,
        {number: axes.sizes[root] for root, number in numbers.items()},
        tuple(a for a in axes.of(write.operands[tensors[0]], numbers) if a is not None),
        {op: access for op in (*operations, write) if (access := _access(op, axes, numbers)) is not None},
        _dependences(operations, axes, numbers),
        {op: axes.of(op.source, numbers)[op.axis.value.data] for op in operations if isinstance(op, nd.FoldOp)},
    )
    _verify_folds(nest)
    return nest


Dimension = tuple[SSAValue, int]


def _same(x: SSAValue, y: SSAValue) -> list[tuple[Dimension, Dimension]]:
    return [((x, n), (y, n)) for n in range(len(shape_of(x)))]


def _pairs(op: Operation, index: int) -> list[tuple[Dimension, Dimension]]:
    """The dimensions of an operation's result that run along with those of an operand."""
    source, result = op.operands[index], op.results[0]
    before, after = shape_of(source), shape_of(result)
    if isinstance(op, nd.ExpandOp):
        new = len(after) - len(before)
        return [((result, n + new), (source, n)) for n, size in enumerate(before) if size > 1]
    if isinstance(op, nd.ReshapeOp):
        inner, outer = ([n for n, size in enumerate(shape) if size > 1] for shape in (before, after))
        return [((result, m), (source, n)) for m, n in zip(outer, inner)]
    if isinstance(op, nd.FoldOp):
        return [each for each in _same(result, source) if each[0][1] != op.axis.value.data]
    return _same(result, source)


class _Axes:
    """Which dimensions are one axis: sets that are joined, each with the values that have a dimension in it."""

    def __init__(self) -> None:
        self.parents: dict[Dimension, Dimension] = {}
        self.members: dict[Dimension, set[SSAValue]] = {}
        self.sizes: dict[Dimension, int] = {}

    def link(self, op: Operation) -> None:
        for value in op.results:
            for n, size in enumerate(shape_of(value)):
                if size > 1:
                    self.parents[value, n] = value, n
                    self.members[value, n] = {value}
                    self.sizes[value, n] = size
        for index, operand in enumerate(op.operands):
            if isinstance(operand.type, TensorType) and not isinstance(op, nd.MatmulAccOp):
                self.join(op, index, _pairs(op, index))

    def join(self, op: Operation, index: int, pairs: list[tuple[Dimension, Dimension]]) -> None:
        for one, two in pairs:
            if one not in self.parents or two not in self.parents:
                continue
            x, y = self.root(one), self.root(two)
            if x == y:
                continue
            if self.members[x] & self.members[y]:
                raise NotOneNest(op, index)
            self.parents[y] = x
            self.members[x] |= self.members.pop(y)

    def root(self, dimension: Dimension) -> Dimension:
        while self.parents[dimension] != dimension:
            dimension = self.parents[dimension]
        return dimension

    def numbers(self) -> dict[Dimension, Axis]:
        """The axes, numbered in steps that leave room for the lines into which one may be cut."""
        roots = dict.fromkeys(map(self.root, self.parents))
        return {root: 2 * number for number, root in enumerate(roots)}

    def of(self, value: SSAValue, numbers: Mapping[Dimension, Axis]) -> tuple[Axis | None, ...]:
        """The axis of each dimension of a value; none for those of size 1."""
        shape = shape_of(value)
        return tuple(numbers[self.root((value, n))] if size > 1 else None for n, size in enumerate(shape))


def _access(op: Operation, axes: _Axes, numbers: Mapping[Dimension, Axis]) -> Access | None:
    def linear(offset: int, value: SSAValue, strides: tuple[int, ...]) -> Access:
        pairs = zip(axes.of(value, numbers), strides)
        return Access(offset, {axis: stride for axis, stride in pairs if axis is not None and stride})

    if isinstance(op, nd.LoadViewOp):
        return linear(op.view.data.offset, op.result, op.view.data.strides)
    if isinstance(op, nd.StoreViewOp):
        return linear(op.view.data.offset, op.value, op.view.data.strides)
    if isinstance(op, nd.IotaOp):
        steps = [0] * len(shape_of(op.result))
        steps[op.axis.value.data] = op.step.value.data
        return linear(op.start.value.data, op.result, tuple(steps))
    if isinstance(op, nd.ConstantOp):
        return linear(0, op.result, (0, 1)[2 - len(shape_of(op.result)) :])
    return None


def _dependences(
    operations: list[Operation], axes: _Axes, numbers: Mapping[Dimension, Axis]
) -> dict[SSAValue, frozenset[Axis]]:
    found: dict[SSAValue, frozenset[Axis]] = {}
    for op in operations:
        access = _access(op, axes, numbers)
        depends = frozenset(access.strides if access is not None else ())
        if access is None and not isinstance(op, nd.SplatOp):
            depends = frozenset().union(*(found[v] for v in op.operands if v in found))
        if isinstance(op, nd.FoldOp):
            depends -= {axes.of(op.source, numbers)[op.axis.value.data]}
        found.update(dict.fromkeys(op.results, depends))
    return found


def _verify_folds(nest: Nest) -> None:
    """Everything is folded along one axis, and nothing in a nest that writes in order; other folds are in memory."""
    axes = {fold: axis for fold, axis in nest.folded.items() if axis is not None}
    kept = None if isinstance(nest.write, nd.StoreAtOp) else next(reversed(axes.values()), None)
    fold = next((fold for fold, axis in axes.items() if axis != kept), None)
    if fold is not None:
        use = next(iter(cast(SSAValue, fold.result).uses))
        raise NotOneNest(use.operation, use.index)
