"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.attributes import unit_attrs
from ptoc.dialects.postprocessing import NOTHING, Post, PostAttr, post_attr
from ptoc.dialects.tile.base import NAMES, RowsOperation, pes_attr, rest_attr
from ptoc.dialects.tile.names import HandAttr
from ptoc.dialects.tile.types import SharedType, TileLayout, TileType
from ptoc.isa import dtypes, layouts
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import GROUP_COLUMNS, PreQuantMode, ReluMode
from ptoc.isa.registers import PE_COUNT, prefix_mask


@irdl_op_definition
class MatmulOp(RowsOperation):
    """TMATMUL, or TMATMUL.ACC with ``acc``.

    With Local operands ``m, n, k`` are the valid sizes on each PE. With Shared ones the product is cooperative: ``m``
    counts the rows of the core, and ``acc`` and the result hold each PE's part of them; with ``trans_a`` the Shared A
    is stored as ``k x m``, with ``trans_b`` the Shared B as ``n x k``. ``scale`` is CScale: a column of bytes, by whose
    powers of two the rows of ``acc`` are divided first; ``words`` and ``slopes`` hold the parameters that ``post``
    leaves to the columns.

    Further results are maxima of the sums, before ``post``: ``row_max`` of each row and of ``initial``, ``group_max``
    of each ``group`` columns; of magnitudes with ``absolute``. ``beside`` are their hands.
    """

    name = "tile.matmul"
    acc = opt_operand_def(TileType)
    a = operand_def(TileType | SharedType)
    b = operand_def(TileType | SharedType)
    scale = opt_operand_def(TileType)
    initial = opt_operand_def(TileType)
    words = opt_operand_def(TileType)
    slopes = opt_operand_def(TileType)
    m = operand_def(IndexType)
    n = operand_def(IndexType)
    k = operand_def(IndexType)
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)
    post = opt_prop_def(PostAttr)
    group = opt_prop_def(IntegerAttr.constr(i64))
    absolute = opt_prop_def(UnitAttr)
    beside = opt_prop_def(ArrayAttr[HandAttr])
    result = result_def(TileType)
    row_max = opt_result_def(TileType)
    group_max = opt_result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))
    assembly_format = (
        "$a `,` $b (`trans_a` $trans_a^)? (`trans_b` $trans_b^)? "
        "(`acc` $acc^ `:` type($acc))? (`scale` $scale^ `:` type($scale))? "
        "(`initial` $initial^ `:` type($initial))? "
        "(`words` $words^ `:` type($words))? (`slopes` $slopes^ `:` type($slopes))? "
        "`size` $m `,` $n `,` $k (`post` $post^)? (`group` $group^)? (`absolute` $absolute^)? "
        f"`pes` $pes (`rest` $rest^)? {NAMES} (`beside` $beside^)? attr-dict "
        "`:` type($a) `,` type($b) `->` type($result) (`row_max` type($row_max)^)? (`group_max` type($group_max)^)?"
    )
    traits = traits_def(Pure())

    def __init__(
        self,
        acc: SSAValue | None,
        a: SSAValue,
        b: SSAValue,
        size: tuple[SSAValue, SSAValue, SSAValue],
        pes: int,
        result: TileType,
        post: Post = NOTHING,
        scale: SSAValue | None = None,
        words: SSAValue | None = None,
        slopes: SSAValue | None = None,
        *,
        rest: int = 0,
        trans_a: bool = False,
        trans_b: bool = False,
        row_max: TileType | None = None,
        initial: SSAValue | None = None,
        group_max: TileType | None = None,
        group: int = 0,
        absolute: bool = False,
    ) -> None:
        flags = unit_attrs(trans_a=trans_a, trans_b=trans_b, absolute=absolute)
        groups: dict[str, Attribute] = {"group": IntegerAttr(group, i64)} if group else {}
        super().__init__(
            operands=[acc, a, b, scale, initial, words, slopes, *size],
            properties={"pes": pes_attr(pes)} | rest_attr(rest) | flags | groups | post_attr(post),
            result_types=[result, row_max, group_max],
        )

    @property
    def post_processing(self) -> Post:
        return NOTHING if self.post is None else self.post.data

    @property
    def pre_quant_mode(self) -> PreQuantMode:
        """What turns the accumulator into the result's type."""
        a, b, d = (cast("TileType | SharedType", v.type).dtype for v in (self.a, self.b, self.result))
        accumulator = dtypes.accumulator(a, b)
        if accumulator is None:
            raise VerifyException(f"no matmul takes {a} and {b}")
        return self.post_processing.mode(accumulator, d)

    @property
    def hands(self) -> tuple[HandAttr, ...]:
        return (*super().hands, *(self.beside or ()))

    def place(self, hands: Sequence[HandAttr]) -> None:
        self.into, *beside = hands
        self.beside = ArrayAttr(beside) if beside else None

    @property
    def group_code(self) -> int:
        """GroupNCode of B.FPATR."""
        return 0 if self.group is None else GROUP_COLUMNS.index(self.group.value.data)

    def parameters(self) -> tuple[SSAValue, ...]:
        """The tiles that are read for this bundle alone, and are no operands of the product."""
        return tuple(each for each in (self.scale, self.words, self.slopes) if each is not None)

    @property
    def cooperative(self) -> bool:
        """Whether the operands are Shared."""
        return isinstance(self.a.type, SharedType)

    @property
    def mask(self) -> int:
        """In a cooperative product PEs without rows publish nothing."""
        rows = self.m.owner.value if isinstance(self.m.owner, arith.ConstantOp) else None
        if not self.cooperative or not isinstance(rows, IntegerAttr):
            return super().mask
        pe_rows = layouts.M_ROWS[cast(TileType, self.result.type).layout.data.isa_name]
        return prefix_mask(min(PE_COUNT, -(-rows.value.data // pe_rows)))

    def verify_operation(self) -> None:
        super().verify_operation()
        a, b, d = self.a.type, self.b.type, cast(TileType, self.result.type)
        mode = self.pre_quant_mode
        for transposed, operand in ((self.trans_a, a), (self.trans_b, b)):
            if transposed is not None and not isinstance(operand, SharedType):
                raise VerifyException("only a Shared operand is transposed")
        if isinstance(a, SharedType) and isinstance(b, SharedType):
            if self.pes.value.data != PE_COUNT or self.rest is not None:
                raise VerifyException("all PEs take part in a cooperative product")
            layout = d.layout
            if layout.data.isa_name not in layouts.M_ROWS:
                raise VerifyException("the result is cube_m16 or cube_m32")
        elif isinstance(a, TileType) and isinstance(b, TileType):
            if a.layout.data.isa_name not in layouts.M_ROWS or b.layout.data is not TileLayout.CUBE_N8:
                raise VerifyException("A is cube_m16 or cube_m32, B is cube_n8")
            layout = a.layout
            if d.layout != layout:
                raise VerifyException("the result has the layout of A")
        else:
            raise VerifyException("both operands are Local, or both are Shared")
        post = self.post_processing
        self._verify_columns(self.words, mode.parameter == "vector")
        self._verify_columns(self.slopes, post.relu_mode == ReluMode.PRELU)
        if post != post.from_tiles:
            raise VerifyException("what differs by column stands in tiles")
        if self.scale is not None:
            self._verify_scale(cast(TileType, self.scale.type))
        accumulator = dtypes.accumulator(cast("TileType | SharedType", a).dtype, cast("TileType | SharedType", b).dtype)
        assert accumulator is not None
        self._verify_maxima(accumulator)
        if self.acc is None:
            return
        c = cast(TileType, self.acc.type)
        if c.dtype != accumulator or c.layout != layout:
            raise VerifyException("the accumulator has the accumulator type and the layout of the result")
        if mode.code == 0 and c.capacity != d.capacity:
            raise VerifyException("accumulator and result have one capacity")

    def _verify_columns(self, words: SSAValue | None, wanted: bool) -> None:
        if (words is not None) != wanted:
            raise VerifyException("there is a tile of words where post leaves a parameter to the columns")
        if words is None:
            return
        type_ = cast(TileType, words.type)
        if (type_.dtype, type_.layout.data, type_.shape[0]) != (dtypes.U64, TileLayout.NORM, 1):
            raise VerifyException("parameters by column are one row of 64-bit words")

    def _verify_maxima(self, accumulator: DType) -> None:
        if self.initial is not None and self.row_max is None:
            raise VerifyException("RowMaxIn needs row maxima")
        if self.absolute is not None and self.row_max is None and self.group_max is None:
            raise VerifyException("there are no maxima of magnitudes here")
        if (self.group is not None) != (self.group_max is not None):
            raise VerifyException("group maxima, and they alone, have a number of columns")
        if self.group is not None and self.group.value.data not in GROUP_COLUMNS[1:]:
            raise VerifyException(f"no group has {self.group.value.data} columns")
        rows = cast(TileType, self.result.type).shape[0]
        for value in (self.row_max, self.initial, self.group_max):
            if value is None:
                continue
            type_ = cast(TileType, value.type)
            if (type_.dtype, type_.layout.data, type_.shape[0]) != (accumulator, TileLayout.NORM, rows):
                raise VerifyException(f"maxima of {rows} rows are row-major, in {accumulator}")
            if value is not self.group_max and type_.shape[1] != 1:
                raise VerifyException("maxima of rows are a column")

    def _verify_scale(self, scale: TileType) -> None:
        if self.acc is None or not cast(TileType, self.acc.type).dtype.is_float:
            raise VerifyException("CScale needs a floating accumulator")
        if (scale.dtype, scale.layout.data, scale.shape[1]) != (dtypes.U8, TileLayout.CUBE_M32, 1):
            raise VerifyException("CScale is a column of unsigned bytes in cube_m32")
