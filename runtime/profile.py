"""Where the time of a run goes: by kind of work and by kind of bundle.

A profile looks at the call stack a thousand times a second and charges the time since its last look to what it finds.
Nothing in the simulator knows of it, so a run without one pays nothing, and a run with one little. The long calls of
numpy and of compiled kernels are charged in full, to the function that called them.
"""

from __future__ import annotations

import signal
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import FrameType

from ptoc.runtime.operations import execute

_RUNTIME = Path(__file__).parent
_PERIOD = 0.001
KINDS = ("kernels", "GM moves", "legality", "tiles", "interpreter", "launch")
"""Kinds of work.

``kernels`` are arithmetic and conversions; ``GM moves`` copy between arrays and tiles; ``legality`` is every
check and preparation of a bundle; ``tiles`` is what else a bundle does, publishing above all; ``interpreter`` is
fetching, decoding, headers and scalar code; ``launch`` is everything outside the machine.
"""

_FOLDERS = {"numerics": "kernels", "operations": "tiles"}
_FILES = {
    "blocks.py": "interpreter",
    "bundle.py": "interpreter",
    "decode.py": "interpreter",
    "header.py": "interpreter",
    "lanes.py": "interpreter",
    "processor.py": "interpreter",
    "scalar.py": "interpreter",
    "starts.py": "interpreter",
    "memory.py": "GM moves",
    "stores.py": "GM moves",
    "core.py": "tiles",
    "shared.py": "tiles",
    "tiles.py": "tiles",
}
_CHECKS = ("check", "_check", "_expect", "probe", "_probe", "prepare", "_prepare", "_plan", "_common", "_resolve")
_CHECKS_OF_MEMORY = ("holds", "_window_holds", "region_of", "_permits", "_one_region", "_mapped")


class Profile:
    """Shares of time: ``with Profile() as profile: machine.run()``, then ``profile.shares()`` or ``print(profile)``.

    It works in the main thread, where signals arrive, and uses the alarm signal.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        """Time by bundle (its operation, or ``-`` between bundles) and kind of work."""
        self._last = 0.0

    def __enter__(self) -> Profile:
        self._before = signal.signal(signal.SIGALRM, self._look)
        self._last = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, _PERIOD)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def shares(self) -> dict[str, float]:
        """The share of every kind of work, which add up to 1."""
        total = sum(self.seconds.values()) or 1.0
        found = dict.fromkeys(KINDS, 0.0)
        for (_, kind), seconds in self.seconds.items():
            found[kind] += seconds / total
        return found

    def __str__(self) -> str:
        """A table of percentages: a row per bundle kind, a column per kind of work."""
        total = sum(self.seconds.values()) or 1.0
        bundles: defaultdict[str, float] = defaultdict(float)
        for (bundle, _), seconds in self.seconds.items():
            bundles[bundle] += seconds
        lines = [f"{'percent of time':<16}" + "".join(f"{kind:>12}" for kind in (*KINDS, "all"))]
        for bundle, seconds in sorted(bundles.items(), key=lambda item: -item[1]):
            parts = [self.seconds.get((bundle, kind), 0.0) for kind in KINDS]
            lines.append(f"{bundle:<16}" + "".join(f"{100 * part / total:>12.1f}" for part in (*parts, seconds)))
        shares = [*self.shares().values(), sum(self.shares().values())]
        lines.append(f"{'all':<16}" + "".join(f"{100 * share:>12.1f}" for share in shares))
        return "\n".join(lines)

    def _look(self, number: int, frame: FrameType | None) -> None:
        now = time.perf_counter()
        self.seconds[_place(frame)] += now - self._last
        self._last = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, _PERIOD)


def _place(frame: FrameType | None) -> tuple[str, str]:
    """The bundle and the kind of work that a stack belongs to."""
    kind = ""
    while frame is not None:
        code = frame.f_code
        kind = kind or _kind(code.co_filename, code.co_name)
        if code is execute.__code__:
            return frame.f_locals["bundle"].operation.name, kind
        frame = frame.f_back
    return "-", kind or "launch"


@cache
def _kind(file: str, function: str) -> str:
    """What a function of the simulator does; nothing for other functions, which work for their callers."""
    path = Path(file)
    if not path.is_relative_to(_RUNTIME):
        return ""
    if function.startswith(_CHECKS) or function in _CHECKS_OF_MEMORY:
        return "legality"
    folder = path.parent.name
    if folder in _FOLDERS:
        return _FOLDERS[folder]
    return _FILES.get(path.name, "launch")
