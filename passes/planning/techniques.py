"""What a plan may do; to say no to one of these measures what it is worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Techniques:
    """The techniques that plans use; the defaults are what the compiler does.

    ``rotation``: a hand holds several accumulators; without it one. ``residency``: the last piece of A may stay in
    Shared storage for all blocks of columns. Plans without these can be emitted. The others are for costs alone:
    without ``shared_a`` every PE keeps its rows of a piece of A in Local tiles for all slots, at the same traffic;
    without ``shared_b`` every PE reads each piece of B. With ``double_buffering`` the Shared tiles of streamed pieces
    have two names in turn, so that one is loaded while the other is read.
    """

    rotation: bool = True
    residency: bool = True
    shared_a: bool = True
    shared_b: bool = True
    double_buffering: bool = False

    @property
    def operand_hands(self) -> int:
        """Hands that Local tiles of otherwise Shared operands take from the accumulators."""
        return (not self.shared_a) + (not self.shared_b)


ALL = Techniques()
"""What the compiler does."""
