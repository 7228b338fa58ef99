"""``import ptoc`` and ``import numpy`` as whole processes."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.harness import Report


def process(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def measure(report: Report) -> None:
    numpy = partial(process, "import numpy")
    report.compare("import ptoc / import numpy", partial(process, "import ptoc"), numpy, 1.5)
    report.compare("import ptoc; ptoc.jit / import numpy", partial(process, "import ptoc; ptoc.jit"), numpy)
