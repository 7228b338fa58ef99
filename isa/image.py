"""The program image: code, data, symbols and source lines in an ELF64 file.

``.text`` and ``.data`` hold the bytes, ``.symtab`` the symbols, ``.pto.lines`` the source lines,
``.pto.access`` the launch argument behind a bundle's memory accesses, ``.pto.isa`` the revision of the
instruction set. Code and data each start at address 0 of their own; who launches the program places them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ptoc.isa import REVISION

SectionName = Literal["text", "data"]


class ImageError(ValueError):
    """Bytes that are no program image, or an image that cannot be written."""


class Symbol(NamedTuple):
    """A label: ``offset`` in bytes from the start of its section."""

    name: str
    section: SectionName
    offset: int


class LineRow(NamedTuple):
    """Code from ``offset`` to the next row comes from this source line; line 0 means from nowhere."""

    offset: int
    file: str
    line: int
    column: int


class AccessRow(NamedTuple):
    """The bundle whose start is at ``offset`` reads or writes the memory of a launch argument."""

    offset: int
    argument: int


@dataclass(frozen=True, slots=True)
class Image:
    """A program. ``entry`` and all offsets are bytes; ``lines`` and ``accesses`` ascend by offset."""

    code: bytes
    data: bytes = b""
    entry: int = 0
    symbols: tuple[Symbol, ...] = ()
    lines: tuple[LineRow, ...] = ()
    accesses: tuple[AccessRow, ...] = ()
    isa: str = REVISION


MAGIC = b"\x7fELF"

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_LINES = struct.Struct("<II")
_LINE = struct.Struct("<IIII")
_ACCESS = struct.Struct("<II")

_IDENT = MAGIC + bytes([2, 1, 1]) + bytes(9)  # 64 bits, little endian, ELF version 1
_EXECUTABLE, _NO_MACHINE, _VERSION = 2, 0, 1
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_GLOBAL = 1 << 4
_NAMES: tuple[str, ...] = (
    "", ".text", ".data", ".pto.lines", ".pto.access", ".pto.isa", ".symtab", ".strtab", ".shstrtab",
)  # fmt: skip
_NUMBER: dict[str, int] = {"text": 1, "data": 2}
_SECTION_OF: dict[int, SectionName] = {1: "text", 2: "data"}
_LONGEST_NAME = 4096
_MOST_SECTIONS = 256
_ALIGNMENT = 8


def pack(image: Image) -> bytes:
    """The ELF file of an image; equal images give equal bytes. ``ImageError`` for an inconsistent image."""
    _check(image)
    names = _Strings()
    symbols = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)] + [
        _SYMBOL.pack(names.add(s.name), _GLOBAL, 0, _NUMBER[s.section], s.offset, 0) for s in image.symbols
    ]
    section_names = _Strings()
    name_offsets = [section_names.add(name) for name in _NAMES]
    contents = [
        b"",
        image.code,
        image.data,
        _pack_lines(image.lines),
        b"".join(_ACCESS.pack(*row) for row in image.accesses),
        image.isa.encode(),
        b"".join(symbols),
        names.blob(),
        section_names.blob(),
    ]
    body = bytearray(_HEADER.size)
    headers = [_SECTION.pack(*[0] * 10)]
    for number, content in enumerate(contents[1:], 1):
        body += bytes(-len(body) % _ALIGNMENT)
        kind, flags, link, info, size = _ATTRIBUTES.get(_NAMES[number], (_PROGBITS, 0, 0, 0, 0))
        place = (flags, 0, len(body), len(content))
        headers.append(_SECTION.pack(name_offsets[number], kind, *place, link, info, _ALIGNMENT, size))
        body += content
    body += bytes(-len(body) % _ALIGNMENT)
    table = len(body)
    body[: _HEADER.size] = _HEADER.pack(
        _IDENT, _EXECUTABLE, _NO_MACHINE, _VERSION, image.entry, 0, table, 0,
        _HEADER.size, 0, 0, _SECTION.size, len(headers), len(headers) - 1,
    )  # fmt: skip
    return bytes(body) + b"".join(headers)


_ATTRIBUTES: dict[str, tuple[int, int, int, int, int]] = {
    ".text": (_PROGBITS, _ALLOC | _EXECUTE, 0, 0, 0),
    ".data": (_PROGBITS, _ALLOC | _WRITE, 0, 0, 0),
    ".symtab": (_SYMTAB, 0, _NAMES.index(".strtab"), 1, _SYMBOL.size),
    ".strtab": (_STRTAB, 0, 0, 0, 0),
    ".shstrtab": (_STRTAB, 0, 0, 0, 0),
}
"""Type, flags, link, info and entry size where they differ from plain contents."""


class _Strings:
    """A string table under construction; equal strings are stored once."""

    def __init__(self) -> None:
        self._offsets = {"": 0}
        self._size = 1

    def add(self, text: str) -> int:
        if text not in self._offsets:
            self._offsets[text] = self._size
            self._size += len(text.encode()) + 1
        return self._offsets[text]

    def blob(self) -> bytes:
        return b"".join(text.encode() + b"\0" for text in self._offsets)


def _pack_lines(rows: Sequence[LineRow]) -> bytes:
    """Byte count of the file names, row count, names ended by NUL, rows."""
    files = {name: i for i, name in enumerate(dict.fromkeys(row.file for row in rows))}
    names = b"".join(name.encode() + b"\0" for name in files)
    packed = b"".join(_LINE.pack(row.offset, files[row.file], row.line, row.column) for row in rows)
    return _LINES.pack(len(names), len(rows)) + names + packed


def unpack(data: bytes) -> Image:
    """The image in an ELF file; ``ImageError`` when the bytes are anything else."""
    sections = _sections(data)
    for name in (".text", ".data", ".pto.isa"):
        if name not in sections:
            raise ImageError(f"the image has no section {name}")
    image = Image(
        code=sections[".text"].content,
        data=sections[".data"].content,
        entry=_HEADER.unpack_from(data)[4],
        symbols=_unpack_symbols(sections),
        lines=_unpack_lines(_content(sections, ".pto.lines")),
        accesses=tuple(AccessRow(*row) for row in _rows(_ACCESS, sections, ".pto.access")),
        isa=_decode(sections[".pto.isa"].content),
    )
    _check(image)
    return image


class _Section(NamedTuple):
    number: int
    content: bytes


def _content(sections: dict[str, _Section], name: str) -> bytes:
    return sections[name].content if name in sections else b""


def _sections(data: bytes) -> dict[str, _Section]:
    """The sections by name."""
    if len(data) < _HEADER.size:
        raise ImageError(f"{len(data)} bytes are too few for an image")
    ident, kind, machine, version, _, _, table, *_, entry_size, count, strings = _HEADER.unpack_from(data)
    if ident != _IDENT:
        raise ImageError("not a 64-bit little-endian ELF file")
    if (kind, machine, version) != (_EXECUTABLE, _NO_MACHINE, _VERSION):
        raise ImageError("an ELF file, but not of a PTO program")
    if entry_size != _SECTION.size or strings >= count or count > _MOST_SECTIONS:
        raise ImageError("the section table is malformed")
    rows = list(_SECTION.iter_unpack(_slice(data, table, count * entry_size, "the section table")))
    names = _slice(data, rows[strings][4], rows[strings][5], "the section names")
    # Sections we do not know may be of any kind, and are not looked into.
    found: dict[str, _Section] = {}
    for number, row in enumerate(rows[1:], 1):
        name = _string(names, row[0])
        if name in found:
            raise ImageError(f"section {name} occurs twice")
        if name in _NAMES:
            found[name] = _Section(number, _slice(data, row[4], row[5], f"section {name}"))
    return found


def _unpack_symbols(sections: dict[str, _Section]) -> tuple[Symbol, ...]:
    names = _content(sections, ".strtab")
    numbers: dict[int, SectionName] = {
        sections[".text"].number: "text",
        sections[".data"].number: "data",
    }
    symbols = []
    for name, _, _, section, value, _ in _rows(_SYMBOL, sections, ".symtab")[1:]:
        if section not in numbers:
            raise ImageError(f"symbol {_string(names, name)} is in no section")
        symbols.append(Symbol(_string(names, name), numbers[section], value))
    return tuple(symbols)


def _unpack_lines(content: bytes) -> tuple[LineRow, ...]:
    if not content:
        return ()
    size, count = _LINES.unpack(_slice(content, 0, _LINES.size, "the head of .pto.lines"))
    names = _decode(_slice(content, _LINES.size, size, "the file names"))
    rows = _slice(content, _LINES.size + size, count * _LINE.size, "the line table")
    if len(content) != _LINES.size + size + len(rows) or (names and not names.endswith("\0")):
        raise ImageError("section .pto.lines is malformed")
    files = names.split("\0")[:-1]
    lines = []
    for offset, file, line, column in _LINE.iter_unpack(rows):
        if file >= len(files):
            raise ImageError("a source line names no file")
        lines.append(LineRow(offset, files[file], line, column))
    return tuple(lines)


def _rows(layout: struct.Struct, sections: dict[str, _Section], name: str) -> list[tuple[int, ...]]:
    content = _content(sections, name)
    if len(content) % layout.size:
        raise ImageError(f"section {name} is malformed")
    return list(layout.iter_unpack(content))


def _slice(data: bytes, offset: int, size: int, what: str) -> bytes:
    if offset + size > len(data):
        raise ImageError(f"{what} reaches beyond the end of the file")
    return data[offset : offset + size]


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset, offset + _LONGEST_NAME)
    if end < 0:
        raise ImageError("a name is missing or does not end")
    return _decode(table[offset:end])


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise ImageError("a name is not UTF-8") from None


def _check(image: Image) -> None:
    """The rules that any image obeys, written or read."""
    sizes = {"text": len(image.code), "data": len(image.data)}
    if image.entry % 2 or not 0 <= image.entry <= len(image.code):
        raise ImageError(f"entry {image.entry:#x} is odd or outside the code")
    for symbol in image.symbols:
        if not 0 <= symbol.offset <= sizes[symbol.section]:
            raise ImageError(f"symbol {symbol.name} is outside section {symbol.section}")
    for symbol in image.symbols:
        check_name(symbol.name)
    for row in image.lines:
        check_name(row.file)
        check_number(row.line)
        check_number(row.column)
    for access in image.accesses:
        check_number(access.argument)
    for what, offsets in (
        ("source lines", [row.offset for row in image.lines]),
        ("accesses", [row.offset for row in image.accesses]),
    ):
        if offsets != sorted(offsets) or (offsets and not 0 <= offsets[0] <= offsets[-1] <= len(image.code)):
            raise ImageError(f"the {what} do not ascend or are outside the code")


def check_name(name: str) -> None:
    """``ImageError`` when an image cannot hold the name of a symbol or file."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise ImageError(f"name {name!r} has no UTF-8 form") from None
    if "\0" in name or size >= _LONGEST_NAME:
        raise ImageError("a name contains NUL or is too long")


def check_number(number: int) -> None:
    """``ImageError`` when an image cannot hold a line, column or argument number."""
    if not 0 <= number < 1 << 32:
        raise ImageError(f"number {number} does not fit in 32 bits")
