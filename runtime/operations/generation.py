"""Tiles made from scalars alone: consecutive integers, and the ones of a triangle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptoc.runtime.memory import carrier
from ptoc.runtime.numerics.fold import one
from ptoc.runtime.operations.common import require
from ptoc.runtime.operations.shaped import Given, Operation, Outcome

MAX_DIAGONAL = 65535


def signed(value: int) -> int:
    """A register as a signed number."""
    return value - (1 << 64) if value >> 63 else value


class Counting(Operation):
    """TCI: one row that counts up or down from the first scalar, modulo 2^width."""

    def check(self, given: Given) -> None:
        require(given.rows == 1, "a sequence has one row")
        require(given.scalars[1] in (0, 1), "the direction is 0 or 1")

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        steps = np.arange(given.cols, dtype=np.uint64)
        first = np.uint64(given.element)
        values = first - steps if given.scalars[1] else first + steps
        return (Outcome(values.astype(carrier(given.dtype.bits))[None, :]),), 0


class Triangle(Operation):
    """TTRI: ones below a diagonal (or above it) and on it."""

    def check(self, given: Given) -> None:
        require(abs(signed(given.scalars[0])) <= MAX_DIAGONAL, f"a diagonal is at most {MAX_DIAGONAL} away")
        require(given.scalars[1] in (0, 1), "the orientation is 0 or 1")

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        diagonal = np.arange(given.rows)[:, None] + signed(given.scalars[0])
        columns = np.arange(given.cols)
        inside = columns >= diagonal if given.scalars[1] else columns <= diagonal
        bits = carrier(given.dtype.bits)
        return (Outcome(np.where(inside, bits.type(one(given.dtype)), bits.type(0))),), 0


OPERATIONS: dict[str, Operation] = {"TCI": Counting(), "TTRI": Triangle()}
