"""Random legal and nearly legal programs over what vectors cover thinly.

Every action looks at the state of the reference, so most bundles are legal; a few are spoiled on purpose.
"""

from __future__ import annotations

from collections.abc import Callable

from ptoc.isa.encoding import make
from ptoc.isa.forms import Instruction
from reference import builder as b
from reference.agreement import Case
from reference.builder import Builder
from reference.elementwise import COMPARED
from reference.products import cooperative, local_product
from reference.state import Tile, cell, up
from reference.transfers import NO_CUBE
from reference.values import NAMES, bits_of

MASKS = (1, 2, 4, 8, 3, 7, 15, 15, 15)
TYPES = list(NAMES.values())
CUBE_TYPES = [name for name in TYPES if name not in NO_CUBE]


def program(seed: int) -> Case:
    """The program of a seed."""
    build = Builder(seed)
    rng = build.rng
    build.mutation = rng.choice([0, 0.02, 0.05])
    theme = rng.choice(THEMES)
    for _ in range(rng.randint(3, 9)):
        if build.done:
            break
        rng.choice(theme)(build)
    return build.case


def size_code(nbytes: int) -> int:
    """The smallest SizeCode that holds so many bytes."""
    code = 1
    while 128 << (code - 1) < nbytes:
        code += 1
    return code


def power(x: int) -> int:
    return 1 << (x - 1).bit_length()


def address(build: Builder, dtype: str, stride: int, *, out: bool = False) -> Instruction:
    """B.IOR with a base per PE and a stride; sometimes a step beyond what is legal."""
    rng, step = build.rng, max(1, bits_of(dtype) // 8)
    area = b.OUT if out else rng.choice([b.RANDOM, b.RANDOM, b.FLOATS, b.SMALL, b.STEPS])
    base = area + rng.randrange(64) * step
    apart = rng.choice([0, 0, 0x100, 0x400, step])
    wild = rng.random()
    if wild < 0.02:
        base += rng.choice([1, b.MEMORY, 2**64 - base - step])
    bases = [base + pe * apart for pe in range(4)]
    if wild > 0.97:
        bases[rng.randrange(4)] += rng.choice([1, b.MEMORY])
    return b.ior(build.register(bases), build.register([stride] * 4))


def stride_of(build: Builder, dtype: str, cols: int) -> int:
    step = max(1, bits_of(dtype) // 8)
    dense = up(-(-cols * bits_of(dtype) // 8), step)
    return build.rng.choice([dense, dense, dense + step, 0, 0x40, 2**64 - 0x40, step])


def extras(build: Builder) -> list[Instruction]:
    """Attributes and hints without an effect here."""
    rng = build.rng
    found = []
    if rng.random() < 0.05:
        found.append(make("B.CATR", **{name: rng.getrandbits(1) for name in ("far", "atom", "aq", "rl")}))
    if rng.random() < 0.05:
        found.append(make("B.HINT", V=1))
    if rng.random() < 0.03:
        found.append(rng.choice([b.iot(0, 5, hand=1, size=2), b.ios(0, rng.randrange(64))]))
    return found


# Local transfers


def load(build: Builder) -> None:
    """A TLOAD into a row-major, column-major, ZN or NZ tile."""
    rng = build.rng
    dtype = rng.choice([*TYPES, "S32", "U32", "U64"])
    layout = rng.choice([0, 0, 0, 0, 1, 3, 4])
    rows, cols = rng.randint(1, 9), rng.randint(1, 20)
    wide = power(cols) << rng.choice([0, 0, 1])
    if layout in (3, 4):
        wide = max(wide, 256 // bits_of(dtype))
        code = size_code(max(rows, 16) * wide * bits_of(dtype) // 8)
    else:
        code = size_code(-(-rows * wide * bits_of(dtype) // 8)) + rng.choice([0, 0, 0, 1, -1])
    commands = [b.start("TLOAD", dtype), *extras(build)]
    if layout or rng.random() < 0.1:
        commands.append(b.datr(layout, rng.choice([0, 31])))
    commands += [b.dim(0, cols), b.dim(1, rows)] + ([b.dim(2, wide)] if wide != cols else [])
    if rng.random() < 0.9:
        commands.append(address(build, dtype, stride_of(build, dtype, cols)))
    commands.append(b.iot(rng.choice(MASKS), hand=rng.randrange(4), size=min(max(code, 1), 10)))
    build.emit(*commands, b.stop())


def cube_load(build: Builder) -> None:
    rng, dtype = build.rng, build.rng.choice(CUBE_TYPES)
    layout = rng.choice([21, 22, 23])
    rows, cols = (rng.randint(1, 40), rng.randint(1, 20)) if layout == 23 else (rng.randint(1, 16), rng.randint(1, 24))
    code = cube_size({21: "CUBE_M32", 22: "CUBE_M16", 23: "CUBE_N8"}[layout], dtype, rows, cols)
    build.emit(
        b.start("TLOAD", dtype),
        b.datr(layout, pad=rng.randrange(4)),
        b.dim(0, cols),
        b.dim(1, rows),
        address(build, dtype, stride_of(build, dtype, cols)),
        b.iot(rng.choice(MASKS), hand=rng.randrange(4), size=min(code + rng.choice([0, 0, 0, 1]), 10)),
        b.stop(),
    )


def cube_size(layout: str, dtype: str, rows: int, cols: int) -> int:
    cr, cc = cell(layout, bits_of(dtype))
    down = -(-rows // cr) if layout == "CUBE_N8" else 1
    return size_code(down * -(-cols // cc) * 128)


def ring(build: Builder) -> None:
    """Enough loads into one hand to retire its oldest generations, or to fill the pool."""
    rng, hand, mask = build.rng, build.rng.randrange(4), build.rng.choice(MASKS)
    code = rng.choice([1, 1, 1, 8, 9])
    reg = address(build, "U8", 4)
    for _ in range(rng.randint(6, 17)):
        dims = [b.dim(0, rng.randint(1, 8))]
        build.emit(b.start("TLOAD", "U8"), *dims, b.dim(2, 8), reg, b.iot(mask, hand=hand, size=code), b.stop())


def live(build: Builder, mask: int) -> list[tuple[int, Tile]]:
    """Selectors and tiles of the first PE of a mask."""
    pe = (mask & -mask).bit_length() - 1
    hands = build.machine.hands[pe]
    return [(16 * hand + d, tile) for hand, ring in enumerate(hands) for d, tile in enumerate(ring)]


def store(build: Builder) -> None:
    """A TSTORE of some live tile in the form of its layout."""
    rng, mask = build.rng, build.rng.choice(MASKS)
    tiles = live(build, mask)
    if not tiles:
        return load(build)
    selector, tile = rng.choice(tiles)
    reg = address(build, tile.dtype, stride_of(build, tile.dtype, tile.valid_cols), out=True)
    commands = [b.start("TSTORE", tile.dtype), *extras(build)]
    binder = [b.iot(mask, selector)]
    if tile.layout.startswith("CUBE"):
        code = {"CUBE_M32": 24, "CUBE_M16": 25, "CUBE_N8": 26}[tile.layout]
        shape = tile.shape
        if rng.random() < 0.3:
            binder, shape = cube_part(build, binder[0], tile)
        commands += [b.datr(code, pad=rng.randrange(4)), b.dim(0, shape[1]), b.dim(1, shape[0])]
    elif rng.random() < 0.5:
        commands += [b.dim(0, rng.randint(1, tile.valid_cols)), b.dim(1, rng.randint(1, tile.valid_rows))]
        commands += [b.dim(2, tile.cols)] if rng.random() < 0.5 else []
    build.emit(*commands, reg, *binder, b.stop())


def cube_part(build: Builder, binder: Instruction, tile: Tile) -> tuple[list[Instruction], tuple[int, int]]:
    """A B.SUBVIEW of a Local CUBE tile and the shape that it has."""
    rng = build.rng
    cr, cc = cell(tile.layout, tile.bits)
    down, cells = tile.rows // cr, tile.rows // cr * (tile.cols // cc)
    o, code = rng.randint(0, cells - (rng.random() < 0.9)), rng.choice([1, 1, 2, 3])
    m = 1 << (code - 1)
    if tile.layout == "CUBE_N8":
        shape = min(tile.valid_rows - o % down * cr, m * cr), min(tile.valid_cols - o // down * 8, 8)
    else:
        shape = tile.valid_rows, min(tile.valid_cols - o * cc, m * cc)
    base = rng.randint(0, o)
    register = build.register([o - base] * 4)
    return [binder, b.subview(0, register, base, code)], (max(shape[0], 1), max(shape[1], 1))


# Comparison and scatter


def compare(build: Builder) -> None:
    rng, mask, dtype = build.rng, build.rng.choice(MASKS), build.rng.choice(COMPARED)
    hand, rows, cols = rng.randrange(4), rng.randint(1, 4), rng.randint(1, 12)
    wide = power(cols)
    code = size_code(rows * wide * bits_of(dtype) // 8)
    for _ in range(2):
        reg = address(build, dtype, stride_of(build, dtype, cols))
        dims = [b.dim(0, cols), b.dim(1, rows), b.dim(2, wide)]
        build.emit(b.start("TLOAD", dtype), *dims, reg, b.iot(mask, hand=hand, size=code), b.stop())
    sources = rng.choice([(1, 0), (0, 0), (0, 1)])
    attributes = [b.datr(0, 0, rng.randrange(4), rng.randrange(6))] if rng.random() < 0.8 else []
    build.emit(
        b.start("TCMP", dtype),
        *attributes,
        b.dim(0, cols),
        b.dim(1, rows),
        b.dim(2, wide),
        b.iot(mask, *(16 * hand + s for s in sources), hand=rng.randrange(4), size=rng.choice([1, 1, 2])),
        b.stop(),
    )


def scatter(build: Builder) -> None:
    """Data, index and a mask made by TCMP, then MSCATTER_MASK."""
    rng, mask = build.rng, build.rng.choice(MASKS)
    dtype = rng.choice([name for name in TYPES if bits_of(name) > 4])
    index = rng.choice(["S32", "U32"])
    rows, cols = rng.randint(1, 4), rng.choice([1, 2, 4, 8])
    dims = [b.dim(0, cols), b.dim(1, rows)]
    small = build.register([b.STEPS + 4 * rng.randrange(100)] * 4)
    stride = build.register([64] * 4)
    for hand, kind in ((0, dtype), (1, index), (2, "U8"), (2, "U8")):
        code = size_code(rows * cols * bits_of(kind) // 8)
        reg = b.ior(small, stride) if kind == index else address(build, kind, 64)
        build.emit(b.start("TLOAD", kind), *dims, reg, b.iot(mask, hand=hand, size=code), b.stop())
    build.emit(
        b.start("TCMP", "U8"), b.datr(cmode=rng.randrange(6)), *dims, b.iot(mask, 32, 33, hand=3, size=1), b.stop()
    )
    apart = rng.choice([0, 8, 0x200])
    base = b.ior(build.register([b.OUT + 0x800 + pe * apart for pe in range(4)]))
    build.emit(b.start("MSCATTER_MASK", dtype), *dims, base, b.iot(mask, 0, 16, last=False), b.iot(mask, 48), b.stop())


# Shared tiles


def shared_load(build: Builder) -> None:
    """A whole Shared tile from one PE, new or again."""
    rng, machine = build.rng, build.machine
    name, dtype = rng.randrange(6), rng.choice(TYPES)
    rows, cols = rng.randint(1, 8), rng.randint(1, 16)
    wide = power(cols)
    code = size_code(-(-rows * wide * bits_of(dtype) // 8)) + rng.choice([0, 0, 1])
    mask = rng.choice([1, 2, 4, 8])
    existing = machine.shared.get(name)
    if existing is not None and rng.random() < 0.8:
        tile = existing.tile
        dtype, (rows, cols), wide, code = tile.dtype, tile.shape, tile.cols, size_code(tile.capacity)
        mask = existing.mask & -existing.mask if rng.random() < 0.8 else mask
    elif rng.random() < 0.1:
        code = rng.choice([11, 12])
        wide, rows = 32768, 1
        dtype = "U8"
    reg = address(build, dtype, stride_of(build, dtype, cols))
    dims = [b.dim(0, cols), b.dim(1, rows), b.dim(2, wide)]
    build.emit(b.start("TLOAD", dtype), *extras(build), *dims, reg, b.ios(mask, name, code), b.stop())


def assembled(build: Builder) -> None:
    """A Shared tile from fragments: one bundle or several, one PE or several, ragged or with holes."""
    rng = build.rng
    dtype, name = rng.choice(TYPES), rng.randrange(6)
    fragment, mask = rng.choice([1, 1, 2, 3]), rng.choice([1, 4, 3, 7, 15, 15])
    cells, pes = 1 << (fragment - 1), [pe for pe in range(4) if mask >> pe & 1]
    bundles = rng.choice([1, 1, 2, 4])
    per_row = (128 << (fragment - 1)) * 8 // bits_of(dtype)
    cols = min(power(rng.randint(1, 32)), per_row)
    rows = per_row // cols
    parent = size_code(cells * 128 * bundles * len(pes))
    order = list(range(bundles * len(pes)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    if len(pes) == 3 and rng.random() < 0.8:
        parent = size_code(cells * 128 * 4)
        order = [*order[:3], 3] if bundles == 1 else order
    for n in range(bundles):
        places = order[n * len(pes) : (n + 1) * len(pes)]
        offsets = [0] * 4
        for pe, place in zip(pes, places):
            offsets[pe] = cells * place
        if rng.random() < 0.04:
            offsets[pes[-1]] += rng.choice([1, -1, 2048])
        valid_rows, valid_cols = rng.randint(max(1, rows - 1), rows), rng.randint(max(1, cols - 2), cols)
        init, last = n == 0, n == bundles - 1
        step = min(8, min(offsets[pe] for pe in pes) if min(offsets) >= 0 else 0)
        register = build.register([offset - step for offset in offsets])
        reg = address(build, dtype, stride_of(build, dtype, valid_cols))
        build.emit(
            b.start("TLOAD", dtype),
            b.dim(0, valid_cols),
            b.dim(1, valid_rows),
            b.dim(2, cols),
            reg,
            b.ios(mask, name, parent if init else 0),
            b.assemble(init, last, register, step, fragment),
            b.stop(),
        )


def shared_store(build: Builder) -> None:
    """A Shared tile, or a view of it per PE, to memory; sometimes one that is not there."""
    rng, shared, mask = build.rng, build.machine.shared, build.rng.choice(MASKS)
    if not shared:
        return shared_load(build)
    name = rng.choice(list(shared)) if rng.random() < 0.98 else rng.randrange(64)
    if name not in shared:
        build.emit(b.start("TSTORE", "U8"), b.ios(mask, name), b.stop())
        return None
    tile = shared[name].tile
    reg = address(build, tile.dtype, stride_of(build, tile.dtype, tile.valid_cols), out=True)
    binder, dims = [b.ios(mask, name)], []
    if rng.random() < 0.5:
        binder.append(view_of_rows(build, tile))
    elif rng.random() < 0.5:
        dims = [b.dim(0, rng.randint(1, tile.valid_cols)), b.dim(1, rng.randint(1, tile.valid_rows))]
    build.emit(b.start("TSTORE", tile.dtype), *extras(build), *dims, reg, *binder, b.stop())
    return None


def view_of_rows(build: Builder, tile: Tile) -> Instruction:
    """A range that mostly is some rows, or part of one, of a Shared tile."""
    rng = build.rng
    code = rng.randint(1, max(1, size_code(tile.capacity)))
    step = 1 << (code - 1)
    top = max(tile.capacity // 128 // step - 1, 0)
    used = min(top, max(0, (tile.valid_rows * tile.cols * tile.bits // 1024 - 1) // step))
    cells = [step * rng.randint(0, used) for _ in range(4)]
    if rng.random() < 0.5:
        cells = cells[:1] * 4
    if rng.random() < 0.1:
        cells[rng.randrange(4)] += rng.choice([1, 3, 2048])
    return b.subview(0, build.register(cells), 0, code)


SHARED = [shared_load, assembled, assembled, shared_store, shared_store]
LOCAL = [load, cube_load, store, store, compare, scatter]
RINGS = [ring, ring, load, store, compare, local_product]
THEMES: list[list[Callable[[Builder], None]]] = [
    SHARED,
    SHARED,
    LOCAL,
    RINGS,
    [*SHARED, *LOCAL],
    [local_product, store],
    [local_product, store],
    [cooperative, store],
    [cooperative, store, shared_store],
]
