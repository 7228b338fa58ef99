"""The matmuls of an ``nd`` kernel with the stores of their results: which of them one loop nest serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ptoc.dialects import nd
from ptoc.passes.rewriting import the_function

WRITES = (nd.StoreOp, nd.MaskedStoreOp, nd.ScatterOp, nd.StoreViewOp, nd.StoreAtOp)
Write = nd.StoreOp | nd.MaskedStoreOp | nd.ScatterOp | nd.StoreViewOp | nd.StoreAtOp
READS = (nd.LoadOp, nd.LoadViewOp, nd.GatherOp)


@dataclass(frozen=True)
class StoredMatmul:
    """A matmul and stores of some of its results, each of another one, in program order.

    The loop nest stands where the first of them does.
    """

    matmul: nd.MatmulAccOp
    stores: tuple[nd.StoreOp, ...]

    @property
    def alone(self) -> bool:
        """Whether one core does all of it."""
        return any(store.alone is not None for store in self.stores)

    def dest(self, result: SSAValue | None) -> SSAValue | None:
        """The array to which a result is stored."""
        return next((store.dest for store in self.stores if store.value is result), None)


def stored_matmuls(module: ModuleOp) -> list[StoredMatmul]:
    """The stores of matmuls of a kernel, in order.

    A store joins an earlier one of the same matmul if nothing in between reads or writes what it overwrites. One that
    does not, or stores a result once more, has the product computed again.
    """
    block = the_function(module).body.block
    found: list[list[nd.StoreOp]] = []
    for op in block.ops:
        if not isinstance(op, nd.StoreOp) or not isinstance(op.value.owner, nd.MatmulAccOp):
            continue
        group = next((g for g in reversed(found) if g[0].value.owner is op.value.owner), None)
        if group is not None and all(s.value is not op.value for s in group) and not _met(block, group[0], op):
            group.append(op)
        else:
            found.append([op])
    return [StoredMatmul(_owner(group[0]), tuple(group)) for group in found]


def _owner(store: nd.StoreOp) -> nd.MatmulAccOp:
    assert isinstance(store.value.owner, nd.MatmulAccOp)
    return store.value.owner


def _met(block: Block, first: Operation, store: nd.StoreOp) -> bool:
    """Whether something from one operation up to a store accesses what the store overwrites."""
    op: Operation | None = first
    while op is not None and op is not store:
        if (isinstance(op, READS) and op.source is store.dest) or (isinstance(op, WRITES) and op.dest is store.dest):
            return True
        op = op.next_op
    return False


def write_groups(module: ModuleOp) -> list[Sequence[Write]]:
    """All writes of a kernel in the order of their loop nests, those of one nest together."""
    joined = {store: stored.stores for stored in stored_matmuls(module) for store in stored.stores}
    writes = [op for op in the_function(module).body.block.ops if isinstance(op, WRITES)]
    groups: list[Sequence[Write]] = []
    for write in writes:
        group = joined.get(write, (write,)) if isinstance(write, nd.StoreOp) else (write,)
        if group[0] is write:
            groups.append(group)
    return groups
