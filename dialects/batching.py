"""How stacks walk over arrays: one of products over its operands, in the ``nd`` dialect's syntax ``<4 a 1 b 0>``, and
one of repeated rows over the rows that there are, ``<4 by 0, 5 by 1>``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@dataclass(frozen=True, slots=True)
class Axis:
    """``extent`` products one after the other; each takes the matrices of a and b so many further."""

    extent: int
    a: int
    b: int


Batch = tuple[Axis, ...]
"""The axes of a stack, outermost first. The matrices of the results follow each other."""


def count(batch: Batch) -> int:
    """Products of a stack."""
    return math.prod(axis.extent for axis in batch)


def matrices(batch: Batch) -> tuple[int, int]:
    """Matrices of a and b that a stack needs."""
    a, b = (sum((axis.extent - 1) * step for axis, step in zip(batch, steps)) + 1 for steps in _steps(batch))
    return a, b


def matrices_of(batch: Batch, number: int) -> tuple[int, int]:
    """Which matrices of a and b the product of a ``number`` multiplies."""
    a = b = 0
    for axis in reversed(batch):
        number, place = divmod(number, axis.extent)
        a, b = a + place * axis.a, b + place * axis.b
    return a, b


def _steps(batch: Batch) -> tuple[list[int], list[int]]:
    return [axis.a for axis in batch], [axis.b for axis in batch]


def stacked(a: tuple[int, ...], b: tuple[int, ...], *, rows_follow: bool) -> Batch:
    """The fewest axes for stacks of shapes ``a`` and ``b``, none of them empty, as numpy broadcasts them.

    With ``rows_follow``, where the matrices of a follow each other by rows and meet one b, they are a single matrix.
    """
    ndim = max(len(a), len(b))
    axes: list[Axis] = []
    steps_a = steps_b = 1
    for m, n in zip(reversed((1,) * (ndim - len(a)) + a), reversed((1,) * (ndim - len(b)) + b)):
        axis = Axis(max(m, n), steps_a if m > 1 else 0, steps_b if n > 1 else 0)
        steps_a, steps_b = steps_a * m, steps_b * n
        if axis.extent == 1:
            continue
        inner = axes[0] if axes else None
        if inner is not None and (axis.a, axis.b) == (inner.a * inner.extent, inner.b * inner.extent):
            axes[0] = Axis(inner.extent * axis.extent, inner.a, inner.b)
        else:
            axes.insert(0, axis)
    if axes and rows_follow and (axes[-1].a, axes[-1].b) == (1, 0):
        taken = axes.pop().extent
        axes = [Axis(axis.extent, axis.a // taken, axis.b) for axis in axes]
    return tuple(axes)


@dataclass(frozen=True, slots=True)
class RowAxis:
    """``extent`` rows, or runs of them, one after the other; each takes the row so many further."""

    extent: int
    step: int


RowAxes = tuple[RowAxis, ...]
"""Which row each of many repeats, outermost axis first."""


def repeated(source: tuple[int, ...], shape: tuple[int, ...]) -> RowAxes:
    """The fewest axes for the rows of a stack of ``shape``, none of them empty, that numpy broadcasts ``source`` to."""
    axes: list[RowAxis] = []
    step = 1
    for given, extent in zip(reversed((1,) * (len(shape) - len(source)) + source[:-1]), reversed(shape[:-1])):
        axis = RowAxis(extent, step if given > 1 else 0)
        step *= given
        if extent == 1:
            continue
        if axes and axis.step == axes[0].step * axes[0].extent:
            axes[0] = RowAxis(axes[0].extent * extent, axes[0].step)
        else:
            axes.insert(0, axis)
    return tuple(axes) or (RowAxis(1, 1),)


def row_of(axes: RowAxes, number: int) -> int:
    """The row that stands for the row of a ``number``."""
    row = 0
    for axis in reversed(axes):
        number, place = divmod(number, axis.extent)
        row += place * axis.step
    return row


def rows_of(axes: RowAxes) -> tuple[int, int]:
    """How many rows there are, repeated and as they lie in memory."""
    return math.prod(axis.extent for axis in axes), sum((axis.extent - 1) * axis.step for axis in axes) + 1


@dataclass(frozen=True, slots=True)
class StartedAxis(Axis):
    """An axis of products that start from rows of c; each takes those so many bytes further."""

    c: int


def started(batch: Batch, m: int, rows: RowAxes, stride: int) -> tuple[int, int, tuple[StartedAxis, ...]]:
    """The products of a stack cut such that each starts from evenly spaced rows, which lie ``stride`` bytes apart.

    Both walk over the same axes, of which either may have joined neighbours. The results are the rows of each product,
    how many bytes apart it has the rows that it starts from, and the axes; those of a count its matrices of fewer rows.
    """
    products = [(m, 1, 0), *((axis.extent, axis.a * m, axis.b) for axis in reversed(batch))]
    left = [axis for axis in products if axis[0] > 1]
    right = [(axis.extent, axis.step) for axis in reversed(rows) if axis.extent > 1]
    common: list[tuple[int, int, int, int]] = []
    while left and right:
        (p, a, b), (q, c) = left.pop(0), right.pop(0)
        extent = min(p, q)
        common.append((extent, a, b, c))
        if p > extent:
            left.insert(0, (p // extent, a * extent, b * extent))
        if q > extent:
            right.insert(0, (q // extent, c * extent))
    inner = 1, stride
    if m > 1:
        extent, _, _, c = common.pop(0)
        inner = extent, c * stride
    return *inner, tuple(StartedAxis(n, a // inner[0], b, c * stride) for n, a, b, c in reversed(common))


@irdl_attr_definition
class RowAxesAttr(Data[RowAxes]):
    name = "nd.rows"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> RowAxes:
        def axis() -> RowAxis:
            extent = parser.parse_integer(allow_negative=False)
            parser.parse_keyword("by")
            return RowAxis(extent, parser.parse_integer(allow_negative=False))

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, axis))

    def print_parameter(self, printer: Printer) -> None:
        text = ", ".join(f"{axis.extent} by {axis.step}" for axis in self.data)
        printer.print_string(f"<{text}>")


@irdl_attr_definition
class BatchAttr(Data[Batch]):
    name = "nd.batch"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Batch:
        def axis() -> Axis:
            extent = parser.parse_integer(allow_negative=False)
            steps = []
            for operand in ("a", "b"):
                parser.parse_keyword(operand)
                steps.append(parser.parse_integer(allow_negative=False))
            return Axis(extent, *steps)

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, axis))

    def print_parameter(self, printer: Printer) -> None:
        text = ", ".join(f"{axis.extent} a {axis.a} b {axis.b}" for axis in self.data)
        printer.print_string(f"<{text}>")


def batch_attr(batch: Batch) -> dict[str, BatchAttr]:
    """The property of an operation, which single products do without."""
    return {"batch": BatchAttr(batch)} if batch else {}
