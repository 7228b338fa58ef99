"""The command line: ``ptoc COMMAND ...``, one module per command, imported when its command is used.

Exit codes: 0 good, 1 a finding or an error in the input, 2 misuse. Reports go to stdout; an error is one message on
stderr and never a traceback, which ``PTOC_DEBUG=1`` shows.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "run a kernel on its file's example inputs and compare with numpy"),
    "validate": ("validate", "the report of all comparisons with numpy"),
    "compile": ("compile", "print a kernel's IR or assembly, or write its image"),
    "opt": ("opt", "run passes on IR of any level"),
    "as": ("assemble", "assemble a text into an image"),
    "dis": ("disassemble", "print an image as assembly text"),
    "sim": ("sim", "simulate an image on given memory and registers"),
    "passes": ("passes", "list the compiler's passes in their order"),
}
"""Command → its module in this package, whose ``main`` takes the arguments, and one line of help."""

GOOD, FINDING, MISUSE = 0, 1, 2
_INTERRUPTED, _BROKEN_PIPE = 130, 141  # 128 + signal number, as shells report them


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _replace_closed_streams()
    try:
        status = _command(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return _BROKEN_PIPE
    except Exception as error:
        _complain(error)
        return FINDING


def _command(arguments: list[str]) -> int:
    try:
        parser = _parser()
        if not arguments:
            parser.print_help(sys.stderr)
            return MISUSE
        options = parser.parse_args(arguments)
        module = importlib.import_module(f"ptoc.cli.{COMMANDS[options.command][0]}")
        status: int = module.main(options.arguments)
        return status
    except SystemExit as stop:
        # argparse leaves this way, after --help as well as after a misuse.
        return stop.code if isinstance(stop.code, int) else GOOD


def _parser() -> argparse.ArgumentParser:
    from ptoc import __version__

    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        prog="ptoc",
        usage="ptoc COMMAND ...",
        description="Compile numpy-like kernels to PTO bundles, look at what they became, and simulate them.",
        epilog="commands:\n"
        + "\n".join(f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items())
        + "\n\n`ptoc COMMAND --help` shows the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ptoc {__version__}")
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _complain(error: Exception) -> None:
    if os.environ.get("PTOC_DEBUG"):
        import traceback

        traceback.print_exception(error)
        return
    from ptoc.cli.complaints import describe

    print(describe(error), file=sys.stderr)


def _replace_closed_streams() -> None:
    """Python has no stdout or stderr when they were closed before it began: what goes there is lost, as asked for."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _discard_stdout() -> None:
    """Keep the interpreter from flushing into a closed pipe when it ends."""
    with contextlib.suppress(OSError, ValueError):  # a stdout that is no file has nothing to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
