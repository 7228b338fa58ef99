"""The tile operations: one module per operation, loaded when a program first uses it.

An operation checks in the architecture's order, probes every address, snapshots its sources and only then
changes anything; a ``Fault`` therefore leaves the core as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.layouts import CUBE_LOAD, CUBE_STORE
from ptoc.runtime.errors import UnsupportedOperation

if TYPE_CHECKING:
    from ptoc.runtime.bundle import Bundle
    from ptoc.runtime.core import Core

    Execute = Callable[[Core, Bundle], None]

MODULES: dict[str, str] = {
    "TLOAD": "tload",
    "TSTORE": "tstore",
    "TCMP": "tcmp",
    "MSCATTER_MASK": "mscatter_mask",
    "TMATMUL": "tmatmul",
    "TMATMUL_ACC": "tmatmul",
}
_CUBE_TRANSFERS = frozenset({"TLOAD", "TSTORE"})


@cache
def implementation(name: str) -> Execute:
    """The function that performs an operation; ``UnsupportedOperation`` when there is none."""
    module = MODULES.get(name)
    if module is None:
        raise UnsupportedOperation(f"{name} is not simulated")
    execute: Execute = import_module(f"ptoc.runtime.operations.{module}").execute
    return execute


def execute(core: Core, bundle: Bundle) -> None:
    """Perform the tile operation of a completing bundle."""
    assert bundle.operation is not None
    name = bundle.operation.name
    if bundle.locals or bundle.shared or not bundle.zero_mask_seen:
        perform = implementation(name)
        _common_checks(bundle, name)
        perform(core, bundle)
    counters = core.counters
    counters.bundles += 1
    counters.operations[name] = counters.operations.get(name, 0) + 1


def _common_checks(bundle: Bundle, name: str) -> None:
    layout = bundle.datr.layout
    if (layout in CUBE_LOAD or layout in CUBE_STORE) and name not in _CUBE_TRANSFERS:
        raise Fault(FaultKind.TileLegality, f"{name} has no CUBE transfer form")
    if any(binding.assembly for binding in bundle.locals):
        raise Fault(FaultKind.TileLegality, "B.ASSEMBLE works on Shared destinations only")
