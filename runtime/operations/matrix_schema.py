"""What a matrix bundle binds: the meaning of its Local records, its words and its dimensions.

Everything here is the same for all PEs and is checked before any of them is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptoc.isa import dtypes
from ptoc.isa.dtypes import NONE_CODE, DType
from ptoc.isa.faults import Fault
from ptoc.isa.postprocess import GROUP_COLUMNS, ReluMode, Rounding
from ptoc.isa.registers import prefix_mask, size_bytes
from ptoc.runtime.bundle import Bundle, MatrixAttributes
from ptoc.runtime.numerics.convert import PostProcess
from ptoc.runtime.operations.common import CONTROL, LEGALITY, check_attributes, dimensions, power_of_two
from ptoc.runtime.tiles import Destination

MAX_GROUP_ROWS = 128
Slot = tuple[int, int]
"""A Local source: the number of its binding and which of the two sources it is."""


@dataclass(frozen=True, eq=False)
class MatrixSchema:
    """A legal set of bindings, by role."""

    attributes: MatrixAttributes
    post: PostProcess
    a_type: DType
    b_type: DType
    accumulator: DType
    m: int
    n: int
    k: int
    shared: int
    pes: tuple[int, ...]
    sources: dict[str, Slot]
    selectors: tuple[int, ...]
    destinations: dict[str, Destination]
    scalar_words: dict[str, int]
    """GPR selectors of the scalar parameter words; 0 where B.IOR was left out."""

    @property
    def group(self) -> int:
        """Columns of one group of GroupMax."""
        return GROUP_COLUMNS[self.attributes.group_code]

    @property
    def rows_per_pe(self) -> int:
        return 16 if self.m <= 64 else 32

    def first_row(self, pe: int) -> int:
        return pe * self.rows_per_pe if self.shared else 0

    def valid_m(self, pe: int) -> int:
        """Rows of the product that a PE computes."""
        if not self.shared:
            return self.m
        return max(0, min(self.m - self.first_row(pe), self.rows_per_pe))


def read_schema(bundle: Bundle, *, accumulating: bool) -> MatrixSchema:
    """Check the bindings of a matrix bundle and name them."""
    attributes, a_type = bundle.matrix, bundle.dtype
    if attributes is None:
        raise Fault(CONTROL, "a matrix bundle needs B.FPATR")
    assert a_type is not None
    b_type = _b_type(bundle, a_type)
    accumulator = None if b_type is None else dtypes.accumulator(a_type, b_type)
    if b_type is None or accumulator is None:
        raise Fault(LEGALITY, f"{a_type} by {b_type} is no matrix product")
    _check_cscale(attributes, accumulator, accumulating)
    post = _post_process(bundle, attributes, accumulator)
    shared = len(bundle.shared)
    if shared > 2 or any(binding.size_code or binding.assembly for binding in bundle.shared):
        raise Fault(LEGALITY, "a matrix bundle has at most two Shared operands, all sources")
    m, n, k = _dimensions(bundle)
    sources = _sources(bundle, attributes, accumulating)
    destinations = _destinations(bundle, attributes)
    _check_selectors(bundle, sources, destinations)
    return MatrixSchema(
        attributes,
        post,
        a_type,
        b_type,
        accumulator,
        m,
        n,
        k,
        shared,
        bundle.pes,
        sources,
        tuple(bundle.local_sources),
        destinations,
        _scalar_words(bundle, attributes),
    )


def _b_type(bundle: Bundle, a_type: DType) -> DType | None:
    check_attributes(bundle, "dtype", "rounding", "saturate")
    code = bundle.datr.dtype_code
    return a_type if code == NONE_CODE else dtypes.BY_CODE.get(code)


def _check_cscale(attributes: MatrixAttributes, accumulator: DType, accumulating: bool) -> None:
    if attributes.cscale and not (accumulating and accumulator.is_float):
        raise Fault(LEGALITY, "CScale needs a floating accumulation")


def _post_process(bundle: Bundle, attributes: MatrixAttributes, accumulator: DType) -> PostProcess:
    mode, datr = attributes.mode, bundle.datr
    if mode.source is not None and mode.source != accumulator:
        raise Fault(LEGALITY, f"PreQuantMode {mode.code} converts {mode.source}, not {accumulator}")
    if mode.rounding is not None and datr.rounding != Rounding.DEFAULT:
        raise Fault(LEGALITY, f"PreQuantMode {mode.code} has its own rounding")
    if datr.saturate and not mode.saturates:
        raise Fault(LEGALITY, f"PreQuantMode {mode.code} does not saturate")
    rounding = datr.rounding if mode.rounding is None else mode.rounding
    return PostProcess(mode, attributes.relu, rounding, datr.saturate)


def _dimensions(bundle: Bundle) -> tuple[int, int, int]:
    dims = dimensions(bundle)
    if 0 in dims:
        raise Fault(LEGALITY, f"LB{dims.index(0)} is explicitly zero")
    m, n, k = (1 if value is None else value for value in dims)
    if any(binding.mask != bundle.mask for binding in bundle.locals):
        raise Fault(LEGALITY, "the masks of Local and Shared bindings differ")
    if bundle.shared:
        if m > MAX_GROUP_ROWS or not power_of_two(n) or not power_of_two(k):
            raise Fault(LEGALITY, f"{m} x {n} x {k} is no cooperative product")
        if bundle.mask != prefix_mask(4):
            raise Fault(LEGALITY, "a cooperative product takes all four PEs")
    return m, n, k


def _source_roles(bundle: Bundle, attributes: MatrixAttributes, accumulating: bool) -> list[str]:
    shared = len(bundle.shared)
    present = {
        "C": accumulating,
        "A": shared < 2,
        "B": shared == 0,
        "CScale": attributes.cscale,
        "RowMaxIn": attributes.row_max_init,
        "quantization": attributes.mode.parameter == "vector",
        "slope": attributes.relu == ReluMode.PRELU,
    }
    return [role for role, wanted in present.items() if wanted]


def _sources(bundle: Bundle, attributes: MatrixAttributes, accumulating: bool) -> dict[str, Slot]:
    slots = [(number, i) for number, b in enumerate(bundle.locals) for i in range(len(b.sources))]
    roles = _source_roles(bundle, attributes, accumulating)
    if len(slots) != len(roles) or not bundle.terminated:
        raise Fault(LEGALITY, f"the Local sources are not {', '.join(roles) or 'absent'}, marked last")
    return dict(zip(roles, slots))


def _destinations(bundle: Bundle, attributes: MatrixAttributes) -> dict[str, Destination]:
    present = {"D": True, "RowMax": attributes.row_max, "GroupMax": attributes.group_max}
    roles = [role for role, wanted in present.items() if wanted]
    bindings = bundle.local_destinations
    if len(bindings) != len(roles):
        raise Fault(LEGALITY, f"the destinations are not {', '.join(roles)}")
    return {role: Destination(b.hand, size_bytes(b.size_code)) for role, b in zip(roles, bindings)}


def _check_selectors(bundle: Bundle, sources: dict[str, Slot], destinations: dict[str, Destination]) -> None:
    """The number of C's selector is not the number of D's hand, nor CScale's that of any destination."""
    hands = [destination.hand for destination in destinations.values()]
    for role, forbidden in (("C", hands[:1]), ("CScale", hands)):
        number, which = sources.get(role, (0, 0))
        if role in sources and bundle.locals[number].sources[which] in forbidden:
            raise Fault(LEGALITY, f"the selector of {role} has the number of a destination hand")


def _scalar_words(bundle: Bundle, attributes: MatrixAttributes) -> dict[str, int]:
    present = {
        "quantization": attributes.mode.parameter == "scalar",
        "slope": attributes.relu == ReluMode.LRELU,
    }
    roles = [role for role, wanted in present.items() if wanted]
    registers = bundle.registers
    if registers is None:
        return dict.fromkeys(roles, 0)
    if any(registers.sources[len(roles) :]) or registers.destination:
        raise Fault(LEGALITY, "B.IOR names registers that no parameter uses")
    return dict(zip(roles, registers.sources))
