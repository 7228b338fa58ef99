"""Instructions as executable steps: one closure per static instruction, made when it is first reached.

A step takes the machine and returns the next PC. Everything that depends on the word alone is worked out once,
when the step is made; what remains in it are the checks and effects of execution, in the machine's order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ptoc.isa.commands import STARTS, STOPS
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.forms import Form, Instruction
from ptoc.runtime.errors import UnsupportedOperation
from ptoc.runtime.header import COMMANDS
from ptoc.runtime.scalar import Step, compile_scalar
from ptoc.runtime.starts import compile_start

if TYPE_CHECKING:
    from ptoc.runtime.processor import Processor


def compile_step(inst: Instruction, pc: int) -> Step:
    """The step of the instruction at ``pc``."""
    following = pc + inst.length
    if inst.form.tier == "reserved":
        return _reserved(inst.key)
    if inst.form.kind == "scalar":
        return compile_scalar(inst, pc, following)
    if inst.key in STARTS:
        return compile_start(inst, pc, following)
    if inst.key in STOPS:
        return lambda m: m.complete(following)
    maker = COMMANDS.get(inst.key)
    if maker is None:
        raise UnsupportedOperation(f"{inst.key} is not simulated")
    return maker(inst, following)


_FAMILY_BITS = 0xF_FFFF
"""The bits that make a word the typed start of an engine's operations, whatever it selects there."""


def resembles_start(forms: Iterable[Form], word: int, length: int) -> bool:
    """Whether an undecodable word is a block start with an illegal field or selector, which counts as a start."""
    starts = [form for form in forms if form.length == length and form.key in STARTS]
    typed = [form for form in starts if "DataType" in form.position]
    return any((word ^ form.match) & form.mask == 0 for form in starts) or any(
        (word ^ form.match) & form.mask & _FAMILY_BITS == 0 for form in typed
    )


def _reserved(key: str) -> Step:
    def step(m: Processor) -> int:
        raise Fault(FaultKind.IllegalInstruction, f"{key} is reserved")

    return step
