"""``ptoc.jit``: a numpy function that compiles itself for the arrays it is called with."""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, overload

from ptoc.arrays import ArraySpec, check_cores, spec_of
from ptoc.definition import Definition
from ptoc.errors import ArgumentError, PtocError, caller_location, kind_of

if TYPE_CHECKING:
    from ptoc.program import Program


@dataclass(frozen=True)
class Target:
    """The machine: a revision of the ISA (``None``: the newest that ptoc knows), and the number of its cores.

    A program is the same for any number of cores, and so are its results.
    """

    isa: str | None = None
    cores: int = 1

    def __post_init__(self) -> None:
        check_cores(self.cores)
        from ptoc.isa.revisions import RevisionError, instruction_set

        try:
            instruction_set(self.isa)
        except RevisionError as error:
            raise ArgumentError(str(error), rule="revisions", hint="leave isa out for the newest") from None


@dataclass(frozen=True)
class Call:
    """One call's arguments in the order of the parameters; the first ``positional`` are passed by position."""

    function: Callable[..., Any]
    arrays: tuple[Any, ...]
    names: tuple[str, ...]
    positional: int

    def specs(self) -> tuple[ArraySpec, ...]:
        """``ArgumentError`` when an argument is no array that a kernel can take."""
        return tuple(self._spec(array, name) for array, name in zip(self.arrays, self.names))

    def _spec(self, array: Any, name: str) -> ArraySpec:
        try:
            return spec_of(array, name)
        except ArgumentError as error:
            error.complete(where=Definition(self.function).parameter(name))
            raise

    def apply(self, *arrays: Any) -> Any:
        """The function itself, called as it was with other arguments."""
        by_name = dict(zip(self.names[self.positional :], arrays[self.positional :]))
        return self.function(*arrays[: self.positional], **by_name)


@dataclass
class Kernel:
    """A function that runs on the simulated machine when it is called.

    Calling it compiles for the shapes, strides and dtypes of the arguments (once; later calls find the program again)
    and runs the program. The plain numpy function stays reachable as ``function``.
    """

    function: Callable[..., Any]
    target: Target = field(default_factory=Target)
    options: Mapping[str, Any] = field(default_factory=dict)
    programs: dict[Hashable, Program] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.function)
        if not isinstance(self.target, Target):
            raise ArgumentError(
                f"the target of {self.name} is a {type(self.target).__name__}",
                where=self.definition.name,
                rule="cores",
                hint="give a ptoc.Target(isa=..., cores=...)",
            )
        if self.options:
            raise ArgumentError(
                f"no compile option is called {', '.join(map(repr, self.options))}",
                where=self.definition.name,
                rule="functions",
                hint="there are none so far: leave options out",
            )

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By its name, as functions are pickled; what is compiled stays behind."""
        module = sys.modules.get(getattr(self.function, "__module__", None) or "")
        name: str = getattr(self.function, "__qualname__", "")
        named = functools.reduce(lambda found, part: getattr(found, part, None), name.split("."), module)
        if named is self:
            return name
        if named is self.function:
            return Kernel, (self.function, self.target, dict(self.options))
        raise ArgumentError(
            f"{self.name} cannot be pickled: no module has it under its name",
            where=self.definition.name,
            rule="pickling",
            hint="define it at the top of a module",
        )

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self

    @property
    def name(self) -> str:
        name: str = getattr(self.function, "__name__", "")
        return name if name.isidentifier() else "kernel"

    @functools.cached_property
    def definition(self) -> Definition:
        """Where the kernel and its parameters are defined."""
        return Definition(self.function)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """The arguments of a call in the order of the parameters."""
        signature = inspect.signature(self.function)
        self._check_keywords(signature, kwargs)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            given = (*args, *kwargs.values())
            raise ArgumentError(
                f"{self.name}{signature}, given {len(given)} array{'s'[: len(given) != 1]}: {error}",
                where=self.definition.name,
                operands=" and ".join(map(_form, given)),
                hint="give one array for each parameter; for the command line inputs() returns them, or --spec does",
            ) from None
        bound.apply_defaults()
        arrays: list[Any] = []
        names: list[str] = []
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                arrays += value
                names += [f"{name}{n}" for n in range(len(value))]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                arrays += value.values()
                names += value.keys()
            else:
                arrays.append(value)
                names.append(name)
        return Call(self.function, tuple(arrays), tuple(names), len(bound.args))

    def _check_keywords(self, signature: inspect.Signature, kwargs: Mapping[str, Any]) -> None:
        """``ArgumentError`` for a keyword that is no parameter, which is told before anything that is missing."""
        kinds = {each.kind for each in signature.parameters.values()}
        unknown = next((name for name in kwargs if name not in signature.parameters), None)
        if unknown is None or inspect.Parameter.VAR_KEYWORD in kinds:
            return
        hint = f"its parameters are {', '.join(signature.parameters) or 'none'}"
        if close := difflib.get_close_matches(unknown, signature.parameters, 1):
            hint = f"did you mean {close[0]}?"
        if unknown in (each.name for each in fields(Target)):
            hint = f"the machine is the kernel's: @ptoc.jit(target=ptoc.Target({unknown}=...))"
        raise ArgumentError(
            f"{self.name}{signature} has no parameter called {unknown!r}", where=self.definition.name, hint=hint
        )

    def compile(self, *specs: ArraySpec, **named: ArraySpec) -> Program:
        """The program for arrays of these specifications, without data.

        Raises ``UnsupportedError``, ``ShapeError`` or ``CompileError`` at the kernel's line that cannot be compiled.
        """
        call = self.bind(specs, named)
        for each, name in zip(call.arrays, call.names):
            if not isinstance(each, ArraySpec):
                raise ArgumentError(
                    f"{name} is {kind_of(each)}, not a ptoc.spec(shape, dtype)",
                    where=self.definition.parameter(name),
                    hint="compile takes specifications of arrays; call the kernel with the arrays themselves",
                )
        return self._program(call, call.arrays)

    def _program(self, call: Call, specs: tuple[ArraySpec, ...]) -> Program:
        key = (specs, call.names, call.positional)
        program = self.programs.get(key)
        if program is None:
            from ptoc.compiler import compile_kernel

            program = compile_kernel(call.apply, self.name, specs, call.names, self.definition, self.target.isa)
            self.programs[key] = program
        return program

    def program_for(self, *args: Any, **kwargs: Any) -> Program:
        """The program that a call with these arrays runs."""
        call = self.bind(args, kwargs)
        return self._program(call, call.specs())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(_is_traced(value) for value in (*args, *kwargs.values())):
            # Called by another kernel, it becomes part of that one.
            return self.function(*args, **kwargs)
        call = self.bind(args, kwargs)
        specs = call.specs()
        if any(s.size == 0 for s in specs):
            return self._without_machine(call, specs)
        return self._program(call, specs).run(*call.arrays, cores=self.target.cores)

    def _without_machine(self, call: Call, specs: tuple[ArraySpec, ...]) -> Any:
        """numpy's answer where some array has no element; what a program would refuse is refused all the same."""
        from ptoc.compiler import trace_kernel
        from ptoc.launch import check_arguments
        from ptoc.passes.arguments import INOUT

        trace, _ = trace_kernel(call.apply, self.name, specs, call.names, self.definition)
        check_arguments(specs, trace.kinds, call.names, call.arrays, trace.module)
        written = [a for a, kind in zip(call.arrays, trace.kinds) if kind == INOUT]
        before = [a.copy() for a in written]
        try:
            return call.apply(*call.arrays)
        except PtocError:
            for array, old in zip(written, before):
                array[...] = old
            raise

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise ArgumentError(
            f"{self.name} is a method; ptoc compiles functions of arrays",
            where=self.definition.name,
            hint="decorate a function outside of the class, and call that from the method",
        )


def _form(array: object) -> str:
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    return type(array).__name__ if shape is None or dtype is None else f"{'x'.join(map(str, shape))} {dtype}"


KERNEL_FIRST = "give a ptoc.jit kernel, or a function, and then its arrays"


def _is_traced(value: object) -> bool:
    tracing = sys.modules.get("ptoc.tracing")
    return tracing is not None and isinstance(value, tracing.Tracer)


@overload
def jit(function: Callable[..., Any], /) -> Kernel: ...
@overload
def jit(
    *, target: Target | None = None, options: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., Any]], Kernel]: ...


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    target: Target | None = None,
    options: Mapping[str, Any] | None = None,
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function of numpy arrays; use as ``@ptoc.jit`` or ``@ptoc.jit(target=...)``.

    The function is traced: it runs once on stand-ins for its arrays, so Python control flow in it may depend on shapes
    and dtypes, not on contents. It may assign into its arguments, which updates the caller's arrays as numpy does,
    after the program has halted without a fault.
    """

    def wrap(wrapped: Callable[..., Any]) -> Kernel:
        if not callable(wrapped):
            raise ArgumentError(
                f"ptoc.jit takes a function, not {kind_of(wrapped)}",
                where=caller_location(),
                rule="functions",
                hint="write @ptoc.jit, or @ptoc.jit(target=ptoc.Target(cores=4)), above a function of arrays",
            )
        return Kernel(wrapped, Target() if target is None else target, {} if options is None else options)

    return wrap if function is None else wrap(function)
