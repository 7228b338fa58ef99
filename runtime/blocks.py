"""Block starts with the header commands behind them as one step.

What a header command records depends on its word alone, except for dimensions in registers. So the commands behind a
start are executed once, on a processor that does nothing else, and every later block begins as a copy of what they
left. A header that faults, or that reads other registers, stays a row of single steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptoc.isa.faults import Fault
from ptoc.runtime.core import Core
from ptoc.runtime.header import COMMANDS
from ptoc.runtime.memory import Memory
from ptoc.runtime.scalar import Step

if TYPE_CHECKING:
    from ptoc.runtime.processor import Processor


def compile_block(processor: Processor, pc: int, start: Step) -> Step | None:
    """The step of the whole header that begins with ``start`` at ``pc``; ``None`` when there is no such header."""
    scratch = type(processor)(Core(Memory(), {}), processor.load_address)
    scratch.regs[1:] = [None] * (len(scratch.regs) - 1)
    dimensions: list[tuple[int, Step]] = []
    commands = 0
    try:
        end = start(scratch)
        while (inst := processor.peek(end)) is not None and inst.key in COMMANDS:
            step, register = processor.step_of(end), inst["RegSrc"] if inst.key.startswith("B.DIM") else 0
            if register:
                dimensions.append((int(inst.key[-1]), step))
                scratch.regs[register] = 0
            end = step(scratch)
            if register:
                scratch.regs[register] = None
            commands += 1
    except Fault:
        return None
    template = scratch.block
    if template is None or template.operation is None or template.transfer != "FALL" or not commands:
        return None
    for index, _ in dimensions:
        template.dims[index] = None
    later = [step for _, step in dimensions]

    def whole(m: Processor) -> int:
        if m.block is not None:
            return start(m)
        m.begin(template.copy(m.started), commands, scratch)
        for step in later:
            step(m)
        return end

    return whole
