"""Exceptions as messages: which are the user's, where in the user's code they come from, and what to say."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from ptoc.errors import InputError, PtocError, SourceLocation, summary


def describe(error: Exception) -> str:
    """What to print for an exception that ended a command."""
    if isinstance(error, PtocError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno is not None:
        return f"input or output failed: {error.strerror}"
    return f"internal error: {summary(error)}\nhelp: please report this; PTOC_DEBUG=1 shows where it happened"


@contextmanager
def user_code(file: str) -> Iterator[None]:
    """Around everything that runs code of a user's file: its exceptions become an ``InputError`` at its line."""
    try:
        yield
    except PtocError:
        raise
    except SyntaxError as error:
        raise InputError(f"SyntaxError: {error.msg}", where=_syntax_location(error, file)) from error
    except SystemExit as stop:
        raise InputError(f"{file} ends the interpreter (exit code {stop.code})") from stop
    except Exception as error:
        where = _innermost(error, file)
        if where is None:
            raise
        raise InputError(summary(error), where=where) from error


def _innermost(error: Exception, file: str) -> SourceLocation | None:
    """The line of ``file`` that failed; ``None`` when code of ours failed below it, or it did not run at all."""
    where: SourceLocation | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        package = frame.f_globals.get("__package__") or frame.f_globals.get("__name__", "")
        if frame.f_code.co_filename == file:
            where = SourceLocation(file, line)
        elif package.partition(".")[0] == "ptoc":
            where = None
    return where


def _syntax_location(error: SyntaxError, file: str) -> SourceLocation:
    column = None
    if error.text and error.offset:
        column = len(error.text[: error.offset - 1].encode()) + 1
    return SourceLocation(error.filename or file, error.lineno or 1, column)
