"""The latched state of one block: what its header commands recorded and its completion reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptoc.isa.dtypes import NONE_CODE, DType
from ptoc.isa.operations import TileOperation
from ptoc.isa.postprocess import PRE_QUANT_MODES, PreQuantMode, ReluMode, Rounding
from ptoc.isa.registers import mask_pes
from ptoc.runtime.lanes import Lanes, uniform

PAD_ZERO, PAD_MAX, PAD_MIN, PAD_NULL = range(4)


@dataclass(frozen=True)
class DataAttributes:
    """B.DATR; the defaults are what an absent command means."""

    layout: int = 0
    dtype_code: int = NONE_CODE
    pad: int = PAD_NULL
    cmode: int = 0
    rounding: Rounding = Rounding.DEFAULT
    saturate: bool = False
    canonicalize: bool = False


NO_ATTRIBUTES = DataAttributes()


@dataclass(frozen=True)
class MatrixAttributes:
    """B.FPATR."""

    pre_quant: int
    relu: ReluMode
    group_code: int
    row_max: bool
    group_max: bool
    row_max_init: bool
    absolute: bool
    trans_a: bool
    trans_b: bool
    cscale: bool

    @property
    def mode(self) -> PreQuantMode:
        return PRE_QUANT_MODES[self.pre_quant]


@dataclass(frozen=True)
class Registers:
    """B.IOR: GPR selectors, read per PE at completion."""

    sources: tuple[int, int, int]
    destination: int


@dataclass(frozen=True)
class LocalView:
    """B.SUBVIEW of a Local source: the first cell, read when the command executed, and the size."""

    offset: Lanes
    size_code: int


@dataclass(frozen=True)
class SharedView:
    """B.SUBVIEW of a Shared source: the first cell is evaluated per PE at completion."""

    register: int
    immediate: int
    size_code: int


@dataclass(frozen=True)
class Assembly:
    """B.ASSEMBLE: which fragment of a parent the bundle writes."""

    init: bool
    last: bool
    register: int
    immediate: int
    size_code: int


@dataclass(eq=False, slots=True)
class LocalBinding:
    """One B.IOT: up to two source selectors and, with a size, a destination hand."""

    sources: tuple[int, ...]
    hand: int
    size_code: int
    mask: int
    last: bool
    views: tuple[LocalView | None, LocalView | None] = (None, None)
    assembly: Assembly | None = None

    @property
    def stores(self) -> bool:
        return self.size_code != 0


@dataclass(eq=False, slots=True)
class SharedBinding:
    """One B.IOS: a source (size 0) or a destination of the whole-parent size."""

    number: int
    size_code: int
    mask: int
    view: SharedView | None = None
    assembly: Assembly | None = None


@dataclass(eq=False)
class Bundle:
    """An active block. ``transfer`` says how control leaves it, ``target`` is the candidate address."""

    address: int
    number: int
    kind: str
    transfer: str = "FALL"
    target: int = 0
    taken: bool = True
    operation: TileOperation | None = None
    dtype: DType | None = None
    body: bool = False
    dims: list[Lanes | None] = field(default_factory=lambda: [None, None, None])
    registers: Registers | None = None
    attributes: DataAttributes | None = None
    matrix: MatrixAttributes | None = None
    locals: list[LocalBinding] = field(default_factory=list)
    shared: list[SharedBinding] = field(default_factory=list)
    has_control: bool = False
    dimension_reduction: bool = False
    trap: bool = False
    ordered: bool = False
    has_hint: bool = False
    zero_mask_seen: bool = False
    condition_set: bool = False
    target_set: bool = False

    def copy(self, number: int) -> Bundle:
        """A block of the same words that begins as bundle ``number``."""
        twin = object.__new__(Bundle)
        vars(twin).update(vars(self))
        twin.number = number
        twin.dims, twin.locals, twin.shared = self.dims[:], self.locals[:], self.shared[:]
        return twin

    @property
    def datr(self) -> DataAttributes:
        return self.attributes or NO_ATTRIBUTES

    @property
    def mask(self) -> int:
        """The PEs the bundle selects; the bindings have agreed, or the operation will say they do not."""
        if self.shared:
            return self.shared[0].mask
        return self.locals[0].mask if self.locals else 0

    @property
    def pes(self) -> tuple[int, ...]:
        return mask_pes(self.mask)

    @property
    def jumps(self) -> bool:
        return self.transfer != "FALL" and (self.transfer != "COND" or self.taken)

    @property
    def local_sources(self) -> list[int]:
        """All Local source selectors, in binding order."""
        return [source for binding in self.locals for source in binding.sources]

    @property
    def local_destinations(self) -> list[LocalBinding]:
        return [binding for binding in self.locals if binding.size_code]

    @property
    def terminated(self) -> bool:
        """Whether the B.IOT sequence ends with ``last``."""
        return bool(self.locals) and self.locals[-1].last

    def dimension(self, index: int) -> int | None:
        """LB0..LB2 as one value for all selected PEs; ``None`` when the bundle does not set it."""
        value = self.dims[index]
        if value is None or type(value) is int:
            return value
        return uniform(value, self.pes or (0,), f"dimension LB{index}")
