"""The arrays of a launch: where they lie, which write of the kernel each element comes from, what loads mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ptoc.dialects import pto
from ptoc.dialects.attributes import dtype_of, row_stride_bytes, shape_2d
from ptoc.dialects.tile import IotaAttr, SplatAttr
from ptoc.isa.dtypes import DType
from ptoc.passes import abi
from ptoc.passes.checking.errors import WrongProgram
from ptoc.passes.checking.machine import Rectangle
from ptoc.passes.checking.meanings import NEVER_WRITTEN, UNKNOWN_VERSION, Block, Meaning, Pattern, Splat, Words
from ptoc.passes.convert_tile_to_pto import data_offsets, memory_bytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Flags = npt.NDArray[np.bool_]
    Versions = npt.NDArray[np.int16]

BASE = 1 << 20
"""Where the first array is put; nothing depends on it."""


@dataclass(frozen=True, eq=False)
class Array:
    """An array of the launch, of one or two dimensions; ``stride`` is 0 where there is one row."""

    number: int
    name: str
    dtype: DType
    rows: int
    cols: int
    stride: int
    nbytes: int
    address: int

    @property
    def dense(self) -> bool:
        """Whether elements follow each other from row to row: those of packed rows may not."""
        return self.rows == 1 or (self.stride == self.cols * self.dtype.nbytes and not self.dtype.packed)

    @property
    def everything(self) -> Place:
        return Place(self, 0, self.stride, self.rows, self.cols)

    @property
    def overlaps(self) -> bool:
        """Whether rows share elements."""
        return self.rows > 1 and self.stride < self.dtype.bytes_of(self.cols)

    def rectangle(self, start: int, stride: int, rows: int, cols: int) -> tuple[int, int]:
        """Row and column of the first of some elements that are a rectangle of the array."""
        row, offset = divmod(start, self.stride) if self.rows > 1 else (0, start)
        col = offset * 8 // self.dtype.bits
        if row + rows > self.rows or col + cols > self.cols or (rows > 1 and stride != self.stride):
            raise WrongProgram(f"{rows} x {cols} elements from byte {start} on are no rectangle of {self.name}")
        return row, col

    def elements(self, each: npt.NDArray[Any], start: int, stride: int, rows: int, cols: int) -> npt.NDArray[Any]:
        """A view of what ``each`` says of every element, for rows of elements in memory.

        In a dense array such rows need not be those of the array.
        """
        if start % self.dtype.nbytes or (rows > 1 and stride % self.dtype.nbytes):
            raise WrongProgram(f"an access to {self.name} between its elements")
        if not self.dense:
            row, col = self.rectangle(start, stride, rows, cols)
            return each[row : row + rows, col : col + cols]
        from numpy.lib.stride_tricks import as_strided

        first, step = (n * 8 // self.dtype.bits for n in (start, stride))
        if rows > 1 and step < cols:
            raise WrongProgram(f"rows of {self.name} that overlap are accessed")
        line = each.reshape(-1)[first : first + (rows - 1) * step + cols]
        return as_strided(line, (rows, cols), (step * each.itemsize, each.itemsize))


@dataclass(frozen=True)
class Place:
    """Rows of elements of an array, which the elements of a tile belong to one by one."""

    array: Array
    start: int
    stride: int
    rows: int
    cols: int

    def elements(self, each: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.array.elements(each, self.start, self.stride, self.rows, self.cols)

    def first_of_column(self) -> int:
        """The first row, where the array of one dimension is a column."""
        size = self.array.dtype.nbytes
        if self.cols > 1 or (self.rows > 1 and self.stride != size):
            raise WrongProgram(f"{self.rows} x {self.cols} elements, {self.stride} bytes apart, are no column")
        return self.start // size


def arrays_of(arguments: Sequence[SSAValue]) -> list[Array]:
    """The arrays of a kernel's arguments, at addresses by the launch convention."""
    types = [cast(MemRefType, argument.type) for argument in arguments]
    sizes = [memory_bytes(type_) for type_ in types]
    found = []
    for n, (argument, type_, offset) in enumerate(zip(arguments, types, abi.array_offsets(sizes))):
        rows, cols = shape_2d(type_)
        stride = row_stride_bytes(type_) if rows > 1 else 0
        name = argument.name_hint or f"array {n}"
        found.append(Array(n, name, dtype_of(type_.element_type), rows, cols, stride, sizes[n], BASE + offset))
    return found


class Constants:
    """The data section, at the address behind the arrays."""

    def __init__(self, arrays: Sequence[Array], data: Sequence[pto.DataOp]) -> None:
        self.address = BASE + abi.array_offsets([array.nbytes for array in arrays] + [0])[-1]
        offsets = data_offsets(data)
        self.entries = [(offsets[each.sym_name.data], each.value) for each in data]

    def load(self, place: Rectangle) -> Meaning:
        """What a block of constant data means."""
        start = place.address - self.address
        for first, value in self.entries:
            if first <= start < first + value.nbytes:
                break
        else:
            raise WrongProgram(f"a load from byte {start} of the constants, where there is none")
        start -= first
        end = start + (place.rows - 1) * place.stride + place.cols * place.dtype.nbytes
        if end > value.nbytes or value.width.data != place.dtype.nbytes or start % place.dtype.nbytes:
            raise WrongProgram("a load that does not fit the constant it starts in")
        if isinstance(value, SplatAttr):
            return Splat(value.bits.data, place.dtype.nbytes)
        if isinstance(value, IotaAttr):
            return _pattern(value, start, place)
        if place.rows != 1:
            raise WrongProgram("words are a single row")
        words = tuple(word.data for word in value.words)[start // 8 :]
        return Words(words[: place.cols])


def _pattern(value: IotaAttr, start: int, place: Rectangle) -> Pattern:
    row, offset = divmod(start, value.cols.data * place.dtype.nbytes)
    col = offset // place.dtype.nbytes
    wide = place.rows > 1 and place.stride != value.cols.data * place.dtype.nbytes
    if wide or col + place.cols > value.cols.data:
        raise WrongProgram("a load that is no rectangle of a pattern")
    steps = value.row_step.data, value.col_step.data
    return Pattern(row * steps[0] + col * steps[1], *steps)


class Touched:
    """Elements of the written arrays that cores have read and written, as flags by array."""

    def __init__(self, arrays: Sequence[Array], written: set[int]) -> None:
        import numpy as np

        shapes = {n: (arrays[n].rows, arrays[n].cols) for n in written}
        self.read: dict[int, Flags] = {n: np.zeros(shape, np.bool_) for n, shape in shapes.items()}
        self.written: dict[int, Flags] = {n: np.zeros(shape, np.bool_) for n, shape in shapes.items()}

    def add(self, others: Touched) -> None:
        for mine, theirs in ((self.read, others.read), (self.written, others.written)):
            for n in mine:
                mine[n] |= theirs[n]


class Contents:
    """What one core knows of the arrays: of every element of a written one, which write of the kernel it comes from.

    ``others`` is what the cores before it have touched. Nothing orders cores, so what one of them writes is no other's.
    """

    def __init__(self, arrays: Sequence[Array], written: set[int], others: Touched) -> None:
        import numpy as np

        self.arrays = arrays
        self.others = others
        self.own = Touched(arrays, written)
        # Numbers from 1 on, so that large arrays cost nothing where no bundle comes.
        self.writes: dict[int, Versions] = {n: np.zeros((arrays[n].rows, arrays[n].cols), np.int16) for n in written}

    def find(self, place: Rectangle) -> tuple[Array, int]:
        """The array that an address lies in, and the byte in it."""
        for array in self.arrays:
            if 0 <= place.address - array.address < array.nbytes:
                start = place.address - array.address
                end = start + (place.rows - 1) * place.stride + place.dtype.bytes_of(place.cols)
                if end > array.nbytes:
                    raise WrongProgram(f"an access beyond the end of {array.name}, at byte {end} of {array.nbytes}")
                if place.dtype.bits != array.dtype.bits:
                    raise WrongProgram(f"{array.name} is accessed as {place.dtype}")
                return array, start
        raise WrongProgram(f"an access at {place.address - BASE:#x} from the first array, where there is none")

    def load(self, place: Rectangle) -> tuple[Array, Block]:
        array, start = self.find(place)
        version = NEVER_WRITTEN
        if array.number in self.writes:
            rows = 1 if place.stride == 0 else place.rows
            target = Place(array, start, place.stride, rows, place.cols)
            self._require_own(target, self.others.written)
            target.elements(self.own.read[array.number])[...] = True
            seen = target.elements(self.writes[array.number])
            version = int(seen.flat[0]) - 1 if (seen == seen.flat[0]).all() else UNKNOWN_VERSION
        return array, Block(array.number, place.dtype, start, place.stride, place.rows, place.cols, version)

    def write(self, target: Place, number: int) -> None:
        """Elements come from a write of the kernel."""
        self._require_own(target, self.others.written)
        self._require_own(target, self.others.read)
        target.elements(self.own.written[target.array.number])[...] = True
        target.elements(self.writes[target.array.number])[...] = number + 1

    def _require_own(self, target: Place, others: dict[int, Flags]) -> None:
        if target.elements(others[target.array.number]).any():
            raise WrongProgram(f"two cores access an element of {target.array.name}, and one of them writes it")
