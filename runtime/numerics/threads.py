"""Compiled products on more than one processor: the caller performs a product in parts, and helpers take some of them.

A helper watches for parts as long as products keep coming, and sleeps when none has come for a while. The caller never
waits for a helper to begin, only for one to finish what it has begun; where processors are busy, it does everything
itself. Helpers belong to the process and assist one caller at a time, so threads that simulate beside each other do not
wait for each other. A forked process starts without helpers and makes its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from ptoc.runtime.errors import SimulatorError

_MOST = 2
"""Threads without a setting; tiles are too small for more."""
_PATIENCE = 500
"""Looks for another part before a helper sleeps: longer than a program takes from one product to the next."""


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
        self._helpers: list[_Helper] = []
        self._board: Any = None

    def share(self, kernels: Any, *product: Any) -> bool:
        """Perform a product with ``kernels.share``; whether it was, since helpers may be assisting another caller."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if self._board is None:
                self._board = kernels.new_board()
                self._helpers = _helpers(self.size - 1, kernels.serve, self._board)
            for helper in self._helpers:
                if helper.asleep:
                    helper.wake()
            kernels.share(self._board, *product)
        finally:
            self._turn.release()
        return True


class _Helper:
    """A thread that serves a board whenever it is woken."""

    def __init__(self, serve: Callable[..., None], board: Any) -> None:
        self.asleep = True
        self._serve, self._board = serve, board
        self._bell = threading.Lock()
        self._bell.acquire()
        threading.Thread(target=self._work, name="ptoc-helper", daemon=True).start()

    def wake(self) -> None:
        self.asleep = False
        self._bell.release()

    def _work(self) -> None:
        while True:
            self._bell.acquire()
            self._serve(self._board, _PATIENCE)
            self.asleep = True


def _helpers(count: int, serve: Callable[..., None], board: Any) -> list[_Helper]:
    """New helpers; fewer where no thread can be started."""
    found: list[_Helper] = []
    try:
        while len(found) < count:
            found.append(_Helper(serve, board))
    except RuntimeError:
        pass
    return found


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
