"""Random matrix bundles with all their operands, Local and cooperative."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptoc.isa.encoding import make
from ptoc.isa.forms import Instruction
from reference import builder as b
from reference.builder import Builder
from reference.matrix import PRIMARIES
from reference.post import ANY, GROUPS, MODES, SHIFTS
from reference.state import cell, up
from reference.values import bits_of, class_of

M16, M32, N8 = 22, 21, 23
LAYOUTS = {M16: "CUBE_M16", M32: "CUBE_M32", N8: "CUBE_N8"}


@dataclass
class Plan:
    """The fields of a matrix bundle, drawn so that they agree."""

    a_type: str
    b_type: str
    accumulator: str
    n: int
    k: int
    acc: bool
    layout: int
    mode: int
    relu: int
    rmode: int
    sat: int
    fpatr: dict[str, int]
    operands: list[tuple[str, int]] = field(default_factory=list)
    """Roles and hands of the Local sources, in the order of their loads."""


def _plan(build: Builder, n: int, k: int, layout: int) -> Plan:
    rng = build.rng
    a_type = rng.choice([*PRIMARIES, "FP16", "S8", "S8", "U8"])
    b_type = rng.choice([name for name in PRIMARIES if class_of(name) == class_of(a_type)])
    accumulator = {"floating": "FP32", "signed": "S32", "unsigned": "U32"}[class_of(a_type)]
    modes = [mode for mode, row in MODES.items() if row[0] in (None, accumulator)]
    mode = rng.choice(modes) if rng.random() < 0.8 else 0
    _, _, _, _, rounding, free = MODES[mode]
    groups = [code for code in range(1, 10) if -(-n // GROUPS[code]) in (1, 2, 4, 8)]
    row_max, group_max = rng.getrandbits(1), rng.getrandbits(1) if groups else 0
    acc = rng.random() < 0.7
    fpatr = {
        "PreQuantMode": mode,
        "ReluMode": rng.randrange(4),
        "RowMaxEn": row_max,
        "RowMaxInit": row_max & rng.getrandbits(1),
        "GroupMaxEn": group_max,
        "GroupNCode": rng.choice(groups) if group_max else 0,
        "MaxAbsEn": (row_max | group_max) & rng.getrandbits(1),
        "CScaleEn": int(acc and accumulator == "FP32" and rng.random() < 0.4),
    }
    rmode = rng.randrange(8) if rounding == ANY else 0
    sat = rng.getrandbits(1) if free else 0
    return Plan(a_type, b_type, accumulator, n, k, acc, layout, mode, fpatr["ReluMode"], rmode, sat, fpatr)


def local_product(build: Builder) -> None:
    """TMATMUL or TMATMUL_ACC with Local operands on some PEs."""
    rng = build.rng
    layout, mask = rng.choice([M16, M32]), rng.choice([1, 2, 8, 3, 7, 15])
    m, n, k = rng.randint(1, rng.choice([4, 16, 32])), rng.choice([1, 3, 8, 9, 16, 17]), rng.randint(1, 20)
    plan = _plan(build, n, k, layout if m <= 16 else M32)
    _operands(build, plan, [(mask, m)], shared=0)
    _bundle(build, plan, m, mask, [])


def cooperative(build: Builder) -> None:
    """A product of the whole core with one or two Shared operands."""
    rng = build.rng
    m, n, k = rng.randint(1, 128), rng.choice([1, 2, 4, 8, 16]), rng.choice([1, 2, 4, 8, 16])
    count = rng.choice([1, 2, 2])
    plan = _plan(build, n, k, M32)
    trans_a, trans_b = rng.getrandbits(1) if count == 2 else 0, rng.getrandbits(1)
    if trans_a:
        m = 1 << rng.randrange(8)
    if rng.random() < 0.4:
        m = min(m, rng.choice([1, 16, 17, 33, 70]))
    plan.fpatr |= {"TransA": trans_a, "TransB": trans_b}
    rows = 16 if m <= 64 else 32
    plan.layout = rng.choice([M16, M32]) if rows == 16 else M32
    binders: list[Instruction] = []
    if count == 2:
        binders += _shared(build, 10, plan.a_type, (m, k), trans_a)
    binders += _shared(build, 11, plan.b_type, (k, n), trans_b)
    per_pe = [min(max(m - pe * rows, 0), rows) for pe in range(4)]
    full = [pe for pe in range(4) if per_pe[pe] == rows]
    groups = [((1 << len(full)) - 1, rows)] if full else []
    groups += [(1 << pe, per_pe[pe]) for pe in range(4) if 0 < per_pe[pe] < rows]
    _operands(build, plan, groups, shared=count)
    _bundle(build, plan, m, 15, binders)


def _shared(build: Builder, name: int, dtype: str, shape: tuple[int, int], transposed: int) -> list[Instruction]:
    """Load a Shared primary and bind it, with or without a view of it."""
    rng = build.rng
    rows, cols = shape[::-1] if transposed else shape
    nbytes = -(-rows * cols * bits_of(dtype) // 8)
    code = max(1, (nbytes - 1).bit_length() - 6)
    name += 2 * rng.randrange(4)
    dims = [b.dim(0, cols), b.dim(1, rows)]
    register = _base(build, dtype)
    stride = build.register([up(-(-cols * bits_of(dtype) // 8), max(1, bits_of(dtype) // 8))] * 4)
    parent = code + rng.choice([0, 0, 1])
    existing = build.machine.shared.get(name)
    if rng.random() < 0.3 or existing is not None:
        cells = 1 << (parent - 1)
        if cells >= 4:
            dims[1] = b.dim(1, max(1, (128 << (parent - 3)) * 8 // (cols * bits_of(dtype))))
        elif existing is None:
            cells = 0
        if cells >= 4:
            places = build.register([cells // 4 * pe for pe in range(4)])
            modifier = b.assemble(True, True, places, 0, parent - 2)
            reg = b.ior(register, stride)
            build.emit(b.start("TLOAD", dtype), *dims, reg, b.ios(15, name, parent), modifier, b.stop())
            return _bound(build, name, code, parent)
        if existing is not None:
            name = rng.randrange(20, 64)
    binder = b.ios(rng.choice([1, 2, 4, 8]), name, parent)
    build.emit(b.start("TLOAD", dtype), *dims, b.ior(register, stride), binder, b.stop())
    return _bound(build, name, code, parent)


def _bound(build: Builder, name: int, code: int, parent: int) -> list[Instruction]:
    if build.rng.random() < 0.25:
        return [b.ios(15, name), b.subview(0, 0, build.rng.choice([0, 0, 0, 0, 1]), min(code, parent))]
    return [b.ios(15, name)]


def _base(build: Builder, dtype: str, role: str = "") -> int:
    """A register with addresses of useful operands for a role."""
    rng, step = build.rng, max(1, bits_of(dtype) // 8)
    area = rng.choice([b.SMALL, b.SMALL, b.SMALL, b.RANDOM] if bits_of(dtype) < 32 else [b.FLOATS, b.FLOATS, b.RANDOM])
    if dtype in ("S32", "U32"):
        area = rng.choice([b.STEPS, b.RANDOM])
    if role in ("quantization", "slope"):
        area = b.WORDS if role == "quantization" else b.SLOPES
    if role == "CScale":
        area = b.SMALL
    return build.register([area + step * rng.randrange(60)] * 4)


def _operands(build: Builder, plan: Plan, groups: list[tuple[int, int]], shared: int) -> None:
    """Load the Local sources of every group of PEs with equally many rows."""
    rng = build.rng
    roles = ["C"] * plan.acc + ["A"] * (shared < 2) + ["B"] * (shared < 1) + ["CScale"] * plan.fpatr["CScaleEn"]
    roles += ["RowMaxIn"] * plan.fpatr["RowMaxInit"] + ["quantization"] * (MODES[plan.mode][2] == "V")
    roles += ["slope"] * (plan.relu == 3)
    plan.operands = [(role, rng.randrange(4)) for role in roles]
    for role, hand in plan.operands:
        base = _base(build, "U64" if role in ("quantization", "slope") else "U8", role)
        if role in ("C", "A", "B", "RowMaxIn"):
            dtype = {"A": plan.a_type, "B": plan.b_type}.get(role, plan.accumulator)
            base = _base(build, dtype)
        if role == "quantization":
            wide = MODES[plan.mode][3] >= 9
            area = b.SHIFTS if plan.mode in SHIFTS else rng.choice([b.WORDS, b.OFFSETS]) if wide else b.WORDS
            base = build.register([area + 8 * rng.randrange(60)] * 4)
        for mask, rows in groups:
            _load_operand(build, plan, role, hand, base, mask, rows)


def _load_operand(build: Builder, plan: Plan, role: str, hand: int, base: int, mask: int, rows: int) -> None:
    dtype, shape, layout = {
        "C": (plan.accumulator, (rows, plan.n), plan.layout),
        "A": (plan.a_type, (rows, plan.k), plan.layout),
        "B": (plan.b_type, (plan.k, plan.n), N8),
        "CScale": ("U8", (rows, 1), M32),
        "RowMaxIn": (plan.accumulator, (rows, 1), 0),
        "quantization": ("U64", (1, plan.n), 0),
        "slope": ("U64", (1, plan.n), 0),
    }[role]
    bits, (high, cols) = bits_of(dtype), shape
    step = max(1, bits // 8)
    stride = build.register([up(-(-cols * bits // 8), step)] * 4)
    commands = [b.start("TLOAD", dtype)]
    if layout:
        size = _cube_bytes(LAYOUTS[layout], bits, high, cols)
        commands += [b.datr(layout, pad=build.rng.randrange(4)), b.dim(0, cols), b.dim(1, high)]
    else:
        wide = 1 << (cols - 1).bit_length()
        size = high * wide * bits // 8
        commands += [b.dim(0, cols), b.dim(1, high), b.dim(2, wide)]
    code = max(1, (size - 1).bit_length() - 6)
    build.emit(*commands, b.ior(base, stride), b.iot(mask, hand=hand, size=code), b.stop())


def _cube_bytes(layout: str, bits: int, rows: int, cols: int) -> int:
    cr, cc = cell(layout, bits)
    return (-(-rows // cr) if layout == "CUBE_N8" else 1) * -(-cols // cc) * 128


def _bundle(build: Builder, plan: Plan, m: int, mask: int, binders: list[Instruction]) -> None:
    """The matrix bundle itself."""
    rng = build.rng
    hands = [hand for _, hand in plan.operands]
    selectors = [16 * hand + hands[i + 1 :].count(hand) for i, hand in enumerate(hands)]
    results = 1 + plan.fpatr["RowMaxEn"] + plan.fpatr["GroupMaxEn"]
    forbidden = {s for (role, _), s in zip(plan.operands, selectors) if role in ("C", "CScale")}
    choices = [hand for hand in range(4) if hand not in forbidden] if rng.random() < 0.97 else [0, 1, 2, 3]
    targets = [rng.choice(choices) for _ in range(results)]
    operation = "TMATMUL_ACC" if plan.acc else "TMATMUL"
    commands = [b.start(operation, plan.a_type)]
    if plan.b_type != plan.a_type or plan.rmode or plan.sat or rng.random() < 0.3:
        code = 31 if plan.b_type == plan.a_type else b.CODES[plan.b_type]
        commands.append(b.datr(0, code, rmode=plan.rmode, sat=plan.sat))
    commands.append(make("B.FPATR", **plan.fpatr))
    commands += [b.dim(i, d) for i, d in enumerate((m, plan.n, plan.k)) if d != 1 or rng.random() < 0.5]
    commands += [*binders, *_locals(build, plan, m, mask, selectors, targets)]
    words = _words(build, plan)
    if words or rng.random() < 0.1:
        commands.append(b.ior(*words))
    build.emit(*commands, b.stop())


def _words(build: Builder, plan: Plan) -> list[int]:
    """Registers with the scalar parameter words."""
    rng, words = build.rng, []
    if MODES[plan.mode][2] == "S":
        offset = rng.getrandbits(MODES[plan.mode][3] if rng.random() < 0.95 else 9)
        word = b.shift_word(rng) if plan.mode in SHIFTS else b.scale_word(rng, offset)
        words.append(build.register([word, word, rng.choice([word, word ^ 1 << 13]), word]))
    if plan.relu == 2:
        words.append(build.register([b.slope_word(rng)] * 4))
    return words


def _locals(
    build: Builder, plan: Plan, m: int, mask: int, selectors: list[int], targets: list[int]
) -> list[Instruction]:
    """B.IOT records: sources in pairs, each destination on one of them or alone."""
    rng = build.rng
    dtype = MODES[plan.mode][1] or plan.accumulator
    height = min(m, 16 if m <= 64 else 32) if mask == 15 else m
    layout = LAYOUTS[plan.layout]
    if height > 16:
        layout = "CUBE_M32"
    size = max(_cube_bytes(layout, bits_of(dtype), height, plan.n), 128)
    code = max(1, (size - 1).bit_length() - 6)
    pieces: list[list[int]] = []
    rest = list(selectors)
    while rest:
        take = min(len(rest), rng.choice([1, 2, 2, 2]))
        pieces.append(rest[:take])
        rest = rest[take:]
    if len(pieces) > 4:
        pieces = [selectors[i : i + 2] for i in range(0, len(selectors), 2)]
    pieces += [[] for _ in range(len(targets) - len(pieces))]
    first = len(pieces) - len(targets)
    codes = [code, 1 if height <= 32 else 2, 4]
    made = []
    for i, sources in enumerate(pieces):
        last, target = i == len(pieces) - 1, i - first
        if target >= 0:
            made.append(b.iot(mask, *sources, hand=targets[target], size=codes[target], last=last))
        else:
            made.append(b.iot(mask, *sources, last=last))
    return made
