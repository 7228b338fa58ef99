"""What the checker has to say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class WrongProgram(Exception):
    """A program that does not do what its kernel demands: a mistake of the compiler.

    ``bundle`` is the text of the bundle where it shows (empty where none does), ``where`` its source: file, line and
    column. ``machine`` says which core, and of how many.
    """

    message: str
    bundle: str = ""
    where: tuple[str, int, int] | None = None
    machine: str = ""

    def __str__(self) -> str:
        return self.message + (f" (on {self.machine})" if self.machine else "")
