"""``convert-tile-to-pto``: loops become branches, index values become GPRs, tile operations become bundles.

Registers are assigned in one walk over the structured function: a value keeps its register from its definition to its
last use in the block that defines it (a use inside a loop counts as the whole loop). Constants that instructions
cannot hold are made where they are needed; those used most get a register of their own for the whole program, as far
as registers are left. There is no spilling: the machine's scalar subset has no loads and stores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, MemRefType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ptoc.dialects import pto, tile
from ptoc.dialects.attributes import dtype_of, row_stride_bytes, shape_2d
from ptoc.isa.encoding import Instruction, make
from ptoc.isa.registers import GPR, GPR_COUNT, prefix_mask
from ptoc.passes import abi, bundles
from ptoc.passes.diagnostics import reject
from ptoc.passes.planning.registers import OutOfRegisters, RegisterPool
from ptoc.passes.rematerialize import Rematerialize
from ptoc.passes.rewriting import the_function

ZERO = GPR["zero"]
_NO_MODIFIER = 3
_RESERVED = {ZERO, GPR["ra"], abi.PE_REGISTER, abi.CORE_REGISTER, abi.CORES_REGISTER, abi.DATA_REGISTER}
_FIXED = {abi.PE_REGISTER, abi.CORE_REGISTER, abi.CORES_REGISTER}
"""Registers that hold values of the launch for the whole program."""
_LAUNCH_REGISTERS: dict[type[Operation], int] = {
    tile.PeIdOp: abi.PE_REGISTER,
    tile.CoreIdOp: abi.CORE_REGISTER,
    tile.CoreCountOp: abi.CORES_REGISTER,
}
_RELATIONS = {0: "EQ", 1: "NE", 2: "LT", 5: "GE", 6: "LTU", 9: "GEU"}
"""The relations that are instructions, by the number of ``arith.cmpi``'s predicate."""
_LOOP_WEIGHT = 16
"""How much more a use inside a loop counts when constants compete for registers."""


@dataclass(frozen=True)
class ConvertTileToPto(ModulePass):
    name = "convert-tile-to-pto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = the_function(op)
        for each in function.walk():
            if isinstance(each, tile.TileOperation) and not each.named:
                what = f"the tiles of {each.name} have no names yet"
                reject(each, what, rule="rings", hint="run allocate-rings first")
        data = [each for each in op.body.block.ops if isinstance(each, tile.GlobalOp)]
        lowering = _lower(ctx, op, function, data)
        program = pto.ProgramOp(function.sym_name.data, Region(Block(lowering.ops)))
        program.location = function.location
        for each in data:
            moved = pto.DataOp(each.sym_name.data, each.value)
            moved.location = each.location
            Rewriter.insert_op(moved, InsertPoint.before(function))
            Rewriter.erase_op(each)
        Rewriter.insert_op(program, InsertPoint.before(function))
        Rewriter.erase_op(function)


_FALLBACKS = (Rematerialize(), Rematerialize(blocks=True), Rematerialize(everywhere=True))
"""What frees registers when values do not fit, the cheapest first."""


def _lower(ctx: Context, module: ModuleOp, function: func.FuncOp, data: Sequence[tile.GlobalOp]) -> _Lowering:
    """The function's instructions.

    Where there are too few registers, arrays give up theirs and are reached from the first, or values are computed
    again instead of being kept.
    """
    trial = _first_that_fits(ctx, module, function, data)
    spare = trial.pool.total - trial.pool.peak
    resident = [value for value, _ in trial.wanted.most_common(spare)]
    if not resident:
        return trial
    lowering = _Lowering(function, data, dict.fromkeys(resident, 0), arena=trial.arena is not None)
    lowering.run()
    return lowering


def _first_that_fits(ctx: Context, module: ModuleOp, function: func.FuncOp, data: Sequence[tile.GlobalOp]) -> _Lowering:
    many = len(function.body.block.args) > len(abi.ARGUMENT_REGISTERS)
    for fallback in (*_FALLBACKS, None):
        for arena in (True,) if many else (False, True):
            trial = _Lowering(function, data, {}, arena=arena)
            try:
                trial.run()
                return trial
            except OutOfRegisters as reason:
                failure = str(reason)
        if fallback is not None:
            fallback.apply(ctx, module)
    reject(function, failure, rule="registers", hint="split the kernel into smaller ones")


def data_offsets(data: Sequence[tile.GlobalOp | pto.DataOp]) -> dict[str, int]:
    """Byte offset of each constant in the data section."""
    offsets, end = {}, 0
    for each in data:
        offsets[each.sym_name.data] = end
        end = -(-(end + each.value.nbytes) // pto.DATA_ALIGNMENT) * pto.DATA_ALIGNMENT
    return offsets


def memory_bytes(type_: MemRefType) -> int:
    """Bytes from an array's first element to the end of its last."""
    rows, cols = shape_2d(type_)
    return (rows - 1) * row_stride_bytes(type_) + dtype_of(type_.element_type).bytes_of(cols)


def _constant(value: SSAValue) -> int | None:
    if isinstance(value.owner, arith.ConstantOp) and isinstance(value.owner.value, IntegerAttr):
        return value.owner.value.value.data
    return None


class _Lowering:
    def __init__(
        self, function: func.FuncOp, data: Sequence[tile.GlobalOp], resident: dict[int, int], *, arena: bool
    ) -> None:
        self.function = function
        self.block = function.body.block
        self.data = data_offsets(data)
        self.ops: list[Operation] = []
        self.location: LocationAttr = function.location
        self.registers: dict[SSAValue, int] = {}
        taken = _RESERVED | self._argument_registers(arena)
        if not data:
            taken = taken - {abi.DATA_REGISTER}
        self.pool = RegisterPool(r for r in [*range(GPR["a0"], GPR_COUNT), GPR["sp"]] if r not in taken)
        self.resident = resident
        self.wanted: Counter[int] = Counter()
        self.dying: set[SSAValue] = set()
        """Values that nobody reads after the operation that is being lowered."""
        self.depth = 0
        self.labels = 0
        self.targets: list[list[int]] = []

    def _argument_registers(self, arena: bool) -> set[int]:
        arguments = self.block.args
        self.number = {a: n for n, a in enumerate(arguments)}
        self.arena: dict[SSAValue, int] | None = None
        if not arena:
            return set(abi.ARGUMENT_REGISTERS[: len(arguments)])
        sizes = [memory_bytes(cast(MemRefType, a.type)) for a in arguments]
        self.arena = dict(zip(arguments, abi.array_offsets(sizes)))
        return {abi.ARENA_REGISTER}

    def run(self) -> None:
        for value in self.resident:
            self.resident[value] = self.pool.take()
            self._set(self.resident[value], value)
        self._walk(self.block)

    # -- emission ---------------------------------------------------------------------------------

    def _emit(self, op: Operation) -> None:
        for each in op.walk():
            each.location = self.location
        self.ops.append(op)

    def _inst(self, key: str, **fields: int) -> None:
        self._emit(pto.InstOp(make(key, **fields)))

    def _set(self, register: int, value: int) -> None:
        """Load a constant: one instruction of fixed length up to 32 bits, more beyond."""
        if -(1 << 31) <= value < 1 << 31:
            self._inst("HL.LIS", RegDst=register, simm32=value)
            return
        self._inst("HL.LUI", RegDst=register, imm=value >> 32 & 0xFFFF_FFFF)
        if value & 0xFFFF_FFFF:
            with self._scratch() as low:
                self._inst("HL.LIU", RegDst=low, uimm32=value & 0xFFFF_FFFF)
                self._inst("OR", RegDst=register, SrcL=register, SrcR=low, SrcRType=_NO_MODIFIER)

    @contextmanager
    def _scratch(self) -> Iterator[int]:
        register = self.pool.take()
        yield register
        self.pool.give(register)

    @contextmanager
    def _operand(self, value: SSAValue | int) -> Iterator[int]:
        """A register that holds an index value while an instruction is emitted."""
        known = value if isinstance(value, int) else _constant(value)
        if known is None:
            yield self.registers[cast(SSAValue, value)]
        elif known == 0:
            yield ZERO
        elif known in self.resident:
            yield self.resident[known]
        else:
            self.wanted[known] += _LOOP_WEIGHT**self.depth
            with self._scratch() as register:
                self._set(register, known)
                yield register

    # -- structure --------------------------------------------------------------------------------

    def _walk(self, block: Block) -> None:
        last_uses = _last_uses(block)
        for op in block.ops:
            self.location = op.location
            lower = _LOWERINGS.get(type(op))
            if lower is None:
                reject(op, f"{op.name} has no lowering to instructions")
            self.dying = set(last_uses.get(op, ()))
            lower(self, op)
            for value in last_uses.get(op, ()):
                if value in self.registers:
                    self._release(value)

    def _define(self, value: SSAValue) -> int:
        register = self.pool.take()
        if value.uses:
            self.registers[value] = register
        else:
            self.pool.give(register)
        return register

    def _release(self, value: SSAValue) -> None:
        register = self.registers.pop(value)
        if register not in _FIXED:
            self.pool.give(register)

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def loop(self, op: scf.ForOp) -> None:
        """A loop that tests at its end; a test in front of it where it may run no time at all."""
        block = op.body.block
        known = [_constant(v) for v in (op.lb, op.ub, op.step)]
        if None not in known and not range(*cast("list[int]", known)):
            reject(op, "a loop that never runs; canonicalize first")
        dying = self.dying
        induction = self._start(op.lb, op, dying)
        self.registers[block.args[0]] = induction
        carried = [
            (argument, result, initial)
            for argument, result, initial in zip(block.args[1:], op.results, op.iter_args)
            if isinstance(argument.type, IndexType)
        ]
        for argument, _, initial in carried:
            self.registers[argument] = self._start(initial, op, dying)
        head, exit_ = self._label(), self._label()
        if None in known:
            self._branch(exit_, "GEU", induction, op.ub)
        self._emit(pto.LabelOp(head))
        self.depth += 1
        self.targets.append([self.registers[argument] for argument, _, _ in carried])
        self._walk(block)
        self.targets.pop()
        self.location = op.location
        self._advance(induction, op.step)
        self._branch(head, "LTU", induction, op.ub)
        self.depth -= 1
        if None in known:
            self._emit(pto.LabelOp(exit_))
        self._release(block.args[0])
        for argument, result, _ in carried:
            if result.uses:
                self.registers[result] = self.registers.pop(argument)
            else:
                self._release(argument)

    def _start(self, initial: SSAValue, loop: scf.ForOp, dying: set[SSAValue]) -> int:
        """The register of what a loop carries, holding its first value; that of the first value if it ends here."""
        inside = [use for use in initial.uses if use.operation is loop or loop.is_ancestor(use.operation)]
        if initial in dying and initial in self.registers and len(inside) == 1 and inside[0].index not in (1, 2):
            register = self.registers[initial]
            if register not in _FIXED:
                del self.registers[initial]
                return register
        register = self.pool.take()
        self._move(register, initial)
        return register

    def _advance(self, induction: int, step: SSAValue) -> None:
        """Add a loop's step."""
        scaled = _scaled_step(step)
        if scaled is None:
            self._add(induction, step, lambda: induction)
            return
        register, factor = scaled
        with self._operand(factor) as scale:
            self._inst("MADD", RegDst=induction, SrcL=register, SrcR=scale, SrcD=induction)

    def yield_(self, op: scf.YieldOp) -> None:
        """Move carried index values to their registers; none is overwritten before it is read."""
        values = [v for v in op.operands if isinstance(v.type, IndexType)]
        moves = [(target, v) for target, v in zip(self.targets[-1], values) if self.registers.get(v) != target]
        while moves:
            read = {self.registers.get(value) for _, value in moves}
            free = [move for move in moves if move[0] not in read]
            if not free:
                self._exchange(moves)
                return
            for target, value in free:
                self._move(target, value)
            moves = [move for move in moves if move not in free]

    def _exchange(self, moves: Sequence[tuple[int, SSAValue]]) -> None:
        """Registers that wait for each other: all values are read before the first is overwritten."""
        staged = []
        for _, value in moves:
            register = self.pool.take()
            self._move(register, value)
            staged.append(register)
        for (target, _), register in zip(moves, staged):
            self._inst("C.MOVR", RegDst=target, SrcL=register)
            self.pool.give(register)

    def _branch(self, label: str, relation: str, register: int, bound: SSAValue) -> None:
        """Branch to ``label`` when ``register`` relates to ``bound``."""
        known = _constant(bound)
        immediate = None if known is None else _shifted(known)
        start = pto.InstOp(make("BSTART.COND"), label)
        stop = pto.InstOp(make("BSTOP"))
        if immediate is not None:
            test = make(f"SETC.{relation}I", SrcL=register, uimm12=immediate[0], shamt=immediate[1])
            self._emit(pto.BundleOp([start, pto.InstOp(test), stop]))
            return
        with self._operand(bound) as limit:
            test = make(f"SETC.{relation}", SrcL=register, SrcR=limit)
            self._emit(pto.BundleOp([start, pto.InstOp(test), stop]))

    def _move(self, register: int, value: SSAValue) -> None:
        known = _constant(value)
        if known is None:
            self._inst("C.MOVR", RegDst=register, SrcL=self.registers[value])
        elif -16 <= known < 16:
            self._inst("C.MOVI", RegDst=register, simm5=known)
        else:
            self._set(register, known)

    # -- index arithmetic -------------------------------------------------------------------------

    def add(self, op: arith.AddiOp) -> None:
        x, y = op.lhs, op.rhs
        if _constant(x) is not None:
            x, y = y, x
        self._add(self.registers[x], y, lambda: self._define(op.result))

    def _add(self, source: int, addend: SSAValue | int, target: Callable[[], int]) -> int:
        known = addend if isinstance(addend, int) else _constant(addend)
        if known is not None and 0 <= known < 1 << 24:
            register = target()
            if known < 1 << 12:
                self._inst("ADDI", RegDst=register, SrcL=source, uimm12=known)
            else:
                self._inst("HL.ADDI", RegDst=register, SrcL=source, uimm24=known)
            return register
        with self._operand(addend) as other:
            register = target()
            self._inst("ADD", RegDst=register, SrcL=source, SrcR=other, SrcRType=_NO_MODIFIER)
        return register

    def sub(self, op: arith.SubiOp) -> None:
        with self._operand(op.lhs) as x, self._operand(op.rhs) as y:
            self._inst("SUB", RegDst=self._define(op.result), SrcL=x, SrcR=y, SrcRType=_NO_MODIFIER)

    def mul(self, op: arith.MuliOp) -> None:
        x, y = op.lhs, op.rhs
        if _constant(x) is not None:
            x, y = y, x
        if _scaled_step(op.result) is not None:
            return
        known = _constant(y)
        if known is not None and known > 0 and known & (known - 1) == 0:
            source = self.registers[x]
            self._inst("SLLI", RegDst=self._define(op.result), SrcL=source, shamt=known.bit_length() - 1)
            return
        with self._operand(x) as left, self._operand(y) as right:
            self._inst("MUL", RegDst=self._define(op.result), SrcL=left, SrcR=right)

    def shift_right(self, op: arith.ShRUIOp) -> None:
        places = _constant(op.rhs)
        if places is None:
            reject(op, "arith.shrui by a computed number has no lowering to instructions")
        with self._operand(op.lhs) as x:
            self._inst("SRLI", RegDst=self._define(op.result), SrcL=x, shamt=places)

    def divide(self, op: arith.DivUIOp) -> None:
        with self._operand(op.lhs) as x, self._operand(op.rhs) as y:
            self._inst("DIVU", RegDst=self._define(op.result), SrcL=x, SrcR=y)

    def minimum(self, op: arith.MinUIOp) -> None:
        with self._operand(op.lhs) as x, self._operand(op.rhs) as y:
            self._inst("MINU", RegDst=self._define(op.result), SrcL=x, SrcR=y)

    def and_(self, op: arith.AndIOp) -> None:
        with self._operand(op.lhs) as x, self._operand(op.rhs) as y:
            self._inst("AND", RegDst=self._define(op.result), SrcL=x, SrcR=y, SrcRType=_NO_MODIFIER)

    def compare_index(self, op: arith.CmpiOp) -> None:
        relation = _RELATIONS.get(op.predicate.value.data)
        if relation is None:
            reject(op, f"arith.cmpi with predicate {op.predicate.value.data} has no lowering to instructions")
        with self._operand(op.lhs) as x, self._operand(op.rhs) as y:
            self._inst(f"CMP.{relation}", RegDst=self._define(op.result), SrcL=x, SrcR=y)

    def select(self, op: arith.SelectOp) -> None:
        with self._operand(op.cond) as c, self._operand(op.lhs) as x, self._operand(op.rhs) as y:
            self._inst("CSEL", RegDst=self._define(op.result), SrcP=c, SrcL=x, SrcR=y)

    def nothing(self, op: Operation) -> None:
        """Constants and addresses are made where they are used; a return has no code: the program halts at its end."""

    def launch_value(self, op: tile.PeIdOp | tile.CoreIdOp | tile.CoreCountOp) -> None:
        """A value that stands in a register of its own from the start."""
        self.registers[op.result] = _LAUNCH_REGISTERS[type(op)]

    # -- bundles ----------------------------------------------------------------------------------

    @contextmanager
    def _address(self, array: SSAValue, offset: SSAValue) -> Iterator[int]:
        """A register with the address of a byte of an array."""
        base, start = self._base(array)
        known = _constant(offset)
        if known is not None and known + start == 0:
            yield base
            return
        with self._scratch() as register:
            if known is not None:
                self._add(base, known + start, lambda: register)
            else:
                self._add(base, offset, lambda: register)
                if start:
                    self._add(register, start, lambda: register)
            yield register

    def _base(self, array: SSAValue) -> tuple[int, int]:
        """The register an array is reached from, and its static offset."""
        if isinstance(array.owner, tile.GetGlobalOp):
            return abi.DATA_REGISTER, self.data[array.owner.global_name.root_reference.data]
        if self.arena is not None:
            return abi.ARENA_REGISTER, self.arena[array]
        return abi.ARGUMENT_REGISTERS[self.number[array]], 0

    def _argument(self, array: SSAValue) -> int:
        """The number under which a bundle's accesses are known; constant data comes after the arrays."""
        return self.number.get(array, len(self.number))

    def _dimensions(self, *values: SSAValue) -> list[Instruction]:
        """B.DIM for LB0, LB1, … from index values."""
        dims = []
        for lb, value in enumerate(values):
            known = _constant(value)
            register = None if known is not None else self.registers[value]
            dims.append(bundles.dimension(lb, known or 0, register))
        return dims

    def _bundle(self, instructions: Sequence[Instruction], array: SSAValue | None) -> None:
        argument = None if array is None else self._argument(array)
        self._emit(pto.BundleOp([pto.InstOp(i) for i in instructions], argument))

    def load(self, op: tile.LoadOp) -> None:
        with self._address(op.source, op.offset) as base, self._operand(op.stride) as stride:
            for dims, mask in self._parts(op, 1, op.cols, op.rows):
                self._bundle(bundles.load(op, base, stride, dims, mask), op.source)

    def load_shared(self, op: tile.LoadSharedOp) -> None:
        with self._address(op.source, op.offset) as base, self._operand(op.stride) as stride:
            dims = self._dimensions(op.cols, op.rows, op.cols)
            self._bundle(bundles.load_shared(op, base, stride, dims), op.source)

    def view(self, op: tile.ViewOp) -> None:
        """Nothing: the offset is read by the bundle that uses the view."""

    def store(self, op: tile.StoreOp) -> None:
        with self._address(op.dest, op.offset) as base, self._operand(op.stride) as stride:
            for dims, mask in self._parts(op, 1, op.cols, op.rows):
                self._bundle(bundles.store(op, base, stride, dims, mask), op.dest)

    def _parts(self, op: tile.RowsOperation, lb: int, *sizes: SSAValue) -> Iterator[tuple[list[Instruction], int]]:
        """Dimensions and PE mask of the bundles of an operation: PEs with a full share, then the one with the rest.

        ``lb`` is the dimension that counts the rows of a PE.
        """
        pes, dims = op.pes.value.data, self._dimensions(*sizes)
        yield dims, prefix_mask(pes)
        if op.rest is not None:
            yield [*dims[:lb], bundles.dimension(lb, op.rest.value.data, None), *dims[lb + 1 :]], 1 << pes

    def compare(self, op: tile.CompareOp) -> None:
        self._bundle(bundles.compare(op, self._dimensions(op.cols, op.rows)), None)

    def scatter(self, op: tile.ScatterOp) -> None:
        with self._address(op.dest, op.offset) as base:
            self._bundle(bundles.scatter(op, base, self._dimensions(op.cols, op.rows)), op.dest)

    def operation(self, op: tile.OperationOp) -> None:
        with ExitStack() as held:
            registers = []
            if op.array is not None and op.offset is not None:
                registers.append(held.enter_context(self._address(op.array, op.offset)))
            registers += [held.enter_context(self._operand(scalar)) for scalar in op.scalars]
            self._bundle(bundles.operation(op, self._dimensions(*op.size), registers), op.array)

    def matmul(self, op: tile.MatmulOp) -> None:
        with ExitStack() as held:
            words = [held.enter_context(self._operand(w)) for w in op.post_processing.words(op.pre_quant_mode)]
            view = held.enter_context(self._operand(op.a.owner.offset)) if isinstance(op.a.owner, tile.ViewOp) else None
            for dims, mask in self._parts(op, 0, op.m, op.n, op.k):
                self._bundle(bundles.matmul(op, dims, words, mask, view), None)


def _scaled_step(step: SSAValue) -> tuple[int, SSAValue] | None:
    """Register and factor of a loop step that is a multiple of a launch register: the loop multiplies as it advances.

    So the step takes no register while the loop runs. ``None`` for values with other uses.
    """
    op = step.owner
    if not isinstance(op, arith.MuliOp) or not isinstance(op.lhs.owner, tuple(_LAUNCH_REGISTERS)):
        return None
    steps = all(isinstance(use.operation, scf.ForOp) and use.operation.step is step for use in step.uses)
    known = steps and _constant(op.rhs) is not None
    return (_LAUNCH_REGISTERS[type(op.lhs.owner)], op.rhs) if known else None


def _shifted(value: int) -> tuple[int, int] | None:
    """A number as the 12-bit immediate and shift of a condition, if it has that form."""
    shift = max(0, (value & -value).bit_length() - 1) if value >= 1 << 12 else 0
    return (value >> shift, shift) if value >= 0 and value >> shift < 1 << 12 and shift < 32 else None


def _last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """For each operation of a block, the block's values that are used last by it or inside it."""
    position = {op: n for n, op in enumerate(block.ops)}
    last: dict[Operation, list[SSAValue]] = {}
    for op in block.ops:
        for value in op.results:
            users = [_ancestor_in(op, block) for op in _readers(value)]
            if users:
                last.setdefault(max(users, key=position.__getitem__), []).append(value)
    return last


def _readers(value: SSAValue) -> Iterator[Operation]:
    """Operations whose instructions read a value: a view is read by the bundles that use it."""
    for use in value.uses:
        yield use.operation
        if isinstance(use.operation, tile.ViewOp):
            yield from (each.operation for each in use.operation.result.uses)


def _ancestor_in(op: Operation, block: Block) -> Operation:
    ancestor = block.find_ancestor_op_in_block(op)
    assert ancestor is not None
    return ancestor


_LOWERINGS: dict[type[Operation], Callable[[_Lowering, Operation], None]] = {
    scf.ForOp: _Lowering.loop,
    arith.AddiOp: _Lowering.add,
    arith.SubiOp: _Lowering.sub,
    arith.MuliOp: _Lowering.mul,
    arith.ShRUIOp: _Lowering.shift_right,
    arith.DivUIOp: _Lowering.divide,
    arith.MinUIOp: _Lowering.minimum,
    arith.AndIOp: _Lowering.and_,
    arith.CmpiOp: _Lowering.compare_index,
    arith.SelectOp: _Lowering.select,
    arith.ConstantOp: _Lowering.nothing,
    tile.GetGlobalOp: _Lowering.nothing,
    scf.YieldOp: _Lowering.yield_,
    func.ReturnOp: _Lowering.nothing,
    **dict.fromkeys(_LAUNCH_REGISTERS, _Lowering.launch_value),
    tile.LoadOp: _Lowering.load,
    tile.LoadSharedOp: _Lowering.load_shared,
    tile.ViewOp: _Lowering.view,
    tile.QueueOp: _Lowering.nothing,
    tile.PushOp: _Lowering.nothing,
    tile.PopOp: _Lowering.nothing,
    tile.StoreOp: _Lowering.store,
    tile.CompareOp: _Lowering.compare,
    tile.ScatterOp: _Lowering.scatter,
    tile.OperationOp: _Lowering.operation,
    tile.MatmulOp: _Lowering.matmul,
}  # type: ignore[dict-item]
