"""``nd``: whole tensors, as the kernel's author wrote them.

Values are builtin tensors; launch arguments are memrefs with strides. An ``i1`` tensor is a mask (the result of
a comparison) or a numpy bool array. No tile and no machine appears here: epilogues are fused and hazards
removed on this level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    AnyTensorTypeConstr,
    IntegerAttr,
    MemRefType,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.attributes import (
    BitsAttr,
    HiF8Type,
    Predicate,
    PredicateAttr,
    RowAttr,
    dtype_of,
    element_type,
    shape_2d,
    unit_attrs,
    verify_array_type,
)
from ptoc.dialects.batching import Batch, BatchAttr, RowAxes, RowAxesAttr, batch_attr, count, matrices, rows_of
from ptoc.dialects.nd.tensors import (
    FOLDS,
    TENSOR_ATTRIBUTES,
    TENSOR_OPERATIONS,
    TENSOR_OPS,
    ElementwiseOp,
    ExpandOp,
    FoldOp,
    GatherOp,
    IotaOp,
    LoadViewOp,
    OperationOp,
    ReduceOp,
    Reduction,
    ReshapeOp,
    View,
    ViewAttr,
    verify_places,
    verify_view,
    whole,
)
from ptoc.dialects.postprocessing import NOTHING, Post, PostAttr, post_attr
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import GROUP_COLUMNS, ReluMode, Rounding


class RoundingName(StrEnum):
    """Roundings to integers, by numpy's names."""

    RINT = "rint"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"


ROUNDINGS = {
    RoundingName.RINT: Rounding.DEFAULT,
    RoundingName.FLOOR: Rounding.RTM,
    RoundingName.CEIL: Rounding.RTP,
    RoundingName.TRUNC: Rounding.RTZ,
}


def _element(value: SSAValue) -> Attribute:
    return cast(TensorType, value.type).element_type


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast("TensorType | MemRefType", value.type).get_shape()


def _verify_mask(value: SSAValue) -> None:
    if _element(value) != i1:
        raise VerifyException(f"a mask is a tensor of i1, not {value.type}")


@irdl_op_definition
class LoadOp(IRDLOperation):
    """The contents of an array at this point of the program."""

    name = "nd.load"
    source = operand_def(MemRefType)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(MemoryReadEffect())

    def __init__(self, source: SSAValue) -> None:
        type_ = cast(MemRefType, source.type)
        super().__init__(operands=[source], result_types=[TensorType(type_.element_type, type_.get_shape())])

    def verify_(self) -> None:
        verify_array_type(self.source.type)
        if _shape(self.result) != _shape(self.source) or _element(self.result) != _element(self.source):
            raise VerifyException("the loaded tensor has the shape and element type of the array")


class WriteOperation(IRDLOperation):
    """What every write says about cores; one that says nothing may be divided among them freely.

    ``alone``: the first core does all of it. ``together``: it is divided like all writes of that number, so that an
    element is one core's in each of them.
    """

    alone = opt_prop_def(UnitAttr)
    together = opt_prop_def(IntegerAttr.constr(i64))


_CORES = "(`alone` $alone^)? (`together` $together^)?"


@irdl_op_definition
class StoreOp(WriteOperation):
    """Write a whole tensor to an array; a mask becomes bytes 0 and 1."""

    name = "nd.store"
    value = operand_def(AnyTensorTypeConstr)
    dest = operand_def(MemRefType)
    assembly_format = f"$value `,` $dest {_CORES} attr-dict `:` type($value) `->` type($dest)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, value: SSAValue, dest: SSAValue) -> None:
        super().__init__(operands=[value, dest])

    def verify_(self) -> None:
        verify_array_type(self.dest.type)
        if _shape(self.value) != _shape(self.dest) or _element(self.value) != _element(self.dest):
            raise VerifyException("the stored tensor has the shape and element type of the array")


@irdl_op_definition
class StoreViewOp(WriteOperation):
    """Write a tensor to the elements of a view, none of which is there twice; a mask becomes bytes 0 and 1."""

    name = "nd.store_view"
    value = operand_def(AnyTensorTypeConstr)
    dest = operand_def(MemRefType)
    view = prop_def(ViewAttr)
    assembly_format = f"$value `,` $dest `view` $view {_CORES} attr-dict `:` type($value) `->` type($dest)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, value: SSAValue, dest: SSAValue, view: View | None = None) -> None:
        view = view or whole(cast(MemRefType, dest.type))
        super().__init__(operands=[value, dest], properties={"view": ViewAttr(view)})

    def verify_(self) -> None:
        verify_view(self.dest, self.value, self.view.data)
        if not self.view.data.distinct:
            raise VerifyException("an element is written once")


@irdl_op_definition
class StoreAtOp(WriteOperation):
    """Write a tensor at byte displacements from the first element of an array, under a mask if there is one.

    Where two elements meet, the last one in row-major order stays.
    """

    name = "nd.store_at"
    value = operand_def(AnyTensorTypeConstr)
    dest = operand_def(MemRefType)
    displacements = operand_def(AnyTensorTypeConstr)
    mask = opt_operand_def(AnyTensorTypeConstr)
    assembly_format = (
        f"$value `,` $dest `at` $displacements (`where` $mask^)? {_CORES} attr-dict "
        "`:` type($value) `->` type($dest) `,` type($displacements) (`,` type($mask)^)?"
    )
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, value: SSAValue, dest: SSAValue, displacements: SSAValue, mask: SSAValue | None = None) -> None:
        super().__init__(operands=[value, dest, displacements, mask])

    def verify_(self) -> None:
        verify_places(self.dest, self.displacements, self.value)
        if self.mask is not None:
            _verify_mask(self.mask)
            if _shape(self.mask) != _shape(self.value):
                raise VerifyException("mask and value have one shape")


@irdl_op_definition
class SplatOp(IRDLOperation):
    """One element, given by its bits, everywhere."""

    name = "nd.splat"
    bits = prop_def(BitsAttr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$bits attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, bits: int, type_: TensorType) -> None:
        super().__init__(properties={"bits": BitsAttr(bits)}, result_types=[type_])

    def verify_(self) -> None:
        element = _element(self.result)
        width = 1 if element == i1 else dtype_of(element).bits
        if self.bits.data >> width:
            raise VerifyException(f"{self.bits.data:#x} does not fit the {width} bits of {element}")


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A row of numbers that the kernel brings along, given by their bits."""

    name = "nd.constant"
    bits = prop_def(RowAttr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$bits attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, bits: Sequence[int], type_: TensorType) -> None:
        super().__init__(properties={"bits": RowAttr(tuple(bits))}, result_types=[type_])

    def verify_(self) -> None:
        shape = _shape(self.result)
        count = len(self.bits.data)
        if shape not in ((count,), (1, count)):
            raise VerifyException(f"{count} elements are no row like {self.result.type}")
        width = dtype_of(_element(self.result)).bits
        if any(bits >> width for bits in self.bits.data):
            raise VerifyException(f"an element does not fit the {width} bits of {_element(self.result)}")


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """Repeat a tensor of one row, numpy's rule for (N,) or (1, N) against (M, N).

    With ``rows``, repeat those of several as numpy repeats the matrices of a stack, or a row of each; such a tensor
    survives only as what the sums of a matmul start from.
    """

    name = "nd.broadcast"
    source = operand_def(AnyTensorTypeConstr)
    rows = opt_prop_def(RowAxesAttr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source (`rows` $rows^)? attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, shape: tuple[int, ...], rows: RowAxes = ()) -> None:
        super().__init__(
            operands=[source],
            properties={"rows": RowAxesAttr(rows)} if rows else {},
            result_types=[TensorType(_element(source), shape)],
        )

    def verify_(self) -> None:
        shape, result = _shape(self.source), _shape(self.result)
        if self.rows is not None:
            repeated, given = rows_of(self.rows.data)
            if (shape, result) != ((given, *shape[1:]), (repeated, *shape[1:])) or len(shape) != 2:
                raise VerifyException(f"{self.source.type} and {self.result.type} have not {given} and {repeated} rows")
            if _element(self.source) != _element(self.result):
                raise VerifyException("repeating keeps the element type")
            return
        if shape[-1] != result[-1] or shape[:-1] not in ((), (1,)) or _element(self.source) != _element(self.result):
            raise VerifyException(f"{self.source.type} does not repeat row by row to {self.result.type}")


@irdl_op_definition
class CompareOp(IRDLOperation):
    """Compare two tensors of one type element by element: a mask."""

    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)

    name = "nd.compare"
    predicate = prop_def(PredicateAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(
            operands=[lhs, rhs],
            properties={"predicate": PredicateAttr(predicate)},
            result_types=[TensorType(i1, _shape(lhs))],
        )

    def verify_(self) -> None:
        _verify_mask(self.result)
        if _shape(self.result) != _shape(self.lhs):
            raise VerifyException("the mask has the shape of what is compared")
        if dtype_of(_element(self.lhs)) not in dtypes.COMPARE_TYPES:
            raise VerifyException(f"TCMP does not compare {_element(self.lhs)}")


@irdl_op_definition
class WhereOp(IRDLOperation):
    """``numpy.where``: elements of the first branch where the mask is true, of the second elsewhere."""

    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)

    name = "nd.where"
    mask = operand_def(AnyTensorTypeConstr)
    on_true = operand_def(T)
    on_false = operand_def(T)
    result = result_def(T)
    assembly_format = "$mask `,` $on_true `,` $on_false attr-dict `:` type($mask) `,` type($result)"
    traits = traits_def(Pure())

    def __init__(self, mask: SSAValue, on_true: SSAValue, on_false: SSAValue) -> None:
        super().__init__(operands=[mask, on_true, on_false], result_types=[on_true.type])

    def verify_(self) -> None:
        _verify_mask(self.mask)
        if _shape(self.mask) != _shape(self.result):
            raise VerifyException("the mask has the shape of the branches")


@irdl_op_definition
class MaskedStoreOp(WriteOperation):
    """``dest[mask] = value[mask]``: write the elements under the mask, leave the others."""

    name = "nd.masked_store"
    mask = operand_def(AnyTensorTypeConstr)
    value = operand_def(AnyTensorTypeConstr)
    dest = operand_def(MemRefType)
    assembly_format = f"$mask `,` $value `,` $dest {_CORES} attr-dict `:` type($mask) `,` type($value) `->` type($dest)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, mask: SSAValue, value: SSAValue, dest: SSAValue) -> None:
        super().__init__(operands=[mask, value, dest])

    def verify_(self) -> None:
        verify_array_type(self.dest.type)
        _verify_mask(self.mask)
        if not _shape(self.mask) == _shape(self.value) == _shape(self.dest):
            raise VerifyException("mask, value and destination have one shape")
        if _element(self.value) != _element(self.dest):
            raise VerifyException("value and destination have one element type")


@irdl_op_definition
class ScatterOp(WriteOperation):
    """Store ``value`` under ``mask`` at byte displacements from the first element of ``dest``."""

    name = "nd.scatter"
    mask = operand_def(AnyTensorTypeConstr)
    displacements = operand_def(AnyTensorTypeConstr)
    value = operand_def(AnyTensorTypeConstr)
    dest = operand_def(MemRefType)
    assembly_format = (
        f"$value `,` $dest `at` $displacements `where` $mask {_CORES} attr-dict "
        "`:` type($value) `->` type($dest) `,` type($displacements) `,` type($mask)"
    )
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, mask: SSAValue, displacements: SSAValue, value: SSAValue, dest: SSAValue) -> None:
        super().__init__(operands=[mask, displacements, value, dest])

    def verify_(self) -> None:
        verify_array_type(self.dest.type)
        _verify_mask(self.mask)
        if not _shape(self.mask) == _shape(self.displacements) == _shape(self.value):
            raise VerifyException("mask, displacements and value have one shape")
        if _element(self.value) != _element(self.dest):
            raise VerifyException("value and destination have one element type")
        if dtype_of(_element(self.displacements)) not in dtypes.SCATTER_INDEX_TYPES:
            raise VerifyException("displacements are 32- or 64-bit integers")


def accumulates_into(accumulator: DType, stored: DType) -> bool:
    """Whether arrays of ``stored`` hold the accumulator: integer sums are modulo 2^32, with or without a sign."""
    return stored == accumulator or (
        not stored.is_float and stored.bits == accumulator.bits and not accumulator.is_float
    )


def _left_matrix(value: SSAValue, transposed: UnitAttr | None, number: int = 1) -> tuple[int, int]:
    """Rows and columns of the left matrix of a product, which a vector is a row of, or of each of a ``number``."""
    rows, cols = shape_2d(value.type)
    rows //= number
    return (rows, cols) if transposed is None else (cols, rows)


def _right_matrix(value: SSAValue, transposed: UnitAttr | None, number: int = 1) -> tuple[int, int]:
    """Rows and columns of the right matrix of a product, which a vector is a column of, or of each of a ``number``."""
    rows, cols = _left_matrix(value, transposed, number)
    return (rows, cols) if len(_shape(value)) == 2 else (cols, rows)


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """Rows become columns; it survives only as an operand of a matmul."""

    name = "nd.transpose"
    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue) -> None:
        super().__init__(operands=[source], result_types=[TensorType(_element(source), _shape(source)[::-1])])

    def verify_(self) -> None:
        if len(_shape(self.source)) != 2 or _shape(self.result) != _shape(self.source)[::-1]:
            raise VerifyException(f"{self.result.type} is not the transpose of {self.source.type}")
        if _element(self.result) != _element(self.source):
            raise VerifyException("transposing keeps the element type")


@irdl_op_definition
class MatmulAccOp(IRDLOperation):
    """``acc + a @ b`` in the accumulator type, K ascending, then ``post`` and one conversion.

    As in numpy, a left operand of one dimension is a row, a right one a column, and the result lacks that dimension.
    Without ``acc`` the sum starts from +0; with ``scale``, a byte per row, from ``acc`` divided by two to the power of
    its row's byte. The result's element type is the accumulator's or one that B.FPATR converts to as ``post`` says.
    With ``trans_a`` the tensor ``a`` is the transpose of the left matrix, as it lies in memory; ``trans_b`` is the same
    for the right one. A ``batch`` is a stack of such products of matrices: each tensor has the rows of all matrices
    below each other, ``acc`` and the result those of every product. There too a left operand of one dimension is a
    row, of every product.

    Further results are maxima of the sums themselves, before ``post``, in the accumulator type: ``row_max`` of every
    row and of ``initial``, ``group_max`` of every ``group`` columns of it. They are those of magnitudes with
    ``absolute``. A NaN loses against any number, -0 against +0.
    """

    name = "nd.matmul_acc"
    a = operand_def(AnyTensorTypeConstr)
    b = operand_def(AnyTensorTypeConstr)
    acc = opt_operand_def(AnyTensorTypeConstr)
    scale = opt_operand_def(AnyTensorTypeConstr)
    initial = opt_operand_def(AnyTensorTypeConstr)
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)
    batch = opt_prop_def(BatchAttr)
    post = opt_prop_def(PostAttr)
    group = opt_prop_def(IntegerAttr.constr(i64))
    absolute = opt_prop_def(UnitAttr)
    result = result_def(AnyTensorTypeConstr)
    row_max = opt_result_def(AnyTensorTypeConstr)
    group_max = opt_result_def(AnyTensorTypeConstr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))
    assembly_format = (
        "$a `,` $b (`trans_a` $trans_a^)? (`trans_b` $trans_b^)? (`batch` $batch^)? (`acc` $acc^ `:` type($acc))? "
        "(`scale` $scale^ `:` type($scale))? (`post` $post^)? (`initial` $initial^ `:` type($initial))? "
        "(`group` $group^)? (`absolute` $absolute^)? attr-dict `:` type($a) `,` type($b) `->` type($result) "
        "(`row_max` type($row_max)^)? (`group_max` type($group_max)^)?"
    )
    traits = traits_def(Pure())

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        acc: SSAValue | None,
        result: TensorType,
        post: Post = NOTHING,
        scale: SSAValue | None = None,
        *,
        trans_a: bool = False,
        trans_b: bool = False,
        batch: Batch = (),
        row_max: TensorType | None = None,
        initial: SSAValue | None = None,
        group_max: TensorType | None = None,
        group: int = 0,
        absolute: bool = False,
    ) -> None:
        flags = unit_attrs(trans_a=trans_a, trans_b=trans_b, absolute=absolute)
        groups = {"group": IntegerAttr(group, i64)} if group else {}
        super().__init__(
            operands=[a, b, acc, scale, initial],
            properties=flags | groups | post_attr(post) | batch_attr(batch),
            result_types=[result, row_max, group_max],
        )

    @property
    def size(self) -> tuple[int, int, int]:
        """M, N and K of a verified product, or of each of a stack."""
        (m, k), (_, n) = self._matrices()
        return m, n, k

    @property
    def axes(self) -> Batch:
        """The axes of a stack of products; none for a single one."""
        return () if self.batch is None else self.batch.data

    def _matrices(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows and columns of each left and each right matrix."""
        a, b = matrices(self.axes)
        return _left_matrix(self.a, self.trans_a, a), _right_matrix(self.b, self.trans_b, b)

    @property
    def is_column(self) -> bool:
        """Whether the result is a column, whatever dimensions it has."""
        return len(_shape(self.b)) == 1

    @property
    def post_processing(self) -> Post:
        return NOTHING if self.post is None else self.post.data

    def finished_type(self, accumulator: DType) -> DType:
        """What the machine makes of the sums; the result holds its bits."""
        stored = dtype_of(_element(self.result))
        if self.post_processing.hif8 and stored == dtypes.U8:
            return dtypes.HIF8
        return accumulator if accumulates_into(accumulator, stored) else stored

    def verify_(self) -> None:
        for operand, transposed in ((self.a, self.trans_a), (self.b, self.trans_b)):
            if len(_shape(operand)) not in ((1, 2) if transposed is None else (2,)):
                raise VerifyException(f"{self.a.type} times {self.b.type} is no product of matrices or vectors")
        self._verify_batch()
        (m, k), (k2, n) = self._matrices()
        m *= count(self.axes)
        shape: tuple[int, ...] = (*(m,) * (len(_shape(self.a)) - 1), *(n,) * (len(_shape(self.b)) - 1))
        if self.batch is not None:
            shape = m, n
        if k != k2 or _shape(self.result) != shape:
            raise VerifyException(f"{self.a.type} times {self.b.type} is not {self.result.type}")
        a, b = (dtype_of(_element(v)) for v in (self.a, self.b))
        accumulator = dtypes.accumulator(a, b)
        if accumulator is None:
            raise VerifyException(f"{a} by {b} is no matmul pair: both are floating, signed or unsigned")
        if self.acc is not None and not (
            accumulates_into(accumulator, dtype_of(_element(self.acc))) and _shape(self.acc) == shape
        ):
            raise VerifyException(f"the accumulator is {m}x{n} of {accumulator}, not {self.acc.type}")
        if self.scale is not None:
            if self.acc is None or not accumulator.is_float:
                raise VerifyException("a scale divides a floating accumulator")
            if _shape(self.scale) not in ((m,), (m, 1)) or dtype_of(_element(self.scale)) != dtypes.U8:
                raise VerifyException(f"a scale is one unsigned byte for each of {m} rows, not {self.scale.type}")
        post = self.post_processing
        mode = post.mode(accumulator, self.finished_type(accumulator))
        counts = (("vector", mode.parameter, post.quantization(mode)), (ReluMode.PRELU, post.relu_mode, post.slopes()))
        if any(kind == wanted and len(words) != n for wanted, kind, words in counts):
            raise VerifyException(f"parameters by column have {n} numbers here")
        self._verify_maxima(accumulator, m, n)

    def _verify_maxima(self, accumulator: DType, m: int, n: int) -> None:
        if self.initial is not None and self.row_max is None:
            raise VerifyException("row maxima alone have an initial value")
        if self.absolute is not None and self.row_max is None and self.group_max is None:
            raise VerifyException("there are no maxima of magnitudes here")
        if (self.group is not None) != (self.group_max is not None):
            raise VerifyException("group maxima, and they alone, have a number of columns")
        for value in (self.row_max, self.initial):
            if value is not None and _shape(value) not in ((m,), (m, 1), *[()] * (m == 1)):
                raise VerifyException(f"there is one maximum for each of {m} rows, not {value.type}")
        if self.group is not None and self.group_max is not None:
            columns = self.group.value.data
            if columns not in GROUP_COLUMNS[1:] or n % columns:
                raise VerifyException(f"{n} columns are no groups of {columns}")
            if shape_2d(self.group_max.type) != (m, n // columns):
                raise VerifyException(f"there are {m}x{n // columns} maxima of groups, not {self.group_max.type}")
        given = [value for value in (self.row_max, self.initial, self.group_max) if value is not None]
        if any(dtype_of(_element(value)) != accumulator for value in given):
            raise VerifyException(f"maxima are those of sums in {accumulator}")

    def _verify_batch(self) -> None:
        if self.batch is None:
            return
        if len(_shape(self.b)) != 2 or self.scale is not None:
            raise VerifyException("a stack of products has matrices on the right, and no scale")
        if self.row_max is not None or self.group_max is not None:
            raise VerifyException("a stack of products has no maxima")
        if not self.axes or any(axis.extent < 1 for axis in self.axes):
            raise VerifyException("a stack has one product or more along every axis")
        for operand, number in zip((self.a, self.b), matrices(self.axes)):
            if number > 1 and (len(_shape(operand)) != 2 or _shape(operand)[0] % number):
                raise VerifyException(f"{operand.type} is no stack of {number} matrices")


class _BinaryOp(IRDLOperation):
    """Element by element, of two tensors of one type; it survives only as part of a matmul."""

    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])


@irdl_op_definition
class AddOp(_BinaryOp):
    """Sum."""

    name = "nd.add"


@irdl_op_definition
class MulOp(_BinaryOp):
    """Product."""

    name = "nd.mul"


@irdl_op_definition
class MaximumOp(_BinaryOp):
    """``numpy.maximum``: NaN where either is NaN."""

    name = "nd.maximum"


@irdl_op_definition
class MinimumOp(_BinaryOp):
    """``numpy.minimum``: NaN where either is NaN."""

    name = "nd.minimum"


@irdl_op_definition
class ShiftRightOp(_BinaryOp):
    """Arithmetic shift of integers to the right."""

    name = "nd.shift_right"


@irdl_attr_definition
class RoundingAttr(EnumAttribute[RoundingName], SpacedOpaqueSyntaxAttribute):
    name = "nd.rounding"

    @property
    def mode(self) -> Rounding:
        return ROUNDINGS[self.data]


@irdl_op_definition
class RoundOp(IRDLOperation):
    """Floating numbers to whole ones: ``numpy.rint``, ``floor``, ``ceil`` or ``trunc``."""

    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)

    name = "nd.round"
    rounding = prop_def(RoundingAttr)
    source = operand_def(T)
    result = result_def(T)
    assembly_format = "$rounding $source attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, rounding: RoundingName, source: SSAValue) -> None:
        super().__init__(operands=[source], properties={"rounding": RoundingAttr(rounding)}, result_types=[source.type])


@irdl_op_definition
class NegOp(IRDLOperation):
    """Negative of integers."""

    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)

    name = "nd.neg"
    source = operand_def(T)
    result = result_def(T)
    assembly_format = "$source attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue) -> None:
        super().__init__(operands=[source], result_types=[source.type])


@irdl_op_definition
class ColumnOp(IRDLOperation):
    """A tensor of one dimension as a column: numpy's ``x[:, None]``."""

    name = "nd.column"
    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue) -> None:
        super().__init__(operands=[source], result_types=[TensorType(_element(source), (*_shape(source), 1))])

    def verify_(self) -> None:
        if _shape(self.result) != (*_shape(self.source), 1) or len(_shape(self.source)) != 1:
            raise VerifyException("a column has the elements of a tensor of one dimension")


@irdl_op_definition
class LdexpOp(IRDLOperation):
    """``numpy.ldexp`` with one exponent per row; it survives only as the accumulator of a matmul."""

    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)

    name = "nd.ldexp"
    source = operand_def(T)
    exponents = operand_def(AnyTensorTypeConstr)
    result = result_def(T)
    assembly_format = "$source `,` $exponents attr-dict `:` type($result) `,` type($exponents)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, exponents: SSAValue) -> None:
        super().__init__(operands=[source, exponents], result_types=[source.type])

    def verify_(self) -> None:
        if _shape(self.exponents) != (_shape(self.source)[0], 1):
            raise VerifyException("there is one exponent per row")


@irdl_op_definition
class ReluOp(IRDLOperation):
    """``maximum(x, 0)`` as B.FPATR does it: a NaN stays, −0 becomes +0."""

    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)

    name = "nd.relu"
    source = operand_def(T)
    result = result_def(T)
    assembly_format = "$source attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue) -> None:
        super().__init__(operands=[source], result_types=[source.type])


@irdl_op_definition
class AbsOp(IRDLOperation):
    """Magnitudes; it survives only as part of a matmul with maxima."""

    T: ClassVar = VarConstraint("T", AnyTensorTypeConstr)

    name = "nd.abs"
    source = operand_def(T)
    result = result_def(T)
    assembly_format = "$source attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue) -> None:
        super().__init__(operands=[source], result_types=[source.type])


@irdl_op_definition
class MaxOp(IRDLOperation):
    """The maximum of every row, or of every ``group`` columns of it; it survives only as part of a matmul."""

    name = "nd.max"
    source = operand_def(AnyTensorTypeConstr)
    group = opt_prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source (`group` $group^)? attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, shape: Sequence[int], group: int = 0) -> None:
        super().__init__(
            operands=[source],
            properties={"group": IntegerAttr(group, i64)} if group else {},
            result_types=[TensorType(_element(source), shape)],
        )

    def verify_(self) -> None:
        rows, cols = shape_2d(self.source.type)
        group = cols if self.group is None else self.group.value.data
        if group < 1 or cols % group or math.prod(_shape(self.result)) != rows * (cols // group):
            raise VerifyException(f"{self.result.type} holds no maximum of each {group} columns of {self.source.type}")
        if _element(self.result) != _element(self.source):
            raise VerifyException("a maximum has the type of the elements")


@irdl_op_definition
class HiF8Op(IRDLOperation):
    """``ptoc.hifloat8``: the HiF8 codes of floats, as bytes; it survives only as part of a matmul."""

    name = "nd.hif8"
    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue) -> None:
        type_ = TensorType(element_type(dtypes.U8), _shape(source))
        super().__init__(operands=[source], result_types=[type_])

    def verify_(self) -> None:
        if _shape(self.source) != _shape(self.result) or dtype_of(_element(self.result)) != dtypes.U8:
            raise VerifyException("there is one byte for each element")
        if not dtype_of(_element(self.source)).is_float:
            raise VerifyException(f"HiF8 codes are those of floats, not of {self.source.type}")


@irdl_op_definition
class CastOp(IRDLOperation):
    """``astype``: a value conversion, to nearest even where it rounds."""

    name = "nd.cast"
    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, element: Attribute) -> None:
        super().__init__(operands=[source], result_types=[TensorType(element, _shape(source))])

    def verify_(self) -> None:
        if _shape(self.source) != _shape(self.result):
            raise VerifyException("a cast keeps the shape")


__all__ = [
    "FOLDS",
    "TENSOR_OPERATIONS",
    "TENSOR_OPS",
    "ElementwiseOp",
    "ExpandOp",
    "FoldOp",
    "GatherOp",
    "IotaOp",
    "LoadViewOp",
    "OperationOp",
    "ReduceOp",
    "Reduction",
    "ReshapeOp",
    "View",
    "whole",
]
__all__ += [name for name in dir() if name.endswith("Op")]

ND = Dialect(
    "nd",
    [
        LoadOp,
        StoreOp,
        SplatOp,
        ConstantOp,
        BroadcastOp,
        CompareOp,
        WhereOp,
        MaskedStoreOp,
        ScatterOp,
        TransposeOp,
        MatmulAccOp,
        AddOp,
        MulOp,
        MaximumOp,
        MinimumOp,
        ShiftRightOp,
        RoundOp,
        NegOp,
        ColumnOp,
        LdexpOp,
        ReluOp,
        AbsOp,
        MaxOp,
        CastOp,
        HiF8Op,
        *TENSOR_OPS,
        StoreViewOp,
        StoreAtOp,
    ],
    [*TENSOR_ATTRIBUTES, HiF8Type, PredicateAttr, BitsAttr, RowAttr, PostAttr, RoundingAttr, BatchAttr, RowAxesAttr],
)
"""The dialect, for an xDSL context."""
