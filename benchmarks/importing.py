"""``import ptoc`` and ``import numpy`` as whole processes."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.harness import Report


def process(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)


def measure(report: Report) -> None:
    report.compare("import ptoc / import numpy", partial(process, "ptoc"), partial(process, "numpy"), 1.5, times=3)
