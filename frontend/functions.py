"""What numpy's functions become: a table from numpy function to the ``nd`` operations that stand for it.

Every function here checks types by asking numpy itself (NEP 50 included), so results have the dtype that numpy gives
them, and what numpy refuses is refused with numpy's words.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ptoc.arrays import Placement, folded_shape
from ptoc.dialects import nd
from ptoc.dialects.attributes import Predicate
from ptoc.dialects.batching import Axis, Batch, stacked
from ptoc.errors import PtocError, ShapeError, UnsupportedError, caller_location
from ptoc.hif8 import is_floating
from ptoc.isa import dtypes
from ptoc.thresholds import UFUNCS as COMPARISONS
from ptoc.thresholds import Comparison, fold
from ptoc.tracing import OPERATORS, Tracer, about, builtin_element, describe, unsupported

Scalar = (bool, int, float, np.generic)

_REFUSED_TOO = "the function raises the same when numpy runs it"


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A ufunc call with at least one traced operand.

    Where an operation is not supported and numpy says what its result is, tracing goes on with a stand-in for that.
    """
    unknown = None if kwargs or method != "__call__" else _unknown_result(ufunc, inputs)
    if unknown is not None and ufunc in _UFUNCS and any(isinstance(x, Tracer) and x.unknown for x in inputs):
        return unknown
    try:
        with about(_TOPICS.get(ufunc, "functions"), *inputs):
            return _apply_ufunc(ufunc, method, inputs, kwargs)
    except UnsupportedError as error:
        if unknown is None:
            raise
        unknown.trace.errors.append(error)
        return unknown


def _unknown_result(ufunc: np.ufunc, inputs: Sequence[Any]) -> Tracer | None:
    """A stand-in for the result of an operation element by element, if numpy takes these operands."""
    if ufunc.signature is not None or ufunc.nout != 1 or not all(isinstance(x, (Tracer, *Scalar)) for x in inputs):
        return None
    traced = [x for x in inputs if isinstance(x, Tracer)]
    try:
        dtype, shape = _numpy_dtype(ufunc, *inputs), np.broadcast_shapes(*(x.shape for x in traced))
    except (PtocError, ValueError):
        return None
    return traced[0].trace.unknown(shape, dtype)


def _apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    rule = _UFUNCS.get(ufunc)
    if method == "reduce" and ufunc in _MAXIMA:
        return _call(maximum_along, f"{ufunc.__name__}.reduce", inputs, {"axis": 0, **kwargs})
    if rule is None or method != "__call__":
        suffix = "" if method == "__call__" else f".{method}"
        arrays = [x for x in inputs if isinstance(x, Tracer)]
        raise unsupported(f"np.{ufunc.__name__}{suffix} of {describe(*arrays)}", hint=_INSTEAD.get(ufunc))
    out = kwargs.pop("out", None)
    result = _call(rule, ufunc.__name__, inputs, kwargs)
    if out is None:
        return result
    return _into(out[0] if isinstance(out, tuple) else out, result)


def apply_function(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A numpy function (not a ufunc) with at least one traced operand."""
    rule = _FUNCTIONS.get(function)
    arrays = _arrays_in(args, kwargs)
    if rule is None:
        module = getattr(function, "__module__", None) or "numpy"
        name = f"{module.replace('numpy', 'np')}.{getattr(function, '__name__', function)}"
        raise unsupported(f"{name} of {describe(*arrays)}", hint=_INSTEAD.get(function))
    with about(_TOPICS.get(function, "post-processing"), *arrays):
        return _call(rule, function.__name__, args, kwargs)


def _arrays_in(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Tracer]:
    """The traced arrays among arguments, and in lists of them."""
    given = [*args, *kwargs.values()]
    return [x for each in given for x in (each if isinstance(each, list | tuple) else [each]) if isinstance(x, Tracer)]


def _call(rule: Callable[..., Any], name: str, operands: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A rule applied to operands, those without dimensions as the scalars that numpy takes them for."""
    _reject_captured(operands[:1] if rule in _TAKE_AXES else operands, rows=rule in _TAKE_ROWS)
    operands = [x[()] if isinstance(x, np.ndarray) else x for x in operands]
    try:
        return rule(*operands, **options)
    except TypeError as error:
        # The rule itself was not entered: it has no such parameter.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            reason = str(error).rpartition("() ")[2]
            hint = "leave it out; the README lists what a kernel may do"
            raise unsupported(f"this form of np.{name} ({reason})", hint=hint) from None
        raise


def _reject_captured(operands: Sequence[Any], *, rows: bool) -> None:
    if len({id(operand.trace) for operand in operands if isinstance(operand, Tracer)}) > 1:
        raise unsupported("an array of another kernel", hint="pass it as an argument", rule="outside-arrays")
    for operand in operands:
        if isinstance(operand, np.ndarray) and operand.ndim and not rows:
            raise unsupported(
                "an array that is not an argument",
                rule="outside-arrays",
                hint="make it an argument of the kernel; ptoc compiles for arguments",
            )
        if isinstance(operand, MaskedView | Groups):
            operand.refuse()
        if isinstance(operand, Tracer):
            _refuse_packed(operand)
        if not (operand is None or isinstance(operand, (Tracer, np.ndarray, *Scalar))):
            raise unsupported(f"an operand of type {type(operand).__name__}")


def _refuse_packed(x: Tracer) -> None:
    """Elements that share a byte leave a kernel, and nothing else can be done to them."""
    if x.dtype.name == "int4":
        raise unsupported("computing with int4 results", hint="return them, and compute with int8 results")


def _into(dest: Any, value: Tracer) -> Tracer:
    """``out=``: store a result to an array of its shape and dtype."""
    if not isinstance(dest, Tracer):
        raise unsupported(
            "out= with an array that is not an argument",
            rule="outside-arrays",
            hint="make it an argument of the kernel, or use what the function returns",
        )
    return update(dest, value)


def update(dest: Tracer, value: Tracer) -> Tracer:
    """Give ``dest`` the contents of ``value``, as in-place operators do."""
    _require_array(dest)
    if dest.shape != value.shape or dest.dtype != value.dtype:
        raise unsupported(
            f"storing {value!r} to {dest!r} in place",
            rule="assignment",
            hint="shapes and dtypes must agree; convert with astype first",
        )
    dest.replace(value.read())
    return dest


def _require_array(dest: Tracer) -> None:
    """What is to be overwritten has dimensions: numpy's results without any are scalars, which do not change."""
    if not dest.ndim:
        raise unsupported(
            f"assigning into a {dest.dtype} number", hint="give the new value a name of its own", rule="assignment"
        )


def _shape_error(message: str, hint: str | None = None) -> PtocError:
    return ShapeError(message, where=caller_location(), hint=hint)


# -- matmul ---------------------------------------------------------------------------------------


def matmul(x: Any, y: Any, *, dtype: npt.DTypeLike | None = None, casting: str = "same_kind") -> Tracer:
    """``np.matmul`` of matrices, stacks of them, and vectors; the operands' class gives the accumulator: float32, int32
    or uint32.
    """
    if not (isinstance(x, Tracer) and isinstance(y, Tracer)):
        raise unsupported("np.matmul of an array and a scalar")
    _require_fit("np.matmul", x, y)
    judge = partial(np.matmul, dtype=dtype, casting=casting)
    return _product(x, y, _numpy_dtype(judge, x, y))


def _require_fit(name: str, x: Tracer, y: Tracer) -> None:
    if not (x.ndim and y.ndim):
        raise _shape_error(f"{name} takes matrices and vectors, not {describe(x, y)}", "multiply by a number with *")
    rows = y.shape[-2:][0]
    if x.shape[-1] != rows:
        raise _shape_error(
            f"{name} of {describe(x, y)}: {x.shape[-1]} columns do not meet {rows} rows",
            "the left matrix is M x K, the right one K x N; a vector is a row on the left, a column on the right",
        )
    try:
        np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise _shape_error(
            f"{name} of {describe(x, y)}: {x.shape[:-2]} matrices do not meet {y.shape[:-2]}",
            "the axes in front of the last two are equal, or one of them is 1 or missing",
        ) from None


def _product(x: Tracer, y: Tracer, result: np.dtype[Any]) -> Tracer:
    """A product of operands that fit, for which numpy gives ``result``.

    That of a stack and a vector is one vector for each matrix: the rows that the transposes give with it on their left.
    """
    left, right = (y, x.mT) if x.ndim > 2 and y.ndim == 1 else (x, y)
    (a, trans_a), (b, trans_b) = (_as_it_lies(v) for v in (left, right))
    accumulator = _accumulator(a, b, x, y, result)
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape = (*stack, *left.shape[-2:-1], *right.shape[-1:]) if right.ndim > 1 else left.shape[:-1]
    if 0 in stack:
        # The sums of no matrix: as those of a matrix without rows.
        a, trans_a = x.trace.splat(0, (0, left.shape[-1]), _numpy_of(a)), False
        b, trans_b = x.trace.splat(0, right.shape[-2:], _numpy_of(b)), False
        batch: Batch = ()
    else:
        batch = stacked(left.shape[:-2], right.shape[:-2], rows_follow=not trans_a)
        if stack and left.ndim == 1 and not batch:
            # A row in a stack of one is still one of a matrix.
            batch = (Axis(1, 0, 0),)
    stored = result if _same_sum(accumulator, result) else accumulator.numpy
    type_ = TensorType(builtin_element(stored), folded_shape(shape))
    value = x.trace.value(
        ("matmul", a, b, trans_a, trans_b, shape, stored),
        lambda: nd.MatmulAccOp(a, b, None, type_, trans_a=trans_a, trans_b=trans_b, batch=batch),
    )
    if len(shape) > 2:
        x.trace.shapes[value] = shape
    else:
        # A stack that a vector meets may have the extents of the result, in other axes.
        x.trace.shapes.pop(value, None)
    traced = x.trace.tracer(value, stored)
    return traced if stored == result else astype(traced, result)


def _as_it_lies(x: Tracer) -> tuple[SSAValue, bool]:
    """The tensor behind an operand, and whether the operand is its transpose.

    The machine transposes by itself, and it widens by itself: an exact ``astype`` in front of an operand is left out.
    """
    turned = x.stack_of_transposes
    value, transposed, widened = (x if turned is None else turned).read(), turned is not None, False
    while True:
        if isinstance(value.owner, nd.TransposeOp):
            value, transposed = value.owner.source, not transposed
        elif isinstance(value.owner, nd.CastOp) and not widened and _is_exact(value.owner, x.dtype):
            value, widened = value.owner.source, True
        else:
            return value, transposed


def _is_exact(op: nd.CastOp, dtype: np.dtype[Any]) -> bool:
    return np.can_cast(_numpy_of(op.source), dtype, "safe")


def _numpy_of(value: SSAValue) -> np.dtype[Any]:
    from ptoc.dialects.attributes import dtype_of

    return dtype_of(cast(TensorType, value.type).element_type).numpy


def _same_sum(accumulator: dtypes.DType, result: np.dtype[Any]) -> bool:
    """Whether the machine's sum has the result's bits: 32-bit integer sums are modulo 2^32, signed or not."""
    return result == accumulator.numpy or (result.kind in "iu" and result.itemsize == 4 and not accumulator.is_float)


def _accumulator(a: SSAValue, b: SSAValue, x: Tracer, y: Tracer, result: np.dtype[Any]) -> dtypes.DType:
    """The accumulator type of a product that numpy gives ``result``; an error where the machine has none."""
    types = [dtypes.from_numpy(_numpy_of(v)) for v in (a, b)]
    accumulator = None if np.bool_ in (x.dtype, y.dtype) else dtypes.accumulator(*types)
    if accumulator is None:
        raise unsupported(
            f"np.matmul of {describe(x, y)}",
            hint="operands are float16, bfloat16 or float32, or int8 and int16, or uint8 and uint16",
        )
    narrow_float = accumulator.is_float and result.name in ("float16", "bfloat16") and x.dtype == y.dtype == result
    if _same_sum(accumulator, result) or narrow_float:
        return accumulator
    wide = accumulator.numpy_name
    raise unsupported(
        f"np.matmul of {describe(x, y)} with a result of {result}",
        hint=f"the machine adds in {wide}: write np.matmul(a, b, dtype=np.{wide})",
    )


def _numpy_dtype(function: Callable[..., Any], *operands: Any) -> np.dtype[Any]:
    """The dtype that numpy gives a result, found by calling numpy on arrays of one element."""
    tiny = [np.zeros((1, 1), x.dtype) if isinstance(x, Tracer) else x for x in operands]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return np.asarray(function(*tiny)).dtype
    except (TypeError, ValueError, OverflowError) as error:
        message = f"numpy refuses {describe(*operands)}: {error}"
        raise UnsupportedError(message, where=caller_location(), hint=_REFUSED_TOO) from None


def transpose(a: Any, axes: Any = None) -> Tracer:
    """``np.transpose`` of an array."""
    return _turned(a, lambda x: np.transpose(x, axes))


def swapaxes(a: Any, axis1: int, axis2: int) -> Tracer:
    """``np.swapaxes`` of an array."""
    return _turned(a, lambda x: np.swapaxes(x, axis1, axis2))


def _turned(a: Tracer, function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Tracer:
    """The array or its transpose, whichever numpy makes of a small one; of a stack that of each matrix."""
    probe = np.empty(range(1, 1 + a.ndim))
    try:
        shape = function(probe).shape
    except (TypeError, ValueError) as error:
        message = f"numpy refuses these axes of {describe(a)}: {error}"
        raise UnsupportedError(message, where=caller_location(), hint=_REFUSED_TOO) from None
    if shape == probe.shape:
        return a
    return a.mT if shape == probe.swapaxes(-1, -2).shape else a.T


def dot(x: Any, y: Any) -> Tracer:
    """``np.dot`` of matrices and vectors; numpy gives it another dtype than ``np.matmul`` for some operands."""
    if not (isinstance(x, Tracer) and isinstance(y, Tracer)):
        raise unsupported(f"np.dot of {describe(x, y)}", hint="np.dot takes matrices and vectors here")
    _require_fit("np.dot", x, y)
    if max(x.ndim, y.ndim) > 2 and min(x.ndim, y.ndim) > 1:
        raise unsupported(f"np.dot of {describe(x, y)}", hint="np.matmul multiplies stacks of matrices")
    result = _numpy_dtype(np.dot, x, y)
    if result.hasobject:
        raise unsupported(f"np.dot of {describe(x, y)}", hint="np.matmul has a result type for these operands")
    return _product(x, y, result)


# -- what surrounds a matmul ----------------------------------------------------------------------


def _offset(x: Any, y: Any) -> Tracer | None:
    """A matmul's value plus a constant row; ``None`` when neither side is one."""
    rows = [v for v in (x, y) if isinstance(v, np.ndarray)]
    if not rows:
        return None
    sums = _sums("np.add", x, y)
    return _with_constant("add", sums, rows[0], _numpy_dtype(np.add, x, y), nd.AddOp)


def add(x: Any, y: Any) -> Tracer:
    """``c + matmul``: the sum starts from c, which has the accumulator's dtype (a matrix or a row)."""
    offset = _offset(x, y)
    if offset is not None:
        return offset
    result = _numpy_dtype(np.add, x, y)
    traced = [v for v in (x, y) if isinstance(v, Tracer)]
    if any(v.dtype != result for v in traced):
        how = f"write np.matmul(a, b, dtype=np.{result})" if result.itemsize == 4 else "convert before the call"
        raise unsupported(f"a sum of {describe(x, y)}", hint=f"both sides need one dtype: {how}")
    if not any(isinstance(v.read().owner, _SUMS) for v in traced):
        raise unsupported(
            f"a sum of {describe(x, y)}",
            hint="the machine adds where a product starts: c + np.matmul(a, b, dtype=c.dtype)",
        )
    if result.itemsize == 2:
        raise unsupported(
            f"a sum in {result} around a matmul",
            hint="numpy would round twice: write c + np.matmul(a, b, dtype=np.float32) with a float32 c, then astype",
        )
    trace = traced[0].trace
    shape = _broadcast(x, y, stacks=True)
    left, right = (
        trace.repeated(v.read(), v.shape, shape)
        if len(shape) > 2 and isinstance(v, Tracer)
        else _operand(v, shape, result, traced[0])
        for v in (x, y)
    )
    if not any(isinstance(v.owner, _SUMS) for v in (left, right)):
        smaller = next(v for v in traced if isinstance(v.read().owner, _SUMS))
        raise unsupported(
            f"broadcasting the sums of a matmul from {smaller.shape} to {shape}",
            hint="the sums have the shape of the result: broadcast an operand of the product",
            rule="broadcasting",
        )
    value = trace.value(("add", left, right), lambda: nd.AddOp(left, right))
    if len(shape) > 2:
        trace.shapes[value] = shape
    return trace.tracer(value, result)


_SUMS = (
    nd.MatmulAccOp,
    nd.AddOp,
    nd.MulOp,
    nd.MaximumOp,
    nd.MinimumOp,
    nd.ShiftRightOp,
    nd.RoundOp,
    nd.ReluOp,
    nd.CastOp,
    nd.WhereOp,
    nd.LdexpOp,
    nd.AbsOp,
    nd.MaxOp,
)
"""What makes the value of a matmul, or continues one."""


def _sums(name: str, *operands: Any) -> Tracer:
    """The first traced operand, which comes from a matmul: only there the machine has such operations."""
    for x in operands:
        if isinstance(x, Tracer) and isinstance(x.read().owner, _SUMS):
            return x
    raise unsupported(f"{name} of {describe(*operands)}", hint=f"{name} is supported on the result of a matmul")


Binary = Callable[[SSAValue, SSAValue], Operation]


def _with_number(name: str, function: np.ufunc, x: Any, y: Any, make: Binary) -> Tracer:
    """An operation on the value of a matmul and a number, in the dtype that numpy gives it."""
    sums = _sums(name, x, y)
    number = x if sums is y else y
    if isinstance(number, Tracer):
        raise unsupported(
            f"{name} of {describe(x, y)}",
            hint="beside the result of a matmul stands a number, or a row of numbers from outside of the kernel: the"
            " machine's parameter words are made when compiling",
        )
    result = _numpy_dtype(function, x, y)
    return _with_constant(name, sums, number, result, make)


def _with_constant(name: str, sums: Tracer, number: Any, result: np.dtype[Any], make: Binary) -> Tracer:
    wide = _widened(name, sums, result)
    constant = _constant(name, number, sums, result)
    value = sums.trace.value((name, wide, constant), lambda: make(wide, constant))
    return sums.trace.tracer(value, result)


def _constant(name: str, number: Any, sums: Tracer, dtype: np.dtype[Any]) -> SSAValue:
    """A number, or a row of one number per column, in the shape of sums."""
    if not isinstance(number, np.ndarray):
        return sums.trace.splat(_bits(number, dtype), sums.shape, dtype)
    columns = sums.shape[-1:]
    if number.shape not in (columns, (1, *columns))[: sums.ndim]:
        raise _shape_error(
            f"{name} of {describe(sums)} and a constant array of shape {number.shape}",
            "give one number" + "".join(f", or {count}: one per column" for count in columns),
        )
    bits = tuple(number.astype(dtype).view(f"u{dtype.itemsize}").ravel().tolist())
    type_ = TensorType(builtin_element(dtype), number.shape)
    row = sums.trace.value(("constant", bits, type_), lambda: nd.ConstantOp(bits, type_))
    return sums.trace.broadcast(row, sums.shape)


def _widened(name: str, x: Tracer, result: np.dtype[Any]) -> SSAValue:
    """A value as numpy widens it for an operation; a conversion that may round is asked for by ``astype`` only."""
    if x.dtype != result and not (x.dtype.kind in "iuf" and np.can_cast(x.dtype, result, "safe")):
        raise unsupported(f"{name} of {describe(x)} in {result}", hint="convert with astype first")
    return astype(x, result).read()


def subtract(x: Any, y: Any) -> Tracer:
    """A matmul's value minus a number, which is a sum."""
    sums = _sums("np.subtract", x, y)
    if sums is y or not isinstance(y, (*Scalar, np.ndarray)):
        raise unsupported(f"np.subtract of {describe(x, y)}", hint="the right side is a number")
    result = _numpy_dtype(np.subtract, x, y)
    if result.itemsize == 2:
        raise unsupported(f"np.subtract in {result}", hint="numpy would round twice: subtract first, then astype")
    negated = -y.astype(result) if isinstance(y, np.ndarray) else -np.asarray(y).item()
    return _with_constant("add", sums, negated, result, nd.AddOp)


def multiply(x: Any, y: Any) -> Tracer:
    """A matmul's value times a positive number."""
    return _with_number("np.multiply", np.multiply, x, y, nd.MulOp)


def divide(x: Any, y: Any) -> Tracer:
    """A matmul's value divided by a power of two, which is a multiplication."""
    sums = _sums("a division", x, y)
    if sums is y or not isinstance(y, Scalar) or not y > 0 or math.frexp(y)[0] != 0.5:
        raise unsupported(f"a division of {describe(x, y)}", hint="multiply by the reciprocal, or divide by 2**n")
    return _with_constant("np.multiply", sums, 1 / float(y), _numpy_dtype(np.divide, x, y), nd.MulOp)


def maximum(x: Any, y: Any) -> Tracer:
    """``np.maximum``: of a matmul's value and 0 it is ReLU, of two multiples of it leaky ReLU, else a side of clip."""
    return _extremum("np.maximum", np.maximum, x, y, nd.MaximumOp)


def minimum(x: Any, y: Any) -> Tracer:
    """``np.minimum`` of a matmul's value and a number, or of two multiples of it."""
    return _extremum("np.minimum", np.minimum, x, y, nd.MinimumOp)


def _extremum(name: str, function: np.ufunc, x: Any, y: Any, make: type[nd.MaximumOp | nd.MinimumOp]) -> Tracer:
    sums = _sums(name, x, y)
    result = _numpy_dtype(function, x, y)
    if isinstance(x, Tracer) and isinstance(y, Tracer):
        if x.shape != y.shape:
            raise unsupported(f"{name} of {describe(x, y)}", hint="both come from one matmul")
        left, right = (_widened(name, v, result) for v in (x, y))
        value = sums.trace.value((name, left, right), lambda: make(left, right))
        return sums.trace.tracer(value, result)
    number = y if sums is x else x
    if result != sums.dtype or result == np.bool_ or number != number:
        raise unsupported(f"{name} of {describe(x, y)}", hint=f"use a number that {sums.dtype} holds")
    if make is nd.MaximumOp and number == 0:
        source = sums.read()
        return sums.trace.tracer(sums.trace.value(("relu", source), lambda: nd.ReluOp(source)), result)
    return _with_constant(name, sums, number, result, make)


def fmax(x: Any, y: Any) -> Tracer:
    """``np.fmax`` of maxima and what they start from."""
    if not any(isinstance(v, Tracer) and isinstance(v.read().owner, nd.MaxOp) for v in (x, y)):
        raise unsupported(
            f"np.fmax of {describe(x, y)}",
            hint="np.fmax is supported on the maxima of a matmul's rows; elsewhere use np.maximum",
        )
    return _extremum("np.fmax", np.fmax, x, y, nd.MaximumOp)


def absolute(x: Any) -> Tracer:
    """``np.abs`` of a matmul's value, for a maximum of magnitudes."""
    sums = _sums("np.abs", x)
    if sums.dtype.kind == "u":
        return sums
    source = sums.read()
    return sums.trace.tracer(sums.trace.value(("abs", source), lambda: nd.AbsOp(source)), sums.dtype)


def maximum_along(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None
) -> Tracer:
    """``np.max``, ``np.amax``, ``np.nanmax``, ``np.maximum.reduce`` and ``np.fmax.reduce`` of every row of sums.

    With ``initial``, a number, the maximum of that too.
    """
    sums = _sums("np.max", a)
    _refuse_stack(sums)
    if dtype is not None and np.dtype(dtype) != sums.dtype:
        raise unsupported(f"np.max of {describe(a)} as {dtype}", hint="convert the sums, or the maxima, with astype")
    if not sums.ndim or _axes(axis, sums.ndim) != (sums.ndim - 1,):
        raise unsupported(
            f"np.max of {describe(a)} along axis {axis}",
            hint=f"the machine compares the columns of a row: axis={max(sums.ndim - 1, 0)}; or groups of them,"
            " sums.reshape(m, n // g, g).max(axis=2)",
        )
    result = _maxima(sums, (*sums.shape[:-1], *(1,) * bool(keepdims)))
    if initial is not None:
        result = maximum(result, initial)
    return result if out is None else _into(out[0] if isinstance(out, tuple) else out, result)


def _refuse_stack(sums: Tracer) -> None:
    if sums.ndim > 2:
        raise unsupported("the maximum of a stack of products", hint="take the maxima of one product after the other")


def _maxima(sums: Tracer, shape: tuple[int, ...], group: int = 0) -> Tracer:
    source = sums.read()
    value = sums.trace.value(("max", source, shape, group), lambda: nd.MaxOp(source, shape, group))
    return sums.trace.tracer(value, sums.dtype)


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that numpy reduces, in order; its error where there are no such."""
    try:
        return tuple(range(ndim)) if axis is None else tuple(sorted(normalize_axis_tuple(axis, ndim)))
    except (TypeError, ValueError) as error:
        message = f"numpy refuses axis {axis}: {error}"
        raise UnsupportedError(message, where=caller_location(), hint=_REFUSED_TOO) from None


def reshape(a: Any, shape: Any, order: str = "C") -> Any:
    """``np.reshape`` of the sums of a matmul to groups of columns, or to the shape that an array has."""
    try:
        extents = tuple(map(operator.index, shape if isinstance(shape, Sequence) else (shape,)))
    except TypeError:
        raise unsupported(f"reshape to {shape!r}", hint="a shape is a tuple of integers") from None
    if extents.count(-1) == 1:
        known = -math.prod(extents)
        if known and a.size % known == 0:
            extents = tuple(a.size // known if extent == -1 else extent for extent in extents)
    if extents == a.shape:
        return a
    group = extents[-1] if extents else 0
    if order != "C" or group < 1 or not a.ndim or extents != (*a.shape[:-1], a.shape[-1] // group, group):
        raise unsupported(
            f"reshape of {describe(a)} to {'x'.join(map(str, extents))}",
            hint="the columns of sums are cut into groups for a maximum: sums.reshape(m, n // g, g).max(axis=2)",
        )
    if a.size != math.prod(extents):
        raise _shape_error(f"{describe(a)} cannot become {extents}", f"{a.shape[-1]} is no multiple of {group}")
    return Groups(a, group)


def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Tracer:
    """``np.clip`` of a matmul's value: ``np.minimum(np.maximum(a, a_min), a_max)``."""
    result = _sums("np.clip", a)
    if _numpy_dtype(np.clip, a, a_min, a_max) != result.dtype:
        raise unsupported(f"np.clip of {describe(a)} to {a_min!r}, {a_max!r}", hint=f"use bounds of {result.dtype}")
    for bound, side in ((a_min, maximum), (a_max, minimum)):
        if isinstance(bound, Tracer):
            raise unsupported("np.clip to bounds in an array", hint="the bounds are numbers")
        if bound is not None:
            result = side(result, bound)
    return result


def negative(x: Tracer) -> Tracer:
    """Minus a signed integer array: an exponent of ``np.ldexp``."""
    if x.dtype.kind != "i":
        raise unsupported(
            f"minus an array of {x.dtype}",
            hint="a negative exponent for np.ldexp is -e.astype(np.int32): in uint8, numpy's -1 is 255",
        )
    source = x.read()
    return x.trace.tracer(x.trace.value(("negative", source), lambda: nd.NegOp(source)), x.dtype)


def column(x: Tracer) -> Tracer:
    """``x[:, None]`` of an array of one dimension."""
    source = x.read()
    return x.trace.tracer(x.trace.value(("column", source), lambda: nd.ColumnOp(source)), x.dtype)


def ldexp(x: Any, e: Any) -> Tracer:
    """``np.ldexp(c, -e.astype(np.int32)[:, None])``: rows divided by powers of two, for a sum to start from."""
    hint = "np.ldexp takes a float32 matrix and a column of one exponent per row"
    if not (isinstance(x, Tracer) and isinstance(e, Tracer)) or x.dtype != np.float32 or e.dtype.kind != "i":
        raise unsupported(f"np.ldexp of {describe(x, e)}", hint=hint)
    if e.ndim != 2 or e.shape[1] != 1 or not x.ndim or (x.ndim == 2 and x.shape[0] not in (1, e.shape[0])):
        raise unsupported(f"np.ldexp of {describe(x, e)}", hint=hint)
    _numpy_dtype(np.ldexp, x, e)
    source, exponents = x.trace.broadcast(x.read(), (e.shape[0], x.shape[-1])), e.read()
    value = x.trace.value(("ldexp", source, exponents), lambda: nd.LdexpOp(source, exponents))
    return x.trace.tracer(value, x.dtype)


def _rounding(name: nd.RoundingName) -> Callable[[Any], Tracer]:
    function: np.ufunc = getattr(np, name.value)

    def round_(x: Any) -> Tracer:
        sums = _sums(f"np.{name.value}", x)
        result = _numpy_dtype(function, x)
        if result.kind != "f":
            return sums
        wide = _widened(f"np.{name.value}", sums, result)
        return sums.trace.tracer(sums.trace.value((name, wide), lambda: nd.RoundOp(name, wide)), result)

    return round_


def around(a: Any, decimals: int = 0) -> Tracer:
    """``np.round`` to integers."""
    if decimals:
        raise unsupported(f"np.round to {decimals} decimals", hint="scale first and round to integers")
    return a if a.dtype.kind in "iu" else _rounding(nd.RoundingName.RINT)(a)


def right_shift(x: Any, y: Any) -> Tracer:
    """``sums >> places`` of an int32 matmul."""
    if not isinstance(x, Tracer) or not isinstance(y, int | np.integer | np.ndarray):
        raise unsupported(f">> of {describe(x, y)}", hint="shift the sums of a matmul by a number")
    return _with_number(">>", np.right_shift, x, y, nd.ShiftRightOp)


def astype(x: Tracer, dtype: npt.DTypeLike) -> Tracer:
    """A conversion; exact ones in front of a matmul cost nothing, others end one."""
    try:
        target = np.dtype(dtype)
    except TypeError:
        raise unsupported(f"astype({dtype!r})", hint="name a dtype that numpy knows") from None
    if x.stack_of_transposes is not None:
        return astype(x.stack_of_transposes, dtype).mT
    if target == x.dtype:
        return x.copy()
    try:
        element = builtin_element(target)
    except (TypeError, ValueError):
        raise unsupported(f"astype({target})") from None
    if x.dtype == np.bool_ or target == np.bool_:
        raise unsupported(f"astype from {x.dtype} to {target}", hint="compare with 0, or select with np.where")
    source = x.read()
    value = x.trace.value(("cast", source, element), lambda: nd.CastOp(source, element))
    return x.trace.tracer(value, target)


def hifloat8(x: Tracer) -> Tracer:
    """``ptoc.hifloat8`` inside a kernel: of the float sums of a matmul."""
    sums = _sums("ptoc.hifloat8", x)
    if not is_floating(sums.dtype):
        hint = "it takes the float32 sums of a matmul"
        raise unsupported(f"ptoc.hifloat8 of {describe(sums)}", hint=hint, rule="conversions")
    source = sums.read()
    return sums.trace.tracer(sums.trace.value(("hif8", source), lambda: nd.HiF8Op(source)), np.uint8)


# -- masks ----------------------------------------------------------------------------------------

_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _comparison(name: str) -> Callable[[Any, Any], Tracer]:
    def compare(x: Any, y: Any) -> Tracer:
        if not isinstance(x, Tracer):
            return _compare(_SWAPPED[name], y, x)
        return _compare(name, x, y)

    return compare


def _compare(name: str, x: Tracer, y: Any) -> Tracer:
    trace = x.trace
    if x.dtype == np.bool_:
        raise unsupported("a comparison of bool arrays", hint="use the bool array itself as the mask")
    if not isinstance(y, Tracer):
        try:
            folded = fold(name, x.dtype, y)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            message = f"comparing {describe(x, y)}: {error}"
            hint = "compare with an array of the same dtype, or with a number of its kind"
            raise UnsupportedError(message, where=caller_location(), hint=hint) from None
        if not isinstance(folded, Comparison):
            return trace.tracer(trace.splat(int(folded.value), x.shape, np.dtype(bool)), bool)
        threshold = trace.splat(folded.bits, x.shape, x.dtype)
        return _mask(folded.op, x.read(), threshold, x)
    if x.dtype != y.dtype:
        raise unsupported(
            f"a comparison of {describe(x, y)}",
            hint="give both arrays one dtype before the call",
        )
    shape = _broadcast(x, y)
    return _mask(name, *(trace.broadcast(v.read(), shape) for v in (x, y)), x)


def _mask(name: str, left: SSAValue, right: SSAValue, x: Tracer) -> Tracer:
    predicate = Predicate(name)
    value = x.trace.value(("compare", name, left, right), lambda: nd.CompareOp(predicate, left, right))
    return x.trace.tracer(value, bool)


def _constant_mask(value: SSAValue) -> bool | None:
    """The value of a mask that is the same everywhere."""
    if isinstance(value.owner, nd.BroadcastOp):
        return _constant_mask(value.owner.source)
    return bool(value.owner.bits.data) if isinstance(value.owner, nd.SplatOp) else None


def where(mask: Any, *branches: Any) -> Tracer:
    """``np.where(mask, a, b)``; the branches are arrays or scalars."""
    if len(branches) != 2:
        raise unsupported("np.where with one argument", hint="its result's size depends on the data; use a mask")
    a, b = branches
    if not (isinstance(mask, Tracer) and mask.dtype == np.bool_):
        raise unsupported(f"np.where with a condition of {describe(mask)}", hint="the condition is a mask: compare")
    result = _numpy_dtype(lambda *v: np.where(np.ones((1, 1), bool), *v), a, b)
    a, b = (_as_branch(branch, result) for branch in (a, b))
    for branch in (a, b):
        if isinstance(branch, Tracer) and branch.dtype != result:
            raise unsupported(
                f"np.where with branches {describe(a, b)}",
                hint=f"numpy converts to {result}; give both that dtype",
            )
    shape = _broadcast(mask, a, b)
    condition = mask.trace.broadcast(mask.read(), shape)
    first, second = (_operand(v, shape, result, mask) for v in (a, b))
    constant = _constant_mask(condition)
    if constant is not None:
        return mask.trace.tracer(first if constant else second, result)
    value = mask.trace.value(("where", condition, first, second), lambda: nd.WhereOp(condition, first, second))
    return mask.trace.tracer(value, result)


def _as_branch(branch: Any, result: np.dtype[Any]) -> Any:
    """A branch of ``np.where``; the sums of a matmul are widened as numpy does it."""
    wide = isinstance(branch, Tracer) and isinstance(branch.read().owner, _SUMS) and branch.dtype.kind in "iuf"
    if not wide or branch.dtype == result or not np.can_cast(branch.dtype, result, "safe"):
        return branch
    return astype(branch, result)


def _operand(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any], near: Tracer) -> SSAValue:
    """An array or a scalar as a tensor of ``shape`` and ``dtype``."""
    if isinstance(x, Tracer):
        return near.trace.broadcast(x.read(), shape)
    return near.trace.splat(_bits(x, dtype), shape, dtype)


def _bits(scalar: Any, dtype: np.dtype[Any]) -> int:
    """The bits of a scalar after numpy's assignment to an element of ``dtype``."""
    element = np.zeros(1, dtype)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            element[...] = scalar
    except (TypeError, ValueError, OverflowError) as error:
        message, hint = f"{scalar!r} is no {dtype}: {error}", f"use a number that {dtype} holds"
        raise UnsupportedError(message, where=caller_location(), rule="dtypes", hint=hint) from None
    return int(element.view(f"u{dtype.itemsize}")[0])


def _broadcast(*operands: Any, stacks: bool = False) -> tuple[int, ...]:
    """The common shape; only rows repeat, for a column has no stride of its own, and with ``stacks`` matrices."""
    shapes = [x.shape for x in operands if isinstance(x, Tracer)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise _shape_error(
            f"shapes {', '.join(map(str, shapes))} do not broadcast", "a row may stand for all rows"
        ) from None
    for each in shapes:
        one = each[:-1] in ((), (1,)) or (stacks and len(shape) > 2)
        if each != shape and (each[-1:] != shape[-1:] or not one):
            raise unsupported(f"broadcasting {each} to {shape}", rule="broadcasting", hint=_expansion(each, shape))
    return shape


def _expansion(shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """How the caller gives an array the shape that broadcasting would have given it."""
    if math.prod(shape) == 1:
        return f"a row repeats, one element does not: pass np.full({wanted}, x.item(), x.dtype), or write the number"
    if len(shape) == 2 and shape[1] == 1:
        return f"a row repeats, a column does not: pass np.repeat(x, {wanted[-1]}, axis=1)"
    return f"a row repeats, other axes do not: pass np.broadcast_to(x, {wanted}).copy()"


class MaskedView:
    """``src[mask]``: the selected elements, which only a write under the same mask can take."""

    def __init__(self, source: Tracer, mask: SSAValue) -> None:
        self.source = source
        self.value = source.read()
        self.dtype = source.dtype
        self.mask = mask

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise unsupported(
            "using src[mask] elsewhere than in dst[mask] = src[mask]",
            rule="indexing",
            hint="its size depends on the data; np.where(mask, src, other) keeps the shape",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse()


class Groups:
    """``sums.reshape(m, n // g, g)``: the columns of sums in groups of ``g``, whose maxima a matmul finds."""

    def __init__(self, sums: Tracer, group: int) -> None:
        self.sums = _sums("reshape", sums)
        _refuse_stack(sums)
        self.shape = (*sums.shape[:-1], sums.shape[-1] // group, group)
        self.ndim = len(self.shape)
        self.dtype = sums.dtype

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise unsupported(
            "using groups of columns elsewhere than in a maximum",
            rule="maxima",
            hint="sums.reshape(m, n // g, g).max(axis=2) is supported, and np.abs in between",
        )

    def max(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, dtype: Any = None
    ) -> Tracer:
        """The maximum of every group, as numpy's ``max`` along the last axis."""
        if _axes(axis, self.ndim) != (self.ndim - 1,) or keepdims or initial is not None or dtype is not None:
            raise unsupported("this maximum of groups", hint=f"max(axis={self.ndim - 1}) is supported, without options")
        one = self.shape[-2] == 1
        result = _maxima(self.sums, self.shape[:-1], 0 if one else self.shape[-1])
        return result if out is None else _into(out[0] if isinstance(out, tuple) else out, result)

    def __abs__(self) -> Groups:
        return Groups(absolute(self.sums), self.shape[-1])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and ufunc in (np.absolute, np.fabs) and not kwargs:
            return abs(self)
        if method != "reduce" or ufunc not in _MAXIMA:
            self.refuse()
        return self.max(**{"axis": 0, **kwargs})

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if _FUNCTIONS.get(function) is not maximum_along:
            self.refuse()
        return self.max(*args[1:], **kwargs)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse()


_PROTOCOLS = (
    *("array_ufunc", "array_function", "array", "getitem", "setitem", "delitem", "len", "iter", "contains"),
    *("bool", "int", "float", "index", "complex", "round", "neg", "pos", "abs", "invert"),
    *("eq", "ne", "lt", "gt", "le", "ge"),
)
for _name in (*_PROTOCOLS, *(prefix + name for name in OPERATORS for prefix in ("", "r", "i"))):
    setattr(MaskedView, f"__{_name}__", MaskedView.refuse)
    if f"__{_name}__" not in vars(Groups):
        setattr(Groups, f"__{_name}__", Groups.refuse)


def _is_everything(key: Any) -> bool:
    full = slice(None)
    return key is Ellipsis or key == full or (isinstance(key, tuple) and all(k is Ellipsis or k == full for k in key))


def _mask_key(x: Tracer, key: Any) -> SSAValue:
    if not isinstance(key, Tracer) or key.dtype != np.bool_:
        raise unsupported(
            f"indexing {describe(x)} with {_index(key)}",
            rule="indexing",
            hint="index with a mask of the array's shape, or with [:]; take slices and elements before the call",
        )
    if key.shape != x.shape:
        raise _shape_error(
            f"a mask of shape {key.shape} does not select from shape {x.shape}", "a mask has the array's shape"
        )
    return key.read()


def _index(key: Any) -> str:
    if isinstance(key, Tracer | np.ndarray):
        return f"an array of {describe(key)}"
    return f"[{', '.join(map(_one_index, key if isinstance(key, tuple) else (key,)))}]"


def _one_index(key: Any) -> str:
    if isinstance(key, slice):
        start, stop, step = ("" if each is None else str(each) for each in (key.start, key.stop, key.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return "..." if key is Ellipsis else f"an array of {describe(key)}" if isinstance(key, Tracer) else repr(key)


def getitem(x: Tracer, key: Any) -> Tracer | MaskedView:
    """``x[mask]`` and ``x[:]``."""
    if not x.ndim and key is not Ellipsis:
        raise unsupported(f"indexing a {x.dtype} number", hint="numpy's results without dimensions have no elements")
    if not isinstance(key, Tracer) and _is_everything(key):
        return x
    if x.ndim == 1 and isinstance(key, tuple) and key == (slice(None), None):
        return column(x)
    return MaskedView(x, _mask_key(x, key))


def setitem(x: Tracer, key: Any, value: Any) -> None:
    """``x[mask] = other[mask]``, ``x[mask] = scalar``, ``x[:] = array``."""
    _require_array(x)
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if not isinstance(key, Tracer) and _is_everything(key):
        if isinstance(value, Tracer):
            _assign_all(x, value)
            return
        if isinstance(value, Scalar):
            x.replace(_operand(value, x.shape, x.dtype, x))
            return
        raise unsupported(f"assigning a {type(value).__name__} to an array")
    _refuse_packed(x)
    mask = _mask_key(x, key)
    if isinstance(value, MaskedView):
        if value.mask is not mask:
            raise unsupported("dst[mask] = src[other mask]", hint="both sides need the same mask")
        if value.dtype != x.dtype:
            raise unsupported(
                f"assigning {value.dtype} elements to a {x.dtype} array", hint="give both arrays one dtype"
            )
        _store_masked(x, mask, value.value)
    elif isinstance(value, Scalar):
        _store_masked(x, mask, _operand(value, x.shape, x.dtype, x))
    else:
        raise unsupported("dst[mask] = array", hint="write dst[mask] = src[mask], or np.copyto(dst, src, where=mask)")


def _assign_all(x: Tracer, value: Tracer) -> None:
    if value.dtype != x.dtype:
        raise unsupported(f"assigning {value.dtype} to a {x.dtype} array", hint="convert with astype first")
    if _broadcast(x, value) != x.shape:
        raise _shape_error(
            f"shape {value.shape} does not fit into {x.shape}", "assign an array of that shape, or one row of it"
        )
    x.replace(x.trace.broadcast(value.read(), x.shape))


def _store_masked(x: Tracer, mask: SSAValue, value: SSAValue) -> None:
    constant = _constant_mask(mask)
    if constant is not None:
        if constant:
            x.replace(value)
        return
    if x.argument is None:
        old = x.read()
        x.replace(x.trace.value(("where", mask, value, old), lambda: nd.WhereOp(mask, value, old)))
        return
    dest = x.trace.written(x.argument)
    x.trace.emit(nd.MaskedStoreOp(mask, value, dest))


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """``np.copyto(dst, src, where=mask)``."""
    if not isinstance(dst, Tracer):
        raise unsupported("np.copyto into an array that is not an argument")
    _require_array(dst)
    if isinstance(src, Tracer) and src.dtype != dst.dtype:
        raise unsupported(f"np.copyto from {describe(src)} to {describe(dst)}", hint="give both arrays one dtype")
    if isinstance(src, Scalar) and not np.can_cast(np.min_scalar_type(src), dst.dtype, casting):  # type: ignore[arg-type]
        _numpy_dtype(lambda d: np.copyto(d, src, casting=casting), dst)  # type: ignore[arg-type]
    operands = [dst, src] + ([where] if isinstance(where, Tracer) else [])
    if _broadcast(*operands) != dst.shape:
        raise _shape_error(
            f"np.copyto: {describe(*operands)} do not fit into {dst.shape}", "only dst decides on the shape"
        )
    value = _operand(src, dst.shape, dst.dtype, dst)
    if isinstance(where, Tracer) and where.dtype == np.bool_:
        _store_masked(dst, dst.trace.broadcast(where.read(), dst.shape), value)
    elif isinstance(where, bool | np.bool_):
        if where:
            dst.replace(value)
    else:
        raise unsupported("np.copyto with where= of something else than a mask")


def scatter(dst: Tracer, displacements: Any, src: Any, mask: Any) -> None:
    """``ptoc.scatter`` inside a kernel."""
    if not all(isinstance(x, Tracer) for x in (dst, displacements, src)):
        raise unsupported("ptoc.scatter of something else than arrays")
    if dst.argument is None:
        raise unsupported("ptoc.scatter into a computed array", hint="scatter into an argument of the kernel")
    if dst.trace.places[dst.argument] is not Placement.ROWS:
        raise unsupported(
            "ptoc.scatter into an array that does not lie in memory row by row",
            hint="displacements count bytes in memory: scatter into np.ascontiguousarray(...) of it",
        )
    if mask is True or mask is None:
        mask = dst.trace.tracer(dst.trace.splat(1, src.shape, np.dtype(bool)), bool)
    if not isinstance(mask, Tracer) or mask.dtype != np.bool_:
        raise unsupported(f"ptoc.scatter with a mask of {describe(mask)}", hint="compare to get a mask")
    if not displacements.shape == src.shape == mask.shape:
        raise _shape_error(
            f"ptoc.scatter: shapes of displacements {displacements.shape}, source {src.shape}, mask {mask.shape}",
            "they need one shape",
        )
    if displacements.dtype.name not in ("int32", "uint32", "int64", "uint64"):
        raise unsupported(f"ptoc.scatter with {displacements.dtype} displacements", hint="use int32 or int64")
    if src.dtype != dst.dtype:
        raise unsupported(f"ptoc.scatter of {src.dtype} into {dst.dtype}", hint="give both arrays one dtype")
    if _constant_mask(mask.read()) is False:
        return
    operands = (mask.read(), displacements.read(), src.read())
    memref = dst.trace.written(dst.argument)
    dst.trace.emit(nd.ScatterOp(*operands, memref))


_TOPICS: dict[Callable[..., Any], str] = {
    **dict.fromkeys((np.matmul, np.dot), "products"),
    **dict.fromkeys((np.transpose, np.matrix_transpose, np.swapaxes), "transposes"),
    **dict.fromkeys((np.reshape, np.max, np.amax, np.nanmax, np.fmax, np.absolute, np.fabs), "maxima"),
    **dict.fromkeys((np.ldexp, np.negative), "row-exponents"),
    **dict.fromkeys((np.subtract, np.multiply, np.divide, np.maximum, np.minimum), "post-processing"),
    **dict.fromkeys((np.rint, np.floor, np.ceil, np.trunc), "rounding"),
    **dict.fromkeys(COMPARISONS.values(), "comparisons"),
    **dict.fromkeys(
        (np.where, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.logical_and, np.logical_or,
         np.logical_xor, np.logical_not), "masks"
    ),
    np.add: "accumulation",
    np.right_shift: "shifts",
    np.copyto: "assignment",
}  # fmt: skip
"""The rule that an error of a numpy function breaks when it names none."""

_INSTEAD: dict[Callable[..., Any], str] = {
    **dict.fromkeys((np.bitwise_and, np.logical_and), "of two masks: np.where(m, n, False)"),
    **dict.fromkeys((np.bitwise_or, np.logical_or), "of two masks: np.where(m, True, n)"),
    **dict.fromkeys((np.bitwise_xor, np.logical_xor), "of two masks: np.where(m, np.where(n, False, True), n)"),
    **dict.fromkeys((np.invert, np.logical_not), "of a mask: np.where(m, False, True), or the opposite comparison"),
    np.power: "of the sums of a matmul only multiples are supported; compute powers before or after the call",
    np.isnan: "write x != x",
    np.einsum: "np.matmul multiplies matrices and stacks of them; transpose operands with .mT",
    np.tensordot: "np.matmul multiplies matrices and stacks of them",
    np.inner: "np.matmul(a, b.T) is np.inner of matrices",
    np.sum: "np.matmul(x, ones) sums the rows of x, with an argument of ones",
}
"""What to write for a function that is not supported."""

_TAKE_ROWS = (add, subtract, multiply, right_shift)
"""What takes a constant row beside the result of a matmul."""

_TAKE_AXES = (transpose, reshape, maximum_along)
"""What takes one array, and behind it axes or a shape."""

_MAXIMA = (np.maximum, np.fmax)
"""The ufuncs that reduce to a maximum."""

_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.matmul: matmul,
    np.add: add,
    np.subtract: subtract,
    np.multiply: multiply,
    np.divide: divide,
    np.maximum: maximum,
    np.minimum: minimum,
    np.fmax: fmax,
    np.absolute: absolute,
    np.fabs: absolute,
    np.right_shift: right_shift,
    np.negative: negative,
    np.ldexp: ldexp,
    **{getattr(np, name.value): _rounding(name) for name in nd.RoundingName},
    np.equal: _comparison("eq"),
    np.not_equal: _comparison("ne"),
    np.less: _comparison("lt"),
    np.greater: _comparison("gt"),
    np.less_equal: _comparison("le"),
    np.greater_equal: _comparison("ge"),
}

_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.dot: dot,
    np.transpose: transpose,
    np.matrix_transpose: transpose,
    np.swapaxes: swapaxes,
    np.where: where,
    np.clip: clip,
    np.round: around,
    np.around: around,
    np.copyto: copyto,
    np.reshape: reshape,
    **dict.fromkeys((np.max, np.amax, np.nanmax), maximum_along),
}
