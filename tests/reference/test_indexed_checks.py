"""Every check of the indexed operations and of TPREFETCH, violated once; beside each the legal bundle."""

from __future__ import annotations

import pytest
from conformance.cases import cube, load

from reference.check_programs import (
    ALLOCATION,
    BOTH,
    CONTROL,
    FIELDS,
    LEGAL,
    ONE,
    TO_N,
    Z,
    bundle,
    ends,
    fill_pool,
    forget,
    stepped,
)

# Memory holds n % 7; so an index that is loaded as bytes is small, and one of words is not, so indices are made.
COLS = 4


def made(target: str, dtype: str = "S32", rows: int = 4, start: str = "zero") -> str:
    """A tile of zeros, or of the number in a register."""
    wide = f"B.DIM LB0, {COLS}; B.DIM LB1, {rows}; B.DIM LB2, 4"
    return f"BSTART.VEC TEXPANDS, {dtype}; {wide}; B.IOR {start}; B.IOT mask=0001, last, {target}; BSTOP\n"


DATA = load("S32", 4, 4, "->T<1>", wide=4)
INDEX = made("->T<1>")
WORD = load("S32", 4, 4, "->U<1>", wide=4)
WORDS = WORD + load("S32", 4, 4, "->M<1>", wide=4)
HOLDS = INDEX + "BSTART.VEC TCMPS, S32; B.DIM LB0, 4; B.DIM LB1, 4; B.IOT T#1, mask=0001, last, ->U<1>; BSTOP\n"
ROWS = "BSTART.SFU TCI, S32; B.DIM LB0, 4; B.IOT mask=0001, last, ->M<1>; BSTOP\n"
COLUMN = (
    ROWS
    + "BSTART.SFU TTRANS, S32; B.DIM LB0, 1; B.DIM LB1, 4; B.IOT M#1, mask=0001, last, ->M<1>; BSTOP\n"
    + "BSTART.SFU TCONCAT, S32; B.DIM LB0, 2; B.DIM LB1, 4; B.IOT M#1, M#1, mask=0001, last, ->M<1>; BSTOP\n"
    + "BSTART.SFU TCONCAT, S32; B.DIM LB0, 4; B.DIM LB1, 4; B.IOT M#1, M#1, mask=0001, last, ->U<1>; BSTOP\n"
)
"""Row numbers in every column, as U#1."""


def take(setup: str = DATA + COLUMN, *shape: int, dtype: str = "S32", **more: str) -> str:
    return setup + bundle(f"SFU TGATHER, {dtype}", *(shape or (4, 4)), **{"binding": BOTH, **more})


def put(setup: str = DATA + COLUMN, *shape: int, dtype: str = "S32", **more: str) -> str:
    return setup + bundle(f"SFU TSCATTER, {dtype}", *(shape or (4, 4)), **{"binding": BOTH, **more})


def gather(setup: str = INDEX, *shape: int, dtype: str = "S32", **more: str) -> str:
    return setup + bundle(f"MGATHER {dtype}", *(shape or (4, 4)), **{"binding": ONE, "ior": "a2", **more})


def masked(setup: str = HOLDS, *shape: int, dtype: str = "S32", **more: str) -> str:
    return setup + bundle(f"MGATHER.MASK {dtype}", *(shape or (4, 4)), **{"binding": BOTH, "ior": "a2", **more})


SWAP = f"B.IOT T#1, U#1, mask=0001; B.IOT M#1, mask=0001, {TO_N}"
STORE = "B.IOT U#1, T#1, mask=0001, last"


def swap(setup: str = INDEX + WORDS, *shape: int, dtype: str = "S32", **more: str) -> str:
    return setup + bundle(f"MGATHER.CAS {dtype}", *(shape or (4, 4)), **{"binding": SWAP, "ior": "a2", **more})


def scatter(setup: str = INDEX + WORD, *shape: int, dtype: str = "S32", **more: str) -> str:
    return setup + bundle(f"MSCATTER {dtype}", *(shape or (4, 4)), **{"binding": STORE, "ior": "a2", **more})


def prefetch(*shape: int, dtype: str = "S32", **more: str) -> str:
    return bundle(f"TPREFETCH {dtype}", *(shape or (4, 4)), **{"binding": "", **more}).replace("; ;", ";")


ROW = {"TGATHER": take, "TSCATTER": put}
MEMORY = {"MGATHER": gather, "MGATHER_MASK": masked, "MGATHER_CAS": swap, "MSCATTER": scatter}
LOADS = [name for name in MEMORY if name != "MSCATTER"]
ALL = {**ROW, **MEMORY}
RECORDS = {"MGATHER": ONE, "MGATHER_MASK": BOTH, "MGATHER_CAS": SWAP, "MSCATTER": STORE}
SETUPS = {"MGATHER": INDEX, "MGATHER_MASK": HOLDS, "MGATHER_CAS": INDEX + WORDS, "MSCATTER": INDEX + WORD}
SETUPS |= dict.fromkeys(ROW, DATA + COLUMN)


@pytest.mark.parametrize("name", [*ALL, "TPREFETCH"])
def test_the_bundle_is_legal_as_it_is(name: str) -> None:
    assert ends(ALL.get(name, prefetch)()) is None


@pytest.mark.parametrize("name", ROW)
def test_records_of_rows(name: str) -> None:
    build = ROW[name]
    assert ends(build(binding=ONE)) == CONTROL
    assert ends(build(binding=BOTH.replace(" last,", ""))) == CONTROL
    assert ends(build(ior="a3")) == CONTROL
    assert ends(build(ior="zero")) == LEGAL
    assert ends(build(binding=f"B.IOS S0, mask=0001; {BOTH}")) == LEGAL
    assert ends(build(binding=f"B.IOT T#1, mask=0001; B.IOT U#1, mask=0001, {TO_N}")) == LEGAL


@pytest.mark.parametrize("name", MEMORY)
def test_records_of_memory(name: str) -> None:
    build, good = MEMORY[name], RECORDS[name]
    assert ends(build(ior="")) == LEGAL
    for registers in ("a2, a3", "a2, zero, a3", "a2, ->a3"):
        assert ends(build(ior=registers)) == LEGAL
    assert ends(build(binding=f"B.IOS S0, mask=0001; {good}")) == LEGAL
    assert ends(build(binding=good.replace(", last", ""))) == LEGAL
    more = BOTH if name == "MGATHER" else ONE
    assert ends(build(binding=more)) == LEGAL


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("field", FIELDS)
def test_attributes_that_do_not_apply(name: str, field: str) -> None:
    want = None if field == "pad" and name in LOADS else LEGAL
    assert ends(ALL[name](datr=FIELDS[field])) == want


@pytest.mark.parametrize("name", ALL)
def test_dimensions(name: str) -> None:
    text = ALL[name]()
    start = text.rindex("B.DIM LB0")
    assert ends(text[:start] + text[start:].split("; ", 1)[1]) == LEGAL
    for zero in ((0, 4), (4, 0), (4, 4, 0)):
        assert ends(ALL[name](SETUPS[name], *zero)) == LEGAL
    # What is no tile is found with the schema here, and when the result is allocated there.
    want = LEGAL if name in MEMORY else ALLOCATION
    assert ends(ALL[name](SETUPS[name], 4, 4, 6)) == want
    assert ends(ALL[name](SETUPS[name], 4, 4, 2)) == want


@pytest.mark.parametrize("name", ALL)
def test_types_that_are_not_taken(name: str) -> None:
    for dtype in ("S4X2", "U4X2", "E2M1X2", "E1M2X2", "HiF4X2"):
        assert ends(ALL[name](dtype=dtype)) == LEGAL
    other = "U32"
    assert ends(ALL[name](dtype=other)) == (None if name in ("MGATHER", "MGATHER_MASK") else LEGAL)


@pytest.mark.parametrize("name", ALL)
def test_sources(name: str) -> None:
    setup, build = SETUPS[name], ALL[name]
    last = setup.strip().rpartition("\n")[0] + "\n"
    assert ends(build("" if name == "MGATHER" else last)) == LEGAL
    index = "U" if name in ROW else "T"
    for other in ("FP32", "S8"):
        assert ends(build(setup + made(f"->{index}<1>", other))) == LEGAL
    assert ends(build(setup + cube("S32", "ND2M16", 4, 4, f"->{index}<2>"))) == LEGAL
    assert ends(build(setup + made(f"->{index}<1>", rows=3))) == LEGAL
    if name not in ROW:
        turned = DATA.replace("B.DIM LB0", f"B.DATR {{{Z.replace('NORM', 'ND2DN')}}}; B.DIM LB0", 1)
        assert ends(build(setup + turned.replace("->T", f"->{index}"))) == LEGAL
    assert stepped(build(), forget) == LEGAL


@pytest.mark.parametrize("name", [*ROW, *LOADS])
def test_the_destination(name: str) -> None:
    build = ALL[name]
    assert stepped(build(), fill_pool) == ALLOCATION
    ring = load("U8", 1, 1, "->N<1>") * 15
    text = build(SETUPS[name].replace("->T", "->N").replace("T#1", "N#1") + ring)
    head, _, tail = text.rpartition("BSTART")
    assert ends(f"{head}BSTART{tail.replace('T#1', 'N#16')}") == ALLOCATION
    if name != "MGATHER_MASK":
        fractal = Z.replace("NORM", "ND2NZ")
        assert ends(build(datr=fractal)) == LEGAL


@pytest.mark.parametrize("name", LOADS)
def test_a_small_destination(name: str) -> None:
    """32 rows of four words do not fit 128 bytes, however wide the sources are."""
    wide = [line.replace("B.DIM LB1, 4", "B.DIM LB1, 32").replace("<1>", "<3>") for line in SETUPS[name].splitlines()]
    setup = "\n".join(line.replace("LB1, 4", "LB1, 32") for line in wide) + "\n"
    assert ends(ALL[name](setup, 4, 32)) == ALLOCATION


def test_the_mask_is_row_major_predicate() -> None:
    assert ends(masked(INDEX + made("->U<1>"))) == LEGAL
    assert ends(masked(datr=Z.replace("NORM", "ND2DN"))) == LEGAL


def test_one_column_is_no_default() -> None:
    column = "BSTART.VEC TEXPANDS, S32; B.DIM LB0, 1; B.IOR zero; B.IOT mask=0001, last, ->T<1>; BSTOP\n"
    assert ends(gather(column, 1)) is None
    head, _, tail = gather(column, 1).rpartition("B.DIM LB0, 1; ")
    assert ends(head + tail) == LEGAL


def test_the_physical_columns_of_scattered_data() -> None:
    setup = INDEX + load("S32", 4, 4, "->U<2>", wide=8) + load("S32", 4, 4, "->M<1>", wide=4)
    assert ends(scatter(setup)) == LEGAL
    assert ends(scatter(setup, 4, 4, 8)) is None


@pytest.mark.parametrize("name", MEMORY)
def test_addresses(name: str) -> None:
    """Alignment comes before the place; masked lanes have no address."""
    build = MEMORY[name]
    assert ends(build(ior="a3")) == "DataAlignment"
    assert ends(build(ior="s2")) == "DataPage"
    both = build().replace("B.IOR a2", "B.IOR s1")
    assert ends(both) == "DataAlignment"


def test_lanes_without_a_mask_bit_have_no_address() -> None:
    none = HOLDS.replace("BSTART.VEC TCMPS, S32;", "BSTART.VEC TCMPS, S32; B.DATR {" + FIELDS["cmode"] + "};")
    assert ends(masked(none, ior="s2")) is None


@pytest.mark.parametrize("name", ROW)
def test_row_numbers(name: str) -> None:
    build = ROW[name]
    assert ends(build(DATA + made("->U<1>", start="s1"))) == (None if name == "TGATHER" else LEGAL)
    assert ends(build(DATA + made("->U<1>", start="a1"))) == LEGAL
    minus = DATA + made("->U<1>", start="a3") + "BSTART.VEC TNEG, S32; B.DIM LB0, 4; B.DIM LB1, 4; "
    assert ends(build(minus + "B.IOT U#1, mask=0001, last, ->U<1>; BSTOP\n")) == LEGAL


def test_shapes_of_rows() -> None:
    assert ends(take(DATA + COLUMN, 3, 4, 4)) == LEGAL
    assert ends(take(DATA + made("->U<1>", rows=3), 4, 3)) is None
    assert ends(take(load("S32", 3, 4, "->T<1>", wide=4) + COLUMN)) == LEGAL
    assert ends(put(DATA + COLUMN, 3, 4, 4)) == LEGAL
    assert ends(put(DATA + COLUMN, 4, 6)) is None
    assert ends(put(DATA + COLUMN, 4, 3)) == LEGAL
    assert ends(put(load("S32", 3, 4, "->T<1>", wide=4) + COLUMN)) == LEGAL
    assert ends(put(load("S32", 4, 3, "->T<1>", wide=4) + COLUMN)) == LEGAL


@pytest.mark.parametrize("field", FIELDS)
def test_prefetch_takes_no_attributes(field: str) -> None:
    assert ends(prefetch(datr=FIELDS[field])) == LEGAL


def test_prefetch() -> None:
    assert ends(prefetch(binding="B.IOT T#1, mask=0001, last")) == CONTROL
    assert ends(prefetch(ior="a0, a1, a3")) == CONTROL
    assert ends(prefetch(binding="B.IOS S0, mask=0001")) == LEGAL
    assert ends(prefetch(dtype="U64")) == LEGAL
    for shape in ((0, 4), (4, 0), (4, 4, 0), (4, 4, 2), (3, 1, 3)):
        assert ends(prefetch(*shape)) == LEGAL
    assert ends(prefetch(ior="a3")) == "DataAlignment"
    assert ends(prefetch(ior="s2")) == "DataPage"
    assert ends(prefetch(ior="a0, s2")) == "DataPage"
    assert ends(prefetch(binding="B.IOT T#1, mask=0000, last", dtype="U64")) is None
