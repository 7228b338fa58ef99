"""Ten million random bit patterns: decoding gives an instruction or nothing, and text gives the bytes back."""

import random
import time

import pytest

from ptoc.backend import assemble, disassemble
from ptoc.isa.encoding import FORMS, Field, Instruction, decode_word
from ptoc.isa.image import MAGIC

PATTERNS = 10_000_000
CHUNK = 1 << 16
BUDGET = 360.0


def legal(generator: random.Random, f: Field) -> int:
    if f.allowed is not None:
        return generator.choice(sorted(f.allowed))
    return generator.randrange(f.low, f.high + 1, f.step)


def nearly_legal(generator: random.Random) -> bytes:
    """A legal word with at most one bit changed: noise alone hardly ever decodes in the longer forms."""
    form = generator.choice(FORMS)
    word = Instruction(form, tuple(legal(generator, f) for f in form.fields)).encode()
    if generator.random() < 0.5:
        word ^= 1 << generator.randrange(8 * form.length)
    return word.to_bytes(form.length, "little")


def check(code: bytes) -> int:
    """Disassemble bare code and assemble it again; the number of patterns in it."""
    if code.startswith(MAGIC):
        return 0
    text = disassemble(code)
    assert assemble(text, raw=True) == code
    return text.count("\n")


def check_words(generator: random.Random, count: int) -> int:
    for length in (2, 4, 6, 8):
        noise = generator.randbytes(length * count)
        for start in range(0, len(noise), length):
            word = int.from_bytes(noise[start : start + length], "little")
            inst = decode_word(word, length)
            assert inst is None or inst.encode() == word
    return 4 * count


@pytest.mark.parametrize("seed", range(3))
def test_some_patterns(seed: int) -> None:
    generator = random.Random(seed)
    check(generator.randbytes(4 * CHUNK // 8))
    check(b"".join(nearly_legal(generator) for _ in range(2000)))
    check_words(generator, 2000)


@pytest.mark.slow
def test_ten_million_patterns() -> None:
    """Noise as code, legal words with flipped bits as code, and noise as words of every length."""
    generator = random.Random(0)
    start = time.process_time()
    seen = 0
    while seen < PATTERNS:
        seen += check(generator.randbytes(8 * CHUNK))
        seen += check(b"".join(nearly_legal(generator) for _ in range(CHUNK // 8)))
        seen += check_words(generator, CHUNK)
    spent = time.process_time() - start
    print(f"{seen} patterns in {spent:.0f} s")
    assert spent < BUDGET, f"{seen} patterns took {spent:.0f} s of processor time"
