"""Mistakes that a compiler or a simulator might make, one at a time, each with a kernel whose results it changes.

A mistake of a pass is made in the IR that the pass leaves; one of the simulator is made in its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

import ptoc
from ptoc.bisection import MACHINE
from ptoc.dialects import nd, pto, tile
from ptoc.dialects.attributes import Predicate, PredicateAttr
from ptoc.dialects.postprocessing import NOTHING, Post, PostAttr
from ptoc.isa.postprocess import Rounding
from ptoc.isa.text import parse_instruction
from ptoc.passes import PASSES, pipeline
from ptoc.runtime.memory import Memory
from ptoc.runtime.numerics import convert, matmul
from ptoc.runtime.operations import tcmp

Change = Callable[[ModuleOp], None]


# -- kernels ----------------------------------------------------------------------------------------


def linear(c, a, b):
    return np.maximum(c + np.matmul(a, b, dtype=np.float32), 0)


def requantized(a, b):
    return np.clip(np.rint(np.matmul(a, b, dtype=np.int32) * 0.125) + 3, -128, 127).astype(np.int8)


def by_column(a, b):
    sums = np.matmul(a, b, dtype=np.float32)
    return np.where(sums > 0, sums, sums * SLOPES)


SLOPES = np.resize(np.array([0.25, 0.5, 0.125], np.float32), 100)


def transposed(a, b):
    return np.matmul(a.T, b, dtype=np.float32)


def threshold(out, x):
    out[x > 0.5] = x[x > 0.5]


def smaller(x, y):
    return np.where(x < y, x, y)


def placed(out, places, x):
    ptoc.scatter(out, places, x, x > 0)


def arguments(kernel: Callable[..., Any], rows: int = 200, cols: int = 100, depth: int = 70) -> list[Any]:
    """Arrays for a kernel; ties, negative numbers and ragged edges included."""
    rng = np.random.default_rng(11)

    def half(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float16)

    def single(*shape: int) -> Any:
        return rng.integers(-4, 5, shape).astype(np.float32) / 4

    def byte(*shape: int) -> Any:
        return rng.integers(-40, 41, shape).astype(np.int8)

    places = rng.permutation(rows * cols).astype(np.int32).reshape(rows, cols) * 4
    return {
        linear: lambda: [single(rows, cols), half(rows, depth), half(depth, cols)],
        requantized: lambda: [byte(rows, depth), byte(depth, cols)],
        by_column: lambda: [half(rows, depth), half(depth, cols)],
        transposed: lambda: [half(cols, cols), half(cols, cols)],
        threshold: lambda: [single(rows, cols), single(rows, cols)],
        smaller: lambda: [single(rows, cols), single(rows, cols)],
        placed: lambda: [single(rows, cols), places, single(rows, cols)],
    }[kernel]()


# -- mistakes in IR ---------------------------------------------------------------------------------


def all_of(module: ModuleOp, kind: type) -> list[Any]:
    return [op for op in module.walk() if isinstance(op, kind)]


def post(change: Callable[[Post], Post]) -> Change:
    """Another post-processing of every matmul."""

    def apply(module: ModuleOp) -> None:
        for op in [*all_of(module, nd.MatmulAccOp), *all_of(module, tile.MatmulOp)]:
            changed = change(op.post_processing)
            op.properties.pop("post", None)
            if changed != NOTHING:
                op.properties["post"] = PostAttr(changed)

    return apply


def operand(kind: type, name: str, change: Callable[[int], int], which: int = 0) -> Change:
    """Another index operand of one operation; it has been a constant."""

    def apply(module: ModuleOp) -> None:
        op = all_of(module, kind)[which]
        old: SSAValue = getattr(op, name)
        if isinstance(old.owner, arith.ConstantOp):
            new = constant(op, change(old.owner.value.value.data))
        else:
            delta = constant(op, change(0))
            total = arith.AddiOp(old, delta)
            Rewriter.insert_op(total, InsertPoint.before(op))
            new = total.result
        op.operands[list(op.operands).index(old)] = new

    return apply


def constant(before: Operation, value: int) -> SSAValue:
    op = arith.ConstantOp(IntegerAttr(value, IndexType()))
    op.location = before.location
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.result


def swap(kind: type, left: str, right: str) -> Change:
    """Two operands of all operations of a kind change places."""

    def apply(module: ModuleOp) -> None:
        for op in all_of(module, kind):
            places = [list(op.operands).index(getattr(op, name)) for name in (left, right)]
            values = [op.operands[place] for place in places]
            for place, value in zip(places, reversed(values)):
                op.operands[place] = value

    return apply


def predicate(kind: type, other: Predicate) -> Change:
    def apply(module: ModuleOp) -> None:
        all_of(module, kind)[0].properties["predicate"] = PredicateAttr(other)

    return apply


def without(kind: type, name: str) -> Change:
    """Every operation of a kind loses a property."""

    def apply(module: ModuleOp) -> None:
        for op in all_of(module, kind):
            op.properties.pop(name, None)

    return apply


def without_accumulator(module: ModuleOp) -> None:
    for op in all_of(module, nd.MatmulAccOp):
        types = op.result.type
        new = nd.MatmulAccOp(op.a, op.b, None, types, op.post_processing)
        new.location = op.location
        Rewriter.replace_op(op, new)


def last_loop_dropped(module: ModuleOp) -> None:
    """The tail of a loop nest is not there."""
    loops = [op for op in all_of(module, scf.ForOp) if not op.results and not isinstance(op.parent_op(), scf.ForOp)]
    Rewriter.erase_op(loops[-1], safe_erase=False)


def fewer_rows(module: ModuleOp) -> None:
    """A cooperative product lacks its last row."""
    op = next(op for op in all_of(module, tile.MatmulOp) if op.cooperative)
    op.operands[list(op.operands).index(op.m)] = constant(op, op.m.owner.value.value.data - 1)


def a_product_dropped(module: ModuleOp) -> None:
    """One step of the sum is left out."""
    op = next(op for op in all_of(module, tile.MatmulOp) if op.acc is not None)
    Rewriter.replace_op(op, [], [op.acc])


def slot(change: Callable[[int], int]) -> Change:
    """A stale relative name."""

    def apply(module: ModuleOp) -> None:
        op = all_of(module, tile.MatmulOp)[0]
        first, *rest = op.slots
        op.properties["slots"] = type(op.slots)([tile.SlotAttr.get(first.number, change(first.distance.data)), *rest])

    return apply


def hand(module: ModuleOp) -> None:
    """A result goes to another hand than the names that follow think."""
    op = next(op for op in all_of(module, tile.LoadOp) if op.into.data is tile.Hand.M)
    op.properties["into"] = tile.HandAttr(tile.Hand.N)


def shared_name(module: ModuleOp) -> None:
    """A loads over B."""
    for op in all_of(module, tile.LoadSharedOp):
        op.properties["shared"] = IntegerAttr(0, i64)


def data(change: Callable[[tile.IotaAttr], tile.IotaAttr]) -> Change:
    def apply(module: ModuleOp) -> None:
        op = next(op for op in all_of(module, tile.GlobalOp) if isinstance(op.value, tile.IotaAttr))
        op.properties["value"] = change(op.value)

    return apply


def instruction(start: str, old: str, new: str) -> Change:
    """An instruction in the first bundle whose start begins with some text, in other words."""

    def apply(module: ModuleOp) -> None:
        for bundle in all_of(module, pto.BundleOp):
            texts = [str(op.code.data) for op in bundle.instructions]
            for op, text in zip(bundle.instructions, texts):
                if texts[0].startswith(start) and old in text:
                    parsed = parse_instruction(text.replace(old, new))
                    op.properties["code"] = pto.InstructionAttr(pto.Coded(parsed.instruction, op.target))
                    return
        raise AssertionError(f"no bundle {start} has {old}")

    return apply


def relu_dropped(module: ModuleOp) -> None:
    """The last step of the sums keeps their sign."""
    instruction("BSTART.TMATMUL", "B.FPATR None, ReLU", "B.FPATR None, None")(module)


def _one_more(data: tile.IotaAttr) -> list[Any]:
    """The steps of displacements, with a column step one element too far."""
    rows, cols, step = data.parameters[2:]
    return [rows, cols, type(step)(step.data + data.width.data)]


# -- mistakes of the simulator ----------------------------------------------------------------------


def _descending(pieces: Any, *, exact: bool) -> None:
    """Products are added from the last to the first."""
    turned = [piece._replace(a=piece.a[:, ::-1], b=piece.b[::-1].copy()) for piece in pieces]
    MULTIPLY_FLOATS(turned, exact=exact)


def _without_last_column(self: Memory, rect: Any, values: Any, view: Any) -> None:
    view[:, :-1] = values[:, :-1]


def _rows_shifted(self: Memory, rect: Any, view: Any) -> Any:
    return np.roll(LOAD(self, rect, view), 1, axis=0)


def _or_equal(mode: int, dtype: Any, left: Any, right: Any) -> Any:
    """LT is LE, and GT is GE."""
    return COMPARE({2: 4, 3: 5}.get(mode, mode), dtype, left, right)


def _unsaturated(post: Any, *rest: Any) -> Any:
    return POST_PROCESS(replace(post, saturate=False), *rest)


MULTIPLY_FLOATS, LOAD = matmul.multiply_floats, Memory.load
COMPARE, POST_PROCESS = tcmp.compare, convert.post_process


# -- all of them ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """A mistake: the step that is guilty of it, a kernel that shows it, and how to make it."""

    name: str
    guilty: str
    kernel: Callable[..., Any]
    change: Change | None = None
    patch: tuple[Any, str, Any] | None = None

    @property
    def small(self) -> bool:
        """Whether a case below 8 x 8 x 8 shows it."""
        return self.name not in LARGE

    @contextmanager
    def made(self) -> Iterator[None]:
        """The compiler, or the simulator, with the mistake."""
        if self.patch is not None:
            with mock.patch.object(*self.patch):
                yield
            return
        change, original = self.change, PASSES[self.guilty]
        assert change is not None

        def load() -> Any:
            kind = original()

            class Wrong(kind):  # type: ignore[misc, valid-type]
                def apply(self, ctx: Context, op: ModuleOp) -> None:
                    super().apply(ctx, op)
                    change(op)

            return Wrong

        with mock.patch.dict(pipeline.PASSES, {self.guilty: load}):
            yield


def _of_pass(name: str, *rows: tuple[str, Callable[..., Any], Change]) -> list[Mutant]:
    return [Mutant(f"{name}: {what}", name, kernel, change) for what, kernel, change in rows]


LARGE = {
    "tile-matmul: wrong stride": "a few rows with another stride leave the array, which is another mistake",
    "tile-matmul: wrong address": "depths below 9 have no piece in Shared storage, which starts behind a Local one",
    "allocate-rings: newer name": "it takes two tiles of one hand",
    "convert-tile-to-pto: wrong dimension": "the text of the instruction has a depth of 64",
    "convert-tile-to-pto: wrong register": "the text of the instruction names a register of a large program",
}
"""Mistakes that no small case shows, and why."""

COMPILER = [
    *_of_pass(
        "fuse-epilogue",
        ("no relu", linear, post(lambda p: replace(p, relu=False))),
        ("no accumulator", linear, without_accumulator),
        ("twice the scale", requantized, post(lambda p: replace(p, scale=2 * p.scale))),
        ("no offset", requantized, post(lambda p: replace(p, offset=0))),
        ("no saturation", requantized, post(lambda p: replace(p, saturate=False))),
        ("another rounding", requantized, post(lambda p: replace(p, rounding=Rounding.RTM))),
        ("slopes by one column off", by_column, post(lambda p: replace(p, slope=(*p.slope[1:], p.slope[0])))),
        ("not transposed", transposed, without(nd.MatmulAccOp, "trans_a")),
    ),
    *_of_pass(
        "materialize-operands",
        ("branches swapped", smaller, swap(nd.WhereOp, "on_true", "on_false")),
        ("or equal", threshold, predicate(nd.CompareOp, Predicate.GE)),
    ),
    *_of_pass(
        "tile-matmul",
        ("wrong stride", linear, operand(tile.LoadOp, "stride", lambda n: n + 4)),
        ("edge cut", linear, operand(tile.StoreOp, "cols", lambda n: n - 1, which=-1)),
        ("dropped tail", linear, last_loop_dropped),
        ("wrong address", linear, operand(tile.LoadSharedOp, "offset", lambda n: n + 2)),
        ("factors of a group swapped", transposed, without(tile.MatmulOp, "trans_a")),
        ("wrong group_M", linear, fewer_rows),
        ("a product dropped", linear, a_product_dropped),
    ),
    *_of_pass(
        "tile-elementwise",
        ("the other relation", smaller, predicate(tile.CompareOp, Predicate.GE)),
        ("operands swapped", smaller, swap(tile.CompareOp, "lhs", "rhs")),
        ("edge cut", threshold, operand(tile.ScatterOp, "cols", lambda n: n - 1)),
        ("wrong displacements", smaller, data(lambda d: tile.IotaAttr(*d.parameters[:2], *_one_more(d)))),
        ("wrong address", placed, operand(tile.ScatterOp, "offset", lambda n: n + 4)),
    ),
    *_of_pass("simplify-loops", ("one turn less", linear, operand(scf.ForOp, "ub", lambda n: n - 1, which=-1))),
    *_of_pass("release-shared", ("names clash", linear, shared_name)),
    *_of_pass(
        "allocate-rings",
        ("stale name", linear, slot(lambda n: n + 1)),
        ("newer name", linear, slot(lambda n: n - 1)),
        ("wrong hand", linear, hand),
    ),
    *_of_pass(
        "convert-tile-to-pto",
        ("wrong dimension", linear, instruction("BSTART.TMATMUL.ACC", "LB2, 64", "LB2, 32")),
        ("no relu", linear, relu_dropped),
        ("wrong register", smaller, instruction("BSTART.TLOAD", "B.IOR s0, a3", "B.IOR s1, a3")),
        ("wrong relation", smaller, instruction("BSTART.VEC TCMP", "LT", "GT")),
    ),
]

SIMULATOR = [
    Mutant("descending sums", MACHINE, linear, patch=(matmul, "multiply_floats", _descending)),
    Mutant("a column not stored", MACHINE, linear, patch=(Memory, "store", _without_last_column)),
    Mutant("rows loaded at other places", MACHINE, linear, patch=(Memory, "load", _rows_shifted)),
    Mutant("relations with equality", MACHINE, threshold, patch=(tcmp, "compare", _or_equal)),
    Mutant("no saturation", MACHINE, requantized, patch=(convert, "post_process", _unsaturated)),
]
