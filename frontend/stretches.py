"""Where the iterations of a loop begin to differ: its sizes as affine functions of the number of the iteration.

A loop over the blocks of an array has long stretches of iterations with the same sizes, and few that are smaller.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue

from ptoc.dialects import tile


class Affine(NamedTuple):
    """``slope * t + start`` in the iteration ``t``."""

    slope: int
    start: int

    def at(self, t: int) -> int:
        return self.slope * t + self.start


Known = Mapping[SSAValue, int]


class Cut(Exception):
    """Iterations differ: ``at`` begins another stretch."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


def cut(loop: scf.ForOp, steps: range, stretch: range, sizes: Collection[SSAValue], outside: Known) -> int | None:
    """An iteration of ``stretch`` behind its first from which on other sizes may hold; ``None`` when all have the same.

    ``steps`` are the values of the loop's counter, ``sizes`` the values that sizes are computed from, ``outside`` those
    known before the loop. Sizes that are no affine function cut off the first iteration.
    """
    if len(stretch) == 1:
        return None
    block = loop.body.block
    found = {block.args[0]: Affine(steps.step, steps.start)}
    try:
        for op in block.ops:
            if isinstance(op, arith.ConstantOp):
                continue
            if type(op) in _RULES and op.results[0] in sizes:
                operands = [_value(each, found, outside, stretch) for each in op.operands]
                found[op.results[0]] = _RULES[type(op)](operands, stretch)
            elif any(found[value].slope for value in _needed(op, sizes) if value in found):
                raise Cut(stretch.start + 1)
    except Cut as end:
        return end.at
    return None


def _value(value: SSAValue, found: Mapping[SSAValue, Affine], outside: Known, stretch: range) -> Affine:
    if value in found:
        return found[value]
    if isinstance(value.owner, arith.ConstantOp):
        return Affine(0, value.owner.value.value.data)  # type: ignore[union-attr]
    if value not in outside:
        raise Cut(stretch.start + 1)
    return Affine(0, outside[value])


def _needed(op: Operation, sizes: Collection[SSAValue]) -> Iterator[SSAValue]:
    """What an operation, and all in it, takes as a size or as a part of one; not what addresses are made of."""
    for each in op.walk():
        if isinstance(each, scf.ForOp):
            yield from (each.lb, each.ub, each.step)
            arguments = each.body.block.args[1:]
            yield from (value for argument, value in zip(arguments, each.iter_args) if argument in sizes)
        elif isinstance(each, scf.YieldOp) or any(result in sizes for result in each.results):
            yield from (value for value in each.operands if value in sizes)
        else:
            yield from size_operands(each)


def size_operands(op: Operation) -> list[SSAValue]:
    """The sizes of a tile operation."""
    if isinstance(op, tile.MatmulOp):
        return [op.m, op.n, op.k]
    if isinstance(op, tile.LoadOp | tile.LoadSharedOp | tile.StoreOp | tile.CompareOp | tile.ScatterOp):
        return [op.rows, op.cols]
    return list(op.size) if isinstance(op, tile.OperationOp) else []


def _sum(operands: list[Affine], stretch: range) -> Affine:
    return Affine(*map(operator.add, *operands))


def _difference(operands: list[Affine], stretch: range) -> Affine:
    return Affine(*map(operator.sub, *operands))


def _product(operands: list[Affine], stretch: range) -> Affine:
    for one, other in (operands, operands[::-1]):
        if not one.slope:
            return Affine(one.start * other.slope, one.start * other.start)
    raise Cut(stretch.start + 1)


def _minimum(operands: list[Affine], stretch: range) -> Affine:
    x, y = operands
    difference = _difference(operands, stretch)
    signs = [difference.at(t) <= 0 for t in (stretch[0], stretch[-1])]
    if signs[0] != signs[1]:
        raise Cut(stretch[bisect_left(stretch, True, key=lambda t: (difference.at(t) <= 0) != signs[0])])
    return x if signs[0] else y


def _equality(operands: list[Affine], stretch: range) -> Affine:
    difference = _difference(operands, stretch)
    if not difference.slope:
        return Affine(0, int(difference.start == 0))
    root, beside = divmod(-difference.start, difference.slope)
    if beside or root not in stretch:
        return Affine(0, 0)
    raise Cut(max(root, stretch.start + 1))


def _selection(operands: list[Affine], stretch: range) -> Affine:
    condition, x, y = operands
    if condition.slope:
        raise Cut(stretch.start + 1)
    return x if condition.start else y


def _of_constants(function: Callable[..., int]) -> Callable[[list[Affine], range], Affine]:
    def apply(operands: list[Affine], stretch: range) -> Affine:
        if any(each.slope for each in operands):
            raise Cut(stretch.start + 1)
        return Affine(0, function(*(each.start for each in operands)))

    return apply


_RULES: dict[type[Operation], Callable[[list[Affine], range], Affine]] = {
    arith.AddiOp: _sum,
    arith.SubiOp: _difference,
    arith.MuliOp: _product,
    arith.MinUIOp: _minimum,
    arith.CmpiOp: _equality,
    arith.SelectOp: _selection,
    arith.ShRUIOp: _of_constants(operator.rshift),
    arith.DivUIOp: _of_constants(operator.floordiv),
    arith.AndIOp: _of_constants(operator.and_),
}
