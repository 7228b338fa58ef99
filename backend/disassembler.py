"""From an image, or bare code, back to assembly text that assembles to the same bytes."""

from __future__ import annotations

import linecache
import os.path
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ptoc.backend.assembler import OPEN, statement_text
from ptoc.backend.blocks import Role, role_of, unterminated
from ptoc.backend.statements import (
    Access,
    Bytes,
    Entry,
    Label,
    Location,
    Revision,
    Section,
    Splat,
    Statement,
)
from ptoc.isa.commands import STARTS
from ptoc.isa.image import MAGIC, Image, SectionName, unpack
from ptoc.isa.instruction_set import instruction_length
from ptoc.isa.operands import LABEL
from ptoc.isa.revisions import NEWEST, instruction_set
from ptoc.isa.syntax import raw_data, target_field

_RUN = re.compile(rb"(.)\1{63,}", re.DOTALL)
_ROW_BYTES = 16
_WORD, _LONGEST = 4, 8
_REMEMBERED = 1 << 13
"""Words whose text is kept; more than a program repeats, and few enough to stay near the processor."""

_INDENT = "    "
_ADDRESS_COLUMN = 56


def disassemble(data: bytes, *, origin: int = 0, source: bool = False, isa: str | None = None) -> str:
    """Assembly text of an ELF image (told by its magic number) or of bare code.

    What has no text of its own is printed as raw data. With ``source`` the lines of code bear their
    addresses, counted from ``origin``, as comments and stand below the source lines they come from. An image
    says which revision it is of; ``isa`` says it of bare code. ``ImageError`` for a malformed image,
    ``RevisionError`` for an unknown revision.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"disassemble takes bytes, not {type(data).__name__}; `assemble` makes bytes of a text")
    data = bytes(data)
    if data.startswith(MAGIC):
        image = unpack(data)
        listing = _Listing(image, _INDENT, source=source)
        listing.add(Section("text"))
    else:
        image = Image(data, isa=instruction_set(isa).name)
        listing = _Listing(image, "", source=source)
    listing.add_code()
    listing.add_data()
    return listing.text(origin)


class _Special(NamedTuple):
    """An instruction whose text depends on where it stands: it has a role in its block, or it branches."""

    text: str
    role: Role
    distance: int | None
    """Bytes from here to the target."""


class _Listing:
    """The lines of a text under construction, with the offsets of those that emit code."""

    def __init__(self, image: Image, indent: str, *, source: bool) -> None:
        self._image = image
        self._source = source
        self._isa = instruction_set(image.isa)
        self._indent = indent
        self._lines: list[str] = []
        self._offsets: dict[int, int] = {}
        self._places: dict[int, Location] = {}
        # Two lists and no pairs, which would keep the garbage collector busy in a large image.
        self._role_lines: list[int] = []
        self._roles: list[Role] = []
        self._known: dict[bytes, str] = {}
        self._special: dict[int, _Special] = {}
        self._labels = _labels(image, "text")
        if self._isa is not NEWEST:
            self.add(Revision(image.isa))

    def add(self, statement: Statement) -> None:
        """One statement that is no code."""
        if isinstance(statement, Location):
            self._places[len(self._lines)] = statement
        indent = "" if isinstance(statement, Label) else self._indent
        self._lines.append(indent + statement_text(statement))

    def add_code(self) -> None:
        """The code with its labels, source lines and accesses. Nothing is decoded across one of them."""
        image, code = self._image, self._image.code
        marks: dict[int, list[Statement]] = {at: [*map(Label, names)] for at, names in self._labels.items()}
        if image.entry in self._labels and image.entry:
            self.add(Entry(self._labels[image.entry][0]))
        elif image.entry:
            marks[image.entry] = [Entry()]
        for line in image.lines:
            marks.setdefault(line.offset, []).append(Location(line.file, line.line, line.column))
        for access in image.accesses:
            marks.setdefault(access.offset, []).append(Access(access.argument))
        stops = sorted({*marks, 0, len(code)})
        for start, stop in zip(stops, [*stops[1:], len(code)]):
            for statement in marks.get(start, ()):
                if not isinstance(statement, Access) or self._starts_block(start, stop):
                    self.add(statement)
            self._stretch(start, stop)

    def _starts_block(self, offset: int, stop: int) -> bool:
        """Whether a block start stands at ``offset`` as text; elsewhere an access belongs to nothing."""
        inst = self._isa.decode(self._image.code[offset:stop], 0) if offset % 2 == 0 else None
        return inst is not None and inst.key in STARTS and self._isa.text(inst) is not None

    def _stretch(self, offset: int, stop: int) -> None:
        """The code from ``offset`` to ``stop``; bytes if an instruction stands at an odd offset or is cut off."""
        code, known, lines = self._image.code, self._known, self._lines
        while offset < stop:
            if self._source:
                self._offsets[len(lines)] = offset
            text = known.get(code[offset : offset + _WORD])
            if text is not None and offset + _WORD <= stop and not offset % 2:
                lines.append(text)
                offset += _WORD
                continue
            ahead = int.from_bytes(code[offset : offset + _LONGEST], "little")
            size = instruction_length(ahead & 0xFFFF, ahead >> 16 & 0xFFFF)
            if offset % 2 or offset + size > stop:
                lines.append(self._indent + raw_data(code[offset : min(offset + size, stop)]))
            else:
                lines.append(self._text(ahead & (1 << 8 * size) - 1, size, offset))
            offset += size

    def _text(self, word: int, size: int, offset: int) -> str:
        """The line of a word that is not known yet, not of four bytes, or special."""
        special = self._special.get(word)
        if special is None:
            if len(self._known) + len(self._special) >= _REMEMBERED:
                self._known.clear()
                self._special.clear()
            inst = self._isa.decode_word(word, size)
            text = None if inst is None else self._isa.text(inst)
            if inst is None or text is None:
                return self._remembered(self._indent + raw_data(word.to_bytes(size, "little")), word, size)
            role, target = role_of(inst), target_field(inst.form)
            if not role and target is None:
                return self._remembered(self._indent + text, word, size)
            distance = None if target is None else 2 * inst[target]
            # No two words of different length are the same number: the low four bits tell the length.
            special = self._special[word] = _Special(self._indent + text, role, distance)
        if special.role:
            self._role_lines.append(len(self._lines))
            self._roles.append(special.role)
        names = None if special.distance is None else self._labels.get(offset + special.distance)
        branch = None if names is None else self._isa.decode_word(word, size)
        if names is None or branch is None:
            return special.text
        return self._indent + self._isa.format(branch, label=lambda _: names[0])

    def _remembered(self, text: str, word: int, size: int) -> str:
        if size == _WORD:
            self._known[word.to_bytes(size, "little")] = text
        return text

    def add_data(self) -> None:
        """The data with its labels, long runs of one byte as a fill."""
        data, labels = self._image.data, _labels(self._image, "data")
        if not data and not labels:
            return
        self.add(Section("data"))
        bounds = sorted({*labels, 0, len(data)})
        for start, end in zip(bounds, [*bounds[1:], len(data)]):
            for name in labels.get(start, ()):
                self.add(Label(name))
            for statement in _chunks(data[start:end]):
                self.add(statement)

    def text(self, origin: int) -> str:
        """The finished text; with ``source``, addresses and source lines are in it as comments."""
        lines = self._lines
        for index in unterminated(zip(self._role_lines, self._roles)):
            lines[index] += OPEN
        if self._source:
            lines = list(_commented(lines, self._offsets, self._places, origin))
        return "\n".join([*lines, ""])


def _commented(
    lines: Sequence[str], offsets: dict[int, int], places: dict[int, Location], origin: int
) -> Iterator[str]:
    for index, line in enumerate(lines):
        if index in places:
            yield _source_comment(places[index])
        yield f"{line:<{_ADDRESS_COLUMN}}// {origin + offsets[index]:#x}" if index in offsets else line


def _source_comment(place: Location) -> str:
    # An image may name any file; only regular ones are opened.
    text = linecache.getline(place.file, place.line).strip() if os.path.isfile(place.file) else ""
    comment = f"// {place.file}:{place.line}" + (f": {text}" if text else "")
    return comment.replace("\n", " ")


def _labels(image: Image, section: SectionName) -> dict[int, list[str]]:
    """The names at every offset. A symbol that cannot be a label has no place in text."""
    names: dict[int, list[str]] = {}
    for symbol in image.symbols:
        if symbol.section == section and re.fullmatch(LABEL, symbol.name):
            names.setdefault(symbol.offset, []).append(symbol.name)
    return names


def _chunks(data: bytes) -> Iterator[Statement]:
    position = 0
    for run in [*_RUN.finditer(data), None]:
        end = len(data) if run is None else run.start()
        for start in range(position, end, _ROW_BYTES):
            yield Bytes(data[start : min(start + _ROW_BYTES, end)])
        if run is not None:
            yield Splat(1, data[run.start()], run.end() - run.start())
            position = run.end()
