"""The meaning of freshly traced ``nd``: every operation is the numpy function that the kernel called.

``ptoc.oracle`` knows what is left when epilogues are fused, in the machine's order; here a sum is numpy's sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import SSAValue

from ptoc.dialects import nd
from ptoc.hif8 import hifloat8
from ptoc.oracle import NdFunctions, Value, numpy_type

Array = npt.NDArray[Any]


def _result(value: SSAValue, data: Any) -> PythonValues:
    """Data as the elements that the IR says a value has."""
    dtype = numpy_type(cast(TensorType, value.type).element_type)
    with np.errstate(all="ignore"):
        return (Value(np.asarray(data).astype(dtype, copy=False)),)


@register_impls
class TracedFunctions(NdFunctions):
    """``nd`` before any pass; bounds are not kept."""

    def product(self, op: nd.MatmulAccOp, args: Sequence[Value]) -> list[Value]:
        m, n, k = op.size
        a, b = (each.T if flag else each for each, flag in zip((args[0].data, args[1].data), (op.trans_a, op.trans_b)))
        dtype = numpy_type(cast(TensorType, op.result.type).element_type)
        with np.errstate(all="ignore"):
            return [Value(np.matmul(a.reshape(m, k), b.reshape(k, n), dtype=dtype, casting="unsafe"))]

    @impl(nd.ConstantOp)
    def constant(self, interpreter: Interpreter, op: nd.ConstantOp, args: PythonValues) -> PythonValues:
        type_ = cast(TensorType, op.result.type)
        dtype = numpy_type(type_.element_type)
        return (Value(np.array(op.bits.data, f"u{dtype.itemsize}").view(dtype).reshape(type_.get_shape())),)

    @impl(nd.TransposeOp)
    def transpose(self, interpreter: Interpreter, op: nd.TransposeOp, args: PythonValues) -> PythonValues:
        return (Value(args[0].data.T),)

    @impl(nd.ColumnOp)
    def column(self, interpreter: Interpreter, op: nd.ColumnOp, args: PythonValues) -> PythonValues:
        return (Value(args[0].data[:, None]),)

    @impl(nd.AddOp)
    def add(self, interpreter: Interpreter, op: nd.AddOp, args: PythonValues) -> PythonValues:
        return self._binary(np.add, op, args)

    @impl(nd.MulOp)
    def multiply(self, interpreter: Interpreter, op: nd.MulOp, args: PythonValues) -> PythonValues:
        return self._binary(np.multiply, op, args)

    @impl(nd.MaximumOp)
    def maximum(self, interpreter: Interpreter, op: nd.MaximumOp, args: PythonValues) -> PythonValues:
        return self._binary(np.maximum, op, args)

    @impl(nd.MinimumOp)
    def minimum(self, interpreter: Interpreter, op: nd.MinimumOp, args: PythonValues) -> PythonValues:
        return self._binary(np.minimum, op, args)

    @impl(nd.ShiftRightOp)
    def shift_right(self, interpreter: Interpreter, op: nd.ShiftRightOp, args: PythonValues) -> PythonValues:
        return self._binary(np.right_shift, op, args)

    @impl(nd.LdexpOp)
    def ldexp(self, interpreter: Interpreter, op: nd.LdexpOp, args: PythonValues) -> PythonValues:
        return self._binary(np.ldexp, op, args)

    @impl(nd.RoundOp)
    def round(self, interpreter: Interpreter, op: nd.RoundOp, args: PythonValues) -> PythonValues:
        return _result(op.result, getattr(np, op.rounding.data.value)(args[0].data))

    @impl(nd.NegOp)
    def negative(self, interpreter: Interpreter, op: nd.NegOp, args: PythonValues) -> PythonValues:
        return _result(op.result, np.negative(args[0].data))

    @impl(nd.ReluOp)
    def relu(self, interpreter: Interpreter, op: nd.ReluOp, args: PythonValues) -> PythonValues:
        data = args[0].data
        with np.errstate(invalid="ignore"):
            return _result(op.result, np.maximum(data, data.dtype.type(0)))

    @impl(nd.AbsOp)
    def absolute(self, interpreter: Interpreter, op: nd.AbsOp, args: PythonValues) -> PythonValues:
        with np.errstate(all="ignore"):
            return _result(op.result, np.abs(args[0].data))

    @impl(nd.MaxOp)
    def maximum_along(self, interpreter: Interpreter, op: nd.MaxOp, args: PythonValues) -> PythonValues:
        data = args[0].data
        group = data.shape[-1] if op.group is None else op.group.value.data
        shape = cast(TensorType, op.result.type).get_shape()
        with np.errstate(all="ignore"):
            return _result(op.result, data.reshape(-1, group).max(axis=1).reshape(shape))

    @impl(nd.CastOp)
    def cast(self, interpreter: Interpreter, op: nd.CastOp, args: PythonValues) -> PythonValues:
        return _result(op.result, args[0].data)

    @impl(nd.HiF8Op)
    def hif8(self, interpreter: Interpreter, op: nd.HiF8Op, args: PythonValues) -> PythonValues:
        return _result(op.result, hifloat8(args[0].data))

    def _binary(self, function: np.ufunc, op: Any, args: PythonValues) -> PythonValues:
        with np.errstate(all="ignore"):
            return _result(op.result, function(args[0].data, args[1].data))
