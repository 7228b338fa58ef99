"""Encoding and decoding of instruction words, both from the tables of commands and scalar instructions."""

from __future__ import annotations

from functools import lru_cache

from ptoc.isa.commands import COMMANDS
from ptoc.isa.forms import EncodingError, Field, Form, Instruction
from ptoc.isa.scalars import SCALARS

__all__ = [
    "BY_KEY",
    "FORMS",
    "EncodingError",
    "Field",
    "Form",
    "Instruction",
    "decode",
    "decode_word",
    "instruction_length",
    "make",
]

FORMS: tuple[Form, ...] = COMMANDS + SCALARS
"""Every form; when two agree on a word the first one with allowed field values decodes it."""

BY_KEY: dict[str, Form] = {f.key: f for f in FORMS}

_LENGTHS = (2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 6, 8)
"""Bytes by the low four bits of the first halfword."""

_KEY_BITS = 7


def make(key: str, **values: int) -> Instruction:
    """The instruction of a form with the named field values; fields left out are 0.

    ``EncodingError`` for an unknown form or field and for a value the field cannot hold. Mind that 0 is
    not "none" everywhere: an unmodified operand of add, sub, and, or, xor has SrcRType 3.
    """
    form = BY_KEY.get(key)
    if form is None:
        raise EncodingError(f"no instruction form is called {key}")
    unknown = values.keys() - form.position.keys()
    if unknown:
        raise EncodingError(f"{key} has no field {', '.join(sorted(unknown))}")
    for f in form.fields:
        f.insert(values.get(f.name, 0))
    return Instruction(form, tuple(values.get(f.name, 0) for f in form.fields))


def instruction_length(first_halfword: int, second_halfword: int = 0) -> int:
    """Bytes of the instruction that starts with these halfwords: 2, 4, 6 or 8.

    The low four bits decide, except that C.BSTART DIRECT and a following C.SETRET are one BSTART.CALL.
    """
    if first_halfword & 0xF == 2 and second_halfword & 0xF83F == 0x5016:
        return 4
    return _LENGTHS[first_halfword & 0xF]


def _index() -> dict[tuple[int, int], tuple[Form, ...]]:
    """The forms that can match, by length and low bits of the word."""
    low = (1 << _KEY_BITS) - 1
    return {
        (length, key): tuple(f for f in FORMS if f.length == length and not (f.match ^ key) & f.mask & low)
        for length in (2, 4, 6, 8)
        for key in range(low + 1)
    }


_INDEX = _index()


@lru_cache(maxsize=1 << 16)
def decode_word(word: int, length: int) -> Instruction | None:
    """The instruction a word of ``length`` bytes encodes; ``None`` when it decodes to nothing."""
    for form in _INDEX.get((length, word & (1 << _KEY_BITS) - 1), ()):
        if word & form.mask == form.match:
            values = tuple(f.extract(word) for f in form.fields)
            if all(f.allowed is None or value in f.allowed for f, value in zip(form.fields, values)):
                return Instruction(form, values)
    return None


def decode(data: bytes, offset: int) -> Instruction | None:
    """The instruction at ``offset``; ``None`` when it does not decode or its bytes are not all there.

    Where the two differ, compare ``instruction_length`` with the bytes that are left.
    """
    first = int.from_bytes(data[offset : offset + 2], "little")
    second = int.from_bytes(data[offset + 2 : offset + 4], "little")
    length = instruction_length(first, second)
    if offset < 0 or offset + length > len(data):
        return None
    return decode_word(int.from_bytes(data[offset : offset + length], "little"), length)
