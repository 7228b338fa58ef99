"""TMATMUL and TMATMUL_ACC (operations.md sections 5 and 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reference.bundle import Binder, Bundle
from reference.machine import Reference
from reference.post import GROUPS, MODES, Element, greatest, slope_legal, word_legal
from reference.state import Tile, cube_tile, norm_tile, power_of_two, refuse_if, size
from reference.values import NAMES, class_of, integer, names, number, single, single_bits

PRIMARIES = names("FP32 TF32 HF32 FP16 BF16 HiF8 E4M3 E5M2 E3M2 E2M3 E2M1X2 E1M2X2 S16 S8 S4X2 U16 U8 U4X2")
ACCUMULATOR = {"floating": "FP32", "signed": "S32", "unsigned": "U32"}


@dataclass
class Product:
    """A matrix bundle whose bundle-wide rules hold."""

    a_type: str
    b_type: str
    accumulator: str
    m: int
    n: int
    k: int
    sources: dict[str, tuple[Binder, int]]
    destinations: dict[str, Binder]
    words: dict[str, int]
    cooperative: bool
    element: Element

    def first_row(self, pe: int) -> int:
        return pe * (16 if self.m <= 64 else 32) if self.cooperative else 0

    def rows(self, pe: int) -> int:
        if not self.cooperative:
            return self.m
        return min(max(self.m - self.first_row(pe), 0), 16 if self.m <= 64 else 32)


def product(machine: Reference, bundle: Bundle) -> None:
    """Check everything on every PE, then compute and publish."""
    refuse_if(bundle.fpatr is None, "BundleControl")
    p = _bundle_rules(bundle)
    shared = _shared_primaries(machine, bundle, p)
    pes = [pe for pe in bundle.pes if p.rows(pe)]
    work = {pe: _pe_rules(machine, bundle, p, pe) for pe in pes}
    for pe, (tiles, results) in work.items():
        operands = tiles | {role: views[pe] for role, views in shared.items()}
        machine.flags |= _compute(machine, bundle, p, pe, operands, results)
    for pe, (_, results) in work.items():
        for role, binder in p.destinations.items():
            machine.publish(pe, binder.hand, results[role])


def _bundle_rules(bundle: Bundle) -> Product:
    """Rules 3, 7, 10 and what of rule 8 needs no PE."""
    fpatr, kind = bundle.fpatr, "TileLegality"
    assert fpatr is not None
    code = bundle.attribute("DataType")
    a_type, b_type = NAMES[bundle.dtype], NAMES[bundle.dtype if code == 31 else code]
    refuse_if(a_type not in PRIMARIES or b_type not in PRIMARIES or class_of(a_type) != class_of(b_type), kind)
    accumulator = ACCUMULATOR[class_of(a_type)]
    acc = bundle.operation == "TMATMUL_ACC"
    refuse_if(bundle.stray_attributes("DataType", "RMode", "Sat"), kind)
    mode = fpatr["PreQuantMode"]
    needs, _, parameter, _, rounding, sat = MODES[mode]
    refuse_if(needs not in (None, accumulator), kind)
    refuse_if(bundle.attribute("RMode") and rounding != -1, kind)
    refuse_if(bundle.attribute("Sat") and not sat, kind)
    count = len(bundle.shared)
    refuse_if(count > 2 or any(b.size or b.assembly for b in bundle.shared), kind)
    dims = [bundle.dimension(n) for n in range(3)]
    refuse_if(0 in dims, kind)
    m, n, k = (1 if d is None else d for d in dims)
    refuse_if(any(b.mask != bundle.mask for b in bundle.locals), kind)
    if count:
        refuse_if(m > 128 or not power_of_two(n) or not power_of_two(k) or bundle.mask != 15, kind)
    wanted = ["C"] * acc + ["A"] * (count < 2) + ["B"] * (count < 1) + ["CScale"] * fpatr["CScaleEn"]
    wanted += ["RowMaxIn"] * fpatr["RowMaxInit"] + ["quantization"] * (parameter == "V")
    wanted += ["slope"] * (fpatr["ReluMode"] == 3)
    given = [(b, slot) for b in bundle.locals for slot in range(len(b.sources))]
    refuse_if(len(given) != len(wanted) or not bundle.locals or not bundle.locals[-1].last, kind)
    sources = dict(zip(wanted, given))
    results = ["D"] + ["RowMax"] * fpatr["RowMaxEn"] + ["GroupMax"] * fpatr["GroupMaxEn"]
    stores = [b for b in bundle.locals if b.size]
    refuse_if(len(stores) != len(results), kind)
    destinations = dict(zip(results, stores))
    words = ["quantization"] * (parameter == "S") + ["slope"] * (fpatr["ReluMode"] == 2)
    ior = bundle.ior
    registers = [ior[f"RegSrc{i}"] for i in range(3)] if ior else [0, 0, 0]
    refuse_if(any(registers[len(words) :]) or (ior is not None and ior["RegDst"]), kind)
    refuse_if((fpatr["TransA"] and count < 2) or (fpatr["TransB"] and count < 1), kind)
    refuse_if(fpatr["CScaleEn"] and (not acc or accumulator != "FP32"), kind)
    for role, hands in (("C", stores[:1]), ("CScale", stores)):
        if role in sources:
            binder, slot = sources[role]
            refuse_if(binder.sources[slot] in [b.hand for b in hands], kind)
    element = Element(mode, fpatr["ReluMode"], accumulator, bundle.attribute("RMode"), bool(bundle.attribute("Sat")))
    parameters = dict(zip(words, registers))
    return Product(a_type, b_type, accumulator, m, n, k, sources, destinations, parameters, count > 0, element)


def _shared_primaries(machine: Reference, bundle: Bundle, p: Product) -> dict[str, list[Tile]]:
    """Rule 4: the tile or the view that each PE reads, by role."""
    fpatr = bundle.fpatr
    assert fpatr is not None
    roles = ["A", "B"][2 - len(bundle.shared) :]
    found = {}
    for role, binder in zip(roles, bundle.shared):
        refuse_if(binder.name not in machine.shared, "TileLegality")
        parent = machine.shared[binder.name].tile
        shape = (p.m, p.k) if role == "A" else (p.k, p.n)
        if fpatr[f"Trans{role}"]:
            shape = shape[::-1]
        views = [machine.shared_view(parent, binder, pe) for pe in range(4)]
        for tile in views:
            right_type = tile.dtype == (p.a_type if role == "A" else p.b_type)
            holds = tile.cols == shape[1] and tile.valid_rows >= shape[0] and tile.valid_cols >= shape[1]
            refuse_if(not right_type or not holds or not tile.defined(*shape), "TileLegality")
        found[role] = views
    return found


def _pe_rules(machine: Reference, bundle: Bundle, p: Product, pe: int) -> tuple[dict[str, Tile], dict[str, Tile]]:
    """Rules 6 to 12 on one PE: its Local sources, and its results without elements."""
    kind, rows = "TileLegality", p.rows(pe)
    tiles = {role: machine.source(pe, b, slot, bundle.pes) for role, (b, slot) in p.sources.items()}
    for role, register in p.words.items():
        word = machine.gpr[pe][register]
        refuse_if(not _legal(p, role, word), kind)
    shapes = {
        "C": (p.accumulator, rows, p.n),
        "A": (p.a_type, rows, p.k),
        "B": (p.b_type, p.k, p.n),
        "CScale": ("U8", rows, 1),
        "RowMaxIn": (p.accumulator, rows, 1),
        "quantization": ("U64", 1, p.n),
        "slope": ("U64", 1, p.n),
    }
    layouts = {"C": ("CUBE_M16", "CUBE_M32"), "A": ("CUBE_M16", "CUBE_M32"), "B": ("CUBE_N8",), "CScale": ("CUBE_M32",)}
    for role, tile in tiles.items():
        refuse_if(tile.kind != "numeric" or (tile.dtype, *tile.shape) != shapes[role], kind)
        refuse_if(tile.layout not in layouts.get(role, ("NORM",)) or not tile.defined(*tile.shape), kind)
        if role in ("quantization", "slope"):
            refuse_if(not all(_legal(p, role, tile.at(0, n)) for n in range(p.n)), kind)
    layout = "CUBE_M16" if rows <= 16 else "CUBE_M32"
    if "A" in tiles:
        layout = tiles["A"].layout
        refuse_if("C" in tiles and tiles["C"].layout != layout, kind)
    elif "C" in tiles:
        layout = tiles["C"].layout
    d = p.destinations["D"]
    if "C" in tiles and p.element.mode == 0:
        refuse_if(tiles["C"].capacity != size(d.size), kind)
    results = {"D": cube_tile(p.element.dtype, layout, size(d.size), rows, p.n)}
    if "RowMax" in p.destinations:
        capacity = size(p.destinations["RowMax"].size)
        results["RowMax"] = norm_tile(p.accumulator, capacity, rows, 1, 1, "TileAllocation")
    if "GroupMax" in p.destinations:
        assert bundle.fpatr is not None
        groups = -(-p.n // GROUPS[bundle.fpatr["GroupNCode"]])
        capacity = size(p.destinations["GroupMax"].size)
        results["GroupMax"] = norm_tile(p.accumulator, capacity, rows, groups, groups, "TileAllocation")
    room = [(b.hand, size(b.size)) for b in p.destinations.values()]
    machine.room(pe, room, [selector for b in bundle.locals for selector in b.sources])
    return tiles, results


def _legal(p: Product, role: str, word: int) -> bool:
    return word_legal(p.element.mode, word) if role == "quantization" else slope_legal(word)


def _compute(
    machine: Reference, bundle: Bundle, p: Product, pe: int, tiles: dict[str, Tile], results: dict[str, Tile]
) -> int:
    """Fill the results of one PE; returns the flags."""
    fpatr = bundle.fpatr
    assert fpatr is not None
    rows, first, flags = p.rows(pe), 0, 0
    if "A" not in p.sources:
        first = p.first_row(pe)
    scalars = {role: machine.gpr[pe][register] for role, register in p.words.items()}
    a = [[_stored(tiles["A"], first + m, k, fpatr["TransA"]) for k in range(p.k)] for m in range(rows)]
    b = [[_stored(tiles["B"], k, n, fpatr["TransB"]) for k in range(p.k)] for n in range(p.n)]
    group = GROUPS[fpatr["GroupNCode"]]
    for m in range(rows):
        raw = []
        for n in range(p.n):
            start, more = _start(p, tiles, m, n)
            flags |= more
            raw.append(_accumulate(p, start, a[m], b[n]))
        for n, v in enumerate(raw):
            words = [tiles[role].at(0, n) if role in tiles else scalars.get(role) for role in ("quantization", "slope")]
            bits, more = p.element(v, words[0], words[1])
            results["D"].put(m, n, bits)
            flags |= more
        absolute = bool(fpatr["MaxAbsEn"])
        if "RowMax" in results:
            initial = tiles["RowMaxIn"].at(m, 0) if "RowMaxIn" in tiles else None
            bits, more = greatest(p.accumulator, raw, absolute, initial)
            results["RowMax"].put(m, 0, bits)
            flags |= more
        if "GroupMax" in results:
            for g in range(results["GroupMax"].cols):
                bits, more = greatest(p.accumulator, raw[g * group : (g + 1) * group], absolute, None)
                results["GroupMax"].put(m, g, bits)
                flags |= more
    return flags


def _stored(tile: Tile, r: int, c: int, transposed: int) -> float:
    bits = tile.at(c, r) if transposed else tile.at(r, c)
    return number(tile.dtype, bits) if class_of(tile.dtype) == "floating" else integer(tile.dtype, bits)


def _start(p: Product, tiles: dict[str, Tile], m: int, n: int) -> tuple[float, int]:
    """C(m, n), scaled if the bundle says so, and the flags of that."""
    if "C" not in tiles:
        return 0, 0
    bits = tiles["C"].at(m, n)
    if p.accumulator != "FP32":
        return bits, 0
    x = number("FP32", bits)
    if "CScale" not in tiles or not math.isfinite(x):
        return x, 0
    exact = math.ldexp(x, -tiles["CScale"].at(m, 0))
    scaled = single(exact)
    return scaled, 0x18 if scaled != exact else 0


def _accumulate(p: Product, start: float, a: list[float], b: list[float]) -> int:
    """The raw accumulator of one element, k ascending, every step rounded twice."""
    acc = start
    if p.accumulator != "FP32":
        return (int(acc) + sum(int(x) * int(y) for x, y in zip(a, b))) % 2**32
    for x, y in zip(a, b):
        acc = single(acc + single(x * y))
    return single_bits(acc)
