"""The three levels of IR: ``nd`` (whole tensors), ``tile`` (tiles in loops), ``pto`` (instructions).

Operations are data declarations: syntax comes from assembly formats, and verifiers read the tables of
``ptoc.isa``. ``dialect_names`` maps each dialect to a function that imports it, so nothing is loaded before
it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect


def _nd() -> Dialect:
    from ptoc.dialects.nd import ND

    return ND


def _tile() -> Dialect:
    from ptoc.dialects.tile import TILE

    return TILE


def _pto() -> Dialect:
    from ptoc.dialects.pto import PTO

    return PTO


DIALECTS: dict[str, Callable[[], Dialect]] = {"nd": _nd, "tile": _tile, "pto": _pto}


def make_context() -> Context:
    """An xDSL context that knows our dialects and the upstream ones they build on."""
    from xdsl.context import Context
    from xdsl.dialects import arith, builtin, func, memref, scf, tensor

    context = Context()
    for dialect in (
        builtin.Builtin,
        func.Func,
        arith.Arith,
        scf.Scf,
        memref.MemRef,
        tensor.Tensor,
    ):
        context.load_dialect(dialect)
    for load in DIALECTS.values():
        context.load_dialect(load())
    return context
