"""The simulator: fetch, the step loop, block completion, and what one can set and observe."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.image import LineRow, unpack
from ptoc.isa.instruction_set import instruction_length
from ptoc.isa.registers import GPR, GPR_COUNT, PE_COUNT
from ptoc.isa.revisions import instruction_set
from ptoc.runtime.bundle import Bundle, LocalBinding, SharedBinding
from ptoc.runtime.core import Core, Counters, Windows
from ptoc.runtime.decode import compile_step, resembles_start
from ptoc.runtime.errors import SimulatorError, WaitForShared
from ptoc.runtime.lanes import MASK64, Lanes, lane, lanes
from ptoc.runtime.memory import Memory
from ptoc.runtime.operations import execute
from ptoc.runtime.scalar import Step
from ptoc.runtime.tiles import LocalTiles, Tile

DEFAULT_LOAD_ADDRESS = 0x10000
Status = Literal["halted", "fault", "waiting", "limit"]


@dataclass(frozen=True)
class FaultReport:
    """A fault as the program's owner wants to see it.

    ``bundle`` is the number of the block start it belongs to (counted from 0 as executed), ``text`` the words
    of that block, ``source`` the user's line where the image has lines.
    """

    kind: FaultKind
    address: int
    rule: str
    pc: int
    bpc: int
    bundle: int
    text: tuple[str, ...] = ()
    source: str | None = None

    def __str__(self) -> str:
        where = f" [{self.source}]" if self.source else ""
        at = f"{self.kind} at {self.address:#x} in bundle {self.bundle} (pc {self.pc:#x})"
        return f"{at}: {self.rule}{where}"


@dataclass(frozen=True)
class Outcome:
    """Why a run ended, after how many instructions; ``bundle`` is the one that waits or faulted."""

    status: Status
    fault: FaultReport | None
    steps: int
    bundle: int | None = None


class Machine:
    """One core: four PEs in lockstep, global memory, Shared tiles.

    ``memory`` defaults to an empty address space. ``strict_rings`` makes a seventeenth generation of a hand
    a fault instead of retiring the oldest. ``windows`` limits the memory accesses of a bundle, by code offset
    of its block start: one ``Window``, or one per PE.
    """

    def __init__(
        self,
        *,
        memory: Memory | None = None,
        load_address: int = DEFAULT_LOAD_ADDRESS,
        strict_rings: bool = False,
    ) -> None:
        self.core = Core(memory or Memory(), strict_rings=strict_rings)
        self.regs: list[Lanes | None] = self.core.regs
        self.load_address = load_address
        self.load(b"")

    # Launching

    def load(self, code: bytes, *, entry: int = 0, isa: str | None = None) -> None:
        """Install a program and set the machine to its start; tiles, memory and GPRs stay.

        ``entry`` is the offset of the first instruction, ``isa`` the revision of the instruction set that the
        code is of (without it the newest); ``RevisionError`` when there is none of that name. The return
        address and ``ra`` become the halt address.
        """
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
        self._steps: dict[int, Step] = {}
        self._executed = 0
        self.core.load_address = self.load_address
        self.core.plans.clear()

    def load_image(self, image: bytes) -> None:
        """Install a whole program image, with its source lines; its data is the launcher's to map."""
        unpacked = unpack(image)
        self.load(unpacked.code, entry=unpacked.entry, isa=unpacked.isa)
        self.lines = unpacked.lines

    @property
    def memory(self) -> Memory:
        return self.core.memory

    @property
    def windows(self) -> Windows:
        return self.core.windows

    @property
    def flags(self) -> int:
        """Accumulated numeric status: NV 1, DZ 2, OF 4, UF 8, NX 16."""
        return self.core.flags

    @property
    def counters(self) -> Counters:
        counters = self.core.counters
        counters.peak_local_bytes = max(tiles.peak for tiles in self.core.local)
        counters.peak_shared_bytes = self.core.shared.peak
        return counters

    @property
    def gpr(self) -> tuple[GprFile, ...]:
        """The private register files, ``gpr[pe][code]``."""
        return tuple(GprFile(self, pe) for pe in range(PE_COUNT))

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

    def tiles(self, pe: int) -> LocalTiles:
        """The Local tiles of one PE; iterate for (hand, distance, tile)."""
        return self.core.local[pe]

    def shared_tile(self, number: int) -> Tile | None:
        """The published object S0..S63 of a number, if there is one."""
        published = self.core.shared.tiles.get(number)
        return None if published is None else published.tile

    # Running

    def run(self, max_steps: int | None = None) -> Outcome:
        """Execute until the program halts, faults, waits, or has made ``max_steps`` steps."""
        limit = -1 if max_steps is None else max_steps
        steps = self._steps
        pc = self.pc
        count = 0
        try:
            while count != limit:
                step = steps.get(pc)
                if step is None:
                    if pc == self.halt_address and self.block is None and self._executed + count:
                        return self._stop("halted", pc, count)
                    step = self._decode(pc)
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

    def bundle_text(self, pc: int) -> tuple[str, ...]:
        """The active block, or the word at ``pc``, as assembly text."""
        start = pc if self.block is None else self.block.address
        lines: list[str] = []
        offset = start - self.load_address
        while offset <= pc - self.load_address or not lines:
            inst = self.isa.decode(self.code, offset)
            if inst is None:
                break
            lines.append(self.isa.format(inst))
            offset += inst.length
        return tuple(lines)

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
        self._steps[pc] = step
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
                self._source(pc),
            )
        if fault is None or fault.kind != FaultKind.BundlePostCommit:
            self.pc = pc
        return Outcome(status, report, count, None if status in ("halted", "limit") else self._number())

    def _source(self, pc: int) -> str | None:
        at = bisect_right(self.lines, pc - self.load_address, key=lambda row: row.offset)
        row = self.lines[at - 1] if at else None
        return f"{row.file}:{row.line}" if row is not None and row.line else None


@dataclass(frozen=True)
class GprFile:
    """The registers of one PE as a sequence."""

    _machine: Machine = field(repr=False)
    pe: int

    def __getitem__(self, code: int) -> int:
        return lane(self._machine.regs[code] or 0, self.pe)

    def __setitem__(self, code: int, value: int) -> None:
        self._machine.set_gpr(code, value, self.pe)

    def __len__(self) -> int:
        return GPR_COUNT
