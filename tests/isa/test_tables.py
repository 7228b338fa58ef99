"""Data types, layouts and registers against an independent rendering of the same facts."""

import json
import pathlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoc.isa import dtypes, layouts, postprocess, registers

DATA = pathlib.Path(__file__).parent / "data"
TYPES = json.loads((DATA / "dtypes.json").read_text())["types"]
SHAPES = json.loads((DATA / "cube_offsets.json").read_text())["entries"]


def test_every_type_is_listed_once():
    assert [t["name"] for t in TYPES] == [t.name for t in dtypes.ALL]


@pytest.mark.parametrize("wanted", TYPES, ids=lambda t: t["name"])
def test_type(wanted):
    t = dtypes.BY_NAME[wanted["name"]]
    assert (t.code, t.bits, t.numeric_class, t.packed) == (
        wanted["code"],
        wanted["bits"],
        wanted["numeric_class"],
        wanted["packed_two_per_byte"],
    )
    assert (t.pad_max, t.pad_min) == (int(wanted["pad_max"], 16), int(wanted["pad_min"], 16))
    assert t.must_be_zero == int(wanted["must_be_zero_mask"] or "0", 16)
    if t.numpy_name:
        assert wanted["numpy"].rpartition(".")[2] == t.numpy_name
    else:
        assert wanted["numpy"] is None or "(" in wanted["numpy"], "an equivalent with a condition is none"
    accepts = wanted["accepts"]
    assert (t in dtypes.CUBE_TYPES) == accepts["transfer_cube"]
    assert (t in dtypes.SCATTER_TYPES) == accepts["mscatter_data"]
    assert (t in dtypes.SCATTER_INDEX_TYPES) == accepts["mscatter_index"]
    assert (t in dtypes.COMPARE_TYPES) == accepts["tcmp"]
    assert (t in dtypes.MATMUL_TYPES) == accepts["matmul_ab"]
    if accepts["matmul_ab"]:
        assert dtypes.accumulator(t, t).name == wanted["matmul_accumulator_type"]


def test_matmul_classes_do_not_mix():
    assert dtypes.accumulator(dtypes.U8, dtypes.S8) is None
    assert dtypes.accumulator(dtypes.FP16, dtypes.S8) is None
    assert dtypes.accumulator(dtypes.FP64, dtypes.FP64) is None
    assert dtypes.accumulator(dtypes.FP16, dtypes.BF16) is dtypes.FP32


@pytest.mark.parametrize("t", [t for t in dtypes.ALL if t.numpy_name], ids=str)
def test_numpy_dtype_and_back(t):
    assert dtypes.from_numpy(t.numpy) is t


@pytest.mark.parametrize("name", ["complex64", ">f4", "datetime64[s]", "U3"])
def test_no_pto_type(name):
    with pytest.raises(TypeError, match="no PTO data type"):
        dtypes.from_numpy(np.dtype(name))


@pytest.mark.parametrize("wanted", SHAPES, ids=lambda e: "{layout}-{bits}-{valid_rows}x{valid_cols}".format(**e))
def test_cube_geometry(wanted):
    g = layouts.cube_geometry(wanted["layout"], wanted["bits"], wanted["valid_rows"], wanted["valid_cols"])
    assert (g.cell_rows, g.cell_cols) == (wanted["cell_rows"], wanted["cell_cols"])
    assert (g.rows, g.cols) == (wanted["storage_rows"], wanted["storage_cols"])
    assert (g.k_repeat, g.n_repeat, g.cells) == (wanted["k_repeat"], wanted["n_repeat"], wanted["cells"])
    assert g.storage_bytes == wanted["storage_bytes"]
    index = layouts.cube_index(g.layout, g.bits, g.rows, g.cols)
    assert (index[: wanted["valid_rows"], : wanted["valid_cols"]] == np.array(wanted["index"])).all()
    assert sorted(index.flat) == list(range(g.rows * g.cols))


@pytest.mark.parametrize("layout", ["NORM", "DN", "ZN", "NZ"])
@pytest.mark.parametrize("bits", [4, 8, 16, 32, 64])
def test_plain_layouts_are_bijections(layout, bits):
    index = layouts.plain_index(layout, bits, 32, 64)
    assert sorted(index.flat) == list(range(32 * 64))


def test_layouts_that_do_not_fit():
    with pytest.raises(ValueError, match="at most 16 rows"):
        layouts.cube_geometry(layouts.CUBE_M16, 16, 17, 4)
    with pytest.raises(ValueError, match="multiples of 16"):
        layouts.plain_index(layouts.ZN, 16, 8, 16)


@pytest.mark.parametrize("code", range(1, 13))
def test_size_codes(code):
    nbytes = registers.size_bytes(code)
    assert nbytes == 128 << (code - 1)
    assert [registers.size_code(n) for n in (nbytes, nbytes + 1)] == [code, code + 1]


def test_masks_and_selectors():
    assert [registers.PE_MODE[m] for m in registers.PE_MASKS] == list(range(8))
    assert [registers.prefix_mask(n) for n in range(1, 5)] == [0b0001, 0b0011, 0b0111, 0b1111]
    assert registers.mask_pes(0b0111) == (0, 1, 2)
    assert registers.tile_selector(3, 16) == 63
    with pytest.raises(ValueError, match="#17"):
        registers.tile_selector(0, 17)


@pytest.mark.parametrize(
    ("source", "result", "parameter", "shift", "code"),
    [
        (dtypes.FP32, dtypes.FP16, "", False, 1),
        (dtypes.FP32, dtypes.BF16, "", False, 16),
        (dtypes.U32, dtypes.U32, "", False, 0),
        (dtypes.FP32, dtypes.FP32, "scalar", False, 27),
        (dtypes.S32, dtypes.S16, "scalar", False, 19),
        (dtypes.S32, dtypes.S16, "scalar", True, 13),
        (dtypes.FP32, dtypes.E4M3, "vector", False, 37),
    ],
)
def test_conversions_by_what_they_convert(source, result, parameter, shift, code):
    assert postprocess.conversion(source, result, parameter, shift=shift).code == code


def test_there_is_no_conversion_of_unsigned_sums_or_without_parameters_to_integers():
    assert postprocess.conversion(dtypes.U32, dtypes.S8, "scalar") is None
    assert postprocess.conversion(dtypes.S32, dtypes.S8, "") is None


def test_parameter_words():
    """The words that the ISA's page on numerics lists."""
    assert postprocess.scale_word(1.0, 0, 0) == 0x3F80_0000
    assert postprocess.scale_word(2.0, -1, 9) == 0x3FE0_4000_0000
    assert postprocess.scale_word(0.5, 3, 9) == 0x60_3F00_0000
    assert postprocess.scale_word(2.0, -1, 5) == 0x3E0_4000_0000
    assert postprocess.scale_word(0.5, -7, 17) == 0x3F_FF20_3F00_0000
    assert (postprocess.shift_word(1), postprocess.shift_word(16)) == (0, 0xF_0000_0000)
    assert postprocess.slope_word(0.75) == 0x1_FA00


def test_numbers_that_no_word_holds():
    for scale in (0.1, 0.0, -1.0, 2.0**-127, 2.0**128, float("inf"), float("nan"), 1 + 2**-11):
        assert postprocess.fp19(scale) is None
        with pytest.raises(ValueError, match="no quantization word"):
            postprocess.scale_word(scale, 0, 9)
    for offset, width in ((256, 9), (-257, 9), (1, 0)):
        with pytest.raises(ValueError, match="no quantization word"):
            postprocess.scale_word(1.0, offset, width)
    for places in (0, 17):
        with pytest.raises(ValueError, match="1 to 16 places"):
            postprocess.shift_word(places)


def test_the_nearest_fp19():
    assert postprocess.nearest_fp19(0.1) == 0.0999755859375
    assert (postprocess.nearest_fp19(1e-40), postprocess.nearest_fp19(1e39)) == (2.0**-126, (2 - 2.0**-10) * 2.0**127)
    for value in (1e-30, 0.3, 1 / 3, 7e20):
        near = postprocess.nearest_fp19(value)
        code = postprocess.fp19(near)
        others = [struct.unpack("<f", struct.pack("<I", (code + step) << 13))[0] for step in (-1, 1)]
        assert all(abs(near - value) <= abs(other - value) for other in others)


@given(st.integers(1, 254), st.integers(0, 1023), st.sampled_from([0, 5, 9, 17]), st.data())
def test_words_hold_their_numbers(exponent: int, fraction: int, bits: int, data: st.DataObject) -> None:
    number = (1 + fraction / 1024) * 2.0 ** (exponent - 127)
    limits = postprocess.signed_range(bits) if bits else range(1)
    offset = data.draw(st.integers(limits.start, limits.stop - 1))
    word = postprocess.scale_word(number, offset, bits)
    assert postprocess.scale_of(word) == number
    assert postprocess.offset_of(word, bits) == offset
    assert postprocess.slope_of(postprocess.slope_word(number)) == number


def test_shift_words_hold_their_places() -> None:
    assert [postprocess.shift_of(postprocess.shift_word(n)) for n in postprocess.SHIFTS] == list(postprocess.SHIFTS)
