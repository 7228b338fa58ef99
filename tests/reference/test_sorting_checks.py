"""Every check of the operations that sort, count and quantise, violated once; beside each the legal bundle."""

from __future__ import annotations

import pytest
from conformance.cases import cube, load

from reference.check_programs import (
    ALLOCATION,
    BOTH,
    CONTROL,
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

FLOATS = load("FP32", 8, 4, "->T<1>", wide=8)
# Memory holds n % 7, which is not sorted; what is merged has one number in every element.
EQUAL = "BSTART.VEC TEXPANDS, FP32; B.DIM LB0, 8; B.IOR a3; B.IOT mask=0001, last, ->{}<1>; BSTOP\n"
SAME = EQUAL.format("T") + EQUAL.format("U")
UNSORTED = load("FP16", 8, 1, "->T<1>") + load("FP16", 8, 1, "->U<1>")
TALL = EQUAL.format("T").replace("LB0, 8", "LB0, 8; B.DIM LB1, 2")
COUNTED = load("U16", 8, 4, "->T<1>", wide=8) + load("U8", 1, 4, "->U<1>", wide=1)
WORDS = load("U32", 8, 4, "->T<1>", wide=8) + load("U8", 1, 3, "->U<1>", wide=1)
NUMBERS = load("FP32", 8, 4, "->T<3>", wide=8)
BYTES = load("S8", 8, 4, "->T<1>", wide=8)
SORTED = f"B.IOT T#1, mask=0001, ->M<1>; B.IOT mask=0001, {TO_N}"
COUNTS = BOTH.replace("<1>", "<6>")
U32 = "NORM, U32, {}, EQ, Default, 0, 0"
TO_S8, TO_FP32 = "NORM, S8, Zero, EQ, Default, 0, 0", "NORM, FP32, Zero, EQ, Default, 0, 0"


def sort(setup: str = FLOATS, *shape: int, dtype: str = "FP32", **more: str) -> str:
    return setup + bundle(f"SFU TSORT, {dtype}", *shape, **{"binding": SORTED, **more})


def merge(setup: str = SAME, *shape: int, dtype: str = "FP32", **more: str) -> str:
    return setup + bundle(f"SFU TMRGSORT, {dtype}", *shape, **{"binding": BOTH, **more})


def count(setup: str = COUNTED, *shape: int, dtype: str = "U16", **more: str | None) -> str:
    return setup + bundle(f"SFU THISTOGRAM, {dtype}", *shape, **{"binding": COUNTS, "datr": U32.format("Zero"), **more})


def quantise(setup: str = NUMBERS, *shape: int, dtype: str = "FP32", **more: str | None) -> str:
    return setup + bundle(f"SFU TQUANT, {dtype}", *(shape or (8, 4)), **{"binding": ONE, "datr": TO_S8, **more})


def restore(setup: str = BYTES, *shape: int, dtype: str = "S8", **more: str | None) -> str:
    operands = {"binding": ONE.replace("<1>", "<3>"), "datr": TO_FP32, **more}
    return setup + bundle(f"SFU TDEQUANT, {dtype}", *(shape or (8, 4)), **operands)


ALL = {"TSORT": sort, "TMRGSORT": merge, "THISTOGRAM": count, "TQUANT": quantise, "TDEQUANT": restore}
SOURCES = {"TSORT": FLOATS, "TMRGSORT": SAME, "THISTOGRAM": COUNTED, "TQUANT": NUMBERS, "TDEQUANT": BYTES}
WIDER = ONE.replace("<1>", "<3>")
BINDINGS = {"TSORT": SORTED, "TMRGSORT": BOTH, "THISTOGRAM": COUNTS, "TQUANT": ONE, "TDEQUANT": WIDER}
ATTRIBUTES = {"TSORT": Z, "TMRGSORT": Z, "THISTOGRAM": U32.format("Zero"), "TQUANT": TO_S8, "TDEQUANT": TO_FP32}
STRAY = ("NE", "RTZ", "saturate", "canonical", "ND2DN", "Max", "type")
USED = {"THISTOGRAM": ("Max", "type"), "TQUANT": ("RTZ", "saturate", "type"), "TDEQUANT": ("RTZ", "type")}


def changed(attributes: str, field: str) -> str:
    """B.DATR with one field more."""
    layout, dtype, pad, cmode, rmode, saturate, canonical = attributes.split(", ")
    layout = field if field == "ND2DN" else layout
    dtype = "FP16" if field == "type" else dtype
    pad = field if field == "Max" else pad
    cmode = field if field == "NE" else cmode
    rmode = field if field == "RTZ" else rmode
    saturate = "1" if field == "saturate" else saturate
    canonical = "1" if field == "canonical" else canonical
    return ", ".join((layout, dtype, pad, cmode, rmode, saturate, canonical))


@pytest.mark.parametrize("name", ALL)
def test_the_bundle_is_legal_as_it_is(name: str) -> None:
    assert ends(ALL[name]()) is None


@pytest.mark.parametrize("name", ALL)
def test_records(name: str) -> None:
    build, good = ALL[name], BINDINGS[name]
    assert ends(build(binding=good.replace(" last,", ""))) == CONTROL
    assert ends(build(binding=ONE if good != ONE and "T#1, mask" not in good else BOTH)) == CONTROL
    assert ends(build(ior="a3, a3, a3")) == CONTROL
    assert ends(build(binding=f"B.IOS S0, mask=0001; {good}")) == LEGAL
    if name == "TSORT":
        assert ends(build(binding=f"B.IOT mask=0001, ->M<1>; B.IOT T#1, mask=0001, {TO_N}")) == LEGAL
        assert ends(build(binding=ONE)) == CONTROL
    if name == "THISTOGRAM":
        assert ends(build(ior="zero")) == LEGAL
    if "U#1" in good:
        assert ends(build(binding="B.IOT T#1, mask=0001; " + good.replace("T#1, U#1", "U#1"))) == LEGAL


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("field", STRAY)
def test_attributes_that_do_not_apply(name: str, field: str) -> None:
    fault = ends(ALL[name](datr=changed(ATTRIBUTES[name], field)))
    assert fault == (None if field in USED.get(name, ()) and field != "type" else LEGAL)


@pytest.mark.parametrize("name", ["THISTOGRAM", "TQUANT", "TDEQUANT"])
def test_attributes_that_must_be_there(name: str) -> None:
    assert ends(ALL[name](datr=None)) == LEGAL


@pytest.mark.parametrize("name", ALL)
def test_types_that_are_not_taken(name: str) -> None:
    for dtype in ("BF16", "S32"):
        assert ends(ALL[name](dtype=dtype)) == LEGAL


@pytest.mark.parametrize("name", ALL)
def test_sources(name: str) -> None:
    build, setup = ALL[name], SOURCES[name]
    assert ends(build("")) == LEGAL
    assert ends(build(setup + load("S32", 8, 4, "->T<1>", wide=8))) == LEGAL
    assert ends(build(setup + cube("U32", "ND2M16", 2, 4, "->T<1>"))) == LEGAL
    head, _, rest = setup.partition("B.DIM LB0")
    if name != "TMRGSORT":
        assert ends(build(f"{head}B.DATR {{{Z.replace('NORM', 'ND2DN')}}}; B.DIM LB0{rest}")) == LEGAL
        assert stepped(build(), forget) == LEGAL


@pytest.mark.parametrize("name", ALL)
def test_the_destination(name: str) -> None:
    assert stepped(ALL[name](), fill_pool) == ALLOCATION
    ring = load("U8", 1, 1, "->N<1>") * 15
    text = ALL[name](SOURCES[name].replace("->T", "->N") + ring)
    assert ends(text.replace("B.IOT T#1", "B.IOT N#16")) == ALLOCATION


CASES = {
    "the default group": (sort(FLOATS, 0), None),
    "the widest group": (sort(FLOATS, 64), None),
    "a group that is too wide": (sort(FLOATS, 65), LEGAL),
    "a second dimension": (sort(FLOATS, 8, 4), LEGAL),
    "a direction of sorting": (sort(ior="a3"), None),
    "a direction that is none": (sort(ior="s1"), LEGAL),
    "sorted values of other rows": (sort(binding=SORTED.replace("M<1>", "M<2>")), LEGAL),
    "places of other rows": (sort(binding=SORTED.replace("N<1>", "N<2>")), LEGAL),
    "places that do not fit": (
        sort(load("FP16", 16, 4, "->T<1>", wide=16), dtype="FP16", binding=SORTED),
        ALLOCATION,
    ),
    "a merge with dimensions": (merge(SAME, 8), LEGAL),
    "a direction of merging": (merge(ior="s1"), LEGAL),
    "rows that are not sorted": (merge(UNSORTED, dtype="FP16"), LEGAL),
    "two rows to merge": (merge(EQUAL.format("U") + TALL), LEGAL),
    "a merge of two types": (merge(SAME + EQUAL.format("U").replace("FP32", "U32")), LEGAL),
    "a merge that does not fit": (
        merge((EQUAL.format("T") + EQUAL.format("U")).replace("LB0, 8", "LB0, 32")),
        ALLOCATION,
    ),
    "counts with dimensions": (count(COUNTED, 8), LEGAL),
    "the upper byte": (count(datr=U32.format("Max")), None),
    "a byte that is none": (count(datr=U32.format("Min")), LEGAL),
    "the upper byte of words": (count(WORDS, dtype="U32", datr=U32.format("Null")), None),
    "the lower byte of words": (count(WORDS, dtype="U32"), None),
    "a filter of few rows": (count(load("U16", 8, 4, "->T<1>", wide=8) + load("U8", 1, 3, "->U<1>", wide=1)), LEGAL),
    "a filter of few bytes": (
        count(load("U32", 8, 4, "->T<1>", wide=8) + load("U8", 1, 2, "->U<1>", wide=1), dtype="U32"),
        LEGAL,
    ),
    "a filter that is not read": (count(COUNTED + load("U8", 1, 1, "->U<1>"), datr=U32.format("Max")), None),
    "a filter of another type": (count(COUNTED + load("S8", 1, 4, "->U<1>")), LEGAL),
    "counts of another type": (count(datr=U32.format("Zero").replace("U32", "S32")), LEGAL),
    "counts that do not fit": (count(binding=COUNTS.replace("<6>", "<5>")), ALLOCATION),
    "a quantised tile of another type": (quantise(datr=TO_S8.replace("S8", "S16")), LEGAL),
    "a quantised tile without a type": (quantise(datr=Z), LEGAL),
    "a restored tile without a type": (restore(datr=Z), LEGAL),
    "a restored tile of another type": (restore(datr=TO_FP32.replace("FP32", "FP16")), LEGAL),
    "a tiny multiplier": (quantise(ior="a3"), None),
    "no multiplier": (quantise(ior="zero"), LEGAL),
    "no multiplier back": (restore(ior="zero"), LEGAL),
    "a zero point": (quantise(ior="a3, a1"), None),
    "a zero point out of range": (quantise(ior="a3, s0"), LEGAL),
    "a zero point out of range back": (restore(ior="a3, s0"), LEGAL),
    "a source of other columns": (quantise(NUMBERS, 7, 4, 8), LEGAL),
    "a source of other rows": (quantise(NUMBERS, 8, 3), LEGAL),
    "a source of other physical columns": (quantise(NUMBERS, 8, 4, 16), LEGAL),
    "a quantised tile of zero rows": (quantise(NUMBERS, 8, 0), LEGAL),
    "a result of other rows": (quantise(binding=ONE.replace("<1>", "<2>")), LEGAL),
    "a restored result of other rows": (restore(binding=ONE.replace("<1>", "<2>")), LEGAL),
    "a restored result that does not fit": (
        restore(load("S8", 8, 16, "->T<1>", wide=8), 8, 16),
        None,
    ),
    "a restored result that is too small": (
        restore(load("S8", 8, 16, "->T<1>", wide=8), 8, 16, binding=ONE),
        ALLOCATION,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_an_operation_asks(case: str) -> None:
    text, fault = CASES[case]
    assert ends(text) == fault
