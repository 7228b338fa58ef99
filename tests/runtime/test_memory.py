"""Memory against a model that looks at one byte at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoc.isa.faults import Fault, FaultKind
from ptoc.runtime.memory import ADDRESS_SPACE, Memory, Rectangle, Window, carrier

TOP = ADDRESS_SPACE - 64
LAYOUT = {0: (96, True), 96: (64, True), 200: (56, False), 256: (128, True), TOP: (64, True)}
"""Neighbouring, read-only and top-of-memory regions with gaps between them: address -> (size, writable)."""


@dataclass
class Model:
    """Global memory as a dictionary of bytes."""

    data: dict[int, int]
    writable: set[int]

    def fault(self, rect: Rectangle, write: bool, window: Window | None) -> tuple[FaultKind, int] | None:
        for row in range(rect.rows):
            for col in range(rect.cols):
                address = (rect.address + row * rect.stride + col * rect.bits // 8) % ADDRESS_SPACE
                n = rect.access_bytes
                if address % n:
                    return FaultKind.DataAlignment, address
                span = range(address, address + n)
                mapped = all(a in self.data and (not write or a in self.writable) for a in span)
                if not mapped or (window is not None and not in_window(window, address, n)):
                    return FaultKind.DataPage, address
        return None

    def store(self, rect: Rectangle, values: np.ndarray) -> None:
        for row in range(rect.rows):
            for col in range(rect.cols):
                address = (rect.address + row * rect.stride + col * rect.bits // 8) % ADDRESS_SPACE
                value = int(values[row, col])
                if rect.bits == 4:
                    shift = 4 * (col % 2)
                    self.data[address] = self.data[address] & ~(15 << shift) & 255 | value << shift
                    continue
                for i in range(rect.access_bytes):
                    self.data[address + i] = value >> 8 * i & 255

    def load(self, rect: Rectangle) -> list[list[int]]:
        return [[self._element(rect, row, col) for col in range(rect.cols)] for row in range(rect.rows)]

    def _element(self, rect: Rectangle, row: int, col: int) -> int:
        address = (rect.address + row * rect.stride + col * rect.bits // 8) % ADDRESS_SPACE
        if rect.bits == 4:
            return self.data[address] >> 4 * (col % 2) & 15
        return sum(self.data[address + i] << 8 * i for i in range(rect.access_bytes))


def in_window(window: Window, address: int, nbytes: int) -> bool:
    starts = [window.address + row * window.stride for row in range(window.rows)]
    return any((address - s) % ADDRESS_SPACE + nbytes <= window.row_bytes for s in starts)


def build(seed: int) -> tuple[Memory, Model]:
    rng = np.random.default_rng(seed)
    memory, model = Memory(), Model({}, set())
    for address, (size, writable) in LAYOUT.items():
        data = rng.integers(0, 256, size).astype(np.uint8)
        memory.map(address, data, writable=writable)
        model.data |= {address + i: int(value) for i, value in enumerate(data)}
        if writable:
            model.writable |= set(range(address, address + size))
    return memory, model


addresses = st.one_of(st.integers(0, 400), st.integers(TOP - 8, ADDRESS_SPACE - 1))
strides = st.one_of(st.integers(0, 80), st.integers(ADDRESS_SPACE - 80, ADDRESS_SPACE - 1))
rectangles = st.builds(
    Rectangle,
    addresses,
    st.integers(1, 5),
    st.integers(1, 9),
    strides,
    st.sampled_from([4, 8, 16, 32, 64]),
)
windows = st.one_of(
    st.none(),
    st.builds(Window, st.integers(0, 300), st.integers(0, 6), st.integers(0, 64), st.integers(-64, 64)),
)


def fault_of(memory: Memory, rect: Rectangle, write: bool, window: Window | None) -> tuple[FaultKind, int] | None:
    try:
        memory.probe(rect, write=write, window=window)
    except Fault as fault:
        assert fault.address is not None
        return fault.kind, fault.address
    return None


@given(rectangles, st.booleans(), windows)
def test_probe_finds_the_first_bad_element(rect: Rectangle, write: bool, window: Window | None) -> None:
    memory, model = build(0)
    assert fault_of(memory, rect, write, window) == model.fault(rect, write, window)


@given(rectangles, st.integers(0, 99))
def test_load_and_store_equal_the_model(rect: Rectangle, seed: int) -> None:
    memory, model = build(seed)
    if model.fault(rect, True, None):
        return
    view = memory.probe(rect)
    assert memory.load(rect, view).tolist() == model.load(rect)
    top = 1 << rect.bits
    values = np.random.default_rng(seed).integers(0, top, (rect.rows, rect.cols), np.uint64, endpoint=False)
    values = values.astype(carrier(rect.bits))
    memory.store(rect, values, memory.probe(rect, write=True))
    model.store(rect, values)
    for region in memory.regions:
        assert region.data.tolist() == [model.data[region.address + i] for i in range(len(region.data))]


@given(st.lists(addresses, min_size=1, max_size=8), st.sampled_from([1, 2, 4, 8]), windows)
def test_probe_of_a_list_finds_the_first_bad_element(targets: list[int], nbytes: int, window: Window | None) -> None:
    memory, model = build(0)
    wanted = None
    for address in targets:
        wanted = wanted or model.fault(Rectangle(address, 1, 1, 0, 8 * nbytes), True, window)
    found = None
    try:
        memory.probe_elements(np.array(targets, np.uint64), nbytes, write=True, window=window)
    except Fault as fault:
        found = (fault.kind, fault.address)
    assert found == wanted


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.sampled_from([1, 2, 4, 8]))
def test_scatter_lets_the_last_of_several_win(slots: list[int], nbytes: int) -> None:
    memory, model = build(1)
    targets = [slot * 8 for slot in slots]
    values = np.arange(1, len(targets) + 1).astype(f"u{nbytes}")
    memory.scatter(np.array(targets, np.uint64), values)
    for address, value in zip(targets, values):
        model.store(Rectangle(address, 1, 1, 0, 8 * nbytes), np.array([[value]]))
    assert memory.read(0, 96) == bytes(model.data[i] for i in range(96))


def test_a_buffer_is_used_in_place() -> None:
    data = np.zeros(16, np.uint8)
    memory = Memory()
    memory.map(0x100, data)
    memory.write(0x104, b"\x01\x02")
    assert data[4:6].tolist() == [1, 2]


@pytest.mark.parametrize(("address", "size"), [(0, 97), (95, 1), (196, 8), (ADDRESS_SPACE - 1, 2)])
def test_regions_do_not_overlap_or_leave_the_address_space(address: int, size: int) -> None:
    memory, _ = build(0)
    with pytest.raises(ValueError):
        memory.map(address, size)


def test_an_unmapped_region_is_gone() -> None:
    memory = Memory()
    region = memory.map(64, 32)
    memory.unmap(region)
    assert memory.region_of(64) is None
    assert memory.map(64, 32).address == 64
