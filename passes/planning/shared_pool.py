"""The Shared pool over time: which tiles of earlier work have to give their room back before other work starts.

A Shared tile stays until another one of its name replaces it. So what a product has loaded last is still charged while
the next one runs, unless a tile of one cell replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ptoc.isa.registers import CELL_BYTES, SHARED_POOL_BYTES

Sizes = Mapping[int, int]
"""Bytes of Shared tiles by name."""


def largest(*sizes: Sizes) -> dict[int, int]:
    """The most bytes that each name may hold where any of ``sizes`` may be the case."""
    return {name: max(each.get(name, 0) for each in sizes) for name in sorted({n for each in sizes for n in each})}


def fits(held: Sizes, loaded: Sizes) -> bool:
    """Whether ``loaded`` fits the pool in any order, each tile while its name still has what it held before."""
    return sum(largest(held, loaded).values()) <= SHARED_POOL_BYTES


def to_release(held: Sizes, loaded: Sizes, free: Iterable[int]) -> tuple[int, ...]:
    """The ``free`` names to replace by one cell so that ``loaded`` fits, those that give most; or all that give any."""
    held = dict(held)
    released = []
    gain = {name: held[name] - max(CELL_BYTES, loaded.get(name, 0)) for name in free}
    for name in sorted((n for n in gain if gain[n] > 0), key=lambda n: (-gain[n], n)):
        if fits(held, loaded):
            break
        held[name] = CELL_BYTES
        released.append(name)
    return tuple(released)
