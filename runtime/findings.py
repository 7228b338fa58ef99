"""What a watch reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something about a run that deserves a look.

    ``harmful`` findings make results wrong or dependent on what nobody promises; the others are notes.
    ``bundle`` is the number of the block start as executed on its core, ``text`` the words of that block, ``source``
    the user's line, ``count`` how often the same block did the same.
    """

    kind: str
    message: str
    harmful: bool
    core: int = 0
    pe: int | None = None
    address: int | None = None
    bundle: int | None = None
    text: tuple[str, ...] = ()
    source: str | None = None
    count: int = 1

    def __str__(self) -> str:
        places = [f"bundle {self.bundle}" if self.bundle is not None else "", self.source or ""]
        where = ", ".join(place for place in places if place)
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.kind}: {self.message}{times}" + (f" [{where}]" if where else "")
