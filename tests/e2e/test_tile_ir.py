"""IR that a person writes: any operation of the ISA in ``tile`` IR, compiled, run, and compared with numpy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import assert_same
from test_levels import CASES, program_of

import ptoc
from ptoc.execution import execute
from ptoc.isa.dtypes import DType
from ptoc.isa.operations import ALL, TileOperation
from ptoc.isa.operations import BY_NAME as OPERATIONS
from ptoc.isa.schema import SAME
from ptoc.tile_functions import Nonsense

ROWS, COLS = 8, 32
F32 = np.dtype("float32")

OF_ITS_OWN = {"TLOAD", "TSTORE", *(op.name for op in ALL if op.family == "CUBE")}
"""What other operations of the dialect stand for."""


def element(dtype: np.dtype[Any]) -> str:
    return {"f": "f", "i": "si", "u": "ui", "b": "ui"}[dtype.kind] + str(8 * dtype.itemsize)


def module(body: str, *arrays: np.dtype[Any], out: np.dtype[Any] = F32, cols: int = COLS) -> str:
    """A function on 8 x 32 arrays x0, x1, …: two rows on each PE as tiles %x0, … , of which ``body`` makes %result."""
    half = ROWS // 4
    lines, arguments = [], []
    for n, dtype in enumerate(arrays):
        kind, row = element(dtype), COLS * dtype.itemsize
        arguments.append(f"%m{n}: memref<{ROWS}x{COLS}x{kind}>")
        lines += [
            f"%row{n} = arith.constant {row} : index",
            f"%half{n} = arith.constant {half * row} : index",
            f"%at{n} = arith.muli %pe, %half{n} : index",
            f"%x{n} = tile.load %m{n}[%at{n}] stride %row{n} size %half, %cols pes 4"
            f" : memref<{ROWS}x{COLS}x{kind}> -> !tile.tile<{half}x{COLS}x{kind}, norm>",
        ]
    to = f"memref<{ROWS}x{cols}x{element(out)}>"
    arguments.append(f'%out: {to} {{ptoc.kind = "output"}}')
    return "\n".join(
        [
            f"func.func @kernel({', '.join(arguments)}) {{",
            f"%half = arith.constant {half} : index",
            f"%cols = arith.constant {COLS} : index",
            "%pe = tile.pe_id",
            *lines,
            body.replace("TILE", f"!tile.tile<{half}x{COLS}x{element(arrays[0])}, norm>"),
            f"%width = arith.constant {cols} : index",
            f"%row = arith.constant {cols * out.itemsize} : index",
            f"%both = arith.constant {half * cols * out.itemsize} : index",
            "%at = arith.muli %pe, %both : index",
            f"tile.store %result, %out[%at] stride %row size %half, %width pes 4"
            f" : !tile.tile<{half}x{cols}x{element(out)}, norm> -> {to}",
            "func.return",
            "}",
        ]
    )


def run(text: str, *arrays: Any) -> Any:
    """What the program computes: on the simulator, and, with and without names of tiles, where the IR is executed."""
    program = ptoc.compile_ir(text)
    (result,) = program.run(*arrays)
    for each in (text, program.ir("tile")):
        values = execute(parsed(each), program.specs, program.places, arrays)
        assert_same(values[-1].data, result, "executed IR")
    return result


def parsed(text: str) -> Any:
    from xdsl.parser import Parser

    from ptoc.dialects import make_context

    return Parser(make_context(), text).parse_module()


def numbers(dtype: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal((ROWS, COLS)).astype(dtype)
    return rng.integers(1, 100, (ROWS, COLS)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "uint16"])
@pytest.mark.parametrize(("name", "function"), [("TADD", np.add), ("TMUL", np.multiply), ("TMAX", np.maximum)])
def test_two_tiles(name: str, function: Any, dtype: str) -> None:
    x, y = numbers(dtype), numbers(dtype, 1)
    body = f'%result = tile.operation "{name}" %x0, %x1 size %cols, %half pes 4 : TILE, TILE -> TILE'
    assert_same(run(module(body, x.dtype, x.dtype, out=x.dtype), x, y), function(x, y))


def test_a_tile_and_a_scalar() -> None:
    x = numbers("int32")
    body = """%n = arith.constant -7 : index
    %result = tile.operation "TSUBS" %x0 size %cols, %half scalars %n pes 4 : TILE -> TILE"""
    assert_same(run(module(body, x.dtype, out=x.dtype), x), x + np.int32(7))


def test_a_selection() -> None:
    x, y = numbers(F32), numbers(F32, 1)
    body = """%p = tile.compare lt %x0, %x1 size %half, %cols pes 4 : TILE, TILE -> !tile.predicate<2x32>
    %result = tile.operation "TSEL" %p, %x0, %x1 size %cols, %half pes 4 : !tile.predicate<2x32>, TILE, TILE -> TILE"""
    assert_same(run(module(body, F32, F32), x, y), np.where(x < y, x, y))


def test_a_conversion() -> None:
    x = numbers(F32)
    body = """%result = tile.operation "TCVT" %x0 size %cols, %half pes 4 : TILE -> !tile.tile<2x32xf16, norm>"""
    assert_same(run(module(body, F32, out=np.dtype("float16")), x), x.astype(np.float16))


def test_a_row_is_reduced_and_repeated() -> None:
    """Softmax without the division: small integers make the sums exact."""
    x = numbers("int32").astype(F32)
    body = """%one = arith.constant 1 : index
    %most = tile.operation "TROWMAX" %x0 size %cols, %half pes 4 : TILE -> !tile.tile<2x1xf32, norm>
    %result = tile.operation "TROWEXPANDSUB" %x0, %most size %cols, %half pes 4
    : TILE, !tile.tile<2x1xf32, norm> -> TILE"""
    assert_same(run(module(body, F32), x), x - x.max(axis=1, keepdims=True))


PLAIN = ["norm", "dn", "zn", "nz"]


def blocks(body: str, out: tuple[int, int]) -> str:
    """A function on 64 x 32 floats, 16 rows on each PE, of which ``body`` makes a %result of the shape ``out``."""
    to = f"memref<{4 * out[0]}x{out[1]}xf32>"
    return f"""func.func @kernel(%m: memref<64x32xf32>, %out: {to} {{ptoc.kind = "output"}}) {{
    %rows = arith.constant 16 : index
    %cols = arith.constant 32 : index
    %wide = arith.constant 64 : index
    %row = arith.constant 128 : index
    %share = arith.constant 2048 : index
    %pe = tile.pe_id
    %at = arith.muli %pe, %share : index
    {body}
    %high = arith.constant {out[0]} : index
    %width = arith.constant {out[1]} : index
    %step = arith.constant {4 * out[1]} : index
    %part = arith.constant {4 * out[0] * out[1]} : index
    %to = arith.muli %pe, %part : index
    tile.store %result, %out[%to] stride %step size %high, %width pes 4
    : !tile.tile<{out[0]}x{out[1]}xf32, norm> -> {to}
    func.return
    }}"""


def loaded(layout: str, name: str = "x") -> str:
    return f"""%{name} = tile.load %m[%at] stride %row size %rows, %cols pes 4
    : memref<64x32xf32> -> !tile.tile<16x32xf32, {layout}>\n"""


def matrix() -> Any:
    return np.random.default_rng(3).standard_normal((64, 32)).astype(F32)


ENDS = [(a, b) for a in PLAIN for b in PLAIN if a != b or a == "norm"]
"""No code leads from another layout to itself."""


@pytest.mark.parametrize(("source", "between"), ENDS)
def test_a_conversion_between_layouts(source: str, between: str) -> None:
    body = (
        loaded(source)
        + f"""%i = tile.operation "TCVT" %x size %cols, %rows pes 4
    : !tile.tile<16x32xf32, {source}> -> !tile.tile<16x32xsi32, {between}>
    %result = tile.operation "TCVT" %i size %cols, %rows pes 4
    : !tile.tile<16x32xsi32, {between}> -> !tile.tile<16x32xf32, norm>"""
    )
    x = matrix() * 100
    assert_same(run(blocks(body, (16, 32)), x), x.astype(np.int32).astype(F32))


@pytest.mark.parametrize("left", PLAIN)
@pytest.mark.parametrize("right", PLAIN)
@pytest.mark.parametrize("result", PLAIN)
def test_sources_of_any_layout(left: str, right: str, result: str) -> None:
    body = (
        loaded(left)
        + loaded(right, "y")
        + f"""%z = tile.operation "TCONCAT" %x, %y size %wide, %rows pes 4
    : !tile.tile<16x32xf32, {left}>, !tile.tile<16x32xf32, {right}> -> !tile.tile<16x64xf32, {result}>
    %result = tile.operation "TTRANS" %z size %rows, %wide pes 4
    : !tile.tile<16x64xf32, {result}> -> !tile.tile<64x16xf32, norm>"""
    )
    x = matrix()
    wanted = np.concatenate([np.concatenate([part, part], axis=1).T for part in np.split(x, 4)])
    assert_same(run(blocks(body, (64, 16)), x), wanted)


@pytest.mark.parametrize("layout", [*PLAIN, "cube_m16"])
def test_a_copy_keeps_its_layout(layout: str) -> None:
    """Stored from CUBE directly, from the others through a transposition and back."""
    type_ = f"!tile.tile<16x32xf32, {layout}>"
    body = loaded(layout) + f'%y = tile.operation "TMOV" %x size %cols, %rows pes 4 : {type_} -> {type_}\n'
    if layout == "cube_m16":
        text = blocks(body.replace("%y", "%result"), (16, 32)).replace("!tile.tile<16x32xf32, norm>", type_)
    else:
        body += f"""%t = tile.operation "TTRANS" %y size %rows, %cols pes 4 : {type_} -> !tile.tile<32x16xf32, dn>
        %result = tile.operation "TTRANS" %t size %cols, %rows pes 4
        : !tile.tile<32x16xf32, dn> -> !tile.tile<16x32xf32, norm>"""
        text = blocks(body, (16, 32))
    x = matrix()
    assert_same(run(text, x), x)


def test_elements_are_gathered_into_a_column_major_tile() -> None:
    body = """%i = tile.load %m[%at] stride %row size %rows, %cols pes 4
    : memref<64x32xf32> -> !tile.tile<16x32xf32, dn>
    %n = tile.operation "TCVT" %i size %cols, %rows pes 4 : !tile.tile<16x32xf32, dn> -> !tile.tile<16x32xsi32, norm>
    %d = tile.operation "TCVT" %n size %cols, %rows pes 4
    : !tile.tile<16x32xsi32, norm> -> !tile.tile<16x32xsi32, dn>
    %zero = arith.constant 0 : index
    %g = tile.operation "MGATHER" %d at %m[%zero] size %cols, %rows pes 4
    : !tile.tile<16x32xsi32, dn> memory memref<64x32xf32> -> !tile.tile<16x32xf32, dn>
    %t = tile.operation "TTRANS" %g size %rows, %cols pes 4 : !tile.tile<16x32xf32, dn> -> !tile.tile<32x16xf32, norm>
    %result = tile.operation "TTRANS" %t size %cols, %rows pes 4
    : !tile.tile<32x16xf32, norm> -> !tile.tile<16x32xf32, norm>"""
    places = np.random.default_rng(5).permutation(64 * 32).reshape(64, 32)
    x = (4 * places).astype(F32)
    assert_same(run(blocks(body, (16, 32)), x), x.ravel()[places])


def test_elements_are_scattered() -> None:
    text = """func.func @kernel(%m: memref<64x32xf32>, %out: memref<64x32xf32> {ptoc.kind = "output"}) {
    %rows = arith.constant 16 : index
    %cols = arith.constant 32 : index
    %row = arith.constant 128 : index
    %share = arith.constant 2048 : index
    %zero = arith.constant 0 : index
    %pe = tile.pe_id
    %at = arith.muli %pe, %share : index
    %x = tile.load %m[%at] stride %row size %rows, %cols pes 4 : memref<64x32xf32> -> !tile.tile<16x32xf32, norm>
    %i = tile.operation "TCVT" %x size %cols, %rows pes 4 : !tile.tile<16x32xf32, norm> -> !tile.tile<16x32xsi32, norm>
    tile.operation "MSCATTER" %x, %i at %out[%zero] size %cols, %rows pes 4
    : !tile.tile<16x32xf32, norm>, !tile.tile<16x32xsi32, norm> memory memref<64x32xf32>
    func.return
    }"""
    places = 4 * np.random.default_rng(6).permutation(64 * 32)
    assert_same(run(text, places.reshape(64, 32).astype(F32)), 4 * np.arange(64 * 32, dtype=F32).reshape(64, 32))


def test_rows_are_sorted_with_their_places() -> None:
    body = (
        loaded("norm")
        + """%s, %i = tile.operation "TSORT" %x size %cols pes 4
    : !tile.tile<16x32xf32, norm> -> !tile.tile<16x32xf32, norm>, !tile.tile<16x32xui32, norm>
    %n = tile.operation "TCVT" %i size %cols, %rows pes 4
    : !tile.tile<16x32xui32, norm> -> !tile.tile<16x32xf32, norm>
    %result = tile.operation "TADD" %s, %n size %cols, %rows pes 4
    : !tile.tile<16x32xf32, norm>, !tile.tile<16x32xf32, norm> -> !tile.tile<16x32xf32, norm>"""
    )
    x = matrix()
    assert_same(run(blocks(body, (16, 32)), x), np.sort(x, axis=1) + x.argsort(axis=1).astype(F32))


def test_a_scalar_may_differ_between_pes() -> None:
    """Every PE takes the tile of the next one."""
    body = (
        loaded("norm")
        + """%one = arith.constant 1 : index
    %three = arith.constant 3 : index
    %next = arith.addi %pe, %one : index
    %peer = arith.andi %next, %three : index
    %result = tile.operation "GMOV" %x scalars %peer pes 4
    : !tile.tile<16x32xf32, norm> -> !tile.tile<16x32xf32, norm>"""
    )
    x = matrix()
    assert_same(run(blocks(body, (16, 32)), x), np.roll(x, -16, axis=0))


def test_what_is_a_fault_makes_no_sense_as_ir() -> None:
    text = module('%result = tile.operation "TABS" %x0 size %half, %cols pes 4 : TILE -> TILE', F32)
    program = ptoc.compile_ir(text)
    with pytest.raises(Nonsense, match="TileAllocation: 32 valid rows") as caught:
        execute(parsed(text), program.specs, program.places, [numbers(F32)])
    assert caught.value.op.name == "tile.operation"


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("level", ["nd", "tile"])
def test_the_ir_of_a_kernel_gives_the_same_code(name: str, level: Any) -> None:
    program = program_of(name)
    again = ptoc.compile_ir(program.ir(level))
    assert again.code() == program.code()
    assert again.kinds == program.kinds


def test_the_program_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ir.md").read_text(encoding="utf-8")
    text = page.partition("```mlir\n")[2].partition("```")[0]
    x, y = numbers(F32), numbers(F32, 1)
    exact = np.exp((x + y).astype(np.float64))
    assert np.abs(run(text, x, y) - exact).max() <= np.spacing(exact.max().astype(F32))


def test_a_fault_is_that_of_the_ir() -> None:
    """Not of the compiler: the size of the load is that of the tile turned round."""
    body = '%result = tile.operation "TABS" %x0 size %half, %cols pes 4 : TILE -> TILE'
    program = ptoc.compile_ir(module(body, F32))
    with pytest.raises(ptoc.ProgramFault) as caught:
        program.run(numbers(F32))
    assert caught.value.rule == "ir"
    assert "docs/isa/operations/" in str(caught.value)


@pytest.mark.parametrize("kind", ["3 : i64", '"foo"'])
def test_an_unknown_kind(kind: str) -> None:
    text = f"func.func @f(%a: memref<4xf32> {{ptoc.kind = {kind}}}) {{ func.return }}"
    with pytest.raises(ptoc.InputError, match=r"ptoc\.kind of argument 0") as caught:
        ptoc.compile_ir(text)
    assert caught.value.hint == "the kinds are input, inout, output, scratch"


def test_no_text() -> None:
    with pytest.raises(ptoc.ArgumentError, match="takes text, not NoneType"):
        ptoc.compile_ir(None)  # type: ignore[arg-type]


def test_the_program_of_ir_is_a_program() -> None:
    x = numbers(F32)
    body = '%result = tile.operation "TABS" %x0 size %cols, %half pes 4 : TILE -> TILE'
    program = ptoc.compile_ir(module(body, F32))
    assert program.names == ("m0",)
    assert program.stats["gm_bytes_read"] == program.stats["gm_bytes_written"] == x.nbytes
    assert program.stats["gm_lower_bound_bytes"] == 2 * x.nbytes
    assert "BSTART.VEC TABS, FP32" in program.asm()
    with pytest.raises(ptoc.ArgumentError, match="the levels are tile and pto"):
        program.ir("nd")


BEHIND = 'func.func @f(%a: memref<4xf32> {ptoc.kind = "output"}, %b: memref<4xf32>) { func.return }'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func", "expect symbol name"),
        ("builtin.module {}", "one function"),
        (BEHIND, "behind an output"),
        ("func.func @f(%x: !tile.tile<4x8xf32, norm>) { func.return }", "argument 0 is !tile.tile<4x8xf32, norm>"),
        ("func.func @f(%x: !tile.tile<4x6xf32, norm>) { func.return }", "power-of-two"),
    ],
)
def test_what_is_no_program(text: str, message: str) -> None:
    with pytest.raises(ptoc.InputError, match=message) as caught:
        ptoc.compile_ir(text)
    assert caught.value.hint


TYPES = """func.func @f(
    %x: memref<4x8xf32>,
    %t: !tile.tile<4x6xf32, norm>) {
  func.return
}"""
VERIFIES = """func.func @f(%m: memref<4x8xf32>) {
  %n = tile.pe_id
  %x = tile.operation "TEXPANDS" size %n, %n pes 1 -> !tile.tile<4x8xf32, norm>
  %y = tile.operation "TABS" %x pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf16, norm>
  func.return
}"""


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("builtin.module {\n  func.func @f() {\n  tile.nothing\n  func.return\n}}", 4, 3),
        (TYPES, 1, 1),
        (VERIFIES, 4, 3),
        ("// ä\nfunc.func @f(%x: index) { func.return }", 2, 1),
        ('func.func @f() attributes {a = "ä"} { tile.nothing }', 1, 53),
    ],
)
def test_errors_name_the_line_of_the_ir(text: str, line: int, column: int) -> None:
    with pytest.raises(ptoc.InputError) as caught:
        ptoc.compile_ir(text, file="my.mlir")
    assert str(caught.value).startswith(f"my.mlir:{line}:{column}: ")
    assert text.splitlines()[line - 1].strip() in str(caught.value)


def test_faults_name_the_line_of_the_ir() -> None:
    body = '%result = tile.operation "TABS" %x0 size %half, %cols pes 4 : TILE -> TILE'
    text = module(body, F32)
    line = 1 + text[: text.index("%result")].count("\n")
    with pytest.raises(ptoc.ProgramFault) as caught:
        ptoc.compile_ir(text).run(numbers(F32))
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == ("<ir>", line)


def test_a_place_of_its_own_stays() -> None:
    text = 'func.func @f(%x: index) { func.return loc("kernel.py":7:9) } loc("kernel.py":6:1)'
    with pytest.raises(ptoc.InputError, match=r"kernel\.py:6:1: argument 0 is index"):
        ptoc.compile_ir(text)


# -- all operations ---------------------------------------------------------------------------------


def operand_type(role: str, op: TileOperation, dtype: DType) -> str:
    if role in ("predicate", "mask"):
        return "!tile.predicate<4x8>"
    if role in ("byte displacements", "row indices"):
        dtype = min(op.schema.index_types, key=lambda each: each.code)
    return tile_type(dtype)


def tile_type(dtype: DType) -> str:
    return f"!tile.tile<4x8x{name_of(dtype)}, norm>"


def name_of(dtype: DType) -> str:
    from ptoc.dialects.attributes import element_type

    return str(element_type(dtype))


def module_of(op: TileOperation) -> str:
    """The operation as its schema says, of tiles that are arguments of no launch: only for its bundle."""
    schema = op.schema
    dtype = min((t for t in schema.types if t.name in ("FP32", "S32", "U32", "S8")), key=lambda t: t.code)
    sources = [operand_type(role, op, dtype) for role in schema.sources]
    results = [tile_type(dtype) for _ in schema.destinations]
    if results and schema.result.startswith("predicate"):
        results[0] = "!tile.predicate<4x8>"
    in_memory = op.family == "TLSU" and op.name not in ("TMOV", "GMOV")
    scalars = schema.scalars[1 if in_memory else 0 :]
    sizes = [each for each in schema.dimensions[:2] if each is not None]
    parts = [f'tile.operation "{op.name}"', ", ".join(f"%t{n}" for n in range(len(sources)))]
    parts += ["at %m[%n]"] * in_memory
    parts += [f"size {', '.join(['%n'] * len(sizes))}"] if sizes else []
    parts += [f"scalars {', '.join(['%n'] * len(scalars))}"] if scalars else []
    slots = ", ".join(f"#tile.slot<T {n + 1}>" for n in range(len(sources)))
    parts += [f"pes 4{f' slots [{slots}]' if sources else ''}", *["into U"] * bool(results)]
    parts += ["beside [#tile<hand M>]"] * (len(results) > 1)
    parts += [f": {', '.join(sources)}"] * bool(sources) + [f"memory memref<64x{name_of(dtype)}>"] * in_memory
    parts += [f"-> {', '.join(results)}"] * bool(results)
    names = f"{', '.join(f'%r{n}' for n in range(len(results)))} = " if results else ""
    arguments = [f"%m: memref<64x{name_of(dtype)}>", "%n: index", *(f"%t{n}: {t}" for n, t in enumerate(sources))]
    return f"func.func @f({', '.join(arguments)}) {{\n{names}{' '.join(parts)}\nfunc.return\n}}"


def bundle_of(op: TileOperation) -> list[Any]:
    from xdsl.parser import Parser

    from ptoc.dialects import make_context, tile
    from ptoc.passes import bundles

    parsed = Parser(make_context(), module_of(op)).parse_module()
    parsed.verify()
    [found] = [each for each in parsed.walk() if isinstance(each, tile.OperationOp)]
    dims = [bundles.dimension(lb, 4, None) for lb in range(len(found.size))]
    registers = [2] * ((found.array is not None) + len(found.scalars))
    return bundles.operation(found, dims, registers)


def others() -> Iterator[TileOperation]:
    return (op for op in ALL if op.name not in OF_ITS_OWN)


@pytest.mark.parametrize("name", [op.name for op in others()])
def test_every_operation_becomes_its_bundle(name: str) -> None:
    """Sources, destinations and registers as the tables say, read back from the instructions."""
    from ptoc.isa.operations import operation_of

    op = OPERATIONS[name]
    start, *commands, stop = bundle_of(op)
    assert operation_of(start) is op
    assert stop.key == "BSTOP"
    bindings = [each for each in commands if each.key.startswith("B.IOT")]
    assert sum(f"SrcTile{n}" in each.form.position for each in bindings for n in range(2)) == len(op.schema.sources)
    assert sum("DstTile" in each.form.position for each in bindings) == len(op.schema.destinations)
    assert ("B.IOR" in {each.key for each in commands}) == bool(op.schema.scalars)
    if op.schema.result == SAME:
        assert "B.DATR" not in {each.key for each in commands}


def test_which_operations_there_are() -> None:
    assert len(OF_ITS_OWN) + len(list(others())) == len(ALL) == 109
