"""Element bits that find mistakes: specials, their neighbours, numbers near each other, and anything."""

from __future__ import annotations

import random

from reference.arithmetic import FORMATS, INFINITY, LARGEST, NAN, one, sign_bit
from reference.values import MUST_BE_ZERO, bits_of, class_of


def valid(name: str, bits: int) -> int:
    """The nearest lower valid encoding."""
    return bits % 2 ** bits_of(name) & ~MUST_BE_ZERO.get(name, 0)


def specials(name: str) -> list[int]:
    """Zeros, ones, limits, NaNs and infinities of a type, and the codes next to them."""
    width = bits_of(name)
    near = [0, 1, 2, 3, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    if class_of(name) == "floating":
        unit = MUST_BE_ZERO.get(name, 0) + 1 if width > 8 else 1
        fixed = [LARGEST.get(name, 0), NAN.get(name, 0), INFINITY.get(name, 0)]
        fixed += [one(name)] if name not in ("HiF8", "E8M0") else [8, 127]
        fixed += [1 << FORMATS[name][0]] if name in FORMATS else []
        near += [x + unit * d for x in fixed for d in (-1, 0, 1)]
        near += [x ^ sign_bit(name) for x in near] if name != "E8M0" else []
    return sorted({valid(name, x) for x in near})


def element(rng: random.Random, name: str) -> int:
    """A valid element: a special one, a moderate number, or any bits."""
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(specials(name))
    width = bits_of(name)
    if kind < 0.65 and class_of(name) == "floating" and width >= 16:
        return valid(name, one(name) + (rng.randint(-3, 3) << (width - 10)) + rng.getrandbits(width - 9))
    if kind < 0.65 and width >= 16:
        return rng.randint(-9, 9) % 2**width
    return valid(name, rng.getrandbits(width))
