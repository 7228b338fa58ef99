"""The launch convention, as ``docs/abi.md`` states it: which register holds what when a program starts.

Compiler and launcher both read it from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptoc.isa.registers import GPR

ARGUMENT_REGISTERS: tuple[int, ...] = tuple(GPR[f"a{n}"] for n in range(8))
"""Addresses of the first to eighth array, the same on all PEs."""

ARENA_REGISTER = GPR["a0"]
"""Address of the first array, from which the others are reached as well."""

PE_REGISTER = GPR["x0"]
CORE_REGISTER = GPR["x1"]
CORES_REGISTER = GPR["x2"]
DATA_REGISTER = GPR["x3"]
"""Address of the copy of the image's data section."""

ALIGNMENT = 4096
"""Every array starts at a multiple of this many bytes."""

GAP = 65536
"""Unmapped bytes at least between two arrays, so that a stray address faults."""


def array_offsets(sizes: Sequence[int]) -> list[int]:
    """Offset of each array, by its size in bytes, from the first one; the gaps are unmapped."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end = -(-(end + size + GAP) // ALIGNMENT) * ALIGNMENT
    return offsets
