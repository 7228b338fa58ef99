"""What the architecture leaves open, and one way to use it.

Open are the winner among stores of one bundle to the same place (lanes of a scatter, rows, PEs, nibbles), the order of
exchanges that meet, and the contents of undefined elements. By default the machine takes probe order and zeros; with a
``Freedom`` it takes what a seed gives. A program whose results depend on the seed relies on something that nobody
promises.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ptoc.runtime.memory import Bits, carrier


class Freedom:
    """Choices drawn from a seed, for one core.

    Seed 0 is the opposite of the default: orders are reversed and undefined bits are ones, so it alone shows every
    place with two different writers. All other seeds draw at random.
    """

    def __init__(self, seed: int, core: int = 0) -> None:
        self._random = np.random.default_rng((seed, core)) if seed else None

    def order(self, count: int) -> NDArray[np.int64]:
        """In which order ``count`` accesses happen that none of them may rely on."""
        if self._random is None:
            return np.arange(count)[::-1]
        return self._random.permutation(count)

    def undefined(self, count: int, bits: int) -> Bits:
        """``count`` elements of ``bits`` bits that have no value, so any."""
        if self._random is None:
            return np.full(count, (1 << bits) - 1, carrier(max(bits, 4)))
        return self._random.integers(0, (1 << bits) - 1, count, carrier(max(bits, 4)), endpoint=True)
