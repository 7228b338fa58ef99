"""How passes create operations: with the source location of what they replace, and folded index arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, UnknownLoc
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.passes.diagnostics import Diagnostic

OpT = TypeVar("OpT", bound=Operation)

Index = int | SSAValue
"""An index value: known now, or computed by the program."""


def the_function(module: ModuleOp) -> func.FuncOp:
    """The single function of a kernel's module."""
    functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    if len(functions) != 1:
        raise Diagnostic(f"a kernel module has one function, this one has {len(functions)}")
    return functions[0]


def function_of(op: Operation) -> func.FuncOp:
    """The function that an operation stands in."""
    while not isinstance(op, func.FuncOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _constants(function: func.FuncOp) -> dict[int, SSAValue]:
    """Index constants at the start of a function, by their value."""
    found: dict[int, SSAValue] = {}
    for op in function.body.block.ops:
        if not isinstance(op, arith.ConstantOp):
            break
        if isinstance(op.result.type, IndexType):
            found[cast(IntegerAttr, op.value).value.data] = op.result
    return found


def erase_dead(block: Block) -> None:
    """Erase the operations of a block without nested regions whose results nobody uses."""
    for op in reversed(list(block.ops)):
        if op.results and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


def fill_locations(module: ModuleOp) -> None:
    """Give operations that upstream rewrites created the location of their neighbour or parent."""
    for op in module.walk():
        if not isinstance(op.location, UnknownLoc):
            continue
        neighbours = (op.next_op, op.prev_op, op.parent_op())
        known = [n.location for n in neighbours if n is not None and not isinstance(n.location, UnknownLoc)]
        if known:
            op.location = known[0]


@dataclass
class Emitter:
    """Inserts operations at one place, for one source operation.

    Index arithmetic on known numbers is done here and never becomes an operation.
    """

    builder: Builder
    origin: Operation
    constants: dict[int, SSAValue] = field(default_factory=dict)

    @classmethod
    def before(cls, op: Operation, *, reuse_constants: bool = False) -> Emitter:
        """An emitter in front of an operation, which may use the constants at the start of its function."""
        return cls(Builder(InsertPoint.before(op)), op, _constants(function_of(op)) if reuse_constants else {})

    def inside(self, block: Block) -> Emitter:
        """An emitter at the end of a nested block."""
        return Emitter(Builder(InsertPoint.at_end(block)), self.origin, self.constants)

    def emit(self, op: OpT) -> OpT:
        op.location = self.origin.location
        return self.builder.insert(op)

    def index(self, value: Index) -> SSAValue:
        """An index as an SSA value; equal constants are made once, at the start of the function."""
        if not isinstance(value, int):
            return value
        if value not in self.constants:
            function = function_of(self.origin)
            constant = arith.ConstantOp(IntegerAttr(value, IndexType()))
            constant.location = self.origin.location
            constant.result.name_hint = f"c{value}"
            Builder(InsertPoint.at_start(function.body.blocks[0])).insert(constant)
            self.constants[value] = constant.result
        return self.constants[value]

    def add(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if y == 0:
            return x
        if x == 0:
            return y
        return self.emit(arith.AddiOp(self.index(x), self.index(y))).result

    def sub(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x - y
        if y == 0:
            return x
        return self.emit(arith.SubiOp(self.index(x), self.index(y))).result

    def mul(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        if x == 0 or y == 0:
            return 0
        if x == 1:
            return y
        if y == 1:
            return x
        return self.emit(arith.MuliOp(self.index(x), self.index(y))).result

    def divided(self, x: Index, divisor: int) -> Index:
        """``x // divisor``."""
        if isinstance(x, int):
            return x // divisor
        if divisor & (divisor - 1) == 0:
            return self.emit(arith.ShRUIOp(x, self.index(divisor.bit_length() - 1))).result
        return self.emit(arith.DivUIOp(x, self.index(divisor))).result

    def minimum(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return min(x, y)
        return self.emit(arith.MinUIOp(self.index(x), self.index(y))).result

    def lowest_bit(self, x: SSAValue) -> SSAValue:
        """The lowest set bit of a number, 0 for 0."""
        negated = self.emit(arith.SubiOp(self.index(0), x)).result
        return self.emit(arith.AndIOp(x, negated)).result

    def if_equal(self, x: Index, y: Index, same: Index, other: Index) -> Index:
        """``same`` where ``x == y``, else ``other``."""
        if isinstance(x, int) and isinstance(y, int):
            return same if x == y else other
        if same == other:
            return same
        equal = self.emit(arith.CmpiOp(self.index(x), self.index(y), "eq")).result
        return self.emit(arith.SelectOp(equal, self.index(same), self.index(other))).result

    def remaining(self, size: int, start: Index, step: int) -> Index:
        """``min(step, size - start)``: the extent of a block that may be ragged."""
        if isinstance(start, int):
            return min(step, size - start)
        if size % step == 0:
            return step
        return self.emit(arith.MinUIOp(self.index(step), self.index(self.sub(size, start)))).result

    def loop(
        self,
        start: Index,
        stop: Index,
        step: Index,
        body: Callable[[Emitter, Index, Sequence[SSAValue]], Sequence[SSAValue]],
        carried: Sequence[SSAValue] = (),
        *,
        name: str,
        keep: bool = False,
    ) -> Sequence[SSAValue]:
        """``body(emitter, induction value, carried values)`` for every value of ``range(start, stop, step)``.

        No iteration: the carried values as they are. One: the body without a loop around it, unless ``keep`` asks for
        code that does not depend on the problem's size. Where the program computes the range, it has the loop.
        """
        if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
            trips = len(range(start, stop, step))
            if trips == 0:
                return carried
            if trips == 1 and not keep:
                return body(self, start, carried)
        block = Block(arg_types=[IndexType(), *(v.type for v in carried)])
        block.args[0].name_hint = name
        inner = self.inside(block)
        results = body(inner, block.args[0], block.args[1:])
        inner.emit(scf.YieldOp(*results))
        bounds = (self.index(v) for v in (start, stop, step))
        return self.emit(scf.ForOp(*bounds, list(carried), Region(block))).res
