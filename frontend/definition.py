"""Where a kernel's parts stand in its source: its name, its parameters, what it returns.

The source is parsed when an error needs it, and only then.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import TYPE_CHECKING, Any

from ptoc.errors import SourceLocation

if TYPE_CHECKING:
    from ptoc.isa.image import LineRow

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Definition:
    """The definition of a function; places are ``None`` without one, and lines without its source at hand."""

    function: Callable[..., Any] | None

    @property
    def code(self) -> CodeType | None:
        function = self.function
        while isinstance(function, functools.partial):
            function = function.func
        return getattr(function, "__code__", None)

    @property
    def line(self) -> SourceLocation | None:
        """The first line, decorators included."""
        return None if self.code is None else SourceLocation(self.code.co_filename, self.code.co_firstlineno)

    @property
    def name(self) -> SourceLocation | None:
        """The function's name, or its ``lambda``."""
        node = self._node
        if node is None or self.code is None:
            return self.line
        if isinstance(node, ast.Lambda):
            return self._place(node, node.col_offset, node.col_offset + len("lambda"))
        start = _name_column(self.code.co_filename, node)
        return self._place(node, start, start + len(node.name.encode()))

    def parameter(self, name: str) -> SourceLocation | None:
        """A parameter; for one that ``*args`` or ``**kwargs`` has collected, those."""
        node = self._node
        if node is None:
            return self.line
        arguments = node.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if each.arg == name:
                return self._place(each, each.col_offset, each.end_col_offset)
        star = arguments.vararg
        if star is not None and name.startswith(star.arg) and name.removeprefix(star.arg).isdigit():
            return self._place(star, star.col_offset, star.end_col_offset)
        if arguments.kwarg is not None:
            return self._place(arguments.kwarg, arguments.kwarg.col_offset, arguments.kwarg.end_col_offset)
        return self.name

    @property
    def result(self) -> SourceLocation | None:
        """What the function returns, if it says so in one place; else its name."""
        node = self._node
        if isinstance(node, ast.Lambda):
            return self._expression(node.body)
        returns = [] if node is None else [each for each in _returns(node) if each.value is not None]
        return self._expression(returns[0].value) if len(returns) == 1 and returns[0].value else self.name

    @functools.cached_property
    def _node(self) -> _Function | None:
        if self.code is None:
            return None
        tree = _parsed(self.code.co_filename)
        wanted = self.code.co_varnames[: self.code.co_argcount]
        return next((n for n in ast.walk(tree) if isinstance(n, _Function) and self._is_it(n, wanted)), None)

    def _is_it(self, node: _Function, parameters: tuple[str, ...]) -> bool:
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        first = min([node.lineno, *(d.lineno for d in decorators)])
        names = tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args))
        assert self.code is not None
        is_lambda = self.code.co_name == "<lambda>"
        return first == self.code.co_firstlineno and names == parameters and isinstance(node, ast.Lambda) == is_lambda

    def _expression(self, node: ast.expr) -> SourceLocation:
        assert self.code is not None
        end = None if node.end_col_offset is None else node.end_col_offset + 1
        return SourceLocation(self.code.co_filename, node.lineno, node.col_offset + 1, node.end_lineno, end)

    def _place(self, node: ast.stmt | ast.expr | ast.arg, start: int, end: int | None) -> SourceLocation:
        assert self.code is not None
        stop = None if end is None else end + 1
        return SourceLocation(self.code.co_filename, node.lineno, start + 1, node.lineno, stop)


_Operation = ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript | ast.AugAssign


def widened(where: SourceLocation | None) -> SourceLocation | None:
    """A place with the end of the operation that begins there, if there is a single one."""
    if where is None or where.column is None or where.end_line is not None:
        return where
    ends = {
        (node.end_lineno, node.end_col_offset)
        for node in ast.walk(_parsed(where.file))
        if isinstance(node, _Operation) and (node.lineno, node.col_offset + 1) == (where.line, where.column)
    }
    if len(ends) != 1:
        return where
    [(line, column)] = ends
    return replace(where, end_line=line, end_column=None if column is None else column + 1)


def source_at(lines: Sequence[LineRow], offset: int) -> SourceLocation | None:
    """The operation that the code at an offset was compiled from, by an image's source lines."""
    rows = [row for row in lines if row.offset <= offset and row.line]
    return widened(SourceLocation(rows[-1].file, rows[-1].line, rows[-1].column or None)) if rows else None


def _parsed(file: str) -> ast.AST:
    """The syntax tree of a file; an empty one where it cannot be read."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _name_column(file: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The byte at which the name begins: behind ``def``."""
    line = linecache.getline(file, node.lineno).encode()
    return max(line.find(node.name.encode(), node.col_offset + len("def ")), node.col_offset)


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """The return statements of a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, _Function | ast.ClassDef):
            yield from _returns(child)
