"""``FILE.py[:kernel]`` on the command line: import the file, choose the kernel, get its example inputs."""

from __future__ import annotations

import inspect
import linecache
import os.path
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NoReturn

from ptoc.cli.complaints import user_code
from ptoc.definition import Definition
from ptoc.errors import InputError, SourceLocation, kind_of
from ptoc.kernel import Kernel

REFERENCE = "FILE.py[:kernel]"


@dataclass(frozen=True)
class Selection:
    """A kernel that the command line names, and the file it comes from."""

    file: str
    module: ModuleType
    name: str
    kernel: Kernel

    def on(self, cores: int) -> Kernel:
        """The kernel for a machine of so many cores."""
        return replace(self.kernel, target=replace(self.kernel.target, cores=cores))

    def inputs(self) -> tuple[Any, ...]:
        """Example arguments from the file's ``inputs()``; ``InputError`` when there are none for this kernel."""
        given = _call_inputs(self.file, self.module, self.name)
        if isinstance(given, Mapping):
            if self.name not in given:
                where = Definition(self.module.inputs).result
                _reject_inputs(self.file, f"has no arrays for {self.name}", where)
            given = given[self.name]
        if hasattr(given, "__array__"):
            return (given,)
        if not isinstance(given, tuple | list):
            where = Definition(self.module.inputs).result
            _reject_inputs(self.file, f"returns {kind_of(given)}", where)
        return tuple(given)


def select(reference: str) -> Selection:
    """The kernel that ``FILE.py[:kernel]`` names.

    Without a name it is the only kernel of the file, the one called like the file, or the only one that ``inputs()``
    has arrays for. Kernels that the file imports from elsewhere count only when it defines none itself.
    """
    file, wanted = _split(reference)
    if not os.path.isfile(file):
        what = f"{file} is a directory" if os.path.isdir(file) else f"there is no file {file}"
        raise InputError(what, rule="kernel-files", hint=f"name a Python file that has a kernel: {REFERENCE}")
    module = _load(file)
    kernels = {name: value for name, value in vars(module).items() if isinstance(value, Kernel)}
    if wanted is None:
        wanted = _choose(file, module, kernels)
    if wanted not in kernels:
        _reject_name(file, module, wanted, kernels)
    return Selection(file, module, wanted, kernels[wanted])


def _split(reference: str) -> tuple[str, str | None]:
    file, colon, name = reference.rpartition(":")
    if not colon or os.path.isfile(reference):
        return reference, None
    return file, name


def _load(file: str) -> ModuleType:
    """Run a file as a module that is not ``__main__``; modules beside it can be imported meanwhile."""
    module = ModuleType(f"ptoc_file_{os.path.splitext(os.path.basename(file))[0]}")
    module.__file__ = os.path.abspath(file)
    folder = os.path.dirname(module.__file__)
    with open(file, "rb") as stream:
        source = stream.read()
    linecache.checkcache(file)
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    try:
        with user_code(file):
            exec(_code(source, file), vars(module))
    finally:
        sys.path.remove(folder)
    return module


def _code(source: bytes, file: str) -> Any:
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except ValueError as error:
        if isinstance(error, SyntaxError):
            raise
        hint = f"name a Python file that has a kernel: {REFERENCE}"
        raise InputError(f"{file} is not Python source: {error}", rule="kernel-files", hint=hint) from None


def _choose(file: str, module: ModuleType, kernels: Mapping[str, Kernel]) -> str:
    own = [n for n, k in kernels.items() if k.function.__module__ == module.__name__] or list(kernels)
    if not own:
        hint = "decorate a function of numpy arrays with @ptoc.jit"
        raise InputError(f"{file} has no kernel", rule="kernel-files", hint=hint)
    if len(own) == 1:
        return own[0]
    stem = os.path.splitext(os.path.basename(file))[0]
    if stem in own:
        return stem
    with_inputs = _kernels_with_inputs(file, module)
    candidates = [name for name in own if name in with_inputs]
    if len(candidates) == 1:
        return candidates[0]
    hint = f"name one, as in {file}:{own[0]}"
    raise InputError(f"{file} has several kernels: {', '.join(own)}", rule="kernel-files", hint=hint)


def _kernels_with_inputs(file: str, module: ModuleType) -> set[str]:
    """The kernels that ``inputs()`` has arrays for, if it tells."""
    function = getattr(module, "inputs", None)
    if not callable(function) or _takes_name(function):
        return set()
    given = _call_inputs(file, module, "")
    return set(given) if isinstance(given, Mapping) else set()


def _call_inputs(file: str, module: ModuleType, kernel: str) -> Any:
    function = getattr(module, "inputs", None)
    if not callable(function):
        _reject_inputs(file, "is missing")
    required = [p.name for p in inspect.signature(function).parameters.values() if _is_required(p)]
    keywords = inspect.getfullargspec(function).kwonlyargs
    if len(required) > 1 or set(required) & set(keywords):
        _reject_inputs(file, f"has the parameters {', '.join(required)}", Definition(function).name)
    with user_code(file):
        return function(kernel) if _takes_name(function) else function()


def _is_required(parameter: inspect.Parameter) -> bool:
    star = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and not star


def _takes_name(function: Any) -> bool:
    """Whether ``inputs`` wants the kernel's name: its first parameter has no default, or is called ``kernel``."""
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and (_is_required(first) or first.name == "kernel")


def _reject_inputs(file: str, what: str, where: SourceLocation | None = None) -> NoReturn:
    raise InputError(
        f"the example inputs of {file}: inputs() {what}",
        where=where,
        rule="kernel-files",
        hint="define inputs(), or inputs(kernel) with the kernel's name, to return its arrays as a tuple,"
        " or {kernel name: arrays}",
    )


def _reject_name(file: str, module: ModuleType, wanted: str, kernels: Mapping[str, Kernel]) -> NoReturn:
    if callable(getattr(module, wanted, None)):
        raise InputError(
            f"{wanted} in {file} is not a kernel",
            where=Definition(getattr(module, wanted)).name,
            rule="kernel-files",
            hint="decorate it with @ptoc.jit",
        )
    names = f"its kernels are {', '.join(kernels)}" if kernels else "it has none; decorate a function with @ptoc.jit"
    raise InputError(f"{file} has no kernel called {wanted!r}", rule="kernel-files", hint=names)
