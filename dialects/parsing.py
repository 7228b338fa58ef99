"""IR as text, read so that whatever is wrong with it has a place in the text."""

from __future__ import annotations

from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

Place = tuple[str, int, int]
"""File, line and column, both from 1; columns count bytes."""


class MisplacedIr(VerifyException):
    """IR that does not verify, and where in the text it stands."""

    def __init__(self, error: VerifyException, where: Place | None) -> None:
        super().__init__(str(error))
        self.where = where
        for note in getattr(error, "__notes__", ()):
            self.add_note(note)


class LocatingParser(Parser):
    """xDSL's parser; an operation without a ``loc`` of its own has the place where it begins.

    ``line_offset`` are the lines of the file in front of ``text``.
    """

    def __init__(self, context: Context, text: str, name: str, *, line_offset: int = 0) -> None:
        super().__init__(context, text, name)
        self._name = name
        self._line_offset = line_offset
        self._text = text
        self._starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        try:
            op = super().parse_operation()
        except MisplacedIr:
            raise
        except VerifyException as error:
            raise MisplacedIr(error, self._place(start)) from error
        if op.location == UNKNOWN_LOC:
            name, line, column = self._place(start)
            op.location = FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))
        return op

    def _place(self, at: int) -> Place:
        line = bisect_right(self._starts, at)
        before = self._text[self._starts[line - 1] : at]
        return self._name, line + self._line_offset, len(before.encode()) + 1


def place_of_error(error: ParseError) -> Place:
    """Where text was found to be no IR."""
    file, line, column = error.span.get_location()
    content, start = error.span.input.content, error.span.start
    before = content[start - column + 1 : start]
    return file, line, len(before.encode() if isinstance(before, str) else before) + 1


def source_of(op: Operation) -> Place | None:
    """File, line and column an operation came from: those of a kernel, or of IR."""
    location = op.location
    if isinstance(location, FileLineColLoc):
        return location.filename.data, location.line.data, location.column.data
    return None


def parse_module(context: Context, text: str, name: str) -> ModuleOp:
    """A module from its text. ``ParseError`` for what is none, ``MisplacedIr`` for types that there are not."""
    return LocatingParser(context, text, name).parse_module()


def verify(module: ModuleOp) -> None:
    """``MisplacedIr`` for the first operation of a module that does not verify."""
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise MisplacedIr(error, source_of(op)) from error
