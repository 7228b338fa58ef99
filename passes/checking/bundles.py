"""A tile bundle as its operation reads it: the fields of its header, decoded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.encoding import Instruction
from ptoc.isa.layouts import LayoutCode
from ptoc.isa.operations import operation_of
from ptoc.isa.registers import GENERATIONS, PE_MASKS, mask_pes
from ptoc.passes.checking.errors import WrongProgram


@dataclass
class SharedBinding:
    """A B.IOS: a Shared tile, its size code as a destination (0: a source), and the range modifiers behind it."""

    name: int
    size_code: int
    mask: int
    view: Instruction | None = None
    assemble: Instruction | None = None


@dataclass
class Bundle:
    """``sources`` are ``(hand, distance)``, ``destinations`` hand and size code, ``dims`` register and immediate."""

    operation: str
    dtype: DType
    datr: Instruction | None = None
    fpatr: Instruction | None = None
    registers: tuple[int, int, int] | None = None
    dims: dict[int, tuple[int, int]] = field(default_factory=dict)
    sources: list[tuple[int, int]] = field(default_factory=list)
    destinations: list[tuple[int, int]] = field(default_factory=list)
    shared: list[SharedBinding] = field(default_factory=list)
    masks: set[int] = field(default_factory=set)
    terminated: bool = False
    pes: tuple[int, ...] = ()

    @classmethod
    def read(cls, instructions: Sequence[Instruction]) -> Bundle:
        """The bundle from its block start to its stop."""
        start, *commands, _ = instructions
        operation = operation_of(start)
        if operation is None:
            raise WrongProgram("a block of no tile operation")
        bundle = cls(operation.name, dtypes.BY_CODE[start["DataType"]])
        for command in commands:
            bundle._command(command)
        if len(bundle.masks) != 1:
            raise WrongProgram("a bundle whose bindings name other PEs, or none")
        if (bundle.sources or bundle.destinations) and not bundle.terminated:
            raise WrongProgram("the last binding is not marked")
        bundle.pes = mask_pes(*bundle.masks)
        return bundle

    @property
    def destination(self) -> tuple[int, int] | None:
        """The first destination, which most bundles have as their only one."""
        return self.destinations[0] if self.destinations else None

    @property
    def layout(self) -> int:
        return LayoutCode.NORM if self.datr is None else self.datr["Layout"]

    def _command(self, inst: Instruction) -> None:
        key = inst.key
        if key == "B.DATR":
            self.datr = inst
        elif key == "B.FPATR":
            self.fpatr = inst
        elif key == "B.IOR":
            self.registers = inst["RegSrc0"], inst["RegSrc1"], inst["RegSrc2"]
        elif key.startswith("B.DIM.LB"):
            self.dims[int(key.removeprefix("B.DIM.LB"))] = inst["RegSrc"], inst["uimm17"]
        elif key.startswith("B.IOT."):
            self._local(inst)
        elif key == "B.IOS":
            self.shared.append(SharedBinding(inst["SharedTID"], inst["SizeCode"], PE_MASKS[inst["PEMode"]]))
            self.masks.add(self.shared[-1].mask)
        elif key == "B.SUBVIEW" and self.shared and inst["SrcSelect"] == 0:
            self.shared[-1].view = inst
        elif key == "B.ASSEMBLE" and self.shared:
            self.shared[-1].assemble = inst
        else:
            raise WrongProgram(f"{key} is no command that the checker knows in compiled programs")

    def _local(self, inst: Instruction) -> None:
        if self.terminated:
            raise WrongProgram("a binding behind the last one")
        fields = inst.form.position
        for name in ("SrcTile0", "SrcTile1"):
            if name in fields:
                hand, behind = divmod(inst[name], GENERATIONS)
                self.sources.append((hand, behind + 1))
        if "DstTile" in fields:
            self.destinations.append((inst["DstTile"], inst["SizeCode"]))
        self.masks.add(PE_MASKS[inst["PEMode"]])
        self.terminated = bool(inst["L"])
