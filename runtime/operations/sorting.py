"""Stable sorting, merging and counting. Numbers come in order, zeros of both signs are equal, NaNs stand at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.dtypes import U8, U16, U32, DType
from ptoc.isa.schema import Types
from ptoc.runtime.numerics.flags import NV
from ptoc.runtime.numerics.formats import decode_floats, is_signalling
from ptoc.runtime.operations.common import require
from ptoc.runtime.operations.shaped import Bits, Extent, Given, Operation, Outcome

_GROUP, _WIDEST_GROUP = 32, 64
_BINS = 256


def _order(dtype: DType, bits: Bits, descending: bool) -> NDArray[np.int64]:
    """Where each element of a sorted last axis comes from."""
    keys = decode_floats(dtype, np.ascontiguousarray(bits))
    # Numpy puts NaNs last and keeps their order, as it does for equal numbers.
    return np.argsort(-keys if descending else keys, axis=-1, kind="stable")


def _invalid(dtype: DType, *sources: Bits) -> int:
    return NV if any(is_signalling(dtype, bits).any() for bits in sources) else 0


class _Ordering(Operation):
    """What both have in common: the scalar chooses the direction."""

    early = True

    def check(self, given: Given) -> None:
        require(given.scalars[0] in (0, 1), "the direction is 0 or 1")


class Sorting(_Ordering):
    """TSORT: groups of columns of every row are sorted; the second result says where each element was."""

    def check(self, given: Given) -> None:
        super().check(given)
        require((given.dims[0] or 0) <= _WIDEST_GROUP, f"a group has at most {_WIDEST_GROUP} columns")

    def extents(self, given: Given) -> Sequence[Extent]:
        d = given.tiles[0].descriptor
        return [Extent(dtype, d.valid_rows, d.valid_cols, d.cols) for dtype in (given.dtype, U32)]

    def check_results(self, given: Given) -> None:
        rows = given.tiles[0].descriptor.rows
        require(all(d.rows == rows for d in given.results), f"the results do not have the {rows} rows of the source")

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        bits, group = given.bits(0), given.dims[0] or _GROUP
        places = np.empty(bits.shape, np.uint32)
        values = np.empty_like(bits)
        rows, whole = bits.shape[0], bits.shape[1] // group * group
        for columns, width in ((slice(0, whole), group), (slice(whole, None), bits.shape[1] - whole)):
            if not width or not bits[:, columns].size:
                continue
            groups = bits[:, columns].reshape(rows, -1, width)
            order = _order(given.dtype, groups, bool(given.scalars[0]))
            values[:, columns] = np.take_along_axis(groups, order, axis=-1).reshape(rows, -1)
            places[:, columns] = order.reshape(rows, -1)
        return (Outcome(values), Outcome(places)), _invalid(given.dtype, bits)


class Merging(_Ordering):
    """TMRGSORT: two sorted rows become one."""

    def check_sources(self, given: Given) -> None:
        for number, tile in enumerate(given.tiles):
            require(tile.descriptor.valid_rows == 1, f"source {number} has {tile.descriptor.valid_rows} rows, not one")
            order = _order(given.dtype, tile.values[0], bool(given.scalars[0]))
            require(bool((order[1:] > order[:-1]).all()), f"source {number} is not sorted")

    def extents(self, given: Given) -> Sequence[Extent]:
        cols = given.shape(0)[1] + given.shape(1)[1]
        return (Extent(given.dtype, 1, cols, 1 << (cols - 1).bit_length()),)

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        both = np.concatenate([given.bits(0), given.bits(1)], axis=1)
        order = _order(given.dtype, both[0], bool(given.scalars[0]))
        return (Outcome(both[:, order]),), _invalid(given.dtype, both)


class Histogram(Operation):
    """THISTOGRAM: of every row, how many elements have a byte of at most the column's number.

    Only elements count whose higher bytes are those of the filter: one value per row for elements of two bytes, one per
    byte, from the highest, for those of four.
    """

    early = True

    def check(self, given: Given) -> None:
        attributes = given.bundle.attributes
        require(attributes is not None and attributes.dtype_code == U32.code, "B.DATR must say U32")
        require(given.bundle.datr.pad < given.dtype.nbytes, f"{given.dtype} has no byte {given.bundle.datr.pad}")

    def types(self, given: Given, number: int) -> Types:
        return frozenset((U8,)) if number else super().types(given, number)

    def needs_all(self, number: int) -> bool:
        return number == 0

    def _filters(self, given: Given) -> int:
        """Rows of the filter that are read."""
        higher = given.dtype.nbytes - 1 - given.bundle.datr.pad
        return higher and given.shape(0)[0] if given.dtype == U16 else higher

    def check_sources(self, given: Given) -> None:
        wanted, tile = self._filters(given), given.tiles[1]
        defined = tile.defined is None or bool(tile.defined[:wanted, 0].all())
        require(wanted <= given.shape(1)[0] and defined, f"the filter lacks some of {wanted} values")

    def extents(self, given: Given) -> Sequence[Extent]:
        return (Extent(U32, given.shape(0)[0], _BINS, _BINS),)

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        bits, chosen = given.bits(0).astype(np.uint32), given.bundle.datr.pad
        filters = given.bits(1)[: self._filters(given), 0].astype(np.uint32)
        passing = np.ones(bits.shape, bool)
        for step in range(given.dtype.nbytes - 1 - chosen):
            wanted: Any = filters[:, None] if given.dtype == U16 else filters[step]
            passing &= _byte(bits, given.dtype.nbytes - 1 - step) == wanted
        bins = np.arange(bits.shape[0], dtype=np.int64)[:, None] * _BINS + _byte(bits, chosen)
        counts = np.bincount(bins[passing], minlength=bits.shape[0] * _BINS).reshape(-1, _BINS)
        return (Outcome(counts.cumsum(axis=1).astype(np.uint32)),), 0


def _byte(bits: Bits, number: int) -> Bits:
    """A byte of every element, the lowest being number 0."""
    found: Bits = bits >> np.uint32(8 * number) & np.uint32(0xFF)
    return found


OPERATIONS: dict[str, Operation] = {"TSORT": Sorting(), "TMRGSORT": Merging(), "THISTOGRAM": Histogram()}
