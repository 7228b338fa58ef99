"""The compiler's passes: one per file, with the file's name in dashes. ``pipeline`` is their order.

``PASSES`` maps a pass name to a function that imports it, so nothing is loaded before it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

_OURS = {
    "remove-empty": "RemoveEmpty",
    "fuse-epilogue": "FuseEpilogue",
    "materialize-operands": "MaterializeOperands",
    "split-nests": "SplitNests",
    "divide-among-cores": "DivideAmongCores",
    "tile-matmul": "TileMatmul",
    "tile-tensors": "TileTensors",
    "tile-elementwise": "TileElementwise",
    "simplify-loops": "SimplifyLoops",
    "release-shared": "ReleaseShared",
    "allocate-rings": "AllocateRings",
    "rematerialize": "Rematerialize",
    "convert-tile-to-pto": "ConvertTileToPto",
}


def _loader(name: str, class_name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        return getattr(importlib.import_module(f"ptoc.passes.{name.replace('-', '_')}"), class_name)

    return load


PASSES: dict[str, Callable[[], type[ModulePass]]] = {n: _loader(n, c) for n, c in _OURS.items()}
