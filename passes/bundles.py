"""One tile operation as the instructions of its bundle, in the canonical order of commands.

What is emitted is legal under every published revision of the ISA: no B.DATR in row-major loads and stores, DTYPE_NONE
where the layout changes, DataType code 0 in TCMP, and a B.DATR in a matmul only where B's type differs from A's, or the
conversion of the result needs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerAttr

from ptoc.dialects import tile
from ptoc.dialects.attributes import Predicate
from ptoc.dialects.tile import SharedType, TileLayout, TileType
from ptoc.isa import dtypes
from ptoc.isa.encoding import Instruction, make
from ptoc.isa.layouts import CUBE_LOAD, CUBE_STORE, NORM_LOAD, LayoutCode
from ptoc.isa.operations import BY_NAME
from ptoc.isa.postprocess import Rounding
from ptoc.isa.registers import PE_COUNT, PE_MODE, prefix_mask, tile_selector
from ptoc.isa.schema import Placement

Dimension = int | str
"""A block dimension: a number, or ``"rN"`` for the register N that holds it."""

_LOAD_LAYOUT = {TileLayout(layout.lower()): LayoutCode(code) for code, layout in (CUBE_LOAD | NORM_LOAD).items()}
_STORE_LAYOUT = {TileLayout(layout.lower()): LayoutCode(code) for code, layout in CUBE_STORE.items()}
_TCMP = BY_NAME["TCMP"]
_CMODE = {
    p: code
    for code, p in enumerate((Predicate.EQ, Predicate.NE, Predicate.LT, Predicate.GT, Predicate.LE, Predicate.GE))
}
_PAD_ZERO, _PAD_NULL = 0, 3

STOP = make("BSTOP")


def dimension(lb: int, value: int, register: int | None) -> Instruction:
    """B.DIM of a known number, or of a register."""
    return make(f"B.DIM.LB{lb}", RegSrc=register or 0, uimm17=0 if register is not None else value)


def _bindings(op: tile.TileOperation, mask: int | None = None) -> list[Instruction]:
    """B.IOT records: sources two by two, a destination in each of the last; for the PEs of the operation."""
    slots = [tile_selector(s.number, s.distance.data) for s in (op.slots or ())]
    types = [cast("TileType | tile.PredicateType", result.type) for result in op.tile_results()]
    destinations = list(zip(types, op.hands, strict=True))
    mode = PE_MODE[prefix_mask(op.pes.value.data) if mask is None else mask]
    records: list[Instruction] = []
    count = max(-(-len(slots) // 2), len(destinations))
    for number in range(count):
        group = slots[2 * number : 2 * number + 2]
        fields: dict[str, int] = {f"SrcTile{n}": s for n, s in enumerate(group)}
        key = "S" * len(group)
        if number >= count - len(destinations):
            type_, hand = destinations[number - count]
            key += "D"
            fields |= {"SizeCode": type_.size_code, "DstTile": hand.number}
        records.append(make(f"B.IOT.{key}", PEMode=mode, L=int(number == count - 1), **fields))
    return records


def load(
    op: tile.LoadOp, base: int, stride: int, dims: Sequence[Instruction], mask: int | None = None
) -> list[Instruction]:
    """TLOAD; ``dims`` are LB0 (columns) and LB1 (rows)."""
    type_ = cast(TileType, op.result.type)
    start = make("BSTART.TLOAD", DataType=type_.dtype.code)
    layout = type_.layout.data
    attributes = [] if layout is TileLayout.NORM else [_relaid(_LOAD_LAYOUT[layout])]
    if layout.plain:
        dims = [*dims, dimension(2, type_.cols.data, None)]
    ior = make("B.IOR", RegSrc0=base, RegSrc1=stride)
    return [start, *attributes, *dims, ior, *_bindings(op, mask), STOP]


def load_shared(op: tile.LoadSharedOp, base: int, stride: int, dims: Sequence[Instruction]) -> list[Instruction]:
    """TLOAD of a whole Shared tile by its issuer; ``dims`` are LB0 to LB2 (columns, rows, physical columns).

    The load is an assembled generation of one fragment, which may replace a tile of another shape.
    """
    type_ = cast(SharedType, op.result.type)
    size = type_.size_code
    return [
        make("BSTART.TLOAD", DataType=type_.dtype.code),
        *dims,
        make("B.IOR", RegSrc0=base, RegSrc1=stride),
        make("B.IOS", SharedTID=op.shared.value.data, SizeCode=size, PEMode=PE_MODE[op.mask]),
        make("B.ASSEMBLE", INIT=1, LAST=1, SizeCode=size),
        STOP,
    ]


def store(
    op: tile.StoreOp, base: int, stride: int, dims: Sequence[Instruction], mask: int | None = None
) -> list[Instruction]:
    """TSTORE; ``dims`` are LB0 (columns) and LB1 (rows)."""
    type_ = cast(TileType, op.value.type)
    start = make("BSTART.TSTORE", DataType=type_.dtype.code)
    layout = type_.layout.data
    attributes = [] if layout is TileLayout.NORM else [_relaid(_STORE_LAYOUT[layout])]
    ior = make("B.IOR", RegSrc0=base, RegSrc1=stride)
    return [start, *attributes, *dims, ior, *_bindings(op, mask), STOP]


def _relaid(code: LayoutCode) -> Instruction:
    return make("B.DATR", Layout=code, DataType=dtypes.NONE_CODE, PadValueOrByteId=_PAD_ZERO)


def compare(op: tile.CompareOp, dims: Sequence[Instruction]) -> list[Instruction]:
    """TCMP; ``dims`` are LB0 (columns) and LB1 (rows)."""
    type_ = cast(TileType, op.lhs.type)
    start = make("BSTART.TEPL", Mode=_TCMP.mode, Function=_TCMP.function, DataType=type_.dtype.code)
    attributes = make("B.DATR", CMode=_CMODE[op.predicate.data], PadValueOrByteId=_PAD_NULL)
    return [start, attributes, *dims, dimension(2, type_.cols.data, None), *_bindings(op), STOP]


def scatter(op: tile.ScatterOp, base: int, dims: Sequence[Instruction]) -> list[Instruction]:
    """MSCATTER_MASK; ``dims`` are LB0 (columns) and LB1 (rows)."""
    type_ = cast(TileType, op.data.type)
    start = make("BSTART.MSCATTER.MASK", DataType=type_.dtype.code)
    col = dimension(2, type_.cols.data, None)
    return [start, *dims, col, make("B.IOR", RegSrc0=base), *_bindings(op), STOP]


def operation(op: tile.OperationOp, dims: Sequence[Instruction], registers: Sequence[int]) -> list[Instruction]:
    """Any operation by its schema; ``dims`` are LB0 and LB1, ``registers`` those of B.IOR."""
    isa, dtype = op.isa, op.dtype
    if isa.family == "TEPL":
        start = make("BSTART.TEPL", Mode=isa.mode, Function=isa.function, DataType=dtype.code)
    else:
        start = make(isa.start, DataType=dtype.code)
    given = {} if op.datr is None else op.datr.data
    fields = {name: cast(IntegerAttr, number).value.data for name, number in given.items()}
    if "DataType" in isa.schema.attributes:
        fields["DataType"] = dtypes.NONE_CODE if op.converted is None else op.converted.code
    if isa.schema.placement is not Placement.NO_TILE and op.layout_code != LayoutCode.NORM:
        fields["Layout"] = op.layout_code
    attributes = [make("B.DATR", **fields)] if given or "Layout" in fields or op.converted is not None else []
    if (op.tiles or op.sources) and isa.schema.dimensions[2] is not None:
        shaped = op.sources[0] if isa.schema.of_source or not op.tiles else op.tiles[0]
        dims = [*dims, dimension(2, cast("TileType | tile.PredicateType", shaped.type).cols.data, None)]
    ior = [make("B.IOR", **{f"RegSrc{n}": register for n, register in enumerate(registers)})] if registers else []
    return [start, *attributes, *dims, *ior, *_bindings(op), STOP]


def matmul(
    op: tile.MatmulOp,
    dims: Sequence[Instruction],
    words: Sequence[int],
    mask: int | None = None,
    view: int | None = None,
) -> list[Instruction]:
    """TMATMUL or TMATMUL.ACC; ``dims`` are LB0 to LB2 (M, N, K), ``words`` the registers of the parameter words.

    ``view`` is the register with the first cell of A, where that is part of a Shared tile.
    """
    a, b = (cast("TileType | SharedType", v.type) for v in (op.a, op.b))
    start = make("BSTART.TMATMUL" if op.acc is None else "BSTART.TMATMUL.ACC", DataType=a.dtype.code)
    post = op.post_processing
    attributes = []
    if b.dtype != a.dtype or post.saturate or post.rounding != Rounding.DEFAULT:
        attributes = [make("B.DATR", DataType=b.dtype.code, Sat=int(post.saturate), RMode=post.rounding)]
    fpatr = make(
        "B.FPATR",
        PreQuantMode=op.pre_quant_mode.code,
        ReluMode=post.relu_mode,
        TransA=int(op.trans_a is not None),
        TransB=int(op.trans_b is not None),
        CScaleEn=int(op.scale is not None),
        RowMaxEn=int(op.row_max is not None),
        RowMaxInit=int(op.initial is not None),
        GroupMaxEn=int(op.group_max is not None),
        GroupNCode=op.group_code,
        MaxAbsEn=int(op.absolute is not None),
    )
    ior = [make("B.IOR", **{f"RegSrc{n}": register for n, register in enumerate(words)})] if words else []
    shared = []
    for operand in (op.a, op.b):
        if (source := tile.shared_load(operand)) is not None:
            shared.append(make("B.IOS", SharedTID=source.shared.value.data, PEMode=PE_MODE[prefix_mask(PE_COUNT)]))
        if operand is op.a and view is not None:
            shared.append(make("B.SUBVIEW", SrcSelect=0, RegSrc=view, SubviewSizeCode=a.size_code))
    return [start, *attributes, fpatr, *dims, *ior, *shared, *_bindings(op, mask), STOP]
