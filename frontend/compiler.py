"""From a function and array specifications to a program: trace, three stages, encode."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, i1
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import ParseError, VerifyException

from ptoc.arrays import ArraySpec, Placement
from ptoc.backend.encoder import encode
from ptoc.backend.lowering import statements
from ptoc.definition import Definition, widened
from ptoc.dialects import make_context, nd
from ptoc.dialects.attributes import dtype_of
from ptoc.dialects.parsing import MisplacedIr, parse_module, place_of_error, source_of, verify
from ptoc.errors import ArgumentError, CompileError, InputError, PtocError, SourceLocation, UnsupportedError, kind_of
from ptoc.functions import Groups, MaskedView
from ptoc.passes.arguments import INOUT, INPUT, OUTPUT, argument_kinds
from ptoc.passes.diagnostics import Diagnostic
from ptoc.passes.pipeline import STAGES, Observer, run_stage
from ptoc.passes.rewriting import the_function
from ptoc.program import Program, Results, spec_of_type
from ptoc.tracing import Trace, Tracer, describe

_SHOWN = "`ptoc compile --emit tile` shows the IR of a kernel"


def trace_kernel(
    function: Callable[..., Any],
    name: str,
    specs: Sequence[ArraySpec],
    names: Sequence[str],
    definition: Definition | None,
) -> tuple[Trace, Results]:
    """Run a kernel on stand-ins; the IR it wrote down, and where its results are.

    Arguments that lie column by column are first taken as transposes. Those of which something else than a matmul
    needs the elements are then placed as copies, and the kernel is run once more.
    """
    definition = definition or Definition(None)
    places = [spec.placement for spec in specs]
    if Placement.TRANSPOSED in places:
        try:
            trace, results = _trace(function, name, specs, places, names, definition)
        except PtocError:
            by_column = set(range(len(places)))
        else:
            by_column = trace.visited_by_column()
            if not any(place is Placement.TRANSPOSED and n in by_column for n, place in enumerate(places)):
                return trace, results
        places = [
            Placement.COPIED if place is Placement.TRANSPOSED and n in by_column else place
            for n, place in enumerate(places)
        ]
    return _trace(function, name, specs, places, names, definition)


def _trace(
    function: Callable[..., Any],
    name: str,
    specs: Sequence[ArraySpec],
    places: Sequence[Placement],
    names: Sequence[str],
    definition: Definition,
) -> tuple[Trace, Results]:
    trace = Trace(name, specs, places, names, definition.line)
    try:
        returned = function(*trace.arguments)
    except RecursionError:
        raise UnsupportedError(
            "the kernel recurses without end",
            where=definition.name,
            rule="control-flow",
            hint="end the recursion by a condition on shapes or numbers",
        ) from None
    except PtocError as error:
        raise trace.collected(error) from None
    except Exception:
        if trace.errors:
            # What Python found wrong may follow from a stand-in.
            raise trace.collected() from None
        raise
    if trace.errors:
        raise trace.collected()
    if returned is None:
        return trace, Results("none", trace.finish([]))
    form = type(returned).__name__ if type(returned) in (tuple, list) else "single"
    values = list(returned) if form != "single" else [returned]
    for value in values:
        if isinstance(value, MaskedView):
            raise UnsupportedError(
                "the kernel returns src[mask], whose size depends on the data",
                where=definition.result,
                operands=describe(value.source),
                rule="results",
                hint="return np.where(mask, src, other)",
            )
        if isinstance(value, Groups):
            raise UnsupportedError(
                "the kernel returns an array of three dimensions",
                where=definition.result,
                operands=f"{'x'.join(map(str, value.shape))} {value.dtype}",
                rule="results",
                hint="return the sums as they are, or maxima of groups: sums.reshape(m, n // g, g).max(axis=2)",
            )
        if not isinstance(value, Tracer):
            raise UnsupportedError(
                f"the kernel returns {kind_of(value)}",
                where=definition.result,
                rule="outside-arrays" if isinstance(value, np.ndarray) else "results",
                hint="return arrays that the kernel computes, or nothing",
            )
    return trace, Results(form, trace.finish(values), trace.stacks)


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection meanwhile: the IR is large, full of cycles and alive, and searching it finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_no_collection()
def compile_kernel(
    function: Callable[..., Any],
    name: str,
    specs: Sequence[ArraySpec],
    names: Sequence[str],
    definition: Definition | None,
    isa: str | None = None,
    observer: Observer | None = None,
) -> Program:
    """Compile a kernel for arrays of these specifications and a revision of the ISA (``None``: the newest).

    ``observer`` sees the module after each pass.
    """
    definition = definition or Definition(None)
    trace, results = trace_kernel(function, name, specs, names, definition)
    module = trace.module
    try:
        module.verify()
        modules, kinds, types = _lowered(module, tuple(STAGES), observer)
    except Diagnostic as diagnostic:
        raise _user_error(diagnostic, trace) from None
    except VerifyException as error:
        raise CompileError(
            f"the compiler produced IR that does not verify: {error}",
            where=definition.name,
            hint="please report this kernel",
        ) from None
    if os.environ.get("PTOC_CHECK") == "1":
        _check(modules["nd"], modules["pto"])
    listing = statements(module, isa)
    return Program(
        name,
        tuple(specs),
        tuple(trace.places),
        tuple(names),
        tuple(kinds),
        tuple(types),
        results,
        modules,
        listing,
        encode(listing),
        definition,
    )


def _lowered(
    module: ModuleOp, stages: Sequence[str], observer: Observer | None
) -> tuple[dict[str, ModuleOp], list[str], list[Attribute]]:
    """The module as every stage leaves it; and the arrays that a launch has, which the ``nd`` stage may add to."""
    context, modules = make_context(), {}
    for stage in stages:
        if stage == "pto":
            function = the_function(module)
            kinds = argument_kinds(function)
            types = [a.type for a in function.body.block.args]
        run_stage(context, module, stage, observer)
        modules[stage] = module.clone()
    return modules, kinds, types


def compile_ir(text: str, isa: str | None = None, *, file: str = "<ir>") -> Program:
    """Compile the text of a module with one function in ``nd`` or ``tile`` IR, as ``compile_module`` does.

    Errors, the faults of its runs among them, name the lines of ``text`` as those of ``file``. ``InputError`` also for
    text that is no such IR, ``ArgumentError`` for what is no text.
    """
    if not isinstance(text, str):
        hint = "give the text of a module, or a module to ptoc.compiler.compile_module"
        raise ArgumentError(f"ptoc.compile_ir takes text, not {type(text).__name__}", rule="ir", hint=hint)
    try:
        return compile_module(parse_module(make_context(), text, file), isa)
    except ParseError as error:
        where = _location(place_of_error(error))
        raise _of_text(text, InputError(error.msg, where=where, rule="ir", hint=_SHOWN)) from None
    except MisplacedIr as error:
        raise _of_text(text, InputError(str(error), where=_location(error.where), rule="ir", hint=_SHOWN)) from None
    except InputError as error:
        raise _of_text(text, error) from None


def _of_text(text: str, error: InputError) -> InputError:
    """An error whose place is in ``text``, with the line."""
    lines = text.splitlines()
    if error.where is not None and error.where.line <= len(lines):
        error.where = replace(error.where, text=lines[error.where.line - 1])
    return error


def compile_module(module: ModuleOp, isa: str | None = None) -> Program:
    """Compile a module with one function in ``nd`` or ``tile`` IR, which is left alone.

    The function's arguments are the arrays of a launch; ``ptoc.kind`` says what each is for (``docs/abi.md``), an input
    without it. ``Program.run`` takes those of kind ``input`` and ``inout``, which come first, and returns a tuple of
    the outputs. ``InputError`` for a module that has no such function, or that a pass refuses.
    """
    module = module.clone()
    try:
        function = the_function(module)
        verify(module)
        high = any(op.name.startswith("nd.") for op in function.walk())
        given = argument_kinds(function)
        callers = [kind in (INPUT, INOUT) for kind in given]
        if callers != sorted(callers, reverse=True):
            what, hint = "an input comes behind an output", "inputs and inouts come first"
            raise InputError(what, where=_location(source_of(function)), rule="ir", hint=hint)
        for number, arg in enumerate(function.body.block.args):
            if not isinstance(arg.type, MemRefType):
                what, where = f"argument {number} is {arg.type}", _location(source_of(function))
                raise InputError(what, where=where, rule="ir", hint="arguments are memrefs")
        count = sum(callers)
        own = function.body.block.args[:count]
        names = [arg.name_hint or f"arg{n}" for n, arg in enumerate(own)]
        specs = [spec_of_type(arg.type) for arg in own]
        name = function.sym_name.data
        stages = tuple(STAGES) if high else tuple(STAGES)[1:]
        modules, kinds, types = _lowered(module, stages, None)
    except Diagnostic as diagnostic:
        raise InputError(
            diagnostic.message,
            where=_location(diagnostic.where),
            rule=diagnostic.rule or "ir",
            hint=diagnostic.hint or _SHOWN,
        ) from None
    except VerifyException as error:
        where = _location(error.where) if isinstance(error, MisplacedIr) else None
        raise InputError(f"the IR does not verify: {error}", where=where, rule="ir", hint=_SHOWN) from None
    listing = statements(module, isa)
    outputs = [n for n, kind in enumerate(kinds) if kind == OUTPUT]
    places = (Placement.ROWS,) * count
    results = Results("tuple" if outputs else "none", outputs)
    return Program(
        name,
        tuple(specs),
        places,
        tuple(names),
        tuple(kinds),
        tuple(types),
        results,
        modules,
        listing,
        encode(listing),
        written=True,
    )


def _check(kernel: ModuleOp, program: ModuleOp) -> None:
    """``CompileError`` when the program does not do what the kernel demands."""
    from ptoc.passes.check_values import WrongProgram, check_values

    try:
        check_values(kernel, program)
    except WrongProgram as wrong:
        raise CompileError(
            f"the compiler produced a wrong program: {wrong}",
            bundle=wrong.bundle,
            where=widened(_location(wrong.where)),
            hint="please report this kernel",
        ) from None


def _user_error(diagnostic: Diagnostic, trace: Trace) -> PtocError:
    op = diagnostic.op
    error = UnsupportedError(
        diagnostic.message,
        where=(trace.places_of.get(op) if op is not None else None) or widened(_location(diagnostic.where)),
        operands=None if op is None else _operands(op, trace) or None,
        rule=diagnostic.rule,
        hint=diagnostic.hint,
    )
    error.others = tuple(_user_error(other, trace) for other in diagnostic.others)
    return error


def _operands(op: Operation, trace: Trace) -> str:
    """The tensors that an operation takes, as the kernel sees them; numbers stand in the message."""
    return " and ".join(
        f"{'x'.join(map(str, trace.shapes.get(value, value.type.get_shape()))) or 'a single'} {_dtype(value.type)}"
        for value in op.operands
        if isinstance(value.type, TensorType) and not isinstance(value.owner, nd.SplatOp)
    )


def _dtype(type_: TensorType) -> np.dtype[Any]:
    return np.dtype(bool) if type_.element_type == i1 else dtype_of(type_.element_type).numpy


def _location(place: tuple[str, int, int] | None) -> SourceLocation | None:
    return None if place is None else SourceLocation(place[0], place[1], place[2] or None)
