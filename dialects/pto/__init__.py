"""``pto``: the program as the machine reads it, one operation per instruction.

A bundle groups the instructions from its block start to its stop. Instructions print as assembly text and are kept
decoded; hands, relative names, size codes and GPRs are fixed. Branch targets are labels. ``argument`` of a bundle is
the launch argument its memory accesses belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolNameConstraint, i64
from xdsl.ir import Data, Dialect, Operation, Region, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects import tile
from ptoc.dialects.tile import IotaAttr, SplatAttr, WordsAttr
from ptoc.isa.commands import STARTS, STOPS
from ptoc.isa.encoding import Instruction

DATA_ALIGNMENT = 64
"""Every constant starts at a multiple of this many bytes in the data section."""


@dataclass(frozen=True, slots=True)
class Coded:
    """An instruction, and the label it branches to if it does."""

    instruction: Instruction
    target: str | None = None

    def __str__(self) -> str:
        from ptoc.isa.text import format_instruction

        target = self.target
        return format_instruction(self.instruction, label=None if target is None else lambda _: target)


@irdl_attr_definition
class InstructionAttr(SpacedOpaqueSyntaxAttribute, Data[Coded]):
    """One instruction, as assembly text in quotes."""

    name = "pto.instruction"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Coded:
        from ptoc.isa.text import TextError, parse_instruction

        start = parser.pos
        text = parser.parse_str_literal()
        try:
            parsed = parse_instruction(text)
        except TextError as error:
            parser.raise_error(str(error), start, start + len(text) + 2)
        return Coded(parsed.instruction, parsed.target)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string_literal(str(self.data))


@irdl_op_definition
class InstOp(IRDLOperation):
    """One instruction."""

    name = "pto.inst"
    code = prop_def(InstructionAttr)
    assembly_format = "$code attr-dict"

    def __init__(self, instruction: Instruction, target: str | None = None) -> None:
        super().__init__(properties={"code": InstructionAttr(Coded(instruction, target))})

    @property
    def instruction(self) -> Instruction:
        return self.code.data.instruction

    @property
    def target(self) -> str | None:
        return self.code.data.target


@irdl_op_definition
class LabelOp(IRDLOperation):
    """A name for the next instruction's address."""

    name = "pto.label"
    label = prop_def(StringAttr)
    assembly_format = "$label attr-dict"

    def __init__(self, label: str) -> None:
        super().__init__(properties={"label": StringAttr(label)})


@irdl_op_definition
class BundleOp(IRDLOperation):
    """A block: its start, header commands, scalar body, and stop."""

    name = "pto.bundle"
    argument = opt_prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")
    assembly_format = "(`argument` $argument^)? attr-dict-with-keyword $body"
    traits = traits_def(NoTerminator())

    def __init__(self, instructions: Sequence[Operation], argument: int | None = None) -> None:
        from xdsl.ir import Block

        super().__init__(
            properties={} if argument is None else {"argument": IntegerAttr(argument, i64)},
            regions=[Region(Block(instructions))],
        )

    @property
    def instructions(self) -> tuple[InstOp, ...]:
        return tuple(op for op in self.body.block.ops if isinstance(op, InstOp))

    def verify_(self) -> None:
        ops = list(self.body.block.ops)
        if len(ops) < 2 or not all(isinstance(op, InstOp) for op in ops):
            raise VerifyException("a bundle holds instructions from a block start to a stop")
        keys = [op.instruction.form.key for op in self.instructions]
        if keys[0] not in STARTS or keys[-1] not in STOPS:
            raise VerifyException(f"a bundle begins with a block start and ends with BSTOP, not {keys[0]} … {keys[-1]}")
        if any(key in STARTS or key in STOPS for key in keys[1:-1]):
            raise VerifyException("a bundle holds one block")


@irdl_op_definition
class DataOp(IRDLOperation):
    """Constant data, in the order in which the launcher lays it out."""

    name = "pto.data"
    sym_name = prop_def(SymbolNameConstraint())
    value = prop_def(base(SplatAttr) | base(IotaAttr) | base(WordsAttr))
    assembly_format = "$sym_name $value attr-dict"
    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, value: tile.Data) -> None:
        super().__init__(properties={"sym_name": StringAttr(name), "value": value})


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """The instructions of a kernel, entered at the first."""

    name = "pto.program"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    assembly_format = "$sym_name attr-dict-with-keyword $body"
    traits = traits_def(NoTerminator(), SymbolOpInterface())

    def __init__(self, name: str, body: Region) -> None:
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[body])


PTO = Dialect("pto", [InstOp, LabelOp, BundleOp, DataOp, ProgramOp], [InstructionAttr])
"""The dialect, for an xDSL context."""
