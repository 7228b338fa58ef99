"""Scalar instructions as closures over the four PEs' registers.

``regs`` holds GPR 0..23, then the queue entries t#1..t#4 and u#1..u#4 (``None`` until pushed), so a five-bit
source code is its own index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ptoc.isa.encoding import Instruction
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.registers import GPR_COUNT
from ptoc.runtime.errors import SimulatorError
from ptoc.runtime.lanes import MASK64, Lanes, apply, uniform

if TYPE_CHECKING:
    from ptoc.runtime.processor import Processor

Step = Callable[["Processor"], int]
Arithmetic = Callable[..., int]

T_QUEUE, U_QUEUE = 24, 28
PUSH_U, PUSH_T = 30, 31
_SIGN = 1 << 63
_PES = (0, 1, 2, 3)


def _signed(value: int) -> int:
    return value - (1 << 64) if value & _SIGN else value


def _sign_extend32(value: int) -> int:
    return ((value & 0xFFFF_FFFF) ^ 0x8000_0000) - 0x8000_0000 & MASK64


def _zero_extend32(value: int) -> int:
    return value & 0xFFFF_FFFF


def _same(value: int) -> int:
    return value


def _negate(value: int) -> int:
    return -value & MASK64


def _complement(value: int) -> int:
    return ~value & MASK64


_ARITHMETIC_MODIFIER = (_sign_extend32, _zero_extend32, _negate, _same)
_LOGICAL_MODIFIER = (_sign_extend32, _zero_extend32, _complement, _same)
_COMPARE_MODIFIER = (_same, _sign_extend32, _zero_extend32, _same)
_SELECT_MODIFIER = (_same, _same, _same, _negate)

_BINARY: dict[str, Arithmetic] = {
    "ADD": lambda a, b: a + b & MASK64,
    "SUB": lambda a, b: a - b & MASK64,
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
    "SLL": lambda a, b: a << (b & 63) & MASK64,
    "SRL": lambda a, b: a >> (b & 63),
    "SRA": lambda a, b: _signed(a) >> (b & 63) & MASK64,
    "MUL": lambda a, b: a * b & MASK64,
    "DIVU": lambda a, b: a // b if b else 0,
    "REMU": lambda a, b: a % b if b else a,
    "MAX": lambda a, b: a if _signed(a) > _signed(b) else b,
    "MAXU": lambda a, b: a if a > b else b,
    "MIN": lambda a, b: a if _signed(a) < _signed(b) else b,
    "MINU": lambda a, b: a if a < b else b,
}

_RELATION: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: _signed(a) < _signed(b),
    "GE": lambda a, b: _signed(a) >= _signed(b),
    "LTU": lambda a, b: a < b,
    "GEU": lambda a, b: a >= b,
}

_IMMEDIATE = {
    "ADDI": ("ADD", "uimm12"), "SUBI": ("SUB", "uimm12"), "ANDI": ("AND", "simm12"), "ORI": ("OR", "simm12"),
    "XORI": ("XOR", "simm12"), "SRLI": ("SRL", "shamt"), "SRAI": ("SRA", "shamt"), "SLLI": ("SLL", "shamt"),
    "HL.ADDI": ("ADD", "uimm24"), "HL.SUBI": ("SUB", "uimm24"),
}  # fmt: skip


def compile_scalar(inst: Instruction, pc: int, following: int) -> Step:
    """The step that executes a scalar instruction at ``pc``; ``following`` is the address after it."""
    key = inst.key
    if key in ("J", "JR"):
        return _jump(inst, pc)
    if key in ("SETC.TGT", "C.SETC.TGT"):
        return _set_target(inst["SrcL"], key == "C.SETC.TGT", following)
    if key.startswith(("SETC.", "C.SETC.")):
        return _set_condition(*_condition(inst), following)
    sources, function = _computation(inst, pc)
    return _compute(sources, function, inst["RegDst"], following)


def _computation(inst: Instruction, pc: int) -> tuple[tuple[int, ...], Arithmetic]:
    """Source codes and the function of their values that an instruction computes."""
    key = inst.key
    constant = _constant(inst, pc)
    if constant is not None:
        return (), lambda: constant
    if key == "C.MOVR":
        return (inst["SrcL"],), _same
    if key in _IMMEDIATE:
        name, field = _IMMEDIATE[key]
        function, immediate = _BINARY[name], inst[field] & MASK64
        return (inst["SrcL"],), lambda a: function(a, immediate)
    pair = inst["SrcL"], inst["SrcR"]
    if key == "MADD":
        return (*pair, inst["SrcD"]), lambda a, b, c: c + a * b & MASK64
    if key == "CSEL":
        prepare = _SELECT_MODIFIER[inst["SrcRType"]]
        return (inst["SrcP"], *pair), lambda p, a, b: a if p else prepare(b)
    if key.startswith("CMP."):
        prepare, relation = _COMPARE_MODIFIER[inst["SrcRType"]], _RELATION[key[4:]]
        return pair, lambda a, b: int(relation(a, prepare(b)))
    if key not in _BINARY:
        raise SimulatorError(f"no meaning for the scalar instruction {key}")
    function = _BINARY[key]
    if key in ("ADD", "SUB"):
        return pair, _prepared(function, _ARITHMETIC_MODIFIER[inst["SrcRType"]], inst["shamt"])
    if key in ("AND", "OR", "XOR"):
        return pair, _prepared(function, _LOGICAL_MODIFIER[inst["SrcRType"]], inst["shamt"])
    return pair, function


def _prepared(function: Arithmetic, modifier: Arithmetic, shift: int) -> Arithmetic:
    """A binary function whose right operand is modified and shifted first."""
    if modifier is _same and not shift:
        return function
    return lambda a, b: function(a, modifier(b) << shift & MASK64)


def _constant(inst: Instruction, pc: int) -> int | None:
    key = inst.key
    if key == "LUI":
        return inst["imm20"] << 12 & MASK64
    if key == "ADDTPC":
        return pc + (inst["imm20"] << 12) & MASK64
    if key == "C.MOVI":
        return inst["simm5"] & MASK64
    if key == "HL.LIS":
        return inst["simm32"] & MASK64
    if key == "HL.LIU":
        return inst["uimm32"]
    return inst["imm"] << 32 if key == "HL.LUI" else None


def _compute(sources: tuple[int, ...], function: Arithmetic, destination: int, following: int) -> Step:
    write = _writer(destination)
    if not sources:
        constant = function()

        def load(m: Processor) -> int:
            m.enter_body()
            write(m.regs, constant)
            return following

        return load
    if len(sources) == 1:
        only = sources[0]

        def unary(m: Processor) -> int:
            m.enter_body()
            a = m.regs[only]
            write(m.regs, function(a) if type(a) is int else apply(function, (a,)))
            return following

        return unary

    def general(m: Processor) -> int:
        m.enter_body()
        regs = m.regs
        write(regs, apply(function, [regs[source] for source in sources]))
        return following

    if len(sources) != 2:
        return general
    left, right = sources

    def binary(m: Processor) -> int:
        m.enter_body()
        regs = m.regs
        a, b = regs[left], regs[right]
        if type(a) is int and type(b) is int:
            write(regs, function(a, b))
        else:
            write(regs, apply(function, (a, b)))
        return following

    return binary


def _writer(destination: int) -> Callable[[list[Lanes | None], Lanes], None]:
    """How a five-bit destination code stores a result: a GPR, a push, or nowhere."""

    def register(regs: list[Lanes | None], value: Lanes) -> None:
        regs[destination] = value

    def push_t(regs: list[Lanes | None], value: Lanes) -> None:
        regs[T_QUEUE:U_QUEUE] = [value, *regs[T_QUEUE : U_QUEUE - 1]]

    def push_u(regs: list[Lanes | None], value: Lanes) -> None:
        regs[U_QUEUE:] = [value, *regs[U_QUEUE:-1]]

    def discard(regs: list[Lanes | None], value: Lanes) -> None:
        pass

    if destination == PUSH_T:
        return push_t
    if destination == PUSH_U:
        return push_u
    return register if 1 <= destination < GPR_COUNT else discard


def _condition(inst: Instruction) -> tuple[tuple[int, ...], Arithmetic]:
    name = inst.key.split("SETC.")[1]
    if name.endswith("I"):
        relation = _RELATION[name[:-1]]
        value = inst["uimm12"] if name in ("LTUI", "GEUI") else inst["simm12"]
        immediate = value << inst["shamt"] & MASK64
        return (inst["SrcL"],), lambda a: int(relation(a, immediate))
    relation = _RELATION[name]
    prepare = _same if inst.key.startswith("C.") else _COMPARE_MODIFIER[inst["SrcRType"]]
    return (inst["SrcL"], inst["SrcR"]), lambda a, b: int(relation(a, prepare(b)))


def _set_condition(sources: tuple[int, ...], function: Arithmetic, following: int) -> Step:
    def step(m: Processor) -> int:
        m.enter_body()
        block = m.block
        if block is None or block.transfer != "COND" or block.condition_set:
            raise Fault(FaultKind.BundleControl, "a condition needs a COND block that has none yet")
        value = uniform(apply(function, [m.regs[source] for source in sources]), _PES, "condition")
        block.taken = bool(value)
        block.condition_set = True
        return following

    return step


def _set_target(source: int, once: bool, following: int) -> Step:
    def step(m: Processor) -> int:
        m.enter_body()
        block = m.block
        if block is None or block.kind not in ("STD", "FP") or (once and block.target_set):
            raise Fault(FaultKind.BundleControl, "a branch target needs an active standard or floating block")
        block.target = uniform(apply(_same, [m.regs[source]]), _PES, "branch target")
        block.target_set = True
        return following

    return step


def _jump(inst: Instruction, pc: int) -> Step:
    if inst.key == "J":
        target = pc + 2 * inst["simm22"] & MASK64

        def direct(m: Processor) -> int:
            m.enter_body()
            return target

        return direct
    source, distance = inst["SrcL"], 2 * inst["simm12"]

    def indirect(m: Processor) -> int:
        m.enter_body()
        base = uniform(apply(_same, [m.regs[source]]), _PES, "jump target")
        address = base + distance & MASK64
        if address & 1:
            raise Fault(FaultKind.InstructionPC, f"jump to the odd address {address:#x}", address)
        return address

    return indirect
