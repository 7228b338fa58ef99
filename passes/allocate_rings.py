"""``allocate-rings``: a hand for every tile, a relative name for every use.

The planning itself is ``planning.rings``: this pass translates the function into it and writes the proven names back
as ``into`` and ``slots``. Where tiles of earlier work would overflow the pool, the rings are flushed at a point where
no tile is live: for each hand a loop of sixteen one-cell loads ages everything out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ptoc.dialects import tile
from ptoc.dialects.tile import Hand, HandAttr, SlotAttr, TileLayout, TileOperation, TileType
from ptoc.isa.registers import GENERATIONS, HANDS, PE_COUNT
from ptoc.passes.diagnostics import reject
from ptoc.passes.planning import rings
from ptoc.passes.planning.rings import Carried, DoesNotFit, Item, Loop, NewQueue, Plan, Pop, Push, Step
from ptoc.passes.rewriting import Emitter, Index, the_function
from ptoc.passes.tile_values import Array, constant_byte


@dataclass(frozen=True)
class AllocateRings(ModulePass):
    name = "allocate-rings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = the_function(op)
        translation = _Translation(function.body.block)
        try:
            plan = rings.plan(translation.program, translation.pinned, flush=True)
        except DoesNotFit as reason:
            _give_up(translation, reason)
        translation.write(plan)
        for flush in plan.flushes:
            _age_out(function, translation.tops[flush.position], flush.hands)


def peak_bytes(function: func.FuncOp) -> int:
    """The most Local tile bytes on a PE at any time of an allocated function, found by replaying its names."""
    translation = _Translation(function.body.block)
    if not translation.steps:
        return 0
    return rings.replay(translation.program, translation.hands()).peak_bytes


def _give_up(translation: _Translation, reason: DoesNotFit) -> None:
    op = translation.op_of(reason)
    reject(
        op,
        f"tile registers: {reason}",
        rule="rings",
        hint="split the kernel into smaller ones",
    )


class _Translation:
    """A function's tile operations as a ``rings.Program``."""

    def __init__(self, block: Block) -> None:
        self.values: dict[SSAValue, int] = {}
        self.steps: list[tuple[Step, TileOperation]] = []
        self.tops: list[Operation] = []
        self.pinned: dict[int, int] = {}
        self.program = self._items(block, top=True)

    def _items(self, block: Block, *, top: bool = False) -> tuple[Item, ...]:
        items: list[Item] = []
        for op in block.ops:
            item: Item | None = None
            if isinstance(op, TileOperation):
                item = self._step(op)
            elif isinstance(op, scf.ForOp):
                item = self._loop(op)
            elif isinstance(op, tile.QueueOp):
                item = NewQueue(self._number(op.result))
            elif isinstance(op, tile.PushOp):
                item = Push(*(self._number(v) for v in (op.item, op.queue, op.result)))
            elif isinstance(op, tile.PopOp):
                item = Pop(*(self._number(v) for v in (op.queue, op.item, op.rest)))
            if item is not None:
                items.append(item)
                if top:
                    self.tops.append(op)
        return tuple(items)

    def _number(self, value: SSAValue) -> int:
        return self.values.setdefault(value, len(self.values))

    def _step(self, op: TileOperation) -> Step:
        results, operands = op.tile_results(), op.tile_operands()
        scale, parameters = (op.scale, op.parameters()) if isinstance(op, tile.MatmulOp) else (None, ())
        step = Step(
            op.name,
            tuple(self._number(v) for v in operands),
            self._number(results[0]) if results else None,
            tile.tile_capacity(results[0]) if results else 0,
            op.mask,
            isinstance(op, tile.MatmulOp) and op.acc is not None,
            None if scale is None else operands.index(scale),
            tuple(operands.index(each) for each in parameters),
            tuple((self._number(each), tile.tile_capacity(each)) for each in results[1:]),
        )
        self.pinned.update((self._number(result), hand.number) for result, hand in zip(results, op.hands))
        self.steps.append((step, op))
        return step

    def _loop(self, op: scf.ForOp) -> Loop | None:
        block = op.body.block
        body = self._items(block)
        if not body:
            return None
        terminator = block.last_op
        assert isinstance(terminator, scf.YieldOp)
        carried = tuple(
            Carried(*(self._number(v) for v in group))
            for group in zip(op.iter_args, block.args[1:], terminator.operands, op.results)
            if tile.is_tile(group[0]) or isinstance(group[0].type, tile.QueueType)
        )
        return Loop(body, trip_count(op), carried, most_trips(op))

    def hands(self) -> dict[int, int]:
        """The hand of every value of an allocated function, as its operations name them."""
        hands = dict(self.pinned)
        for step, op in self.steps:
            for value, slot in zip(step.uses, op.slots or ()):
                hands[value] = slot.number
        return hands

    def op_of(self, reason: DoesNotFit) -> Operation:
        """The operation a failure speaks of, or the first one."""
        return next((op for step, op in self.steps if step is reason.step), self.steps[0][1])

    def write(self, plan: Plan) -> None:
        order = {id(step): n for n, step in enumerate(rings.steps_of(self.program))}
        for step, op in self.steps:
            number = order[id(step)]
            slots = [SlotAttr.get(*plan.names[number, n]) for n in range(len(step.uses))]
            if slots:
                op.properties["slots"] = ArrayAttr(slots)
            if step.results:
                op.place([HandAttr(Hand(HANDS[plan.hands[value]])) for value, _ in step.results])


def trip_count(op: scf.ForOp) -> int | None:
    """Iterations of a loop with constant bounds; of others the program decides on the number."""
    start, stop, step = map(_known, (op.lb, op.ub, op.step))
    return None if start is None or stop is None or step is None else len(range(start, stop, step))


def most_trips(op: scf.ForOp) -> int | None:
    """The most iterations of a loop, wherever it starts, if its end and step are constants."""
    stop, step = _known(op.ub), _known(op.step)
    return None if stop is None or step is None else len(range(0, stop, step))


def _known(value: SSAValue) -> int | None:
    if not isinstance(value.owner, arith.ConstantOp):
        return None
    return cast(IntegerAttr, value.owner.value).value.data


def _age_out(function: func.FuncOp, point: Operation, hands: Sequence[int]) -> None:
    """Insert one-cell loads that fill hands, so that all of their tiles age out, in front of an operation."""
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    emitter = Emitter.before(point, reuse_constants=True)
    byte = constant_byte(emitter, module)
    cell = TileType.get(1, 1, byte.dtype, TileLayout.NORM)

    for hand in hands:
        emitter.loop(0, GENERATIONS, 1, partial(_load_cell, byte, cell, hand), name="generation")


def _load_cell(
    byte: Array, cell: TileType, hand: int, emitter: Emitter, generation: Index, carried: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    load = byte.load(emitter, 0, 0, (1, 1), PE_COUNT, cell).owner
    assert isinstance(load, TileOperation)
    load.properties["into"] = HandAttr(Hand(HANDS[hand]))
    return ()
