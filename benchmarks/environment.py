"""What the numbers were measured on: versions, processors, BLAS and its threads."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import numpy as np

UNSET = "OPENBLAS_CORETYPE"
"""Makes OpenBLAS use the kernels of another processor than this one."""


def clean() -> None:
    """Start this process again without ``UNSET``: OpenBLAS reads it when it is loaded."""
    if os.environ.pop(UNSET, None) is not None:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def describe() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "blas": blas(),
    }


def blas() -> list[dict[str, Any]]:
    """The BLAS libraries in this process, as far as they can be asked."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        config: Any = np.show_config(mode="dicts")
        return [config["Build Dependencies"]["blas"]]
    keys = ("internal_api", "version", "architecture", "threading_layer", "num_threads")
    return [{key: pool.get(key) for key in keys} for pool in threadpool_info() if pool["user_api"] == "blas"]
