"""Global memory: mapped regions, access probes in the machine's order, strided and scattered transfers.

Every access is made of *element accesses*; the probe of one element checks alignment first (DataAlignment)
and then mapping and permission (DataPage), elements in row-major order. The usual rectangle lies inside one
region with aligned rows and costs a handful of integer comparisons; everything else is looked at row by row
and, in the first bad row, element by element.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.faults import FaultKind
from ptoc.runtime.errors import AccessFault

ADDRESS_SPACE = 1 << 64
_HALF = 1 << 63
Bytes = NDArray[np.uint8]
Bits = NDArray[Any]
"""Raw element bits in an unsigned dtype; a four-bit element takes one uint8 of its own."""

_CARRIER = {bits: np.dtype(f"<u{max(1, bits // 8)}") for bits in (4, 8, 16, 32, 64)}


def carrier(bits: int) -> np.dtype[Any]:
    """The numpy dtype that holds the raw bits of one element."""
    return _CARRIER[bits]


@dataclass(frozen=True, eq=False)
class Region:
    """A mapped piece of the address space; ``data`` is the caller's buffer, not a copy."""

    address: int
    data: Bytes
    writable: bool = True
    name: str = ""

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True)
class Window:
    """The rows of one array that a bundle may touch.

    Row ``i`` is the ``row_bytes`` bytes from ``address + i * stride`` modulo 2^64; each element access must lie
    wholly inside one row. The stride may be zero or negative.
    """

    address: int
    rows: int
    row_bytes: int
    stride: int
    name: str = ""

    def holds(self, address: int, nbytes: int) -> bool:
        """Whether the ``nbytes`` from ``address`` lie inside one row."""
        step = abs(self.stride)
        offset = (address - self._lowest) % ADDRESS_SPACE
        # Among overlapping rows the last one that starts at or before the access leaves most room behind it.
        row = min(offset // step, self.rows - 1) if step else 0
        return self.rows > 0 and offset - row * step + nbytes <= self.row_bytes

    def holds_all(self, addresses: NDArray[np.uint64], nbytes: int) -> NDArray[np.bool_]:
        """``holds`` for a vector of addresses."""
        room = self.row_bytes - nbytes
        if self.rows <= 0 or room < 0:
            return np.zeros(len(addresses), bool)
        step = np.uint64(abs(self.stride))
        offset = addresses - np.uint64(self._lowest)
        row = np.minimum(offset // step, np.uint64(self.rows - 1)) if step else np.uint64(0)
        inside: NDArray[np.bool_] = offset - row * step <= np.uint64(room)
        return inside

    @property
    def _lowest(self) -> int:
        """The start of the row that comes first in memory."""
        first = self.address if self.stride >= 0 else self.address + (self.rows - 1) * self.stride
        return first % ADDRESS_SPACE


class Rectangle(NamedTuple):
    """The element accesses of a transfer: ``rows x cols`` elements, rows ``stride`` bytes apart."""

    address: int
    rows: int
    cols: int
    stride: int
    bits: int

    @property
    def access_bytes(self) -> int:
        return max(1, self.bits // 8)

    @property
    def row_bytes(self) -> int:
        return (self.cols * self.bits + 7) // 8

    @property
    def signed_stride(self) -> int:
        stride = self.stride % ADDRESS_SPACE
        return stride - ADDRESS_SPACE if stride >= _HALF else stride

    def row_address(self, row: int) -> int:
        return (self.address + row * self.stride) % ADDRESS_SPACE


class Memory:
    """Byte-addressed global memory, shared by the PEs."""

    def __init__(self, size: int | None = None) -> None:
        self._regions: list[Region] = []
        self._starts: list[int] = []
        if size:
            self.map(0, size, name="gm")

    @property
    def regions(self) -> tuple[Region, ...]:
        return tuple(self._regions)

    def map(
        self, address: int, data: Bytes | bytes | bytearray | int, *, writable: bool = True, name: str = ""
    ) -> Region:
        """Map a buffer (or that many zero bytes) at ``address``.

        A writable numpy uint8 vector is used in place; ``bytes`` are copied. An empty buffer maps nothing.
        ``ValueError`` when the region overlaps another one or leaves the address space.
        """
        if isinstance(data, int):
            data = np.zeros(data, np.uint8)
        elif isinstance(data, bytes | bytearray):
            data = np.frombuffer(bytes(data), np.uint8).copy()
        if data.dtype != np.uint8 or data.ndim != 1 or not data.flags.c_contiguous:
            raise ValueError("a region needs a contiguous one-dimensional uint8 array")
        region = Region(address, data, writable and data.flags.writeable, name)
        if address < 0 or region.end > ADDRESS_SPACE:
            raise ValueError(f"cannot map {len(data)} bytes at {address:#x}")
        if not len(data):
            return region
        at = bisect_right(self._starts, address)
        neighbours = self._regions[max(at - 1, 0) : at + 1]
        if any(n.address < region.end and address < n.end for n in neighbours):
            raise ValueError(f"the region at {address:#x} overlaps another one")
        self._regions.insert(at, region)
        self._starts.insert(at, address)
        return region

    def unmap(self, region: Region) -> None:
        """Remove a region that ``map`` returned."""
        at = self._starts.index(region.address)
        del self._regions[at], self._starts[at]

    def region_of(self, address: int, nbytes: int = 1) -> Region | None:
        """The region that holds all of ``[address, address + nbytes)``."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        region = self._regions[at]
        return region if address + nbytes <= region.end else None

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes for tools and tests; ``ValueError`` outside mapped memory."""
        return b"".join(bytes(chunk) for chunk in self._chunks(address, nbytes))

    def write(self, address: int, data: bytes) -> None:
        """Store bytes for tools and tests; permissions do not apply."""
        self._store_bytes(address, np.frombuffer(data, np.uint8))

    # Probes

    def probe(self, rect: Rectangle, *, write: bool = False, window: Window | None = None) -> Bits | None:
        """Check every element access of a rectangle; raises the fault of the first bad one.

        Returns a view of the whole rectangle for the transfer that follows, if it has the usual shape.
        """
        view = self._resolve(rect, write, window)
        if view is None:
            for row in range(rect.rows):
                self._probe_row(rect, row, write, window)
        return view

    def probe_elements(
        self, addresses: NDArray[np.uint64], nbytes: int, *, write: bool = False, window: Window | None = None
    ) -> None:
        """Check a list of element accesses of ``nbytes`` each, in order."""
        if not len(addresses):
            return
        region = self._one_region(addresses, nbytes)
        if region is not None and (region.writable or not write):
            low, high = int(addresses.min()), int(addresses.max()) + nbytes
            inside = window is None or window.holds(low, high - low)
            if inside and not int(np.bitwise_or.reduce(addresses)) % nbytes:
                return
        aligned = addresses % np.uint64(nbytes) == 0
        good = aligned & self._mapped(addresses, nbytes, write)
        if window is not None:
            good &= window.holds_all(addresses, nbytes)
        if good.all():
            return
        first = int(np.argmin(good))
        self._raise(int(addresses[first]), nbytes, bool(aligned[first]), window, (0, first))

    def _probe_row(self, rect: Rectangle, row: int, write: bool, window: Window | None) -> None:
        address, nbytes = rect.row_address(row), rect.access_bytes
        if address % nbytes:
            self._raise(address, nbytes, False, window, (row, 0))
        if self._permits(address, rect.row_bytes, write, window):
            return
        for col in range(0, rect.cols, 2 if rect.bits == 4 else 1):
            element = (address + col * rect.bits // 8) % ADDRESS_SPACE
            if not self._permits(element, nbytes, write, window):
                self._raise(element, nbytes, True, window, (row, col))

    def _permits(self, address: int, nbytes: int, write: bool, window: Window | None) -> bool:
        region = self.region_of(address, nbytes)
        if region is None or (write and not region.writable):
            return False
        return window is None or window.holds(address, nbytes)

    def _one_region(self, addresses: NDArray[np.uint64], nbytes: int) -> Region | None:
        """The region that holds all elements, if one does."""
        low, high = int(addresses.min()), int(addresses.max())
        return self.region_of(low, high - low + nbytes)

    def _mapped(self, addresses: NDArray[np.uint64], nbytes: int, write: bool) -> NDArray[np.bool_]:
        good = np.zeros(len(addresses), bool)
        for region in self._regions:
            if len(region.data) >= nbytes and (region.writable or not write):
                start = np.uint64(region.address)
                room = np.uint64(len(region.data) - nbytes)
                good |= (addresses >= start) & (addresses - start <= room)
        return good

    def _raise(self, address: int, nbytes: int, aligned: bool, window: Window | None, element: tuple[int, int]) -> None:
        if not aligned:
            rule = f"address {address:#x} is not a multiple of the {nbytes}-byte access"
            raise AccessFault(FaultKind.DataAlignment, rule, address, None, element)
        where = "mapped memory"
        region = self.region_of(address, nbytes)
        if window is not None:
            where = f"{window.name or 'the array'}, which is all this bundle may touch"
        elif region is not None:
            where = f"writable memory: {region.name or 'the region'} is read-only"
        rule = f"{nbytes}-byte access at {address:#x} is outside {where}"
        raise AccessFault(FaultKind.DataPage, rule, address, None, element)

    # Transfers (of rectangles and lists that a probe has accepted)

    def load(self, rect: Rectangle, view: Bits | None) -> Bits:
        """The raw element bits of a rectangle whose probe returned ``view``, as a new rows x cols array."""
        if view is not None:
            return unpack(view, rect.cols) if rect.bits == 4 else view.copy()
        rows = np.empty((rect.rows, rect.row_bytes), np.uint8)
        for row in range(rect.rows):
            at = 0
            for chunk in self._chunks(rect.row_address(row), rect.row_bytes):
                rows[row, at : at + len(chunk)] = chunk
                at += len(chunk)
        return unpack(rows, rect.cols) if rect.bits == 4 else rows.view(carrier(rect.bits))

    def store(self, rect: Rectangle, values: Bits, view: Bits | None) -> None:
        """Store rows x cols raw elements to a probed rectangle; later rows win where rows overlap."""
        odd_nibbles = rect.bits == 4 and rect.cols % 2 == 1
        overlapping = rect.rows > 1 and abs(rect.signed_stride) < rect.row_bytes
        if view is not None and not overlapping:
            if rect.bits != 4:
                view[...] = values
                return
            whole = rect.cols // 2
            view[:, :whole] = values[:, 0 : 2 * whole : 2] | values[:, 1 : 2 * whole : 2] << 4
            if odd_nibbles:
                view[:, whole] = view[:, whole] & 0xF0 | values[:, -1]
            return
        for row in range(rect.rows):
            data = pack(values[row]) if rect.bits == 4 else np.ascontiguousarray(values[row]).view(np.uint8)
            address = rect.row_address(row)
            if odd_nibbles:
                last = (address + len(data) - 1) % ADDRESS_SPACE
                data[-1] |= self.read(last, 1)[0] & 0xF0
            self._store_bytes(address, data)

    def scatter(self, addresses: NDArray[np.uint64], values: Bits) -> None:
        """Store elements at probed, aligned addresses in order: the last of several to one address wins."""
        nbytes = values.dtype.itemsize
        if not len(addresses):
            return
        only = self._one_region(addresses, nbytes)
        if only is not None and not only.address % nbytes:
            elements, places = _in_region(only, addresses, values.dtype)
            elements[places] = values
            return
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1, nbytes)
        for region in self._regions:
            inside = (addresses >= np.uint64(region.address)) & (addresses <= np.uint64(region.end - 1))
            if inside.any():
                offsets = (addresses[inside] - np.uint64(region.address)).astype(np.int64)
                region.data[offsets[:, None] + np.arange(nbytes)] = raw[inside]

    def scatter_nibbles(self, addresses: NDArray[np.uint64], values: Bits, *, high: bool) -> None:
        """``scatter`` of one half of bytes; the other halves keep their values."""
        keep, shift = (0x0F, 4) if high else (0xF0, 0)
        for region in self._regions:
            inside = (addresses >= np.uint64(region.address)) & (addresses <= np.uint64(region.end - 1))
            offsets = (addresses[inside] - np.uint64(region.address)).astype(np.int64)
            region.data[offsets] = region.data[offsets] & keep | values[inside] << shift

    def gather(self, addresses: NDArray[np.uint64], nbytes: int) -> Bits:
        """The ``nbytes``-byte words at mapped addresses."""
        only = self._one_region(addresses, nbytes) if len(addresses) else None
        if only is not None and not (only.address | int(np.bitwise_or.reduce(addresses))) % nbytes:
            elements, places = _in_region(only, addresses, carrier(8 * nbytes))
            return elements.take(places)
        words = np.zeros((len(addresses), nbytes), np.uint8)
        for region in self._regions:
            if len(region.data) < nbytes:
                continue
            inside = (addresses >= np.uint64(region.address)) & (addresses <= np.uint64(region.end - nbytes))
            offsets = (addresses[inside] - np.uint64(region.address)).astype(np.int64)
            words[inside] = region.data[offsets[:, None] + np.arange(nbytes)]
        return words.view(carrier(8 * nbytes))[:, 0]

    def _resolve(self, rect: Rectangle, write: bool, window: Window | None) -> Bits | None:
        """A strided view when one region holds the whole rectangle and every row is aligned and allowed."""
        address, stride, bits = rect.address, rect.signed_stride, rect.bits
        nbytes = bits >> 3 or 1
        span = (rect.rows - 1) * stride
        if address % nbytes or (rect.rows > 1 and stride % nbytes):
            return None
        low, high = (address, address + span) if span >= 0 else (address + span, address)
        row_bytes = (rect.cols * bits + 7) >> 3
        if low < 0:
            return None
        high += row_bytes
        region = self.region_of(low, high - low)
        if region is None or (write and not region.writable):
            return None
        if window is not None and not self._window_holds(rect, stride, low, high, window):
            return None
        shape = (rect.rows, row_bytes // nbytes)
        offset = address - region.address
        return np.ndarray(shape, _CARRIER[bits], region.data, offset, (stride, nbytes))

    def _window_holds(self, rect: Rectangle, stride: int, low: int, high: int, window: Window) -> bool:
        """Whether every row lies inside a row of the window; ``low`` and ``high`` bound the whole rectangle."""
        if window.holds(low, high - low):
            return True
        row_bytes = rect.row_bytes
        if stride == window.stride and stride > 0:
            row, offset = divmod(rect.address - window.address, stride)
            if row >= 0 and row + rect.rows <= window.rows and offset + row_bytes <= window.row_bytes:
                return True
        return all(window.holds(rect.row_address(row), row_bytes) for row in range(rect.rows))

    def _chunks(self, address: int, nbytes: int) -> Iterator[Bytes]:
        """The pieces of a byte range, region by region, wrapping at the end of the address space."""
        while nbytes:
            region = self.region_of(address)
            if region is None:
                raise ValueError(f"address {address:#x} is not mapped")
            start = address - region.address
            chunk = region.data[start : start + nbytes]
            yield chunk
            nbytes -= len(chunk)
            address = (address + len(chunk)) % ADDRESS_SPACE

    def _store_bytes(self, address: int, data: Bytes) -> None:
        at = 0
        for chunk in self._chunks(address, len(data)):
            chunk[...] = data[at : at + len(chunk)]
            at += len(chunk)


def _in_region(region: Region, addresses: NDArray[np.uint64], dtype: np.dtype[Any]) -> tuple[Bits, NDArray[np.int64]]:
    """The elements of an aligned region, and which of them are at some aligned addresses."""
    nbytes = dtype.itemsize
    elements = region.data[: len(region.data) // nbytes * nbytes].view(dtype)
    places = addresses - np.uint64(region.address) >> np.uint64(nbytes.bit_length() - 1)
    return elements, places.view(np.int64)


def unpack(packed: Bytes, count: int) -> Bytes:
    """Nibbles of the last axis as one element per byte, low nibble first."""
    out = np.empty((*packed.shape[:-1], 2 * packed.shape[-1]), np.uint8)
    out[..., 0::2] = packed & 0xF
    out[..., 1::2] = packed >> 4
    return np.ascontiguousarray(out[..., :count])


def pack(nibbles: Bytes) -> Bytes:
    """A vector of four-bit elements as bytes, low nibble first; the odd high nibble is zero."""
    even = nibbles[0::2].copy()
    odd = nibbles[1::2]
    even[: len(odd)] |= odd << 4
    return even
