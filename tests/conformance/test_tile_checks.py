"""Every check that operations without rules ask of ``require`` and the like is missed by some program when it is gone.

The programs are those of the tests of checks in ``tests/reference``, taken down while these run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from types import ModuleType
from typing import Any

import pytest
from reference import test_indexed_checks, test_layout_checks, test_sorting_checks

from conformance.cases import Own
from conformance.rule import RULES
from conformance.switches import RUNTIME, Switch, without

OPERATIONS = RUNTIME / "operations"
RULED = {off.module for rule in RULES for off in rule.offs if isinstance(off, Switch)}
MODULES = sorted(
    path.stem
    for path in OPERATIONS.glob("*.py")
    if "    require(" in path.read_text(encoding="utf-8") and f"operations.{path.stem}" not in RULED
)
CALLS = {"require", "check_bundle", "check_attributes", "check_transfer_registers", "reject_zero_dimensions"}


def switches(module: str) -> Iterator[Switch]:
    """The calls of a module of ``runtime.operations`` that check something."""

    def walk(node: ast.AST, where: tuple[str, ...]) -> Iterator[Switch]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                yield from walk(child, (*where, child.name))
                continue
            call = child.value if isinstance(child, ast.Expr) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in CALLS:
                yield Switch(f"operations.{module}", ".".join(where), ast.unparse(call))
            yield from walk(child, where)

    return walk(ast.parse((OPERATIONS / f"{module}.py").read_text(encoding="utf-8")), ())


def arguments(test: Any) -> Iterator[dict[str, Any]]:
    """What a test is called with."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    for values in product(*(mark.args[1] for mark in marks)):
        yield dict(zip((mark.args[0] for mark in marks), values))


def programs(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The programs of a test module that fault, with their faults."""
    found: dict[str, str] = {}

    def noted(text: str, ends: Any = module.ends) -> str | None:
        fault: str | None = ends(text)
        if fault is not None:
            found[text] = fault
        return fault

    monkeypatch.setattr(module, "ends", noted)
    for name, test in vars(module).items():
        if name.startswith("test_"):
            for given in arguments(test):
                test(**given)
    return found


@pytest.mark.slow
def test_every_check_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    faulting: dict[str, str] = {}
    for module in (test_layout_checks, test_indexed_checks, test_sorting_checks):
        faulting |= programs(module, monkeypatch)
    cases = [(Own(text, fault, 0).start(), fault) for text, fault in faulting.items()]
    found = [switch for module in MODULES for switch in switches(module)]
    assert len(cases) > 300 and len(found) > 25
    assert not [switch for switch in found if _survives(switch, cases)]


def _survives(switch: Switch, cases: list[tuple[dict[str, Any], str]]) -> bool:
    """Whether all programs end as before without a check."""
    with without([switch]) as run:
        for start, fault in cases:
            try:
                got = run(start)["fault"]
            except Exception:
                return False
            if got is None or got["kind"] != fault:
                return False
    return True
