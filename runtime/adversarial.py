"""Does a program depend on what the architecture leaves open? Run it again, with that used otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ptoc.runtime.findings import Finding
from ptoc.runtime.memory import Region

if TYPE_CHECKING:
    from ptoc.runtime.machine import Machine


def order_dependence(
    first: Machine, again: Iterable[tuple[int, Machine]], max_steps: int | None = None
) -> Iterator[Finding]:
    """Run copies of a machine under other seeds and yield where their memory differs from that of ``first``.

    ``first`` has run with a watch; ``again`` are seeds with machines in the state that it started from.
    """
    for seed, machine in again:
        outcome = machine.run(max_steps)
        if outcome.status != first.ended.status:
            message = f"with seed {seed} the run ends as {outcome.status}, not {first.ended.status}"
            yield Finding("order-dependent", message, True, outcome.core, None, None, outcome.bundle)
        for one, other in zip(first.memory.regions, machine.memory.regions):
            yield from _differences(first, one, other, seed)


def _differences(first: Machine, one: Region, other: Region, seed: int) -> Iterator[Finding]:
    """One finding per bundle that wrote bytes of a region which came out differently."""
    bytes_ = np.flatnonzero(one.data != other.data)
    if not len(bytes_):
        return
    place = f" of {one.name}" if one.name else ""
    for processor, writers in first.writers():
        marks = writers.of(one)[bytes_]
        for number in map(int, np.unique(marks[marks != 0])):
            own = bytes_[marks == number]
            writer = writers.known[number]
            assert writer is not None
            text, source = processor.described(writer.address)
            address = one.address + int(own[0])
            message = f"{len(own)} bytes{place} from {address:#x} differ with seed {seed}"
            yield Finding(
                "order-dependent", message, True, processor.core.number, writer.pe, address, writer.bundle, text, source
            )
