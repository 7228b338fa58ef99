"""Errors for users: what was wrong, where, which rule it breaks and what to do about it."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from types import CodeType, FrameType
from typing import ClassVar

from ptoc.rules import describe_rule


@dataclass(frozen=True)
class SourceLocation:
    """A place in the user's source.

    ``line`` counts from 1. ``column`` counts from 1 too, in bytes of the line's UTF-8 form (as Python's own
    position tables do), and is ``None`` when unknown. ``end_line`` and ``end_column`` stand behind the last byte of an
    expression whose extent is known; places are equal where they start. ``text`` is the line where no file has it.
    """

    file: str
    line: int
    column: int | None = None
    end_line: int | None = field(default=None, compare=False)
    end_column: int | None = field(default=None, compare=False)
    text: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column is not None else "")

    def excerpt(self) -> str | None:
        """The source line with its number, and the expression underlined, or ``None`` when the source is not at hand.

        Of an expression of several lines the first one is shown; without a column nothing is underlined.
        """
        text = (linecache.getline(self.file, self.line) if self.text is None else self.text).rstrip()
        if not text.strip():
            return None
        number = f"{self.line:>5}"
        shown = f"{number} | {text.lstrip()}"
        if self.column is None:
            return shown
        code = text.encode()
        start = self.column - 1
        before = code[:start].decode(errors="replace")
        marked = code[start : self._end_of_marks(len(code))].decode(errors="replace")
        indent = len(text) - len(text.lstrip())
        marks = " " * max(0, len(before) - indent) + "^" * max(1, len(marked))
        return f"{shown}\n{' ' * len(number)} | {marks}"

    def _end_of_marks(self, line_end: int) -> int:
        """Behind the last byte to be underlined: the end of the expression, or of its first line."""
        if self.end_line is None or self.end_column is None:
            return self.column or 1
        return self.end_column - 1 if self.end_line == self.line else line_end


class PtocError(Exception):
    """Whatever ptoc has to tell its user.

    ``message`` says what was wrong, ``where`` at which place of the source, ``operands`` with which shapes and dtypes,
    ``rule`` which rule of ``ptoc.rules`` it breaks, ``hint`` what to do. ``others`` are further errors of the same
    compilation. ``str()`` renders all of it, one part per line.
    """

    default_rule: ClassVar[str | None] = None
    """The rule that an error of this class breaks when it names none."""

    def __init__(
        self,
        message: str,
        *,
        where: SourceLocation | None = None,
        operands: str | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.operands = operands
        self.rule = rule
        self.hint = hint
        self.others: tuple[PtocError, ...] = ()

    def complete(
        self, *, where: SourceLocation | None = None, operands: str | None = None, rule: str | None = None
    ) -> None:
        """Add what a caller knows and the place that raised the error did not."""
        self.where = self.where or where
        self.operands = self.operands or operands
        self.rule = self.rule or rule

    def __str__(self) -> str:
        return "\n".join([*self._parts(), *(f"\n{other}" for other in self.others)])

    def _parts(self) -> Iterable[str]:
        yield f"{self.where}: {self.message}" if self.where else self.message
        excerpt = self.where.excerpt() if self.where else None
        if excerpt:
            yield excerpt
        if self.operands and self.operands not in self.message:
            yield f"operands: {self.operands}"
        yield from self._details()
        rule = self.rule or self.default_rule
        if rule:
            yield f"rule: {describe_rule(rule)}"
        if self.hint:
            yield f"help: {self.hint}"

    def _details(self) -> Iterable[str]:
        """Lines of a subclass, between the source excerpt and the rule."""
        return ()


class UnsupportedError(PtocError):
    """The kernel asks for something that ptoc does not compile."""

    default_rule = "functions"


class ArgumentError(PtocError, ValueError):
    """An array given to a kernel cannot be passed to the machine."""

    default_rule = "arguments"


class ShapeError(PtocError, ValueError):
    """Shapes in a kernel that numpy would not accept together either, or that ptoc does not take."""

    default_rule = "shapes"


class _BundleError(PtocError):
    """An error that shows in a bundle; ``bundle`` is its assembly text."""

    def __init__(
        self,
        message: str,
        *,
        bundle: str | None = None,
        where: SourceLocation | None = None,
        operands: str | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, operands=operands, rule=rule, hint=hint)
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

    default_rule = "compiler"


class InputError(PtocError):
    """A file or an option of the command line cannot be used."""

    default_rule = "command-line"


class ProgramFault(_BundleError):
    """The simulated program stopped with an architectural fault; no argument was changed.

    ``kind`` is the name of the fault, ``bundle`` the assembly text of the bundle that raised it; ``where``
    is the source line that the bundle was compiled from.
    """

    default_rule = "memory-accesses"

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        bundle: str | None = None,
        where: SourceLocation | None = None,
        operands: str | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, bundle=bundle, where=where, operands=operands, rule=rule, hint=hint)
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
    return location_in(frame.f_code, frame.f_lasti, frame.f_lineno)


def location_in(code: CodeType, instruction: int, line: int) -> SourceLocation:
    """The expression that an instruction of a code object belongs to; ``line`` where its positions are stripped."""
    positions = islice(code.co_positions(), instruction // 2, None)
    start, end, column, end_column = next(positions, (None, None, None, None))
    if start is None or column is None or end_column is None:
        return SourceLocation(code.co_filename, start or line)
    return SourceLocation(code.co_filename, start, column + 1, end, end_column + 1)


def kind_of(value: object) -> str:
    """The type of a value with its article: ``a list``, ``an int``."""
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeio" else f"a {name}"


def summary(error: Exception) -> str:
    """Class and message."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
