"""``ptoc as``, ``dis`` and ``sim``: images in and out."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from kernel_files import LINEAR, PAIR, Result, Run, Write

from ptoc.isa.image import Image, pack

INPUTS = "\ndef inputs():\n    return np.float32([1, 0, 2]), np.float32([3, 4, 1])\n"


@pytest.fixture
def image(ptoc: Run, write: Write) -> str:
    """An image of ``pick`` for three elements; a, b and the result are found in a0 to a2."""
    assert ptoc("compile", write(PAIR + INPUTS, "pair.py") + ":pick", "--emit", "image", "-o", "pick.img").status == 0
    return "pick.img"


def launch(ptoc: Run, image: str, *more: str) -> Result:
    np.float32([1, 0, 2]).tofile("a.bin")
    np.float32([3, 4, 1]).tofile("b.bin")
    maps = ("--map", "0x1000=a.bin", "--map", "0x2000=b.bin", "--memory", "64")
    return ptoc("sim", image, *maps, "--gpr", "a0=0x1000", "--gpr", "a1=0x2000", "--gpr", "a2=0", *more)


def test_disassembly_assembles_to_the_same_image(image: str, ptoc: Run) -> None:
    assert ptoc("dis", image, "-o", "pick.s").status == 0
    assert ptoc("as", "pick.s", "-o", "again.img").status == 0
    assert Path("again.img").read_bytes() == Path(image).read_bytes()


def test_source_lines_stand_beside_the_code(image: str, ptoc: Run) -> None:
    text = ptoc("dis", "--source", image).out
    assert "// pair.py:12: return np.where(a > b, a, b)" in text
    assert ptoc("as", "-o", "again.img", "pick.s").status == 1


def test_bare_code_needs_to_be_called_so(image: str, ptoc: Run) -> None:
    assert ptoc("dis", image, "-o", "pick.s").status == 0
    assert ptoc("as", "--raw", "pick.s", "-o", "pick.bin").status == 0
    assert "BSTART.TLOAD" in ptoc("dis", "--raw", "pick.bin").out
    for arguments, first, last in (
        (("pick.bin",), "pick.bin is no image", "help: --raw takes it as bare code"),
        (("--raw", image), "pick.img is an image", "help: leave --raw out"),
    ):
        lines = ptoc("dis", *arguments).err.splitlines()
        assert (lines[0], lines[2]) == (first, last)
        assert lines[1].startswith("rule: assembly: ")


def test_no_bytes_are_written_to_a_terminal(image: str, ptoc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ptoc("dis", image, "-o", "pick.s").status == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for arguments in (("as", "pick.s"), ("as", "--raw", "pick.s", "-o", "-"), ("sim", image, "--dump", "0:4=-")):
        result = ptoc(*arguments)
        assert (result.status, result.out) == (2, "")
        assert "is no text for a terminal; write it to a file with -" in result.err


def test_assembly_errors_are_listed_with_their_lines(ptoc: Run, write: Write) -> None:
    result = ptoc("as", write("nonsense a0\nBSTOP\nadd a0, q9, ->a1\n", "bad.s"), "-o", "bad.img")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("bad.s:1:1: no instruction is called 'nonsense'")
    assert "bad.s:3:" in result.err
    assert not Path("bad.img").exists()


def test_an_image_is_not_assembly(image: str, ptoc: Run, write: Write) -> None:
    write(b"\xff\xfe", "noise.s")
    result = ptoc("as", "noise.s", "-o", "x")
    assert (result.status, result.err.splitlines()[0]) == (1, "noise.s is not text in UTF-8")


@pytest.mark.parametrize("command", ["dis", "sim"])
def test_a_damaged_image_is_one_message(command: str, image: str, ptoc: Run, write: Write) -> None:
    write(Path(image).read_bytes()[:-100], "cut.img")
    result = ptoc(command, "cut.img")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("cut.img: the section table reaches beyond the end of the file\nrule: assembly: ")


@pytest.mark.parametrize("command", ["dis", "sim"])
def test_an_image_of_an_unknown_revision_is_one_message(command: str, ptoc: Run, write: Write) -> None:
    write(pack(Image(b"\1\0\0\0", isa="lost")), "lost.img")
    result = ptoc(command, "lost.img")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("lost.img: no ISA revision is called 'lost', known: ")


def test_a_launch_by_hand_computes_the_result(image: str, ptoc: Run) -> None:
    result = launch(ptoc, image, "--dump", "0:12=out.bin", "--dump", "0x0:4")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("halted after ")
    assert "TCMP" in result.out
    assert np.fromfile("out.bin", np.float32).tolist() == [3, 4, 2]
    assert result.out.endswith("memory at 0x0\n  00000000  00 00 40 40\n")


def test_files_can_be_put_into_the_memory_below_them(image: str, ptoc: Run) -> None:
    np.float32([1, 0, 2, 0, 3, 4, 1, 0]).tofile("both.bin")
    maps = ("--memory", "0x100", "--map", "0x40=both.bin")
    result = ptoc("sim", image, *maps, "--gpr", "a0=0x40", "--gpr", "a1=0x50", "--dump", "0:12=out.bin")
    assert result.status == 0
    assert np.fromfile("out.bin", np.float32).tolist() == [3, 4, 2]


def test_a_fault_is_a_finding_with_bundle_and_source_line(image: str, ptoc: Run) -> None:
    result = launch(ptoc, image, "--gpr", "a1=0x9000")
    assert (result.status, result.err) == (1, "")
    assert result.out.startswith("fault: DataPage at 0x9000 in bundle 3")
    assert re.search(r"\[pair.py:12\]\n   12 \| .+\n      \| +\^+\n    BSTART.TLOAD FP32\n", result.out)
    assert "counters" in result.out


def test_a_register_can_be_set_on_one_pe(image: str, ptoc: Run) -> None:
    assert launch(ptoc, image, "--gpr", "a1=0x9000@3").status == 0
    assert launch(ptoc, image, "--gpr", "a1=0x9000@0").status == 1


def test_a_run_without_end_stops_on_request(ptoc: Run, write: Write) -> None:
    assert ptoc("as", write("L: BSTART DIRECT, L\nBSTOP\n", "loop.s"), "-o", "loop.img").status == 0
    result = ptoc("sim", "loop.img", "--max-steps", "100")
    assert result.status == 1
    assert result.out.startswith("stopped by --max-steps after 100 instructions\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gpr", "q1=4"], "no register is called q1"),
        (["--gpr", "a0"], "is not NAME=VALUE"),
        (["--gpr", "a0=1@4"], "is not NAME=VALUE"),
        (["--gpr", "a0=0xzz"], "'0xzz' is not a number"),
        (["--map", "a.bin"], "is not ADDRESS=FILE"),
        (["--map=-4=a.bin"], "is negative"),
        (["--dump", "16"], "is not ADDRESS:LENGTH"),
        (["--memory", "much"], "'much' is not a number"),
    ],
)
def test_a_malformed_option_is_misuse(arguments: list[str], message: str, image: str, ptoc: Run) -> None:
    result = ptoc("sim", image, *arguments)
    assert (result.status, result.out) == (2, "")
    assert message in result.err


def test_regions_that_overlap_are_an_error(image: str, ptoc: Run) -> None:
    result = launch(ptoc, image, "--map", "0xffc=b.bin")
    assert result.status == 1 and result.err.startswith("the region at 0xffc overlaps another one\nrule: ptoc-sim: ")


def test_unmapped_memory_cannot_be_dumped(image: str, ptoc: Run) -> None:
    result = launch(ptoc, image, "--dump", "0x5000:4")
    assert result.status == 1
    assert result.err.startswith("cannot dump 0x5000:4: address 0x5000 is not mapped\nrule: ptoc-sim: ")


def test_constants_are_mapped_behind_everything_else(ptoc: Run, write: Write) -> None:
    text = PAIR + "\ndef inputs():\n    return np.float32([1, 0, 2]), np.float32([3, 4, 1])\n"
    assert ptoc("compile", write(text, "pair.py") + ":keep", "--emit", "image", "-o", "keep.img").status == 0
    np.float32([1, 0, 2]).tofile("src.bin")
    np.float32([3, 4, 1]).tofile("dst.bin")
    maps = ("--map", "0x100000=src.bin", "--map", "0x200000=dst.bin")
    gprs = ("--gpr", "a0=0x100000", "--gpr", "a1=0x200000")
    assert ptoc("sim", "keep.img", *maps, *gprs, "--dump", "0x200000:12=out.bin").status == 0
    assert np.fromfile("out.bin", np.float32).tolist() == [1, 4, 2]


def test_the_linear_kernel_computes_from_assembly(ptoc: Run, write: Write) -> None:
    assert ptoc("compile", write(LINEAR), "-o", "linear.s").status == 0
    assert ptoc("as", "linear.s", "-o", "linear.img").status == 0
    x, w, c = np.ones((5, 9), np.float16), np.full((9, 3), 2, np.float16), np.zeros((5, 3), np.float32)
    options = []
    for number, array in enumerate((x, w, c, c)):
        array.tofile(f"{number}.bin")
        options += ["--map", f"0x{number + 1}000={number}.bin", "--gpr", f"a{number}=0x{number + 1}000"]
    assert ptoc("sim", "linear.img", *options, "--dump", "0x4000:60=out.bin").status == 0
    assert np.fromfile("out.bin", np.float32).tolist() == [18] * 15
