"""The text of instructions in the newest revision of the instruction set."""

from __future__ import annotations

from ptoc.isa.forms import Instruction
from ptoc.isa.revisions import NEWEST
from ptoc.isa.syntax import LabelOf, Parsed, TextError, raw_data, target_field

__all__ = [
    "LabelOf",
    "Parsed",
    "TextError",
    "canonical",
    "format_instruction",
    "parse_instruction",
    "raw_data",
    "target_field",
]

format_instruction = NEWEST.format
parse_instruction = NEWEST.parse


def canonical(inst: Instruction) -> bool:
    """Whether the text of the instruction gives its word back."""
    return NEWEST.text(inst) is not None
