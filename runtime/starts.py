"""Block starts as steps: complete the block before, then open a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptoc.isa.dtypes import BY_CODE
from ptoc.isa.encoding import Instruction
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.operations import operation_of
from ptoc.isa.registers import GPR
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.lanes import MASK64
from ptoc.runtime.scalar import Step

if TYPE_CHECKING:
    from ptoc.runtime.processor import Processor


def _transfer(inst: Instruction) -> str:
    """The transfer kind a block start asks for."""
    key = inst.key
    if key in ("C.BSTART.STD", "C.BSTART.FP"):
        return {1: "FALL", 5: "IND", 7: "RET"}[inst["BrType"]]
    last = key.rsplit(".", 1)[-1]
    return last if last in ("DIRECT", "COND", "IND", "RET", "CALL", "ICALL") else "FALL"


def _block_kind(inst: Instruction) -> str:
    key = inst.key.removeprefix("C.")
    if operation_of(inst) is not None:
        return "TILE"
    if key.startswith("BSTART.FP"):
        return "FP"
    if key == "B.HINT.TRACE" or key.startswith("BSTART.SYS"):
        return "SYS"
    return "STD"


def compile_start(inst: Instruction, pc: int, following: int) -> Step:
    """The step of a block start at ``pc``.

    Its own target is checked first, then the active block completes; if that block branches away, the start
    is not executed.
    """
    operation = operation_of(inst)
    if inst.key == "BSTART.TEPL" and operation is None:
        return _start_fault(FaultKind.IllegalInstruction, "the selector names no operation")
    kind, transfer = _block_kind(inst), _transfer(inst)
    dtype = BY_CODE.get(inst["DataType"]) if operation is not None else None
    distance = next((inst[f.name] for f in inst.form.fields if f.name.startswith("simm")), 0)
    target = pc + 2 * distance & MASK64
    return_address = pc + 2 + 2 * inst["uimm5"] if transfer in ("CALL", "ICALL") else None

    def step(m: Processor) -> int:
        block = m.block
        goal = target
        if transfer != "FALL":
            m.started += 1
            goal = _goal(m, block, transfer, target)
            m.started -= 1
        if block is not None:
            resume = m.complete(pc)
            if resume != pc:
                return resume
        m.block = Bundle(pc, m.started, kind, transfer, goal, transfer != "COND", operation, dtype)
        m.started += 1
        if return_address is not None:
            m.regs[GPR["ra"]] = m.return_address = return_address
        return following

    return step


def _goal(m: Processor, block: Bundle | None, transfer: str, target: int) -> int:
    """The candidate target of a new block; odd ones fault before the old block completes."""
    if transfer in ("IND", "ICALL"):
        if block is None or block.kind not in ("STD", "FP"):
            raise Fault(FaultKind.BundleControl, f"{transfer} takes the target of an active standard block")
        target = block.target
    elif transfer == "RET":
        target = m.return_address
    if target & 1:
        raise Fault(FaultKind.InstructionPC, f"the target {target:#x} is odd", target)
    return target


def _start_fault(kind: FaultKind, rule: str) -> Step:
    def step(m: Processor) -> int:
        m.started += 1
        raise Fault(kind, rule)

    return step
