"""``ptoc run``: compile a file's kernel, simulate it on the example inputs, and say whether numpy agrees."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ptoc.cli import FINDING, GOOD


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ptoc run", description=__doc__)
    parser.add_argument("kernel", metavar="FILE.py[:kernel]", help="a file with @ptoc.jit kernels and inputs()")
    parser.add_argument("-v", "--verbose", action="store_true", help="the whole report, not only the verdict")
    parser.add_argument("--stats", action="store_true", help="what the program moves, computes and occupies")
    options = parser.parse_args(arguments)

    from ptoc.cli.complaints import user_code
    from ptoc.cli.output import print_table
    from ptoc.cli.sources import select
    from ptoc.validation import validate

    selected = select(options.kernel)
    inputs = selected.inputs()
    with user_code(selected.file):
        report = validate(selected.kernel, *inputs)
    print(report if options.verbose or not report.ok else report.verdict)
    if options.stats and all(array.size for array in inputs):  # nothing runs for arrays without elements
        print_table(f"{selected.name}: one run", selected.kernel.program_for(*inputs).stats)
    return GOOD if report.ok else FINDING
