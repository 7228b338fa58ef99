"""``ptoc compile``: what a kernel becomes, as IR of a level, as assembly, or as an image; and why it is laid out so."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptoc.cli import GOOD, output

if TYPE_CHECKING:
    from ptoc.arrays import ArraySpec
    from ptoc.cli.sources import Selection
    from ptoc.program import Program

LEVELS = ("nd", "tile", "pto")
_SPEC = re.compile(r"(\d+(?:x\d+)*):(\w+)(?::(\d+))?")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ptoc compile", description=__doc__)
    parser.add_argument(
        "kernel",
        metavar="FILE",
        help="a file with @ptoc.jit kernels, FILE.py or FILE.py:kernel; or FILE.mlir with a function in nd or tile IR",
    )
    results = parser.add_mutually_exclusive_group()
    results.add_argument("--emit", choices=(*LEVELS, "asm", "image"), default="asm", help="default: asm")
    results.add_argument(
        "--explain",
        action="store_const",
        const="explain",
        dest="emit",
        help="how each matmul is laid out and why, instead of code",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write, instead of stdout")
    parser.add_argument(
        "--spec",
        action="append",
        type=parse_spec,
        metavar="SPEC",
        help="an argument as 512x512:float16, or 512x512:float16:2048 with rows 2048 bytes apart; "
        "once per argument; without any, the arguments are those of the file's inputs()",
    )
    parser.add_argument("--locations", action="store_true", help="source locations in the IR")
    options = parser.parse_args(arguments)
    if options.locations and options.emit not in LEVELS:
        parser.error(f"--locations belongs to --emit {', '.join(LEVELS)}")
    if options.emit == "image":
        output.check_no_terminal(parser, options.output, "an image", "-o")

    from ptoc.cli.complaints import user_code
    from ptoc.cli.sources import select

    if options.kernel.endswith(".mlir"):
        if options.spec:
            parser.error("--spec belongs to kernels; IR says what its arrays are")
        program = _program_of_ir(options.kernel)
    else:
        selected = select(options.kernel)
        with user_code(selected.file):
            program = _program(selected, options.spec)
    if options.emit == "image":
        output.write_bytes(program.image(), options.output)
    elif options.emit == "explain":
        output.write_text(program.explain(), options.output)
    elif options.emit == "asm":
        output.write_text(program.asm(), options.output)
    else:
        output.write_text(program.ir(options.emit, locations=options.locations), options.output)
    return GOOD


def _program_of_ir(file: str) -> Program:
    from ptoc.compiler import compile_ir

    name = "stdin" if file == output.STDIO else file
    return compile_ir(output.read_bytes(file).decode("utf-8", "replace"), file=name)


def _program(selected: Selection, specs: Sequence[ArraySpec] | None) -> Program:
    if specs:
        return selected.kernel.compile(*specs)
    return selected.kernel.program_for(*selected.inputs())


def parse_spec(text: str) -> ArraySpec:
    """``[STACKx…]ROWSxCOLUMNS:DTYPE[:ROW_STRIDE]`` or ``SIZE:DTYPE``; the stride in bytes."""
    match = _SPEC.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not like 512x512:float16 or 512x512:float16:2048")
    from ptoc.arrays import spec
    from ptoc.errors import PtocError

    shape = [int(extent) for extent in match[1].split("x")]
    try:
        plain = spec(shape, match[2])
        if match[3] is None:
            return plain
        if len(shape) == 1:
            raise argparse.ArgumentTypeError(f"{text!r}: an array of one dimension has no row stride")
        steps = [int(match[3]) * math.prod(shape[n:-1]) for n in range(1, len(shape))]
        return spec(shape, plain.dtype, (*steps, plain.dtype.itemsize))
    except PtocError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.message}; {error.hint}") from None
    except TypeError:
        raise argparse.ArgumentTypeError(f"{text!r}: numpy has no dtype called {match[2]}") from None
