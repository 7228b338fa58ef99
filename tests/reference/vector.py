"""Bundles of the vector operations, element by element (vector.md sections 1 to 3 and 5 to 11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference import arithmetic as exact
from reference.arithmetic import Result
from reference.bundle import Bundle
from reference.elementwise import COMPARED, truth
from reference.machine import Reference
from reference.state import Tile, norm_tile, refuse_if, size
from reference.values import MUST_BE_ZERO, NAMES, bits_of, class_of, names, padding, signalling

VEC16 = COMPARED
FLT8 = names("FP64 FP32 TF32 HF32 FP16 BF16 E4M3 E5M2")
INT8 = names("S64 S32 S16 S8 U64 U32 U16 U8")
A9 = names("FP32 FP16 BF16 S32 S16 S8 U32 U16 U8")
F3 = names("FP32 FP16 BF16")
CONTROL, LEGALITY, ALLOCATION = "BundleControl", "TileLegality", "TileAllocation"
PAD = "PadValueOrByteId"
PAIRS = {("FP16", "FP16"), ("BF16", "BF16"), ("FP32", "FP32"), ("FP16", "FP32"), ("BF16", "FP32")}
LAYOUTS = {
    0: ("NORM", "NORM"),
    1: ("NORM", "DN"),
    3: ("NORM", "ZN"),
    4: ("NORM", "NZ"),
    6: ("DN", "NORM"),
    8: ("DN", "ZN"),
    9: ("DN", "NZ"),
    17: ("ZN", "NORM"),
    18: ("ZN", "DN"),
    20: ("ZN", "NZ"),
    27: ("NZ", "NORM"),
    28: ("NZ", "DN"),
    30: ("NZ", "ZN"),
}


@dataclass(frozen=True)
class Row:
    """A line of the tables: ``sources`` are full, predicate, column or row; so is ``result``."""

    kind: str
    mode: int
    function: int
    types: list[str]
    sources: tuple[str, ...]
    result: str = "full"
    scalar: bool = False
    attributes: tuple[str, ...] = (PAD,)
    checked_late: bool = False
    any_encoding: bool = False


def _rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    arithmetic = {"ADD": 0, "SUB": 1, "MUL": 2, "DIV": 3, "REM": 4, "MAX": 11, "MIN": 12}
    bits = {"AND": 6, "OR": 7, "XOR": 8, "SHL": 9, "SHR": 10}
    for name, fn in {**arithmetic, **bits}.items():
        types, raw = (INT8, True) if name in bits else (VEC16, False)
        rows[f"T{name}"] = Row("binary", 0, fn, types, ("full", "full"), checked_late=True, any_encoding=raw)
        rows[f"T{name}S"] = Row("scalar", 1, fn, types, ("full",), scalar=True, any_encoding=raw)
    one = {"ABS": (15, VEC16), "NOT": (16, INT8), "NEG": (17, VEC16), "EXP": (18, FLT8), "LOG": (19, FLT8)}
    one |= {"RECIP": (20, FLT8), "SQRT": (21, FLT8), "RSQRT": (22, FLT8), "RELU": (23, VEC16)}
    for name, (fn, types) in one.items():
        rows[f"T{name}"] = Row("unary", 0, fn, types, ("full",), checked_late=True, any_encoding=name == "NOT")
    rows["TFMA"] = Row("fused", 0, 28, VEC16, ("full",) * 3, checked_late=True)
    rows["TSEL"] = Row("select", 0, 26, VEC16, ("predicate", "full", "full"), any_encoding=True)
    cvt = (PAD, "DataType", "RMode", "Sat", "Canonicalize", "Layout")
    rows["TCVT"] = Row("convert", 0, 27, list(NAMES.values()), ("full",), attributes=cvt)
    rows["TCMPS"] = Row("compare", 1, 13, VEC16, ("full",), "predicate", True, (PAD, "CMode"))
    rows["TSELS"] = Row("select", 1, 26, VEC16, ("predicate", "full"), scalar=True, any_encoding=True)
    rows["TEXPANDS"] = Row("fill", 1, 27, VEC16, (), scalar=True, any_encoding=True)
    for line, result, first in (("ROW", "column", 0), ("COL", "row", 16)):
        for fn, name in enumerate(("SUM", "MAX", "MIN", "PROD")):
            rows[f"T{line}{name}"] = Row("reduce", 2, first + fn, VEC16, ("full",), result)
        for fn, name in enumerate(("ARGMAX", "ARGMIN"), 12):
            rows[f"T{line}{name}"] = Row("argument", 2, first + fn, A9, ("full",), result)
        rows[f"T{line}EXPAND"] = Row("copy", 2, first + 4, VEC16, (result,), any_encoding=True)
        for fn, name in enumerate(("ADD", "SUB", "MUL", "DIV", "MAX", "MIN"), 5):
            rows[f"T{line}EXPAND{name}"] = Row("binary", 2, first + fn, VEC16, ("full", result))
        attributes = (PAD, "DataType")
        rows[f"T{line}EXPANDEXPDIF"] = Row("difference", 2, first + 11, F3, ("full", result), attributes=attributes)
    return rows


ROWS = _rows()
SELECTORS = {(row.mode, row.function): name for name, row in ROWS.items()} | {(0, 13): "TCMP"}
Placed = list[tuple[Tile, str]]


def records(row: Row) -> list[tuple[int, bool]]:
    """Sources and destination of each B.IOT."""
    n = len(row.sources)
    return [(0, True)] if not n else [(min(2, n - i), i + 2 >= n) for i in range(0, n, 2)]


def perform(machine: Reference, bundle: Bundle) -> None:
    """The checks in their order on all PEs, then the effect."""
    name = bundle.operation
    row = ROWS[name]
    _bindings(row, bundle)
    refuse_if(bundle.stray_attributes(*row.attributes), LEGALITY)
    refuse_if(bundle.shared or (bundle.ior is not None and not row.scalar), LEGALITY)
    refuse_if([(len(b.sources), bool(b.size)) for b in bundle.locals] != records(row), LEGALITY)
    dims = [bundle.dimension(n) for n in range(3)]
    refuse_if(dims[0] is None or 0 in dims or bundle.attribute("CMode") > 5, LEGALITY)
    refuse_if(NAMES[bundle.dtype] not in row.types, LEGALITY)
    assert dims[0] is not None
    job = Job(machine, bundle, row, (dims[1] or 1, dims[0]), dims[2] or dims[0])
    job.choose_types()
    done = [(pe, *job.checked(pe)) for pe in bundle.pes]
    for pe, tiles, out in done:
        machine.publish(pe, bundle.locals[-1].hand, job.effect(pe, tiles, out))


def _bindings(row: Row, bundle: Bundle) -> None:
    counts = sum(len(b.sources) for b in bundle.locals), sum(bool(b.size) for b in bundle.locals)
    refuse_if(counts != (len(row.sources), 1), CONTROL)
    refuse_if(not bundle.locals[-1].last, CONTROL)
    if bundle.ior is not None:
        used = int(row.scalar)
        refuse_if(any(bundle.ior[f"RegSrc{i}"] for i in range(used, 3)) or bundle.ior["RegDst"], CONTROL)


@dataclass
class Job:
    """One bundle: the shape of its valid rectangle and its physical columns."""

    machine: Reference
    bundle: Bundle
    row: Row
    shape: tuple[int, int]
    cols: int
    dtype: str = ""
    result: str = ""
    ends: tuple[str, str] = ("NORM", "NORM")

    def choose_types(self) -> None:
        self.dtype = self.result = NAMES[self.bundle.dtype]
        code = self.bundle.attribute("DataType")
        if self.row.kind in ("convert", "difference") and code != 31:
            self.result = NAMES[code]
        if self.row.kind == "argument":
            self.result = "U32"
        if self.row.kind == "difference":
            refuse_if((self.dtype, self.result) not in PAIRS, LEGALITY)
        if self.row.kind == "convert":
            refuse_if(self.result == "E8M0" and self.dtype not in F3, LEGALITY)
            refuse_if(self.bundle.attribute("Canonicalize"), LEGALITY)
            refuse_if(self.bundle.layout not in LAYOUTS, LEGALITY)
            self.ends = LAYOUTS[self.bundle.layout]

    @property
    def divides(self) -> bool:
        """Whether the last operand must not be zero."""
        name = self.bundle.operation
        return class_of(self.dtype) != "floating" and ("DIV" in name or "REM" in name)

    def scalar(self, pe: int) -> int:
        code = self.bundle.ior["RegSrc0"] if self.bundle.ior else 0
        return self.machine.gpr[pe][code] % 2 ** bits_of(self.dtype) if code else 0

    def checked(self, pe: int) -> tuple[list[Tile], Tile]:
        """The sources of a PE and the empty tile that it will publish."""
        early = not self.row.checked_late
        tiles = self.sources(pe) if early else []
        if early:
            self.values(pe, tiles)
        one = self.bundle.locals[-1]
        capacity = size(one.size)
        self.machine.room(pe, [(one.hand, capacity)], [s for b in self.bundle.locals for s in b.sources])
        out = self.allocated(capacity, tiles)
        if not early:
            tiles = self.sources(pe)
        if self.row.result == "full":
            full = [t for t, kind in zip(tiles, self.row.sources) if kind in ("full", "predicate")]
            refuse_if(any(t.rows != out.rows for t in full), LEGALITY)
        if not early:
            self.values(pe, tiles)
        return tiles, out

    def sources(self, pe: int) -> list[Tile]:
        tiles = [
            self.machine.source(pe, binder, slot, self.bundle.pes)
            for binder in self.bundle.locals
            for slot in range(len(binder.sources))
        ]
        (rows, cols), whole = self.shape, set()
        for tile, kind in zip(tiles, self.row.sources):
            if kind == "predicate":
                refuse_if(tile.kind != "predicate", LEGALITY)
            else:
                refuse_if(tile.kind != "numeric" or tile.layout != self.ends[0], LEGALITY)
                refuse_if(tile.dtype != self.dtype, LEGALITY)
            valid = {"column": (rows, 1), "row": (1, cols)}.get(kind, self.shape)
            refuse_if(tile.shape != valid or tile.cols != (1 if kind == "column" else self.cols), LEGALITY)
            if kind in ("full", "predicate"):
                whole.add(tile.rows)
        refuse_if(len(whole) > 1, LEGALITY)
        return tiles

    def values(self, pe: int, tiles: list[Tile]) -> None:
        refuse_if(not all(tile.defined(*tile.shape) for tile in tiles), LEGALITY)
        clear = 0 if self.row.any_encoding else MUST_BE_ZERO.get(self.dtype, 0)
        numeric = [tile for tile in tiles if tile.kind == "numeric"]
        refuse_if(any(bits & clear for tile in numeric for bits in _all(tile)), LEGALITY)
        refuse_if(self.row.scalar and self.scalar(pe) & clear, LEGALITY)
        if self.divides:
            last = [self.scalar(pe)] if self.row.scalar else _all(tiles[-1])
            refuse_if(0 in last, LEGALITY)

    def allocated(self, capacity: int, tiles: list[Tile]) -> Tile:
        if self.row.result == "predicate":
            source = tiles[0]
            refuse_if(-(-source.rows * source.cols // 8) > capacity, ALLOCATION)
            return Tile("predicate", "U8", "NORM", capacity, source.rows, source.cols, *source.shape)
        rows, cols, wide = *self.shape, self.cols
        if self.row.result == "column":
            cols = wide = 1
        elif self.row.result == "row":
            rows = 1
        out = norm_tile(self.result, capacity, rows, cols, wide, ALLOCATION)
        if self.ends[1] in ("ZN", "NZ"):
            refuse_if(out.rows % 16 or out.cols % (256 // bits_of(self.result)), LEGALITY)
        out.layout = self.ends[1]
        return out

    def effect(self, pe: int, tiles: list[Tile], out: Tile) -> Tile:
        pad = self.bundle.attribute(PAD)
        pattern = padding(self.result, pad)
        if self.row.result == "predicate":
            pattern = None if pad == 3 else int(pad == 1)
        if pattern is not None:
            out.values = dict.fromkeys(range(out.rows * out.cols), pattern)
        for r in range(out.valid_rows):
            for c in range(out.valid_cols):
                bits, flags = self.element(pe, tiles, r, c)
                out.put(r, c, bits)
                self.machine.flags |= flags
        return out

    def element(self, pe: int, tiles: list[Tile], r: int, c: int) -> Result:
        """One element of the result; reductions see their whole line."""
        row, operation = self.row, self.bundle.operation
        if row.kind in ("reduce", "argument"):
            tile = tiles[0]
            line = (
                [tile.at(r, i) for i in range(tile.valid_cols)]
                if row.result == "column"
                else [tile.at(i, c) for i in range(tile.valid_rows)]
            )
            fold = place_of if row.kind == "argument" else folded
            return fold(operation[4:].removeprefix("ARG"), self.dtype, line)
        at = [_element(tile, kind, r, c) for tile, kind in zip(tiles, row.sources)]
        scalar = self.scalar(pe) if row.scalar else 0
        name = operation.removeprefix("T").removeprefix("ROWEXPAND").removeprefix("COLEXPAND")
        kinds: dict[str, Callable[[], Result]] = {
            "binary": lambda: exact.binary(name, self.dtype, *at),
            "scalar": lambda: exact.binary(name.removesuffix("S"), self.dtype, at[0], scalar),
            "unary": lambda: exact.unary(name, self.dtype, *at),
            "fused": lambda: exact.fused(self.dtype, *at),
            "select": lambda: (at[1] if at[0] else at[2] if len(at) > 2 else scalar, 0),
            "convert": lambda: self._converted(at[0]),
            "compare": lambda: self._compared(at[0], scalar),
            "fill": lambda: (scalar, 0),
            "copy": lambda: (at[0], 0),
            "difference": lambda: difference(self.dtype, self.result, *at),
        }
        return kinds[row.kind]()

    def _converted(self, bits: int) -> Result:
        mode, saturate = self.bundle.attribute("RMode"), bool(self.bundle.attribute("Sat"))
        return exact.converted(self.dtype, self.result, bits, mode, saturate)

    def _compared(self, bits: int, scalar: int) -> Result:
        flags = exact.NV if signalling(self.dtype, bits) or signalling(self.dtype, scalar) else 0
        return int(truth(self.bundle.attribute("CMode"), self.dtype, bits, scalar)), flags


def _all(tile: Tile) -> list[int]:
    return [tile.at(r, c) for r in range(tile.valid_rows) for c in range(tile.valid_cols)]


def _element(tile: Tile, kind: str, r: int, c: int) -> int:
    return tile.at(0 if kind == "row" else r, 0 if kind == "column" else c)


def folded(operation: str, dtype: str, line: list[int]) -> Result:
    """A strict left fold."""
    step = {"SUM": "ADD", "PROD": "MUL"}.get(operation, operation)
    if operation in ("MAX", "MIN"):
        acc, rest = line[0], line[1:]
    else:
        acc, rest = (0 if operation == "SUM" else exact.one(dtype)), line
    raised = 0
    for bits in rest:
        acc, flags = exact.binary(step, dtype, acc, bits)
        raised |= flags
    return acc, raised


def place_of(operation: str, dtype: str, line: list[int]) -> Result:
    """The index that the fold of section 10 ends with."""
    acc, index, raised = line[0], 0, 0
    for i, bits in enumerate(line[1:], 1):
        new, flags = exact.binary(operation, dtype, acc, bits)
        raised |= flags
        if new == bits and new != acc:
            index = i
        acc = new
    return index, raised


def difference(dtype: str, result: str, x: int, y: int) -> Result:
    """exp(x - y) with two roundings."""
    invalid = signalling(dtype, x) or signalling(dtype, y)
    if dtype != result:
        x, y = (exact.converted(dtype, result, bits)[0] for bits in (x, y))
    d, first = exact.binary("SUB", result, x, y)
    bits, second = exact.unary("EXP", result, d)
    return bits, first | second | (exact.NV if invalid else 0)
