"""What an encoding is made of: fields, forms (one row of the encoding tables) and instructions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["command", "scalar"]
Tier = Literal["needed", "core", "extra", "later", "reserved"]


class EncodingError(ValueError):
    """A value that the encoding cannot express, or a field or label that does not exist."""


def _ranges(values: Iterable[int]) -> str:
    """Sorted values as text, runs shortened: ``0..14, 16, 31``."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ", ".join(str(low) if low == high else f"{low}..{high}" for low, high in runs)


@dataclass(frozen=True, slots=True)
class Field:
    """The free bits of a form that hold one value.

    ``pieces`` are ``(instruction lsb, value lsb, width)``; ``allowed`` is the set of legal values when it is
    smaller than what the bits can hold. The rest follows from them: ``width`` counts the bits of the value,
    uncoded low ones included, every value is a multiple of ``step``, and ``low`` and ``high`` are the smallest
    and the largest value that the bits can hold.
    """

    name: str
    pieces: tuple[tuple[int, int, int], ...]
    signed: bool = False
    allowed: frozenset[int] | None = None
    width: int = field(init=False, repr=False)
    step: int = field(init=False, repr=False)
    low: int = field(init=False, repr=False)
    high: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        width = max(at + bits for _, at, bits in self.pieces)
        step = 1 << min(at for _, at, _ in self.pieces)
        low, end = (-1 << width - 1, 1 << width - 1) if self.signed else (0, 1 << width)
        for name, value in (("width", width), ("step", step), ("low", low), ("high", end - step)):
            object.__setattr__(self, name, value)

    @property
    def bits(self) -> int:
        """The instruction bits the field takes, as a mask."""
        return self._spread(-1)

    def extract(self, word: int) -> int:
        """The value in an instruction word."""
        value = 0
        for lsb, at, width in self.pieces:
            value |= (word >> lsb & (1 << width) - 1) << at
        if self.signed and value > self.high:
            value -= 1 << self.width
        return value

    def accepts(self, value: int) -> bool:
        if self.allowed is not None and value not in self.allowed:
            return False
        return self.low <= value <= self.high and value % self.step == 0

    def insert(self, value: int) -> int:
        """The instruction bits that hold ``value``; ``EncodingError`` when the field cannot."""
        if not self.accepts(value):
            raise EncodingError(f"{self.name} = {value}, must be {self.legal}")
        return self._spread(value)

    @property
    def legal(self) -> str:
        """The legal values in words."""
        if self.allowed is not None:
            return f"one of {_ranges(self.allowed)}"
        multiple = "" if self.step == 1 else f" in multiples of {self.step}"
        return f"{self.low}..{self.high}{multiple} ({self.width} bits)"

    def _spread(self, value: int) -> int:
        word = 0
        for lsb, at, width in self.pieces:
            word |= (value >> at & (1 << width) - 1) << lsb
        return word


def bits(name: str, lsb: int, width: int, *, signed: bool = False, allowed: Iterable[int] | None = None) -> Field:
    """A field of adjacent bits."""
    return Field(name, ((lsb, 0, width),), signed, None if allowed is None else frozenset(allowed))


@dataclass(frozen=True, slots=True)
class Form:
    """One row of the encoding tables; ``key`` names it uniquely and alone decides equality.

    ``length`` is in bytes. A word is of the form when ``word & mask == match`` and every field holds an
    allowed value. ``syntax`` are the text templates (see ``ptoc.isa.syntax``). Forms of tier "reserved" decode
    but always raise IllegalInstruction.
    """

    key: str
    mnemonic: str = field(compare=False)
    length: int = field(compare=False)
    mask: int = field(compare=False)
    match: int = field(compare=False)
    fields: tuple[Field, ...] = field(compare=False)
    kind: Kind = field(compare=False)
    tier: Tier = field(compare=False)
    syntax: tuple[str, ...] = field(compare=False)
    position: dict[str, int] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.key


def form(
    key: str,
    length: int,
    match: int,
    fields: tuple[Field, ...] = (),
    *syntax: str,
    kind: Kind,
    tier: Tier,
    mnemonic: str = "",
) -> Form:
    """A form whose fixed bits are all those that no field takes; the mnemonic is the key unless given."""
    mask = (1 << 8 * length) - 1
    for f in fields:
        mask &= ~f.bits
    position = {f.name: i for i, f in enumerate(fields)}
    return Form(key, mnemonic or key, length, mask, match, fields, kind, tier, syntax, position)


@dataclass(frozen=True, slots=True)
class Instruction:
    """A form with the values of its fields, in the order of ``form.fields``."""

    form: Form
    values: tuple[int, ...]

    def __getitem__(self, name: str) -> int:
        """The value of a field; ``KeyError`` when the form has none of that name."""
        return self.values[self.form.position[name]]

    @property
    def key(self) -> str:
        return self.form.key

    @property
    def length(self) -> int:
        """Bytes of the encoding: 2, 4, 6 or 8."""
        return self.form.length

    def encode(self) -> int:
        """The instruction word; ``EncodingError`` when a value is out of range."""
        word = self.form.match
        for f, value in zip(self.form.fields, self.values):
            word |= f.insert(value)
        return word

    def to_bytes(self) -> bytes:
        return self.encode().to_bytes(self.form.length, "little")

    def __repr__(self) -> str:
        values = "".join(f", {f.name}={value}" for f, value in zip(self.form.fields, self.values))
        return f"<{self.form.key}{values}>"
