"""What a pass raises when a kernel cannot be compiled; the front end turns it into an error for users."""

from __future__ import annotations

from typing import NoReturn

from xdsl.ir import Operation

from ptoc.dialects.parsing import source_of


class Diagnostic(Exception):
    """A kernel that this compiler rejects.

    ``where`` is (file, line, column) of the kernel's source when the operation knows it, and ``op`` that operation;
    ``rule`` names what was broken, as ``ptoc.rules`` lists it, ``hint`` says what to do. ``others`` are further
    rejects of the same pass.
    """

    def __init__(
        self,
        message: str,
        *,
        where: tuple[str, int, int] | None = None,
        op: Operation | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.op = op
        self.rule = rule
        self.hint = hint
        self.others: list[Diagnostic] = []


def reject(op: Operation, message: str, *, rule: str | None = None, hint: str | None = None) -> NoReturn:
    """Raise a ``Diagnostic`` that points at the source of ``op``."""
    raise Diagnostic(message, where=source_of(op), op=op, rule=rule, hint=hint)
