"""The program image is an ELF file that other tools read, and reading one survives any bytes."""

import io
from dataclasses import replace

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from ptoc import isa
from ptoc.isa.image import AccessRow, Image, ImageError, LineRow, Symbol, pack, unpack

IMAGE = Image(
    code=bytes(range(40)),
    data=b"constants",
    entry=2,
    symbols=(Symbol("start", "text", 2), Symbol("größe", "data", 8), Symbol("end", "text", 40)),
    lines=(LineRow(0, "a.py", 3, 7), LineRow(4, "b.py", 1, 0), LineRow(4, "a.py", 9, 1)),
    accesses=(AccessRow(0, 1), AccessRow(8, 0)),
)
PACKED = pack(IMAGE)

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
numbers = st.integers(0, 2**32 - 1)


@st.composite
def images(draw: st.DrawFn) -> Image:
    code, data = draw(st.binary(max_size=40)), draw(st.binary(max_size=20))
    offset = st.integers(0, len(code))
    text_symbols = st.builds(Symbol, names, st.just("text"), offset)
    data_symbols = st.builds(Symbol, names, st.just("data"), st.integers(0, len(data)))
    return Image(
        code,
        data,
        draw(offset) & ~1,
        tuple(draw(st.lists(text_symbols | data_symbols, max_size=4))),
        tuple(sorted(draw(st.lists(st.builds(LineRow, offset, names, numbers, numbers), max_size=4)))),
        tuple(sorted(draw(st.lists(st.builds(AccessRow, offset, numbers), max_size=4)))),
        draw(names),
    )


@given(images())
def test_round_trip(image: Image) -> None:
    packed = pack(image)
    assert unpack(packed) == image
    assert pack(unpack(packed)) == packed


def test_another_reader_agrees() -> None:
    elf = ELFFile(io.BytesIO(PACKED))
    assert (elf.elfclass, elf.little_endian, elf.header.e_entry) == (64, True, 2)
    assert [section.name for section in elf.iter_sections()] == [
        "", ".text", ".data", ".pto.lines", ".pto.access", ".pto.isa", ".symtab", ".strtab", ".shstrtab",
    ]  # fmt: skip
    assert elf.get_section_by_name(".text").data() == IMAGE.code
    assert elf.get_section_by_name(".data").data() == IMAGE.data
    assert elf.get_section_by_name(".pto.isa").data().decode() == isa.REVISION
    symbols = list(elf.get_section_by_name(".symtab").iter_symbols())[1:]
    assert [(s.name, s.entry.st_value, s.entry.st_shndx) for s in symbols] == [
        ("start", 2, 1),
        ("größe", 8, 2),
        ("end", 40, 1),
    ]


def readable(data: bytes) -> bool:
    """Whether the bytes are an image; anything but ImageError escapes."""
    try:
        image = unpack(data)
    except ImageError:
        return False
    assert unpack(pack(image)) == image
    return True


def test_every_truncation_is_told() -> None:
    assert readable(PACKED)
    assert not any(readable(PACKED[:size]) for size in range(len(PACKED)))


@given(st.lists(st.tuples(st.integers(0, len(PACKED) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_flipped_bytes_do_no_harm(flips: list[tuple[int, int]]) -> None:
    data = bytearray(PACKED)
    for position, value in flips:
        data[position] = value
    readable(bytes(data))


@pytest.mark.parametrize("value", [0x00, 0x01, 0x7F, 0x80, 0xFF])
def test_every_flipped_byte_does_no_harm(value: int) -> None:
    for position in range(len(PACKED)):
        readable(PACKED[:position] + bytes([value]) + PACKED[position + 1 :])


def test_unknown_sections_are_ignored_and_few() -> None:
    assert unpack(PACKED.replace(b".pto.lines", b".odd.lines")) == replace(IMAGE, lines=())
    many = PACKED[:60] + (1000).to_bytes(2, "little") + PACKED[62:] + bytes(64 * 1000)
    with pytest.raises(ImageError, match="the section table is malformed"):
        unpack(many)


@given(st.binary(max_size=200))
def test_noise_is_no_image(noise: bytes) -> None:
    assert not readable(noise)
    readable(PACKED[:64] + noise)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (Image(b"\0\0", entry=1), "entry 0x1 is odd"),
        (Image(b"\0\0", entry=4), "entry 0x4 is odd or outside"),
        (Image(b"", symbols=(Symbol("x", "data", 1),)), "symbol x is outside section data"),
        (Image(b"", symbols=(Symbol("x\0", "text", 0),)), "contains NUL"),
        (Image(b"\0\0", lines=(LineRow(4, "a", 1, 1),)), "source lines do not ascend or are outside"),
        (Image(b"\0\0", accesses=(AccessRow(2, 0), AccessRow(0, 0))), "accesses do not ascend"),
        (Image(b"\0\0", accesses=(AccessRow(0, -1),)), "does not fit in 32 bits"),
    ],
)
def test_what_cannot_be_written(image: Image, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        pack(image)
