"""Assembly text: parsed into statements, printed from them, assembled into an image.

One instruction per line or several parted by ``;``. ``//`` begins a comment, and so does ``#`` at the start
of a line. Labels are ``name:``. Directives: ``.isa "revision"``, ``.text``, ``.data``, ``.entry [label]``,
``.loc "file" line column``, ``.access n``, ``.byte``/``.half``/``.word value, ...``,
``.fill width, value, count``, ``.align n`` and ``.iota width, start, rows, row_step, cols, col_step``.

The revision holds for what follows and stands before all instructions; without one the text is of the newest.
Execution begins at the label of ``.entry``, or where it stands; without one at the start of the code.

When no B.IOT of a block says ``last``, the final one becomes it; the word ``open`` on that one prevents this.
Binders with an empty PE mask do not count, they do nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ptoc.backend import encoder
from ptoc.backend.blocks import Role, role_of, unterminated
from ptoc.backend.statements import (
    Access,
    Align,
    Bytes,
    Entry,
    Inst,
    Iota,
    Label,
    Location,
    Revision,
    Section,
    Splat,
    Statement,
)
from ptoc.isa.image import pack
from ptoc.isa.instruction_set import InstructionSet
from ptoc.isa.operands import INTEGER, LABEL, integer
from ptoc.isa.revisions import NEWEST, RevisionError, instruction_set
from ptoc.isa.syntax import TextError, raw_data


class Problem(NamedTuple):
    """One error: where, what, the text it is about, and the rule (a syntax) it breaks, if there is one."""

    file: str
    line: int
    column: int
    message: str
    text: str
    rule: str = ""

    def __str__(self) -> str:
        rule = f"\n    syntax: {self.rule}" if self.rule else ""
        return f"{self.file}:{self.line}:{self.column}: {self.message}\n    {self.text}{rule}"


class AssemblyError(ValueError):
    """Everything that is wrong with an assembly file, in the order of its lines."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def assemble(text: str, *, raw: bool = False, file: str = "<assembly>") -> bytes:
    """The ELF image of an assembly text, or with ``raw`` only the bytes of its code.

    ``AssemblyError`` lists all errors of the text, which they call ``file``.
    """
    if not isinstance(text, str):
        raise TypeError(f"assemble takes text, not {type(text).__name__}; `disassemble` makes text of an image")
    source = _parse(text, file)
    image, problems = encoder.encode_all(source.statements)
    source.problems += (source.problem(source.places[p.index], p.message) for p in problems)
    source.raise_problems()
    return image.code if raw else pack(image)


def parse(text: str, *, file: str = "<assembly>") -> list[Statement]:
    """The statements of an assembly text; ``AssemblyError`` lists all errors in it."""
    source = _parse(text, file)
    source.raise_problems()
    return source.statements


class _Place(NamedTuple):
    """Where a piece of text stands; both count from 1."""

    line: int
    column: int


class _Known(NamedTuple):
    """A line that has occurred before and is one instruction."""

    statement: Inst
    column: int
    role: Role
    open: bool


@dataclass(slots=True)
class _Source:
    """What has been read of a text: statements, the place of each, and errors."""

    file: str
    lines: list[str]
    isa: InstructionSet = NEWEST
    statements: list[Statement] = field(default_factory=list)
    places: list[_Place] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    roles: list[tuple[int, Role]] = field(default_factory=list)
    opened: set[int] = field(default_factory=set)
    known: dict[str, _Known] = field(default_factory=dict)

    def add(self, statement: Statement, place: _Place) -> None:
        self.statements.append(statement)
        self.places.append(place)
        if isinstance(statement, Revision):
            self.isa = instruction_set(statement.name)
            self.known.clear()

    def add_instruction(self, known: _Known, place: _Place) -> None:
        if known.role:
            self.roles.append((len(self.statements), known.role))
        if known.open:
            self.opened.add(len(self.statements))
        self.statements.append(known.statement)
        self.places.append(place)

    def problem(self, place: _Place, message: str, rule: str = "") -> Problem:
        return Problem(self.file, place.line, place.column, message, self.lines[place.line - 1].strip(), rule)

    def raise_problems(self) -> None:
        if self.problems:
            raise AssemblyError(sorted(self.problems, key=lambda p: (p.line, p.column)))


_PIECE = re.compile(r'(?:"(?:[^"\\]|\\.)*"?|(?!//)[^";])+')
_LABEL = re.compile(rf"\s*({LABEL})\s*:")
_PLAIN = re.compile(r'\s*[^\s#;:"/][^;:"/]*')
"""A line that holds one instruction or directive, and nothing that takes a closer look."""


def _parse(text: str, file: str) -> _Source:
    source = _Source(file, text.split("\n"))
    for number, line in enumerate(source.lines, 1):
        known = source.known.get(line)
        if known is not None:
            source.add_instruction(known, _Place(number, known.column))
            continue
        plain = _PLAIN.fullmatch(line) is not None
        for column, piece in ((0, line),) if plain else _pieces(line):
            try:
                if plain:
                    _parse_plain(source, line, number, 0)
                else:
                    _parse_piece(source, piece, number, column)
            except TextError as error:
                place = _Place(number, column + error.column)
                source.problems.append(source.problem(place, error.message, error.syntax))
    for index in unterminated(source.roles):
        if index not in source.opened:
            source.statements[index] = _terminated(source.statements[index])
    return source


def _instruction(isa: InstructionSet, text: str) -> _Known:
    parsed = isa.parse(text)
    inst = Inst(parsed.instruction, parsed.target)
    return _Known(inst, len(text) - len(text.lstrip()) + 1, role_of(parsed.instruction), parsed.open)


def _pieces(line: str) -> Iterator[tuple[int, str]]:
    """The instructions of a line with the number of characters before each."""
    if line.lstrip().startswith("#"):
        return
    position = 0
    while position < len(line) and not line.startswith("//", position):
        match = _PIECE.match(line, position)
        if match is not None:
            yield position, match.group()
            position = match.end()
        else:
            position += 1


def _parse_piece(source: _Source, piece: str, line: int, column: int) -> None:
    position = 0
    while label := _LABEL.match(piece, position):
        source.add(Label(label.group(1)), _Place(line, column + label.start(1) + 1))
        position = label.end()
    if piece[position:].strip():
        _parse_plain(source, " " * position + piece[position:], line, column)


def _parse_plain(source: _Source, text: str, line: int, column: int) -> None:
    """One instruction or directive; an instruction is remembered."""
    body = text.lstrip()
    if body.startswith("."):
        source.add(_parse_directive(text), _Place(line, column + len(text) - len(body) + 1))
        return
    known = source.known[text] = _instruction(source.isa, text)
    source.add_instruction(known, _Place(line, column + known.column))


def _terminated(statement: Statement) -> Inst:
    assert isinstance(statement, Inst)
    inst = statement.instruction
    position = inst.form.position["L"]
    return Inst(replace(inst, values=(*inst.values[:position], 1, *inst.values[position + 1 :])))


_DIRECTIVE = re.compile(r"\s*(\.[a-z]+)\s*")
_INTEGER = re.compile(INTEGER, re.IGNORECASE)
_LOC = re.compile(r'("(?:[^"\\]|\\.)*")\s*,?\s*([0-9]{1,40})\s*,?\s*([0-9]{1,40})\s*$')
_WIDTHS = {".byte": 1, ".half": 2, ".word": 4}
_NUMERIC: dict[str, tuple[int, str, Callable[..., Statement]]] = {
    ".access": (1, ".access argument", Access),
    ".align": (1, ".align boundary", Align),
    ".fill": (3, ".fill width, value, count", Splat),
    ".iota": (6, ".iota width, start, rows, row_step, cols, col_step", Iota),
}


def _parse_directive(piece: str) -> Statement:
    match = _DIRECTIVE.match(piece)
    name = match.group(1) if match else piece.strip()
    end = match.end() if match else len(piece)
    rest = piece[end:]
    if name in (".text", ".data") and not rest:
        return Section("text" if name == ".text" else "data")
    if name == ".loc":
        return _parse_location(rest, end)
    if name == ".isa":
        return _parse_revision(rest, end)
    if name == ".entry":
        return _parse_entry(rest, end)
    if name in _WIDTHS:
        values = _integers(rest, end, f"{name} value, ...")
        return Bytes(b"".join(_unit(value, _WIDTHS[name], end) for value in values))
    if name in _NUMERIC:
        count, syntax, build = _NUMERIC[name]
        numbers = _integers(rest, end, syntax)
        if len(numbers) != count:
            raise TextError(f"{name} takes {count} numbers, not {len(numbers)}", end + 1, syntax)
        return build(*numbers)
    if name in (".text", ".data"):
        raise TextError(f"{name} takes nothing, found '{rest.strip()}'", end + 1)
    raise TextError(f"there is no directive {name}", len(piece) - len(piece.lstrip()) + 1)


def _parse_revision(rest: str, column: int) -> Revision:
    name = _quoted(rest.strip())
    if name is None:
        raise TextError("the name of a revision in quotes must follow", column + 1, '.isa "revision"')
    try:
        instruction_set(name)
    except RevisionError as error:
        raise TextError(str(error), column + 1) from None
    return Revision(name)


def _parse_entry(rest: str, column: int) -> Entry:
    label = rest.strip()
    if label and not re.fullmatch(LABEL, label):
        raise TextError(f"expected a label, found '{label}'", column + 1, ".entry [label]")
    return Entry(label or None)


def _quoted(text: str) -> str | None:
    """The string that a quoted text means."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def _parse_location(rest: str, column: int) -> Location:
    match = _LOC.match(rest)
    file = _quoted(match[1]) if match else None
    if match is None or file is None:
        syntax = '.loc "file" line column'
        raise TextError("a file name in quotes, a line and a column must follow", column + 1, syntax)
    return Location(file, int(match[2]), int(match[3]))


def _integers(rest: str, column: int, syntax: str) -> list[int]:
    numbers = []
    start = column + 1
    for part in rest.split(","):
        text = part.strip()
        if not _INTEGER.fullmatch(text):
            raise TextError(f"expected an integer, found '{text}'", start, syntax)
        numbers.append(integer(text))
        start += len(part) + 1
    return numbers


def _unit(value: int, width: int, column: int) -> bytes:
    if not -1 << 8 * width - 1 <= value < 1 << 8 * width:
        raise TextError(f"{value} does not fit in {width} bytes", column + 1)
    return (value % (1 << 8 * width)).to_bytes(width, "little")


def print_statements(statements: Sequence[Statement], *, indent: str = "    ") -> str:
    """Assembly text that parses into the statements again.

    That holds for statements in canonical form: instructions that have text, distances of branches to a label
    0, no empty ``Bytes``. An instruction without text is printed as the bytes it stands for.
    """
    isa = NEWEST
    lines = []
    roles = []
    for number, statement in enumerate(statements):
        if isinstance(statement, Revision):
            isa = instruction_set(statement.name)
        elif isinstance(statement, Inst) and isa.text(isa.remake(statement.instruction)) is not None:
            roles.append((number, role_of(statement.instruction)))
        text = statement_text(statement, isa)
        lines.append(text if isinstance(statement, Label) else indent + text)
    for number in unterminated((number, role) for number, role in roles if role):
        lines[number] += OPEN
    return "".join(line + "\n" for line in lines)


OPEN = ", open"
"""What keeps the final B.IOT of a block from becoming the last."""


def statement_text(statement: Statement, isa: InstructionSet = NEWEST) -> str:
    """One statement as text of a revision, without regard to the block it is in."""
    match statement:
        case Revision(name):
            return f".isa {json.dumps(name)}"
        case Entry(label):
            return f".entry {label}" if label else ".entry"
        case Section(name):
            return f".{name}"
        case Label(name):
            return f"{name}:"
        case Inst(instruction, target):
            return isa.format(isa.remake(instruction), label=None if target is None else lambda _: target)
        case Location(file, line, column):
            return f".loc {json.dumps(file)} {line} {column}"
        case Access(argument):
            return f".access {argument}"
        case Splat(width, value, count):
            return f".fill {width}, {value}, {count}"
        case Iota(width, start, rows, row_step, cols, col_step):
            return f".iota {width}, {start}, {rows}, {row_step}, {cols}, {col_step}"
        case Bytes(data):
            return raw_data(data)
        case Align(boundary):
            return f".align {boundary}"
