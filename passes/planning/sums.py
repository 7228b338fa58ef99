"""Cutting the sums of a product into pieces: one bundle adds one piece to one accumulator, in ascending order."""

from __future__ import annotations

from dataclasses import dataclass

LONG_SUM = 256
"""Products from which on a sum has a loop, whatever fits: then its code is that of every longer sum."""


@dataclass(frozen=True, slots=True)
class SumSchedule:
    """The pieces of a sum, each as its first k and its depth, in the order in which they are added.

    ``first`` starts the sums when nothing else does; ``start`` to ``stop`` are full pieces of ``step`` in a loop;
    ``middle`` follows; with ``last`` the sums are complete and leave the registers.
    """

    step: int
    first: tuple[int, int] | None
    start: int
    stop: int
    middle: tuple[tuple[int, int], ...]
    last: tuple[int, int]

    def pieces(self) -> list[tuple[int, int]]:
        """All pieces in order."""
        loop = [(k, self.step) for k in range(self.start, self.stop, self.step)]
        return [*([self.first] if self.first else []), *loop, *self.middle, self.last]


def floor_power_of_two(n: int) -> int:
    """The largest power of two that is at most ``n``."""
    return 1 << (n.bit_length() - 1)


def deepest_piece(k: int, *, started: bool) -> int:
    """The deepest full piece of a sum: a long one is cut so that its loop exists, whose pieces are the code of any."""
    return k if k < LONG_SUM else k // (2 if started else 3)


def shared_sum(start: int, stop: int, step: int, *, started: bool, resident: int = 0) -> SumSchedule:
    """Cut products ``start`` to ``stop`` into full pieces of ``step`` and powers of two; the last is ``resident`` deep.

    Shared operands have power-of-two K. ``started`` sums have a C, or a piece in front of these.
    """
    full, rest = divmod(stop - start - resident, step)
    tail = [1 << bit for bit in reversed(range(rest.bit_length())) if rest >> bit & 1]
    first: list[int] = []
    behind = [*tail, resident] if resident else tail
    if not behind:
        full, behind = full - 1, [step]
    if not started and full:
        if resident and len(tail) == 1:
            # The sums start with the odd piece, which behind the loop would have code of its own.
            first, behind = tail, [resident]
        else:
            first, full = [step], full - 1
    elif not started and len(behind) > 1:
        first, behind = behind[:1], behind[1:]
    return _schedule(start, step, first, full, behind)


def local_sum(k: int, step: int, *, started: bool) -> SumSchedule:
    """Cut ``k`` products into full pieces of ``step`` and whatever is left; Local operands have any K."""
    full = (k - 1) // step
    behind = [k - full * step]
    first = [step] if full and not started else []
    return _schedule(0, step, first, full - len(first), behind)


def _schedule(start: int, step: int, first: list[int], full: int, behind: list[int]) -> SumSchedule:
    loop = start + sum(first)
    end = loop + full * step
    peeled = [(end + sum(behind[:n]), depth) for n, depth in enumerate(behind)]
    return SumSchedule(step, (start, first[0]) if first else None, loop, end, tuple(peeled[:-1]), peeled[-1])
