"""Every ordered check of vector.md section 3, violated once by every operation that it applies to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from ptoc.isa.encoding import make
from ptoc.isa.forms import Instruction
from ptoc.isa.registers import LOCAL_POOL_BYTES
from ptoc.runtime import Machine, Memory
from ptoc.runtime.tiles import Tile
from reference import builder as b
from reference.generator import size_code
from reference.values import CODES, NAMES, bits_of, class_of
from reference.vector import ALLOCATION, CONTROL, LEGALITY, ROWS, records

ROWS_OF, COLS, WIDE, PHYSICAL = 2, 3, 4, 64
MASK = 0b1111
BASE, STRIDE, SCALAR, OTHER = 1, 2, 3, 4
"""Registers: of the loads, a scalar of one, and one with a number."""


@dataclass
class Parts:
    """A bundle in pieces; ``extra`` comes before the bindings."""

    name: str
    dtype: str
    attributes: dict[str, int] = field(default_factory=lambda: {"PadValueOrByteId": 0, "DataType": 31})
    dims: dict[int, int] = field(default_factory=lambda: {0: COLS, 1: ROWS_OF, 2: WIDE})
    scalar: dict[str, int] | None = None
    extra: list[Instruction] = field(default_factory=list)
    bindings: list[tuple[list[int], int]] = field(default_factory=list)
    hand: int = 3
    last: bool = True
    before: list[Instruction] = field(default_factory=list)

    def __post_init__(self) -> None:
        row = ROWS[self.name]
        if row.scalar:
            self.scalar = {"RegSrc0": SCALAR}
        if row.kind in ("convert", "difference"):
            self.attributes["DataType"] = CODES[self.dtype]
        selectors = list(range(0, 16 * len(row.sources), 16))
        for count, stores in records(row):
            self.bindings.append((selectors[:count], self.size if stores else 0))
            selectors = selectors[count:]

    @property
    def size(self) -> int:
        """The SizeCode of the result."""
        row = ROWS[self.name]
        bits = 32 if row.kind == "argument" else bits_of(self.dtype)
        if row.result == "predicate":
            return size_code(PHYSICAL * WIDE // 8)
        rows, cols = {"column": (PHYSICAL, 1), "row": (1, WIDE)}.get(row.result, (PHYSICAL, WIDE))
        return size_code(rows * cols * bits // 8)

    def commands(self) -> list[Instruction]:
        out = [b.start(self.name, self.dtype), make("B.DATR", **self.attributes)]
        out += [b.dim(n, value) for n, value in self.dims.items()]
        if self.scalar is not None:
            out.append(make("B.IOR", **self.scalar))
        out += self.extra
        final = len(self.bindings) - 1
        for n, (sources, size) in enumerate(self.bindings):
            out.append(b.iot(MASK, *sources, hand=self.hand, size=size, last=self.last and n == final))
        return [*self.before, *out, b.stop()]

    def shrunk(self, code: int) -> None:
        self.bindings[-1] = (self.bindings[-1][0], code)


def load(dtype: str, kind: str, hand: int, layout: int = 0) -> list[Instruction]:
    rows, cols, wide = {"column": (ROWS_OF, 1, 1), "row": (1, COLS, WIDE)}.get(kind, (ROWS_OF, COLS, WIDE))
    size = size_code(PHYSICAL * wide * bits_of(dtype) // 8)
    dims = [b.dim(0, cols), b.dim(1, rows), b.dim(2, wide)]
    binding = b.iot(MASK, hand=hand, size=size)
    return [b.start("TLOAD", dtype), b.datr(layout), *dims, b.ior(BASE, STRIDE), binding, b.stop()]


def sources(name: str, dtype: str) -> list[Instruction]:
    """Loads of the sources, source n as the newest tile of hand n; all elements are one."""
    out = []
    for hand, kind in enumerate(ROWS[name].sources):
        if kind != "predicate":
            out += load(dtype, kind, hand)
            continue
        out += [*load("U8", "full", 3), b.start("TCMP", "U8"), b.dim(0, COLS), b.dim(1, ROWS_OF), b.dim(2, WIDE)]
        out += [b.iot(MASK, 48, 48, hand=hand, size=1), b.stop()]
    return out


def machine(dtype: str, element: int = 1) -> Machine:
    memory = Memory(1 << 16)
    width = max(1, bits_of(dtype) // 8)
    pattern = element | element << 4 if bits_of(dtype) == 4 else element
    memory.write(0, pattern.to_bytes(width, "little") * (4096 // width))
    m = Machine(memory=memory)
    for register, value in ((BASE, 0), (STRIDE, 64), (SCALAR, element), (OTHER, 5)):
        m.set_gpr(register, value)
    return m


def run(m: Machine, program: list[Instruction]) -> str | None:
    """Execute at the end of what is there; the kind of the fault, if any."""
    m.load(b"".join(inst.to_bytes() for inst in program))
    pc = m.load_address
    for inst in program:
        outcome = m.step_at(pc)
        if outcome.fault is not None:
            return str(outcome.fault.kind)
        pc += inst.length
    return None


def state(m: Machine) -> object:
    return m.flags, [(pe, hand, n, id(tile)) for pe in range(4) for hand, n, tile in m.tiles(pe)]


Spoil = Callable[[Parts], None]
Prepare = Callable[[Machine, Parts], None]


def check(
    name: str,
    want: str | None,
    spoil: Spoil,
    *,
    dtype: str | None = None,
    element: int = 1,
    prepare: Prepare | None = None,
    setup: list[Instruction] | None = None,
) -> None:
    """Load the sources, run the spoiled bundle, and see the fault; the machine is as it was."""
    kind = dtype or usual(name)
    m = machine(kind, element)
    parts = Parts(name, kind)
    assert run(m, sources(name, kind) + (setup or [])) is None
    if prepare is not None:
        prepare(m, parts)
    spoil(parts)
    before = state(m)
    assert run(m, parts.commands()) == want
    assert (state(m) == before) == (want is not None)


def usual(name: str) -> str:
    return next(t for t in ("FP32", "S32") if t in ROWS[name].types)


def integer(name: str) -> str | None:
    return next((t for t in ROWS[name].types if class_of(t) == "signed"), None)


ALL = list(ROWS)
READING = [name for name in ALL if ROWS[name].sources]
TWO = [name for name in ALL if len(ROWS[name].sources) >= 2]
EARLY = [name for name in READING if not ROWS[name].checked_late]
LATE = [name for name in ALL if ROWS[name].checked_late]
DIVIDING = [name for name in ALL if "DIV" in name or "REM" in name]
ENCODED = [name for name in READING if not ROWS[name].any_encoding and "TF32" in ROWS[name].types]
FULL = [name for name in READING if ROWS[name].result == "full" and "full" in ROWS[name].sources]
FIELDS = {"Layout": 1, "CMode": 2, "RMode": 1, "Sat": 1, "Canonicalize": 1, "DataType": 4}


@pytest.mark.parametrize("name", ALL)
def test_the_bundle_is_legal_as_it_is(name: str) -> None:
    check(name, None, lambda parts: None)


# Step 2


@pytest.mark.parametrize("name", ALL)
def test_number_of_sources(name: str) -> None:
    def one_more(parts: Parts) -> None:
        if len(parts.bindings[0][0]) == 2:
            parts.bindings[0][0].pop()
        else:
            parts.bindings[-1][0].append(0)

    check(name, CONTROL, one_more)


@pytest.mark.parametrize("name", READING)
def test_no_destination(name: str) -> None:
    check(name, CONTROL, lambda parts: parts.shrunk(0))


@pytest.mark.parametrize("name", ALL)
def test_a_second_destination(name: str) -> None:
    check(name, CONTROL, lambda parts: parts.bindings.append(([], 1)))


@pytest.mark.parametrize("name", ALL)
def test_last_is_missing(name: str) -> None:
    check(name, CONTROL, lambda parts: setattr(parts, "last", False))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("slot", ["RegSrc0", "RegSrc1", "RegSrc2", "RegDst"])
def test_unused_registers(name: str, slot: str) -> None:
    if slot == "RegSrc0" and ROWS[name].scalar:
        slot = "RegSrc2"
    check(name, CONTROL, lambda parts: setattr(parts, "scalar", {**(parts.scalar or {}), slot: OTHER}))


# Step 4


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("attribute", FIELDS)
def test_attributes_that_do_not_apply(name: str, attribute: str) -> None:
    if attribute in ROWS[name].attributes:
        attribute = "CMode" if name == "TCVT" or attribute != "CMode" else "Sat"
    check(name, LEGALITY, lambda parts: parts.attributes.update({attribute: FIELDS[attribute]}))


# Step 5


@pytest.mark.parametrize("name", ALL)
def test_a_shared_tile(name: str) -> None:
    check(name, LEGALITY, lambda parts: parts.extra.append(b.ios(MASK, 5)))


@pytest.mark.parametrize("name", [name for name in ALL if not ROWS[name].scalar])
def test_a_scalar_that_is_not_taken(name: str) -> None:
    check(name, LEGALITY, lambda parts: setattr(parts, "scalar", {}))


@pytest.mark.parametrize("name", TWO)
def test_records_of_another_structure(name: str) -> None:
    def apart(parts: Parts) -> None:
        selectors = [s for found, _ in parts.bindings for s in found]
        size = parts.size
        parts.bindings = [([s], 0) for s in selectors[:-1]] + [(selectors[-1:], size)]
        if len(selectors) == 3:
            parts.bindings = [(selectors[:2], size), (selectors[2:], 0)]

    check(name, LEGALITY, apart)


@pytest.mark.parametrize("name", ALL)
def test_no_columns(name: str) -> None:
    check(name, LEGALITY, lambda parts: parts.dims.pop(0) and None)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("number", range(3))
def test_a_dimension_of_zero(name: str, number: int) -> None:
    check(name, LEGALITY, lambda parts: parts.dims.update({number: 0}))


@pytest.mark.parametrize("name", [name for name in ALL if len(ROWS[name].types) < len(NAMES)])
def test_types_that_are_not_taken(name: str) -> None:
    for dtype in set(NAMES.values()) - set(ROWS[name].types):
        check(name, LEGALITY, lambda parts, dtype=dtype: setattr(parts, "dtype", dtype))


@pytest.mark.parametrize("source", ["FP64", "E8M0", "S32"])
def test_scales_are_made_of_few_types(source: str) -> None:
    check("TCVT", LEGALITY, lambda parts: parts.attributes.update(DataType=CODES["E8M0"]), dtype=source)


@pytest.mark.parametrize("name", ["TROWEXPANDEXPDIF", "TCOLEXPANDEXPDIF"])
@pytest.mark.parametrize("result", ["FP16", "FP64", "S32"])
def test_differences_have_few_results(name: str, result: str) -> None:
    check(name, LEGALITY, lambda parts: parts.attributes.update(DataType=CODES[result]))


# Steps 5 and 7: sources


@pytest.mark.parametrize("name", READING)
def test_dead_sources(name: str) -> None:
    for slot in range(len(ROWS[name].sources)):

        def dead(parts: Parts, slot: int = slot) -> None:
            found = parts.bindings[slot // 2][0]
            found[slot % 2] += 15

        check(name, LEGALITY, dead)


@pytest.mark.parametrize("name", READING)
def test_sources_of_another_type(name: str) -> None:
    for slot, kind in enumerate(ROWS[name].sources):
        other = load("U32" if kind != "predicate" else "U8", kind, slot)
        check(name, LEGALITY, lambda parts: None, setup=other)


@pytest.mark.parametrize("name", READING)
def test_sources_of_another_shape(name: str) -> None:
    """A row has the columns of the bundle only, a column its rows."""
    if name != "TROWEXPAND":
        check(name, LEGALITY, lambda parts: parts.dims.update({0: COLS - 1}))
    if name != "TCOLEXPAND":
        check(name, LEGALITY, lambda parts: parts.dims.update({1: ROWS_OF + 1}))


@pytest.mark.parametrize("name", READING)
def test_sources_in_another_layout(name: str) -> None:
    for slot, kind in enumerate(ROWS[name].sources):
        other = load(usual(name), "full" if kind == "predicate" else kind, slot, layout=1)
        check(name, LEGALITY, lambda parts: None, setup=other)


@pytest.mark.parametrize("name", READING)
def test_undefined_elements(name: str) -> None:
    for slot in range(len(ROWS[name].sources)):

        def forget(m: Machine, parts: Parts, slot: int = slot) -> None:
            ring = m.tiles(1).hands[slot]
            defined = np.ones(ring[0].values.shape, bool)
            defined[-1, -1] = False
            ring[0] = Tile(ring[0].descriptor, ring[0].values, defined=defined)

        check(name, LEGALITY, lambda parts: None, prepare=forget)


@pytest.mark.parametrize("name", ENCODED)
def test_invalid_encodings(name: str) -> None:
    check(name, LEGALITY, lambda parts: None, dtype="TF32", element=0x3F800001)


@pytest.mark.parametrize("name", [name for name in ENCODED if ROWS[name].scalar])
def test_invalid_scalars(name: str) -> None:
    check(name, LEGALITY, lambda parts: None, dtype="TF32", prepare=lambda m, p: m.set_gpr(SCALAR, 1), element=0)


@pytest.mark.parametrize("name", [name for name in READING if ROWS[name].any_encoding and "TF32" in ROWS[name].types])
def test_moved_bits_may_be_no_encodings(name: str) -> None:
    check(name, None, lambda parts: None, dtype="TF32", element=0x3F800001)


@pytest.mark.parametrize("name", DIVIDING)
def test_divisors_of_zero(name: str) -> None:
    check(name, LEGALITY, lambda parts: None, dtype=integer(name), element=0)
    check(name, None, lambda parts: None, dtype="FP32", element=0)


# Steps 6 and 7: the destination


@pytest.mark.parametrize("name", ALL)
def test_a_small_destination(name: str) -> None:
    """Too small for the valid rows, or for the bits of a predicate."""
    if ROWS[name].result == "row":
        return check(name, ALLOCATION, lambda parts: parts.shrunk(1), setup=wide_sources(name), prepare=widen)
    return check(name, ALLOCATION, lambda parts: parts.shrunk(1), setup=tall_sources(name), prepare=heighten)


def wide_sources(name: str) -> list[Instruction]:
    return resized(name, rows=1, cols=64)


def tall_sources(name: str) -> list[Instruction]:
    return resized(name, rows=PHYSICAL, cols=WIDE if ROWS[name].result != "predicate" else 64)


def widen(m: Machine, parts: Parts) -> None:
    parts.dims.update({0: 64, 1: 1, 2: 64})


def heighten(m: Machine, parts: Parts) -> None:
    cols = WIDE if ROWS[parts.name].result != "predicate" else 64
    parts.dims.update({0: cols, 1: PHYSICAL, 2: cols})


def resized(name: str, rows: int, cols: int) -> list[Instruction]:
    out = []
    for hand, kind in enumerate(ROWS[name].sources):
        dtype = "U8" if kind == "predicate" else usual(name)
        r, c = {"column": (rows, 1), "row": (1, cols)}.get(kind, (rows, cols))
        dims = [b.dim(0, c), b.dim(1, r), b.dim(2, c)]
        size = size_code(r * c * bits_of(dtype) // 8)
        to = 3 if kind == "predicate" else hand
        out += [b.start("TLOAD", dtype), *dims, b.ior(BASE, 0), b.iot(MASK, hand=to, size=size), b.stop()]
        if kind == "predicate":
            size = size_code(-(-r * c // 8))
            out += [b.start("TCMP", dtype), *dims, b.iot(MASK, 48, 48, hand=hand, size=size), b.stop()]
    return out


@pytest.mark.parametrize("name", ALL)
def test_columns_that_no_tile_has(name: str) -> None:
    want = LEGALITY if name in EARLY and name != "TROWEXPAND" else ALLOCATION
    check(name, want, lambda parts: parts.dims.update({2: 6}))


@pytest.mark.parametrize("name", READING)
def test_a_result_that_would_retire_its_source(name: str) -> None:
    dtype = usual(name)
    ring = load("U8", "column", 0) * 15

    def own(parts: Parts) -> None:
        parts.bindings[0][0][0] = 15
        parts.hand = 0

    check(name, ALLOCATION, own, dtype=dtype, setup=ring)


@pytest.mark.parametrize("name", ALL)
def test_a_full_pool(name: str) -> None:
    def fill(m: Machine, parts: Parts) -> None:
        m.tiles(2).used = LOCAL_POOL_BYTES

    check(name, ALLOCATION, lambda parts: None, prepare=fill)


@pytest.mark.parametrize("name", FULL)
def test_a_destination_of_other_rows(name: str) -> None:
    check(name, LEGALITY, lambda parts: parts.shrunk(parts.size + 1))


# The order


@pytest.mark.parametrize("name", ALL)
def test_bindings_come_before_attributes(name: str) -> None:
    def both(parts: Parts) -> None:
        parts.last = False
        parts.attributes["CMode" if name == "TCVT" else "RMode"] = 3

    check(name, CONTROL, both)


@pytest.mark.parametrize("name", ENCODED)
def test_when_elements_are_checked(name: str) -> None:
    """Elements come before the destination where sources belong to the schema, and after it elsewhere."""
    want = ALLOCATION if name in LATE else LEGALITY

    def no_columns(parts: Parts) -> None:
        parts.shrunk(1)

    check(name, want, no_columns, dtype="TF32", element=0x3F800001, setup=tall_of_type(name), prepare=heighten)


def tall_of_type(name: str) -> list[Instruction]:
    return [
        make("BSTART.TLOAD", DataType=CODES["TF32"]) if inst.key == "BSTART.TLOAD" else inst
        for inst in tall_sources(name)
    ]


@pytest.mark.parametrize("name", ALL)
def test_a_mask_of_zero_is_not_checked(name: str) -> None:
    m = machine(usual(name))
    before = state(m)
    program = [b.start(name, "FP32"), b.datr(rmode=7, cmode=3), b.iot(0, 5, hand=1, size=2), b.stop()]
    assert run(m, program) is None and state(m) == before
