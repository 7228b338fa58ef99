"""The three levels of IR and the image: text that round-trips, locations on everything, code that does not grow."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from samples import BF16
from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

import ptoc
from ptoc.backend import assemble, disassemble
from ptoc.dialects import make_context
from ptoc.launch import BASE_ADDRESS, address_of
from ptoc.passes.abi import array_offsets
from ptoc.passes.convert_tile_to_pto import memory_bytes
from ptoc.passes.pipeline import run_stage
from ptoc.passes.rewriting import the_function
from ptoc.program import Program

LEVELS = ("nd", "tile", "pto")


@dataclass(frozen=True)
class Case:
    """A kernel and the specifications of its arrays: shape, dtype and elements between rows."""

    function: Callable[..., Any]
    arrays: tuple[tuple[tuple[int, ...], Any, int], ...]

    def compile(self) -> Program:
        return ptoc.jit(self.function).compile(*[_spec(*a) for a in self.arrays])


def _spec(shape: tuple[int, ...], dtype: Any, gap: int) -> ptoc.ArraySpec:
    item = np.dtype(dtype).itemsize
    strides = ((shape[1] + gap) * item, item) if len(shape) == 2 else (item,)
    return ptoc.spec(shape, dtype, strides)


def accumulate(a: Any, b: Any, c: Any) -> Any:
    return c + np.matmul(a, b, dtype=c.dtype)


def layer(a: Any, b: Any, c: Any) -> Any:
    return np.maximum(c + np.matmul(a, b, dtype=np.float32), 0).astype(np.float16)


def layers(x: Any, *weights: Any) -> Any:
    for w in weights:
        x = np.maximum(np.matmul(x, w, dtype=np.float32), 0).astype(np.float16)
    return x


def masks(x: Any, y: Any, mask: Any) -> Any:
    x[x > y] = y[x > y]
    np.copyto(y, 7, where=mask)
    return np.where(x < 3, x, y), x == y


def scatter(x: Any, places: Any, src: Any) -> None:
    ptoc.scatter(x, places, src, src > 0)


def in_place(x: Any, y: Any) -> Any:
    x += np.matmul(x, y)
    return x, np.matmul(y, x)


def maxima(a: Any, b: Any, before: Any) -> Any:
    rows, cols = a.shape[0], b.shape[1]
    y = np.matmul(a, b, dtype=np.float32)
    return y, np.maximum(before, y.max(axis=1)), y.reshape(rows, cols // 8, 8).max(axis=2)


def codes(a: Any, b: Any) -> Any:
    return ptoc.hifloat8(np.matmul(a, b, dtype=np.float32) * 0.5)


def nibbles(a: Any, b: Any) -> Any:
    return np.clip(np.rint(np.matmul(a, b, dtype=np.int32) * 0.125), -8, 7).astype(ml_dtypes.int4)


def copy(x: Any) -> Any:
    return x.copy()


F16, F32 = "float16", "float32"
CASES = {
    "one element": Case(accumulate, (((1, 1), F16, 0), ((1, 1), F16, 0), ((1, 1), F32, 0))),
    "ragged": Case(accumulate, (((129, 65), F16, 0), ((65, 33), F16, 0), ((129, 33), F32, 0))),
    "strided": Case(accumulate, (((129, 300), F16, 3), ((300, 200), F16, 1), ((129, 200), F32, 5))),
    "mixed types": Case(accumulate, (((70, 300), F16, 0), ((300, 600), BF16, 0), ((600,), F32, 0))),
    "integers": Case(accumulate, (((70, 300), "int8", 0), ((300, 40), "int16", 0), ((70, 40), "int32", 0))),
    "epilogue": Case(layer, (((300, 130), F16, 0), ((130, 70), F16, 0), ((70,), F32, 0))),
    "maxima": Case(maxima, (((300, 130), F16, 0), ((130, 272), F16, 0), ((300,), F32, 0))),
    "HiF8": Case(codes, (((129, 65), F16, 0), ((65, 33), F16, 0))),
    "int4": Case(nibbles, (((129, 65), "int8", 0), ((65, 33), "int8", 0))),
    "many arrays": Case(layers, (((40, 50), F16, 0), *((((50, 50), F16, 0),) * 9))),
    "masks": Case(masks, (((33, 70), "int16", 0), ((33, 70), "int16", 4), ((33, 70), "bool", 0))),
    "long masks": Case(masks, (((3001,), "float64", 0), ((3001,), "float64", 0), ((3001,), "bool", 0))),
    "scatter": Case(scatter, (((100, 100), F32, 1), ((33, 70), "int64", 0), ((33, 70), F32, 0))),
    "wide scatter": Case(scatter, (((100,), F32, 0), ((9, 5000), "uint32", 0), ((9, 5000), F32, 2))),
    "in place": Case(in_place, (((70, 70), F32, 0), ((70, 70), F32, 0))),
    "copy": Case(copy, (((70000,), "uint8", 0),)),
}

case_names = pytest.mark.parametrize("name", CASES)
level_names = pytest.mark.parametrize("level", LEVELS)

_programs: dict[str, Program] = {}


def program_of(name: str) -> Program:
    if name not in _programs:
        _programs[name] = CASES[name].compile()
    return _programs[name]


def parsed(text: str) -> ModuleOp:
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def text_of(module: ModuleOp, *, locations: bool) -> str:
    out = StringIO()
    Printer(out, print_debuginfo=locations).print_op(module)
    return out.getvalue() + "\n"


@case_names
@level_names
@pytest.mark.parametrize("locations", [False, True])
def test_text_round_trips(name: str, level: Any, locations: bool) -> None:
    program = program_of(name)
    text = program.ir(level, locations=locations)
    module = parsed(text)
    assert text_of(module, locations=locations) == text
    assert module.is_structurally_equivalent(program.module(level))
    if locations:
        pairs = list(zip(module.walk(), program.module(level).walk(), strict=True))
        # The end of a loop that carries nothing is not printed.
        written = [(left, right) for left, right in pairs if not (isinstance(left, scf.YieldOp) and not left.operands)]
        assert all(left.location == right.location for left, right in written)


@case_names
@level_names
def test_every_operation_comes_from_a_line_of_the_kernel(name: str, level: Any) -> None:
    lines, first = inspect.getsourcelines(CASES[name].function)
    for op in program_of(name).module(level).walk():
        where = op.location
        assert isinstance(where, FileLineColLoc), f"{op.name} has no location"
        assert where.filename.data == __file__
        assert first <= where.line.data < first + len(lines), op.name


@case_names
def test_every_bundle_knows_its_line(name: str) -> None:
    program = program_of(name)
    lines, first = inspect.getsourcelines(CASES[name].function)
    rows = [row for row in program.encoded.lines if row.line]
    assert rows and all(row.file == __file__ and first <= row.line < first + len(lines) for row in rows)


@case_names
@pytest.mark.parametrize("locations", [False, True])
def test_stages_continue_from_parsed_text(name: str, locations: bool) -> None:
    """What is printed is all there is: each stage gives the same from its predecessor's text."""
    program = program_of(name)
    for before, after in (("nd", "tile"), ("tile", "pto")):
        module = parsed(program.ir(before, locations=locations))
        run_stage(make_context(), module, after)
        assert text_of(module, locations=locations) == program.ir(after, locations=locations)


@case_names
def test_assembly_is_the_image(name: str) -> None:
    program = program_of(name)
    image = program.image()
    assert assemble(program.asm()) == image
    assert assemble(program.asm(), raw=True) == program.code()


@case_names
def test_disassembly_assembles_to_the_image(name: str) -> None:
    image = program_of(name).image()
    assert assemble(disassemble(image)) == image
    assert assemble(disassemble(image, source=True)) == image


@case_names
def test_arrays_stand_where_code_reaches_them_from_the_first(name: str) -> None:
    """The launcher places them by the bytes of the arrays, the compiler by the types of the arguments."""
    program = program_of(name)
    sizes = [memory_bytes(a.type) for a in the_function(program.module("tile")).body.block.args]  # type: ignore[arg-type]
    shapes = [spec.shape for spec in program.launch_specs]
    starts = [address_of(program, n, [0] * len(shape)) for n, shape in enumerate(shapes)]
    assert starts == [BASE_ADDRESS + offset for offset in array_offsets(sizes)]


@case_names
def test_compiling_again_gives_the_same(name: str) -> None:
    first, second = program_of(name), CASES[name].compile()
    assert first is not second
    assert first.image() == second.image()
    assert first.asm() == second.asm()
    assert all(first.ir(level, locations=True) == second.ir(level, locations=True) for level in LEVELS)


def test_another_process_gives_the_same_image() -> None:
    """Whatever the order of hashes."""
    code = (
        "import hashlib, test_levels\n"
        "print([hashlib.sha256(c.compile().image()).hexdigest() for c in test_levels.CASES.values()])"
    )
    outputs = set()
    for seed in ("1", "2"):
        path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        outputs.add(
            subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout
        )
    assert len(outputs) == 1


def test_a_copy_of_a_module_may_be_changed() -> None:
    program = program_of("ragged")
    text = program.ir("tile")
    module = program.module("tile")
    for op in list(module.body.block.ops):
        op.detach()
    assert program.ir("tile") == text


def test_an_unknown_level_is_an_error() -> None:
    with pytest.raises(ptoc.ArgumentError, match="no IR level is called 'llvm'"):
        program_of("ragged").ir("llvm")  # type: ignore[arg-type]


FAMILIES = {F16: F32, BF16: F32, F32: F32, "int8": "int32", "uint8": "uint32"}
MATMULS = [(accumulate, operands) for operands in FAMILIES] + [(layer, F16), (layer, F32)]


def code_size(kernel: Callable[..., Any], operands: Any, n: int) -> int:
    shapes = (((n, n), operands, 0), ((n, n), operands, 0), ((n, n), FAMILIES[operands], 0))
    return len(Case(kernel, shapes).compile().code())


@pytest.mark.parametrize(("kernel", "operands"), MATMULS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_code_does_not_grow_with_the_problem(kernel: Callable[..., Any], operands: Any) -> None:
    small, large = (code_size(kernel, operands, n) for n in (512, 2048))
    assert 0.9 * small <= large <= 1.1 * small


@pytest.mark.parametrize("n", [8192, 10007, 65535])
def test_code_is_bounded(n: int) -> None:
    """Ragged edges in all directions have code of their own, each a fixed amount."""
    assert code_size(accumulate, F16, n) <= 8192


@pytest.mark.parametrize("kernel", [masks, scatter], ids=lambda f: f.__name__)
def test_masked_code_does_not_grow_with_the_problem(kernel: Callable[..., Any]) -> None:
    sizes = []
    for n in (512, 2048):
        arrays = ((n, n), "int32", 1), ((n, n), "int32", 1), ((n, n), "bool" if kernel is masks else "int32", 1)
        sizes.append(len(Case(kernel, arrays).compile().code()))
    assert max(sizes) <= 1.1 * min(sizes), sizes
