"""From statements to a program image: addresses first, words second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
from ptoc.isa.commands import STARTS
from ptoc.isa.forms import EncodingError, Instruction
from ptoc.isa.image import (
    AccessRow,
    Image,
    ImageError,
    LineRow,
    SectionName,
    Symbol,
    check_name,
    check_number,
)
from ptoc.isa.instruction_set import InstructionSet
from ptoc.isa.revisions import NEWEST, RevisionError, instruction_set
from ptoc.isa.syntax import target_field

WIDTHS = (1, 2, 4, 8)
"""Bytes of an integer in data."""

LARGEST_SECTION = 1 << 30
"""Bytes; a larger section is taken for a mistake."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with the statement of that index."""

    index: int
    message: str


def encode(statements: Sequence[Statement]) -> Image:
    """The image of a program; ``EncodingError`` lists everything that cannot be encoded.

    Symbols are all labels, those of the code first, by offset. Instructions of another revision than the
    program's are re-made in it.
    """
    image, problems = encode_all(statements)
    if problems:
        raise EncodingError("\n".join(problem.message for problem in problems))
    return image


def encode_all(statements: Sequence[Statement]) -> tuple[Image, list[Problem]]:
    """The image, and what is wrong with it by statement."""
    layout = _Layout()
    for index, statement in enumerate(statements):
        try:
            layout.place(index, statement)
        except (EncodingError, ImageError, RevisionError) as error:
            layout.problems.append(Problem(index, str(error)))
    if layout.access is not None:
        layout.problems.append(Problem(layout.access[0], "no block start follows this access"))

    problems = layout.problems
    for branch in layout.branches:
        try:
            word = _resolve(branch, layout.labels).to_bytes()
        except EncodingError as error:
            problems.append(Problem(branch.index, str(error)))
        else:
            layout.contents["text"][branch.offset : branch.offset + len(word)] = word
    entry = 0
    try:
        entry = layout.resolve_entry()
    except EncodingError as error:
        problems.append(Problem(layout.entry[0], str(error)))
    symbols = [Symbol(name, section, offset) for name, (section, offset) in layout.labels.items()]
    image = Image(
        bytes(layout.contents["text"]),
        bytes(layout.contents["data"]),
        entry,
        tuple(sorted(symbols, key=lambda symbol: (symbol.section != "text", symbol.offset))),
        tuple(layout.lines),
        tuple(layout.accesses),
        layout.isa.name,
    )
    return image, sorted(problems, key=lambda problem: problem.index)


@dataclass(frozen=True, slots=True)
class _Branch:
    """An instruction at ``offset`` whose distance is not known yet."""

    index: int
    offset: int
    instruction: Instruction
    target: str


@dataclass(slots=True)
class _Layout:
    """The first pass: bytes with the branches still open, and where everything stands."""

    section: SectionName = "text"
    contents: dict[SectionName, bytearray] = field(default_factory=lambda: {"text": bytearray(), "data": bytearray()})
    labels: dict[str, tuple[SectionName, int]] = field(default_factory=dict)
    branches: list[_Branch] = field(default_factory=list)
    lines: list[LineRow] = field(default_factory=list)
    accesses: list[AccessRow] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    location: Location | None = None
    access: tuple[int, int] | None = None
    isa: InstructionSet = NEWEST
    entry: tuple[int, int | str] = (-1, 0)
    words: dict[Instruction, bytes] = field(default_factory=dict)

    def place(self, index: int, statement: Statement) -> None:
        offset = len(self.contents[self.section])
        match statement:
            case Inst():
                self._place_instruction(index, offset, statement)
            case Section(name):
                self.section = name
            case Label(name):
                check_name(name)
                if name in self.labels:
                    raise EncodingError(f"label {name} is defined twice")
                self.labels[name] = (self.section, offset)
            case Location(file, line, column):
                check_name(file)
                check_number(line)
                check_number(column)
                self.location = statement
            case Access(argument):
                check_number(argument)
                self.access = (index, argument)
            case Revision(name):
                if self.words:
                    raise EncodingError("the revision stands before the instructions")
                self.isa = instruction_set(name)
            case Entry(label):
                self._place_entry(index, offset, label)
            case _:
                self._emit(_data(statement, offset))

    def _place_entry(self, index: int, offset: int, label: str | None) -> None:
        if self.entry[0] >= 0:
            raise EncodingError("the entry is given twice")
        if label is None and self.section != "text":
            raise EncodingError("the entry stands outside .text")
        self.entry = index, offset if label is None else label

    def resolve_entry(self) -> int:
        """The offset at which execution begins."""
        _, place = self.entry
        if isinstance(place, str):
            section, place = _find(self.labels, place)
            if section != "text":
                raise EncodingError("the entry is not in .text")
        if place % 2:
            raise EncodingError(f"the entry would be at odd offset {place:#x}")
        return place

    def _place_instruction(self, index: int, offset: int, statement: Inst) -> None:
        inst = self.isa.remake(statement.instruction)
        if self.section != "text":
            raise EncodingError(f"{inst.form.mnemonic} stands outside .text")
        if offset % 2:
            raise EncodingError(f"{inst.form.mnemonic} would stand at odd offset {offset:#x}")
        if statement.target is not None:
            self.branches.append(_Branch(index, offset, inst, statement.target))
        if self.access is not None and inst.key in STARTS:
            self.accesses.append(AccessRow(offset, self.access[1]))
            self.access = None
        word = self.words.get(inst)
        if word is None:
            word = self.words[inst] = inst.to_bytes()
        self._emit(word)

    def _emit(self, data: bytes) -> None:
        content = self.contents[self.section]
        if len(content) + len(data) > LARGEST_SECTION:
            raise EncodingError(f"section {self.section} grows beyond {LARGEST_SECTION} bytes")
        if data and self.section == "text" and self.location is not None:
            row = LineRow(len(content), self.location.file, self.location.line, self.location.column)
            if not self.lines or self.lines[-1][1:] != row[1:]:
                self.lines.append(row)
            self.location = None
        content += data


def _data(statement: Splat | Iota | Bytes | Align, offset: int) -> bytes:
    """The bytes of a data statement that stands at ``offset``."""
    match statement:
        case Bytes(data):
            return data
        case Align(boundary):
            if not 1 <= boundary <= LARGEST_SECTION:
                raise EncodingError(f"alignment {boundary} is not in 1..{LARGEST_SECTION}")
            return bytes(-offset % boundary)
        case Splat(width, value, count):
            _check_size(width, count)
            if not -1 << 8 * width - 1 <= value < 1 << 8 * width:
                raise EncodingError(f"{value} does not fit in {width} bytes")
            return (value % (1 << 8 * width)).to_bytes(width, "little") * count
        case Iota(width, _, rows, _, cols, _):
            if rows < 0 or cols < 0:
                raise EncodingError(f"{rows} x {cols} integers cannot be")
            _check_size(width, rows * cols)
            return _iota(statement)


def _check_size(width: int, count: int) -> None:
    if width not in WIDTHS:
        raise EncodingError(f"width {width} must be one of {', '.join(map(str, WIDTHS))}")
    if not 0 <= width * count <= LARGEST_SECTION:
        raise EncodingError(f"{count} integers are not in 0..{LARGEST_SECTION} bytes")


def _iota(iota: Iota) -> bytes:
    import numpy as np

    def steps(count: int, step: int) -> np.ndarray:
        return np.arange(count, dtype=np.uint64) * np.uint64(step % (1 << 64))

    start = np.uint64(iota.start % (1 << 64))
    rows = start + steps(iota.rows, iota.row_step)
    table = rows[:, None] + steps(iota.cols, iota.col_step)[None, :]
    data: bytes = table.astype(f"<u{iota.width}").tobytes()
    return data


def _find(labels: dict[str, tuple[SectionName, int]], name: str) -> tuple[SectionName, int]:
    if name not in labels:
        raise EncodingError(f"label {name} is not defined")
    return labels[name]


def _resolve(branch: _Branch, labels: dict[str, tuple[SectionName, int]]) -> Instruction:
    """The branch with its distance filled in."""
    inst, target = branch.instruction, branch.target
    name = target_field(inst.form)
    if name is None:
        raise EncodingError(f"{inst.form.mnemonic} has no branch target")
    section, address = _find(labels, target)
    distance = address - branch.offset
    if section != "text" or distance % 2:
        raise EncodingError(f"label {target} is not at an instruction")
    position = inst.form.position[name]
    distances = inst.form.fields[position]
    low, high = distances.low, distances.high
    if not 2 * low <= distance <= 2 * high:
        raise EncodingError(
            f"label {target} is {distance:+d} bytes away, {inst.form.mnemonic} reaches {2 * low}..+{2 * high}"
        )
    values = (*inst.values[:position], distance // 2, *inst.values[position + 1 :])
    return replace(inst, values=values)
