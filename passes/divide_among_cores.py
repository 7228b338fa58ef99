"""``divide-among-cores``: say which writes the cores share, and which one core does alone.

Nothing orders the cores of a machine. So a core may only read, and only overwrite, what it has written itself:

* a write that shares no written array with another one is divided freely, and nothing is said;
* writes that do, but each visit every such array element by element, are divided in the same way, so that an element
  belongs to one core throughout: they are done ``together``;
* whatever else meets in an array is done by the first core ``alone``, and so is a scatter, whose targets may meet.

    nd.store %0, %tmp : …                            nd.store %0, %tmp together 0 : …
    %1 = nd.load %tmp : …                 becomes    %1 = nd.load %tmp : …
    nd.masked_store %mask, %1, %out : …              nd.masked_store %mask, %1, %out together 0 : …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ptoc.dialects import nd
from ptoc.dialects.attributes import shape_2d
from ptoc.passes.materialize_operands import WRITES, Write
from ptoc.passes.rewriting import the_function


@dataclass(frozen=True)
class DivideAmongCores(ModulePass):
    name = "divide-among-cores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        writes = [_Accesses.of(each) for each in the_function(op).body.block.ops if isinstance(each, WRITES)]
        for number, group in enumerate(_groups(writes)):
            written = {each.write.dest for each in group}
            shape = shape_2d(group[0].write.dest.type)
            if len(group) == 1 and not isinstance(group[0].write, nd.ScatterOp):
                continue
            if all(each.visits_by_element(written, shape) for each in group):
                for each in group:
                    each.write.properties["together"] = IntegerAttr(number, i64)
            else:
                for each in group:
                    each.write.properties["alone"] = UnitAttr()


@dataclass(frozen=True)
class _Accesses:
    """A write and the arrays that it reads; ``whole`` are those of which an element may need any other."""

    write: Write
    elementwise: set[SSAValue] = field(default_factory=set)
    whole: set[SSAValue] = field(default_factory=set)

    @classmethod
    def of(cls, write: Write) -> _Accesses:
        found = cls(write)
        for operand in write.operands:
            if isinstance(operand.type, TensorType):
                found._read(operand, whole=False)
        return found

    def _read(self, value: SSAValue, *, whole: bool) -> None:
        op = cast(Operation, value.owner)
        if isinstance(op, nd.LoadOp):
            (self.whole if whole else self.elementwise).add(op.source)
            return
        for operand in op.operands:
            self._read(operand, whole=whole or isinstance(op, nd.MatmulAccOp | nd.BroadcastOp))

    def meets(self, other: _Accesses) -> bool:
        """Whether one of the two writes what the other reads or writes."""
        mine, theirs = self.write.dest, other.write.dest
        return mine is theirs or mine in other.elementwise | other.whole or theirs in self.elementwise | self.whole

    def visits_by_element(self, written: set[SSAValue], shape: tuple[int, int]) -> bool:
        """Whether an iteration space of ``shape`` touches one element of each ``written`` array at a time."""
        if isinstance(self.write, nd.ScatterOp) or isinstance(self.write.value.owner, nd.MatmulAccOp):
            return False
        arrays = {self.write.dest, *self.elementwise} & written
        return not self.whole & written and all(shape_2d(array.type) == shape for array in arrays)


def _groups(writes: Sequence[_Accesses]) -> list[list[_Accesses]]:
    """The writes that meet, directly or through others."""
    groups: list[list[_Accesses]] = []
    for write in writes:
        met = [group for group in groups if any(write.meets(other) for other in group)]
        groups = [group for group in groups if group not in met]
        groups.append([*(other for group in met for other in group), write])
    return groups
