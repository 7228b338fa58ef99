"""The tile operations: one module per operation or family, loaded when a program first uses it.

``prepare(bundle)`` makes the checks that depend on the bundle alone and returns what performs it. Words do not
change, so one preparation serves every execution of a static bundle with the same dimensions. Performing checks
in the architecture's order, probes every address, snapshots its sources and only then changes anything; a
``Fault`` therefore leaves the core as it was.

A family is a module with a table ``OPERATIONS``. Rows that are a ``Form`` are performed by the frame in ``vector``; any
other row is the ``prepare`` of its operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.layouts import CUBE_LOAD, CUBE_STORE
from ptoc.runtime.errors import UnsupportedOperation

if TYPE_CHECKING:
    from ptoc.runtime.bundle import Bundle
    from ptoc.runtime.core import Core, Perform

MODULES: dict[str, str] = {
    "TLOAD": "tload",
    "TSTORE": "tstore",
    "TCMP": "tcmp",
    "MSCATTER_MASK": "mscatter_mask",
    "TMATMUL": "tmatmul",
    "TMATMUL_ACC": "tmatmul",
}
_CUBE_TRANSFERS = frozenset({"TLOAD", "TSTORE"})


def module_of(name: str) -> str | None:
    """The module that gives an operation its meaning; ``None`` when it is not simulated."""
    return MODULES.get(name) or _families().get(name)


@cache
def _families() -> dict[str, str]:
    """Operations by the module whose table has them."""
    found = {}
    for info in iter_modules(__path__):
        for name in getattr(import_module(f"{__name__}.{info.name}"), "OPERATIONS", ()):
            found[name] = info.name
    return found


@cache
def preparation(name: str) -> Callable[[Bundle], Perform]:
    """The ``prepare`` of an operation; ``UnsupportedOperation`` when there is none."""
    where = module_of(name)
    if where is None:
        raise UnsupportedOperation(f"{name} is not simulated")
    module = import_module(f"{__name__}.{where}")
    if name not in MODULES:
        from ptoc.runtime.operations import vector

        row = module.OPERATIONS[name]
        return partial(vector.prepare, form=row) if isinstance(row, vector.Form) else row
    prepare: Callable[[Bundle], Perform] = module.prepare
    return prepare


def execute(core: Core, bundle: Bundle) -> None:
    """Perform the tile operation of a completing bundle."""
    assert bundle.operation is not None
    name = bundle.operation.name
    if bundle.locals or bundle.shared or not bundle.zero_mask_seen:
        try:
            _plan(core, bundle, name)(core, bundle)
        except Fault:
            _abandon_generation(core, bundle)
            raise
    counters = core.counters
    counters.bundles += 1
    counters.operations[name] = counters.operations.get(name, 0) + 1


def _plan(core: Core, bundle: Bundle, name: str) -> Perform:
    key = (bundle.address, *bundle.dims)
    plan = core.plans.get(key)
    if plan is None:
        prepare = preparation(name)
        _common_checks(bundle, name)
        plan = core.plans[key] = prepare(bundle)
    return plan


def _common_checks(bundle: Bundle, name: str) -> None:
    layout = bundle.datr.layout
    if (layout in CUBE_LOAD or layout in CUBE_STORE) and name not in _CUBE_TRANSFERS:
        raise Fault(FaultKind.TileLegality, f"{name} has no CUBE transfer form")
    if any(binding.assembly for binding in bundle.locals):
        raise Fault(FaultKind.TileLegality, "B.ASSEMBLE works on Shared destinations only")


def _abandon_generation(core: Core, bundle: Bundle) -> None:
    """The one exception to "a fault changes nothing": an open generation its continuation faults in is lost."""
    for binding in bundle.shared:
        if binding.assembly is not None and not binding.assembly.init:
            core.shared.abandon(binding.number)
