"""One core: fetch, the step loop, block completion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ptoc.isa.commands import STARTS
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.forms import Instruction
from ptoc.isa.image import LineRow
from ptoc.isa.instruction_set import InstructionSet, instruction_length
from ptoc.isa.registers import GPR, GPR_COUNT, PE_COUNT
from ptoc.isa.revisions import instruction_set
from ptoc.runtime.blocks import compile_block
from ptoc.runtime.bundle import Bundle, LocalBinding, SharedBinding
from ptoc.runtime.core import Core, Plans
from ptoc.runtime.decode import compile_step, resembles_start
from ptoc.runtime.errors import SimulatorError, WaitForShared
from ptoc.runtime.lanes import MASK64, Lanes, lane, lanes
from ptoc.runtime.listing import block_text, instructions, source_line
from ptoc.runtime.operations import execute
from ptoc.runtime.outcome import FaultReport, Outcome, Status
from ptoc.runtime.scalar import Step

_PROGRAM = frozenset({"core", "code", "lines", "isa", "load_address", "_program"})
_SURROUNDINGS = frozenset({"memory", "windows", "plans", "freedom", "load_address"})
_KEPT_CODE = 1 << 16
"""Bytes of the largest program whose steps outlive a launch; they take some hundred times the room of their words."""


class _Program:
    """What is known of a program, by address; it is the same on every core and launch.

    ``steps`` are single instructions, as far as they are decoded, ``blocks`` the same with whole headers as one step.
    A block is put together when it is met again, so that code that runs once is not worked out twice.
    """

    def __init__(self) -> None:
        self.steps: dict[int, Step] = {}
        self.blocks: dict[int, Step] = {}
        self.plans: Plans = {}


@lru_cache(maxsize=16)
def _program_of(isa: InstructionSet, code: bytes, load_address: int) -> _Program:
    return _Program()


class Processor:
    """The instruction stream of one core; its four PEs run in lockstep.

    Registers, memory and tiles are those of ``core``, which also says how the architecture's freedom is used.
    """

    def __init__(self, core: Core, load_address: int) -> None:
        self.core = core
        self.regs: list[Lanes | None] = core.regs
        self.load_address = load_address
        self.load(b"")

    def load(self, code: bytes, *, entry: int = 0, isa: str | None = None) -> None:
        """``Machine.load`` on this core."""
        self.isa = instruction_set(isa)
        self.code = code
        self.lines: Sequence[LineRow] = ()
        self.halt_address = self.load_address + len(code)
        self.pc = self.load_address + entry
        self.block: Bundle | None = None
        self.started = 0
        self.return_address = self.halt_address
        self.regs[GPR["ra"]] = self.halt_address
        self.group_role = -1
        self._group: LocalBinding | SharedBinding | None = None
        self._group_end = -1
        self.merged = 0
        kept = len(code) <= _KEPT_CODE
        self._program = _program_of(self.isa, code, self.load_address) if kept else _Program()
        self._executed = 0
        self.core.load_address = self.load_address
        self.core.plans = self._program.plans

    def set_gpr(self, register: str | int, value: int, pe: int | None = None) -> None:
        """Set a GPR, named or by code, on one PE or on all."""
        code = GPR[register] if isinstance(register, str) else register
        if not 0 <= code < GPR_COUNT:
            raise ValueError(f"no GPR {register}")
        if code == 0:
            return
        value &= MASK64
        if pe is None:
            self.regs[code] = value
            return
        current = [lane(self.regs[code] or 0, i) for i in range(PE_COUNT)]
        current[pe] = value
        self.regs[code] = lanes(current)

    def run(self, max_steps: int | None = None) -> Outcome:
        """Execute until the program halts, faults, waits, or has made ``max_steps`` steps."""
        limit = -1 if max_steps is None else max_steps
        single = max_steps is not None
        steps = self._program.steps if single else self._program.blocks
        pc = self.pc
        count = self.merged = 0
        try:
            while count != limit:
                step = steps.get(pc)
                if step is None:
                    if pc == self.halt_address and self.block is None and self._executed + count:
                        return self._stop("halted", pc, count)
                    step = self._decode(pc) if single else self._block(pc)
                pc = step(self)
                count += 1
            if pc == self.halt_address and self.block is None and self._executed + count:
                return self._stop("halted", pc, count)
            return self._stop("limit", pc, count)
        except Fault as fault:
            return self._stop("fault", pc, count + 1, fault)
        except WaitForShared:
            return self._stop("waiting", pc, count)
        except SimulatorError as error:
            self._stop("limit", pc, count)
            error.add_note(f"at pc {pc:#x}, bundle {self._number()}: {'; '.join(self.bundle_text(pc))}")
            raise

    def step_at(self, pc: int) -> Outcome:
        """Execute the one instruction at ``pc``, wherever the last one went."""
        self.pc = pc
        return self.run(1)

    def complete(self, continuation: int) -> int:
        """End the active block and return where control goes; the transaction of the whole bundle."""
        block = self.block
        if block is None:
            raise Fault(FaultKind.BundleControl, "there is no block to complete")
        resume = block.target if block.jumps else continuation
        if resume & 1:
            raise Fault(FaultKind.InstructionPC, f"the block continues at odd {resume:#x}", resume)
        operation = block.operation
        if block.dimension_reduction and (operation is None or operation.family == "CUBE"):
            raise Fault(FaultKind.BundleControl, "B.CATR dr does not belong to this block")
        if operation is not None:
            execute(self.core, block)
            for observer in self.core.observers:
                observer.completed(self.core, block)
        self.block = None
        if block.trap:
            self.pc = resume
            raise Fault(FaultKind.BundlePostCommit, "B.CATR trap", resume)
        return resume

    def enter_body(self) -> None:
        """What every scalar instruction does first."""
        self.core.counters.scalar_instructions += 1
        if self.block is not None:
            self.block.body = True

    def open_group(self, end: int, binding: LocalBinding | SharedBinding | None) -> None:
        """Start a range group after a binder; ``None`` stands for a binder that selects no PE."""
        self._group, self._group_end, self.group_role = binding, end, -1

    def continue_group(self, end: int, role: int) -> int:
        """Keep the group open behind a modifier; returns the next address."""
        self._group_end, self.group_role = end, role
        return end

    def group(self, pc: int) -> LocalBinding | SharedBinding | None:
        """The binder that a range modifier at ``pc`` changes: the one directly before it."""
        if self._group_end != pc:
            raise Fault(FaultKind.BundleControl, "a range modifier follows its binding directly")
        return self._group

    def described(self, address: int) -> tuple[tuple[str, ...], str | None]:
        """The text and the source line of the block that starts at an address."""
        offset = address - self.load_address
        return block_text(self.isa, self.code, offset), source_line(self.lines, offset)

    def state(self) -> dict[str, Any]:
        """What running changes, to be restored here, in another process or in a copy; memory is not part of it."""
        own = {name: value for name, value in vars(self).items() if name not in _PROGRAM}
        return own | {"core": {name: value for name, value in vars(self.core).items() if name not in _SURROUNDINGS}}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a ``state``."""
        vars(self.core).update(state["core"])
        vars(self).update({name: value for name, value in state.items() if name != "core"})

    def bundle_text(self, pc: int) -> tuple[str, ...]:
        """The active block, or the word at ``pc``, as assembly text."""
        start = pc if self.block is None else self.block.address
        return instructions(self.isa, self.code, start - self.load_address, max(start, pc) - self.load_address)

    def begin(self, block: Bundle, commands: int, scratch: Processor) -> None:
        """Open a block behind ``commands`` header commands, which have left ``scratch`` with their last group."""
        self.block = block
        self.started += 1
        self.merged += commands
        self._group, self._group_end, self.group_role = scratch._group, scratch._group_end, scratch.group_role

    def peek(self, pc: int) -> Instruction | None:
        """The instruction at an address, if there is one."""
        offset = pc - self.load_address
        length = self._fetch_length(offset)
        if length is None:
            return None
        return self.isa.decode_word(int.from_bytes(self.code[offset : offset + length], "little"), length)

    def step_of(self, pc: int) -> Step:
        """The step of the one instruction at an address; a fault where there is none."""
        return self._program.steps.get(pc) or self._decode(pc)

    def _block(self, pc: int) -> Step:
        """The step of the instruction at an address, or of the whole header that it begins."""
        step = self._program.steps.get(pc)
        if step is None:
            return self._decode(pc)
        inst = self.peek(pc)
        if inst is not None and inst.key in STARTS:
            step = compile_block(self, pc, step) or step
        self._program.blocks[pc] = step
        return step

    def _decode(self, pc: int) -> Step:
        offset = pc - self.load_address
        if pc & 1:
            raise Fault(FaultKind.InstructionPC, f"odd program counter {pc:#x}", pc)
        length = self._fetch_length(offset)
        if length is None:
            raise Fault(FaultKind.InstructionPage, f"no instruction at {pc:#x}", pc)
        word = int.from_bytes(self.code[offset : offset + length], "little")
        inst = self.isa.decode_word(word, length)
        if inst is None:
            if resembles_start(self.isa.forms, word, length):
                self.started += 1
            raise Fault(FaultKind.IllegalInstruction, f"the word {word:#0{2 * length + 2}x} does not decode")
        step = compile_step(inst, pc)
        self._program.steps[pc] = step
        return step

    def _fetch_length(self, offset: int) -> int | None:
        """Bytes of the instruction at a code offset; ``None`` when they are not all in the image."""
        left = len(self.code) - offset
        if offset < 0 or left < 2:
            return None
        code = self.code
        first = code[offset] | code[offset + 1] << 8
        second = code[offset + 2] | code[offset + 3] << 8 if left >= 4 else 0
        length = instruction_length(first, second)
        return length if length <= left else None

    def _number(self) -> int:
        return max(self.started - 1, 0)

    def _stop(self, status: Status, pc: int, count: int, fault: Fault | None = None) -> Outcome:
        count += self.merged
        self._executed += count
        report = None
        if fault is not None:
            address = pc if fault.address is None else fault.address
            report = FaultReport(
                fault.kind,
                address,
                fault.rule,
                pc,
                self.block.address if self.block else 0,
                self._number(),
                self.bundle_text(pc),
                source_line(self.lines, pc - self.load_address),
                self.core.number,
                getattr(fault, "pe", None),
                getattr(fault, "element", None),
            )
        if fault is None or fault.kind != FaultKind.BundlePostCommit:
            self.pc = pc
        bundle = None if status in ("halted", "limit") else self._number()
        outcome = Outcome(status, report, count, bundle, self.core.number)
        for observer in self.core.observers:
            observer.ended(self.core, outcome)
        return outcome
