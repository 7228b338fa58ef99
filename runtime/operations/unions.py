"""The union of two rectangles at one corner: computed where both reach, copied where one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ptoc.runtime.memory import carrier
from ptoc.runtime.numerics import arithmetic
from ptoc.runtime.operations.common import require
from ptoc.runtime.operations.shaped import Bits, Given, Operation, Outcome


class Union(Operation):
    """One of TPARTADD, TPARTMUL, TPARTMAX and TPARTMIN; at least one source covers the whole result."""

    early = True

    def __init__(self, function: Callable[..., tuple[Bits, int]]) -> None:
        self._function = function

    def check(self, given: Given) -> None:
        require(given.bundle.attributes is None, f"{given.bundle.operation} takes no B.DATR")

    def check_sources(self, given: Given) -> None:
        whole = (given.rows, given.cols)
        shapes = given.shape(0), given.shape(1)
        require(all(r <= whole[0] and c <= whole[1] for r, c in shapes), "a source is larger than the result")
        require(whole in shapes, "no source covers the result")

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        left, right = given.bits(0), given.bits(1)
        rows, cols = (min(sizes) for sizes in zip(left.shape, right.shape))
        values = np.empty((given.rows, given.cols), carrier(given.dtype.bits))
        for source in sorted((left, right), key=np.size, reverse=True):
            values[: source.shape[0], : source.shape[1]] = source
        common, flags = self._function(given.dtype, left[:rows, :cols], right[:rows, :cols], given.up)
        values[:rows, :cols] = common
        return (Outcome(values),), flags


OPERATIONS: dict[str, Operation] = {
    "TPARTADD": Union(arithmetic.add),
    "TPARTMUL": Union(arithmetic.multiply),
    "TPARTMAX": Union(arithmetic.maximum),
    "TPARTMIN": Union(arithmetic.minimum),
}
