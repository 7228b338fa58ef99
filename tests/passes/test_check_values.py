"""The checker accepts what the compiler makes, and finds the mistakes that are put into it.

That it accepts the other kernels of the tests is seen by running them: ``conftest.py`` has it check each program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

import ptoc
from ptoc import compiler
from ptoc.backend.encoder import encode
from ptoc.backend.lowering import statements
from ptoc.dialects import pto
from ptoc.errors import CompileError, ProgramFault
from ptoc.isa.encoding import Instruction
from ptoc.isa.operations import operation_of
from ptoc.isa.registers import GPR, PE_MODE
from ptoc.launch import run
from ptoc.passes import abi
from ptoc.passes.check_values import WrongProgram, check_values
from ptoc.program import Program


def product(x: Any, w: Any, c: Any) -> Any:
    return c + np.matmul(x, w, dtype=c.dtype)


def leaky(x: Any, w: Any, c: Any) -> Any:
    y = product(x, w, c)
    return np.where(y > 0, y, 0.25 * y).astype(np.float16)


def by_column(x: Any, w: Any, c: Any) -> Any:
    offsets = np.arange(c.shape[1]) % 100
    return np.clip(np.floor(product(x, w, c) * 0.25) + offsets, -128, 127).astype(np.int8)


def transposed(x: Any, w: Any, c: Any) -> Any:
    return product(x.T, w.T, c)


def maxima(x: Any, w: Any, c: Any) -> Any:
    y = product(x, w, c)
    rows, cols = y.shape
    return y.astype(np.float16), y.max(axis=1), np.abs(y).reshape(rows, cols // 8, 8).max(axis=2)


def running_maxima(x: Any, w: Any, before: Any) -> Any:
    return np.maximum(before, np.matmul(x, w, dtype=before.dtype).max(axis=1))


def masked(x: Any, y: Any, m: Any) -> Any:
    x[m] = y[m]
    return np.where(x < y, x, y), x >= y


def scattered(x: Any, places: Any, y: Any, m: Any) -> None:
    ptoc.scatter(x, places, y, m)


def _product(m: int, n: int, k: int, kernel: Callable[..., Any] = product, dtype: str = "float16") -> Program:
    accumulator = {"int8": "int32"}.get(dtype, "float32")
    x, w = ((k, m), (n, k)) if kernel is transposed else ((m, k), (k, n))
    return ptoc.jit(kernel).compile(ptoc.spec(x, dtype), ptoc.spec(w, dtype), ptoc.spec((m, n), accumulator))


def _elementwise(*shape: int) -> Program:
    return ptoc.jit(masked).compile(*(ptoc.spec(shape, dtype) for dtype in ("float32", "float32", "bool")))


PROGRAMS: dict[str, Callable[[], Program]] = {
    "one tile": lambda: _product(5, 3, 9),
    "several blocks": lambda: _product(256, 256, 512),
    "ragged": lambda: _product(129, 65, 33),
    "wide and integer": lambda: _product(40, 300, 700, dtype="int8"),
    "epilogue": lambda: _product(160, 96, 192, leaky),
    "epilogue by column": lambda: _product(40, 70, 50, by_column),
    "maxima": lambda: _product(160, 48, 40, maxima),
    "maxima of several blocks": lambda: _product(300, 520, 600, maxima),
    "running maxima": lambda: ptoc.jit(running_maxima).compile(
        ptoc.spec((70, 50), "int8"), ptoc.spec((50, 33), "int8"), ptoc.spec((70,), "int32")
    ),
    "transposed": lambda: _product(256, 64, 320, transposed),
    "element-wise": lambda: _elementwise(300, 70),
    "element-wise, one row": lambda: _elementwise(5),
    "scatter": lambda: ptoc.jit(scattered).compile(
        *(ptoc.spec((40, 9), dtype) for dtype in ("float32", "int32", "float32", "bool"))
    ),
}
_cache: dict[str, Program] = {}


def compiled(name: str) -> Program:
    if name not in _cache:
        _cache[name] = PROGRAMS[name]()
    return _cache[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_program_is_right(name: str) -> None:
    program = compiled(name)
    assert check_values(program.modules["nd"], program.modules["pto"], cores=(1, 2, 3, 7))


def test_what_is_not_written_by_rows_of_its_own_is_not_checked() -> None:
    overlapping = ptoc.ArraySpec((4, 8), np.dtype("float32"), (8, 4))

    def kernel(x: Any, y: Any) -> None:
        x[:] = y

    program = ptoc.jit(kernel).compile(overlapping, ptoc.spec((4, 8), "float32"))
    assert not check_values(program.modules["nd"], program.modules["pto"])


def test_a_small_budget_proves_nothing() -> None:
    program = compiled("several blocks")
    assert not check_values(program.modules["nd"], program.modules["pto"], budget=10)


# -- mistakes --------------------------------------------------------------------------------------

Mutants = Callable[[ModuleOp], Iterator[str]]
"""Yields descriptions while the module has a mistake in it, and puts it right again before the next one."""


def name_of(op: Operation | None) -> str:
    """The tile operation of a bundle, or ``branch``; empty for what stands between bundles."""
    if not isinstance(op, pto.BundleOp):
        return ""
    operation = operation_of(op.instructions[0].instruction)
    return "branch" if operation is None else operation.name


def bundles(module: ModuleOp, operation: str) -> list[pto.BundleOp]:
    return [op for op in module.walk() if isinstance(op, pto.BundleOp) and operation in name_of(op)]


def each_field(name: str, change: Callable[[int], int], operation: str = "") -> Mutants:
    """One instruction differs in a field."""

    def mutants(module: ModuleOp) -> Iterator[str]:
        for op in [op for op in module.walk() if isinstance(op, pto.InstOp) and operation in name_of(op.parent_op())]:
            inst = op.instruction
            if name not in inst.form.position:
                continue
            values = tuple(change(old) if f.name == name else old for f, old in zip(inst.form.fields, inst.values))
            if values == inst.values or not all(f.accepts(value) for f, value in zip(inst.form.fields, values)):
                continue
            new = pto.InstOp(Instruction(inst.form, values), op.target)
            new.location = op.location
            Rewriter.insert_op(new, InsertPoint.before(op))
            op.detach()
            yield f"{op.code.data} becomes {new.code.data}"
            Rewriter.insert_op(op, InsertPoint.before(new))
            Rewriter.erase_op(new)

    return mutants


def each_left_out(operation: str) -> Mutants:
    def mutants(module: ModuleOp) -> Iterator[str]:
        for op in bundles(module, operation):
            place = InsertPoint.before(op.next_op) if op.next_op else InsertPoint.at_end(op.parent_block())
            op.detach()
            yield f"no {name_of(op)}"
            Rewriter.insert_op(op, place)

    return mutants


def each_scalar_left_out(module: ModuleOp) -> Iterator[str]:
    for op in [op for op in module.walk() if isinstance(op, pto.InstOp) and not name_of(op.parent_op())]:
        before = op.next_op
        assert before is not None
        op.detach()
        yield f"no {op.code.data}"
        Rewriter.insert_op(op, InsertPoint.before(before))


def each_twice(operation: str) -> Mutants:
    def mutants(module: ModuleOp) -> Iterator[str]:
        for op in bundles(module, operation):
            copy = op.clone()
            Rewriter.insert_op(copy, InsertPoint.after(op))
            yield f"{name_of(op)} twice"
            Rewriter.erase_op(copy)

    return mutants


def each_pair_exchanged(operation: str) -> Mutants:
    """The order of two bundles that follow each other among those of an operation."""

    def mutants(module: ModuleOp) -> Iterator[str]:
        found = bundles(module, operation)
        for first, second in pairwise(found):
            exchange(first, second)
            yield f"{name_of(second)} before {name_of(first)}"
            exchange(first, second)

    return mutants


def exchange(first: Operation, second: Operation) -> None:
    mark = pto.LabelOp("mark")
    Rewriter.insert_op(mark, InsertPoint.before(first))
    first.detach()
    Rewriter.insert_op(first, InsertPoint.before(second))
    second.detach()
    Rewriter.insert_op(second, InsertPoint.before(mark))
    Rewriter.erase_op(mark)


def one_more(value: int) -> int:
    return value + 1


def one_less(value: int) -> int:
    return value - 1


def other_mask(mode: int) -> int:
    return PE_MODE[0b0100] if mode == PE_MODE[0b0001] else PE_MODE[0b0001]


MISTAKES: dict[str, Mutants] = {
    "an older tile": each_field("SrcTile0", one_more),
    "an older second tile": each_field("SrcTile1", one_more),
    "a newer tile": each_field("SrcTile0", one_less),
    "another Shared tile": each_field("SharedTID", lambda n: n ^ 1),
    "another hand": each_field("DstTile", lambda n: n ^ 1),
    "another base": each_field("RegSrc0", lambda n: GPR["zero"]),
    "another stride": each_field("RegSrc1", lambda n: GPR["a0"]),
    "one more in a dimension": each_field("uimm17", one_more),
    "one less in a dimension": each_field("uimm17", one_less),
    "another relation": each_field("CMode", lambda n: (n + 1) % 6, "TCMP"),
    "another activation": each_field("ReluMode", lambda n: n ^ 1, "TMATMUL"),
    "another conversion": each_field("PreQuantMode", lambda n: 16 if n == 1 else 1, "TMATMUL"),
    "another rounding": each_field("RMode", lambda n: n ^ 1, "TMATMUL"),
    "A turned": each_field("TransA", lambda n: n ^ 1, "TMATMUL"),
    "B turned": each_field("TransB", lambda n: n ^ 1, "TMATMUL"),
    "other magnitudes": each_field("MaxAbsEn", lambda n: n ^ 1, "TMATMUL"),
    "other groups": each_field("GroupNCode", one_more, "TMATMUL"),
    "no maxima of groups": each_field("GroupMaxEn", lambda n: 0, "TMATMUL"),
    "no maxima of rows": each_field("RowMaxEn", lambda n: 0, "TMATMUL"),
    "maxima from another start": each_field("RowMaxInit", lambda n: n ^ 1, "TMATMUL"),
    "another start of a view": each_field("uimm11", one_more),
    "another register of a view": each_field("RegSrc", lambda n: GPR["a0"], "TMATMUL"),
    "half of a view": each_field("SubviewSizeCode", one_less),
    "another constant": each_field("simm32", lambda n: n << 6),
    "another sum": each_field("uimm12", lambda n: 4095),
    "another factor": each_field("shamt", one_more),
    "half of a tile": each_field("SizeCode", one_less),
    "another type": each_field("DataType", lambda n: n ^ 4),
    "another layout": each_field("Layout", lambda n: n + 1 if n else 0),
    "other PEs": each_field("PEMode", other_mask),
    "no scalar instruction": each_scalar_left_out,
    "no branch": each_left_out("branch"),
    "no load": each_left_out("TLOAD"),
    "no piece": each_left_out("TMATMUL"),
    "no comparison": each_left_out("TCMP"),
    "no store": each_left_out("TSTORE"),
    "no scatter": each_left_out("MSCATTER"),
    "a piece twice": each_twice("TMATMUL"),
    "a store twice": each_twice("TSTORE"),
    "a scatter twice": each_twice("MSCATTER"),
    "pieces in another order": each_pair_exchanged("TMATMUL"),
    "loads in another order": each_pair_exchanged("TLOAD"),
    "stores in another order": each_pair_exchanged("TSTORE"),
}

CORES = 1, 3
LARGE = "wide and integer", "element-wise", "several blocks", "maxima of several blocks"
"""Programs whose mutants take long to run."""


def outcome(program: Program, module: ModuleOp) -> list[bytes] | None:
    """Every array of a launch after runs of some other instructions on 1 and 3 cores; nothing where they fault."""
    listing = statements(module)
    other = replace(program, statements=listing, encoded=encode(listing))
    found = []
    for cores in CORES:
        rng = np.random.default_rng(41)
        arrays = [data(rng, spec) for spec in program.specs]
        try:
            _, results = run(other, arrays, cores)
        except ProgramFault:
            return None
        found += [each.tobytes() for each in results]
    return found


def data(rng: np.random.Generator, spec: ptoc.ArraySpec) -> Any:
    """Elements that are all different, or nearly; displacements for scatters, all different."""
    if spec.dtype == np.int32:
        return (4 * rng.permutation(np.prod(spec.shape))).astype(spec.dtype).reshape(spec.shape)
    if spec.dtype.kind == "f":
        return rng.standard_normal(spec.shape).astype(spec.dtype)
    return rng.integers(0, 2 if spec.dtype == bool else 100, spec.shape).astype(spec.dtype)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in LARGE else ()) for n in PROGRAMS])
def test_what_is_accepted_has_the_same_results(name: str) -> None:
    """Some changes do no harm, such as the stride of a single row. Which ones, the simulator says."""
    program = compiled(name)
    wanted = outcome(program, program.modules["pto"])
    assert wanted is not None
    rejected = 0
    for mistake, mutants in MISTAKES.items():
        module = program.modules["pto"].clone()
        for text in mutants(module):
            try:
                accepted = check_values(program.modules["nd"], module, cores=CORES)
            except WrongProgram:
                rejected += 1
                continue
            if accepted:
                assert outcome(program, module) == wanted, f"{mistake}: {text}"
    assert rejected > 50


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_kind_of_mistake_is_found(mistake: str) -> None:
    """In some program; the finding says where."""
    for name in PROGRAMS:
        program = compiled(name)
        module = program.modules["pto"].clone()
        for text in MISTAKES[mistake](module):
            try:
                check_values(program.modules["nd"], module, cores=CORES)
            except WrongProgram as wrong:
                assert wrong.message and wrong.where, text
                return
    raise AssertionError(f"nobody finds {mistake}")


# -- what is said of them --------------------------------------------------------------------------


def first(mutants: Mutants, number: int = 0) -> Callable[[ModuleOp], None]:
    """Makes one of the mistakes, for good."""
    return lambda module: next(islice(mutants(module), number, None), None) and None


WHOLE = "c[0:32, 0:128] + x[0:32, 0:512] @ w[0:512, 0:128]"

FINDINGS: dict[str, tuple[str, Callable[[ModuleOp], None], str, str]] = {
    "ring distance": (
        "several blocks",
        first(MISTAKES["a newer tile"]),
        "BSTART.TSTORE FP32",
        "the tile that PE0 stores holds c[128:160, 0:128] + x[0:32, 0:512] @ w[0:512, 0:128]; "
        f"the kernel demands {WHOLE}",
    ),
    "dead name": (
        "several blocks",
        first(MISTAKES["an older tile"]),
        "BSTART.TMATMUL.ACC FP16",
        "T#5 on PE0 is dead: 4 tiles are in the hand",
    ),
    "Shared names": (
        "wide and integer",
        lambda module: swap_shared(module, "TMATMUL"),
        "BSTART.TMATMUL.ACC S8",
        "columns, not 40 x",
    ),
    "missing piece": (
        "several blocks",
        first(each_left_out("TMATMUL")),
        "BSTART.TSTORE FP32",
        f"c[0:32, 0:128] + x[0:32, 256:512] @ w[256:512, 0:128]; the kernel demands {WHOLE}",
    ),
    "missing store": (
        "several blocks",
        first(each_left_out("TSTORE")),
        "",
        "65536 elements of out0 are not written as often as the kernel does, first [0, 0], 0 times, not 1",
    ),
    "store of other PEs": (
        "ragged",
        first(each_field("PEMode", other_mask, "TSTORE")),
        "",
        "elements of out0 are not written as often as the kernel does",
    ),
}


def swap_shared(module: ModuleOp, operation: str) -> None:
    """The first two Shared operands of a bundle change places."""
    (bundle, *_) = (
        b for b in bundles(module, operation) if sum("B.IOS" in str(o.code.data) for o in b.instructions) == 2
    )
    exchange(*(op for op in bundle.instructions if "B.IOS" in str(op.code.data)))


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_names_the_bundle_and_both_values(name: str) -> None:
    kernel, spoil, bundle, message = FINDINGS[name]
    program = compiled(kernel)
    module = program.modules["pto"].clone()
    spoil(module)
    with pytest.raises(WrongProgram) as info:
        check_values(program.modules["nd"], module)
    assert message in info.value.message
    assert info.value.bundle.splitlines()[:1] == ([bundle] if bundle else [])


def test_a_wrong_program_is_not_compiled_where_the_flag_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    right = compiler.run_stage

    def wrong(context: Any, module: ModuleOp, stage: str, observer: Any = None) -> None:
        right(context, module, stage, observer)
        if stage == "pto":
            first(MISTAKES["a newer tile"])(module)

    monkeypatch.setattr(compiler, "run_stage", wrong)
    monkeypatch.setenv("PTOC_CHECK", "1")
    with pytest.raises(CompileError) as info:
        PROGRAMS["several blocks"]()
    text = str(info.value)
    assert f"{__file__}:{product.__code__.co_firstlineno + 1}:12: the compiler produced a wrong program" in text
    assert f"the kernel demands {WHOLE} (on core 0 of 1)" in text
    assert "bundle: BSTART.TSTORE FP32\n" in text
    monkeypatch.setenv("PTOC_CHECK", "0")
    assert PROGRAMS["several blocks"]().stats["bundles"] > 0


def test_cores_that_meet_are_found() -> None:
    """Each of two cores does all of the work: both write every element."""

    def everywhere(module: ModuleOp) -> None:
        for op in [op for op in module.walk() if isinstance(op, pto.InstOp) and not name_of(op.parent_op())]:
            inst = op.instruction
            for name in ("SrcL", "SrcR"):
                if name in inst.form.position and inst[name] == abi.CORE_REGISTER:
                    values = (0 if f.name == name else old for f, old in zip(inst.form.fields, inst.values))
                    inst = Instruction(inst.form, tuple(values))
            if inst is not op.instruction:
                new = pto.InstOp(inst, op.target)
                new.location = op.location
                Rewriter.replace_op(op, new)

    program = compiled("several blocks")
    module = program.modules["pto"].clone()
    everywhere(module)
    assert check_values(program.modules["nd"], module, cores=(1,))
    with pytest.raises(WrongProgram, match=r"two cores access an element of out0"):
        check_values(program.modules["nd"], module, cores=(2,))
