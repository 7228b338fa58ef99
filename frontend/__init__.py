"""ptoc: from numpy-like Python kernels to PTO bundles, and a simulator that proves the numbers.

    @ptoc.jit
    def linear(x, w, c):
        return c + np.matmul(x, w, dtype=np.float32)

The names below are the public surface; each is imported when it is first used, so ``import ptoc`` costs little more
than ``import numpy``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptoc.arrays import ArraySpec, spec
    from ptoc.compiler import compile_ir
    from ptoc.errors import (
        ArgumentError,
        CompileError,
        InputError,
        ProgramFault,
        PtocError,
        ShapeError,
        UnsupportedError,
    )
    from ptoc.hif8 import hifloat8, hifloat8_values
    from ptoc.kernel import Kernel, Target, jit
    from ptoc.program import Program
    from ptoc.scattering import scatter
    from ptoc.validation import Report, validate

__version__ = "0.1.0"

_HOME = {
    "ArgumentError": "errors",
    "ArraySpec": "arrays",
    "CompileError": "errors",
    "InputError": "errors",
    "Kernel": "kernel",
    "Program": "program",
    "ProgramFault": "errors",
    "PtocError": "errors",
    "Report": "validation",
    "ShapeError": "errors",
    "Target": "kernel",
    "UnsupportedError": "errors",
    "compile_ir": "compiler",
    "hifloat8": "hif8",
    "hifloat8_values": "hif8",
    "jit": "kernel",
    "scatter": "scattering",
    "spec": "arrays",
    "validate": "validation",
}

__all__ = [
    "ArgumentError",
    "ArraySpec",
    "CompileError",
    "InputError",
    "Kernel",
    "Program",
    "ProgramFault",
    "PtocError",
    "Report",
    "ShapeError",
    "Target",
    "UnsupportedError",
    "compile_ir",
    "hifloat8",
    "hifloat8_values",
    "jit",
    "scatter",
    "spec",
    "validate",
]

_ROOMS = ("backend", "dialects", "isa", "passes", "runtime")


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"ptoc.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"ptoc.{name}")
    else:
        raise AttributeError(f"module 'ptoc' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__version__"})
