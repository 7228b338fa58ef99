"""Header commands as steps: each latches its record in the active block, with the checks of execution time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ptoc.isa.encoding import Instruction
from ptoc.isa.faults import Fault, FaultKind
from ptoc.isa.postprocess import ReluMode, Rounding
from ptoc.isa.registers import MAX_LOCAL_SIZE_CODE, PE_MASKS
from ptoc.runtime.bundle import (
    Assembly,
    Bundle,
    DataAttributes,
    LocalBinding,
    LocalView,
    MatrixAttributes,
    Registers,
    SharedBinding,
    SharedView,
)
from ptoc.runtime.lanes import MASK64, apply
from ptoc.runtime.scalar import Step

if TYPE_CHECKING:
    from ptoc.runtime.processor import Processor

MAX_BINDINGS = 4


def header(m: Processor) -> Bundle:
    """The active block in its header phase; anything else is BundleControl."""
    block = m.block
    if block is None or block.body:
        raise Fault(FaultKind.BundleControl, "a header command needs an active block before its body")
    return block


def _once(present: object, name: str) -> None:
    if present:
        raise Fault(FaultKind.BundleControl, f"a second {name} in one block")


def _control_attributes(inst: Instruction, following: int) -> Step:
    def step(m: Processor) -> int:
        block = header(m)
        _once(block.has_control, "B.CATR")
        block.has_control = True
        block.dimension_reduction = bool(inst["DR"])
        block.trap = bool(inst["trap"])
        block.ordered = bool(inst["aq"] or inst["rl"])
        return following

    return step


def _data_attributes(inst: Instruction, following: int) -> Step:
    record = DataAttributes(
        layout=inst["Layout"],
        dtype_code=inst["DataType"],
        pad=inst["PadValueOrByteId"],
        cmode=inst["CMode"],
        rounding=Rounding(inst["RMode"]),
        saturate=bool(inst["Sat"]),
        canonicalize=bool(inst["Canonicalize"]),
    )

    def step(m: Processor) -> int:
        block = header(m)
        _once(block.attributes, "B.DATR")
        block.attributes = record
        return following

    return step


def _matrix_attributes(inst: Instruction, following: int) -> Step:
    record = MatrixAttributes(
        pre_quant=inst["PreQuantMode"],
        relu=ReluMode(inst["ReluMode"]),
        group_code=inst["GroupNCode"],
        row_max=bool(inst["RowMaxEn"]),
        group_max=bool(inst["GroupMaxEn"]),
        row_max_init=bool(inst["RowMaxInit"]),
        absolute=bool(inst["MaxAbsEn"]),
        trans_a=bool(inst["TransA"]),
        trans_b=bool(inst["TransB"]),
        cscale=bool(inst["CScaleEn"]),
    )
    consistent = (
        record.row_max >= record.row_max_init
        and (record.group_code != 0) == record.group_max
        and (record.row_max or record.group_max) >= record.absolute
    )

    def step(m: Processor) -> int:
        block = header(m)
        _once(block.matrix, "B.FPATR")
        if block.operation is None or block.operation.family != "CUBE":
            raise Fault(FaultKind.BundleControl, "B.FPATR belongs to matrix operations")
        if block.registers or block.locals or block.shared:
            raise Fault(FaultKind.BundleControl, "B.FPATR comes before every binding")
        if not consistent:
            raise Fault(FaultKind.TileLegality, "the maximum fields of B.FPATR contradict each other")
        block.matrix = record
        return following

    return step


def _dimension(inst: Instruction, following: int) -> Step:
    if inst.key == "C.B.DIMI":
        index, register, immediate = inst["LoopNest"], 0, inst["imm8"]
    else:
        index, register, immediate = int(inst.key[-1]), inst["RegSrc"], inst["uimm17"]
    constant = immediate & 0xFFFF

    def step(m: Processor) -> int:
        dims = header(m).dims
        if dims[index] is not None:
            raise Fault(FaultKind.BundleControl, f"LB{index} is set twice")
        if register:
            value = m.regs[register]
            dims[index] = (
                value + immediate & 0xFFFF if type(value) is int else apply(lambda v: v + immediate & 0xFFFF, (value,))
            )
        else:
            dims[index] = constant
        return following

    return step


def _registers(inst: Instruction, following: int) -> Step:
    record = Registers((inst["RegSrc0"], inst["RegSrc1"], inst["RegSrc2"]), inst["RegDst"])

    def step(m: Processor) -> int:
        block = header(m)
        _once(block.registers, "B.IOR")
        block.registers = record
        return following

    return step


def _local(inst: Instruction, following: int) -> Step:
    mask = PE_MASKS[inst["PEMode"]]
    if not mask:
        return _zero_mask(following)
    names = inst.form.position
    sources = tuple(inst[name] for name in ("SrcTile0", "SrcTile1") if name in names)
    size = inst["SizeCode"] if "SizeCode" in names else 0
    hand = inst["DstTile"] if size else 0
    last = bool(inst["L"])

    def step(m: Processor) -> int:
        block = header(m)
        bindings = block.locals
        if bindings and bindings[-1].last:
            raise Fault(FaultKind.BundleControl, "a B.IOT follows the one marked last")
        if bindings and bindings[0].mask != mask:
            raise Fault(FaultKind.TileLegality, "the masks of the bindings differ")
        if len(bindings) == MAX_BINDINGS:
            raise Fault(FaultKind.TileLegality, "a fifth B.IOT in one block")
        binding = LocalBinding(sources, hand, size, mask, last)
        bindings.append(binding)
        m.open_group(following, binding)
        return following

    return step


def _shared(inst: Instruction, following: int) -> Step:
    mask = PE_MASKS[inst["PEMode"]]
    if not mask:
        return _zero_mask(following)
    number, size = inst["SharedTID"], inst["SizeCode"]

    def step(m: Processor) -> int:
        block = header(m)
        bindings = block.shared
        masks = [binding.mask for binding in block.locals[:1]] + [binding.mask for binding in bindings[:1]]
        if any(earlier != mask for earlier in masks):
            raise Fault(FaultKind.TileLegality, "the masks of the bindings differ")
        if any(earlier.number == number for earlier in bindings):
            raise Fault(FaultKind.BundleControl, f"S{number} is bound twice")
        if len(bindings) == MAX_BINDINGS:
            raise Fault(FaultKind.BundleControl, "a fifth B.IOS in one block")
        binding = SharedBinding(number, size, mask)
        bindings.append(binding)
        m.open_group(following, binding)
        return following

    return step


def _zero_mask(following: int) -> Step:
    """A binder that selects no PE: no record, but the block remembers that it was there."""

    def step(m: Processor) -> int:
        if m.block is not None:
            m.block.zero_mask_seen = True
        m.open_group(following, None)
        return following

    return step


def _hint(inst: Instruction, following: int) -> Step:
    def step(m: Processor) -> int:
        block = header(m)
        _once(block.has_hint, "B.HINT")
        block.has_hint = True
        return following

    return step


def _subview(inst: Instruction, following: int) -> Step:
    slot, size = inst["SrcSelect"], inst["SubviewSizeCode"]
    register, immediate = inst["RegSrc"], inst["uimm11"]

    def step(m: Processor) -> int:
        binding = m.group(following - 4)
        if binding is None:
            return m.continue_group(following, slot)
        local = isinstance(binding, LocalBinding)
        if local and size > MAX_LOCAL_SIZE_CODE:
            raise Fault(FaultKind.TileLegality, "the view is larger than a Local tile")
        sources = len(binding.sources) if isinstance(binding, LocalBinding) else int(binding.size_code == 0)
        if slot >= sources or slot <= m.group_role:
            raise Fault(FaultKind.BundleControl, "the binding has no such source, or its view came before")
        if isinstance(binding, LocalBinding):
            offset = apply(lambda v: v + immediate & MASK64, (m.regs[register],))
            view = LocalView(offset, size)
            binding.views = (view, binding.views[1]) if slot == 0 else (binding.views[0], view)
        else:
            binding.view = SharedView(register, immediate, size)
        return m.continue_group(following, slot)

    return step


_DESTINATION_ROLE = 2


def _assemble(inst: Instruction, following: int) -> Step:
    init, last = bool(inst["INIT"]), bool(inst["LAST"])
    record = Assembly(init, last, inst["RegSrc"], inst["uimm11"], inst["SizeCode"])

    def step(m: Processor) -> int:
        binding = m.group(following - 4)
        if binding is None:
            return m.continue_group(following, _DESTINATION_ROLE)
        local = isinstance(binding, LocalBinding)
        if local and record.size_code > MAX_LOCAL_SIZE_CODE:
            raise Fault(FaultKind.TileLegality, "the fragment is larger than a Local tile")
        stores = binding.size_code != 0
        if stores != record.init or (local and not stores) or m.group_role >= _DESTINATION_ROLE:
            raise Fault(FaultKind.BundleControl, "B.ASSEMBLE does not fit the binding before it")
        binding.assembly = record
        return m.continue_group(following, _DESTINATION_ROLE)

    return step


COMMANDS: dict[str, Callable[[Instruction, int], Step]] = {
    "B.CATR": _control_attributes,
    "B.DATR": _data_attributes,
    "B.FPATR": _matrix_attributes,
    "B.DIM.LB0": _dimension,
    "B.DIM.LB1": _dimension,
    "B.DIM.LB2": _dimension,
    "C.B.DIMI": _dimension,
    "B.IOR": _registers,
    "B.IOT.D": _local,
    "B.IOT.S": _local,
    "B.IOT.SD": _local,
    "B.IOT.SS": _local,
    "B.IOT.SSD": _local,
    "B.IOS": _shared,
    "B.HINT": _hint,
    "B.SUBVIEW": _subview,
    "B.ASSEMBLE": _assemble,
}
"""What makes the step of each header command, by form; it takes the instruction and the address after it."""
