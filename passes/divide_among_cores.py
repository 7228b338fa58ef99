"""``divide-among-cores``: say which writes the cores share, and which one core does alone.

Nothing orders the cores of a machine. So a core may only read, and only overwrite, what it has written itself:

* a write that shares no written array with another one is divided freely, and nothing is said;
* writes that do, but each visit every such array element by element, are divided in the same way, so that an element
  belongs to one core throughout: they are done ``together``;
* whatever else meets in an array, tensors of any rank among it, is done by the first core ``alone``, and so is a
  scatter, whose targets may meet.

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
from ptoc.passes.stored_matmuls import READS, Write, write_groups


@dataclass(frozen=True)
class DivideAmongCores(ModulePass):
    name = "divide-among-cores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nests = [_Accesses.of(writes) for writes in write_groups(op)]
        for number, group in enumerate(_groups(nests)):
            writes = [write for each in group for write in each.writes]
            written, shape = {write.dest for write in writes}, shape_2d(writes[0].dest.type)
            if len(group) == 1 and not isinstance(writes[0], nd.ScatterOp | nd.StoreAtOp):
                continue
            if all(each.visits_by_element(written, shape) for each in group):
                for write in writes:
                    write.properties["together"] = IntegerAttr(number, i64)
            else:
                for write in writes:
                    write.properties["alone"] = UnitAttr()


@dataclass(frozen=True)
class _Accesses:
    """The writes of a nest and the arrays that it reads; ``whole`` are those of which an element may need any other."""

    writes: Sequence[Write]
    elementwise: set[SSAValue] = field(default_factory=set)
    whole: set[SSAValue] = field(default_factory=set)

    @classmethod
    def of(cls, writes: Sequence[Write]) -> _Accesses:
        found = cls(writes)
        for operand in (operand for write in writes for operand in write.operands):
            if isinstance(operand.type, TensorType):
                found._read(operand, whole=False)
        return found

    @property
    def written(self) -> set[SSAValue]:
        return {write.dest for write in self.writes}

    @property
    def read(self) -> set[SSAValue]:
        return self.elementwise | self.whole

    def _read(self, value: SSAValue, *, whole: bool) -> None:
        op = cast(Operation, value.owner)
        if isinstance(op, READS):
            whole = whole or not isinstance(op, nd.LoadOp)
            (self.whole if whole else self.elementwise).add(op.source)
        if isinstance(op, nd.LoadOp):
            return
        for operand in op.operands:
            if isinstance(operand.type, TensorType):
                self._read(operand, whole=whole or isinstance(op, nd.MatmulAccOp | nd.BroadcastOp))

    def meets(self, other: _Accesses) -> bool:
        """Whether one of the two writes what the other reads or writes."""
        return bool(self.written & (other.written | other.read) or other.written & self.read)

    def visits_by_element(self, written: set[SSAValue], shape: tuple[int, int]) -> bool:
        """Whether an iteration space of ``shape`` touches one element of each ``written`` array at a time."""
        one_by_one = (nd.StoreOp, nd.MaskedStoreOp)
        if any(not isinstance(w, one_by_one) or isinstance(w.value.owner, nd.MatmulAccOp) for w in self.writes):
            return False
        arrays = (self.written | self.elementwise) & written
        return not self.whole & written and all(shape_2d(array.type) == shape for array in arrays)


def _groups(writes: Sequence[_Accesses]) -> list[list[_Accesses]]:
    """The writes that meet, directly or through others."""
    groups: list[list[_Accesses]] = []
    for write in writes:
        met = [group for group in groups if any(write.meets(other) for other in group)]
        groups = [group for group in groups if group not in met]
        groups.append([*(other for group in met for other in group), write])
    return groups
