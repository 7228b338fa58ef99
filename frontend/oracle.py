"""The second oracle: a kernel's ``nd`` IR interpreted in numpy, in PTO's order, types and roundings.

Beside every value the interpreter keeps a bound on how far plain numpy may be away from it (the sums of a float
matmul have another order there): ``docs/numerics.md`` states the rule, ``ptoc.validation`` applies it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, i1
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Attribute

from ptoc import ordered
from ptoc.arrays import Placement, copy_with_strides
from ptoc.dialects import nd
from ptoc.dialects.attributes import dtype_of
from ptoc.dialects.batching import count, matrices, matrices_of, row_of
from ptoc.dialects.postprocessing import NOTHING, Post
from ptoc.hif8 import farthest
from ptoc.passes.epilogues import accumulator_of
from ptoc.passes.rewriting import the_function
from ptoc.thresholds import UFUNCS

if TYPE_CHECKING:
    from ptoc.program import Program

Array = npt.NDArray[Any]
Bound = npt.NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-24
"""Of float32, in which the machine adds."""


@dataclass
class Value:
    """An array, and per element how far plain numpy may be from it; no bound means equal bits.

    A bound of infinity says that nothing is claimed: an overflow, or a mask that rounding may turn.
    """

    data: Array
    bound: Bound | None = None

    @property
    def transposed(self) -> Value:
        return Value(self.data.T, None if self.bound is None else self.bound.T)

    def reshaped(self, shape: tuple[int, ...]) -> Value:
        return Value(self.data.reshape(shape), None if self.bound is None else self.bound.reshape(shape))

    def stacked(self, number: int) -> Value:
        """A number of matrices below each other, or one row, as an array of them."""
        rows, cols = (1, *self.data.shape)[-2:]
        return self.reshaped((number, rows // number, cols))

    def at(self, place: int) -> Value:
        """One of a stack."""
        return Value(self.data[place], None if self.bound is None else self.bound[place])


def numpy_type(element: Attribute) -> np.dtype[Any]:
    """The dtype of arrays with these elements; a mask is bool."""
    return np.dtype(bool) if element == i1 else dtype_of(element).numpy


def _shape_of(type_: Attribute) -> tuple[int, ...]:
    return cast(TensorType, type_).get_shape()


def _joined(*bounds: Bound | None) -> Bound | None:
    """The sum of bounds, where there is any."""
    known = [b for b in bounds if b is not None]
    return sum(known[1:], known[0]) if known else None


@register_impls
class NdFunctions(InterpreterFunctions):
    """The meaning of ``nd`` in numpy; values are ``Value``, arrays are numpy arrays of the launch."""

    @impl(nd.LoadOp)
    def load(self, interpreter: Interpreter, op: nd.LoadOp, args: PythonValues) -> PythonValues:
        array: Value = args[0]
        return (Value(array.data.copy(), None if array.bound is None else array.bound.copy()),)

    @impl(nd.StoreOp)
    def store(self, interpreter: Interpreter, op: nd.StoreOp, args: PythonValues) -> PythonValues:
        value, dest = args
        _assign(dest, Ellipsis, value)
        return ()

    @impl(nd.SplatOp)
    def splat(self, interpreter: Interpreter, op: nd.SplatOp, args: PythonValues) -> PythonValues:
        dtype = numpy_type(cast(TensorType, op.result.type).element_type)
        element = np.array(op.bits.data, f"u{dtype.itemsize}").view(dtype)
        return (Value(np.broadcast_to(element, _shape_of(op.result.type))),)

    @impl(nd.BroadcastOp)
    def broadcast(self, interpreter: Interpreter, op: nd.BroadcastOp, args: PythonValues) -> PythonValues:
        value: Value = args[0]
        shape = _shape_of(op.result.type)
        if op.rows is not None:
            numbers = [row_of(op.rows.data, number) for number in range(shape[0])]
            return (Value(value.data[numbers], None if value.bound is None else value.bound[numbers]),)
        bound = None if value.bound is None else np.broadcast_to(value.bound, shape)
        return (Value(np.broadcast_to(value.data, shape), bound),)

    @impl(nd.CompareOp)
    def compare(self, interpreter: Interpreter, op: nd.CompareOp, args: PythonValues) -> PythonValues:
        lhs, rhs = args
        with np.errstate(all="ignore"):
            mask = UFUNCS[op.predicate.data.value](lhs.data, rhs.data)
            bound = _joined(lhs.bound, rhs.bound)
            if bound is not None:
                distance = np.abs(lhs.data.astype(np.float64) - rhs.data.astype(np.float64))
                bound = np.where(distance > bound, 0.0, np.inf)
        return (Value(mask, bound),)

    @impl(nd.WhereOp)
    def where(self, interpreter: Interpreter, op: nd.WhereOp, args: PythonValues) -> PythonValues:
        mask, first, second = args
        data = np.where(mask.data, first.data, second.data)
        bounds = [mask.bound, first.bound, second.bound]
        if all(b is None for b in bounds):
            return (Value(data),)
        uncertain, left, right = (np.zeros(data.shape) if b is None else b for b in bounds)
        return (Value(data, np.where(uncertain > 0, np.inf, np.where(mask.data, left, right))),)

    @impl(nd.MaskedStoreOp)
    def masked_store(self, interpreter: Interpreter, op: nd.MaskedStoreOp, args: PythonValues) -> PythonValues:
        mask, value, dest = args
        _assign(dest, mask.data, value)
        if mask.bound is not None:
            _bound_of(dest)[mask.bound > 0] = np.inf
        return ()

    @impl(nd.ScatterOp)
    def scatter(self, interpreter: Interpreter, op: nd.ScatterOp, args: PythonValues) -> PythonValues:
        from ptoc.scattering import scatter

        mask, displacements, value, dest = args
        scatter(dest.data, displacements.data, value.data, mask.data)
        if mask.bound is not None or value.bound is not None:
            _bound_of(dest)[...] = np.inf
        return ()

    @impl(nd.MatmulAccOp)
    def matmul_acc(self, interpreter: Interpreter, op: nd.MatmulAccOp, args: PythonValues) -> PythonValues:
        shape = _shape_of(op.result.type)
        if op.axes:
            stacks = [args[0].stacked(matrices(op.axes)[0]), args[1].stacked(matrices(op.axes)[1])]
            stacks += [each.stacked(count(op.axes)) for each in args[2:]]
            found = []
            for number in range(count(op.axes)):
                each = [stack.at(n) for stack, n in zip(stacks, (*matrices_of(op.axes, number), number))]
                found += self.product(op, each)
            bounds = [each.bound for each in found if each.bound is not None]
            data = np.concatenate([each.data for each in found])
            return (Value(data, np.concatenate(bounds) if bounds else None),)
        product, *maxima = self.product(op, list(args))
        return (product.reshaped(shape), *maxima)

    def product(self, op: nd.MatmulAccOp, args: Sequence[Value]) -> list[Value]:
        """A single product and its maxima, or one of a stack, which has none."""
        m, n, k = op.size
        a = (args[0] if op.trans_a is None else args[0].transposed).reshaped((m, k))
        b = (args[1] if op.trans_b is None else args[1].transposed).reshaped((k, n))
        c: Value | None = args[2].reshaped((m, n)) if op.acc is not None else None
        accumulator = accumulator_of(op).numpy
        result = numpy_type(cast(TensorType, op.result.type).element_type)
        if op.scale is not None:
            assert c is not None
            exponents = args[3].data.reshape(-1, 1).astype(np.int32)
            c = Value(ordered.divided(c.data, args[3].data), None if c.bound is None else np.ldexp(c.bound, -exponents))
        start = None if c is None else c.data.view(accumulator)
        total = ordered.matmul(a.data, b.data, start, accumulator=accumulator)
        bound = _matmul_bound(a, b, c) if accumulator.kind == "f" else None
        maxima = _maxima(op, Value(total, bound), args[-1])
        post = op.post_processing
        if result == accumulator or (result.itemsize == 4 and accumulator.kind != "f"):
            if post == NOTHING:
                return [Value(total.view(result), bound), *maxima]
            target = accumulator
        else:
            target = result

        def finish(sums: Array) -> Array:
            return ordered.finish(
                sums,
                target,
                relu=post.relu,
                slope=None if post.slope is None else np.array(post.slope),
                scale=np.array(1.0 if post.scale is None else post.scale),
                offset=np.array(post.offset),
                shift=np.array(post.shift),
                rounding=NUMPY_ROUNDING[post.rounding],
                saturate=post.saturate,
                hif8=post.hif8,
            )

        finished = finish(total)
        if bound is not None or target.name == "bfloat16":
            bound = _bound_of_finished(finish, total, bound, finished, post)
        return [Value(finished.view(result), bound), *maxima]


def _maxima(op: nd.MatmulAccOp, sums: Value, initial: Value) -> list[Value]:
    """The maxima of rows and groups that a matmul finds beside its result."""
    found = []
    if op.row_max is not None:
        shape = _shape_of(op.row_max.type)
        start = None if op.initial is None else initial.reshaped((len(sums.data),))
        found.append(_maximum(sums, start, absolute=op.absolute is not None).reshaped(shape))
    if op.group_max is not None and op.group is not None:
        groups = sums.reshaped((len(sums.data), -1, op.group.value.data))
        shape = _shape_of(op.group_max.type)
        found.append(_maximum(groups, None, absolute=op.absolute is not None).reshaped(shape))
    return found


def _maximum(sums: Value, initial: Value | None, *, absolute: bool) -> Value:
    """A maximum moves no further than what moves most; where numpy's is NaN or overflows, nothing is claimed."""
    values = ordered.maxima(sums.data, None if initial is None else initial.data, absolute=absolute)
    bounds = [] if sums.bound is None else [sums.bound.max(axis=-1)]
    if sums.data.dtype == np.int32 and absolute:
        bounds.append(np.where((sums.data == np.iinfo(np.int32).min).any(axis=-1), np.inf, 0.0))
    if initial is not None and initial.bound is not None:
        bounds.append(initial.bound)
    if initial is not None and initial.data.dtype.kind == "f":
        bounds.append(np.where(np.isnan(initial.data), np.inf, 0.0))
    return Value(values, _joined(*bounds))


NUMPY_ROUNDING = {mode: name.value for name, mode in nd.ROUNDINGS.items()}
"""The numpy functions of roundings to integers."""


@np.errstate(all="ignore")
def _bound_of_finished(
    finish: Callable[[Array], Array], total: Array, bound: Bound | None, finished: Array, post: Post
) -> Bound:
    """How far numpy may be when it finishes sums that are ``bound`` away from ``total``, rounding once more.

    All that can be done to a sum is monotone, so the ends of an interval become the ends of one. numpy's own rounding
    of a product moves the result as a change of the sum by as much would.
    """
    center = total.astype(np.float64)
    radius = np.zeros(total.shape) if bound is None else bound
    smallest = min(float(np.min(v)) for v in (post.scale, post.slope, 1.0) if v is not None)  # type: ignore[arg-type]
    radius = radius + (np.abs(center) + radius) * UNIT_ROUNDOFF * 1.01 + 2.0**-149 / smallest
    ends = [finish(center + side * radius) for side in (-1.0, 1.0)]
    if post.hif8:
        result: Bound = farthest(*ends, finished)
    else:
        there = finished.astype(np.float64)
        result = np.maximum(*(np.abs(end.astype(np.float64) - there) for end in ends))
    unclaimed = ~np.isfinite(result) | ~np.isfinite(center) | ~np.isfinite(radius)
    return np.where(unclaimed, np.inf, result)


@np.errstate(all="ignore")
def _matmul_bound(a: Value, b: Value, c: Value | None) -> Bound:
    """Twice the error bound of a sum of K products and c, plus what the operands' own bounds contribute."""
    left, right = (np.abs(v.data.astype(np.float64)) for v in (a, b))
    magnitude = left @ right
    if c is not None:
        magnitude = magnitude + np.abs(c.data.astype(np.float64))
    roundings = (left.shape[1] + 1) * UNIT_ROUNDOFF
    bound = 2 * roundings / (1 - roundings) * magnitude
    if a.bound is not None:
        bound = bound + a.bound @ right
    if b.bound is not None:
        bound = bound + left @ b.bound
    if a.bound is not None and b.bound is not None:
        bound = bound + a.bound @ b.bound
    if c is not None and c.bound is not None:
        bound = bound + c.bound
    # Products below the normal range lose up to half a subnormal step each.
    bound = bound + (left.shape[1] + 1) * 2.0**-149
    overflow = ~(magnitude < 3.0e38)
    result: Bound = np.where(overflow | ~np.isfinite(bound), np.inf, bound)
    return result


def _assign(dest: Value, where: Any, value: Value) -> None:
    dest.data[where] = value.data[where]
    if value.bound is not None or dest.bound is not None:
        _bound_of(dest)[where] = 0.0 if value.bound is None else value.bound[where]


def _bound_of(dest: Value) -> Bound:
    if dest.bound is None:
        dest.bound = np.zeros(dest.data.shape)
    return dest.bound


def interpret(program: Program, arrays: Sequence[Array]) -> list[Value]:
    """All launch arrays of a program after its ``nd`` IR ran on copies of ``arrays``; the caller's own come first."""
    module = program.modules["nd"]
    launch = [Value(copy_with_strides(a)) for a in program.in_memory(arrays)]
    launch += [Value(np.zeros(s.shape, s.dtype)) for s in program.launch_specs[len(arrays) :]]
    interpreter = Interpreter(module)
    interpreter.register_implementations(NdFunctions())
    interpreter.register_implementations(FuncFunctions())
    function: func.FuncOp = the_function(module)
    interpreter.call_op(function, tuple(launch))
    own = [
        (v.transposed if p is Placement.TRANSPOSED else v).reshaped(a.shape)
        for v, p, a in zip(launch, program.places, arrays)
    ]
    results = [(n, launch[n]) for n in range(len(own), len(launch))]
    return own + [v.reshaped(program.results.shapes.get(n, v.data.shape)) for n, v in results]
