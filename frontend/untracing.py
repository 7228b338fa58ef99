"""Traced ``nd`` IR as the numpy function that it could have come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ptoc.dialects import nd
from ptoc.dialects.attributes import Predicate
from ptoc.oracle import numpy_type
from ptoc.passes.arguments import INOUT, INPUT, argument_kinds
from ptoc.passes.rewriting import erase_dead, the_function

Array = npt.NDArray[Any]
Cuts = Mapping[int, npt.NDArray[np.intp]]

_RELATIONS = {
    Predicate.EQ: "==",
    Predicate.NE: "!=",
    Predicate.LT: "<",
    Predicate.GT: ">",
    Predicate.LE: "<=",
    Predicate.GE: ">=",
}
_FORMS: dict[type[Operation], str] = {
    nd.WhereOp: "np.where({}, {}, {})",
    nd.TransposeOp: "{}.T",
    nd.AddOp: "{} + {}",
    nd.MulOp: "{} * {}",
    nd.MaximumOp: "np.maximum({}, {})",
    nd.MinimumOp: "np.minimum({}, {})",
    nd.ShiftRightOp: "{} >> {}",
    nd.NegOp: "-{}",
    nd.AbsOp: "np.abs({})",
    nd.ColumnOp: "{}[:, None]",
    nd.LdexpOp: "np.ldexp({}, {})",
    nd.HiF8Op: "ptoc.hifloat8({})",
    nd.ReluOp: "np.maximum({}, 0)",
}
"""What an operation is in numpy, of its operands."""


_TAKEN = re.compile(r"np|ptoc|ml_dtypes|kernel|report|(v|array)\d+")
"""Names that a script has for other things."""


def names_of(function: func.FuncOp) -> list[str]:
    """The names of a kernel's parameters: those of the arrays that a caller passes."""
    args = function.body.block.args
    given = [arg for arg, kind in zip(args, argument_kinds(function)) if kind in (INPUT, INOUT)]
    hints = [arg.name_hint or "" for arg in given]
    usable = [hint.isidentifier() and hints.count(hint) == 1 and not _TAKEN.fullmatch(hint) for hint in hints]
    return [hint if good else f"array{n}" for n, (hint, good) in enumerate(zip(hints, usable))]


def source_of(module: ModuleOp, cuts: Cuts | None = None) -> str:
    """A function ``kernel`` whose trace is ``module`` without what nothing uses.

    Of constant rows that are as long as a key of ``cuts``, only the elements at its indices are left.
    """
    function = the_function(module.clone())
    erase_dead(function.body.block)
    return _Writer(function, cuts or {}).source()


def compiled(source: str) -> Callable[..., Any]:
    """The function that ``source_of`` wrote."""
    import ml_dtypes

    import ptoc

    names: dict[str, Any] = {"np": np, "ptoc": ptoc, "ml_dtypes": ml_dtypes}
    exec(compile(source, "<kernel>", "exec"), names)
    kernel: Callable[..., Any] = names["kernel"]
    return kernel


def dtype_text(dtype: np.dtype[Any]) -> str:
    """A dtype as an expression."""
    if dtype == np.bool_:
        return "np.bool_"
    return f"{'np' if dtype.kind in 'fiu' else 'ml_dtypes'}.{dtype.name}"


def number_text(bits: int, dtype: np.dtype[Any]) -> str:
    """One element, given by its bits, as an expression of its dtype."""
    if dtype == np.bool_:
        return f"np.bool_({bool(bits)})"
    element = np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]
    if dtype.kind in "iu":
        return f"{dtype_text(dtype)}({int(element)})"
    value = float(element)
    text = repr(value) if np.isfinite(value) else f"'{value}'"
    return f"{dtype_text(dtype)}({text})"


class _Writer:
    """One function; values are written where they are computed, numbers and unchanged arrays where they are used."""

    def __init__(self, function: func.FuncOp, cuts: Cuts) -> None:
        self._block = function.body.block
        self._cuts = cuts
        self._kinds = argument_kinds(function)
        self._parameters = names_of(function)
        self._texts: dict[SSAValue, str] = {}
        names = iter(self._parameters)
        for arg, kind in zip(self._block.args, self._kinds):
            self._texts[arg] = next(names) if kind in (INPUT, INOUT) else ""
        self._count = 0
        self._lines: list[str] = []
        self._results: list[str] = []

    def source(self) -> str:
        for op in self._block.ops:
            self._write(op)
        if self._results:
            self._lines.append(f"return {', '.join(self._results)}")
        body = self._lines or ["pass"]
        return f"def kernel({', '.join(self._parameters)}):\n" + "".join(f"    {line}\n" for line in body)

    def _write(self, op: Operation) -> None:
        if isinstance(op, func.ReturnOp):
            return
        texts = [self._texts[operand] for operand in op.operands]
        if isinstance(op, nd.StoreOp):
            if self._kind(op.dest) == INOUT:
                self._lines.append(f"{texts[1]}[...] = {texts[0]}")
            else:
                # A parameter that is returned would be no array of its own.
                self._results.append(f"{texts[0]}.copy()" if texts[0] in self._parameters else texts[0])
        elif isinstance(op, nd.MaskedStoreOp):
            self._lines.append(f"np.copyto({texts[2]}, {texts[1]}, where={texts[0]})")
        elif isinstance(op, nd.ScatterOp):
            mask, displacements, value, dest = texts
            mask = "True" if mask == number_text(1, np.dtype(bool)) else mask
            self._lines.append(f"ptoc.scatter({dest}, {displacements}, {value}, {mask})")
        elif isinstance(op, nd.SplatOp):
            self._texts[op.result] = number_text(op.bits.data, _dtype(op.result))
        elif isinstance(op, nd.BroadcastOp) or (isinstance(op, nd.LoadOp) and self._kind(op.source) != INOUT):
            self._texts[op.result] = texts[0]
        else:
            name = f"v{self._count}"
            self._count += 1
            self._lines.append(f"{name} = {self._expression(op, texts)}")
            self._texts[op.results[0]] = name

    def _expression(self, op: Operation, texts: Sequence[str]) -> str:
        if isinstance(op, nd.LoadOp):
            return f"{texts[0]}.copy()"
        if isinstance(op, nd.ConstantOp):
            return self._row(op)
        if isinstance(op, nd.CompareOp):
            return f"{texts[0]} {_RELATIONS[op.predicate.data]} {texts[1]}"
        if isinstance(op, nd.MatmulAccOp):
            a, b = (f"{text}.T" if flag else text for text, flag in zip(texts, (op.trans_a, op.trans_b)))
            return f"np.matmul({a}, {b}, dtype={dtype_text(_dtype(op.result))})"
        if isinstance(op, nd.MaxOp):
            return _maximum_text(op, texts[0])
        if isinstance(op, nd.RoundOp):
            return f"np.{op.rounding.data.value}({texts[0]})"
        if isinstance(op, nd.CastOp):
            return f"{texts[0]}.astype({dtype_text(_dtype(op.result))})"
        return _FORMS[type(op)].format(*texts)

    def _kind(self, array: SSAValue) -> str:
        return self._kinds[list(self._block.args).index(array)]

    def _row(self, op: nd.ConstantOp) -> str:
        dtype = _dtype(op.result)
        numbers = np.array(op.bits.data, f"u{dtype.itemsize}").view(dtype)
        if len(numbers) in self._cuts:
            numbers = numbers[self._cuts[len(numbers)]]
        text = ", ".join(str(int(n)) if dtype.kind in "iu" else repr(float(n)) for n in numbers)
        shape = "" if len(cast(TensorType, op.result.type).get_shape()) == 1 else "[None]"
        return f"np.array([{text}], {dtype_text(dtype)}){shape}"


def _maximum_text(op: nd.MaxOp, sums: str) -> str:
    """The maximum of every row, or of every group of columns."""
    shape = cast(TensorType, op.result.type).get_shape()
    if op.group is not None:
        groups = ", ".join(map(str, (*shape, op.group.value.data)))
        return f"{sums}.reshape({groups}).max(axis=-1)"
    kept = len(shape) == len(cast(TensorType, op.source.type).get_shape())
    return f"{sums}.max(axis=-1{', keepdims=True' if kept else ''})"


def _dtype(value: SSAValue) -> np.dtype[Any]:
    return numpy_type(cast(TensorType, value.type).element_type)
