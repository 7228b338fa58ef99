"""What the header commands of a bundle latch (commands.md section 3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptoc.isa.forms import Instruction
from reference.state import Refusal


class Diagnostic(Exception):
    """The program left the model: the PEs disagree on what the bundle has one copy of (program.md section 2.2)."""


MASKS = (0b0000, 0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b0111, 0b1111)


def divergent(values: set[int]) -> bool:
    """Whether the PEs have different values of something."""
    return len(values) > 1


def offsets(inst: Instruction, gpr: list[list[int]]) -> list[int]:
    """The first cell of a range modifier on every PE, with the registers as they are now."""
    return [(gpr[pe][inst["RegSrc"]] + inst["uimm11"]) % 2**64 for pe in range(4)]


@dataclass
class View:
    """B.SUBVIEW: ``latched`` are the cells when it executed, which is what counts for a Local source."""

    latched: list[int]
    size: int
    inst: Instruction


@dataclass
class Binder:
    """One effective B.IOT or B.IOS with the range modifiers behind it."""

    local: bool
    mask: int
    size: int
    sources: list[int] = field(default_factory=list)
    hand: int = 0
    last: bool = False
    name: int = -1
    views: dict[int, View] = field(default_factory=dict)
    assembly: Instruction | None = None
    role: int = -1


@dataclass
class Bundle:
    """An active block."""

    operation: str
    dtype: int
    matrix_family: bool
    dims: list[list[int] | None] = field(default_factory=lambda: [None, None, None])
    body: bool = False
    catr: Instruction | None = None
    datr: Instruction | None = None
    fpatr: Instruction | None = None
    ior: Instruction | None = None
    hint: bool = False
    locals: list[Binder] = field(default_factory=list)
    shared: list[Binder] = field(default_factory=list)
    zero_mask: bool = False

    @property
    def mask(self) -> int:
        return (self.shared or self.locals)[0].mask if self.shared or self.locals else 0

    @property
    def pes(self) -> list[int]:
        return [pe for pe in range(4) if self.mask >> pe & 1]

    @property
    def layout(self) -> int:
        return self.datr["Layout"] if self.datr else 0

    def attribute(self, name: str) -> int:
        """A B.DATR field; the defaults are what an absent command means."""
        if self.datr is None:
            return {"PadValueOrByteId": 3, "DataType": 31}.get(name, 0)
        return self.datr[name]

    def dimension(self, n: int) -> int | None:
        values = self.dims[n]
        if values is None:
            return None
        if divergent({values[pe] for pe in self.pes or [0]}):
            raise Diagnostic("dimensions differ between PEs")
        return values[(self.pes or [0])[0]]

    def stray_attributes(self, *used: str) -> bool:
        """Whether B.DATR sets a field that the operation does not use."""
        if self.datr is None:
            return False
        names = ("Layout", "PadValueOrByteId", "CMode", "RMode", "Sat", "Canonicalize")
        if any(self.datr[name] for name in names if name not in used):
            return True
        return "DataType" not in used and self.datr["DataType"] not in (0, 31)


def command(bundle: Bundle | None, inst: Instruction, gpr: list[list[int]]) -> Binder | None:
    """Latch one header command that is no range modifier; returns the binder it made, if any."""
    if bundle is None or bundle.body:
        raise Refusal("BundleControl")
    key = inst.key
    if key.startswith("B.IOT"):
        return _iot(bundle, inst)
    if key == "B.IOS":
        return _ios(bundle, inst)
    if key.startswith("B.DIM") or key == "C.B.DIMI":
        _dimension(bundle, inst, gpr)
    elif key == "B.FPATR":
        _fpatr(bundle, inst)
    else:
        slot = {"B.CATR": "catr", "B.DATR": "datr", "B.IOR": "ior", "B.HINT": "hint"}[key]
        if getattr(bundle, slot):
            raise Refusal("BundleControl")
        setattr(bundle, slot, True if slot == "hint" else inst)
    return None


def _dimension(bundle: Bundle, inst: Instruction, gpr: list[list[int]]) -> None:
    if inst.key == "C.B.DIMI":
        n, values = inst["LoopNest"], [inst["imm8"]] * 4
    else:
        n = int(inst.key[-1])
        values = [(gpr[pe][inst["RegSrc"]] + inst["uimm17"]) % 65536 for pe in range(4)]
    if bundle.dims[n] is not None:
        raise Refusal("BundleControl")
    bundle.dims[n] = values


def _fpatr(bundle: Bundle, inst: Instruction) -> None:
    if bundle.fpatr or not bundle.matrix_family or bundle.ior or bundle.locals or bundle.shared:
        raise Refusal("BundleControl")
    if (
        (inst["RowMaxInit"] and not inst["RowMaxEn"])
        or (inst["GroupNCode"] != 0) != (inst["GroupMaxEn"] != 0)
        or (inst["MaxAbsEn"] and not inst["RowMaxEn"] and not inst["GroupMaxEn"])
    ):
        raise Refusal("TileLegality")
    bundle.fpatr = inst


def _iot(bundle: Bundle, inst: Instruction) -> Binder:
    mask = MASKS[inst["PEMode"]]
    if bundle.locals and bundle.locals[-1].last:
        raise Refusal("BundleControl")
    if (bundle.locals and bundle.locals[0].mask != mask) or len(bundle.locals) == 4:
        raise Refusal("TileLegality")
    shape = inst.key.removeprefix("B.IOT.")
    sources = [inst[f"SrcTile{n}"] for n in range(shape.count("S"))]
    stores = shape.endswith("D")
    binder = Binder(True, mask, inst["SizeCode"] if stores else 0, sources, inst["DstTile"] if stores else 0)
    binder.last = bool(inst["L"])
    bundle.locals.append(binder)
    return binder


def _ios(bundle: Bundle, inst: Instruction) -> Binder:
    mask = MASKS[inst["PEMode"]]
    if any(other.mask != mask for other in bundle.locals[:1] + bundle.shared[:1]):
        raise Refusal("TileLegality")
    if any(other.name == inst["SharedTID"] for other in bundle.shared) or len(bundle.shared) == 4:
        raise Refusal("BundleControl")
    binder = Binder(False, mask, inst["SizeCode"], name=inst["SharedTID"])
    bundle.shared.append(binder)
    return binder


def modify(binder: Binder, inst: Instruction, gpr: list[list[int]]) -> None:
    """A range modifier directly behind its effective binder."""
    view = inst.key == "B.SUBVIEW"
    code = inst["SubviewSizeCode"] if view else inst["SizeCode"]
    if binder.local and code in (11, 12):
        raise Refusal("TileLegality")
    if not view:
        fits = binder.size if inst["INIT"] else not binder.local and not binder.size
        if not fits or binder.role >= 2:
            raise Refusal("BundleControl")
        binder.assembly, binder.role = inst, 2
        return
    slot = inst["SrcSelect"]
    count = len(binder.sources) if binder.local else int(binder.size == 0)
    if slot >= count or slot <= binder.role:
        raise Refusal("BundleControl")
    binder.views[slot] = View(offsets(inst, gpr), code, inst)
    binder.role = slot
