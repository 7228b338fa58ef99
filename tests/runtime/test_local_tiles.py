"""Local tiles: rings, age-out, the pool, and the physical picture of a tile."""

from __future__ import annotations

import numpy as np
import pytest
from machine_programs import load, machine

from ptoc.isa import layouts
from ptoc.isa.dtypes import FP32, U4X2, U8
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.registers import LOCAL_POOL_BYTES
from ptoc.runtime.tiles import NUMERIC, PREDICATE, Descriptor, Destination, LocalTiles, Tile, cube_descriptor


def tile(capacity: int = 128, mark: int = 0) -> Tile:
    descriptor = Descriptor(NUMERIC, U8, layouts.NORM, capacity, capacity, 1, 1, 1)
    return Tile(descriptor, np.full((1, 1), mark, np.uint8))


def filled(count: int, capacity: int = 128, *, strict: bool = False) -> LocalTiles:
    tiles = LocalTiles(strict=strict)
    for mark in range(count):
        tiles.publish(0, tile(capacity, mark))
    return tiles


def test_the_newest_is_number_one() -> None:
    tiles = filled(3)
    assert [int(t.values[0, 0]) for _, _, t in tiles] == [2, 1, 0]
    assert tiles.find(0).values[0, 0] == 2
    assert tiles.find(3) is None and tiles.find(16) is None


def test_the_seventeenth_retires_the_oldest() -> None:
    tiles = filled(17)
    assert len(tiles.hands[0]) == 16 and tiles.used == 16 * 128
    assert tiles.find(15).values[0, 0] == 1


def test_a_source_must_not_be_retired() -> None:
    tiles = filled(16)
    tiles.check((Destination(0, 128),), (14,))
    with pytest.raises(Fault) as caught:
        tiles.check((Destination(0, 128),), (15,))
    assert caught.value.kind is FaultKind.TileAllocation
    with pytest.raises(Fault):
        tiles.check((Destination(0, 128), Destination(0, 128)), (14,))
    tiles.check((Destination(1, 128),), (15,))


def test_strict_rings_do_not_retire() -> None:
    filled(15, strict=True).check((Destination(0, 128),), ())
    with pytest.raises(Fault):
        filled(16, strict=True).check((Destination(0, 128),), ())


def test_the_pool_is_judged_after_retiring() -> None:
    tiles = filled(16, LOCAL_POOL_BYTES // 16)
    tiles.check((Destination(0, LOCAL_POOL_BYTES // 16),), ())
    with pytest.raises(Fault) as caught:
        tiles.check((Destination(1, 128),), ())
    assert caught.value.kind is FaultKind.TileAllocation


def test_a_ring_belongs_to_its_pe() -> None:
    m = machine(load("U8", 4, 1, "M", mask="0010"), a0=0, a1=4)
    assert m.run().status == "halted"
    assert [len(list(m.tiles(pe))) for pe in range(4)] == [0, 1, 0, 0]


def test_payload_of_packed_cube_storage() -> None:
    descriptor = cube_descriptor(U4X2, layouts.CUBE_M16, 128, 1, 16)
    payload = Tile(descriptor, np.arange(16, dtype=np.uint8)[None, :], pad=0).payload()
    assert payload[:8].hex() == "103298ba5476dcfe" and len(payload) == 128


def test_definedness_and_padding() -> None:
    descriptor = Descriptor(NUMERIC, FP32, layouts.NORM, 128, 8, 4, 1, 2)
    values = np.array([[1, 2]], np.uint32)
    undefined = Tile(descriptor, values)
    assert undefined.definedness().tolist() == [True, True] + [False] * 30
    padded = Tile(descriptor, values, pad=0x7F7F_FFFF)
    assert padded.definedness().all()
    assert padded.elements()[2] == 0x7F7F_FFFF


def test_predicate_bits() -> None:
    descriptor = Descriptor(PREDICATE, U8, layouts.NORM, 128, 2, 4, 2, 4)
    bits = np.array([[1, 0, 1, 1], [0, 0, 1, 0]], np.uint8)
    assert Tile(descriptor, bits).payload() == b"\x4d"
