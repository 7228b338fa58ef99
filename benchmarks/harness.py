"""Measuring: two sides in turns, ratios of each turn, and reports of them.

The machine is never quiet, so what counts is the ratio of two things that ran right after each other. A ratio is the
median over all turns; its spread is that of the quartiles.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Action = Callable[[], object]
PAIRS = 7


@dataclass(frozen=True)
class Sample:
    """Measured values: their median and quartiles."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high, len(values))

    @classmethod
    def exactly(cls, value: float) -> Sample:
        """A value that has no spread."""
        return cls(value, value, value, 1)

    def __str__(self) -> str:
        if self.count == 1:
            return f"{self.median:,}" if isinstance(self.median, int) else f"{self.median:.3f}"
        return f"{self.median:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class Row:
    """One line of a report: a value, and the limit that it must not exceed, or the least that it must reach."""

    what: str
    value: Sample
    unit: str
    limit: float | None = None
    least: float | None = None

    @property
    def holds(self) -> bool:
        within = self.limit is None or self.value.median <= self.limit
        return within and (self.least is None or self.value.median >= self.least)

    def __str__(self) -> str:
        text = f"  {self.what:<58} {self.value!s:>26} {self.unit}"
        verdict = "holds" if self.holds else "MISSED"
        if self.limit is not None:
            return f"{text}  at most {self.limit:g}: {verdict}"
        return text if self.least is None else f"{text}  at least {self.least:g}: {verdict}"


@dataclass
class Report:
    """What one topic measured, printed as it comes."""

    topic: str
    pairs: int = PAIRS
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def compare(self, what: str, ours: Action, theirs: Action, limit: float | None = None, *, times: int = 1) -> None:
        """The ratio of two actions that run in turns; a turn runs ours once and theirs ``times`` times."""
        ratios, mine, other = [], [], []
        ours(), theirs()
        for n in range(self.pairs):
            sides = [(mine, ours, 1), (other, theirs, times)]
            for found, action, repeats in sides if n % 2 else sides[::-1]:
                found.append(seconds(action, repeats))
            ratios.append(mine[-1] / other[-1])
        self.add(Row(what, Sample.of(ratios), "x", limit))
        self.note(f"    {milliseconds(mine)} against {milliseconds(other)}")

    def measure(self, what: str, action: Action, unit: str, scale: float, limit: float | None = None) -> None:
        """The time of an action, multiplied by ``scale``."""
        action()
        self.add(Row(what, Sample.of([scale * seconds(action) for _ in range(self.pairs)]), unit, limit))

    def exactly(
        self, what: str, value: float, unit: str, *, at_most: float | None = None, at_least: float | None = None
    ) -> None:
        """A value that is the same every time."""
        self.add(Row(what, Sample.exactly(value), unit, at_most, at_least))

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(row, flush=True)

    def note(self, text: str) -> None:
        self.notes.append(text.strip())
        print(text, flush=True)

    @property
    def holds(self) -> bool:
        return all(row.holds for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        rows = [asdict(row) | {"holds": row.holds} for row in self.rows]
        return {"topic": self.topic, "holds": self.holds, "rows": rows, "notes": self.notes}


def seconds(action: Action, repeats: int = 1) -> float:
    """The time of one of so many repeats."""
    gc.collect()
    start = time.perf_counter()
    for _ in range(repeats):
        action()
    return (time.perf_counter() - start) / repeats


def milliseconds(times: Sequence[float]) -> str:
    return f"{Sample.of([1e3 * t for t in times])} ms"
