"""Damaged images and damaged assembly text: whatever happens to them must be an answer or an error of ours.

Run for a while: python tests/backend/fuzzing.py SECONDS [SEED]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from ptoc.backend import AssemblyError, assemble, disassemble
from ptoc.isa import REVISION
from ptoc.isa.encoding import FORMS
from ptoc.isa.image import Image, ImageError, pack, unpack
from ptoc.isa.reference import first_instruction
from ptoc.isa.revisions import RevisionError
from ptoc.isa.text import format_instruction

Case = TypeVar("Case", bytes, str)

SAMPLE = """\
# A loop over one block.
    .isa "{revision}"
.text
.entry start
first: c.bstop
.loc "kernel.py" 3 5
start:
    .access 1
    BSTART.TLOAD FP16; B.DIM LB0, 16       // two on a line
    B.IOT mask=1111, ->N<3>, open
    BSTOP
    .loc "größe \\"1\\".py" 4 1
    addi a2, 1, ->a2
    BSTART.STD COND, start; setc.ltu a2, a3; bstop
    j .+8
    .half 7; .word 0xffffffff, 1
.data
table: .iota 2, 10, 2, 100, 3, 1
    .fill 4, -1, 20
    .align 8
end:
    .byte 1, 0x2
"""
WORDS = ("{", "}", "[", "]", "<<", "->", ",", ";", ":", '"', "//", "#", ".", "-", "0x", "last", "open", "\\u0000",
         "9" * 50, "é", "\t", "\r", "\n", "T#1", ".isa", ".entry",
         ".fill 1, 0, 100", ".iota 8, 1, 2, 3, 4, 5")  # fmt: skip


def texts() -> list[str]:
    """What is damaged: a text with every directive, and one with every form."""
    every = "\n".join(format_instruction(first_instruction(form)) for form in FORMS)
    return [SAMPLE.format(revision=REVISION), every]


def images() -> list[bytes]:
    empty = pack(Image(b""))
    return [empty, *map(assemble, texts())]


def damaged_bytes(generator: random.Random, samples: Sequence[bytes]) -> bytes:
    data = bytearray(generator.choice(samples))
    for _ in range(generator.choice((1, 1, 2, 4, 16))):
        at = generator.randrange(len(data) + 1)
        kind = generator.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << generator.randrange(8)
        elif kind == 1:
            data[at : at + 1] = generator.randbytes(1)
        elif kind == 2:
            value = generator.choice((0, 1, -1, 1 << 31, (1 << 63) - 1, len(data), len(data) - 1)) % (1 << 64)
            width = generator.choice((2, 4, 8))
            data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
        elif kind == 3:
            del data[at : at + generator.randrange(1, 64)]
        elif kind == 4:
            other = generator.choice(samples)
            start = generator.randrange(len(other) + 1)
            data[at:at] = other[start : start + generator.randrange(64)]
        else:
            del data[at:]
    return bytes(data)


def damaged_text(generator: random.Random, samples: Sequence[str]) -> str:
    lines = generator.choice(samples).split("\n")
    for _ in range(generator.choice((1, 1, 2, 4, 16))):
        number = generator.randrange(len(lines))
        line = lines[number]
        at = generator.randrange(len(line) + 1)
        kind = generator.randrange(6)
        if kind == 0:
            lines[number] = line[:at] + generator.choice(WORDS) + line[at:]
        elif kind == 1:
            lines[number] = line[:at] + line[at + generator.randrange(1, 5) :]
        elif kind == 2:
            lines[number] = line[:at] + chr(generator.randrange(0x250)) + line[at + 1 :]
        elif kind == 3:
            lines[number] = line[:at] + generator.choice(generator.choice(samples).split("\n"))
        elif kind == 4:
            lines.insert(generator.randrange(len(lines)), line)
        else:
            lines.insert(generator.randrange(len(lines)), lines.pop(number))
    return "\n".join(lines)


def try_image(data: bytes) -> bool:
    """Read an image; one that is read is printed, and what assembles again has the same code and data."""
    try:
        image = unpack(data)
        text = disassemble(data, source=True)
    except (ImageError, RevisionError):
        return False
    try:
        again = unpack(assemble(text))
    except AssemblyError as error:
        # Text cannot give one label to two places, which an image can.
        assert all("is defined twice" in problem.message for problem in error.problems), error
        return True
    assert (again.code, again.data, again.entry) == (image.code, image.data, image.entry)
    return True


def try_text(text: str) -> bool:
    """Assemble a text; what assembles is an image that survives text."""
    try:
        image = assemble(text)
    except AssemblyError as error:
        assert error.problems and all(problem.line >= 1 and problem.column >= 1 for problem in error.problems)
        return False
    assert assemble(disassemble(image)) == image
    return True


def fuzz(seconds: float, seed: int) -> dict[str, int]:
    """Damage and try for so long; how many cases there were, and how many of them were good all the same."""
    generator = random.Random(seed)
    all_texts, all_images = texts(), images()
    counts = dict.fromkeys(("images", "good images", "texts", "good texts"), 0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data, text = damaged_bytes(generator, all_images), damaged_text(generator, all_texts)
        for what, good in (("images", _told(try_image, data)), ("texts", _told(try_text, text))):
            counts[what] += 1
            counts[f"good {what}"] += good
    return counts


def _told(attempt: Callable[[Case], bool], case: Case) -> bool:
    """Try a case; if that fails, say with what."""
    try:
        return attempt(case)
    except Exception as error:
        error.add_note(f"with {case!r}")
        raise


if __name__ == "__main__":
    print(fuzz(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
