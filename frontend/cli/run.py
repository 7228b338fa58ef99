"""``ptoc run``: compile a file's kernel, simulate it on the example inputs, and say whether numpy agrees."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptoc.cli import FINDING, GOOD
from ptoc.cli.numbers import cores

if TYPE_CHECKING:
    from ptoc.kernel import Kernel
    from ptoc.runtime.profile import Profile


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ptoc run", description=__doc__)
    parser.add_argument("kernel", metavar="FILE.py[:kernel]", help="a file with @ptoc.jit kernels and inputs()")
    parser.add_argument("-v", "--verbose", action="store_true", help="the whole report, not only the verdict")
    parser.add_argument("--stats", action="store_true", help="what the program moves, computes and occupies")
    parser.add_argument("--profile", action="store_true", help="where the simulator spends its time; runs for a second")
    parser.add_argument("--cores", type=cores, default=1, metavar="N", help="the cores that share the work")
    options = parser.parse_args(arguments)

    from ptoc.cli.complaints import user_code
    from ptoc.cli.output import print_table
    from ptoc.cli.sources import select
    from ptoc.validation import validate

    selected = select(options.kernel)
    kernel, inputs = selected.on(options.cores), selected.inputs()
    with user_code(selected.file):
        report = validate(kernel, *inputs)
    print(report if options.verbose or not report.ok else report.verdict)
    if options.stats and all(array.size for array in inputs):  # nothing runs for arrays without elements
        print_table(f"{selected.name}: one run", kernel.program_for(*inputs).stats)
    if options.profile:
        with user_code(selected.file):
            print(profile(kernel, inputs))
    return GOOD if report.ok else FINDING


def profile(kernel: Kernel, inputs: Sequence[Any], seconds: float = 1.0) -> Profile:
    """Where the time of a kernel's runs goes, over as many as fit."""
    from ptoc.runtime.profile import Profile

    with Profile() as found:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            kernel(*inputs)
    return found
