"""Bundles that sort, count and quantise, element by element (layout_ops.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cmp_to_key

from reference import arithmetic as exact
from reference.bundle import Bundle
from reference.layout import check_records, sources_of
from reference.machine import Reference
from reference.rounding import to_integer
from reference.state import Tile, norm_tile, refuse_if, size
from reference.values import CODES, NAMES, integer, names, number, signalling
from reference.vector import ALLOCATION, LEGALITY, PAD

SELECTORS = {(3, 8): "THISTOGRAM", (3, 10): "TQUANT", (3, 11): "TDEQUANT", (3, 12): "TSORT", (3, 13): "TMRGSORT"}
TYPES = {
    "THISTOGRAM": names("U16 U32"),
    "TQUANT": ["FP32"],
    "TDEQUANT": names("S8 U8"),
    "TSORT": names("FP32 FP16"),
    "TMRGSORT": names("FP32 FP16"),
}
_RECORDS: dict[str, tuple[tuple[int, bool], ...]] = {
    "THISTOGRAM": ((2, True),),
    "TQUANT": ((1, True),),
    "TDEQUANT": ((1, True),),
    "TSORT": ((1, True), (0, True)),
    "TMRGSORT": ((2, True),),
}
_SCALARS = {"THISTOGRAM": 0, "TQUANT": 2, "TDEQUANT": 2, "TSORT": 1, "TMRGSORT": 1}
_FIELDS = {"THISTOGRAM": (PAD, "DataType"), "TQUANT": ("DataType", "RMode", "Sat"), "TDEQUANT": ("DataType", "RMode")}


def perform(machine: Reference, bundle: Bundle) -> None:
    """The checks in their order on all PEs, then the effect."""
    name, dtype = bundle.operation, NAMES[bundle.dtype]
    check_records(bundle, _RECORDS[name], _SCALARS[name])
    refuse_if(bundle.stray_attributes(*_FIELDS.get(name, ())) or dtype not in TYPES[name], LEGALITY)
    dims = [bundle.dimension(n) for n in range(3)]
    if name in ("THISTOGRAM", "TMRGSORT"):
        refuse_if(dims != [None] * 3, LEGALITY)
    elif name == "TSORT":
        refuse_if(dims[1:] != [None, None] or (dims[0] or 0) > 64, LEGALITY)
    else:
        refuse_if(dims[0] is None or 0 in dims, LEGALITY)
    done = []
    for pe in bundle.pes:
        scalars = [machine.gpr[pe][bundle.ior[f"RegSrc{n}"]] if bundle.ior else 0 for n in range(2)]
        check = {"TSORT": _sort, "TMRGSORT": _merge, "THISTOGRAM": _histogram}.get(name, _quantise)
        done.append((pe, *check(machine, bundle, pe, dims, scalars)))
    for pe, outs, flags in done:
        machine.flags |= flags
        for binder, out in zip([b for b in bundle.locals if b.size], outs):
            machine.publish(pe, binder.hand, out)


Made = tuple[list[Tile], int]


def _tiles(machine: Reference, bundle: Bundle, pe: int) -> list[Tile]:
    """Row-major sources; the first has the type of the bundle."""
    tiles = sources_of(machine, bundle, pe)
    refuse_if(any(t.kind != "numeric" or t.layout != "NORM" for t in tiles), LEGALITY)
    refuse_if(tiles[0].dtype != NAMES[bundle.dtype] or not tiles[0].defined(*tiles[0].shape), LEGALITY)
    return tiles


def _allocated(machine: Reference, bundle: Bundle, pe: int, described: list[tuple[str, int, int, int]]) -> list[Tile]:
    binders = [b for b in bundle.locals if b.size]
    outs = [norm_tile(t, size(b.size), *shape, ALLOCATION) for b, (t, *shape) in zip(binders, described)]
    used = [s for b in bundle.locals for s in b.sources]
    machine.room(pe, [(b.hand, size(b.size)) for b in binders], used)
    return outs


def before(dtype: str, descending: bool, a: int, b: int) -> int:
    """-1, 0 or 1 as a comes before, with or after b."""
    x, y = number(dtype, a), number(dtype, b)
    if math.isnan(x) or math.isnan(y):
        return int(math.isnan(x)) - int(math.isnan(y))
    return ((x > y) - (x < y)) * (-1 if descending else 1)


def _stable(dtype: str, descending: bool, line: list[int]) -> list[int]:
    """The indices of a line in sorted order."""
    key = cmp_to_key(lambda i, j: before(dtype, descending, line[i], line[j]))
    return sorted(range(len(line)), key=key)


def _row(tile: Tile, r: int) -> list[int]:
    return [tile.at(r, c) for c in range(tile.valid_cols)]


def _sort(machine: Reference, bundle: Bundle, pe: int, dims: list[int | None], scalars: list[int]) -> Made:
    refuse_if(scalars[0] > 1, LEGALITY)
    [src] = _tiles(machine, bundle, pe)
    dtype, width = src.dtype, dims[0] or 32
    outs = _allocated(machine, bundle, pe, [(t, *src.shape, src.cols) for t in (dtype, "U32")])
    refuse_if(any(out.rows != src.rows for out in outs), LEGALITY)
    flags = 0
    for r in range(src.valid_rows):
        line = _row(src, r)
        flags |= any(signalling(dtype, bits) for bits in line)
        for first in range(0, len(line), width):
            group = line[first : first + width]
            for n, place in enumerate(_stable(dtype, scalars[0] == 1, group)):
                outs[0].put(r, first + n, group[place])
                outs[1].put(r, first + n, place)
    return outs, flags


def _merge(machine: Reference, bundle: Bundle, pe: int, dims: list[int | None], scalars: list[int]) -> Made:
    refuse_if(scalars[0] > 1, LEGALITY)
    tiles, dtype, descending = _tiles(machine, bundle, pe), NAMES[bundle.dtype], scalars[0] == 1
    lines = []
    for tile in tiles:
        refuse_if(tile.dtype != dtype or tile.valid_rows != 1 or not tile.defined(*tile.shape), LEGALITY)
        lines.append(_row(tile, 0))
        pairs = zip(lines[-1], lines[-1][1:])
        refuse_if(any(before(dtype, descending, a, b) > 0 for a, b in pairs), LEGALITY)
    cols = len(lines[0]) + len(lines[1])
    wide = 1
    while wide < cols:
        wide *= 2
    outs = _allocated(machine, bundle, pe, [(dtype, 1, cols, wide)])
    left, right = lines
    merged: list[int] = []
    while left or right:
        take_left = left and (not right or before(dtype, descending, left[0], right[0]) <= 0)
        merged.append((left if take_left else right).pop(0))
    for c, bits in enumerate(merged):
        outs[0].put(0, c, bits)
    return outs, int(any(signalling(dtype, bits) for bits in merged))


def _histogram(machine: Reference, bundle: Bundle, pe: int, dims: list[int | None], scalars: list[int]) -> Made:
    source, chosen = NAMES[bundle.dtype], bundle.attribute(PAD)
    top = 1 if source == "U16" else 3
    refuse_if(bundle.datr is None or bundle.attribute("DataType") != CODES["U32"] or chosen > top, LEGALITY)
    src, chooser = _tiles(machine, bundle, pe)
    refuse_if(chooser.dtype != "U8", LEGALITY)
    levels = top - chosen
    needed = (src.valid_rows if levels else 0) if source == "U16" else levels
    refuse_if(chooser.valid_rows < needed, LEGALITY)
    refuse_if(any(chooser.get(n, 0) is None for n in range(needed)), LEGALITY)
    outs = _allocated(machine, bundle, pe, [("U32", src.valid_rows, 256, 256)])
    for r in range(src.valid_rows):
        passing = []
        for x in _row(src, r):
            high = [(x >> 8 * (top - n)) % 256 for n in range(levels)]
            wanted = [chooser.at(r if source == "U16" else n, 0) for n in range(levels)]
            if high == wanted:
                passing.append((x >> 8 * chosen) % 256)
        for b in range(256):
            outs[0].put(r, b, sum(byte <= b for byte in passing))
    return outs, 0


def _quantise(machine: Reference, bundle: Bundle, pe: int, dims: list[int | None], scalars: list[int]) -> Made:
    down = bundle.operation == "TQUANT"
    result = NAMES.get(bundle.attribute("DataType"), "")
    refuse_if(bundle.datr is None or result not in (("S8", "U8") if down else ("FP32",)), LEGALITY)
    m, z = Fraction(1), 0
    if bundle.ior is not None:
        multiplier = number("FP32", scalars[0] % 2**32)
        refuse_if(not 0 < multiplier < math.inf, LEGALITY)
        m, z = Fraction(multiplier), scalars[1] - 2**64 if scalars[1] >= 2**63 else scalars[1]
        low, high = exact.limits(result if down else NAMES[bundle.dtype])
        refuse_if(not low <= z <= high, LEGALITY)
    [src] = _tiles(machine, bundle, pe)
    cols = dims[0]
    assert cols is not None
    refuse_if((src.shape, src.cols) != ((dims[1] or 1, cols), dims[2] or cols), LEGALITY)
    outs = _allocated(machine, bundle, pe, [(result, *src.shape, src.cols)])
    refuse_if(outs[0].rows != src.rows, LEGALITY)
    raised, mode = 0, bundle.attribute("RMode")
    for r in range(src.valid_rows):
        for c in range(src.valid_cols):
            if down:
                bits, flags = quantised(result, src.at(r, c), m, z, mode, bool(bundle.attribute("Sat")))
            else:
                bits, flags = exact.rounded("FP32", (integer(src.dtype, src.at(r, c)) - z) * m, mode or 1)
            outs[0].put(r, c, bits)
            raised |= flags
    return outs, raised


def quantised(result: str, bits: int, m: Fraction, z: int, mode: int, saturate: bool) -> tuple[int, int]:
    """One element of TQUANT and its flags."""
    low, high = exact.limits(result)
    x = number("FP32", bits)
    if math.isnan(x):
        return 0, exact.NV
    if math.isinf(x):
        return (high if x > 0 else low) % 256, exact.OF | exact.NX
    v = Fraction(x) * m + z
    q = to_integer(v, mode)
    flags = exact.NX if q != v else 0
    return (min(max(q, low), high) if saturate else q) % 256, flags
