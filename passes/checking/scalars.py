"""Scalar instructions over the registers of the four PEs, as far as compiled programs use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptoc.isa.encoding import Instruction
from ptoc.isa.registers import GPR_COUNT, PE_COUNT
from ptoc.passes.checking.errors import WrongProgram

Lanes = int | tuple[int, ...]
"""A value of 64 bits: one for all PEs, or one for each."""

Registers = list[Lanes]
Step = Callable[[Registers], None]
Test = Callable[[Registers], Lanes]

_ONES = (1 << 64) - 1
_UNMODIFIED = {"ADD": 3, "SUB": 3, "AND": 3, "OR": 3}
"""The SrcRType that leaves the right operand as it is; 0 in all other instructions."""

_FUNCTIONS: dict[str, Callable[..., int]] = {
    "ADD": lambda x, y: x + y,
    "SUB": lambda x, y: x - y,
    "AND": lambda x, y: x & y,
    "OR": lambda x, y: x | y,
    "MUL": lambda x, y: x * y,
    "DIVU": lambda x, y: x // y if y else 0,
    "MINU": min,
    "MADD": lambda x, y, d: d + x * y,
    "CSEL": lambda x, y, p: x if p else y,
}
_IMMEDIATES: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "ADDI": ("uimm12", lambda x, n: x + n),
    "HL.ADDI": ("uimm24", lambda x, n: x + n),
    "SLLI": ("shamt", lambda x, n: x << n),
    "SRLI": ("shamt", lambda x, n: x >> n),
}
_CONSTANTS: dict[str, tuple[str, int]] = {
    "C.MOVI": ("simm5", 0),
    "HL.LIS": ("simm32", 0),
    "HL.LIU": ("uimm32", 0),
    "HL.LUI": ("imm", 32),
}
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda x, y: x == y,
    "NE": lambda x, y: x != y,
    "LT": lambda x, y: _signed(x) < _signed(y),
    "GE": lambda x, y: _signed(x) >= _signed(y),
    "LTU": lambda x, y: x < y,
    "GEU": lambda x, y: x >= y,
}


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def lane(value: Lanes, pe: int) -> int:
    """The value on one PE."""
    return value if isinstance(value, int) else value[pe]


def _apply(function: Callable[..., int], values: Sequence[Lanes]) -> Lanes:
    if all(type(value) is int for value in values):
        return function(*values) & _ONES
    each = tuple(function(*(lane(value, pe) for value in values)) & _ONES for pe in range(PE_COUNT))
    return each[0] if len(set(each)) == 1 else each


def step_of(inst: Instruction) -> Step:
    """What an instruction does to the registers."""
    target = inst["RegDst"] if "RegDst" in inst.form.position else GPR_COUNT
    if target >= GPR_COUNT:
        raise _unknown(inst)
    value = _value_of(inst)

    def step(registers: Registers) -> None:
        if target:
            registers[target] = value(registers)

    return step


def _value_of(inst: Instruction) -> Test:
    key = inst.key
    if key in _CONSTANTS:
        name, shift = _CONSTANTS[key]
        constant = inst[name] << shift & _ONES
        return lambda registers: constant
    if key == "C.MOVR":
        source = _source(inst, "SrcL")
        return lambda registers: registers[source]
    if key in _IMMEDIATES:
        name, function = _IMMEDIATES[key]
        source, number = _source(inst, "SrcL"), inst[name]
        return lambda registers: _apply(lambda x: function(x, number), (registers[source],))
    if key.startswith("CMP."):
        return _on_registers(inst, _RELATIONS[key.removeprefix("CMP.")], ("SrcL", "SrcR"))
    if key not in _FUNCTIONS:
        raise _unknown(inst)
    return _on_registers(inst, _FUNCTIONS[key], ("SrcL", "SrcR", *{"MADD": ("SrcD",), "CSEL": ("SrcP",)}.get(key, ())))


def _on_registers(inst: Instruction, function: Callable[..., int], names: Sequence[str]) -> Test:
    fields = inst.form.position
    if "SrcRType" in fields and inst["SrcRType"] != _UNMODIFIED.get(inst.key, 0):
        raise _unknown(inst)
    if "shamt" in fields and inst["shamt"]:
        raise _unknown(inst)
    sources = [_source(inst, name) for name in names]
    return lambda registers: _apply(function, [registers[source] for source in sources])


def _source(inst: Instruction, name: str) -> int:
    if inst[name] >= GPR_COUNT:
        raise _unknown(inst)
    return inst[name]


def test_of(inst: Instruction) -> Test:
    """The condition that a SETC sets."""
    if not inst.key.startswith("SETC."):
        raise _unknown(inst)
    name = inst.key.removeprefix("SETC.")
    if not name.endswith("I"):
        if name not in _RELATIONS:
            raise _unknown(inst)
        return _on_registers(inst, _RELATIONS[name], ("SrcL", "SrcR"))
    relation, source = _RELATIONS[name[:-1]], _source(inst, "SrcL")
    immediate = inst["uimm12" if "uimm12" in inst.form.position else "simm12"]
    number = immediate << inst["shamt"] & _ONES
    return lambda registers: _apply(lambda x: relation(x, number), (registers[source],))


def _unknown(inst: Instruction) -> WrongProgram:
    return WrongProgram(f"{inst!r} is no instruction that the checker knows in compiled programs")
