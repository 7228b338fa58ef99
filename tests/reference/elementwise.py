"""TCMP and MSCATTER_MASK (operations.md sections 3 and 4)."""

from __future__ import annotations

import math

from reference.bundle import Bundle
from reference.machine import Reference
from reference.state import Tile, power_of_two, refuse_if, size
from reference.values import MUST_BE_ZERO, NAMES, bits_of, class_of, integer, names, number, signalling

COMPARED = names("FP64 FP32 TF32 HF32 FP16 BF16 E4M3 E5M2 S64 S32 S16 S8 U64 U32 U16 U8")


def tcmp(machine: Reference, bundle: Bundle) -> None:
    """Every selected PE compares its two tiles; the results are published together."""
    one = bundle.locals[0] if len(bundle.locals) == 1 else None
    good = one is not None and len(one.sources) == 2 and one.size and one.last
    refuse_if(not good or bundle.ior or bundle.shared, "TileLegality")
    refuse_if(bundle.stray_attributes("CMode", "PadValueOrByteId"), "TileLegality")
    dims = [bundle.dimension(n) for n in range(3)]
    refuse_if(dims[0] is None or 0 in dims, "TileLegality")
    assert one is not None and dims[0] is not None
    rows, cols, dtype = dims[1] or 1, dims[2] or dims[0], NAMES[bundle.dtype]
    refuse_if(dims[0] > cols or dtype not in COMPARED, "TileLegality")
    pairs = []
    for pe in bundle.pes:
        left, right = (machine.source(pe, one, slot, bundle.pes) for slot in range(2))
        for tile in (left, right):
            ordinary = tile.kind == "numeric" and tile.layout == "NORM" and tile.dtype == dtype
            fits = tile.shape == (rows, dims[0]) and tile.cols == cols and tile.rows == left.rows
            refuse_if(not ordinary or not fits or not tile.defined(*tile.shape), "TileLegality")
            clear = MUST_BE_ZERO.get(dtype, 0)
            refuse_if(any(tile.at(r, c) & clear for r in range(rows) for c in range(dims[0])), "TileLegality")
        refuse_if(-(-left.rows * cols // 8) > size(one.size), "TileAllocation")
        machine.room(pe, [(one.hand, size(one.size))], one.sources)
        pairs.append((pe, left, right))
    for pe, left, right in pairs:
        machine.publish(pe, one.hand, _compared(machine, bundle, left, right, size(one.size)))


def _compared(machine: Reference, bundle: Bundle, left: Tile, right: Tile, capacity: int) -> Tile:
    out = Tile("predicate", "U8", "NORM", capacity, left.rows, left.cols, *left.shape)
    pad = bundle.attribute("PadValueOrByteId")
    if pad != 3:
        out.values = dict.fromkeys(range(out.rows * out.cols), int(pad == 1))
    for r in range(out.valid_rows):
        for c in range(out.valid_cols):
            a, b = left.at(r, c), right.at(r, c)
            out.put(r, c, int(truth(bundle.attribute("CMode"), left.dtype, a, b)))
            if signalling(left.dtype, a) or signalling(left.dtype, b):
                machine.flags |= 1
    return out


def truth(mode: int, dtype: str, a: int, b: int) -> bool:
    read = number if class_of(dtype) == "floating" else integer
    x, y = read(dtype, a), read(dtype, b)
    if math.isnan(x) or math.isnan(y):
        return mode == 1
    return (x == y, x != y, x < y, x > y, x <= y, x >= y)[mode]


def scatter(machine: Reference, bundle: Bundle) -> None:
    """Every selected PE stores its enabled lanes in row-major order."""
    ior = bundle.ior
    refuse_if(bundle.shared or ior is None, "TileLegality")
    assert ior is not None
    refuse_if(ior["RegSrc1"] or ior["RegSrc2"] or ior["RegDst"], "TileLegality")
    records = [(len(binder.sources), bool(binder.size), binder.last) for binder in bundle.locals]
    refuse_if(records != [(2, False, False), (1, False, True)], "TileLegality")
    dims = [bundle.dimension(n) for n in range(3)]
    refuse_if(dims[0] is None or 0 in dims, "TileLegality")
    assert dims[0] is not None
    rows, cols, dtype = dims[1] or 1, dims[2] or dims[0], NAMES[bundle.dtype]
    refuse_if(dims[0] > cols or not power_of_two(cols), "TileLegality")
    refuse_if(bundle.stray_attributes(), "TileLegality")
    refuse_if(bits_of(dtype) == 4, "TileLegality")
    stores = []
    for pe in bundle.pes:
        first, second = bundle.locals
        data, index = (machine.source(pe, first, slot, bundle.pes) for slot in range(2))
        mask = machine.source(pe, second, 0, bundle.pes)
        refuse_if(any(t.kind != "numeric" or t.layout != "NORM" for t in (data, index)), "TileLegality")
        refuse_if(mask.kind != "predicate" or data.dtype != dtype or data.cols != cols, "TileLegality")
        refuse_if(index.dtype not in ("S32", "U32", "S64", "U64"), "TileLegality")
        for tile in (data, index, mask):
            refuse_if(tile.shape != (rows, dims[0]) or not tile.defined(*tile.shape), "TileLegality")
        base = machine.gpr[pe][ior["RegSrc0"]]
        for r in range(rows):
            for c in range(dims[0]):
                if mask.at(r, c):
                    address = (base + integer(index.dtype, index.at(r, c))) % 2**64
                    machine.probe(address, data.bits)
                    stores.append((address, data.bits, data.at(r, c)))
    for address, bits, value in stores:
        machine.write(address, bits, False, value)
