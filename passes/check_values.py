"""Checks a compiled program against its kernel, without running it on data.

The instructions are replayed one by one on a core whose tiles hold meanings instead of numbers (``checking.machine``):
a load is a rectangle of an array, a product is C, then the pieces of A and B in the order in which they were added,
with what B.FPATR does to the sum; a comparison is two tiles and a relation. Registers are computed as numbers on all
four PEs. So it is proven, for the shapes the program was compiled for and whatever the arrays hold:

* every store of a product writes to ``D[r, c]`` the sum that starts from ``C[r, c]`` (divided as the kernel says) and
  adds ``A[r, k] * B[k, c]`` for all k, ascending, each once, and then what the kernel demands of the sum; every other
  store and scatter writes the element that the kernel has in this place, under the mask of this place;
* an operand comes from the write that the kernel means: no element is loaded before or after its time;
* every element of every written array is written once per write of the kernel, over all PEs and cores; by stores of a
  product that each reach new elements also more often, to the same value. Of ``ptoc.scatter``, whose targets are data,
  every element of the source is;
* no relative name is dead or retired by its own bundle, every operand has the type, shape and layout that its bundle
  needs, and neither pool overflows;
* every access stays inside the array that the bundle was compiled for;
* no core reads or writes an element that another core writes.

Not proven: that the ``nd`` module is what the Python function says, and what numbers the machine computes. A kernel
that writes an array whose rows overlap is not checked: no launch accepts it. Of a program that takes more than
``budget`` bundles only the first ones are checked, and not whether its writes are complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ptoc.dialects import nd, pto
from ptoc.dialects.parsing import source_of
from ptoc.isa.registers import PE_COUNT
from ptoc.passes import abi
from ptoc.passes.checking.bundles import Bundle
from ptoc.passes.checking.demands import Demands, Kind, Write
from ptoc.passes.checking.errors import WrongProgram
from ptoc.passes.checking.machine import Machine, Rectangle
from ptoc.passes.checking.meanings import Block, Compared, Meaning, Pattern
from ptoc.passes.checking.memory import Array, Constants, Contents, Place, Touched, arrays_of
from ptoc.passes.checking.scalars import Lanes, Step, Test, lane, step_of, test_of
from ptoc.passes.checking.texts import text_of
from ptoc.passes.rewriting import the_function

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Visits = npt.NDArray[np.int16]

BUDGET = 6_000
"""Bundles that are replayed, unless a caller asks for more."""

_MOST_SCALARS = 1_000
"""More scalar instructions than this between two bundles are a loop without end."""


def check_values(kernel: ModuleOp, program: ModuleOp, *, cores: Sequence[int] = (1, 3), budget: int = BUDGET) -> bool:
    """Check a ``pto`` module against the ``nd`` module that it was compiled from, on machines of so many cores.

    ``False`` where not all of it was checked; ``WrongProgram`` where it does something else.
    """
    function = the_function(kernel)
    code = _Code.of(program)
    arrays = arrays_of(function.body.block.args)
    demands = Demands(kernel, arrays)
    if any(arrays[number].overlaps for number in demands.written):
        return False
    constants = Constants(arrays, [op for op in program.body.block.ops if isinstance(op, pto.DataOp)])
    for count in cores:
        total, touched = [_no_visits(write) for write in demands.writes], Touched(arrays, demands.written)
        for core in range(count):
            replay = _Replay(demands, constants, arrays, touched, alone=count == 1)
            try:
                budget = _run(code, replay, core, count, budget)
            except WrongProgram as wrong:
                wrong.machine = f"core {core} of {count}"
                raise
            if budget <= 0:
                return False
            for every, own in zip(total, replay.visits):
                every += own
            touched.add(replay.contents.own)
        for write, visits in zip(demands.writes, total):
            _require_complete(write, visits, f"{count} cores")
    return True


# -- the instructions ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Branch:
    target: int
    test: Test


@dataclass(frozen=True)
class _Code:
    """The program in order, each instruction decoded, and the operations they come from."""

    items: list[Step | _Branch | Bundle]
    origins: list[Operation]

    @classmethod
    def of(cls, module: ModuleOp) -> _Code:
        program = next(op for op in module.body.block.ops if isinstance(op, pto.ProgramOp))
        origins = [op for op in program.body.block.ops if not isinstance(op, pto.LabelOp)]
        labels: dict[str, int] = {}
        count = 0
        for op in program.body.block.ops:
            if isinstance(op, pto.LabelOp):
                labels[op.label.data] = count
            else:
                count += 1
        items = []
        for op in origins:
            try:
                items.append(_decoded(op, labels))
            except WrongProgram as wrong:
                raise _placed(wrong, op) from None
        return cls(items, origins)


def _decoded(op: Operation, labels: dict[str, int]) -> Step | _Branch | Bundle:
    if isinstance(op, pto.InstOp):
        return step_of(op.instruction)
    assert isinstance(op, pto.BundleOp)
    instructions = [each.instruction for each in op.instructions]
    if instructions[0].key != "BSTART.COND":
        return Bundle.read(instructions)
    target = op.instructions[0].target
    if len(instructions) != 3 or target not in labels:
        raise WrongProgram("a branch that the checker does not know in compiled programs")
    return _Branch(labels[target], test_of(instructions[1]))


def _placed(wrong: WrongProgram, op: Operation) -> WrongProgram:
    """The finding with the bundle that shows it."""
    if isinstance(op, pto.BundleOp):
        wrong.bundle = "\n".join(str(each.code.data) for each in op.instructions)
    wrong.where = source_of(op)
    return wrong


def _run(code: _Code, replay: _Replay, core: int, cores: int, budget: int) -> int:
    """Replay the program on one core; what is left of the budget."""
    machine = Machine(replay)
    for register, value in replay.launch_registers(core, cores).items():
        machine.registers[register] = value
    at = scalars = 0
    while at < len(code.items) and budget > 0:
        item, op = code.items[at], code.origins[at]
        at += 1
        try:
            if isinstance(item, Bundle):
                replay.bundle, scalars, budget = op, 0, budget - 1
                machine.run(item)
                continue
            scalars += 1
            if scalars > _MOST_SCALARS:
                raise WrongProgram("a loop that does not end")
            if not isinstance(item, _Branch):
                item(machine.registers)
                continue
            taken = item.test(machine.registers)
            if len({lane(taken, pe) for pe in range(PE_COUNT)}) > 1:
                raise WrongProgram("a branch that only some of the PEs take")
            if lane(taken, 0):
                at = item.target
        except WrongProgram as wrong:
            raise _placed(wrong, op) from None
    if budget > 0:
        replay.end()
    return budget


# -- what they do to memory ------------------------------------------------------------------------


@dataclass
class _Replay:
    """Memory as one core sees it; ``alone``: it does all the work, so a write is complete when the next one begins."""

    demands: Demands
    constants: Constants
    arrays: list[Array]
    others: Touched
    alone: bool
    bundle: Operation | None = None
    turn: int = 0
    contents: Contents = field(init=False)
    visits: list[Visits] = field(init=False)

    def __post_init__(self) -> None:
        self.contents = Contents(self.arrays, self.demands.written, self.others)
        self.visits = [_no_visits(write) for write in self.demands.writes]

    def launch_registers(self, core: int, cores: int) -> dict[int, Lanes]:
        registers: dict[int, Lanes] = {
            abi.PE_REGISTER: tuple(range(PE_COUNT)),
            abi.CORE_REGISTER: core,
            abi.CORES_REGISTER: cores,
            abi.DATA_REGISTER: self.constants.address,
        }
        return registers | dict(zip(abi.ARGUMENT_REGISTERS, (array.address for array in self.arrays)))

    def _own(self, number: int) -> None:
        """An access belongs to the array that the bundle was compiled for."""
        argument = self.bundle.argument if isinstance(self.bundle, pto.BundleOp) else None
        if argument is None or argument.value.data != number:
            raise WrongProgram("an access to another array than the bundle's")

    def load(self, place: Rectangle) -> Meaning:
        if place.address >= self.constants.address:
            self._own(len(self.arrays))
            return self.constants.load(place)
        array, block = self.contents.load(place)
        self._own(array.number)
        return block

    def store(self, place: Rectangle, value: Meaning) -> None:
        array, start = self.contents.find(place)
        self._own(array.number)
        target = Place(array, start, place.stride, place.rows, place.cols)
        write = self._claim(target, "store")
        self._compare(f"the tile that PE{place.pe} stores", value, self.demands.stored(write, target))

    def scatter(self, place: Rectangle, value: Meaning, index: Meaning, mask: Meaning) -> None:
        if not isinstance(index, Pattern):
            self._scatter_freely(place, value, index, mask)
            return
        start = Rectangle(place.pe, place.address + index.first, index.row_step, place.rows, place.cols, place.dtype)
        array, first = self.contents.find(start)
        self._own(array.number)
        if place.cols > 1 and index.col_step != array.dtype.nbytes:
            raise WrongProgram("a pattern whose columns are not adjacent")
        target = Place(array, first, index.row_step, place.rows, place.cols)
        write = self._claim(target, "scatter")
        data, under = self.demands.scattered(write, target)
        self._compare(f"the data of the scatter on PE{place.pe}", value, data)
        self._compare(f"the mask of the scatter on PE{place.pe}", mask, under)

    def _claim(self, target: Place, kind: Kind) -> Write:
        """The write of the kernel that visits these elements now: the present one, or one behind it."""
        again = False
        for write in self._ahead():
            if write.dest is target.array and kind in write.visits and not write.free:
                before = write.visits.index(kind)
                seen = target.elements(self.visits[write.number])
                if not seen.all() if write.overlaps else (seen == before).all():
                    self._advance(write)
                    seen[...] = before + 1
                    self.contents.write(target, write.number)
                    return write
                again = True
        reason = "are stored twice, or in another order" if again else "are not to be written now"
        raise WrongProgram(f"{target.rows} x {target.cols} elements of {target.array.name} {reason}")

    def _scatter_freely(self, place: Rectangle, value: Meaning, index: Meaning, mask: Meaning) -> None:
        """A scatter whose targets are data: its elements are known by where one of its operands stands in memory."""
        anchor = self._anchor(index, value, mask)
        again = False
        for write in self._ahead():
            if not write.free or write.dest.address != place.address:
                continue
            visits = self.visits[write.number]
            if anchor is None:
                # All operands repeat a row or an element, so any elements are as good as others.
                seen = visits.reshape(-1)[visits.sum() :][: place.rows * place.cols]
            else:
                seen = anchor.elements(visits)
            if seen.any() or not seen.size:
                again = True
                continue
            break
        else:
            raise WrongProgram("elements are scattered twice" if again else "a scatter that the kernel does not have")
        self._own(write.dest.number)
        self._advance(write)
        if anchor is not None:
            data, under = self.demands.scattered(write, anchor)
            assert isinstance(write.op, nd.ScatterOp)
            displacements = self.demands.element_by_element(write.op.displacements, anchor)
            self._compare(f"the data of the scatter on PE{place.pe}", value, data)
            self._compare(f"the mask of the scatter on PE{place.pe}", mask, under)
            self._compare(f"the index of the scatter on PE{place.pe}", index, displacements)
        seen += 1
        self.contents.write(write.dest.everything, write.number)

    def _anchor(self, index: Meaning, value: Meaning, mask: Meaning) -> Place | None:
        """The first operand whose elements stand in memory each in its own place."""
        compared = (mask.lhs, mask.rhs) if isinstance(mask, Compared) else ()
        for each in (index, value, *compared):
            if isinstance(each, Block) and (each.stride or each.rows == 1) and not self.arrays[each.array].overlaps:
                return Place(self.arrays[each.array], each.start, each.stride, each.rows, each.cols)
        return None

    def _compare(self, what: str, found: Meaning, wanted: Meaning) -> None:
        if found.canonical != wanted.canonical:
            held, demanded = (text_of(each.canonical, self.arrays) for each in (found, wanted))
            if held == demanded:
                held, demanded = str(found), str(wanted)
            raise WrongProgram(f"{what} holds {held}; the kernel demands {demanded}")

    def _advance(self, write: Write) -> None:
        if self.alone:
            for each in self._ahead():
                if each.turn < write.turn:
                    _require_complete(each, self.visits[each.number], "1 core")
        self.turn = write.turn

    def _ahead(self) -> Iterator[Write]:
        """The writes whose turn is now or later."""
        return (write for write in self.demands.writes if write.turn >= self.turn)

    def end(self) -> None:
        """The program has halted."""
        if self.demands.writes:
            self._advance(max(self.demands.writes, key=lambda write: write.turn))


def _no_visits(write: Write) -> Visits:
    import numpy as np

    from ptoc.dialects.attributes import shape_2d

    shape = shape_2d(write.op.value.type) if write.free else (write.dest.rows, write.dest.cols)
    return np.zeros(shape, np.int16)


def _require_complete(write: Write, visits: Visits, machine: str) -> None:
    import numpy as np

    wrong = np.argwhere(visits != len(write.visits))
    if len(wrong):
        row, col = wrong[0]
        often = f"{int(visits[row, col])} times, not {len(write.visits)}"
        raise WrongProgram(
            f"{len(wrong)} elements of {write.dest.name} are not written as often as the kernel does, first"
            f" [{row}, {col}], {often}",
            where=source_of(write.op),
            machine=machine,
        )
