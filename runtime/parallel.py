"""Cores in worker processes.

Workers are forks of this process, so they have program, registers and tiles already; memory that can be written is
moved to pages which all of them share, and comes back when every core is done. The pages have no name, so nothing is
left behind however a run ends.
"""

from __future__ import annotations

import mmap
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptoc.runtime.errors import SimulatorError
from ptoc.runtime.memory import Memory
from ptoc.runtime.numerics import threads
from ptoc.runtime.outcome import Outcome
from ptoc.runtime.processor import Processor


@dataclass(frozen=True)
class _Ended:
    """How a core ended in its worker: an outcome or an error, and its state."""

    outcome: Outcome | None
    error: SimulatorError | None
    state: dict[str, Any]


_inherited: list[Processor] = []
"""The processors that a worker was forked with."""


def available() -> bool:
    """Whether this system can fork."""
    return "fork" in multiprocessing.get_all_start_methods()


def run_in_workers(
    processors: list[Processor], memory: Memory, max_steps: int | None, jobs: int
) -> list[Outcome | SimulatorError]:
    """Run every core in one of ``jobs`` processes; as if they had run one after the other here.

    ``SimulatorError`` when a worker dies; memory and processors are then as before.
    """
    shared = _shared(memory)
    for processor in processors:
        processor.core.memory = shared
    try:
        with ProcessPoolExecutor(
            min(jobs, len(processors)),
            mp_context=multiprocessing.get_context("fork"),
            initializer=_begin,
            initargs=(processors,),
        ) as pool:
            ended = list(pool.map(_run, range(len(processors)), [max_steps] * len(processors)))
    except BrokenProcessPool:
        raise SimulatorError("a worker process was killed; memory is as before the run") from None
    finally:
        for processor in processors:
            processor.core.memory = memory
    for own, region in zip(memory.regions, shared.regions):
        if own.data is not region.data:
            own.data[:] = region.data
    results: list[Outcome | SimulatorError] = []
    for processor, end in zip(processors, ended):
        processor.restore(end.state)
        result = end.outcome or end.error
        assert result is not None
        results.append(result)
    return results


def _begin(processors: list[Processor]) -> None:
    """In a worker, before its first core: the other workers use the other processors."""
    _inherited.extend(processors)
    threads.work_alone()


def _run(number: int, max_steps: int | None) -> _Ended:
    """In a worker: run one of the inherited cores."""
    processor = _inherited[number]
    try:
        return _Ended(processor.run(max_steps), None, processor.state())
    except SimulatorError as error:
        return _Ended(None, error, processor.state())


def _shared(memory: Memory) -> Memory:
    """The same regions; those that can be written lie in pages which forks share."""
    shared = Memory()
    for region in memory.regions:
        data = region.data
        if region.writable:
            data = np.frombuffer(mmap.mmap(-1, len(data)), np.uint8)
            data[:] = region.data
        shared.map(region.address, data, writable=region.writable, name=region.name)
    return shared
