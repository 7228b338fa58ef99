"""Assembly as data: what a program consists of before it has addresses."""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa.forms import Instruction
from ptoc.isa.image import SectionName


@dataclass(frozen=True, slots=True)
class Revision:
    """The program is of this revision of the instruction set; without one it is of the newest."""

    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Execution begins at this label, or where this stands; without one at the start of the code."""

    label: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """What follows goes into this section; a program begins in "text"."""

    name: SectionName


@dataclass(frozen=True, slots=True)
class Label:
    name: str


@dataclass(frozen=True, slots=True)
class Inst:
    """An instruction; with a ``target`` the encoder fills in the distance to that label."""

    instruction: Instruction
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """The code up to the next location comes from this source line."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Access:
    """The next block start belongs to the memory of this launch argument."""

    argument: int


@dataclass(frozen=True, slots=True)
class Splat:
    """``count`` little-endian integers of ``width`` bytes (1, 2, 4 or 8), all of one value."""

    width: int
    value: int
    count: int


@dataclass(frozen=True, slots=True)
class Iota:
    """``rows`` x ``cols`` integers ``start + r*row_step + c*col_step``, modulo 2^(8*width), row by row."""

    width: int
    start: int
    rows: int
    row_step: int
    cols: int
    col_step: int


@dataclass(frozen=True, slots=True)
class Bytes:
    data: bytes


@dataclass(frozen=True, slots=True)
class Align:
    """Zero bytes up to the next multiple of ``boundary`` in the section."""

    boundary: int


Statement = Revision | Entry | Section | Label | Inst | Location | Access | Splat | Iota | Bytes | Align
