"""``ptoc validate``: the simulator against plain numpy and numpy in PTO's order, on a file's example inputs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ptoc.cli import FINDING, GOOD
from ptoc.cli.numbers import count


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ptoc validate", description=__doc__)
    parser.add_argument("kernel", metavar="FILE.py[:kernel]", help="a file with @ptoc.jit kernels and inputs()")
    parser.add_argument("--cores", type=count, default=1, metavar="N", help="the cores that share the work")
    options = parser.parse_args(arguments)

    from ptoc.cli.complaints import user_code
    from ptoc.cli.sources import select
    from ptoc.validation import validate

    selected = select(options.kernel)
    inputs = selected.inputs()
    with user_code(selected.file):
        report = validate(selected.on(options.cores), *inputs)
    print(report)
    return GOOD if report.ok else FINDING
