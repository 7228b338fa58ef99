"""Encoding and decoding of instruction words in the newest revision of the instruction set."""

from __future__ import annotations

from ptoc.isa.forms import EncodingError, Field, Form, Instruction
from ptoc.isa.instruction_set import instruction_length
from ptoc.isa.revisions import NEWEST

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

FORMS: tuple[Form, ...] = NEWEST.forms
BY_KEY: dict[str, Form] = NEWEST.by_key

make = NEWEST.make
decode = NEWEST.decode
decode_word = NEWEST.decode_word
