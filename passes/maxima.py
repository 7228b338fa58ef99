"""The maxima of sums that a kernel asks for, and which matmul finds them.

The machine compares the bare sums, in the order of their values, before it scales, activates or converts them. So the
maximum of anything else is refused, but for that of ReLU: a maximum that starts from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.dialects import nd
from ptoc.isa.postprocess import GROUP_COLUMNS
from ptoc.passes import epilogues
from ptoc.passes.diagnostics import reject
from ptoc.passes.epilogues import Epilogue, number_of
from ptoc.passes.stored_matmuls import WRITES


@dataclass(frozen=True)
class Maximum:
    """The maximum of every row of ``sums`` and of ``initial``, or of every ``group`` columns; of magnitudes or not."""

    sums: Epilogue
    group: int = 0
    absolute: bool = False
    initial: SSAValue | None = None

    @property
    def inputs(self) -> Iterator[SSAValue]:
        yield from self.sums.inputs
        yield from () if self.initial is None else (self.initial,)


def of_sums(op: nd.MaxOp, known: Mapping[SSAValue, Epilogue]) -> Maximum:
    """What ``nd.max`` asks for; an error for a maximum that the machine does not find."""
    absolute = isinstance(op.source.owner, nd.AbsOp)
    e = known.get(op.source.owner.source if isinstance(op.source.owner, nd.AbsOp) else op.source)
    if e is None:
        _refuse(op, "the maximum of an array", "take it of (c +) np.matmul(...)")
    if e.product.axes:
        _refuse(op, "the maximum of a stack of products", "take the maxima of one product after the other")
    if e.product.is_column:
        _refuse(
            op,
            "the maximum of the product of a matrix and a vector",
            "multiply from the left, np.matmul(vector, matrix): those sums are a row",
        )
    if e.dtype != e.accumulator and replace(e, dtype=e.accumulator).bare:
        _refuse(
            op,
            f"the maximum of {e.accumulator.numpy_name} sums that are read as {e.dtype.numpy_name}",
            f"sum in {e.accumulator.numpy_name}",
        )
    group = 0 if op.group is None else op.group.value.data
    if group and group not in GROUP_COLUMNS[1:]:
        reject(
            op,
            f"the maxima of groups of {group} columns are not supported",
            rule="groups",
            hint=f"groups have {', '.join(map(str, GROUP_COLUMNS[1:-1]))} or {GROUP_COLUMNS[-1]} columns",
        )
    if e.bare:
        return Maximum(e, group, absolute)
    bare = replace(e, slope=None)
    if not (bare.bare and e.slope == 0.0) or group:
        _refuse(
            op,
            "the maximum of sums that something was done to",
            f"take it of the sums themselves, np.matmul(a, b, dtype=np.{e.accumulator.numpy_name}), before scaling,"
            " activation and astype: all of these keep their order",
        )
    return Maximum(bare, initial=_zeros(op))


def from_initial(op: Operation, found: Maximum, initial: SSAValue | None) -> Maximum:
    """``np.maximum`` of row maxima and ``initial`` (``None``: 0): what they start from."""
    if found.group:
        _refuse(op, "np.maximum of the maxima of groups", "the maxima of rows alone have an initial value")
    if found.initial is not None:
        _refuse(op, "a second initial value of a maximum", "give one")
    initial = _zeros(op) if initial is None else initial
    number = number_of(initial)
    if found.absolute and (number is None or number < 0):
        _refuse(op, "this initial value of a maximum of magnitudes", "the machine takes its magnitude too: give 0")
    return replace(found, initial=initial)


def _zeros(op: Operation) -> SSAValue:
    """Zeros in the shape of an operation's result, in front of it."""
    splat = nd.SplatOp(0, cast(TensorType, op.results[0].type))
    splat.location = op.location
    Rewriter.insert_op(splat, InsertPoint.before(op))
    return splat.result


def _refuse(op: Operation, what: str, hint: str) -> NoReturn:
    reject(op, f"{what} is not supported", rule="maxima", hint=hint)


@dataclass
class Host:
    """A matmul to be made: its value, where something else than maxima needs that, and the maxima that it finds too.

    ``ops`` are the operations that it replaces; it stands in front of the first of them.
    """

    sums: Epilogue
    value: Operation | None = None
    maxima: dict[Operation, Maximum] = field(default_factory=dict)

    @property
    def ops(self) -> list[Operation]:
        return [*([] if self.value is None else [self.value]), *self.maxima]

    def first(self, order: Mapping[Operation, int], *more: Operation) -> Operation:
        """The first of the operations that it replaces, and of ``more``."""
        return min((*self.ops, *more), key=order.__getitem__)

    def takes(self, maximum: Maximum) -> bool:
        """Whether it can find a maximum beside those that it has."""
        return self.sums.same_sums(maximum.sums) and not any(
            bool(maximum.group) == bool(other.group) or maximum.absolute != other.absolute
            for other in self.maxima.values()
        )

    def make(self, order: Mapping[Operation, int]) -> nd.MatmulAccOp:
        """Put the matmul in its place, behind what its maxima start from, and let everyone use its results."""
        first = self.first(order)
        rows, groups = (
            next(((op, m) for op, m in self.maxima.items() if bool(m.group) == grouped), (None, None))
            for grouped in (False, True)
        )
        product = self.sums.product if self.value is None else self.value
        fused = epilogues.finished(
            first if self.value is None else self.value,
            self.sums,
            cast(TensorType, product.results[0].type),
            row_max=_type(rows[0]),
            initial=None if rows[1] is None else rows[1].initial,
            group_max=_type(groups[0]),
            group=0 if groups[1] is None else groups[1].group,
            absolute=any(m.absolute for m in self.maxima.values()),
        )
        fused.location = first.location if self.value is None else self.value.location
        initial = None if fused.initial is None else fused.initial.owner
        if isinstance(initial, Operation) and order[initial] > order[first]:
            initial.detach()
            Rewriter.insert_op(initial, InsertPoint.before(first))
        Rewriter.insert_op(fused, InsertPoint.before(first))
        for op, result in ((self.value, fused.result), (rows[0], fused.row_max), (groups[0], fused.group_max)):
            if op is not None and result is not None:
                op.results[0].replace_all_uses_with(result)
        return fused


def _type(op: Operation | None) -> TensorType | None:
    return None if op is None else cast(TensorType, op.results[0].type)


def hosts_of(values: Mapping[Operation, Epilogue], maxima: Mapping[Operation, Maximum], block: Block) -> list[Host]:
    """The matmuls for values and maxima, in order; a maximum that no other one can find has a matmul of its own."""
    order = {op: n for n, op in enumerate(block.ops)}
    hosts = [Host(e, op) for op, e in values.items()]
    for op, maximum in maxima.items():
        fitting = (host for host in hosts if host.takes(maximum) and _is_there(maximum, host.first(order, op), order))
        host = next(fitting, None)
        if host is None:
            host = Host(maximum.sums)
            hosts.append(host)
        host.maxima[op] = maximum
    return sorted(hosts, key=lambda host: order[host.first(order)])


def _is_there(maximum: Maximum, op: Operation, order: Mapping[Operation, int]) -> bool:
    """Whether what a maximum starts from can stand in front of an operation."""
    owner = None if maximum.initial is None else maximum.initial.owner
    if not isinstance(owner, Operation) or order[owner] < order[op] or isinstance(owner, nd.SplatOp):
        return True
    if not isinstance(owner, nd.LoadOp):
        return False
    between = (each for each, n in order.items() if order[op] <= n < order[owner])
    return not any(isinstance(each, WRITES) and each.dest is owner.source for each in between)
