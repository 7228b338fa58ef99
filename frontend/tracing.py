"""Tracing: running a kernel on stand-ins for its arrays, and writing down what it does as ``nd`` IR.

A ``Tracer`` behaves like a numpy array of known shape and dtype and unknown contents. numpy hands its functions and
operators over through ``__array_ufunc__`` and ``__array_function__``; ``ptoc.functions`` holds what each becomes.
Equal computations on equal values are written down once, so a mask that is computed twice is the same mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    FileLineColLoc,
    FunctionType,
    IntAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    TensorType,
    UnknownLoc,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ptoc.arrays import ArraySpec, Placement, dense_strides, folded_shape
from ptoc.dialects import nd
from ptoc.dialects.attributes import element_type
from ptoc.dialects.batching import RowAxis, repeated
from ptoc.errors import PtocError, SourceLocation, UnsupportedError, caller_location
from ptoc.isa import dtypes
from ptoc.passes.arguments import INOUT, INPUT, OUTPUT, append_argument, set_argument_kinds
from ptoc.passes.rewriting import erase_dead
from ptoc.thresholds import UFUNCS

OpT = TypeVar("OpT", bound=Operation)


def builtin_element(dtype: np.dtype[Any]) -> Attribute:
    """The IR element type of a numpy dtype; a numpy bool is ``i1``."""
    return i1 if dtype == np.bool_ else element_type(dtypes.from_numpy(dtype))


def memref_type(spec: ArraySpec) -> MemRefType:
    """The IR type of an array argument that stands in memory row by row."""
    layout: StridedLayoutAttr | NoneAttr = NoneAttr()
    if spec.strides != dense_strides(spec.shape, spec.dtype.itemsize):
        layout = StridedLayoutAttr([s // spec.dtype.itemsize for s in spec.strides])
    return MemRefType(builtin_element(spec.dtype), spec.shape, layout)


def ir_location(where: SourceLocation | None) -> FileLineColLoc | UnknownLoc:
    """A source location as an attribute."""
    if where is None:
        return UnknownLoc()
    return FileLineColLoc(StringAttr(where.file), IntAttr(where.line), IntAttr(where.column or 0))


class Trace:
    """The function under construction."""

    def __init__(
        self,
        name: str,
        specs: Sequence[ArraySpec],
        places: Sequence[Placement],
        names: Sequence[str],
        where: SourceLocation | None,
    ) -> None:
        self.places = places
        block = Block(arg_types=[memref_type(spec.placed(place)) for spec, place in zip(specs, places)])
        for argument, hint in zip(block.args, names):
            argument.name_hint = hint
        self.function = func.FuncOp(name, FunctionType.from_lists([a.type for a in block.args], []), Region(block))
        self.function.location = ir_location(where)
        self.builder = Builder(InsertPoint.at_end(block))
        self.module = ModuleOp([self.function])
        self.module.location = self.function.location
        self.errors: list[PtocError] = []
        """What was not supported, where tracing could go on."""
        self.versions = [0] * len(specs)
        self.known: dict[Hashable, SSAValue] = {}
        self.places_of: dict[Operation, SourceLocation] = {}
        """The expressions that asked for operations, from start to end."""
        self.shapes: dict[SSAValue, tuple[int, ...]] = {}
        """The shapes of stacks of matrices, which lie below each other in the IR."""
        self.stacks: dict[int, tuple[int, ...]] = {}
        """The shapes of results that are stacks, by launch argument."""
        self.kinds = [INPUT] * len(specs)
        set_argument_kinds(self.function, self.kinds)
        self.arguments = [
            Tracer(self, s.shape, s.dtype, argument=n)
            if place is not Placement.TRANSPOSED
            else Tracer(self, s.shape[::-1], s.dtype, argument=n).T
            for n, (s, place) in enumerate(zip(specs, places))
        ]

    def emit(self, op: OpT) -> OpT:
        """Append an operation, with the place in the user's source that asked for it."""
        self._locate(op, caller_location())
        return self.builder.insert(op)

    def _locate(self, op: Operation, where: SourceLocation | None) -> None:
        op.location = ir_location(where)
        if where is not None:
            self.places_of[op] = where

    def value(self, key: Hashable, make: Callable[[], Operation]) -> SSAValue:
        """The result of a pure operation, computed once for equal keys."""
        if key not in self.known:
            op = self.emit(make())
            self.known[key] = result = op.results[0]
            shape = cast(TensorType, result.type).get_shape()
            stacks = [self.shapes[v] for v in op.operands if v in self.shapes and folded_shape(self.shapes[v]) == shape]
            if stacks:
                # What is done element by element to a stack is one.
                self.shapes[result] = stacks[0]
        return self.known[key]

    def load(self, argument: int) -> SSAValue:
        """The present contents of an array argument."""
        memref = self.function.body.block.args[argument]
        value = self.value(("load", argument, self.versions[argument]), lambda: nd.LoadOp(memref))
        if self.arguments[argument].ndim > 2:
            self.shapes[value] = self.arguments[argument].shape
        return value

    def splat(self, bits: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> SSAValue:
        """One element everywhere."""
        type_ = TensorType(builtin_element(dtype), folded_shape(shape))
        return self.value(("splat", bits, type_), lambda: nd.SplatOp(bits, type_))

    def broadcast(self, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """A row repeated to ``shape``; ``value`` itself where it has that shape."""
        shape = folded_shape(shape)
        if cast(TensorType, value.type).get_shape() == shape:
            return value
        if isinstance(value.owner, nd.SplatOp):
            op = value.owner
            type_ = TensorType(cast(TensorType, value.type).element_type, shape)
            return self.value(("splat", op.bits.data, type_), lambda: nd.SplatOp(op.bits.data, type_))
        return self.value(("broadcast", value, shape), lambda: nd.BroadcastOp(value, shape))

    def repeated(self, value: SSAValue, source: tuple[int, ...], shape: tuple[int, ...]) -> SSAValue:
        """A stack of shape ``source`` broadcast to ``shape``, which has as many columns."""
        if isinstance(value.owner, nd.SplatOp) or 0 in shape or math.prod(source[:-1]) == 1:
            if 0 in shape:
                type_ = TensorType(cast(TensorType, value.type).element_type, folded_shape(shape))
                return self.value(("splat", 0, type_), lambda: nd.SplatOp(0, type_))
            return self.broadcast(value, shape)
        axes = repeated(source, shape)
        if axes == (RowAxis(math.prod(shape[:-1]), 1),):
            return value
        return self.value(("repeated", value, axes), lambda: nd.BroadcastOp(value, folded_shape(shape), axes))

    def transposed(self, value: SSAValue, where: SourceLocation | None) -> SSAValue:
        """A matrix with rows and columns exchanged, as the source asks for at ``where``."""
        if isinstance(value.owner, nd.TransposeOp):
            return value.owner.source
        if isinstance(value.owner, nd.SplatOp):
            return self.broadcast(value, cast(TensorType, value.type).get_shape()[::-1])
        result = self.value(("transpose", value), lambda: nd.TransposeOp(value))
        self._locate(cast(Operation, result.owner), where)
        return result

    def visited_by_column(self) -> set[int]:
        """The arguments whose transpose something else than a matmul needs; what nothing needs is erased first."""
        block = self.function.body.block
        erase_dead(block)
        by_column: set[int] = set()
        for op in block.ops:
            if isinstance(op, nd.TransposeOp) and isinstance(op.source.owner, nd.LoadOp):
                by_column.add(block.args.index(op.source.owner.source))
            elif isinstance(op, nd.StoreOp) and isinstance(op.value.owner, nd.TransposeOp):
                by_column.add(block.args.index(op.dest))
        return by_column

    def unknown(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Tracer:
        """A stand-in for what an operation that is not supported would have given."""
        return Tracer(self, shape, np.dtype(dtype))

    def collected(self, last: PtocError | None = None) -> PtocError:
        """The first error, with the others that came before ``last`` and that one; each once."""
        errors = {(each.where, each.message): each for each in (*self.errors, *([] if last is None else [last]))}
        first, *others = errors.values()
        first.others = tuple(other for other in others if other is not first)
        return first

    def written(self, argument: int) -> SSAValue:
        """Note that an argument changes; its memref."""
        self.versions[argument] += 1
        self.kinds[argument] = INOUT
        return self.function.body.block.args[argument]

    def tracer(self, value: SSAValue, dtype: npt.DTypeLike) -> Tracer:
        """A computed value as the kernel sees it."""
        shape = self.shapes.get(value, cast(TensorType, value.type).get_shape())
        return Tracer(self, shape, np.dtype(dtype), value=value)

    def finish(self, results: Sequence[Tracer]) -> list[int]:
        """Store the results; for each the launch argument that holds it."""
        set_argument_kinds(self.function, self.kinds)
        places: list[int] = []
        stored: dict[int, int] = {}
        own = {id(argument): n for n, argument in enumerate(self.arguments)}
        for result in results:
            if id(result) in own:
                places.append(own[id(result)])
                continue
            value = result.read()
            # One array returned twice stays one; two equal arrays stay two, as in numpy.
            if id(result) not in stored:
                type_ = MemRefType(builtin_element(result.dtype), folded_shape(result.shape))
                dest = append_argument(self.function, type_, OUTPUT, "out")
                store = self.builder.insert(nd.StoreOp(value, dest))
                store.location = value.owner.location if isinstance(value.owner, Operation) else self.function.location
                stored[id(result)] = len(self.function.body.block.args) - 1
                if result.ndim > 2:
                    self.stacks[stored[id(result)]] = result.shape
            places.append(stored[id(result)])
        self.builder.insert(func.ReturnOp()).location = self.function.location
        return places


class Tracer:
    """A stand-in for a numpy array: an argument of the kernel, or a value it computed."""

    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        trace: Trace,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        argument: int | None = None,
        value: SSAValue | None = None,
        transpose_of: Tracer | None = None,
    ) -> None:
        self.trace = trace
        self.shape = shape
        self.dtype = dtype
        self.argument = argument
        self._value = value
        self._transpose_of = transpose_of
        self._where = caller_location() if transpose_of is not None else None

    # -- what it knows ----------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise unsupported("len() of a number", hint="numpy has none either; its shape is ()")
        return self.shape[0]

    @property
    def stack_of_transposes(self) -> Tracer | None:
        """The stack of which this one has the transposes, for which the IR has no operation."""
        return self._transpose_of if self.ndim > 2 else None

    def read(self) -> SSAValue:
        """Its present contents as a tensor."""
        if self._transpose_of is not None and self.ndim > 2:
            raise UnsupportedError(
                "the transposes of a stack of matrices are supported as an operand of a matmul only",
                where=self._where,
                operands=describe(self),
                rule="transposes",
                hint="transpose an argument before the call",
            )
        if self._transpose_of is not None:
            return self.trace.transposed(self._transpose_of.read(), self._where)
        if self.argument is not None:
            return self.trace.load(self.argument)
        if self._value is None:
            raise self.trace.collected()
        return self._value

    @property
    def unknown(self) -> bool:
        """Whether it stands for what an operation that is not supported would have given."""
        return self.argument is None and self._value is None and self._transpose_of is None

    def replace(self, value: SSAValue) -> None:
        """Give an array new contents, as an in-place operation does."""
        if self.stack_of_transposes is not None:
            raise unsupported(
                "assigning into the transposes of a stack of matrices", hint="assign into the stack", rule="assignment"
            )
        if self._transpose_of is not None:
            self._transpose_of.replace(self.trace.transposed(value, self._where))
        elif self.argument is not None:
            dest = self.trace.written(self.argument)
            self.trace.emit(nd.StoreOp(value, dest))
        else:
            self._value = value

    # -- what numpy does with it ------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from ptoc.functions import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ptoc.functions import apply_function

        return apply_function(function, args, kwargs)

    @property
    def T(self) -> Tracer:
        """The transpose, a view: what is written to either is seen in both."""
        if self.ndim > 2:
            raise unsupported(
                f"reversing the axes of {describe(self)}", hint="x.mT transposes each matrix", rule="transposes"
            )
        return self if self.ndim < 2 else self.mT

    @property
    def mT(self) -> Tracer:
        """The transpose, or that of each matrix of a stack."""
        if self.ndim < 2:
            raise unsupported(
                f"the matrix transpose of {describe(self)}", hint="it takes two dimensions or more", rule="transposes"
            )
        if self._transpose_of is not None:
            return self._transpose_of
        shape = (*self.shape[:-2], self.shape[-1], self.shape[-2])
        return Tracer(self.trace, shape, self.dtype, transpose_of=self)

    def transpose(self, *axes: Any) -> Tracer:
        from ptoc.functions import transpose

        with about("transposes", self):
            return transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Tracer:
        from ptoc.functions import swapaxes

        with about("transposes", self):
            return swapaxes(self, axis1, axis2)

    def astype(self, dtype: npt.DTypeLike, *args: Any, **kwargs: Any) -> Tracer:
        from ptoc.functions import astype

        with about("conversions", self):
            return astype(self, dtype)

    def clip(self, *args: Any, **kwargs: Any) -> Any:
        return np.clip(self, *args, **kwargs)  # type: ignore[call-overload]

    def round(self, decimals: int = 0) -> Any:
        return np.round(self, decimals)  # type: ignore[call-overload]

    def max(self, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        return np.max(self, axis=axis, out=out, **kwargs)  # type: ignore[call-overload]

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        from ptoc.functions import reshape

        with about("maxima", self):
            return reshape(self, shape[0] if len(shape) == 1 else shape, order)

    def copy(self, order: str = "C") -> Tracer:
        return self.trace.tracer(self.read(), self.dtype)

    def __copy__(self) -> Tracer:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self.copy()

    def dot(self, other: Any) -> Any:
        return np.dot(self, other)  # type: ignore[arg-type]

    def __getitem__(self, key: Any) -> Any:
        from ptoc.functions import getitem

        with about("indexing", self, *(x for x in (key,) if isinstance(x, Tracer))):
            return getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from ptoc.functions import setitem

        with about("assignment", self, *(x for x in (key, value) if isinstance(x, Tracer))):
            setitem(self, key, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ and name != "_value":
            raise unsupported(
                f"assigning to the {name} of {describe(self)}", hint="an array keeps both", rule="assignment"
            )
        super().__setattr__(name, value)

    # -- what a kernel cannot ask -----------------------------------------------------------------

    def __bool__(self) -> NoReturn:
        raise unsupported(
            f"a Python condition on the contents of {describe(self)}",
            hint="select element by element with np.where(mask, a, b); `m and n` is np.where(m, n, False)",
            rule="control-flow",
        )

    def __delitem__(self, key: Any) -> NoReturn:
        raise unsupported(
            f"deleting elements of {describe(self)}", hint="an array keeps its shape and dtype", rule="assignment"
        )

    def __iter__(self) -> NoReturn:
        raise unsupported(
            f"iterating over {describe(self)}",
            hint="use whole-array expressions; a loop over range(x.shape[0]) is run while tracing",
            rule="control-flow",
        )

    def _no_number(self) -> NoReturn:
        raise unsupported(
            f"using an element of {describe(self)} as a Python number",
            hint="use whole-array expressions; contents are not known while a kernel is traced",
            rule="control-flow",
        )

    __int__ = __float__ = __index__ = __complex__ = __round__ = __trunc__ = _no_number

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise unsupported(
            f"a numpy function that asks for the contents of {describe(self)}",
            hint="only the functions listed in the README can be traced",
            rule="control-flow",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"an array has no attribute {name!r}")
        raise unsupported(f"ndarray.{name} of {describe(self)}")

    def __repr__(self) -> str:
        return f"<traced array {'x'.join(map(str, self.shape))} {self.dtype}>"


def _binary(
    ufunc: np.ufunc,
) -> tuple[Callable[[Tracer, Any], Any], Callable[[Tracer, Any], Any], Callable[[Tracer, Any], Any]]:
    def forward(self: Tracer, other: Any) -> Any:
        return ufunc(self, other)

    def reflected(self: Tracer, other: Any) -> Any:
        return ufunc(other, self)

    def in_place(self: Tracer, other: Any) -> Any:
        from ptoc.functions import update

        # A result without dimensions is a scalar in numpy: the name gets another one.
        return update(self, ufunc(self, other)) if self.ndim else ufunc(self, other)

    return forward, reflected, in_place


OPERATORS: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "divmod": np.divmod,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
for _name, _ufunc in OPERATORS.items():
    for _prefix, _method in zip(("", "r", "i"), _binary(_ufunc)):
        setattr(Tracer, f"__{_prefix}{_name}__", _method)
for _name, _ufunc in UFUNCS.items():
    setattr(Tracer, f"__{_name}__", _binary(_ufunc)[0])
for _name, _ufunc in {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}.items():
    setattr(Tracer, f"__{_name}__", lambda self, _ufunc=_ufunc: _ufunc(self))


ELSEWHERE = "compute it with numpy before or after the call; the README lists what a kernel may do"


def unsupported(what: str, *, hint: str | None = None, rule: str | None = None) -> UnsupportedError:
    """The error for something that kernels cannot do, at the line that asks for it."""
    message = f"{what} is not supported in a kernel"
    return UnsupportedError(message, where=caller_location(), rule=rule, hint=hint or ELSEWHERE)


def describe(*operands: Any) -> str:
    """Operands as errors show them: shapes and dtypes of arrays, numbers as they are written."""
    return " and ".join(map(_describe, operands))


def _describe(operand: Any) -> str:
    if isinstance(operand, Tracer | np.ndarray) and (isinstance(operand, Tracer) or operand.ndim):
        return f"{'x'.join(map(str, operand.shape)) or 'a single'} {operand.dtype}"
    number = operand is None or isinstance(operand, bool | int | float | complex | np.generic | np.ndarray)
    return repr(operand) if number else f"a {type(operand).__name__}"


@contextmanager
def about(rule: str, *operands: Any) -> Iterator[None]:
    """Around what may be refused: errors that do not say it name this rule and these operands, if any is an array."""
    try:
        yield
    except PtocError as error:
        arrays = any(isinstance(x, Tracer) for x in operands)
        named = rule if isinstance(error, UnsupportedError) else None
        error.complete(rule=named, operands=describe(*operands) if arrays else None)
        raise
