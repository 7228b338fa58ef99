"""Elements taken from, or put into, the row that an index names; the column stays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ptoc.isa.faults import Fault
from ptoc.isa.schema import Types
from ptoc.runtime.errors import UndefinedRead
from ptoc.runtime.numerics.formats import integers
from ptoc.runtime.operations.common import LEGALITY, require
from ptoc.runtime.operations.shaped import Given, Operation, Outcome

_VALUE, _INDEX = 0, 1


class _Indexed(Operation):
    """Either operation: the first source holds values, the second the row of each element."""

    def types(self, given: Given, number: int) -> Types:
        assert given.bundle.operation is not None
        return given.bundle.operation.schema.index_types if number == _INDEX else super().types(given, number)

    def rows_within(self, given: Given, count: int) -> NDArray[np.int64]:
        """The indices, all of which name one of ``count`` rows."""
        index = given.tiles[_INDEX]
        rows = integers(index.descriptor.dtype, index.values)
        outside = (rows < 0) | (rows >= count)
        if outside.any():
            row, col = (int(place) for place in np.argwhere(outside)[0])
            raise Fault(LEGALITY, f"index ({row}, {col}) is {rows[row, col]}, there are {count} rows")
        return rows.astype(np.int64)


class Gathering(_Indexed):
    """TGATHER: numpy's ``take_along_axis`` along the rows."""

    def needs_all(self, number: int) -> bool:
        return number == _INDEX

    def check_results(self, given: Given) -> None:
        value, shape = given.tiles[_VALUE], (given.rows, given.cols)
        require(given.shape(_INDEX) == shape, f"the indices are no {shape[0]} x {shape[1]} elements")
        require(given.shape(_VALUE)[1] >= given.cols, f"the values have fewer than {given.cols} columns")
        rows = self.rows_within(given, given.shape(_VALUE)[0])
        if value.defined is None:
            return
        missing = ~value.defined[rows, np.arange(given.cols)]
        if missing.any():
            row, col = (int(place) for place in np.argwhere(missing)[0])
            rule = f"source element ({rows[row, col]}, {col}) is undefined on PE{given.pe}"
            raise UndefinedRead(LEGALITY, rule, None, given.pe, (int(rows[row, col]), col))

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        rows = given.bits(_INDEX)
        return (Outcome(given.bits(_VALUE)[rows.astype(np.int64), np.arange(given.cols)]),), 0


class Scattering(_Indexed):
    """TSCATTER: numpy's ``put_along_axis`` into zeros, every target named once."""

    def check_results(self, given: Given) -> None:
        value, index = given.shape(_VALUE), given.shape(_INDEX)
        require(value == index, "values and indices differ in shape")
        require(value[1] == given.cols, f"the values have {value[1]} columns, the result {given.cols}")
        rows = self.rows_within(given, given.rows)
        ordered = np.sort(rows, axis=0)
        require(not (ordered[1:] == ordered[:-1]).any(), "two elements of a column have the same index")

    def compute(self, given: Given) -> tuple[Sequence[Outcome], int]:
        rows = given.bits(_INDEX).astype(np.int64)
        values = np.zeros((given.rows, given.cols), given.bits(_VALUE).dtype)
        values[rows, np.arange(given.cols)] = given.bits(_VALUE)
        return (Outcome(values, 0),), 0


OPERATIONS: dict[str, Operation] = {"TGATHER": Gathering(), "TSCATTER": Scattering()}
