"""What a kernel does to the sums of a product, read step by step in numpy's order, and what B.FPATR makes of it.

The machine multiplies a sum by a scale, or where it is negative by a slope; rounds once; adds an offset; clamps. An
``Epilogue`` is how much of that a kernel has asked for so far. A step is taken over only if the machine does the same
to the exact value: what rounds in between, or clamps elsewhere, is refused at the line that asks for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ptoc.dialects import nd
from ptoc.dialects.attributes import Predicate, dtype_of
from ptoc.dialects.nd import RoundingName, accumulates_into
from ptoc.dialects.postprocessing import Post
from ptoc.isa import dtypes, postprocess
from ptoc.isa.dtypes import DType
from ptoc.isa.postprocess import PRE_QUANT_MODES, Rounding
from ptoc.passes.diagnostics import reject

Number = int | float
Numbers = Number | tuple[Number, ...]
"""One number for all columns, or one for each."""


def element_of(value: SSAValue) -> DType:
    return dtype_of(cast(TensorType, value.type).element_type)


def accumulator_of(op: nd.MatmulAccOp) -> DType:
    """The accumulator type of a verified matmul."""
    accumulator = dtypes.accumulator(element_of(op.a), element_of(op.b))
    assert accumulator is not None
    return accumulator


def numbers_of(value: SSAValue) -> Numbers | None:
    """The number that a tensor repeats, or those of the row it repeats; ``None`` when it is no constant."""
    op = value.owner.source.owner if isinstance(value.owner, nd.BroadcastOp) else value.owner
    if not isinstance(op, nd.SplatOp | nd.ConstantOp):
        return None
    import numpy as np

    dtype = element_of(value)
    bits = [op.bits.data] if isinstance(op, nd.SplatOp) else op.bits.data
    elements = np.array(bits, f"u{dtype.nbytes}").view(dtype.numpy)
    numbers = tuple(elements.astype(np.float64 if dtype.is_float else dtype.numpy).tolist())
    return numbers if isinstance(op, nd.ConstantOp) else numbers[0]


def number_of(value: SSAValue) -> Number | None:
    """The number that a tensor repeats everywhere."""
    numbers = numbers_of(value)
    return None if isinstance(numbers, tuple) else numbers


def _each(numbers: Numbers) -> tuple[Number, ...]:
    return numbers if isinstance(numbers, tuple) else (numbers,)


def _by_column(function: Callable[[Number, Number], Number], x: Numbers, y: Numbers) -> Numbers:
    """A function of two numbers, column by column where one of them has columns."""
    if not isinstance(x, tuple) and not isinstance(y, tuple):
        return function(x, y)
    count = max(len(_each(x)), len(_each(y)))
    left, right = (v if isinstance(v, tuple) else (v,) * count for v in (x, y))
    return tuple(map(function, left, right))


@dataclass(frozen=True)
class Epilogue:
    """A value of the kernel: the sums of ``product``, started from ``acc``, and what was done to them.

    ``c_scale`` divides the rows of ``acc``. ``dtype`` is numpy's for the value. ``slope`` ``None`` means that negative
    sums are treated as the others are; 0 is ReLU. ``converted``: the value has left the types in which numpy computed
    it; ``hif8``: it is bytes, which are codes of HiF8.
    """

    product: nd.MatmulAccOp
    acc: SSAValue | None
    dtype: DType
    scale: Numbers = 1.0
    slope: Numbers | None = None
    c_scale: SSAValue | None = None
    shift: Numbers = 0
    rounding: RoundingName | None = None
    offset: Numbers = 0
    low: Number | None = None
    high: Number | None = None
    converted: bool = False
    hif8: bool = False

    @classmethod
    def of(cls, op: nd.MatmulAccOp) -> Epilogue | None:
        """The bare sums of a matmul; ``None`` when it already does more."""
        more = op.post is not None or len(op.results) > 1
        if more or not accumulates_into(accumulator_of(op), element_of(op.result)):
            return None
        return cls(op, op.acc, element_of(op.result), c_scale=op.scale)

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        """The values that the sums are made of."""
        values = (self.product.a, self.product.b, self.acc, self.c_scale)
        return tuple(value for value in values if value is not None)

    @property
    def accumulator(self) -> DType:
        return accumulator_of(self.product)

    @property
    def bare(self) -> bool:
        """Nothing was done to the sums yet."""
        return self == self._start and accumulates_into(self.accumulator, self.dtype)

    @property
    def _start(self) -> Epilogue:
        return Epilogue(self.product, self.acc, self.dtype, c_scale=self.c_scale)

    @property
    def linear(self) -> bool:
        """Nothing but multiplications so far."""
        return replace(self, scale=1.0, slope=None) == self._start

    @property
    def clamped(self) -> bool:
        return self.low is not None or self.high is not None

    def same_sums(self, other: Epilogue) -> bool:
        return (self.product, self.acc, self.c_scale) == (other.product, other.acc, other.c_scale)

    @property
    def negative_scale(self) -> Numbers:
        """What negative sums are multiplied by."""
        return self.scale if self.slope is None else self.slope


def started(op: Operation, e: Epilogue, other: SSAValue) -> Epilogue | None:
    """``other + sums``: the sums start from there; a whole number after rounding is an offset."""
    number = numbers_of(other)
    if e.bare and e.acc is None and isinstance(other.owner, nd.LdexpOp):
        return replace(e, acc=other.owner.source, c_scale=_bytes_of(other.owner))
    if e.bare and isinstance(number, tuple):
        reject(
            op,
            "a sum that starts from an array that is not an argument is not supported",
            rule="outside-arrays",
            hint="make it an argument of the kernel; ptoc compiles for arguments",
        )
    if e.bare and e.acc is None:
        return replace(e, acc=other)
    if number is None or e.bare or e.converted:
        return None
    if e.rounding is None:
        _refuse(
            op,
            "adding a number to multiples of sums",
            rule="rounding",
            hint="write np.rint(sums * scale) + offset, or add to the sums themselves",
        )
    fraction = next((n for n in _each(number) if n != int(n)), None)
    if fraction is not None:
        _refuse(op, f"adding {fraction} to rounded numbers", rule="rounding", hint="an offset is a whole number")
    if e.clamped:
        _refuse(op, "adding an offset behind np.clip", hint="add it in front: np.clip(np.rint(x) + offset, low, high)")
    return replace(e, offset=_by_column(lambda x, y: int(x + y), e.offset, number))


def _bytes_of(op: nd.LdexpOp) -> SSAValue:
    """The bytes whose negatives are the exponents of ``np.ldexp``."""
    value, negative = op.exponents, False
    while isinstance(value.owner, nd.NegOp | nd.ColumnOp | nd.CastOp):
        if element_of(value).bits == 8 and not isinstance(value.owner, nd.ColumnOp):
            break
        negative ^= isinstance(value.owner, nd.NegOp)
        value = value.owner.source
    if not negative or element_of(value) != dtypes.U8:
        reject_ldexp(op)
    return value


def reject_ldexp(op: Operation) -> NoReturn:
    reject(
        op,
        "this np.ldexp is not supported",
        rule="row-exponents",
        hint="write np.ldexp(c, -e.astype(np.int32)[:, None]) + np.matmul(...), with uint8 e of one element per row",
    )


def scaled(op: Operation, e: Epilogue, numbers: Numbers) -> Epilogue:
    """``sums * numbers``."""
    if not e.linear or e.shift:
        _refuse(
            op,
            "a multiplication behind a rounding, a shift, np.clip or astype",
            hint="scale the sums first: np.clip(np.rint(sums * scale) + offset, low, high).astype(...)",
        )
    _check_fp19(op, numbers)
    slope = e.slope if e.slope is None or e.slope == 0.0 else _by_column(operator.mul, e.slope, numbers)
    return replace(e, scale=_by_column(operator.mul, e.scale, numbers), slope=slope)


def _check_fp19(op: Operation, numbers: Numbers) -> None:
    for number in _each(numbers):
        _check_one_fp19(op, number)


def _check_one_fp19(op: Operation, number: Number) -> None:
    if not 0 < number < float("inf"):
        hint = "use a positive finite factor, or multiply after the call; np.maximum(x, 0) is ReLU"
        _refuse(op, f"multiplying sums by {number}", rule="fp19", hint=hint)
    if postprocess.fp19(number) is None:
        _refuse(
            op,
            f"multiplying sums by {_shown(number)}, which the machine does not hold,",
            rule="fp19",
            hint=f"the nearest such number is {postprocess.nearest_fp19(number)!r}",
        )


def activated(op: Operation, e: Epilogue) -> Epilogue:
    """``np.maximum(sums, 0)``."""
    if e.dtype.numeric_class != e.accumulator.numeric_class and accumulates_into(e.accumulator, e.dtype):
        reject(
            op,
            "np.maximum(x, 0) of an unsigned sum that is read as a signed one is not supported",
            rule="relu",
            hint="sum in uint32, where np.maximum(x, 0) changes nothing",
        )
    if e.offset or e.shift or (e.clamped and not (e.low or 0) <= 0 <= (e.high or 0)):
        _refuse(
            op,
            "np.maximum(x, 0) behind an offset, a shift or np.clip",
            rule="relu",
            hint="apply it to the sums themselves",
        )
    return replace(e, slope=0.0)


def selected(one: Epilogue, other: Epilogue, *, largest: bool) -> Epilogue | None:
    """``np.maximum`` or ``np.minimum`` of two multiples of the same sums: leaky ReLU."""
    if not (one.linear and other.linear and one.same_sums(other) and one.dtype == other.dtype):
        return None
    first, second = (max, min) if largest else (min, max)
    scale = _by_column(first, one.scale, other.scale)
    return _two_sided(one, scale, _by_column(second, one.negative_scale, other.negative_scale))


def chosen(mask: SSAValue, on_true: Epilogue, on_false: Epilogue, known: dict[SSAValue, Epilogue]) -> Epilogue | None:
    """``np.where(sums > 0, one multiple of them, another)``: leaky ReLU; ``None`` when it is anything else."""
    compare = mask.owner
    if not isinstance(compare, nd.CompareOp) or number_of(compare.rhs) != 0:
        return None
    tested = known.get(compare.lhs)
    branches = {
        Predicate.GT: (on_true, on_false),
        Predicate.GE: (on_true, on_false),
        Predicate.LT: (on_false, on_true),
        Predicate.LE: (on_false, on_true),
    }.get(compare.predicate.data)
    if tested is None or branches is None or tested.slope == 0.0:
        return None
    same = all(e.linear and e.same_sums(tested) for e in (tested, on_true, on_false))
    if not same or on_true.dtype != on_false.dtype:
        return None
    return _two_sided(on_true, branches[0].scale, branches[1].negative_scale)


def _two_sided(e: Epilogue, positive: Numbers, negative: Numbers) -> Epilogue:
    return replace(e, scale=positive, slope=None if positive == negative else negative)


def limited(op: Operation, e: Epilogue, number: Number, *, above: bool) -> Epilogue:
    """``np.minimum(value, number)`` with ``above``, else ``np.maximum``: one side of np.clip."""
    if e.converted:
        _refuse(op, "np.clip behind astype", hint="clip first: np.clip(x, low, high).astype(...)")
    low = e.low if above else max(number, e.low if e.low is not None else number)
    high = e.high if not above else min(number, e.high if e.high is not None else number)
    if low is not None and high is not None and low > high:
        _refuse(op, f"np.clip from {low} to {high}", hint="the lower bound comes first")
    return replace(e, low=low, high=high)


def rounded(op: nd.RoundOp, e: Epilogue) -> Epilogue:
    """``np.rint`` and its like."""
    if e.converted or e.rounding is not None or e.shift:
        _refuse(op, "rounding twice", hint="round once, before the offset and np.clip")
    if any(bound is not None and bound != int(bound) for bound in (e.low, e.high)):
        _refuse(op, "rounding behind np.clip to a fraction", hint="clip to whole numbers, after rounding")
    return replace(e, rounding=op.rounding.data)


def shifted(op: Operation, e: Epilogue, places: Numbers | None) -> Epilogue:
    """``sums >> places``."""
    known = places is not None and all(n in postprocess.SHIFTS for n in _each(places))
    if not known or not e.bare or e.accumulator != dtypes.S32 or e.dtype != dtypes.S32:
        _refuse(
            op,
            "this >>",
            rule="shifts",
            hint="np.clip(sums >> 8, -32768, 32767).astype(np.int16), with int32 sums that nothing else was done to",
        )
    assert places is not None
    return replace(e, shift=places)


def cast_to(op: Operation, e: Epilogue, target: DType) -> Epilogue:
    """``astype``: to float64 a wider view of the same number, otherwise the end of the arithmetic."""
    if e.converted:
        _refuse(op, f"astype({target.numpy_name}) of a converted result", hint="convert once")
    if target == dtypes.FP64:
        return replace(e, dtype=target)
    return replace(e, dtype=target, converted=True)


def encoded(op: Operation, e: Epilogue) -> Epilogue:
    """``ptoc.hifloat8``: the end of the arithmetic."""
    if e.converted:
        _refuse(op, f"ptoc.hifloat8 of {e.dtype.numpy_name} results", hint="convert once: ptoc.hifloat8(sums * scale)")
    if not e.accumulator.is_float:
        _refuse(
            op,
            f"ptoc.hifloat8 of {e.accumulator.numpy_name} sums",
            rule="conversions",
            hint=f"{e.accumulator.numpy_name} sums become {_targets(e.accumulator)}",
        )
    return replace(e, dtype=dtypes.U8, converted=True, hif8=True)


def finished(
    op: Operation,
    e: Epilogue,
    type_: TensorType,
    *,
    row_max: TensorType | None = None,
    initial: SSAValue | None = None,
    group_max: TensorType | None = None,
    group: int = 0,
    absolute: bool = False,
) -> nd.MatmulAccOp:
    """The matmul that does all of it and finds maxima; an error at ``op``, its last step, when the machine does not."""
    product = e.product
    _check_columns(op, e)
    if product.axes and e.c_scale is not None:
        what = "np.ldexp beside a stack of products is not supported"
        reject(op, what, rule="row-exponents", hint="divide before the call")
    return nd.MatmulAccOp(
        product.a,
        product.b,
        e.acc,
        type_,
        _post(op, e),
        e.c_scale,
        trans_a=product.trans_a is not None,
        trans_b=product.trans_b is not None,
        batch=product.axes,
        row_max=row_max,
        initial=initial,
        group_max=group_max,
        group=group,
        absolute=absolute,
    )


def _check_columns(op: Operation, e: Epilogue) -> None:
    """The sums of a matrix times a vector are a column, so numbers that numpy applies one by one differ by row."""
    parameters = (e.scale, e.slope, e.offset, e.shift)
    if e.product.is_column and any(isinstance(each, tuple) and len(each) > 1 for each in parameters):
        reject(
            op,
            "a constant array beside the product of a matrix and a vector is not supported",
            rule="columns",
            hint="multiply from the left, np.matmul(vector, matrix): those sums are a row",
        )


def _post(op: Operation, e: Epilogue) -> Post:
    target = dtypes.HIF8 if e.hif8 else e.accumulator if accumulates_into(e.accumulator, e.dtype) else e.dtype
    relu, slope = e.slope == 0.0, e.slope or None
    if e.shift:
        _require_limits(op, e, target)
        return Post(shift=e.shift)
    if target == dtypes.FP64:
        _refuse(
            op,
            f"a float64 result of {e.accumulator.numpy_name} sums",
            rule="conversions",
            hint=f"end with astype; {e.accumulator.numpy_name} sums become {_targets(e.accumulator)}",
        )
    parameterless = e.scale == 1.0 and not e.offset and postprocess.conversion(e.accumulator, target, "") is not None
    if not parameterless and postprocess.conversion(e.accumulator, target, "scalar") is None:
        _refuse(
            op,
            f"astype from {e.accumulator.numpy_name} sums to {target.numpy_name}",
            rule="conversions",
            hint=f"{e.accumulator.numpy_name} sums become {_targets(e.accumulator)}",
        )
    if target.packed and e.product.is_column:
        reject(
            op,
            f"{target.numpy_name} of the product of a matrix and a vector is not supported",
            rule="packed-rows",
            hint="reshape the vector to a matrix of one column before the call",
        )
    scale = None if parameterless else e.scale
    for numbers in (e.scale, slope or 1.0):
        _check_fp19(op, numbers)
    if not target.is_float and target != e.accumulator:
        rounding = _integer_rounding(op, e, target)
        return Post(relu, slope, scale, e.offset, rounding=rounding, saturate=True)
    if e.rounding is not None:
        _refuse(
            op,
            f"rounded sums as {_name(target)}",
            rule="rounding",
            hint="end with astype(np.int8) or astype(np.int16)",
        )
    if e.clamped and target == e.accumulator:
        _refuse(
            op,
            f"np.clip of {target.numpy_name} sums",
            rule="clamping",
            hint=f"end with astype; {target.numpy_name} sums become {_targets(target)}",
        )
    if e.clamped:
        _require_limits(op, e, target)
    return Post(relu, slope, scale, saturate=e.clamped, hif8=e.hif8)


def _integer_rounding(op: Operation, e: Epilogue, target: DType) -> Rounding:
    _require_limits(op, e, target)
    limits = postprocess.signed_range(target.bits)
    beyond = next((n for n in _each(e.offset) if not limits.start <= n <= limits.stop), None)
    if beyond is not None:
        _refuse(
            op,
            f"an offset of {beyond} in front of {target.numpy_name}",
            rule="offsets",
            hint=f"offsets from {limits.start} to {limits.stop} give numpy's numbers",
        )
    if e.rounding is not None:
        return nd.ROUNDINGS[e.rounding]
    whole = not e.accumulator.is_float and e.scale == e.negative_scale == 1.0
    return Rounding.DEFAULT if whole else nd.ROUNDINGS[RoundingName.TRUNC]


def _require_limits(op: Operation, e: Epilogue, target: DType) -> None:
    """The value was clamped to exactly what the result holds; ReLU is a lower bound of its own."""
    low, high = _limits(target)
    below = e.low if e.low is not None or e.slope != 0.0 or e.offset else low
    if (below, e.high) != (low, high):
        given = "without np.clip" if not e.clamped else f"clipped to {_plain(e.low)} and {_plain(e.high)}"
        clipped = f"np.clip(x, {_plain(low)}, {_plain(high)})"
        _refuse(
            op,
            f"{_name(target)} {given}",
            rule="clamping",
            hint=f"write {_name(target)}({clipped})" if e.hif8 else f"write {clipped}.astype({_name(target)})",
        )


def _limits(target: DType) -> tuple[Number, Number]:
    if target == dtypes.HIF8:
        return -dtypes.HIF8_LARGEST, dtypes.HIF8_LARGEST
    if target.is_float:
        import ml_dtypes

        largest = float(ml_dtypes.finfo(target.numpy).max)
        return -largest, largest
    limits = postprocess.signed_range(target.bits)
    return limits.start, limits.stop - 1


def _name(target: DType) -> str:
    """What the kernel language calls a type of results."""
    return "ptoc.hifloat8" if target == dtypes.HIF8 else str(target.numpy_name)


def _shown(number: Number) -> str:
    """A number as it was written: a float32 by its own shortest digits."""
    import numpy as np

    single = np.float32(number)
    return str(single) if single == number else repr(number)


def _plain(bound: Number | None) -> str:
    """A bound as one writes it: whole numbers without a point."""
    return "nothing" if bound is None else f"{bound:.0f}" if abs(bound) < 1e6 and bound == int(bound) else repr(bound)


def _targets(accumulator: DType) -> str:
    results = [m.result for m in PRE_QUANT_MODES.values() if m.source == accumulator and m.result is not None]
    return ", ".join(sorted({_name(r) for r in results})) or f"nothing but {accumulator.numpy_name}"


def _refuse(op: Operation, what: str, *, hint: str, rule: str | None = None) -> NoReturn:
    reject(op, f"{what} is not supported", rule=rule or "post-processing", hint=hint)
