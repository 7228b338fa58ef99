"""``ptoc validate``: the simulator against plain numpy and numpy in PTO's order, on a file's example inputs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ptoc.cli import FINDING, GOOD
from ptoc.cli.numbers import cores


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ptoc validate", description=__doc__)
    parser.add_argument("kernel", metavar="FILE.py[:kernel]", help="a file with @ptoc.jit kernels and inputs()")
    parser.add_argument("--cores", type=cores, default=1, metavar="N", help="the cores that share the work")
    parser.add_argument(
        "--bisect", action="store_true", help="of a wrong kernel, name the first pass after which its results change"
    )
    parser.add_argument(
        "--reduce", metavar="OUT.py", help="of a wrong kernel, write the smallest case that is still wrong as a script"
    )
    options = parser.parse_args(arguments)

    from ptoc.cli.complaints import user_code
    from ptoc.cli.output import check_writeable, write_text
    from ptoc.cli.sources import select
    from ptoc.errors import CompileError, ProgramFault, UnsupportedError
    from ptoc.validation import validate

    if options.reduce:
        check_writeable(options.reduce)
    selected = select(options.kernel)
    inputs = selected.inputs()
    kernel = selected.on(options.cores)
    with user_code(selected.file):
        try:
            report = validate(kernel, *inputs)
        except (CompileError, ProgramFault) as error:
            if isinstance(error, UnsupportedError) or not (options.bisect or options.reduce):
                raise
            print(error)
        else:
            print(report)
            if report.ok:
                asked = [name for name in ("bisect", "reduce") if getattr(options, name)]
                if asked:
                    print(f"{selected.name} is right, so there is nothing to {' or '.join(asked)}")
                return GOOD
        if options.bisect:
            from ptoc.bisection import bisect

            print(bisect(kernel, *inputs))
        if options.reduce:
            from ptoc.reduction import reduce

            case = reduce(kernel, *inputs)
            write_text(case.script(), options.reduce)
    return FINDING
