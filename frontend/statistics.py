"""What one run of a program costs, read off its ``tile`` IR without running it.

A loop whose tile sizes do not depend on its own counter costs its trip count times one iteration; only ragged loops
are walked step by step.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ptoc.arrays import Placement
from ptoc.dialects import nd, tile
from ptoc.dialects.attributes import dtype_of
from ptoc.dialects.batching import count, matrices
from ptoc.dialects.tile import SharedType, TileOperation, TileType
from ptoc.isa import layouts
from ptoc.passes.allocate_rings import peak_bytes
from ptoc.passes.arguments import OUTPUT, SCRATCH
from ptoc.passes.epilogues import accumulator_of
from ptoc.passes.planning.cost import streamed_bound
from ptoc.passes.planning.shapes import MatmulShape
from ptoc.passes.release_shared import peak_shared_bytes
from ptoc.passes.rewriting import the_function
from ptoc.stretches import cut, size_operands

if TYPE_CHECKING:
    from ptoc.program import Program


def statistics_of(program: Program) -> Mapping[str, int]:
    """The figures of ``Program.stats``."""
    function = the_function(program.modules["tile"])
    costs = _Costs(function.body.block)
    return {
        "gm_bytes_read": costs.total["read"],
        "gm_bytes_written": costs.total["written"],
        "gm_lower_bound_bytes": lower_bound_bytes(program),
        "macs_useful": sum(count(op.axes) * m * n * k for m, n, k, op in _matmuls(program.highest)),
        "macs_issued": costs.total["issued"],
        "bundles": costs.total["bundles"],
        "code_bytes": len(program.encoded.code),
        "copied_bytes": sum(
            spec.size * spec.dtype.itemsize
            for spec, place in zip(program.specs, program.places)
            if place is Placement.COPIED
        ),
        "peak_local_bytes": peak_bytes(function),
        "peak_shared_bytes": peak_shared_bytes(function),
    }


def _matmuls(module: ModuleOp) -> Iterator[tuple[int, int, int, nd.MatmulAccOp]]:
    for op in module.walk():
        if isinstance(op, nd.MatmulAccOp):
            yield *op.size, op


def lower_bound_bytes(program: Program) -> int:
    """Bytes that any program for this kernel moves between memory and one core.

    Every element that is read comes in once, every element of a result goes out once; and a matmul of M x N x K moves
    at least ``2 MNK / sqrt(S)`` operand elements when the core holds S accumulators (Hong and Kung; Irony, Toledo and
    Tiskin), which counts where it is more than the operands themselves.
    """
    function = the_function(program.highest)
    read = {op.source for op in function.walk() if isinstance(op, nd.LoadOp | tile.LoadOp | tile.LoadSharedOp)}
    read |= {op.array for op in function.walk() if isinstance(op, tile.OperationOp) and op.array and op.tiles}
    total = 0.0
    for argument, spec, kind in zip(function.body.block.args, program.launch_specs, program.kinds):
        if kind == SCRATCH or not (kind == OUTPUT or argument in read):
            continue
        rows = 1 if spec.row_stride == 0 else spec.rows
        total += spec.size // 2 if spec.packed else rows * spec.row_bytes
    for m, n, k, op in _matmuls(program.highest):
        a, b = (dtype_of(cast(TensorType, v.type).element_type) for v in (op.a, op.b))
        shape = MatmulShape(m, n, k, a, b, accumulator_of(op), has_c=False, result=accumulator_of(op))
        once = sum(number * each for number, each in zip(matrices(op.axes), (shape.a_bytes, shape.b_bytes)))
        total += max(0, count(op.axes) * streamed_bound(shape) - once)
    return int(total)


class _Costs:
    """Adds up the costs of a block, loops included."""

    def __init__(self, block: Block) -> None:
        self.values: dict[SSAValue, int] = {}
        self.sizes = _size_slice(block)
        self.total = self._block(block)

    def _block(self, block: Block) -> Counter[str]:
        total: Counter[str] = Counter()
        for op in block.ops:
            if isinstance(op, scf.ForOp):
                total += self._loop(op)
            elif isinstance(op, TileOperation):
                total += self._bundle(op)
            else:
                self._evaluate(op)
        return total

    def _loop(self, op: scf.ForOp) -> Counter[str]:
        counter = op.body.block.args[0]
        steps = range(*(self.values[v] for v in (op.lb, op.ub, op.step)))
        carried = _carried_indices(op)
        for argument, initial, _, _ in carried:
            self.values[argument] = self.values[initial]
        total: Counter[str] = Counter()
        if any(argument in self.sizes for argument, *_ in carried):
            for self.values[counter] in steps:
                total += self._iteration(op, carried)
        elif counter in self.sizes:
            pending = [range(len(steps))] if steps else []
            while pending:
                stretch = pending.pop()
                end = cut(op, steps, stretch, self.sizes, self.values)
                if end is not None:
                    pending += [range(end, stretch.stop), range(stretch.start, end)]
                    continue
                self.values[counter] = steps[stretch.start]
                once = self._iteration(op, carried)
                total += Counter({key: count * len(stretch) for key, count in once.items()})
        elif steps:
            self.values[counter] = steps.start
            once = self._iteration(op, carried)
            total = Counter({key: count * len(steps) for key, count in once.items()})
        for argument, _, _, result in carried:
            self.values[result] = self.values[argument]
        return total

    def _iteration(self, op: scf.ForOp, carried: Sequence[_CarriedIndex]) -> Counter[str]:
        cost = self._block(op.body.block)
        after = [self.values[yielded] for _, _, yielded, _ in carried]
        self.values.update(zip((argument for argument, *_ in carried), after))
        return cost

    def _evaluate(self, op: Operation) -> None:
        if isinstance(op, arith.ConstantOp):
            self.values[op.result] = cast("IntegerAttr", op.value).value.data
        elif isinstance(op, tile.PeIdOp | tile.CoreIdOp):
            self.values[op.result] = 0
        elif isinstance(op, tile.CoreCountOp):
            self.values[op.result] = 1
        elif type(op) in _ARITHMETIC:
            self.values[op.results[0]] = _ARITHMETIC[type(op)](*(self.values[v] for v in op.operands))

    def _bundle(self, op: TileOperation) -> Counter[str]:
        pes = op.mask.bit_count()
        cost: Counter[str] = Counter(bundles=1 + (isinstance(op, tile.RowsOperation) and op.rest is not None))
        if isinstance(op, tile.LoadSharedOp):
            nbytes = cast(SharedType, op.result.type).dtype.nbytes
            cost["read"] = self.values[op.rows] * self.values[op.cols] * nbytes
        elif isinstance(op, tile.LoadOp | tile.StoreOp):
            cost += self._rows(op)
        elif isinstance(op, tile.ScatterOp):
            cost["written"] = pes * self._transfer(op.rows, op.cols, op.data)
        elif isinstance(op, tile.OperationOp) and op.array is not None:
            size = math.prod(self.values[each] for each in op.size)
            cost["read" if op.tiles else "written"] = pes * op.dtype.bytes_of(size)
        elif isinstance(op, tile.MatmulOp):
            cost["issued"] = self._issued(op)
        return cost

    def _rows(self, op: tile.LoadOp | tile.StoreOp) -> Counter[str]:
        """Bytes of a transfer."""
        loads = isinstance(op, tile.LoadOp)
        type_ = cast(TileType, op.result.type if loads else op.value.type)
        rest = 0 if op.rest is None else op.rest.value.data
        row_bits = self.values[op.cols] * type_.dtype.bits
        nbytes = op.pes.value.data * (self.values[op.rows] * row_bits // 8) + rest * row_bits // 8
        return Counter({"read" if loads else "written": nbytes})

    def _issued(self, op: tile.MatmulOp) -> int:
        """Multiply-adds of whole cells: M to the layout's rows, N to 8, K to the cells of A and B."""
        m, n, k = (self.values[v] for v in (op.m, op.n, op.k))
        a, b, d = (cast("TileType | SharedType", v.type) for v in (op.a, op.b, op.result))
        layout = cast(TileType, d).layout.data.isa_name
        rows = layouts.M_ROWS[layout]
        pes = -(-m // rows) if op.cooperative else op.mask.bit_count()
        depth = max(
            layouts.cube_geometry(layout, a.dtype.bits, 1, k).cols,
            layouts.cube_geometry(layouts.CUBE_N8, b.dtype.bits, k, 1).rows,
        )
        return pes * rows * -(-n // 8) * 8 * depth

    def _transfer(self, rows: SSAValue, cols: SSAValue, value: SSAValue) -> int:
        return self.values[rows] * self.values[cols] * cast(TileType, value.type).dtype.nbytes


_ARITHMETIC: dict[type[Operation], Callable[..., int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.ShRUIOp: operator.rshift,
    arith.DivUIOp: operator.floordiv,
    arith.MinUIOp: min,
    arith.AndIOp: operator.and_,
    arith.CmpiOp: operator.eq,
    arith.SelectOp: lambda condition, x, y: x if condition else y,
}

_CarriedIndex = tuple[SSAValue, SSAValue, SSAValue, SSAValue]
"""An index that a loop carries: inside, before, at the end of an iteration, and after."""


def _carried_indices(op: scf.ForOp) -> list[_CarriedIndex]:
    terminator = op.body.block.last_op
    assert isinstance(terminator, scf.YieldOp)
    groups = zip(op.body.block.args[1:], op.iter_args, terminator.operands, op.results)
    return [group for group in groups if isinstance(group[0].type, IndexType)]


def _size_slice(block: Block) -> set[SSAValue]:
    """Every value that a tile size is computed from."""
    found: set[SSAValue] = set()
    pending: list[SSAValue] = []
    for op in block.walk():
        pending += size_operands(op)
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        owner = value.owner
        loop = owner.parent_op() if isinstance(owner, Block) else owner
        if isinstance(loop, scf.ForOp):
            # A carried value comes from before the loop and from the end of the iteration before.
            for group in _carried_indices(loop):
                pending += group if value in group else ()
        elif isinstance(owner, Operation):
            pending += owner.operands
    return found
