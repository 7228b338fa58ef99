"""From an image, or bare code, back to assembly text that assembles to the same bytes."""

from __future__ import annotations

import linecache
import os.path
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ptoc.backend.assembler import print_statements
from ptoc.backend.statements import Access, Bytes, Inst, Label, Location, Section, Splat, Statement
from ptoc.isa.encoding import Instruction, decode, instruction_length
from ptoc.isa.image import MAGIC, Image, SectionName, unpack
from ptoc.isa.operands import LABEL
from ptoc.isa.text import canonical, target_field

_RUN = re.compile(rb"(.)\1{63,}", re.DOTALL)
_ROW_BYTES = 16


def disassemble(data: bytes, *, origin: int = 0, source: bool = False) -> str:
    """Assembly text of an ELF image (told by its magic number) or of bare code.

    What has no text of its own is printed as raw data. With ``source`` the lines of code bear their
    addresses, counted from ``origin``, as comments and stand below the source lines they come from.
    ``ImageError`` for a malformed image.
    """
    bare = not data.startswith(MAGIC)
    image = Image(data) if bare else unpack(data)
    rows = list(_code(image))
    if not bare:
        rows.insert(0, _Row(Section("text")))
        data_rows = [*map(_Row, _data(image))]
        if data_rows:
            rows += [_Row(Section("data")), *data_rows]
    lines = print_statements([row.statement for row in rows], indent="" if bare else "    ").splitlines()
    if source:
        lines = list(_listing(rows, lines, origin))
    return "".join(line + "\n" for line in lines)


class _Row(NamedTuple):
    """A statement; what emits code has its offset."""

    statement: Statement
    offset: int | None = None


def _listing(rows: list[_Row], lines: list[str], origin: int) -> Iterator[str]:
    for row, line in zip(rows, lines, strict=True):
        if isinstance(row.statement, Location):
            yield _source_comment(row.statement)
        yield line if row.offset is None else f"{line:<56}// {origin + row.offset:#x}"


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


def _code(image: Image) -> Iterator[_Row]:
    """The code with its labels, source lines and accesses. Nothing is decoded across one of them."""
    labels = _labels(image, "text")
    marks: dict[int, list[Statement]] = {offset: [*map(Label, names)] for offset, names in labels.items()}
    for line in image.lines:
        marks.setdefault(line.offset, []).append(Location(line.file, line.line, line.column))
    for access in image.accesses:
        marks.setdefault(access.offset, []).append(Access(access.argument))

    end = len(image.code)
    stops = sorted({*marks, 0, end})
    for start, stop in zip(stops, [*stops[1:], end]):
        yield from map(_Row, marks.get(start, ()))
        offset = start
        while offset < stop:
            statement, size = _instruction(image.code, offset, stop, labels)
            yield _Row(statement, offset)
            offset += size


def _instruction(code: bytes, offset: int, stop: int, labels: dict[int, list[str]]) -> tuple[Statement, int]:
    """The instruction at ``offset`` and its length; its bytes if it has no text or would cross ``stop``."""
    inst = decode(code, offset) if offset % 2 == 0 else None
    if inst is not None and offset + inst.length <= stop and canonical(inst):
        return _branch(inst, offset, labels), inst.length
    first = int.from_bytes(code[offset : offset + 2], "little")
    second = int.from_bytes(code[offset + 2 : offset + 4], "little")
    data = code[offset : min(offset + instruction_length(first, second), stop)]
    return Bytes(data), len(data)


def _branch(inst: Instruction, offset: int, labels: dict[int, list[str]]) -> Inst:
    """The instruction, going to a label where one stands at its target."""
    name = target_field(inst.form)
    if name is None:
        return Inst(inst)
    names = labels.get(offset + 2 * inst[name])
    if names is None:
        return Inst(inst)
    position = inst.form.position[name]
    return Inst(replace(inst, values=(*inst.values[:position], 0, *inst.values[position + 1 :])), names[0])


def _data(image: Image) -> Iterator[Statement]:
    """The data with its labels, long runs of one byte as a fill."""
    labels = _labels(image, "data")
    bounds = sorted({*labels, 0, len(image.data)})
    for start, end in zip(bounds, [*bounds[1:], len(image.data)]):
        yield from map(Label, labels.get(start, ()))
        yield from _chunks(image.data[start:end])


def _chunks(data: bytes) -> Iterator[Statement]:
    position = 0
    for run in [*_RUN.finditer(data), None]:
        end = len(data) if run is None else run.start()
        for start in range(position, end, _ROW_BYTES):
            yield Bytes(data[start : min(start + _ROW_BYTES, end)])
        if run is not None:
            yield Splat(1, data[run.start()], run.end() - run.start())
            position = run.end()
