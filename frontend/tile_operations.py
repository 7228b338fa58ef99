"""The meaning of ``tile.operation`` for the interpreter of ``tile``: its bundle on a machine that holds just its tiles.

There are as many such operations as the ISA has, and what each does is told once, by the simulator. What goes in and
comes out is as in the interpreter: one array of element bits per PE, its valid rectangle, and arrays of a launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from ptoc.dialects import tile
from ptoc.dialects.tile import Hand, HandAttr, PredicateType, SlotAttr, TileType
from ptoc.isa import dtypes
from ptoc.isa.layouts import NORM
from ptoc.isa.registers import GPR, HANDS, MAX_DIMENSION, PE_COUNT
from ptoc.passes import bundles
from ptoc.runtime import Machine, Memory
from ptoc.runtime.tiles import NUMERIC, PREDICATE, Descriptor, Tile, cube_descriptor, norm_rows

Bits = npt.NDArray[Any]
Tiles = Sequence[Bits | None]
"""The element bits of a tile's valid rectangle on each PE; ``None`` on those without the tile."""

_ARRAY = 1 << 32
"""Where the array of an operation on memory lies; the code is far below."""
_REGISTERS = tuple(GPR[f"a{n}"] for n in range(3))
_SOURCES, *_RESULTS = Hand.T, Hand.U, Hand.M


class Refused(Exception):
    """What the machine does not do: the message says why."""


def perform(
    op: tile.OperationOp,
    sources: Sequence[Tiles],
    size: Sequence[int],
    scalars: Sequence[Sequence[int]],
    array: npt.NDArray[np.uint8] | None = None,
    offset: Sequence[int] = (),
) -> list[Tiles]:
    """The results of an operation on the tiles of the four PEs.

    ``size`` are LB0 and LB1 as far as they are there; ``scalars`` and ``offset``, which is in bytes, have a word for
    every PE. ``array`` is the memory of an operation that has some, and changes as it says. ``Refused`` when the bundle
    is a fault, and ``UnsupportedOperation`` for operations that the simulator does not have.
    """
    memory = Memory()
    if array is not None:
        memory.map(_ARRAY, array)
        scalars = [[(_ARRAY + each) % 2**64 for each in offset], *scalars]
    machine = Machine(memory=memory)
    machine.load(b"".join(inst.to_bytes() for inst in _bundle(op, size, len(scalars))))
    for register, words in zip(_REGISTERS, scalars):
        for pe, word in enumerate(words):
            machine.set_gpr(register, word, pe)
    # The newest generation of a hand has the number 1, so the first source comes last.
    for value, held in reversed(list(zip(op.sources, sources, strict=True))):
        for pe, bits in enumerate(held):
            if bits is not None:
                machine.tiles(pe).publish(HANDS.index(_SOURCES), _tile(value, bits, op))
    ended = machine.run()
    if ended.fault is not None:
        raise Refused(f"{ended.fault.kind}: {ended.fault.rule}")
    return [_published(machine, hand) for hand, _ in zip(_RESULTS, op.tiles)]


def _bundle(op: tile.OperationOp, size: Sequence[int], registers: int) -> list[Any]:
    """The instructions of the operation, with sources in one hand and results in others."""
    for number in size:
        if not 0 <= number <= MAX_DIMENSION:
            raise Refused(f"a dimension of {number}")
    placed = op.clone()
    try:
        number = HANDS.index(_SOURCES)
        placed.slots = ArrayAttr([SlotAttr.get(number, n) for n in range(1, len(op.sources) + 1)])
        if op.tiles:
            placed.place([HandAttr(hand) for hand, _ in zip(_RESULTS, op.tiles)])
        dims = [bundles.dimension(lb, each, None) for lb, each in enumerate(size)]
        return bundles.operation(placed, dims, _REGISTERS[:registers])
    finally:
        placed.erase()


def _tile(value: SSAValue, bits: Bits, op: tile.OperationOp) -> Tile:
    """A source as the machine has it."""
    type_ = cast("TileType | PredicateType", value.type)
    if isinstance(type_, PredicateType):
        return Tile(_predicate(type_, bits, op), bits.astype(np.uint8))
    layout = type_.layout.data
    if not layout.plain:
        return Tile(cube_descriptor(type_.dtype, layout.isa_name, type_.capacity, *bits.shape), bits)
    return Tile(_plain(type_, layout.isa_name, bits), bits)


def _plain(type_: TileType, layout: str, bits: Bits) -> Descriptor:
    cols = type_.cols.data
    rows = norm_rows(type_.capacity, cols, type_.dtype.bits)
    return Descriptor(NUMERIC, type_.dtype, layout, type_.capacity, rows, cols, *bits.shape)


def _predicate(type_: PredicateType, bits: Bits, op: tile.OperationOp) -> Descriptor:
    """A predicate has the physical rows of the tiles that were compared, which are like those it is used with."""
    others = [each.type for each in (*op.sources, *op.tiles) if isinstance(each.type, TileType)]
    rows, cols = type_.shape
    if others:
        rows = norm_rows(others[0].capacity, others[0].cols.data, others[0].dtype.bits)
    return Descriptor(PREDICATE, dtypes.U8, NORM, type_.capacity, rows, cols, *bits.shape)


def _published(machine: Machine, hand: Hand) -> Tiles:
    """What a hand has received on every PE."""
    found: list[Bits | None] = []
    for pe in range(PE_COUNT):
        newest = next((each for name, distance, each in machine.tiles(pe) if (name, distance) == (hand, 1)), None)
        boolean = newest is not None and not newest.descriptor.numeric
        found.append(None if newest is None else newest.values.astype(bool) if boolean else newest.values)
    return found
