"""Names and numbers of the machine: GPRs, tile hands, PE masks, size codes, capacities."""

from __future__ import annotations

GPR_NAMES: tuple[str, ...] = (
    "zero", "sp", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "ra",
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "x0", "x1", "x2", "x3",
)  # fmt: skip
"""Absolute GPR selectors 0..23; ``zero`` reads 0 and ignores writes."""

GPR: dict[str, int] = {name: code for code, name in enumerate(GPR_NAMES)}
GPR_COUNT = len(GPR_NAMES)

HANDS: tuple[str, ...] = ("T", "U", "M", "N")
"""The four Local name spaces, in the order of the two-bit DstTile code."""

GENERATIONS = 16
"""Names of one hand: ``#1`` (newest) to ``#16``."""

QUEUE_DEPTH = 4
"""Entries of each scalar temporary queue, t and u."""

PE_COUNT = 4
PE_MASKS: tuple[int, ...] = (0b0000, 0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b0111, 0b1111)
"""The encodable PE masks, indexed by PEMode; bit i selects PE i."""

PE_MODE: dict[int, int] = {mask: mode for mode, mask in enumerate(PE_MASKS)}

CELL_BYTES = 128
MAX_LOCAL_SIZE_CODE = 10
MAX_SHARED_SIZE_CODE = 12
LOCAL_POOL_BYTES = 256 * 1024
"""Capacity of the Local tiles of one PE."""
SHARED_POOL_BYTES = 256 * 1024
"""Capacity of the Shared tiles of one core."""
SHARED_COUNT = 64
MAX_DIMENSION = 0xFFFF
"""Largest value of a block dimension, and of a tile's physical row count."""
MAX_COLUMNS = 32768
"""Largest physical column count of a row-major tile."""


def size_bytes(code: int) -> int:
    """Capacity in bytes of a non-zero SizeCode."""
    return CELL_BYTES << (code - 1)


def size_code(nbytes: int) -> int:
    """The smallest SizeCode whose capacity holds ``nbytes`` (it may exceed what a binding accepts)."""
    return max(1, (max(nbytes, 1) - 1).bit_length() - 6)


def tile_selector(hand: int, distance: int) -> int:
    """Six-bit source selector of generation ``#distance`` (1 = newest) of a hand."""
    if not (0 <= hand < len(HANDS) and 1 <= distance <= GENERATIONS):
        raise ValueError(f"no tile selector for hand {hand}, generation #{distance}")
    return GENERATIONS * hand + distance - 1


def mask_pes(mask: int) -> tuple[int, ...]:
    """The PE numbers a mask selects, ascending."""
    return tuple(pe for pe in range(PE_COUNT) if mask >> pe & 1)


def prefix_mask(count: int) -> int:
    """The mask of PE0..PE(count-1)."""
    return (1 << count) - 1
