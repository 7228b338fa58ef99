"""Cutting the columns of a product into slots whose widths are powers of two.

Shared operands have power-of-two N, and the accumulators of a block rotate through a register ring by a fixed
distance. So every block of columns is cut into the same number of slots, also the last one, which may be narrower:
what it lacks in columns it makes up for with narrower slots. The widths of a block are computed as it runs: a first
width, then always the lowest set bit of what is left, but at most ``width``.

Columns behind the last whole cell would be slots of one, two or four columns in a cell each. Instead the last slot may
start early, so that it fills its cells: what it shares with the slot before is computed twice, to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

CELL_COLS = 8
"""Columns of a cell of B: narrower slots multiply padding."""


@dataclass(frozen=True, slots=True)
class Columns:
    """``total`` columns in blocks of ``block``, each cut into ``slots`` slots of at most ``width`` columns.

    ``first`` is the width of a block's first slot, ``last_first`` that of the last block's. The last slot of all shares
    ``overlap`` columns with the slot before it, which is one of the same block.
    """

    total: int
    block: int
    slots: int
    width: int
    first: int
    last_first: int
    overlap: int = 0

    @property
    def moved(self) -> int:
        """Columns of all slots, those that two of them share counted twice."""
        return self.total + self.overlap

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
        left = min(self.block, self.moved - block * self.block)
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


def _first(n: int, width: int, slots: int, unit: int) -> int | None:
    """A first width with which ``n`` columns take exactly ``slots`` slots; whole cells if possible."""
    widths = [1 << bit for bit in range(width.bit_length()) if unit <= 1 << bit <= n]
    fitting = [w for w in widths if 1 + _slots(n - w, width) == slots]
    return max(fitting, key=lambda w: (w >= CELL_COLS, w == _lowest(n, width), w), default=None)


@lru_cache(maxsize=1024)
def cut_columns(total: int, width: int, most: int, unit: int = 1) -> Columns | None:
    """The cut with the fewest blocks of at most ``most`` slots, then with the fewest slots and the least padding.

    All slots begin and end at multiples of ``unit``, a power of two. ``None`` where there is no such cut.
    """
    if total % unit or width % unit:
        return None
    fewest = -(-total // (most * width))
    # Slots that cannot become narrower make up for nothing: in the end each is a block of its own.
    for blocks in range(fewest, fewest + 4 if unit == 1 else total // unit + 1):
        cuts = [*_cuts(total, width, most, blocks, unit), *_overlapping_cuts(total, width, most, blocks, unit)]
        found = min(cuts, key=lambda c: (c.slots, c.issued, c.overlap, -c.block), default=None)
        if found is not None:
            return found
    return None


def _overlapping_cuts(total: int, width: int, most: int, blocks: int, unit: int) -> Iterator[Columns]:
    overlap = -total % CELL_COLS
    cells = total + overlap
    cuts = [*_cuts(cells, width, most, blocks, unit)] if overlap else []
    if overlap and blocks == 1 and _slots(cells, width) == 1 and most > 1:
        cuts = [Columns(cells, cells, 2, width, cells // 2, cells // 2)]
    for columns in cuts:
        # What overlaps is in one block, where all sums start before any is stored: C may be the result's own memory.
        if columns.slots > 1 and min(columns.widths(columns.blocks - 1)[-2:]) >= overlap:
            yield replace(columns, total=total, overlap=overlap)


def _cuts(total: int, width: int, most: int, blocks: int, unit: int = 1) -> Iterator[Columns]:
    if blocks == 1:
        if _slots(total, width) <= most:
            only = _lowest(total, width)
            yield Columns(total, total, _slots(total, width), width, only, only)
        return
    step = max(unit, CELL_COLS)
    even = -(-total // (blocks * step)) * step
    for block in range(even, most * width + 1, step):
        last = total - (blocks - 1) * block
        slots = _slots(block, width)
        if last <= 0:
            return
        first = _first(last, width, slots, unit) if slots <= most else None
        if first is not None:
            yield Columns(total, block, slots, width, _lowest(block, width), first)
