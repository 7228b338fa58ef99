"""Switching a check off: the simulator once more, with one condition of its source never true.

The copy is made by importing ``ptoc.runtime`` again with a changed syntax tree, so normal runs pay nothing and no
check is written with this in mind.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import ptoc.isa.revisions as revisions
import ptoc.runtime
from ptoc.isa.instruction_set import InstructionSet

RUNTIME = Path(ptoc.runtime.__file__).parent
ROOT = "ptoc.runtime"
RunCase = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Switch:
    """A condition in a function of ``ptoc.runtime``, as ``ast.unparse`` writes it, and what it is taken to be.

    ``function`` is a qualified name without the ``<locals>``: ``Memory.probe``, ``_hint.step``.
    """

    module: str
    function: str
    condition: str
    value: bool = False


@dataclass(frozen=True)
class AnyValue:
    """A field of an instruction form that then takes every value."""

    form: str
    field: str


Off = Switch | AnyValue


@contextmanager
def without(offs: Sequence[Off]) -> Iterator[RunCase]:
    """``run_case`` of a simulator in which these checks do not exist."""
    saved = {name: module for name, module in sys.modules.items() if name == ROOT or name.startswith(ROOT + ".")}
    lookup, package = revisions.instruction_set, sys.modules["ptoc"]
    finder = _Finder([off for off in offs if isinstance(off, Switch)])
    for name in saved:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        revisions.instruction_set = _widened([off for off in offs if isinstance(off, AnyValue)])
        yield importlib.import_module(f"{ROOT}.conformance").run_case
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name == ROOT or name.startswith(ROOT + ".")]:
            del sys.modules[name]
        sys.modules.update(saved)
        package.runtime = saved[ROOT]  # type: ignore[attr-defined]
        revisions.instruction_set = lookup


def _widened(offs: Sequence[AnyValue]) -> Callable[[str | None], InstructionSet]:
    """The look-up of instruction sets, some fields of which take every value."""
    lookup = revisions.instruction_set
    if not offs:
        return lookup

    def changed(name: str | None = None) -> InstructionSet:
        base = lookup(name)
        forms = []
        for off in offs:
            form = base.by_key[off.form]
            fields = tuple(replace(f, allowed=None) if f.name == off.field else f for f in form.fields)
            if fields == form.fields:
                raise LookupError(f"{off} limits nothing")
            forms.append(replace(form, fields=fields))
        return base.revised(base.name, forms=forms)

    return changed


class _Finder(MetaPathFinder):
    """Finds the modules that hold switched conditions."""

    def __init__(self, switches: Sequence[Switch]) -> None:
        self._switches = switches

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        mine = [s for s in self._switches if f"{ROOT}.{s.module}" == fullname]
        if not mine:
            return None
        file = source_file(mine[0].module)
        return spec_from_loader(fullname, _Changed(file, mine), origin=str(file), is_package=file.stem == "__init__")


class _Changed(Loader):
    def __init__(self, file: Path, switches: Sequence[Switch]) -> None:
        self._file, self._switches = file, switches

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._file)
        if self._file.stem == "__init__":
            module.__path__ = [str(self._file.parent)]
        tree = ast.parse(self._file.read_text(encoding="utf-8"))
        for switch in self._switches:
            transformer = _Switching(switch)
            tree = ast.fix_missing_locations(transformer.visit(tree))
            if transformer.found != 1:
                raise LookupError(f"{switch} stands in the source {transformer.found} times")
        exec(compile(tree, str(self._file), "exec"), module.__dict__)


class _Switching(ast.NodeTransformer):
    """Replaces a condition inside one function."""

    def __init__(self, switch: Switch) -> None:
        self.found = 0
        self._switch = switch
        self._where: list[str] = []

    def visit(self, node: ast.AST) -> Any:
        named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if named:
            self._where.append(node.name)  # type: ignore[attr-defined]
        try:
            inside = ".".join(self._where) == self._switch.function
            if inside and isinstance(node, ast.expr) and ast.unparse(node) == self._switch.condition:
                self.found += 1
                return ast.copy_location(ast.Constant(self._switch.value), node)
            return self.generic_visit(node)
        finally:
            if named:
                self._where.pop()


def source_file(module: str) -> Path:
    """The file of a module of ``ptoc.runtime``."""
    path = RUNTIME.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def faulting_conditions() -> Iterator[Switch]:
    """Every alternative of every condition that guards the raising of a fault, in order of the source."""
    for file in sorted(RUNTIME.rglob("*.py")):
        module = ".".join(file.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__")
        yield from _conditions(ast.parse(file.read_text(encoding="utf-8")), module, ())


def demanded_conditions() -> Iterator[Switch]:
    """Every condition that ``require`` is given, in order of the source; switched off it is true."""
    for file in sorted(RUNTIME.rglob("*.py")):
        module = ".".join(file.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__")
        yield from _demands(ast.parse(file.read_text(encoding="utf-8")), module, ())


def _demands(node: ast.AST, module: str, where: tuple[str, ...]) -> Iterator[Switch]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        where = (*where, node.name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
        yield Switch(module, ".".join(where), ast.unparse(node.args[0]), value=True)
    for child in ast.iter_child_nodes(node):
        yield from _demands(child, module, where)


def _conditions(node: ast.AST, module: str, where: tuple[str, ...]) -> Iterator[Switch]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        where = (*where, node.name)
    if isinstance(node, ast.If) and any(_raises_fault(statement) for statement in node.body):
        for atom in _alternatives(node.test):
            yield Switch(module, ".".join(where), ast.unparse(atom))
    for child in ast.iter_child_nodes(node):
        yield from _conditions(child, module, where)


def _raises_fault(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Raise) or not isinstance(statement.exc, ast.Call):
        return False
    called = statement.exc.func
    return isinstance(called, ast.Name) and called.id in ("Fault", "AccessFault", "UndefinedRead", "WaitForShared")


def _alternatives(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        for value in test.values:
            yield from _alternatives(value)
    else:
        yield test
