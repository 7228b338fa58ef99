"""``fuse-epilogue``: what follows a matmul becomes part of it.

``c + a @ b`` starts the sum from ``c``; what follows is read into an ``Epilogue`` step by step, and done by B.FPATR. A
matmul whose value is also used elsewhere is computed again for each use: it costs work, never a wrong number. Maxima of
sums are found by a matmul that has to be computed anyway, where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ptoc.dialects import nd
from ptoc.passes import epilogues
from ptoc.passes.diagnostics import Diagnostic, reject
from ptoc.passes.epilogues import Epilogue, element_of, number_of, numbers_of
from ptoc.passes.maxima import Maximum, from_initial, hosts_of, of_sums
from ptoc.passes.rewriting import erase_dead, the_function


@dataclass(frozen=True)
class FuseEpilogue(ModulePass):
    name = "fuse-epilogue"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        # A conversion that only widened an operand of a matmul has no user left, and needs none.
        erase_dead(block)
        known: dict[SSAValue, Epilogue] = {}
        maxima: dict[SSAValue, Maximum] = {}
        rejected: list[Diagnostic] = []
        lost: set[SSAValue] = set()
        for each in list(block.ops):
            if not lost.isdisjoint(each.operands):
                # What is computed from a rejected value cannot be judged.
                lost.update(each.results)
                continue
            try:
                maximum = _read_maximum(each, known, maxima)
                epilogue = None if maximum is not None else _read(each, known)
            except Diagnostic as diagnostic:
                rejected.append(diagnostic)
                lost.update(each.results)
                continue
            if maximum is not None:
                maxima[each.results[0]] = maximum
            elif epilogue is not None:
                known[each.results[0]] = epilogue
        if rejected:
            rejected[0].others = rejected[1:]
            raise rejected[0]
        _write(block, known, maxima)
        erase_dead(block)


def _write(block: Block, known: dict[SSAValue, Epilogue], maxima: dict[SSAValue, Maximum]) -> None:
    """Make the matmuls of those values and maxima that something else than an epilogue needs."""
    needed: set[SSAValue] = set()
    values: dict[Operation, Epilogue] = {}
    found: dict[Operation, Maximum] = {}
    for op in reversed(list(block.ops)):
        if op.results and needed.isdisjoint(op.results):
            continue
        result = op.results[0] if op.results else None
        if result in known:
            values[op] = known[result]
            needed.update(values[op].inputs)
        elif result in maxima:
            found[op] = maxima[result]
            needed.update(found[op].inputs)
        else:
            _check_left(op)
            needed.update(op.operands)
    hosts = hosts_of(dict(reversed(values.items())), dict(reversed(found.items())), block)
    # A matmul whose operand is another one has to be made before that takes its place.
    for host in reversed(hosts):
        host.make({op: n for n, op in enumerate(block.ops)})


def _check_left(op: Operation) -> None:
    """An operation that belongs to a matmul alone, and became part of none."""
    if isinstance(op, nd.LdexpOp | nd.NegOp | nd.ColumnOp):
        epilogues.reject_ldexp(op)
    if isinstance(op, nd.AbsOp):
        reject(
            op,
            "np.abs is supported in front of a maximum only",
            rule="maxima",
            hint="np.abs(sums).max(axis=1), with the sums of a matmul",
        )
    if isinstance(op, nd.CastOp):
        reject(
            op,
            f"astype from {element_of(op.source).numpy_name} to {element_of(op.result).numpy_name}"
            " is not supported here",
            rule="conversions",
            hint="use astype on matmul operands (to widen them) or on the sums of a matmul (to narrow them)",
        )


def _read_maximum(op: Operation, known: dict[SSAValue, Epilogue], maxima: dict[SSAValue, Maximum]) -> Maximum | None:
    """The maximum that an operation's value is; ``None`` for an operation of another kind."""
    if isinstance(op, nd.MaxOp):
        return of_sums(op, known)
    if isinstance(op, nd.ReluOp) and op.source in maxima:
        return from_initial(op, maxima[op.source], None)
    if isinstance(op, nd.MaximumOp):
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if value in maxima:
                return from_initial(op, maxima[value], other)
    return None


def _read(op: Operation, known: dict[SSAValue, Epilogue]) -> Epilogue | None:
    """The epilogue that an operation's value is; ``None`` for an operation of another kind."""
    if isinstance(op, nd.MatmulAccOp):
        return Epilogue.of(op)
    if isinstance(op, nd.AddOp):
        return _add(op, known)
    if isinstance(op, nd.MulOp):
        return _multiply(op, known)
    if isinstance(op, nd.MaximumOp | nd.MinimumOp):
        return _extremum(op, known)
    if isinstance(op, nd.WhereOp):
        branches = [known.get(v) for v in (op.on_true, op.on_false)]
        if branches[0] is None or branches[1] is None:
            return None
        return epilogues.chosen(op.mask, branches[0], branches[1], known)
    if isinstance(op, nd.RoundOp):
        return epilogues.rounded(op, _source(op, known))
    if isinstance(op, nd.ShiftRightOp):
        return epilogues.shifted(op, _source(op, known), numbers_of(op.rhs))
    if isinstance(op, nd.ReluOp):
        return epilogues.activated(op, _source(op, known))
    if isinstance(op, nd.CastOp) and op.source in known:
        return epilogues.cast_to(op, known[op.source], element_of(op.result))
    if isinstance(op, nd.HiF8Op):
        return epilogues.encoded(op, _source(op, known))
    return None


_WORDS = {
    nd.RoundOp: "rounding",
    nd.ShiftRightOp: ">>",
    nd.ReluOp: "np.maximum(x, 0)",
    nd.MulOp: "a multiplication",
    nd.HiF8Op: "ptoc.hifloat8",
    nd.MaximumOp: "np.maximum",
    nd.MinimumOp: "np.minimum",
}


def _source(op: Operation, known: dict[SSAValue, Epilogue]) -> Epilogue:
    found = known.get(op.operands[0])
    if found is None:
        _reject_array(op)
    return found


def _reject_array(op: Operation) -> NoReturn:
    reject(
        op,
        f"{_WORDS[type(op)]} is supported on the result of a matmul only",
        rule="post-processing",
        hint="apply it directly to (c +) np.matmul(...)",
    )


def _add(op: nd.AddOp, known: dict[SSAValue, Epilogue]) -> Epilogue:
    for addend, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        epilogue = known.get(addend)
        found = None if epilogue is None else epilogues.started(op, epilogue, other)
        if found is not None:
            return found
    reject(
        op,
        "this sum is not the accumulation of a matmul",
        rule="accumulation",
        hint="write c + np.matmul(a, b, dtype=c.dtype), and apply np.maximum or astype afterwards",
    )


def _multiply(op: nd.MulOp, known: dict[SSAValue, Epilogue]) -> Epilogue:
    for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        numbers = numbers_of(other)
        if value in known and numbers is not None:
            return epilogues.scaled(op, known[value], numbers)
    _reject_array(op)


def _extremum(op: nd.MaximumOp | nd.MinimumOp, known: dict[SSAValue, Epilogue]) -> Epilogue:
    largest = isinstance(op, nd.MaximumOp)
    for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        number = number_of(other)
        if value in known and number is not None:
            return epilogues.limited(op, known[value], number, above=not largest)
    one, other = known.get(op.lhs), known.get(op.rhs)
    selected = None if one is None or other is None else epilogues.selected(one, other, largest=largest)
    if selected is None:
        _reject_array(op)
    return selected
