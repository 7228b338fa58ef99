"""Encoding and decoding come from one table; here it is held against itself and against worked words."""

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instructions

from ptoc.isa import encoding, operations
from ptoc.isa.encoding import (
    BY_KEY,
    FORMS,
    EncodingError,
    Form,
    decode,
    decode_word,
    make,
)

EXAMPLES = json.loads((Path(__file__).parent / "data" / "encodings_examples.json").read_text())
LEGAL = [e for e in EXAMPLES if not e["asm"].startswith(".word")]
ILLEGAL = [e for e in EXAMPLES if e["asm"].startswith(".word")]

# Fixed bits alone do not part these; the allowed field values do, for a reason.
PARTED_BY_VALUES = {
    ("B.IOT.S", "B.IOT.SD"): "SizeCode 0 makes the source form, a destination has 1..10",
    ("B.IOT.SS", "B.IOT.SSD"): "SizeCode 0 makes the source form, a destination has 1..10",
    ("C.BSTART.STD", "C.BSTOP"): "BrType 0 makes C.BSTOP, a start has 1, 5 or 7",
}


@pytest.mark.parametrize("form", FORMS, ids=str)
@settings(max_examples=20)
@given(st.data())
def test_every_form_round_trips(form: Form, data: st.DataObject) -> None:
    inst = data.draw(instructions(form))
    assert decode_word(inst.encode(), inst.length) == inst
    assert decode(b"\0\0" + inst.to_bytes(), 2) == inst
    assert make(inst.key, **{f.name: inst[f.name] for f in inst.form.fields}) == inst


@given(st.integers(0, 2**64 - 1), st.sampled_from([2, 4, 6, 8]))
def test_a_decoded_word_encodes_to_itself(word: int, length: int) -> None:
    word &= (1 << 8 * length) - 1
    inst = decode_word(word, length)
    assert inst is None or inst.encode() == word


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_form_is_well_made(form: Form) -> None:
    taken = 0
    for f in form.fields:
        assert f.bits & taken == 0, f"{f.name} overlaps another field"
        taken |= f.bits
    assert taken | form.mask == (1 << 8 * form.length) - 1
    assert taken & form.mask == 0
    assert form.match & ~form.mask == 0
    assert encoding.instruction_length(form.match & 0xFFFF, form.match >> 16 & 0xFFFF) == form.length


def test_no_two_forms_overlap() -> None:
    overlapping = {
        (min(a.key, b.key), max(a.key, b.key))
        for a, b in combinations(FORMS, 2)
        if a.length == b.length and not (a.match ^ b.match) & a.mask & b.mask
    }
    assert overlapping == set(PARTED_BY_VALUES)
    assert len(BY_KEY) == len(FORMS)
    for first, second in overlapping:
        a, b = BY_KEY[first], BY_KEY[second]
        for form, other in ((a, b), (b, a)):
            clash = [f for f in form.fields if f.allowed is not None and f.bits & other.mask]
            assert all(f.extract(other.match) not in (f.allowed or ()) for f in clash)


@pytest.mark.parametrize("example", LEGAL, ids=lambda e: e["asm"])
def test_worked_words(example: dict) -> None:
    data = bytes.fromhex(example["bytes"])
    words, offset = [], 0
    while offset < len(data):
        inst = decode(data, offset)
        assert inst is not None
        words.append(inst.encode())
        offset += inst.length
    assert words == [int(word, 16) for word in example["words"]]


@pytest.mark.parametrize("example", ILLEGAL, ids=lambda e: e["note"])
def test_illegal_words_do_not_decode(example: dict) -> None:
    assert decode(bytes.fromhex(example["bytes"]), 0) is None


@pytest.mark.parametrize(
    ("key", "fields", "message"),
    [
        ("B.DIM.LB0", {"uimm17": 1 << 17}, "uimm17 = 131072, must be 0..131071 (17 bits)"),
        ("B.DIM.LB0", {"RegSrc": 24}, "RegSrc = 24, must be one of 0..23"),
        ("B.IOT.D", {"SizeCode": 11}, "SizeCode = 11, must be one of 1..10"),
        ("B.IOT.D", {}, "SizeCode = 0, must be one of 1..10"),
        ("C.MOVI", {"simm5": -17}, "simm5 = -17, must be -16..15 (5 bits)"),
        ("ADDI", {"uimm12": -1}, "uimm12 = -1, must be 0..4095 (12 bits)"),
        ("FENTRY", {"SrcBegin": 10, "SrcEnd": 10, "uimm": 4}, "in multiples of 8"),
        ("B.DATR", {"DataType": 15}, "must be one of 0..14, 16..20, 24..28, 31"),
        ("BSTART.STD.FALL", {"simm17": 1}, "must be one of 0"),
        ("BSTOP", {"Size": 1}, "BSTOP has no field Size"),
        ("TLOAD", {}, "no instruction form is called TLOAD"),
    ],
)
def test_what_cannot_be_encoded(key: str, fields: dict[str, int], message: str) -> None:
    with pytest.raises(EncodingError) as error:
        make(key, **fields)
    assert message in str(error.value)


def test_fields_by_name() -> None:
    inst = make("B.DIM.LB2", RegSrc=23, uimm17=131071)
    assert (inst["RegSrc"], inst["uimm17"], inst.length) == (23, 131071, 4)
    assert inst.encode() == 0xFFFBAFC3
    assert hash(inst) == hash(make("B.DIM.LB2", RegSrc=23, uimm17=131071))
    assert repr(inst) == "<B.DIM.LB2, RegSrc=23, uimm17=131071>"
    with pytest.raises(KeyError):
        inst["LoopNest"]


@pytest.mark.parametrize(
    ("first", "second", "length"),
    [(0x0000, 0, 2), (0x0800, 0, 2), (0x1181, 0xD801, 4), (0xFFFE, 0, 6), (0x000F, 0, 8), (0x000C, 0, 2)],
)
def test_length_by_low_bits(first: int, second: int, length: int) -> None:
    assert encoding.instruction_length(first, second) == length


def test_length_of_a_fused_call() -> None:
    assert encoding.instruction_length(0x0082, 0x5096) == 4
    assert encoding.instruction_length(0x0082, 0x5097) == 2
    assert encoding.instruction_length(0x0084, 0x5096) == 2
    call = decode(bytes.fromhex("02019650"), 0)
    assert call is not None and (call.key, call["simm12"], call["uimm5"]) == ("BSTART.CALL", 16, 2)


def test_truncated_words_do_not_decode() -> None:
    data = make("L.BSTOP").to_bytes()
    assert decode(data, 0) == make("L.BSTOP")
    for size in range(len(data)):
        assert decode(data[:size], 0) is None
    assert decode(data, len(data)) is None
    assert decode(data, -2) is None


def test_selectors() -> None:
    assert len(operations.BY_SELECTOR) == len(operations.BY_NAME) == len(operations.ALL) == 109
    compare = operations.BY_SELECTOR["TEPL", 0, 13]
    assert (compare.name, compare.engine, compare.start) == ("TCMP", "VEC", "BSTART.VEC")
    assert operations.BY_NAME["TMATMUL_MX_ACC"].start == "BSTART.TMATMULMX.ACC"
    for op in operations.ALL:
        if op.family == "TEPL":
            start = make("BSTART.TEPL", DataType=1, Mode=op.mode, Function=op.function)
        else:
            start = make(op.start, DataType=1)
        assert operations.operation_of(start) == op
    assert operations.operation_of(make("BSTART.TEPL", Mode=0, Function=5)) is None
    assert operations.operation_of(make("BSTOP")) is None
