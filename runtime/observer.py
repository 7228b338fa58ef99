"""What can look on while a core runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ptoc.runtime.memory import Rectangle
from ptoc.runtime.outcome import Outcome
from ptoc.runtime.stores import Store

if TYPE_CHECKING:
    from ptoc.runtime.bundle import Bundle
    from ptoc.runtime.core import Core


class Observer:
    """Sees the bundles of one core; each method does nothing until an observer wants it.

    Observers read and never change. A core without any pays for an empty loop.
    """

    def loads(self, core: Core, bundle: Bundle, rectangles: Sequence[tuple[int, Rectangle]]) -> None:
        """The bundle reads these rectangles of memory, by PE; all checks have passed."""

    def gathers(
        self, core: Core, bundle: Bundle, addresses: Sequence[tuple[int, NDArray[np.uint64]]], nbytes: int
    ) -> None:
        """The bundle reads ``nbytes`` at each of these addresses of memory, by PE; all checks have passed."""

    def stores(self, core: Core, bundle: Bundle, stores: Sequence[Store]) -> None:
        """The bundle will now perform these stores; all checks have passed."""

    def completed(self, core: Core, bundle: Bundle) -> None:
        """The bundle's effects are all visible."""

    def ended(self, core: Core, outcome: Outcome) -> None:
        """The run is over."""
