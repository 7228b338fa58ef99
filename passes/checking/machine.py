"""One core that computes with meanings: the registers of four PEs, their rings, the Shared tiles.

It keeps the rules of the ISA on names, shapes, types and pools, and asks a ``Memory`` what loads mean and whether
stores are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.layouts import (
    CUBE_LAYOUTS,
    CUBE_LOAD,
    CUBE_M16,
    CUBE_M32,
    CUBE_N8,
    CUBE_STORE,
    NORM,
    LayoutCode,
    cube_geometry,
)
from ptoc.isa.postprocess import GROUP_COLUMNS, PRE_QUANT_MODES, ReluMode, least_maximum
from ptoc.isa.registers import (
    CELL_BYTES,
    GENERATIONS,
    GPR_COUNT,
    HANDS,
    LOCAL_POOL_BYTES,
    PE_COUNT,
    SHARED_POOL_BYTES,
    size_bytes,
    tile_selector,
)
from ptoc.passes.checking.bundles import Bundle, SharedBinding
from ptoc.passes.checking.errors import WrongProgram
from ptoc.passes.checking.meanings import Block, Compared, Finish, Maxima, Meaning, Splat, Sum
from ptoc.passes.checking.scalars import Registers, lane

PREDICATE = "predicate"

_WHOLE_CORE = tuple(range(PE_COUNT))
_MATMUL_LB = ("M", "N", "K")


@dataclass(frozen=True, slots=True)
class Tile:
    """``columns`` are the physical ones of a row-major tile, ``nbytes`` the capacity."""

    meaning: Meaning
    dtype: DType
    layout: str
    rows: int
    cols: int
    columns: int
    nbytes: int

    def part(self, row: int, col: int, rows: int, cols: int) -> Meaning:
        """The meaning of some of the valid elements."""
        if (row, col, rows, cols) == (0, 0, self.rows, self.cols):
            return self.meaning
        return self.meaning.part(row, col, rows, cols)


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Where a PE touches memory: an address, the bytes between rows, rows and columns of elements."""

    pe: int
    address: int
    stride: int
    rows: int
    cols: int
    dtype: DType


class Memory(Protocol):
    """What the machine asks about memory; ``WrongProgram`` where an access is not what the kernel demands."""

    def load(self, place: Rectangle) -> Meaning:
        """What is read."""

    def store(self, place: Rectangle, value: Meaning) -> None:
        """A tile is written."""

    def scatter(self, place: Rectangle, value: Meaning, index: Meaning, mask: Meaning) -> None:
        """Elements are written at displacements from the address, under a mask."""


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise WrongProgram(message)


class Machine:
    """A core as a launch starts it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.registers: Registers = [0] * GPR_COUNT
        self.rings: list[list[list[Tile]]] = [[[] for _ in HANDS] for _ in range(PE_COUNT)]
        self.used = [0] * PE_COUNT
        self.shared: dict[int, Tile] = {}

    def run(self, bundle: Bundle) -> None:
        """Do what a tile bundle does."""
        if not bundle.operation.startswith("TMATMUL"):
            check_attributes(bundle)
            _require(len(bundle.destinations) <= 1, f"{bundle.operation} has one destination at most")
        if bundle.operation == "TLOAD" and bundle.shared:
            self._load_shared(bundle)
        elif bundle.operation == "TLOAD":
            self.publish(bundle, [(pe, [self._loaded(bundle, pe)]) for pe in bundle.pes])
        elif bundle.operation == "TSTORE":
            self._store(bundle)
        elif bundle.operation == "TCMP":
            self.publish(bundle, [(pe, [self._compared(bundle, pe)]) for pe in bundle.pes])
        elif bundle.operation == "MSCATTER_MASK":
            self._scatter(bundle)
        elif bundle.operation in ("TMATMUL", "TMATMUL_ACC"):
            _Product(self, bundle).run()
        else:
            raise WrongProgram(f"{bundle.operation} is no operation that the checker knows in compiled programs")

    # -- operands ---------------------------------------------------------------------------------

    def dimension(self, bundle: Bundle, lb: int, default: int | None = None) -> int:
        if lb not in bundle.dims:
            _require(default is not None, f"LB{lb} is missing")
            assert default is not None
            return default
        register, immediate = bundle.dims[lb]
        values = {lane(self.registers[register], pe) for pe in bundle.pes}
        _require(len(values) == 1, f"LB{lb} differs between PEs")
        size = values.pop() + immediate & 0xFFFF
        _require(size > 0, f"LB{lb} is zero")
        return size

    def _place(self, bundle: Bundle, pe: int, rows: int, cols: int) -> Rectangle:
        if bundle.registers is None:
            raise WrongProgram("an access without base and stride")
        base, stride, rest = bundle.registers
        _require(rest == 0, "an access has two operands in registers")
        address, distance = (lane(self.registers[register], pe) for register in (base, stride))
        return Rectangle(pe, address, distance, rows, cols, bundle.dtype)

    def source(self, bundle: Bundle, number: int, pe: int) -> Tile:
        """The tile of a source's relative name on one PE."""
        hand, distance = bundle.sources[number]
        ring = self.rings[pe][hand]
        _require(
            distance <= len(ring), f"{HANDS[hand]}#{distance} on PE{pe} is dead: {len(ring)} tiles are in the hand"
        )
        return ring[distance - 1]

    # -- results ----------------------------------------------------------------------------------

    def publish(self, bundle: Bundle, results: Sequence[tuple[int, Sequence[Tile]]]) -> None:
        """Publish the tiles of all destinations on some PEs, under the rules of names and of the pool."""
        hands = [hand for hand, _ in bundle.destinations]
        for pe, tiles in results:
            for hand, distance in bundle.sources:
                oldest = distance + hands.count(hand) > GENERATIONS
                _require(not oldest, f"{HANDS[hand]}#{distance} is a source and would be retired on PE{pe}")
            for hand, tile in zip(hands, tiles, strict=True):
                ring = self.rings[pe][hand]
                if len(ring) == GENERATIONS:
                    self.used[pe] -= ring.pop().nbytes
                ring.insert(0, tile)
                self.used[pe] += tile.nbytes
                used = self.used[pe]
                _require(used <= LOCAL_POOL_BYTES, f"the Local pool of PE{pe} would hold {used} bytes")

    # -- memory -----------------------------------------------------------------------------------

    def _loaded(self, bundle: Bundle, pe: int) -> Tile:
        _require(not bundle.sources and bundle.destination is not None, "TLOAD has one destination and no source")
        assert bundle.destination is not None
        nbytes = size_bytes(bundle.destination[1])
        cols, rows = self.dimension(bundle, 0, 1), self.dimension(bundle, 1, 1)
        if bundle.layout == LayoutCode.NORM:
            columns = self.dimension(bundle, 2, cols)
            layout = NORM
            check_row_major(rows, cols, columns, bundle.dtype, nbytes)
        else:
            _require(bundle.layout in CUBE_LOAD and 2 not in bundle.dims, "a load in a layout that none has")
            layout, columns = CUBE_LOAD[bundle.layout], cols
            check_cube(layout, rows, cols, bundle.dtype, nbytes)
        meaning = self.memory.load(self._place(bundle, pe, rows, cols))
        return Tile(meaning, bundle.dtype, layout, rows, cols, columns, nbytes)

    def _load_shared(self, bundle: Bundle) -> None:
        alone = len(bundle.shared) == 1 and not bundle.sources and not bundle.destination
        _require(alone, "a load has one destination")
        binding, pes = bundle.shared[0], bundle.pes
        whole = binding.assemble
        known = whole is not None and whole["INIT"] and whole["LAST"] and not whole["RegSrc"] and not whole["uimm11"]
        if not known or whole is None or whole["SizeCode"] != binding.size_code or len(pes) != 1:
            raise WrongProgram("the checker knows only Shared loads of a whole tile by one PE")
        cols, rows = self.dimension(bundle, 0, 1), self.dimension(bundle, 1, 1)
        columns, nbytes = self.dimension(bundle, 2, cols), size_bytes(binding.size_code)
        check_row_major(rows, cols, columns, bundle.dtype, nbytes)
        meaning = self.memory.load(self._place(bundle, pes[0], rows, cols))
        before = self.shared.get(binding.name)
        # While a tile is assembled, the one before is still there: the larger of the two is charged.
        charged = max(nbytes, 0 if before is None else before.nbytes)
        others = sum(tile.nbytes for name, tile in self.shared.items() if name != binding.name)
        _require(others + charged <= SHARED_POOL_BYTES, f"the Shared pool would hold {others + charged} bytes")
        self.shared[binding.name] = Tile(meaning, bundle.dtype, NORM, rows, cols, columns, nbytes)

    def _store(self, bundle: Bundle) -> None:
        _require(
            len(bundle.sources) == 1 and not bundle.destination and not bundle.shared, "TSTORE has one Local source"
        )
        found = []
        for pe in bundle.pes:
            tile = self.source(bundle, 0, pe)
            _require(tile.dtype == bundle.dtype, f"a tile of {tile.dtype} is stored as {bundle.dtype}")
            cols, rows = self.dimension(bundle, 0, tile.cols), self.dimension(bundle, 1, tile.rows)
            if bundle.layout == LayoutCode.NORM:
                _require(tile.layout == NORM, f"a {tile.layout} tile is stored as a row-major one")
                _require(self.dimension(bundle, 2, tile.columns) == tile.columns, "a store with other columns")
                _require(rows <= tile.rows and cols <= tile.cols, f"{rows} x {cols} of a smaller tile are stored")
            else:
                _require(CUBE_STORE.get(bundle.layout) == tile.layout, f"a {tile.layout} tile is stored as another")
                _require(2 not in bundle.dims, "LB2 in a CUBE store")
                _require((rows, cols) == (tile.rows, tile.cols), f"{rows} x {cols} of {tile.rows} x {tile.cols} stored")
            found.append((self._place(bundle, pe, rows, cols), tile.part(0, 0, rows, cols)))
        for place, meaning in found:
            self.memory.store(place, meaning)

    def _compared(self, bundle: Bundle, pe: int) -> Tile:
        _require(len(bundle.sources) == 2 and bundle.destination is not None, "TCMP has two sources and a result")
        assert bundle.destination is not None
        cols, rows = self.dimension(bundle, 0), self.dimension(bundle, 1, 1)
        columns = self.dimension(bundle, 2, cols)
        lhs, rhs = (self.source(bundle, n, pe) for n in range(2))
        for tile in (lhs, rhs):
            _require(tile.layout == NORM and tile.dtype == bundle.dtype, "TCMP compares row-major tiles of its type")
            _require((tile.rows, tile.cols, tile.columns) == (rows, cols, columns), "TCMP compares tiles of its shape")
        _require(physical_rows(lhs) == physical_rows(rhs), "TCMP compares tiles of one physical shape")
        nbytes = size_bytes(bundle.destination[1])
        _require(-(-physical_rows(lhs) * columns // 8) <= nbytes, "a mask does not fit its tile")
        relation = 0 if bundle.datr is None else bundle.datr["CMode"]
        meaning = Compared(relation, bundle.dtype, lhs.meaning, rhs.meaning)
        return Tile(meaning, dtypes.U8, PREDICATE, rows, cols, columns, nbytes)

    def _scatter(self, bundle: Bundle) -> None:
        _require(len(bundle.sources) == 3 and bundle.destination is None, "MSCATTER_MASK has three sources")
        cols, rows = self.dimension(bundle, 0), self.dimension(bundle, 1, 1)
        columns = self.dimension(bundle, 2, cols)
        found = []
        for pe in bundle.pes:
            data, index, mask = (self.source(bundle, n, pe) for n in range(3))
            _require(data.layout == index.layout == NORM and mask.layout == PREDICATE, "a scatter of other tiles")
            _require(data.dtype == bundle.dtype, f"{data.dtype} is scattered as {bundle.dtype}")
            _require(index.dtype in dtypes.SCATTER_INDEX_TYPES, f"a scatter by {index.dtype}")
            shapes = {(tile.rows, tile.cols) for tile in (data, index, mask)}
            _require(shapes == {(rows, cols)} and data.columns == columns, "a scatter of tiles of other shapes")
            place = self._place(bundle, pe, rows, cols)
            _require(place.stride == 0 and bundle.registers[1] == 0, "a scatter takes a base and no stride")
            found.append((place, data.meaning, index.meaning, mask.meaning))
        for each in found:
            self.memory.scatter(*each)


class _Product:
    """One TMATMUL or TMATMUL_ACC."""

    def __init__(self, machine: Machine, bundle: Bundle) -> None:
        self.machine = machine
        self.bundle = bundle
        if bundle.fpatr is None:
            raise WrongProgram("a product without B.FPATR")
        self.fpatr = fpatr = bundle.fpatr
        self.m, self.n, self.k = (machine.dimension(bundle, lb, 1) for lb in range(3))
        self.a_type = bundle.dtype
        datr = bundle.datr
        other = dtypes.NONE_CODE if datr is None else datr["DataType"]
        self.b_type = bundle.dtype if other == dtypes.NONE_CODE else dtypes.BY_CODE[other]
        accumulator = dtypes.accumulator(self.a_type, self.b_type)
        if accumulator is None:
            raise WrongProgram(f"no product of {self.a_type} and {self.b_type}")
        self.accumulator = accumulator
        self.mode = PRE_QUANT_MODES[self.fpatr["PreQuantMode"]]
        _require(self.mode.source in (None, accumulator), f"PreQuantMode {self.mode.code} of {accumulator}")
        self.result = self.mode.result or accumulator
        self.group = GROUP_COLUMNS[fpatr["GroupNCode"]]
        self.row_max, self.absolute = bool(fpatr["RowMaxEn"]), bool(fpatr["MaxAbsEn"])
        _require(bool(fpatr["GroupMaxEn"]) == bool(self.group), "maxima of groups without their columns")
        _require(self.row_max or not fpatr["RowMaxInit"], "a start of maxima that are not asked for")
        _require(bool(self.row_max or self.group) or not self.absolute, "magnitudes without maxima")
        wanted = 1 + self.row_max + bool(self.group)
        _require(len(bundle.destinations) == wanted, f"{len(bundle.destinations)} destinations, not {wanted}")
        self.hand, size_code = bundle.destinations[0]
        self.nbytes = size_bytes(size_code)
        self._sources()

    def _sources(self) -> None:
        """Which Local source is what."""
        bundle, fpatr = self.bundle, self.fpatr
        scaled, slopes = bool(fpatr["CScaleEn"]), fpatr["ReluMode"] == ReluMode.PRELU
        present = {
            "c": bundle.operation == "TMATMUL_ACC",
            "a": len(bundle.shared) < 2,
            "b": not bundle.shared,
            "scale": scaled,
            "initial": bool(fpatr["RowMaxInit"]),
            "words": self.mode.parameter == "vector",
            "slopes": slopes,
        }
        _require(present["c"] or not scaled, "CScale without C")
        names = [name for name, there in present.items() if there]
        _require(len(names) == len(bundle.sources), f"{len(bundle.sources)} Local sources, not {len(names)}")
        self.sources = {name: number for number, name in enumerate(names)}
        every_hand = [hand for hand, _ in bundle.destinations]
        for name, hands in (("c", [self.hand]), ("scale", every_hand)):
            if present[name]:
                hand, distance = bundle.sources[self.sources[name]]
                number = tile_selector(hand, distance)
                _require(number not in hands, f"{HANDS[hand]}#{distance} feeds a result in {HANDS[number % PE_COUNT]}")
        if bundle.shared:
            _require(bundle.pes == _WHOLE_CORE, "Shared operands without all PEs")
            _require(self.m <= 4 * 32, f"{self.m} rows of a core")

    def run(self) -> None:
        results = []
        for pe in self.bundle.pes:
            first, rows = self._rows(pe)
            if rows:
                tile = self._result(pe, first, rows)
                assert isinstance(tile.meaning, Sum)
                results.append((pe, [tile, *self._maxima(pe, rows, tile.meaning)]))
        self.machine.publish(self.bundle, results)

    def _rows(self, pe: int) -> tuple[int, int]:
        """First row and number of rows of a PE."""
        if not self.bundle.shared:
            return 0, self.m
        share = 16 if self.m <= 64 else 32
        return pe * share, min(max(self.m - pe * share, 0), share)

    def _result(self, pe: int, first: int, rows: int) -> Tile:
        c = self._local("c", pe)
        a, layout = self._a(pe, first, rows)
        b = self._b(pe)
        if layout is None:
            layout = c.layout if c is not None else CUBE_M16 if rows <= 16 else CUBE_M32
        _require(layout in (CUBE_M16, CUBE_M32), f"C is {layout}")
        check_cube(layout, rows, self.n, self.result, self.nbytes)
        start, scale = None, self._scale(pe, rows)
        if c is not None:
            fits = c.layout == layout and c.dtype == self.accumulator
            _require(fits, f"C is {c.layout} of {c.dtype}, not {layout} of {self.accumulator}")
            _require((c.rows, c.cols) == (rows, self.n), f"C is {c.rows} x {c.cols}, not {rows} x {self.n}")
            _require(c.nbytes == self.nbytes or self.mode.code != 0, "C and D have other capacities")
            start = c.meaning
        if isinstance(start, Sum) and start.finish is None and scale is None:
            total = start.plus(a, b)
        else:
            total = Sum(start, scale, ((a, b),))
        return Tile(replace(total, finish=self._finish(pe)), self.result, layout, rows, self.n, self.n, self.nbytes)

    def _maxima(self, pe: int, rows: int, total: Sum) -> Iterator[Tile]:
        """The further results: maxima of the sums as they were before anything becomes of them."""
        raw = replace(total, finish=None)
        sizes = iter([size_bytes(size_code) for _, size_code in self.bundle.destinations[1:]])
        if self.row_max:
            yield self._of_maxima(self._row_maxima(pe, rows, raw), rows, 1, next(sizes))
        if self.group:
            yield self._of_maxima(Maxima(None, (raw,), self.group, self.absolute), rows, self.groups, next(sizes))

    @property
    def groups(self) -> int:
        return -(-self.n // self.group)

    def _row_maxima(self, pe: int, rows: int, raw: Sum) -> Maxima:
        initial = self._local("initial", pe)
        if initial is None:
            return Maxima(None, (raw,), 0, self.absolute)
        _require(initial.layout == NORM and initial.dtype == self.accumulator, "maxima start from another type")
        _require((initial.rows, initial.cols) == (rows, 1), f"maxima start from {initial.rows} x {initial.cols}")
        start = initial.meaning
        if isinstance(start, Maxima):
            _require((start.group, start.absolute) == (0, self.absolute), "maxima start from other maxima")
            return start.plus(raw)
        least = least_maximum(self.accumulator, absolute=self.absolute)
        nothing = start == Splat(least, self.accumulator.nbytes)
        return Maxima(None if nothing else start, (raw,), 0, self.absolute)

    def _of_maxima(self, meaning: Maxima, rows: int, cols: int, nbytes: int) -> Tile:
        check_row_major(rows, cols, cols, self.accumulator, nbytes)
        return Tile(meaning, self.accumulator, NORM, rows, cols, cols, nbytes)

    def _local(self, name: str, pe: int) -> Tile | None:
        if name not in self.sources:
            return None
        return self.machine.source(self.bundle, self.sources[name], pe)

    def _a(self, pe: int, first: int, rows: int) -> tuple[Meaning, str | None]:
        """Meaning and layout of this PE's rows of A."""
        tile = self._local("a", pe)
        if tile is None:
            turned = bool(self.fpatr["TransA"])
            parent = self._parent("A", self.bundle.shared[0], self.a_type, pe, turned, self.m, self.k)
            meaning = parent.part(0, first, self.k, rows) if turned else parent.part(first, 0, rows, self.k)
            return _turned(meaning, turned), None
        _require(not self.fpatr["TransA"], "a Local A is transposed")
        _require(tile.layout in (CUBE_M16, CUBE_M32), f"A is {tile.layout}")
        _require(tile.dtype == self.a_type, f"A is of {tile.dtype}, not {self.a_type}")
        _require((tile.rows, tile.cols) == (rows, self.k), f"A is {tile.rows} x {tile.cols}, not {rows} x {self.k}")
        return tile.meaning, tile.layout

    def _b(self, pe: int) -> Meaning:
        tile = self._local("b", pe)
        if tile is None:
            turned = bool(self.fpatr["TransB"])
            parent = self._parent("B", self.bundle.shared[-1], self.b_type, pe, turned, self.k, self.n)
            size = (self.n, self.k) if turned else (self.k, self.n)
            return _turned(parent.part(0, 0, *size), turned)
        _require(not self.fpatr["TransB"], "a Local B is transposed")
        _require(tile.layout == CUBE_N8 and tile.dtype == self.b_type, f"B is {tile.layout} of {tile.dtype}")
        _require((tile.rows, tile.cols) == (self.k, self.n), f"B is {tile.rows} x {tile.cols}, not {self.k} x {self.n}")
        return tile.meaning

    def _parent(
        self, name: str, binding: SharedBinding, dtype: DType, pe: int, turned: bool, rows: int, cols: int
    ) -> Tile:
        """A Shared tile that holds ``rows`` x ``cols`` of an operand, or their transpose."""
        parent = self._shared(binding, dtype, pe)
        rows, cols = (cols, rows) if turned else (rows, cols)
        enough = parent.rows >= rows and parent.cols >= cols and parent.columns == cols
        _require(enough, f"{name} is {parent.rows} x {parent.cols} of {parent.columns} columns, not {rows} x {cols}")
        return parent

    def _shared(self, binding: SharedBinding, dtype: DType, pe: int) -> Tile:
        """A Shared operand as one PE sees it, which may be a view of some rows."""
        _require(binding.size_code == 0, "a Shared operand is a source")
        parent = self.machine.shared.get(binding.name)
        if parent is None:
            raise WrongProgram(f"S{binding.name} was never loaded")
        _require(parent.dtype == dtype, f"S{binding.name} holds {parent.dtype}, not {dtype}")
        if binding.view is None:
            return parent
        cell = lane(self.machine.registers[binding.view["RegSrc"]], pe) + binding.view["uimm11"]
        nbytes = size_bytes(binding.view["SubviewSizeCode"])
        row_bytes = parent.columns * dtype.bits // 8
        inside = cell * CELL_BYTES + nbytes <= parent.nbytes
        _require(inside, f"a view of S{binding.name} from cell {cell} on ends outside of it")
        whole_rows = cell * CELL_BYTES % row_bytes == 0 and nbytes % row_bytes == 0
        _require(whole_rows, f"a view of S{binding.name} is not of whole rows")
        first = cell * CELL_BYTES // row_bytes
        rows = min(nbytes // row_bytes, parent.rows - first)
        _require(rows > 0, f"a view of S{binding.name} is empty")
        return replace(parent, meaning=parent.part(first, 0, rows, parent.cols), rows=rows, nbytes=nbytes)

    def _scale(self, pe: int, rows: int) -> Meaning | None:
        tile = self._local("scale", pe)
        if tile is None:
            return None
        _require(tile.layout == CUBE_M32 and tile.dtype == dtypes.U8, f"CScale is {tile.layout} of {tile.dtype}")
        _require((tile.rows, tile.cols) == (rows, 1), f"CScale is {tile.rows} x {tile.cols}, not {rows} x 1")
        return tile.meaning

    def _finish(self, pe: int) -> Finish | None:
        bundle = self.bundle
        words = (self.mode.parameter == "scalar") + (self.fpatr["ReluMode"] == ReluMode.LRELU)
        registers = bundle.registers or (0, 0, 0)
        _require(not any(registers[words:]), "a register that no parameter needs")
        tiles = [tile for tile in (self._local(name, pe) for name in ("words", "slopes")) if tile is not None]
        for tile in tiles:
            _require(tile.layout == NORM and tile.dtype == dtypes.U64, f"parameters are {tile.layout} of {tile.dtype}")
            _require((tile.rows, tile.cols) == (1, self.n), f"{tile.rows} x {tile.cols} parameters, not 1 x {self.n}")
        datr = bundle.datr
        finish = Finish(
            self.mode.code,
            self.fpatr["ReluMode"],
            0 if datr is None else datr["RMode"],
            0 if datr is None else datr["Sat"],
            tuple(lane(self.machine.registers[register], pe) for register in registers[:words]),
            tuple(tile.meaning for tile in tiles),
        )
        return None if finish == NOT_FINISHED else finish


NOT_FINISHED = Finish(0, ReluMode.NONE, 0, 0, (), ())
"""What B.FPATR says of a sum that goes on."""


def _turned(meaning: Meaning, turned: bool) -> Meaning:
    return replace(meaning, turned=True) if turned and isinstance(meaning, Block) else meaning


def check_attributes(bundle: Bundle) -> None:
    """B.DATR and B.FPATR outside of products: what does not apply is zero, and CUBE forms keep the type."""
    _require(bundle.fpatr is None, "B.FPATR outside of a product")
    datr = bundle.datr
    if datr is None:
        return
    compares = bundle.operation == "TCMP"
    cube = bundle.layout in CUBE_LOAD or bundle.layout in CUBE_STORE
    types = (dtypes.NONE_CODE,) if cube else (0, dtypes.NONE_CODE)
    _require(datr["DataType"] in types, f"{bundle.operation} of a second type")
    _require(not (datr["RMode"] or datr["Sat"] or datr["Canonicalize"]), f"{bundle.operation} with a conversion")
    _require(compares or datr["CMode"] == 0, f"{bundle.operation} with a relation")
    _require(compares or cube or datr["PadValueOrByteId"] == 0, f"{bundle.operation} with padding")
    _require(datr["Layout"] == LayoutCode.NORM or bundle.operation in ("TLOAD", "TSTORE"), "a layout that none has")


def physical_rows(tile: Tile) -> int:
    """Rows of a row-major tile's storage."""
    return tile.nbytes * 8 // (tile.columns * tile.dtype.bits)


def check_row_major(rows: int, cols: int, columns: int, dtype: DType, nbytes: int) -> None:
    """The shape of a row-major tile."""
    _require(columns & (columns - 1) == 0 and cols <= columns, f"{cols} of {columns} columns")
    _require(rows * columns * dtype.bits <= nbytes * 8, f"{rows} x {columns} of {dtype} do not fit in {nbytes} bytes")


def check_cube(layout: str, rows: int, cols: int, dtype: DType, nbytes: int) -> None:
    """The shape of a CUBE tile."""
    _require(layout in CUBE_LAYOUTS, f"a {layout} tile where a CUBE one is needed")
    try:
        needed = cube_geometry(layout, dtype.bits, rows, cols).storage_bytes
    except ValueError as error:
        raise WrongProgram(str(error)) from None
    _require(needed <= nbytes, f"{rows} x {cols} of {dtype} in {layout} do not fit in {nbytes} bytes")
