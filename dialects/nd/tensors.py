"""Tensors of any rank: views of arrays, element-wise functions, reductions, and what moves elements about.

``nd.elementwise`` and ``nd.reduce`` say what numpy computes; ``expand-numpy`` makes them ``nd.operation`` and
``nd.fold``, which say what the machine computes. Operands of one operation have one shape: what numpy broadcasts goes
through ``nd.expand``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import (
    AnyTensorTypeConstr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Data, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ptoc.dialects.attributes import dtype_of
from ptoc.isa import dtypes
from ptoc.isa.dtypes import DType
from ptoc.isa.encoding import BY_KEY
from ptoc.isa.operations import BY_NAME
from ptoc.isa.schema import PREDICATE, SAME

TENSOR_OPERATIONS = frozenset(
    {
        *("TADD", "TSUB", "TMUL", "TDIV", "TREM", "TFMA"),
        *("TMAX", "TMIN", "TABS", "TNEG", "TRELU"),
        *("TAND", "TOR", "TXOR", "TNOT", "TSHL", "TSHR"),
        *("TEXP", "TLOG", "TRECIP", "TSQRT", "TRSQRT"),
        *("TCMP", "TSEL", "TCVT"),
    }
)
"""Operations of the machine that make a tensor out of tensors of its shape, element by element."""

MASK_OPERATIONS = frozenset({"TAND", "TOR", "TXOR"})
"""Those of them that take masks as well, as bytes 0 and 1."""


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor or an array."""
    return cast("TensorType | MemRefType", value.type).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor or an array."""
    return cast("TensorType | MemRefType", value.type).element_type


def dtype(value: SSAValue) -> DType:
    """The PTO type of the elements of a tensor or an array; that of a mask is U8."""
    return dtype_of(element_of(value))


@dataclass(frozen=True, slots=True)
class View:
    """Which elements of an array a tensor consists of: the place of the first, and per dimension size and stride.

    All of it counts elements of the array's memory, from its own first one. A stride of 0 repeats, a negative one goes
    backwards.
    """

    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def dense(self) -> bool:
        """Whether the elements follow each other without a gap, in row-major order."""
        expected = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides)):
            if size > 1 and stride != expected:
                return False
            expected *= size
        return True

    @property
    def distinct(self) -> bool:
        """Whether no element of the array can occur twice, as far as its strides tell."""
        spanned = 1
        for stride, size in sorted((abs(stride), size) for size, stride in zip(self.sizes, self.strides) if size > 1):
            if stride < spanned:
                return False
            spanned = stride * (size - 1) + spanned
        return True

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest element that it reaches."""
        reaches = [(size - 1) * stride for size, stride in zip(self.sizes, self.strides)]
        low, high = (sum(pick(reach, 0) for reach in reaches) for pick in (min, max))
        return self.offset + low, self.offset + high


@irdl_attr_definition
class ViewAttr(Data[View]):
    """A view, written ``<offset [sizes] [strides]>``."""

    name = "nd.view"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> View:
        with parser.in_angle_brackets():
            offset = parser.parse_integer()
            square = parser.Delimiter.SQUARE
            sizes = parser.parse_comma_separated_list(square, lambda: parser.parse_integer(allow_negative=False))
            strides = parser.parse_comma_separated_list(square, parser.parse_integer)
        return View(offset, tuple(sizes), tuple(strides))

    def print_parameter(self, printer: Printer) -> None:
        sizes, strides = (", ".join(map(str, each)) for each in (self.data.sizes, self.data.strides))
        with printer.in_angle_brackets():
            printer.print_string(f"{self.data.offset} [{sizes}] [{strides}]")


def array_strides(type_: MemRefType) -> tuple[int, ...]:
    """The strides of an array, in elements."""
    if isinstance(type_.layout, NoneAttr):
        shape = type_.get_shape()
        return tuple(math.prod(shape[n + 1 :]) for n in range(len(shape)))
    assert isinstance(type_.layout, StridedLayoutAttr)
    return tuple(cast(Sequence[int], type_.get_strides()))


def whole(type_: MemRefType) -> View:
    """The view that is all of an array."""
    return View(0, type_.get_shape(), array_strides(type_))


def verify_view(array: SSAValue, value: SSAValue, view: View) -> None:
    """That a tensor is a view of an array; ``VerifyException`` if it is not."""
    type_ = cast(MemRefType, array.type)
    if element_of(value) != element_of(array):
        raise VerifyException(f"{type_} has no elements of {element_of(value)}")
    if dtype_of(type_.element_type).packed:
        raise VerifyException(f"a view of {type_}: packed elements have no places of their own")
    if len(view.strides) != len(view.sizes) or shape_of(value) != view.sizes or 0 in view.sizes:
        raise VerifyException(f"{value.type} is no view of {len(view.strides)} dimensions of {list(view.sizes)}")
    reaches = zip(type_.get_shape(), array_strides(type_))
    low, high = view.ends
    if low < 0 or high > sum((size - 1) * stride for size, stride in reaches):
        raise VerifyException(f"the view reaches elements {low} to {high}, which {type_} does not have")


@irdl_op_definition
class LoadViewOp(IRDLOperation):
    """Elements of an array at this point of the program."""

    name = "nd.load_view"
    source = operand_def(MemRefType)
    view = prop_def(ViewAttr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source `view` $view attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(MemoryReadEffect())

    def __init__(self, source: SSAValue, view: View | None = None) -> None:
        view = view or whole(cast(MemRefType, source.type))
        super().__init__(
            operands=[source],
            properties={"view": ViewAttr(view)},
            result_types=[TensorType(element_of(source), view.sizes)],
        )

    def verify_(self) -> None:
        verify_view(self.source, self.result, self.view.data)


def _verify_shape(op: IRDLOperation) -> None:
    shapes = {shape_of(value) for value in (*op.operands, *op.results)}
    if len(shapes) > 1:
        raise VerifyException(f"operands and result of {op.name} have one shape, not {sorted(shapes)}")


@irdl_op_definition
class ElementwiseOp(IRDLOperation):
    """A numpy ufunc by its name, ``select`` (``numpy.where``) or ``cast`` (``astype``), with numpy's results."""

    name = "nd.elementwise"
    function = prop_def(StringAttr)
    inputs = var_operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$function $inputs attr-dict `:` type($inputs) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, function: str, inputs: Sequence[SSAValue], element: Attribute) -> None:
        super().__init__(
            operands=[inputs],
            properties={"function": StringAttr(function)},
            result_types=[TensorType(element, shape_of(inputs[0]))],
        )

    def verify_(self) -> None:
        if not self.inputs:
            raise VerifyException("a function has an argument")
        _verify_shape(self)
        if self.function.data == "select" and element_of(self.inputs[0]) != i1:
            raise VerifyException(f"a mask is a tensor of i1, not {self.inputs[0].type}")


@irdl_op_definition
class OperationOp(IRDLOperation):
    """An operation of the machine by its ISA name, element by element; ``datr`` are fields of B.DATR.

    A comparison makes a mask, and TSEL takes one. TAND, TOR and TXOR of masks are those of bytes 0 and 1.
    """

    name = "nd.operation"
    operation = prop_def(StringAttr)
    inputs = var_operand_def(AnyTensorTypeConstr)
    datr = opt_prop_def(DictionaryAttr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$operation $inputs (`datr` $datr^)? attr-dict `:` type($inputs) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(
        self, operation: str, inputs: Sequence[SSAValue], element: Attribute, datr: dict[str, int] | None = None
    ) -> None:
        fields = {name: IntegerAttr(number, i64) for name, number in (datr or {}).items()}
        super().__init__(
            operands=[inputs],
            properties={"operation": StringAttr(operation)} | ({"datr": DictionaryAttr(fields)} if fields else {}),
            result_types=[TensorType(element, shape_of(inputs[0]))],
        )

    @property
    def fields(self) -> dict[str, int]:
        """The fields of B.DATR by their names."""
        if self.datr is None:
            return {}
        return {name: cast(IntegerAttr, number).value.data for name, number in self.datr.data.items()}

    def verify_(self) -> None:
        name = self.operation.data
        if name not in TENSOR_OPERATIONS:
            raise VerifyException(f"{name} is no operation that works element by element")
        schema = BY_NAME[name].schema
        if len(self.inputs) != len(schema.sources):
            raise VerifyException(f"{name} has {len(schema.sources)} operands, not {len(self.inputs)}")
        _verify_shape(self)
        masks = [element_of(value) == i1 for value in self.inputs]
        if all(masks) and name in MASK_OPERATIONS:
            if element_of(self.result) != i1:
                raise VerifyException(f"{name} of masks is a mask")
            return
        if masks != [role == schema.mask for role in schema.sources]:
            raise VerifyException(f"{name} does not take {', '.join(str(v.type) for v in self.inputs)}")
        types = {dtype(value) for value, mask in zip(self.inputs, masks) if not mask}
        if len(types) != 1 or not types <= schema.types:
            raise VerifyException(f"{name} does not take {', '.join(map(str, sorted(types, key=str)))}")
        if (element_of(self.result) == i1) != (schema.result == PREDICATE):
            raise VerifyException(f"the result of {name} is {schema.result}, not {self.result.type}")
        if schema.result == SAME and {dtype(self.result)} != types:
            raise VerifyException(f"the result of {name} has {schema.result}")
        for field, number in self.fields.items():
            form = BY_KEY["B.DATR"]
            said = {"DataType", "Layout", "PadValueOrByteId"}
            if field not in schema.attributes or field in said or not form.fields[form.position[field]].accepts(number):
                raise VerifyException(f"{name} has no {field} = {number}")


class Reduction(StrEnum):
    """What ``nd.reduce`` makes of the elements along an axis, by numpy's names."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    FMAX = "fmax"
    FMIN = "fmin"
    ARGMAX = "argmax"
    ARGMIN = "argmin"
    ANY = "any"
    ALL = "all"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    name = "nd.reduction"


def _reduced(op: ReduceOp | FoldOp) -> None:
    shape, axis = shape_of(op.source), op.axis.value.data
    if not 0 <= axis < len(shape) or shape_of(op.result) != (*shape[:axis], 1, *shape[axis + 1 :]):
        raise VerifyException(f"{op.result.type} is not {op.source.type} with one element along axis {axis}")


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """A numpy reduction along one axis, which keeps size 1."""

    name = "nd.reduce"
    function = prop_def(ReductionAttr)
    source = operand_def(AnyTensorTypeConstr)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$function $source `axis` $axis attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, function: Reduction | str, source: SSAValue, axis: int, element: Attribute) -> None:
        shape = shape_of(source)
        super().__init__(
            operands=[source],
            properties={"function": ReductionAttr(Reduction(function)), "axis": IntegerAttr(axis, i64)},
            result_types=[TensorType(element, (*shape[:axis], 1, *shape[axis + 1 :]))],
        )

    def verify_(self) -> None:
        _reduced(self)


@dataclass(frozen=True, slots=True)
class FoldOperations:
    """What folds the rows of a tile, its columns, and two tiles."""

    row: str
    column: str
    pair: str


FOLDS: dict[str, FoldOperations] = {
    "sum": FoldOperations("TROWSUM", "TCOLSUM", "TADD"),
    "prod": FoldOperations("TROWPROD", "TCOLPROD", "TMUL"),
    "max": FoldOperations("TROWMAX", "TCOLMAX", "TMAX"),
    "min": FoldOperations("TROWMIN", "TCOLMIN", "TMIN"),
    "argmax": FoldOperations("TROWARGMAX", "TCOLARGMAX", ""),
    "argmin": FoldOperations("TROWARGMIN", "TCOLARGMIN", ""),
}
"""Folds by their names. The places of extremes are those in the axis, as U32."""


@irdl_op_definition
class FoldOp(IRDLOperation):
    """The machine's strict left fold of runs of ``chunk`` elements along an axis, and then of their results in order.

    A sum starts from +0 and a product from 1, once more for every run. Places of extremes are found in one run.
    """

    name = "nd.fold"
    function = prop_def(StringAttr)
    source = operand_def(AnyTensorTypeConstr)
    axis = prop_def(IntegerAttr.constr(i64))
    chunk = prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$function $source `axis` $axis `chunk` $chunk attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, function: str, source: SSAValue, axis: int, chunk: int, element: Attribute) -> None:
        shape = shape_of(source)
        super().__init__(
            operands=[source],
            properties={
                "function": StringAttr(function),
                "axis": IntegerAttr(axis, i64),
                "chunk": IntegerAttr(chunk, i64),
            },
            result_types=[TensorType(element, (*shape[:axis], 1, *shape[axis + 1 :]))],
        )

    def verify_(self) -> None:
        name = self.function.data
        if name not in FOLDS:
            raise VerifyException(f"there is no fold {name}; there are {', '.join(FOLDS)}")
        _reduced(self)
        schema = BY_NAME[FOLDS[name].row].schema
        if dtype(self.source) not in schema.types:
            raise VerifyException(f"{FOLDS[name].row} does not take {dtype(self.source)}")
        made = dtype(self.source) if schema.result == SAME else dtypes.U32
        if dtype(self.result) != made:
            raise VerifyException(f"the fold {name} of {dtype(self.source)} is {made}")
        if self.chunk.value.data < 1:
            raise VerifyException("a run has an element or more")
        if not FOLDS[name].pair and self.chunk.value.data < shape_of(self.source)[self.axis.value.data]:
            raise VerifyException("places of extremes are found in one run")


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The same elements in row-major order, in another shape."""

    name = "nd.reshape"
    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, shape: Sequence[int]) -> None:
        super().__init__(operands=[source], result_types=[TensorType(element_of(source), shape)])

    @property
    def moves_only_units(self) -> bool:
        """Whether dimensions of size 1 alone come and go."""
        before, after = ([size for size in shape_of(value) if size > 1] for value in (self.source, self.result))
        return before == after

    def verify_(self) -> None:
        if math.prod(shape_of(self.source)) != math.prod(shape_of(self.result)):
            raise VerifyException(f"{self.source.type} has not as many elements as {self.result.type}")
        if element_of(self.source) != element_of(self.result):
            raise VerifyException("another shape keeps the element type")


@irdl_op_definition
class ExpandOp(IRDLOperation):
    """``numpy.broadcast_to``: dimensions of size 1 are repeated, and new ones come in front."""

    name = "nd.expand"
    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, shape: Sequence[int]) -> None:
        super().__init__(operands=[source], result_types=[TensorType(element_of(source), shape)])

    def verify_(self) -> None:
        source, result = shape_of(self.source), shape_of(self.result)
        kept = result[len(result) - len(source) :] if len(source) <= len(result) else ()
        if len(kept) != len(source) or any(size not in (1, other) for size, other in zip(source, kept)):
            raise VerifyException(f"{self.source.type} does not broadcast to {self.result.type}")
        if element_of(self.source) != element_of(self.result):
            raise VerifyException("repeating keeps the element type")


@irdl_op_definition
class IotaOp(IRDLOperation):
    """``start`` plus ``step`` times the place along an axis, as integers modulo their width."""

    name = "nd.iota"
    axis = prop_def(IntegerAttr.constr(i64))
    start = prop_def(IntegerAttr.constr(i64))
    step = prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensorTypeConstr)
    assembly_format = "$start `step` $step `axis` $axis attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, type_: TensorType, axis: int, start: int = 0, step: int = 1) -> None:
        numbers = {"axis": axis, "start": start, "step": step}
        super().__init__(
            properties={name: IntegerAttr(number, i64) for name, number in numbers.items()}, result_types=[type_]
        )

    def verify_(self) -> None:
        if not 0 <= self.axis.value.data < len(shape_of(self.result)):
            raise VerifyException(f"{self.result.type} has no axis {self.axis.value.data}")
        if dtype(self.result).is_float or element_of(self.result) == i1 or dtype(self.result).packed:
            raise VerifyException(f"places are whole numbers, not {element_of(self.result)}")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """The elements of an array at byte displacements from its first one."""

    name = "nd.gather"
    source = operand_def(MemRefType)
    displacements = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    assembly_format = (
        "$source `at` $displacements attr-dict `:` type($source) `,` type($displacements) `->` type($result)"
    )
    traits = traits_def(MemoryReadEffect())

    def __init__(self, source: SSAValue, displacements: SSAValue) -> None:
        super().__init__(
            operands=[source, displacements],
            result_types=[TensorType(element_of(source), shape_of(displacements))],
        )

    def verify_(self) -> None:
        verify_places(self.source, self.displacements, self.result)


def verify_places(array: SSAValue, displacements: SSAValue, value: SSAValue) -> None:
    """That a tensor has elements of an array, or for it, at displacements; ``VerifyException`` if not."""
    if shape_of(value) != shape_of(displacements):
        raise VerifyException("there is one displacement for each element")
    if element_of(value) != element_of(array) or dtype(array).packed:
        raise VerifyException(f"{array.type} has no elements of {element_of(value)} with places of their own")
    if dtype(displacements) not in dtypes.SCATTER_INDEX_TYPES:
        raise VerifyException("displacements are 32- or 64-bit integers")


TENSOR_OPS = (LoadViewOp, ElementwiseOp, OperationOp, ReduceOp, FoldOp, ReshapeOp, ExpandOp, IotaOp, GatherOp)
"""The operations that make tensors of any rank."""

TENSOR_ATTRIBUTES = (ViewAttr, ReductionAttr)
