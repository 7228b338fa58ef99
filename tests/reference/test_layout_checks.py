"""Every check of the operations that rearrange, generate and copy, violated once; beside each the legal bundle."""

from __future__ import annotations

import pytest
from conformance.cases import cube, load

from reference.check_programs import (
    ALLOCATION,
    BOTH,
    CONTROL,
    FIELDS,
    LEGAL,
    NONE,
    ONE,
    TO_N,
    Z,
    bundle,
    ends,
    fill_pool,
    forget,
    machine_after,
    stepped,
)

S = load("S32", 4, 4, "->T<1>", wide=4)
TWO = S + load("S32", 4, 4, "->U<1>", wide=4)
TURNED = "B.DATR {ND2DN, DTYPE_NONE, Zero, EQ, Default, 0, 0}; B.DIM LB0"
WIDE = ONE.replace("<1>", "<2>")
DN = S.replace("B.DIM LB0", TURNED)
BITS = "BSTART.VEC TCMP, S32; B.DIM LB0, 4; B.DIM LB1, 4; B.IOT T#1, T#1, mask=0001, last, ->T<1>; BSTOP\n"
CUBE = cube("S32", "ND2M16", 2, 4, "->T<1>")
LONG = load("U64", 4, 4, "->T<2>", "1111", 4)
EVERYWHERE = load("S32", 4, 4, "->T<1>", "1111", 4)


def concat(setup: str = TWO, *shape: int, **more: str) -> str:
    return setup + bundle("SFU TCONCAT, S32", *(shape or (8, 4)), **{"binding": BOTH, **more})


def extract(setup: str = S, *shape: int, **more: str) -> str:
    return setup + bundle("SFU TEXTRACT, S32", *(shape or (2, 2)), **{"binding": ONE, "ior": "a3, a3", **more})


def insert(setup: str = TWO, *shape: int, **more: str) -> str:
    return setup + bundle("SFU TINSERT, S32", *(shape or (4, 4)), **{"binding": BOTH, **more})


def fill(setup: str = S, *shape: int, **more: str) -> str:
    return setup + bundle("SFU TFILLPAD, S32", *(shape or (4, 5, 8)), **{"binding": ONE.replace("<1>", "<2>"), **more})


def turn(setup: str = S, *shape: int, **more: str) -> str:
    return setup + bundle("SFU TTRANS, S32", *(shape or (4, 4)), **{"binding": ONE, **more})


def count(*shape: int, **more: str) -> str:
    return bundle("SFU TCI, S32", *(shape or (4,)), **{"binding": NONE, **more})


def triangle(*shape: int, **more: str) -> str:
    return bundle("SFU TTRI, S32", *(shape or (4, 4)), **{"binding": NONE, **more})


def union(setup: str = TWO, *shape: int, operation: str = "TPARTADD", **more: str | None) -> str:
    return setup + bundle(f"SFU {operation}, S32", *(shape or (4, 4)), **{"binding": BOTH, "datr": None, **more})


def move(setup: str = S, *shape: int, dtype: str = "S32", **more: str) -> str:
    return setup + bundle(f"TMOV {dtype}", *shape, **{"binding": ONE, **more})


def peer(setup: str = EVERYWHERE, *shape: int, dtype: str = "S32", **more: str) -> str:
    return setup + bundle(f"GMOV {dtype}", *shape, **{"binding": ONE, **more})


BUILDERS = {
    "TCONCAT": concat,
    "TEXTRACT": extract,
    "TINSERT": insert,
    "TFILLPAD": fill,
    "TTRANS": turn,
    "TCI": count,
    "TTRI": triangle,
    "TPARTADD": union,
    "TPARTMUL": lambda *a, **k: union(*a, operation="TPARTMUL", **k),
    "TPARTMAX": lambda *a, **k: union(*a, operation="TPARTMAX", **k),
    "TPARTMIN": lambda *a, **k: union(*a, operation="TPARTMIN", **k),
    "TMOV": move,
    "GMOV": peer,
}
UNIONS = [name for name in BUILDERS if name.startswith("TPART")]
PAIRED = ["TCONCAT", "TINSERT", *UNIONS]
MADE = ["TCI", "TTRI"]
COPIES = ["TMOV", "GMOV"]
NO_SCALAR = ["TCONCAT", "TTRANS", *UNIONS, "TMOV"]
IN_EIGHT = load("S32", 4, 4, "->T<1>", wide=8)


@pytest.mark.parametrize("name", BUILDERS)
def test_the_bundle_is_legal_as_it_is(name: str) -> None:
    assert ends(BUILDERS[name]()) is None


@pytest.mark.parametrize("name", BUILDERS)
def test_records(name: str) -> None:
    build = BUILDERS[name]
    more = NONE if name in PAIRED else f"B.IOT T#1, T#1, mask=0001, {TO_N}"
    more = ONE if name in MADE else more
    assert ends(build(binding=more)) == CONTROL
    good = BOTH if name in PAIRED else NONE if name in MADE else ONE
    assert ends(build(binding=good.replace(" last,", ""))) == CONTROL
    if name not in MADE:
        assert ends(build(binding=good.replace(f", {TO_N}", ", last"))) == CONTROL
    assert ends(build(binding=good.replace(" last,", "") + "; B.IOT mask=0001, last, ->M<1>")) == CONTROL
    assert ends(build(ior="a0, a0, a3")) == CONTROL
    assert ends(build(binding=f"B.IOS S0, mask=0001; {good}")) == LEGAL


@pytest.mark.parametrize("name", PAIRED)
def test_sources_stand_in_one_record(name: str) -> None:
    assert ends(BUILDERS[name](binding=f"B.IOT T#1, mask=0001; B.IOT U#1, mask=0001, {TO_N}")) == LEGAL


@pytest.mark.parametrize("name", NO_SCALAR)
def test_scalars_that_are_not_taken(name: str) -> None:
    assert ends(BUILDERS[name](ior="zero")) == LEGAL
    assert ends(BUILDERS[name](ior="a3")) == CONTROL


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("field", FIELDS)
def test_attributes_that_do_not_apply(name: str, field: str) -> None:
    assert ends(BUILDERS[name](datr=FIELDS[field])) == LEGAL


@pytest.mark.parametrize("name", [*MADE, *UNIONS])
def test_layouts_that_are_not_taken(name: str) -> None:
    assert ends(BUILDERS[name](datr=Z.replace("NORM", "ND2DN"))) == LEGAL


@pytest.mark.parametrize("name", ["TCONCAT", "TEXTRACT", "TFILLPAD", "TTRANS"])
def test_a_fractal_result_has_whole_blocks(name: str) -> None:
    assert ends(BUILDERS[name](datr=Z.replace("NORM", "ND2NZ"))) == LEGAL
    assert ends(BUILDERS[name](datr=Z.replace("NORM", "ND2DN"))) is None


@pytest.mark.parametrize("name", UNIONS)
def test_unions_take_no_attributes(name: str) -> None:
    assert ends(BUILDERS[name](datr=Z)) == LEGAL


@pytest.mark.parametrize("name", [name for name in BUILDERS if name not in COPIES])
def test_dimensions(name: str) -> None:
    text = BUILDERS[name]()
    start = text.rindex("B.DIM LB0")
    assert ends(text[:start] + text[start:].split("; ", 1)[1]) == LEGAL
    for zero in ((0, 4), (4, 0), (4, 4, 0)):
        build, setup = BUILDERS[name], TWO if name in PAIRED else S
        assert ends(build(*zero) if name in MADE else build(setup, *zero)) == LEGAL


@pytest.mark.parametrize("name", [name for name in BUILDERS if name not in COPIES])
def test_types_that_are_not_taken(name: str) -> None:
    for dtype in ("S64", "FP64") if name not in ("TCONCAT", "TEXTRACT", "TINSERT", "TTRANS") else ("HiF4X2",):
        head, _, tail = BUILDERS[name]().rpartition(", S32;")
        assert ends(f"{head}, {dtype};{tail}") == LEGAL


@pytest.mark.parametrize("name", [name for name in BUILDERS if name not in MADE])
def test_sources(name: str) -> None:
    build, second = BUILDERS[name], load("S32", 4, 4, "->U<1>", wide=4) if name in PAIRED else ""
    mask = "1111" if name == "GMOV" else "0001"
    other = (S if name != "GMOV" else EVERYWHERE).replace("S32", "U32")
    assert ends(build("" + second)) == LEGAL
    assert ends(build(other + second)) == LEGAL
    assert ends(build((S + BITS).replace("0001", mask) + second)) == LEGAL
    if name != "TMOV":
        assert ends(build(CUBE.replace("0001", mask) + second)) == LEGAL
    if name in UNIONS:
        assert ends(build(DN + second)) == LEGAL


@pytest.mark.parametrize("name", [name for name in BUILDERS if name not in MADE])
def test_undefined_elements(name: str) -> None:
    assert stepped(BUILDERS[name](), forget) == (None if name == "TMOV" else LEGAL)


@pytest.mark.parametrize("name", BUILDERS)
def test_a_full_pool(name: str) -> None:
    assert stepped(BUILDERS[name](), fill_pool) == ALLOCATION


def test_moves_keep_undefined_elements() -> None:
    m = machine_after(move(), forget)
    copied = next(tile for hand, _, tile in m.tiles(0) if hand == "N")
    assert copied.defined is not None and int(copied.defined.sum()) == 15 and not copied.defined[2, 3]


@pytest.mark.parametrize("name", [name for name in BUILDERS if name not in COPIES])
def test_the_destination(name: str) -> None:
    """Too small, of columns that no tile has, or over a generation that is a source."""
    build, setup = BUILDERS[name], TWO if name in PAIRED else S
    shape = (4, 40) if name not in MADE else (64, 1, 64)
    late = name not in UNIONS
    assert ends(build(*shape) if name in MADE else build(setup, *shape)) == (ALLOCATION if late else LEGAL)
    odd = (3, 1, 3)
    assert ends(build(*odd) if name in MADE else build(setup, *odd)) == (ALLOCATION if late else LEGAL)
    if name not in MADE:
        ring = load("U8", 1, 1, "->N<1>") * 15
        text = build(setup.replace("->T", "->N") + ring)
        assert ends(text.replace("B.IOT T#1", "B.IOT N#16")) == ALLOCATION


CASES = {
    "columns add up": (concat(TWO, 7, 4, 8), LEGAL),
    "rows agree": (concat(S + load("S32", 4, 3, "->U<1>", wide=4)), LEGAL),
    "rows are those of the sources": (concat(TWO, 8, 3), LEGAL),
    "a window below": (extract(ior="s1, a0"), LEGAL),
    "a window to the right": (extract(ior="a0, s1"), LEGAL),
    "offsets have sixteen bits": (extract(ior="s2, s2"), None),
    "a result unlike the copied tile": (insert(TWO, 3, 4, 4), LEGAL),
    "a result in another layout": (insert(datr=Z.replace("NORM", "ND2DN")), LEGAL),
    "a result of another size": (insert(binding=BOTH.replace("<1>", "<2>")), LEGAL),
    "an insertion that leaves": (insert(ior="a3, a0"), LEGAL),
    "an insertion to the right": (insert(ior="a0, a3"), LEGAL),
    "padding to fewer rows": (fill(S, 4, 3, 4), LEGAL),
    "padding to fewer columns": (fill(S, 3, 4, 4), LEGAL),
    "padding to fewer physical columns": (fill(IN_EIGHT, 4, 4, 4, binding=ONE), LEGAL),
    "padding to fewer physical rows": (fill(S, 4, 4, 8, binding=ONE), LEGAL),
    "a transpose of other columns": (turn(S, 3, 4, 4), LEGAL),
    "a transpose of other rows": (turn(S, 4, 3), LEGAL),
    "a sequence of two rows": (count(4, 2), LEGAL),
    "a direction of two": (count(ior="a0, s1"), LEGAL),
    "a diagonal far away": (triangle(ior="s2, a0"), LEGAL),
    "an orientation of two": (triangle(ior="a0, s1"), LEGAL),
    "a union larger than its sources": (union(TWO, 4, 5), LEGAL),
    "a union smaller than a source": (union(S + load("S32", 3, 4, "->U<1>", wide=4), 3, 4, 4), LEGAL),
    "a move of another type": (move(dtype="U32"), LEGAL),
    "a move of whatever type": (move(dtype="DTYPE_NONE"), None),
    "a move of a matrix operand": (move(CUBE, datr=None), None),
    "a move to another layout": (move(datr=Z.replace("NORM", "ND2DN")), LEGAL),
    "a move that inherits the layout": (move(DN, datr=None), None),
    "a move of other columns": (move(S, 3), LEGAL),
    "a move of other rows": (move(S, 4, 3), LEGAL),
    "a move to other physical columns": (move(S, 4, 4, 8), LEGAL),
    "a move with a dimension of zero": (move(S, 0), LEGAL),
    "a move to a larger tile": (move(binding=ONE.replace("<1>", "<2>")), LEGAL),
    "a move from two records": (move(binding=f"B.IOT T#1, mask=0001; B.IOT mask=0001, {TO_N}"), LEGAL),
    "a move of a predicate": (move(S + BITS, dtype="U8"), LEGAL),
    "a peer in two records": (peer(binding=f"B.IOT T#1, mask=0001; B.IOT mask=0001, {TO_N}"), LEGAL),
    "a predicate of a peer": (peer((S + BITS).replace("0001", "1111"), dtype="U8"), LEGAL),
    "a matrix operand of a peer": (peer(CUBE.replace("0001", "1111"), datr=None), LEGAL),
    "a peer's tile of a wide type": (peer(LONG, dtype="U64", binding=WIDE), LEGAL),
    "a peer that is none": (peer(ior="s0"), LEGAL),
    "a peer": (peer(ior="s1"), None),
    "a source on some PEs": (peer(S), LEGAL),
    "sources of two descriptions": (peer(EVERYWHERE + load("S32", 3, 4, "->T<1>", "0010", 4)), LEGAL),
    "a peer with dimensions": (peer(EVERYWHERE, 4), LEGAL),
    "a peer of another type": (peer(dtype="U32"), LEGAL),
    "a peer of a wide type": (peer(dtype="U64"), LEGAL),
    "a peer to a larger tile": (peer(binding=ONE.replace("<1>", "<2>")), LEGAL),
    "a peer to another layout": (peer(datr=Z.replace("NORM", "ND2DN")), LEGAL),
}


@pytest.mark.parametrize("case", CASES)
def test_what_an_operation_asks(case: str) -> None:
    text, fault = CASES[case]
    assert ends(text) == fault
