"""Names of Shared tiles that give their room back: enough of them, none in vain, and none that is still read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ptoc.isa.registers import CELL_BYTES, SHARED_POOL_BYTES
from ptoc.passes.planning.shared_pool import fits, largest, to_release

KIB = 1024
SIZES = st.dictionaries(st.integers(0, 5), st.integers(0, 10).map(lambda bit: CELL_BYTES << bit))


def released(held: dict[int, int], names: tuple[int, ...]) -> dict[int, int]:
    return held | dict.fromkeys(names, CELL_BYTES)


@given(SIZES, SIZES, st.sets(st.integers(0, 5)))
def test_what_is_released_makes_room(held: dict[int, int], loaded: dict[int, int], read: set[int]) -> None:
    free = held.keys() - read
    names = to_release(held, loaded, free)
    assert set(names) <= free
    if names:
        assert not fits(released(held, names[:-1]), loaded), "the last one was needed"
        assert sum(largest(released(held, names), loaded).values()) < sum(largest(held, loaded).values())
    if not fits(released(held, names), loaded):
        assert not fits(released(held, tuple(free)), loaded), "nothing else would have helped"


def test_the_largest_go_first() -> None:
    held = {0: 32 * KIB, 1: 64 * KIB, 2: 128 * KIB}
    assert to_release(held, {3: 128 * KIB}, held) == (2,)
    assert to_release(held, {3: 128 * KIB}, [0, 1]) == (1, 0)
    assert to_release(held, {3: 32 * KIB}, held) == ()


def test_a_tile_stands_beside_what_its_name_held_before() -> None:
    half = SHARED_POOL_BYTES // 2
    assert fits({0: half}, {0: CELL_BYTES, 1: half})
    assert not fits({0: half}, {0: CELL_BYTES, 1: half, 2: CELL_BYTES})
