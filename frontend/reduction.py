"""The smallest kernel and arrays for which a program is still wrong, as a script.

A kernel is shrunk as its traced ``nd`` IR: operations are left out, arrays are cut, elements become zero, as long as
the outcome stays wrong. What is left is written as numpy again (``source_of``), which traces to the same IR.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp
from xdsl.rewriter import Rewriter

from ptoc.arrays import copy_with_strides, in_memory
from ptoc.compiler import trace_kernel
from ptoc.dialects import nd
from ptoc.errors import ArgumentError, CompileError, ProgramFault, PtocError
from ptoc.kernel import Call, Kernel, jit
from ptoc.passes.rewriting import erase_dead, the_function
from ptoc.untracing import compiled, dtype_text, names_of, source_of
from ptoc.validation import validate

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]

_FEW = 128
"""Indices of which single ones are left out."""

_MOST_MATRICES = 64
"""Matrices of a stack that are tried."""

_SMALL = (1, 2, 3, 5, 8)
"""Extents to try first."""

WRITES = (nd.StoreOp, nd.MaskedStoreOp, nd.ScatterOp)


@dataclass(frozen=True)
class Case:
    """A kernel as traced ``nd`` IR, with arrays for its arguments."""

    module: ModuleOp
    arrays: tuple[Array, ...]

    @property
    def operations(self) -> int:
        """What there is to do besides loading and storing whole arrays."""
        quiet = (nd.LoadOp, nd.StoreOp, nd.SplatOp, nd.BroadcastOp, func.ReturnOp)
        return sum(not isinstance(op, quiet) for op in the_function(self.module).body.block.ops)

    def source(self) -> str:
        """The kernel as Python."""
        return source_of(self.module)

    def kernel(self) -> Any:
        """The kernel as a function."""
        return compiled(self.source())

    def script(self) -> str:
        """A program that shows what is wrong."""
        names = names_of(the_function(self.module))
        lines = [
            '"""The smallest case that ptoc.validate still calls wrong; the exit code is 1 as long as it is."""',
            "",
            "import numpy as np",
            "",
            "import ptoc",
            "",
            "",
            self.source().rstrip("\n"),
            "",
            "",
            *(line for name, array in zip(names, self.arrays) for line in _array_lines(name, array)),
            "try:",
            f"    report = ptoc.validate(kernel, {', '.join(names)})",
            "except ptoc.PtocError as error:",
            "    raise SystemExit(str(error))",
            "print(report)",
            "raise SystemExit(not report.ok)",
        ]
        text = "\n".join(lines) + "\n"
        return text.replace("import numpy", "import ml_dtypes\nimport numpy", 1) if "ml_dtypes." in text else text


def reduce(kernel: Any, *args: Any, **kwargs: Any) -> Case:
    """The smallest case that can be found of a kernel that is wrong for some arguments, which are left alone.

    It is wrong in the same way: a fault stays a fault, a wrong result a wrong result. Of stacks of matrices one matrix
    each is left. ``ArgumentError`` for a kernel that is not wrong, or is not any more when its traced IR is written as
    numpy, or when it works on single matrices.
    """
    if not isinstance(kernel, Kernel):
        kernel = jit(kernel)
    call = kernel.bind(args, kwargs)
    trace, _ = trace_kernel(call.apply, kernel.name, call.specs(), call.names, kernel.definition)
    if trace.shapes:
        return reduce(kernel, *_one_of_each(kernel, call))
    case = Case(trace.module, tuple(copy_with_strides(each) for each in map(in_memory, call.arrays, trace.places)))
    kind = fault_of(Kernel(case.kernel(), kernel.target), case.arrays)
    if kind is None:
        raise _nothing_to_reduce(kernel, call, "is not wrong for these arguments")

    def wrong(candidate: Case) -> bool:
        return fault_of(Kernel(candidate.kernel(), kernel.target), candidate.arrays) == kind

    case = _small(_dense(case, wrong), wrong)
    while True:
        size = _weight(case)
        for shrink in (_fewer_operations, _smaller_arrays, _simpler_data):
            case = shrink(case, wrong)
        if _weight(case) == size:
            return case


def _one_of_each(kernel: Kernel, call: Call) -> tuple[Array, ...]:
    """One matrix of each stack, such that the kernel is wrong in the same way."""
    kind = fault_of(kernel, call.arrays)
    if kind is None:
        raise _nothing_to_reduce(kernel, call, "is not wrong for these arguments")
    stacks = np.broadcast_shapes(*(each.shape[:-2] for each in call.arrays))
    for place in itertools.islice(np.ndindex(stacks), _MOST_MATRICES):
        chosen = tuple(_matrix(each, place) for each in call.arrays)
        if fault_of(kernel, chosen) == kind:
            return chosen
    raise _nothing_to_reduce(kernel, call, "is right for every single matrix of its stacks")


def _nothing_to_reduce(kernel: Kernel, call: Call, reason: str) -> ArgumentError:
    return ArgumentError(
        f"{kernel.name} {reason}, so there is nothing to reduce",
        where=kernel.definition.name,
        operands=" and ".join(map(str, call.specs())),
        rule="reduction",
        hint="ptoc.validate says whether a kernel is wrong",
    )


def _matrix(stack: Array, place: Sequence[int]) -> Array:
    """The matrix that broadcasting brings to a place of the stacks."""
    axes = stack.shape[:-2]
    own = place[len(place) - len(axes) :]
    return stack[tuple(n if extent > 1 else 0 for n, extent in zip(own, axes))]


def fault_of(kernel: Any, arrays: Sequence[Array]) -> str | None:
    """In what way a kernel is wrong; ``None`` for one that is right, or is refused."""
    try:
        return None if validate(kernel, *arrays).ok else "result"
    except ProgramFault as error:
        return f"fault {error.kind}".split(" at ")[0]
    except CompileError:
        return "compiler"
    except PtocError:
        return None
    except Exception as error:
        return type(error).__name__


def _weight(case: Case) -> tuple[int, int, int]:
    return case.operations, sum(a.size for a in case.arrays), sum(int(np.count_nonzero(a)) for a in case.arrays)


def _dense(case: Case, wrong: Judge) -> Case:
    """The same with arrays whose rows follow each other, if that is wrong too."""
    dense = Case(case.module, tuple(np.ascontiguousarray(each) for each in case.arrays))
    return dense if wrong(dense) else case


Judge = Callable[[Case], bool]
"""Whether a case is wrong in the way that counts."""


# -- operations -------------------------------------------------------------------------------------


def _fewer_operations(case: Case, wrong: Judge) -> Case:
    """One operation less at a time, the last ones first."""
    while True:
        candidates = (make() for make in _without_one(case))
        smaller = next((each for each in candidates if each is not None and wrong(each)), None)
        if smaller is None:
            return case
        case = smaller


def _without_one(case: Case) -> Iterator[Callable[[], Case | None]]:
    ops = list(the_function(case.module).body.block.ops)
    for number, op in reversed(list(enumerate(ops))):
        if isinstance(op, WRITES):
            yield partial(_erased, case, number, None)
        for operand in range(len(op.operands) if op.results else 0):
            if op.operands[operand].type == op.results[0].type:
                yield partial(_erased, case, number, operand)


def _erased(case: Case, number: int, operand: int | None) -> Case | None:
    """The case without an operation: a write is left out, a value is replaced by one of its operands."""
    module = case.module.clone()
    function = the_function(module)
    block = function.body.block
    op = list(block.ops)[number]
    if operand is not None:
        op.results[0].replace_all_uses_with(op.operands[operand])
    Rewriter.erase_op(op)
    erase_dead(block)
    return _without_idle_arguments(Case(module, case.arrays))


def _without_idle_arguments(case: Case) -> Case | None:
    """Without arguments that nothing uses; ``None`` when nothing is written any more."""
    function = the_function(case.module)
    block = function.body.block
    if not any(isinstance(op, WRITES) for op in block.ops):
        return None
    used = [bool(list(arg.uses)) for arg in block.args]
    attrs = function.arg_attrs
    assert attrs is not None
    function.properties["arg_attrs"] = ArrayAttr([a for a, keep in zip(attrs, used) if keep])
    arrays = tuple(a for a, keep in zip(case.arrays, used) if keep)
    for arg in reversed(block.args):
        if not list(arg.uses):
            block.erase_arg(arg)
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])
    return Case(case.module, arrays) if arrays else None


# -- arrays -----------------------------------------------------------------------------------------


def _smaller_arrays(case: Case, wrong: Judge) -> Case:
    """Extents that are equal shrink together: to little at once, else by runs of indices, at last single ones.

    Runs are tried only when an extent is small enough for that not to take long.
    """
    progress = True
    while progress:
        progress = False
        for extent in sorted({n for a in case.arrays for n in a.shape}, reverse=True):
            for kept in _choices(extent):
                cut = _cut(case, extent, kept)
                if cut is not None and wrong(cut):
                    case, progress = cut, True
                    break
    return case


def _small(case: Case, wrong: Judge) -> Case:
    """All extents cut to a few at once, with the data there is or with small numbers, if that is wrong too."""
    for count in _SMALL:
        cut: Case | None = case
        for extent in sorted({n for a in case.arrays for n in a.shape}):
            if cut is not None and extent > count:
                cut = _cut(cut, extent, np.arange(count))
        for each in (cut, None if cut is None else _varied(cut)):
            if each is not None and wrong(each):
                return each
    return case


def _varied(case: Case) -> Case:
    """The case with small numbers instead of its own; displacements stay."""
    kept = {places for places, _ in _scatters(case.module)}
    for number, array in enumerate(case.arrays):
        if number not in kept:
            values = (7 * np.arange(array.size) + 3 * number) % 5 - (0 if array.dtype.kind in "ub" else 2)
            case = _with_array(case, number, values.reshape(array.shape).astype(array.dtype))
    return case


def _choices(extent: int) -> Iterator[Indices]:
    """Indices to keep, the fewest first."""
    everything = np.arange(extent)
    for count in sorted({1, 2, 7, extent // 4, extent // 2, extent * 3 // 4, extent - 8, extent - 1}):
        if 1 <= count < extent:
            yield everything[:count]
            yield everything[-count:]
    run = extent // 4 if extent <= _FEW else 0
    while run:
        for first in range(0, extent, run):
            yield np.delete(everything, slice(first, first + run))
        run //= 2


def _cut(case: Case, extent: int, kept: Indices) -> Case | None:
    """All axes of one extent cut to some indices, in arrays and in constant rows; ``None`` when that is no kernel."""
    arrays = []
    for array in case.arrays:
        indices = [kept if n == extent else np.arange(n) for n in array.shape]
        arrays.append(_with_strides_of(array, array[np.ix_(*indices)]))
    for places, dest in _scatters(case.module):
        if dest < len(arrays) and places < len(arrays):
            # Displacements into what is no more would be another mistake.
            numbers = np.arange(arrays[places].size) % arrays[dest].size * arrays[dest].itemsize
            arrays[places] = numbers.reshape(arrays[places].shape).astype(arrays[places].dtype)
    source = source_of(case.module, {extent: kept})
    try:
        call: Call = Kernel(compiled(source)).bind(tuple(arrays), {})
        trace, _ = trace_kernel(call.apply, "kernel", call.specs(), call.names, None)
    except (PtocError, ValueError, TypeError):
        return None
    return Case(trace.module, tuple(arrays))


def _with_strides_of(array: Array, values: Array) -> Array:
    """A copy of ``values`` whose rows are as far apart as those of an array that has longer ones."""
    if array.flags.c_contiguous:
        return values
    if array.strides[0] == 0:
        return np.broadcast_to(values[:1], values.shape)
    copy: Array = np.zeros((len(values), array.strides[0] // array.itemsize), array.dtype)[:, : values.shape[1]]
    copy[...] = values
    return copy


def _scatters(module: ModuleOp) -> Iterator[tuple[int, int]]:
    """The arguments of displacements and of destinations that meet in a scatter."""
    block = the_function(module).body.block
    for op in block.ops:
        if isinstance(op, nd.ScatterOp) and isinstance(op.displacements.owner, nd.LoadOp):
            yield block.args.index(op.displacements.owner.source), block.args.index(op.dest)


# -- data -------------------------------------------------------------------------------------------


def _simpler_data(case: Case, wrong: Judge) -> Case:
    """Whole arrays of ones or small numbers, then zeros for runs of elements, half as long each time."""
    for number, array in enumerate(case.arrays):
        for simple in _simple(array):
            other = _with_array(case, number, simple)
            if _simpler(simple, case.arrays[number]) and wrong(other):
                case = other
                break
        run = array.size
        while run:
            for first in range(0, array.size, run):
                current = case.arrays[number]
                flat = current.copy().reshape(-1)
                if not np.count_nonzero(flat[first : first + run]):
                    continue
                flat[first : first + run] = 0
                other = _with_array(case, number, flat.reshape(current.shape))
                if wrong(other):
                    case = other
            run //= 2
            if array.size > 4096:
                break
    return case


def _simple(array: Array) -> Iterator[Array]:
    yield np.zeros_like(array)
    yield np.ones_like(array)
    small = (np.arange(array.size) % 5 - (2 if array.dtype.kind not in "ub" else 0)).reshape(array.shape)
    yield small.astype(array.dtype)


def _simpler(new: Array, old: Array) -> bool:
    """Fewer elements that are no small whole numbers, or fewer that are not zero."""

    def weight(x: Array) -> tuple[int, int]:
        numbers = x.astype(np.float64)
        with np.errstate(invalid="ignore"):
            plain = (np.abs(numbers) <= 4) & (numbers == np.rint(numbers))
        return int((~plain).sum()), int(np.count_nonzero(x))

    return weight(new) < weight(old)


def _with_array(case: Case, number: int, values: Array) -> Case:
    array = copy_with_strides(case.arrays[number])
    array[...] = values
    return Case(case.module, (*case.arrays[:number], array, *case.arrays[number + 1 :]))


# -- the script -------------------------------------------------------------------------------------


def _array_lines(name: str, array: Array) -> Iterator[str]:
    """Statements that make an array, with its strides."""
    dtype = dtype_text(array.dtype)
    numbers = array.astype(np.float64) if array.dtype.kind not in "iub" else array
    text = np.array2string(numbers, separator=", ", threshold=array.size + 1, max_line_width=110, floatmode="unique")
    text = text.replace("nan", "np.nan").replace("inf", "np.inf")
    if array.flags.c_contiguous:
        yield f"{name} = np.array({text}, {dtype})"
        return
    row = array.strides[0] // array.itemsize
    if row == 0:
        yield f"{name} = np.broadcast_to(np.array({text}, {dtype})[:1], {array.shape})"
        return
    yield f"{name} = np.zeros(({array.shape[0]}, {row}), {dtype})[:, :{array.shape[1]}]"
    yield f"{name}[...] = {text}"
