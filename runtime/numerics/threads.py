"""Compiled loops on more than one processor: the caller works through a list of tasks, and helpers take some of them.

The caller never waits for a helper to begin, only for one to finish what it has begun; where processors are busy, it
does everything itself. Helpers belong to the process and assist one caller at a time, so threads that simulate beside
each other do not wait for each other. A forked process starts without helpers and makes its own.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from ptoc.runtime.errors import SimulatorError

Task = Callable[[], None]
_MOST = 2
"""Threads without a setting; tiles are too small for more."""


def allowed() -> int:
    """How many threads one product may use: ``PTOC_THREADS``, or as many as there are processors up to two."""
    setting = os.environ.get("PTOC_THREADS", "")
    if not setting:
        return min(_MOST, os.cpu_count() or 1)
    if not setting.isdecimal() or int(setting) < 1:
        raise SimulatorError(f"PTOC_THREADS is a number of threads, 1 or more, and not {setting!r}")
    return int(setting)


class Team:
    """The caller's thread and its helpers, which start when they are first needed."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._turn = threading.Lock()
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._helpers = 0

    def run(self, tasks: Iterable[Task]) -> None:
        """Perform all tasks, in any order; an error of one comes out, and then others may not have begun."""
        left = deque(tasks)
        if self.size == 1 or not self._turn.acquire(blocking=False):
            _work(left)
            return
        calls = [_Call(left) for _ in range(self._helping())]
        try:
            for call in calls:
                self._calls.put(call)
            _work(left)
        finally:
            left.clear()
            for call in calls:
                with call.busy:
                    pass
            self._turn.release()
        for call in calls:
            if call.error is not None:
                raise call.error

    def _helping(self) -> int:
        """How many helpers there are; fewer where no thread can be started."""
        try:
            while self._helpers < self.size - 1:
                threading.Thread(target=_help, args=(self._calls,), name="ptoc-helper", daemon=True).start()
                self._helpers += 1
        except RuntimeError:
            pass
        return self._helpers


class _Call:
    """Tasks that one helper may take from; it is ``busy`` while it does."""

    def __init__(self, left: deque[Task]) -> None:
        self.left = left
        self.busy = threading.Lock()
        self.error: BaseException | None = None


def _help(calls: SimpleQueue[_Call]) -> None:
    while True:
        call = calls.get()
        with call.busy:
            try:
                _work(call.left)
            except BaseException as error:
                call.error = error
        del call


def _work(left: deque[Task]) -> None:
    while True:
        try:
            task = left.popleft()
        except IndexError:
            return
        task()


_team: Team | None = None


def team() -> Team:
    """The team of this process."""
    global _team
    if _team is None:
        _team = Team(allowed())
    return _team


def work_alone() -> None:
    """From now on this process uses one thread: others like it keep the processors busy."""
    global _team
    _team = Team(1)


def _forget() -> None:
    """In a new process: the helpers stayed behind in the old one."""
    global _team
    if _team is not None:
        _team = Team(_team.size)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
