"""Programs for the rules of the operations whose tiles differ in shape, from the makers of bundles in ``reference``."""

from __future__ import annotations

from reference import test_indexed_checks as indexed
from reference import test_layout_checks as layout
from reference import test_sorting_checks as sorting
from reference.check_programs import ALLOCATION, BOTH, CONTROL, LEGAL, NONE, ONE, TO_N, Z

from conformance.cases import Own, cube, load

EIGHT_BITS = load("U8", 8, 4, "->T<1>")
PREDICATE = "BSTART.VEC TCMP, U8; B.DIM LB0, 8; B.DIM LB1, 4; B.IOT T#1, T#1, mask=0001, last, ->T<1>; BSTOP\n"
SHORT = load("S32", 4, 3, "->U<1>", wide=4)
FAR = indexed.made("->T<1>") + indexed.made("->U<1>", start="a1")
"""Indices that name row 64."""

BUILDERS = {
    **layout.BUILDERS,
    "TSORT": sorting.sort,
    "TMRGSORT": sorting.merge,
    "THISTOGRAM": sorting.count,
    "TQUANT": sorting.quantise,
    "TDEQUANT": sorting.restore,
    "TGATHER": indexed.take,
    "TSCATTER": indexed.put,
}
_LEGAL = {f"SHAPED.legal.{name}": (build(), "none") for name, build in BUILDERS.items() if name not in layout.COPIES}

_VIOLATED = {
    "SHAPED.2a": (layout.concat(binding=ONE), CONTROL),
    "SHAPED.2b": (layout.concat(binding=BOTH.replace(" last,", "")), CONTROL),
    "SHAPED.2c": (layout.extract(ior="a0, a0, a3"), CONTROL),
    "SHAPED.4": (layout.concat(datr=Z.replace("EQ", "NE")), LEGAL),
    "SHAPED.5a": (layout.concat(binding=f"B.IOS S0, mask=0001; {BOTH}"), LEGAL),
    "SHAPED.5b": (layout.concat(ior="zero"), LEGAL),
    "SHAPED.5c": (layout.concat(binding=f"B.IOT T#1, mask=0001; B.IOT U#1, mask=0001, {TO_N}"), LEGAL),
    "SHAPED.5d": (layout.count().replace("B.DIM LB0, 4; ", ""), LEGAL),
    "SHAPED.5e": (layout.count(4, 0), LEGAL),
    "SHAPED.5f": (layout.triangle().replace("TTRI, S32", "TTRI, BF16"), LEGAL),
    "SHAPED.5g": (sorting.sort(sorting.FLOATS, 8, 4), LEGAL),
    "SHAPED.6a": (layout.count(64, 1), ALLOCATION),
    "SHAPED.6b": (layout.turn(datr=Z.replace("NORM", "ND2NZ")), LEGAL),
    "SHAPED.7a": (EIGHT_BITS + PREDICATE + layout.turn("", 4, 8).replace("TTRANS, S32", "TTRANS, U8"), LEGAL),
    "SHAPED.7b": (layout.turn(layout.S.replace("S32", "U32")), LEGAL),
    "SHAPED.7c": (layout.turn(cube("S32", "ND2M16", 4, 4, "->T<2>"), binding=layout.WIDE), LEGAL),
    "SHAPED.TCONCAT.1": (layout.concat(SHORT.replace("->U", "->T") + load("S32", 4, 4, "->U<1>", wide=4), 8, 3), LEGAL),
    "SHAPED.TCONCAT.2": (layout.concat(layout.TWO, 7, 4, 8), LEGAL),
    "SHAPED.TEXTRACT.1": (layout.extract(ior="s1, a0"), LEGAL),
    "SHAPED.TINSERT.1": (layout.insert(binding=BOTH.replace("<1>", "<2>")), LEGAL),
    "SHAPED.TINSERT.2": (layout.insert(ior="a3, a0"), LEGAL),
    "SHAPED.TFILLPAD.1": (layout.fill(layout.S, 3, 4, 4), LEGAL),
    "SHAPED.TTRANS.1": (layout.turn(layout.S, 4, 3), LEGAL),
    "SHAPED.TCI.1": (layout.count(4, 2), LEGAL),
    "SHAPED.TCI.2": (layout.count(ior="a0, s1"), LEGAL),
    "SHAPED.TTRI.1": (layout.triangle(ior="s2, a0"), LEGAL),
    "SHAPED.TTRI.2": (layout.triangle(ior="a0, s1"), LEGAL),
    "SHAPED.THISTOGRAM.1": (sorting.count(datr=sorting.U32.format("Zero").replace("U32", "S32")), LEGAL),
    "SHAPED.THISTOGRAM.2": (sorting.count(datr=sorting.U32.format("Min")), LEGAL),
    "SHAPED.THISTOGRAM.3": (
        sorting.count(load("U16", 8, 4, "->T<1>", wide=8) + load("U8", 1, 3, "->U<1>", wide=1)),
        LEGAL,
    ),
    "SHAPED.TQUANT.1": (sorting.quantise(datr=Z), LEGAL),
    "SHAPED.TQUANT.2": (sorting.quantise(ior="zero"), LEGAL),
    "SHAPED.TQUANT.3": (sorting.quantise(ior="a3, s0"), LEGAL),
    "SHAPED.TQUANT.4": (sorting.quantise(sorting.NUMBERS, 8, 3), LEGAL),
    "SHAPED.TQUANT.5": (sorting.quantise(binding=ONE.replace("<1>", "<2>")), LEGAL),
    "SHAPED.TDEQUANT.1": (sorting.restore(datr=Z), LEGAL),
    "SHAPED.TDEQUANT.2": (sorting.restore(ior="zero"), LEGAL),
    "SHAPED.TDEQUANT.3": (sorting.restore(ior="a3, s0"), LEGAL),
    "SHAPED.TDEQUANT.4": (sorting.restore(sorting.BYTES, 8, 3), LEGAL),
    "SHAPED.TDEQUANT.5": (sorting.restore(binding=ONE.replace("<1>", "<2>")), LEGAL),
    "SHAPED.TSORT.1": (sorting.sort(ior="s1"), LEGAL),
    "SHAPED.TSORT.2": (sorting.sort(sorting.FLOATS, 65), LEGAL),
    "SHAPED.TSORT.3": (sorting.sort(binding=sorting.SORTED.replace("N<1>", "N<2>")), LEGAL),
    "SHAPED.TMRGSORT.1": (sorting.merge(ior="s1"), LEGAL),
    "SHAPED.TMRGSORT.2": (sorting.merge(sorting.EQUAL.format("U") + sorting.TALL), LEGAL),
    "SHAPED.TMRGSORT.3": (sorting.merge(sorting.UNSORTED, dtype="FP16"), LEGAL),
    "SHAPED.TPART.1": (layout.union(datr=Z), LEGAL),
    "SHAPED.TPART.2": (layout.union(layout.S + SHORT, 4, 3), LEGAL),
    "SHAPED.TPART.3": (layout.union(layout.TWO, 4, 5), LEGAL),
    "SHAPED.TGATHER.1": (indexed.take(indexed.DATA + indexed.COLUMN, 3, 4, 4), LEGAL),
    "SHAPED.TGATHER.2": (indexed.take(load("S32", 3, 4, "->T<1>", wide=4) + indexed.COLUMN), LEGAL),
    "SHAPED.TGATHER.3": (indexed.take(FAR), LEGAL),
    "SHAPED.TSCATTER.1": (indexed.put(load("S32", 4, 3, "->T<1>", wide=4) + indexed.COLUMN), LEGAL),
    "SHAPED.TSCATTER.2": (indexed.put(indexed.DATA + indexed.COLUMN, 3, 4, 4), LEGAL),
    "SHAPED.TSCATTER.3": (indexed.put(indexed.DATA + indexed.COLUMN, 4, 3), LEGAL),
    "SHAPED.TSCATTER.4": (indexed.put(indexed.made("->T<1>") + indexed.made("->U<1>")), LEGAL),
}

SHAPED: dict[str, Own] = {
    name: Own(text, fault, text.count("BSTART") - 1) for name, (text, fault) in (_LEGAL | _VIOLATED).items()
}
SHAPED["SHAPED.1"] = Own(f"BSTART.SFU TTRI, S32; B.IOR a0; {NONE.replace('0001', '0000')}; BSTOP", "none", 0)
