"""``ptoc as``: assembly text into a program image."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ptoc.cli import GOOD, output


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ptoc as", description=__doc__)
    parser.add_argument("file", metavar="FILE.s", help="assembly text; - is stdin")
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write, instead of stdout")
    parser.add_argument("--raw", action="store_true", help="only the bytes of the code, without an image around them")
    options = parser.parse_args(arguments)
    output.check_no_terminal(parser, options.output, "an image", "-o")

    from ptoc.backend import AssemblyError, assemble
    from ptoc.errors import InputError

    name = "<stdin>" if options.file == output.STDIO else options.file
    try:
        text = output.read_bytes(options.file).decode()
        data = assemble(text, raw=options.raw, file=name)
    except UnicodeDecodeError:
        hint = "`ptoc dis` prints an image as text"
        raise InputError(f"{name} is not text in UTF-8", rule="assembly", hint=hint) from None
    except AssemblyError as error:
        raise InputError(str(error), rule="assembly", hint="docs/isa shows how every command is written") from None
    output.write_bytes(data, options.output)
    return GOOD
