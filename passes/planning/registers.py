"""A pool of GPRs for code without spilling: registers are taken, given back, and their peak is remembered."""

from __future__ import annotations

from collections.abc import Iterable


class OutOfRegisters(Exception):
    """More values are live than there are registers."""


class RegisterPool:
    """Free registers, handed out in the order in which they were given; ``peak`` is the most in use at once."""

    def __init__(self, registers: Iterable[int]) -> None:
        self.free = list(registers)
        self.rank = {register: n for n, register in enumerate(self.free)}
        self.total = len(self.free)
        self.peak = 0

    def take(self) -> int:
        """A free register."""
        if not self.free:
            raise OutOfRegisters(f"more than {self.total} scalar values are live at once")
        register = self.free.pop(0)
        self.peak = max(self.peak, self.total - len(self.free))
        return register

    def give(self, register: int) -> None:
        """Return a register."""
        self.free.append(register)
        self.free.sort(key=self.rank.__getitem__)
