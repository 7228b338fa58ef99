"""Errors for users: what was wrong, where, which rule it breaks and what to do about it."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from types import FrameType


@dataclass(frozen=True)
class SourceLocation:
    """A place in the user's source.

    ``line`` counts from 1. ``column`` counts from 1 too, in bytes of the line's UTF-8 form (as Python's own
    position tables do), and is ``None`` when unknown.
    """

    file: str
    line: int
    column: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def excerpt(self) -> str | None:
        """The source line with a caret below the column, or ``None`` when the source is not at hand."""
        text = linecache.getline(self.file, self.line).rstrip()
        if not text.strip():
            return None
        if self.column is None:
            return "    " + text.strip()
        before = text.encode()[: self.column - 1].decode(errors="replace")
        indent = len(text) - len(text.lstrip())
        return f"    {text.lstrip()}\n    {' ' * max(0, len(before) - indent)}^"


class PtocError(Exception):
    """Whatever ptoc has to tell its user.

    ``message`` says what was wrong, ``where`` in which line, ``rule`` which named rule it breaks, ``hint``
    what to do. ``str()`` renders all of it, one part per line.
    """

    def __init__(
        self,
        message: str,
        *,
        where: SourceLocation | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.rule = rule
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(self._parts())

    def _parts(self) -> Iterable[str]:
        yield f"{self.where}: {self.message}" if self.where else self.message
        excerpt = self.where.excerpt() if self.where else None
        if excerpt:
            yield excerpt
        yield from self._details()
        if self.rule:
            yield f"rule: {self.rule}"
        if self.hint:
            yield f"help: {self.hint}"

    def _details(self) -> Iterable[str]:
        """Lines of a subclass, between the source excerpt and the rule."""
        return ()


class UnsupportedError(PtocError):
    """The kernel asks for something that ptoc does not compile."""


class ArgumentError(PtocError, ValueError):
    """An array given to a kernel cannot be passed to the machine."""


class ShapeError(PtocError, ValueError):
    """Shapes in a kernel that numpy would not accept together either, or that ptoc does not take."""


class _BundleError(PtocError):
    """An error that shows in a bundle; ``bundle`` is its assembly text."""

    def __init__(
        self,
        message: str,
        *,
        bundle: str | None = None,
        where: SourceLocation | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, rule=rule, hint=hint)
        self.bundle = bundle

    def _details(self) -> Iterable[str]:
        if self.bundle:
            first, *others = self.bundle.strip().splitlines()
            yield f"bundle: {first}"
            yield from (f"        {line}" for line in others)


class CompileError(_BundleError):
    """The kernel is understood, but no program for it exists on this target, or a wrong one was made.

    ``bundle`` is the assembly text of the bundle that is wrong.
    """


class InputError(PtocError):
    """A file or an option of the command line cannot be used."""


class ProgramFault(_BundleError):
    """The simulated program stopped with an architectural fault; no argument was changed.

    ``kind`` is the name of the fault, ``bundle`` the assembly text of the bundle that raised it; ``where``
    is the source line that the bundle was compiled from.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        bundle: str | None = None,
        where: SourceLocation | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, bundle=bundle, where=where, rule=rule, hint=hint)
        self.kind = kind

    def _details(self) -> Iterable[str]:
        if self.kind:
            yield f"fault: {self.kind}"
        yield from super()._details()


def caller_location(skip_packages: Iterable[str] = ("ptoc", "numpy")) -> SourceLocation | None:
    """Where the user's code stands: the innermost frame that runs no code of ``skip_packages``.

    ``None`` when every frame belongs to them. A frame's package is read from its globals, so it does not
    matter into which folders a package is mapped; the cost is one dictionary look-up per frame.
    """
    skipped = frozenset(skip_packages)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _top_package(frame) in skipped:
        frame = frame.f_back
    return None if frame is None else _location(frame)


def _top_package(frame: FrameType) -> str:
    # __package__ comes first: a package run with ``python -m`` calls itself ``__main__``.
    name: str = frame.f_globals.get("__package__") or frame.f_globals.get("__name__") or ""
    return name.partition(".")[0]


def _location(frame: FrameType) -> SourceLocation:
    positions = islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    line, _, column, _ = next(positions, (None, None, None, None))
    return SourceLocation(
        frame.f_code.co_filename, line or frame.f_lineno, None if column is None else column + 1
    )


def summary(error: Exception) -> str:
    """Class and message."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
