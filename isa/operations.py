"""The tile operations: names, engines, the selectors that block starts carry, and the shape of their bundles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ptoc.isa.schema import Schema
from ptoc.isa.schemas_memory import MATRIX, MEMORY
from ptoc.isa.schemas_tile import TILE
from ptoc.isa.schemas_vector import VECTOR

if TYPE_CHECKING:
    from ptoc.isa.forms import Instruction

Family = Literal["TLSU", "CUBE", "TEPL"]
Engine = Literal["VEC", "SFU", "TLSU", "CUBE"]


@dataclass(frozen=True, slots=True)
class TileOperation:
    """One operation: its selector (family, mode, function), engine and block start, and its bundle's schema."""

    name: str
    family: Family
    mode: int
    function: int
    engine: Engine
    start: str
    schema: Schema = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.name


_TLSU = "TLOAD TSTORE TMOV TPREFETCH MGATHER MSCATTER MGATHER_MASK MSCATTER_MASK MGATHER_CAS - - - - GMOV"
"""Names by function. 9..12 are the moves between Local and Shared tiles, which have no command here."""

_CUBE = {
    0: "TMATMUL TMATMUL_BIAS TMATMUL_ACC",
    4: "TMATMUL_MX TMATMUL_MX_BIAS TMATMUL_MX_ACC",
    16: "TGEMV TGEMV_BIAS TGEMV_ACC",
    20: "TGEMV_MX TGEMV_MX_BIAS TGEMV_MX_ACC",
}

_TEPL = (
    "TADD TSUB TMUL TDIV TREM - TAND TOR TXOR TSHL TSHR TMAX TMIN TCMP - TABS"
    " TNOT TNEG TEXP TLOG TRECIP TSQRT TRSQRT TRELU - - TSEL TCVT TFMA",
    "TADDS TSUBS TMULS TDIVS TREMS - TANDS TORS TXORS TSHLS TSHRS TMAXS TMINS TCMPS - -"
    " - - - - - - - - - - TSELS TEXPANDS",
    "TROWSUM TROWMAX TROWMIN TROWPROD TROWEXPAND TROWEXPANDADD TROWEXPANDSUB TROWEXPANDMUL TROWEXPANDDIV"
    " TROWEXPANDMAX TROWEXPANDMIN TROWEXPANDEXPDIF TROWARGMAX TROWARGMIN - -"
    " TCOLSUM TCOLMAX TCOLMIN TCOLPROD TCOLEXPAND TCOLEXPANDADD TCOLEXPANDSUB TCOLEXPANDMUL TCOLEXPANDDIV"
    " TCOLEXPANDMAX TCOLEXPANDMIN TCOLEXPANDEXPDIF TCOLARGMAX TCOLARGMIN",
    "TCONCAT - TEXTRACT TINSERT TIMG2COL TFILLPAD TCI TTRI THISTOGRAM - TQUANT TDEQUANT TSORT TMRGSORT TTRANS"
    " TGATHER TSCATTER TPARTADD TPARTMUL TPARTMAX TPARTMIN",
)
"""Names by mode and function; ``-`` is an unassigned selector."""

_SFU = frozenset(("TDIV", "TREM", "TEXP", "TLOG", "TRECIP", "TSQRT", "TRSQRT", "TDIVS", "TREMS"))
"""The SFU operations of modes 0 and 1; modes 2 and 3 are SFU throughout."""


def _numbered(names: str, first: int = 0) -> Iterator[tuple[int, str]]:
    return ((i, name) for i, name in enumerate(names.split(), first) if name != "-")


def _start(name: str) -> str:
    return "BSTART." + name.replace("_MX", "MX").replace("_", ".")


_SCHEMAS: dict[str, Schema] = VECTOR | TILE | MEMORY | MATRIX


def _rows() -> Iterator[TileOperation]:
    for function, name in _numbered(_TLSU):
        yield TileOperation(name, "TLSU", 0, function, "TLSU", _start(name), _SCHEMAS[name])
    for first, names in _CUBE.items():
        for function, name in _numbered(names, first):
            yield TileOperation(name, "CUBE", 0, function, "CUBE", _start(name), _SCHEMAS[name])
    for mode, names in enumerate(_TEPL):
        for function, name in _numbered(names):
            engine: Engine = "SFU" if mode >= 2 or name in _SFU else "VEC"
            yield TileOperation(name, "TEPL", mode, function, engine, f"BSTART.{engine}", _SCHEMAS[name])


ALL: tuple[TileOperation, ...] = tuple(_rows())
BY_NAME: dict[str, TileOperation] = {op.name: op for op in ALL}
BY_SELECTOR: dict[tuple[Family, int, int], TileOperation] = {(op.family, op.mode, op.function): op for op in ALL}
_BY_START: dict[str, TileOperation] = {op.start: op for op in ALL if op.family != "TEPL"}


def operation_of(inst: Instruction) -> TileOperation | None:
    """The operation a typed block start selects; ``None`` for other instructions and unassigned selectors."""
    if inst.key == "BSTART.TEPL":
        return BY_SELECTOR.get(("TEPL", inst["Mode"], inst["Function"]))
    return _BY_START.get(inst.key)
