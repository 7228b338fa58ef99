"""Exceptions as messages: which are the user's, where in the user's code they come from, and what to say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptoc.errors import InputError, PtocError, SourceLocation, location_in, summary


def describe(error: Exception) -> str:
    """What to print for an exception that ended a command."""
    if isinstance(error, PtocError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return str(InputError(f"{error.filename}: {error.strerror}", hint="name a file that can be read or written"))
    if isinstance(error, OSError) and error.errno is not None:
        return str(InputError(f"input or output failed: {error.strerror}", hint="write elsewhere, or make room"))
    return f"internal error: {summary(error)}\nhelp: please report this; PTOC_DEBUG=1 shows where it happened"


_OWN = "Python raises this in your file; PTOC_DEBUG=1 shows the traceback"


@contextmanager
def user_code(file: str) -> Iterator[None]:
    """Around everything that runs code of a user's file: its exceptions become an ``InputError`` at its line."""
    try:
        yield
    except PtocError:
        raise
    except SyntaxError as error:
        raise InputError(
            f"SyntaxError: {error.msg}",
            where=_syntax_location(error, file),
            rule="kernel-files",
            hint="Python cannot read the file: mend this line or the one before",
        ) from error
    except SystemExit as stop:
        raise InputError(
            f"{file} ends the interpreter (exit code {stop.code})",
            where=_innermost(stop, file),
            rule="kernel-files",
            hint='the file is imported: put what a script does under `if __name__ == "__main__":`',
        ) from stop
    except Exception as error:
        where = _innermost(error, file)
        if where is None:
            raise
        raise InputError(summary(error), where=where, rule="kernel-files", hint=_OWN) from error


def _innermost(error: BaseException, file: str) -> SourceLocation | None:
    """The line of ``file`` that failed; ``None`` when code of ours failed below it, or it did not run at all."""
    where: SourceLocation | None = None
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        package = frame.f_globals.get("__package__") or frame.f_globals.get("__name__", "")
        if frame.f_code.co_filename == file:
            where = location_in(frame.f_code, traceback.tb_lasti, traceback.tb_lineno)
        elif package.partition(".")[0] == "ptoc":
            where = None
        traceback = traceback.tb_next
    return where


def _syntax_location(error: SyntaxError, file: str) -> SourceLocation:
    column = None
    if error.text and error.offset:
        column = len(error.text[: error.offset - 1].encode()) + 1
    return SourceLocation(error.filename or file, error.lineno or 1, column)
