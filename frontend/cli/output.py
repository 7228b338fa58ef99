"""Where results go: files, stdout, and tables that are plain text when nobody looks at a terminal."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path

STDIO = "-"


def write_text(text: str, path: str | None) -> None:
    """Write to a file, or to stdout for ``None`` and ``-``."""
    if path is None or path == STDIO:
        sys.stdout.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")


def check_writeable(path: str) -> None:
    """``InputError`` when a file could not be written, before the work for it is done."""
    folder = Path(path).parent
    if path == STDIO or (folder.is_dir() and not Path(path).is_dir()):
        return
    from ptoc.errors import InputError

    what = f"{path} is a directory" if folder.is_dir() else f"there is no directory {folder}"
    raise InputError(what, hint="name a file to write, in a directory that exists")


def write_bytes(data: bytes, path: str | None) -> None:
    """Write to a file, or to stdout for ``None`` and ``-``."""
    if path is None or path == STDIO:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        Path(path).write_bytes(data)


def check_no_terminal(parser: ArgumentParser, path: str | None, what: str, option: str) -> None:
    """End with a usage error when bytes written to ``path`` would appear on a screen.

    ``what`` they are, and the ``option`` that names a file, are told.
    """
    if (path is None or path == STDIO) and sys.stdout.isatty():
        parser.error(f"{what} is no text for a terminal; write it to a file with {option}")


def read_bytes(path: str) -> bytes:
    """The contents of a file, or of stdin for ``-``."""
    if path != STDIO:
        return Path(path).read_bytes()
    if sys.stdin is None:
        from ptoc.errors import InputError

        raise InputError("stdin is closed", hint="name a file instead of -")
    return sys.stdin.buffer.read()


def print_table(title: str, rows: Mapping[str, int]) -> None:
    """Names and numbers, one per line."""
    cells = {name.replace("_", " ") if name.islower() else name: f"{value:,}" for name, value in rows.items()}
    if not sys.stdout.isatty():
        names, numbers = (max(map(len, column), default=0) for column in (cells, cells.values()))
        print(title)
        for name, number in cells.items():
            print(f"  {name:<{names}}  {number:>{numbers}}")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("", "", title=title, show_header=False)
    table.columns[1].justify = "right"
    for name, number in cells.items():
        table.add_row(name, number)
    Console().print(table)
