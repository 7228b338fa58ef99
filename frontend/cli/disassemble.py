"""``ptoc dis``: a program image as assembly text that assembles to the same bytes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ptoc.cli import GOOD, output


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ptoc dis", description=__doc__)
    parser.add_argument("image", metavar="IMAGE", help="an image; - is stdin")
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write, instead of stdout")
    parser.add_argument("--source", action="store_true", help="addresses, and the source lines the code comes from")
    parser.add_argument("--raw", action="store_true", help="the file is bare code, as `ptoc as --raw` writes it")
    options = parser.parse_args(arguments)

    from ptoc.backend import disassemble
    from ptoc.errors import InputError
    from ptoc.isa.image import MAGIC, ImageError
    from ptoc.isa.revisions import RevisionError

    data = output.read_bytes(options.image)
    if data.startswith(MAGIC) == options.raw:
        what, hint = ("an image", "leave --raw out") if options.raw else ("no image", "--raw takes it as bare code")
        raise InputError(f"{options.image} is {what}", rule="assembly", hint=hint)
    try:
        text = disassemble(data, source=options.source)
    except (ImageError, RevisionError) as error:
        hint = "`ptoc compile --emit image` and `ptoc as` write images"
        raise InputError(f"{options.image}: {error}", rule="assembly", hint=hint) from None
    output.write_text(text, options.output)
    return GOOD
