"""Cutting the columns of a product into slots whose widths are powers of two.

Shared operands have power-of-two N, and the accumulators of a block rotate through a register ring by a fixed
distance. So every block of columns is cut into the same number of slots, also the last one, which may be narrower:
what it lacks in columns it makes up for with narrower slots. The widths of a block are computed as it runs: a first
width, then always the lowest set bit of what is left, but at most ``width``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

CELL_COLS = 8
"""Columns of a cell of B: narrower slots multiply padding."""


@dataclass(frozen=True, slots=True)
class Columns:
    """``total`` columns in blocks of ``block``, each cut into ``slots`` slots of at most ``width`` columns.

    ``first`` is the width of a block's first slot, ``last_first`` that of the last block's.
    """

    total: int
    block: int
    slots: int
    width: int
    first: int
    last_first: int

    @property
    def blocks(self) -> int:
        return -(-self.total // self.block)

    @property
    def issued(self) -> int:
        """Columns in whole cells."""
        full, last = (sum(-(-width // CELL_COLS) for width in self.widths(n)) for n in (0, self.blocks - 1))
        return CELL_COLS * (full * (self.blocks - 1) + last)

    @property
    def narrowest(self) -> int:
        """The narrowest slot."""
        return min(*self.widths(0), *self.widths(self.blocks - 1))

    def widths(self, block: int) -> list[int]:
        """The widths of the slots of one block."""
        left = min(self.block, self.total - block * self.block)
        found = [self.last_first if block == self.blocks - 1 else self.first]
        left -= found[0]
        while left:
            found.append(_lowest(left, self.width))
            left -= found[-1]
        return found


def _lowest(n: int, width: int) -> int:
    return min(width, n & -n)


def _slots(n: int, width: int) -> int:
    """The fewest slots that ``n`` columns are cut into."""
    return n // width + (n % width).bit_count()


def _first(n: int, width: int, slots: int) -> int | None:
    """A first width with which ``n`` columns take exactly ``slots`` slots; whole cells if possible."""
    widths = [1 << bit for bit in range(width.bit_length()) if 1 << bit <= n]
    fitting = [w for w in widths if 1 + _slots(n - w, width) == slots]
    return max(fitting, key=lambda w: (w >= CELL_COLS, w == _lowest(n, width), w), default=None)


@lru_cache(maxsize=1024)
def cut_columns(total: int, width: int, most: int) -> Columns | None:
    """The cut with the fewest blocks of at most ``most`` slots, then with the fewest slots and the least padding.

    ``None`` where there is none.
    """
    fewest = -(-total // (most * width))
    for blocks in range(fewest, fewest + 4):
        found = min(_cuts(total, width, most, blocks), key=lambda c: (c.slots, c.issued, -c.block), default=None)
        if found is not None:
            return found
    return None


def _cuts(total: int, width: int, most: int, blocks: int) -> Iterator[Columns]:
    if blocks == 1:
        if _slots(total, width) <= most:
            only = _lowest(total, width)
            yield Columns(total, total, _slots(total, width), width, only, only)
        return
    even = -(-total // (blocks * CELL_COLS)) * CELL_COLS
    for block in range(even, most * width + 1, CELL_COLS):
        last = total - (blocks - 1) * block
        slots = _slots(block, width)
        if last <= 0:
            return
        first = _first(last, width, slots) if slots <= most else None
        if first is not None:
            yield Columns(total, block, slots, width, _lowest(block, width), first)
