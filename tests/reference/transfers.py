"""TLOAD and TSTORE in their three forms (operations.md sections 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass

from reference.bundle import Binder, Bundle, offsets
from reference.machine import Reference
from reference.state import Generation, Shared, Tile, Waiting, cube_tile, norm_tile, refuse_if, size
from reference.values import MUST_BE_ZERO, NAMES, bits_of, padding

CUBE = {21: "CUBE_M32", 22: "CUBE_M16", 23: "CUBE_N8", 24: "CUBE_M32", 25: "CUBE_M16", 26: "CUBE_N8"}
ORDINARY = {0: "NORM", 1: "DN", 3: "ZN", 4: "NZ"}
NO_CUBE = {"FP64", "S64", "U64", "HiF4X2"}


@dataclass
class Rectangle:
    """The addresses of one PE's transfer (operations.md section 0.6)."""

    base: int
    stride: int
    bits: int

    def address(self, r: int, c: int) -> int:
        step = c // 2 if self.bits == 4 else c * (self.bits // 8)
        return (self.base + r * self.stride + step) % 2**64


def _rectangle(machine: Reference, bundle: Bundle, pe: int, bits: int, dense_cols: int) -> Rectangle:
    if bundle.ior is None:
        return Rectangle(0, -(-dense_cols * bits // 8), bits)
    gpr = machine.gpr[pe]
    return Rectangle(gpr[bundle.ior["RegSrc0"]], gpr[bundle.ior["RegSrc1"]], bits)


def _surplus(bundle: Bundle) -> bool:
    return bundle.ior is not None and bool(bundle.ior["RegSrc2"] or bundle.ior["RegDst"])


def _zero_dimension(bundle: Bundle) -> bool:
    return any(bundle.dimension(n) == 0 for n in range(3))


def _probe(machine: Reference, rect: Rectangle, rows: int, cols: int) -> None:
    for r in range(rows):
        for c in range(cols):
            machine.probe(rect.address(r, c), rect.bits)


def _read(machine: Reference, rect: Rectangle, tile: Tile) -> Tile:
    """A copy of the tile with its valid elements from memory."""
    tile = tile.empty()
    for r in range(tile.valid_rows):
        for c in range(tile.valid_cols):
            tile.put(r, c, machine.read(rect.address(r, c), rect.bits, c % 2 == 1))
    return tile


def _cube_group(bundle: Bundle, codes: tuple[int, ...], *, source: bool) -> None:
    """Rule 1 of both CUBE forms."""
    zero = any(bundle.attribute(name) for name in ("CMode", "RMode", "Sat", "Canonicalize"))
    dims = [bundle.dimension(n) for n in range(3)]
    one = bundle.locals[0] if len(bundle.locals) == 1 else None
    good = one is not None and one.last and len(one.sources) == source and bool(one.size) != source
    refuse_if(not dims[0] or not dims[1] or dims[2] is not None, "TileLegality")
    refuse_if(zero or bundle.attribute("DataType") != 31 or bundle.layout not in codes, "TileLegality")
    refuse_if(not good or bundle.shared or bundle.fpatr or _surplus(bundle), "TileLegality")
    refuse_if(NAMES[bundle.dtype] in NO_CUBE, "TileLegality")


def load(machine: Reference, bundle: Bundle) -> None:
    """TLOAD: which form it is, and that form."""
    if bundle.layout in CUBE:
        _load_cube(machine, bundle)
    elif bundle.shared:
        _load_shared(machine, bundle)
    else:
        _load_norm(machine, bundle)


def _load_norm(machine: Reference, bundle: Bundle) -> None:
    one = bundle.locals[0] if len(bundle.locals) == 1 else None
    refuse_if(one is None or one.sources or not one.size or not one.last, "BundleControl")
    refuse_if(_surplus(bundle), "BundleControl")
    refuse_if(bundle.stray_attributes("Layout") or bundle.layout not in ORDINARY, "TileLegality")
    refuse_if(_zero_dimension(bundle), "TileLegality")
    assert one is not None
    tile = _shape(bundle, size(one.size), "TileAllocation")
    tile.layout = ORDINARY[bundle.layout]
    if tile.layout in ("ZN", "NZ"):
        refuse_if(tile.rows % 16 or tile.cols % (256 // tile.bits), "TileLegality")
    _load_local(machine, bundle, one, tile, tile.cols)


def _shape(bundle: Bundle, capacity: int, kind: str) -> Tile:
    valid_cols = bundle.dimension(0) or 1
    cols = bundle.dimension(2) or valid_cols
    return norm_tile(NAMES[bundle.dtype], capacity, bundle.dimension(1) or 1, valid_cols, cols, kind)


def _load_cube(machine: Reference, bundle: Bundle) -> None:
    _cube_group(bundle, (21, 22, 23), source=False)
    one, rows, cols = bundle.locals[0], bundle.dimension(1), bundle.dimension(0)
    assert rows and cols
    tile = cube_tile(NAMES[bundle.dtype], CUBE[bundle.layout], size(one.size), rows, cols)
    _load_local(machine, bundle, one, tile, cols)


def _load_local(machine: Reference, bundle: Bundle, one: Binder, tile: Tile, dense_cols: int) -> None:
    rects = {pe: _rectangle(machine, bundle, pe, tile.bits, dense_cols) for pe in bundle.pes}
    for pe, rect in rects.items():
        machine.room(pe, [(one.hand, tile.capacity)], [])
        _probe(machine, rect, *tile.shape)
    for pe, rect in rects.items():
        loaded = _read(machine, rect, tile)
        pad = padding(tile.dtype, bundle.attribute("PadValueOrByteId"))
        if tile.layout.startswith("CUBE") and pad is not None:
            for r in range(tile.rows):
                for c in range(tile.cols):
                    if r >= tile.valid_rows or c >= tile.valid_cols:
                        loaded.put(r, c, pad)
        machine.publish(pe, one.hand, loaded)


def _load_shared(machine: Reference, bundle: Bundle) -> None:
    refuse_if(len(bundle.shared) > 1, "TileLegality")
    refuse_if(_surplus(bundle), "BundleControl")
    one = bundle.shared[0]
    assembly = one.assembly
    try:
        refuse_if(bundle.stray_attributes(), "TileLegality")
        continues = assembly is not None and not assembly["INIT"]
        refuse_if(bundle.locals or (not one.size and not continues), "TileLegality")
        refuse_if(len(bundle.pes) > 1 and assembly is None, "TileLegality")
        refuse_if(_zero_dimension(bundle), "TileLegality")
        code = one.size if assembly is None else assembly["SizeCode"]
        refuse_if(not code, "TileLegality")
        tile = _shape(bundle, size(code), "TileLegality")
        if assembly is None:
            _load_parent(machine, bundle, one, tile)
        else:
            _load_fragments(machine, bundle, one, tile)
    except Exception:
        if assembly is not None and not assembly["INIT"]:
            machine.open.pop(one.name, None)
        raise


def _load_parent(machine: Reference, bundle: Bundle, one: Binder, tile: Tile) -> None:
    existing = machine.shared.get(one.name)
    refuse_if(one.name in machine.open, "TileLegality")
    if existing is not None:
        differs = existing.tile.description != tile.description
        refuse_if(differs or one.mask & ~existing.mask, "TileLegality")
    machine.shared_room(one.name, tile.capacity)
    [pe] = bundle.pes
    rect = _rectangle(machine, bundle, pe, tile.bits, tile.cols)
    _probe(machine, rect, *tile.shape)
    mask = existing.mask if existing is not None else one.mask
    machine.shared[one.name] = Shared(_read(machine, rect, tile), mask)


def _load_fragments(machine: Reference, bundle: Bundle, one: Binder, tile: Tile) -> None:
    """tiles.md section 8: every selected PE places its own fragment, LAST publishes the parent."""
    inst = one.assembly
    assert inst is not None
    generation = machine.open.get(one.name)
    refuse_if((generation is not None) == bool(inst["INIT"]), "TileLegality")
    if generation is None:
        generation = Generation(size(one.size), one.mask, tile.cols, tile.dtype)
    refuse_if((generation.mask, generation.cols, generation.dtype) != (one.mask, tile.cols, tile.dtype), "TileLegality")
    first = offsets(inst, machine.gpr)
    cells = set(generation.cells)
    for pe in bundle.pes:
        mine = range(first[pe], first[pe] + tile.capacity // 128)
        refuse_if(first[pe] > 2047 or mine.stop * 128 > generation.capacity, "TileLegality")
        refuse_if(not cells.isdisjoint(mine), "TileLegality")
        cells.update(mine)
    refuse_if(inst["LAST"] and len(cells) * 128 != generation.capacity, "TileLegality")
    if inst["INIT"]:
        machine.shared_room(one.name, generation.capacity)
    rects = {pe: _rectangle(machine, bundle, pe, tile.bits, tile.cols) for pe in bundle.pes}
    for rect in rects.values():
        _probe(machine, rect, *tile.shape)
    for pe, rect in rects.items():
        for i, bits in _read(machine, rect, tile).values.items():
            generation.values[first[pe] * 1024 // tile.bits + i] = bits
    generation.cells, generation.valid_cols = cells, max(generation.valid_cols, tile.valid_cols)
    machine.open[one.name] = generation
    if inst["LAST"]:
        del machine.open[one.name]
        rows = generation.capacity * 8 // (tile.cols * tile.bits)
        valid_rows = max(generation.values) // tile.cols + 1
        shape = (rows, tile.cols, valid_rows, generation.valid_cols)
        parent = Tile("numeric", tile.dtype, "NORM", generation.capacity, *shape, generation.values)
        machine.shared[one.name] = Shared(parent, one.mask)


def store(machine: Reference, bundle: Bundle) -> None:
    """TSTORE: which form it is, and that form; all PEs are checked before the first writes."""
    if bundle.layout in CUBE:
        jobs = _store_cube(machine, bundle)
    elif bundle.shared:
        jobs = _store_shared(machine, bundle)
    else:
        jobs = _store_norm(machine, bundle)
    for tile, rows, cols, rect in jobs:
        for r in range(rows):
            for c in range(cols):
                machine.write(rect.address(r, c), rect.bits, c % 2 == 1, tile.at(r, c))


Job = tuple[Tile, int, int, Rectangle]


def _check_elements(machine: Reference, bundle: Bundle, pe: int, tile: Tile, rows: int, cols: int, dense: int) -> Job:
    """Definedness, encodings and probes of one PE."""
    refuse_if(not tile.defined(rows, cols), "TileLegality")
    clear = MUST_BE_ZERO.get(tile.dtype, 0)
    refuse_if(any(tile.at(r, c) & clear for r in range(rows) for c in range(cols)), "TileLegality")
    rect = _rectangle(machine, bundle, pe, bits_of(tile.dtype), dense)
    _probe(machine, rect, rows, cols)
    return tile, rows, cols, rect


def _stored(machine: Reference, bundle: Bundle, pe: int, tile: Tile) -> Job:
    """The rectangle of a row-major source that the dimensions select."""
    refuse_if(_zero_dimension(bundle), "TileLegality")
    cols = bundle.dimension(0) or tile.valid_cols
    rows = bundle.dimension(1) or tile.valid_rows
    refuse_if((bundle.dimension(2) or tile.cols) != tile.cols, "TileLegality")
    refuse_if(cols > tile.valid_cols or rows > tile.valid_rows, "TileLegality")
    right_type = tile.dtype == NAMES[bundle.dtype]
    refuse_if(tile.kind != "numeric" or tile.layout != "NORM" or not right_type, "TileLegality")
    return _check_elements(machine, bundle, pe, tile, rows, cols, tile.cols)


def _store_norm(machine: Reference, bundle: Bundle) -> list[Job]:
    refuse_if(_surplus(bundle), "BundleControl")
    one = bundle.locals[0] if len(bundle.locals) == 1 else None
    refuse_if(one is None or len(one.sources) != 1 or one.size or not one.last, "TileLegality")
    refuse_if(bundle.stray_attributes() or _zero_dimension(bundle), "TileLegality")
    assert one is not None
    return [_stored(machine, bundle, pe, machine.source(pe, one, 0, bundle.pes)) for pe in bundle.pes]


def _store_cube(machine: Reference, bundle: Bundle) -> list[Job]:
    _cube_group(bundle, (24, 25, 26), source=True)
    one, jobs = bundle.locals[0], []
    for pe in bundle.pes:
        tile = machine.source(pe, one, 0, bundle.pes)
        wanted = ("numeric", NAMES[bundle.dtype], CUBE[bundle.layout], bundle.dimension(1), bundle.dimension(0))
        refuse_if((tile.kind, tile.dtype, tile.layout, *tile.shape) != wanted, "TileLegality")
        jobs.append(_check_elements(machine, bundle, pe, tile, *tile.shape, tile.valid_cols))
    return jobs


def _store_shared(machine: Reference, bundle: Bundle) -> list[Job]:
    one = bundle.shared[0]
    refuse_if(len(bundle.shared) > 1 or one.size or one.assembly or bundle.locals, "TileLegality")
    refuse_if(_surplus(bundle), "BundleControl")
    refuse_if(bundle.stray_attributes(), "TileLegality")
    if one.name not in machine.shared:
        raise Waiting
    parent = machine.shared[one.name].tile
    return [_stored(machine, bundle, pe, machine.shared_view(parent, one, pe)) for pe in bundle.pes]
