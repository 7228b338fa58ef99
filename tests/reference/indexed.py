"""Bundles of the indexed operations and of TPREFETCH, element by element (gather_scatter.md)."""

from __future__ import annotations

from dataclasses import dataclass

from reference.bundle import Bundle, Diagnostic, divergent
from reference.layout import PLAIN, check_records, relaid, sources_of
from reference.machine import Reference
from reference.state import Tile, norm_tile, power_of_two, refuse_if, size
from reference.values import NAMES, bits_of, integer, names, padding
from reference.vector import ALLOCATION, CONTROL, LAYOUTS, LEGALITY, PAD

NP20 = [name for name in NAMES.values() if bits_of(name) > 4]
ROW_INDEX, BYTE_INDEX = names("S16 U16 S32 U32 S64 U64"), names("S32 U32 S64 U64")
SELECTORS = {(3, 15): "TGATHER", (3, 16): "TSCATTER"}
ROLES = {
    "MGATHER": ("index",),
    "MGATHER_MASK": ("index", "mask"),
    "MGATHER_CAS": ("index", "expected", "replacement"),
    "MSCATTER": ("data", "index"),
}
RECORDS: dict[str, tuple[tuple[int, bool], ...]] = {
    "MGATHER": ((1, True),),
    "MGATHER_MASK": ((2, True),),
    "MGATHER_CAS": ((2, False), (1, True)),
    "MSCATTER": ((2, False),),
}


def rows(machine: Reference, bundle: Bundle) -> None:
    """TGATHER and TSCATTER: the index chooses the row, the column stays."""
    gathers, dtype = bundle.operation == "TGATHER", NAMES[bundle.dtype]
    check_records(bundle, ((2, True),), 0)
    refuse_if(bundle.stray_attributes("Layout") or dtype not in NP20, LEGALITY)
    dims = [bundle.dimension(n) for n in range(3)]
    refuse_if(dims[0] is None or 0 in dims, LEGALITY)
    assert dims[0] is not None
    shape, [one] = (dims[1] or 1, dims[0]), bundle.locals
    done = []
    for pe in bundle.pes:
        out = norm_tile(dtype, size(one.size), *shape, dims[2] or dims[0], ALLOCATION)
        relaid(out, LAYOUTS[bundle.layout][1])
        machine.room(pe, [(one.hand, out.capacity)], one.sources)
        value, index = sources_of(machine, bundle, pe)
        refuse_if(any(t.kind != "numeric" or t.layout not in PLAIN for t in (value, index)), LEGALITY)
        refuse_if(value.dtype != dtype or index.dtype not in ROW_INDEX or not index.defined(*index.shape), LEGALITY)
        if gathers:
            refuse_if(index.shape != shape or value.valid_cols < shape[1], LEGALITY)
        else:
            refuse_if(value.shape != index.shape or value.valid_cols != shape[1], LEGALITY)
            refuse_if(not value.defined(*value.shape), LEGALITY)
        _move_rows(gathers, value, index, out)
        done.append((pe, out))
    for pe, out in done:
        machine.publish(pe, one.hand, out)


def _move_rows(gathers: bool, value: Tile, index: Tile, out: Tile) -> None:
    if not gathers:
        out.values = dict.fromkeys(range(out.rows * out.cols), 0)
    targets = set()
    for r in range(index.valid_rows):
        for c in range(index.valid_cols):
            k = integer(index.dtype, index.at(r, c))
            refuse_if(k < 0 or k >= (value.valid_rows if gathers else out.valid_rows), LEGALITY)
            refuse_if((k, c) in targets and not gathers, LEGALITY)
            targets.add((k, c))
            if gathers:
                refuse_if(value.get(k, c) is None, LEGALITY)
                out.put(r, c, value.at(k, c))
            else:
                out.put(k, c, value.at(r, c))


@dataclass
class Lane:
    """One element access."""

    pe: int
    r: int
    c: int
    address: int


def memory(machine: Reference, bundle: Bundle) -> None:
    """The family that reads and writes memory at byte displacements."""
    name, dtype, ior = bundle.operation, NAMES[bundle.dtype], bundle.ior
    loads = name != "MSCATTER"
    refuse_if(bundle.shared or ior is None, LEGALITY)
    assert ior is not None
    refuse_if(ior["RegSrc1"] or ior["RegSrc2"] or ior["RegDst"], LEGALITY)
    refuse_if([(len(b.sources), bool(b.size)) for b in bundle.locals] != list(RECORDS[name]), LEGALITY)
    refuse_if(not bundle.locals[-1].last, LEGALITY)
    dims = [bundle.dimension(n) for n in range(3)]
    refuse_if(dims[0] is None or 0 in dims, LEGALITY)
    assert dims[0] is not None
    shape, cols = (dims[1] or 1, dims[0]), dims[2] or dims[0]
    refuse_if(not power_of_two(cols) or shape[1] > cols, LEGALITY)
    refuse_if(bundle.stray_attributes("Layout", *([PAD] if loads else [])), LEGALITY)
    layout = LAYOUTS[bundle.layout][1]
    refuse_if(dtype not in NP20, LEGALITY)
    pad = padding(dtype, bundle.attribute(PAD)) or 0
    one, work = bundle.locals[-1], []
    for pe in bundle.pes:
        tiles = dict(zip(ROLES[name], sources_of(machine, bundle, pe)))
        for role, tile in tiles.items():
            refuse_if((tile.kind == "predicate") != (role == "mask"), LEGALITY)
            refuse_if(tile.layout != layout or tile.shape != shape or not tile.defined(*shape), LEGALITY)
            refuse_if(role == "index" and tile.dtype not in BYTE_INDEX, LEGALITY)
            refuse_if(role not in ("index", "mask") and tile.dtype != dtype, LEGALITY)
            refuse_if(role == "data" and tile.cols != cols, LEGALITY)
        out = None
        if loads:
            out = relaid(norm_tile(dtype, size(one.size), *shape, cols, ALLOCATION), layout)
            machine.room(pe, [(one.hand, out.capacity)], [s for b in bundle.locals for s in b.sources])
            out.values = dict.fromkeys(range(out.rows * out.cols), pad)
        index, lanes = tiles["index"], []
        for r in range(shape[0]):
            for c in range(shape[1]):
                if "mask" not in tiles or tiles["mask"].at(r, c):
                    base = machine.gpr[pe][ior["RegSrc0"]]
                    lanes.append(Lane(pe, r, c, (base + integer(index.dtype, index.at(r, c))) % 2**64))
        for lane in lanes:
            machine.probe(lane.address, bits_of(dtype))
        work.append((pe, tiles, out, lanes))
    for pe, tiles, out, lanes in work:
        for lane in lanes:
            _access(machine, dtype, tiles, out, lane)
        if out is not None:
            machine.publish(pe, one.hand, out)


def _access(machine: Reference, dtype: str, tiles: dict[str, Tile], out: Tile | None, lane: Lane) -> None:
    bits = bits_of(dtype)
    if out is None:
        machine.write(lane.address, bits, False, tiles["data"].at(lane.r, lane.c))
        return
    old = machine.read(lane.address, bits, False)
    out.put(lane.r, lane.c, old)
    if "expected" in tiles and old == tiles["expected"].at(lane.r, lane.c):
        machine.write(lane.address, bits, False, tiles["replacement"].at(lane.r, lane.c))


def prefetch(machine: Reference, bundle: Bundle) -> None:
    """TPREFETCH: the probes of a load on all four PEs, and no effect."""
    dtype = NAMES[bundle.dtype]
    refuse_if(bundle.locals, CONTROL)
    ior = bundle.ior
    refuse_if(ior is not None and (ior["RegSrc2"] or ior["RegDst"]), CONTROL)
    refuse_if(bundle.stray_attributes("Layout") or bundle.shared or bits_of(dtype) == 64, LEGALITY)
    if any(values is not None and divergent(set(values)) for values in bundle.dims):
        raise Diagnostic("dimensions differ between PEs")
    dims = [None if values is None else values[0] for values in bundle.dims]
    cols = dims[0] or 1
    wide = dims[2] or cols
    refuse_if(0 in dims or wide < cols or not power_of_two(wide), LEGALITY)
    bits = bits_of(dtype)
    for pe in range(4):
        base, stride = 0, wide
        if ior is not None:
            base, stride = machine.gpr[pe][ior["RegSrc0"]], machine.gpr[pe][ior["RegSrc1"]]
        for r in range(dims[1] or 1):
            for c in range(cols):
                machine.probe((base + (r * stride + c) * bits // 8) % 2**64, bits)
