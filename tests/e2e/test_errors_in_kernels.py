"""Bad input: one clear error of ptoc's tree, at the user's line, and the caller's arrays as they were."""

from __future__ import annotations

import copy
import functools
import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from samples import Guarded

import ptoc
from ptoc.errors import ArgumentError, ProgramFault, PtocError, ShapeError, UnsupportedError


def f32(*shape: int) -> Any:
    return np.arange(1, 1 + math.prod(shape), dtype=np.float32).reshape(shape)


def assert_clear(error: PtocError, words: str, in_kernel: bool) -> None:
    """The message names what was wrong, and for a kernel's error the line, with its text; no inner error is chained."""
    text = str(error)
    assert words in error.message, text
    assert error.__cause__ is None and (error.__context__ is None or error.__suppress_context__), text
    assert "<ptoc." not in text and "object at" not in text, text
    if in_kernel:
        assert error.where is not None and error.where.file == __file__, text
        assert text.startswith(f"{__file__}:{error.where.line}:{error.where.column}: ")
        assert "\n      | " in text and "^" in text.splitlines()[2], text
    assert "\nrule: " in text and "\nhelp: " in text, text


# -- the kinds of bad input ------------------------------------------------------------------------


@dataclass(frozen=True)
class Bad:
    """A kernel, arrays for it, the error's type, and words of its message."""

    kernel: Callable[..., Any]
    arrays: Sequence[Any]
    error: type[PtocError]
    words: str
    in_kernel: bool = True


def add(x: Any, y: Any) -> Any:
    return x + y


def product(x: Any, y: Any) -> Any:
    return np.matmul(x, y)


def writes_then_fails(x: Any, y: Any) -> Any:
    x[:] = y
    x[y > 0] = 0
    return np.exp(x)


def branches(x: Any, y: Any) -> Any:
    x[:] = y
    return x if x[x > 0] is None or x else y


def loops(x: Any, y: Any) -> Any:
    for row in x:
        y[:] = row
    return y


def masked_otherwise(x: Any, y: Any) -> None:
    x[x > 0] = y[y > 0]


def assigns(x: Any, y: Any) -> None:
    x[x < y] = y[x < y]


def out_of_bounds(x: Any, places: Any) -> None:
    x[x < 0] = 0
    ptoc.scatter(x, places, x.copy())


def same_shape_and_type(x: Any, y: Any) -> None:
    x[:] = y


def recurses(x: Any, y: Any) -> Any:
    return recurses(x, y)


CAPTURED = f32(3, 4)
strided = f32(6, 8)
read_only = f32(3, 4)
read_only.flags.writeable = False
big_endian = f32(3, 4).astype(">f4")

BAD = {
    "no dimension": Bad(add, [np.ones((), np.float32), f32(3)], ArgumentError, "argument x has no dimensions", False),
    "a list": Bad(add, [[[1.0, 2.0]], f32(1, 2)], ArgumentError, "argument x is a list", False),
    "a number": Bad(add, [f32(3, 4), 2.0], ArgumentError, "argument y is a float", False),
    "a masked array": Bad(add, [np.ma.masked_less(f32(3, 4), 5), f32(3, 4)], ArgumentError, "MaskedArray", False),
    "complex numbers": Bad(add, [f32(3, 4).astype(complex), f32(3, 4)], ArgumentError, "complex128", False),
    "objects": Bad(add, [f32(3, 4).astype(object), f32(3, 4)], ArgumentError, "object", False),
    "text": Bad(add, [np.array(["a"]), f32(3)], ArgumentError, "dtype <U1", False),
    "dates": Bad(add, [np.array(["2020"], "M8[s]"), f32(3)], ArgumentError, "datetime64", False),
    "foreign byte order": Bad(add, [big_endian, f32(3, 4)], ArgumentError, "dtype >f4", False),
    "too few arrays": Bad(add, [f32(3, 4)], ArgumentError, "missing a required argument: 'y'", False),
    "too many arrays": Bad(add, [f32(3, 4)] * 3, ArgumentError, "too many positional arguments", False),
    "read-only array written": Bad(assigns, [read_only, f32(3, 4)], ArgumentError, "x, which is read-only", False),
    "repeated rows written": Bad(
        assigns,
        [np.lib.stride_tricks.as_strided(f32(4), (3, 4), (0, 4)), f32(3, 4)],
        ArgumentError,
        "elements may overlap",
        False,
    ),
    "overlapping, one written": Bad(assigns, [strided[:3], strided[1:4]], ArgumentError, "shares memory with y", False),
    "one array twice, written": Bad(assigns, [CAPTURED, CAPTURED], ArgumentError, "shares memory with y", False),
    "matmul of a vector": Bad(product, [f32(3, 4), f32(3)], ShapeError, "4 columns do not meet 3 rows"),
    "matmul shapes": Bad(product, [f32(3, 4), f32(3, 4)], ShapeError, "4 columns do not meet 3 rows"),
    "shapes that do not broadcast": Bad(lambda x, y: x < y, [f32(3, 4), f32(3, 5)], ShapeError, "do not broadcast"),
    "column broadcast": Bad(lambda x, y: x < y, [f32(3, 4), f32(3, 1)], UnsupportedError, "broadcasting (3, 1)"),
    "mask of another shape": Bad(lambda x, y: x[y > 0], [f32(3, 4), f32(4)], ShapeError, "mask of shape (4,)"),
    "assignment shape": Bad(same_shape_and_type, [f32(4), f32(3, 4)], PtocError, "(3, 4)"),
    "sum of arrays": Bad(add, [f32(3, 4), f32(3, 4)], UnsupportedError, "a sum of 3x4 float32"),
    "narrow integer matmul": Bad(
        product,
        [np.ones((2, 2), np.int8)] * 2,
        UnsupportedError,
        "np.matmul of 2x2 int8 and 2x2 int8 with a result of int8",
    ),
    "wide integer matmul": Bad(product, [np.ones((2, 2), np.int64)] * 2, UnsupportedError, "np.matmul of 2x2 int64"),
    "unsupported function": Bad(writes_then_fails, [f32(3, 4), f32(3, 4)], UnsupportedError, "np.exp"),
    "data-dependent branch": Bad(
        branches, [f32(3, 4), f32(3, 4)], UnsupportedError, "a Python condition on the contents of 3x4 float32"
    ),
    "data-dependent loop": Bad(loops, [f32(3, 4), f32(4)], UnsupportedError, "iterating"),
    "another mask on the right": Bad(masked_otherwise, [f32(3, 4), f32(3, 4)], UnsupportedError, "src[other mask]"),
    "result of unknown size": Bad(lambda x, y: x[x > y], [f32(3), f32(3)], UnsupportedError, "size depends", False),
    "captured array": Bad(lambda x, y: x < CAPTURED, [f32(3, 4)] * 2, UnsupportedError, "not an argument"),
    "captured array returned": Bad(lambda x, y: CAPTURED, [f32(3)] * 2, UnsupportedError, "returns a ndarray", False),
    "two dtypes compared": Bad(lambda x, y: x < y, [f32(3), f32(3).astype(int)], UnsupportedError, "comparison of 3"),
    "two dtypes assigned": Bad(
        same_shape_and_type, [f32(3), f32(3).astype(int)], UnsupportedError, "int64 to a float32"
    ),
    "conversion alone": Bad(
        lambda x, y: x.astype(np.float16), [f32(3, 4)] * 2, UnsupportedError, "astype from float32"
    ),
    "unknown dtype": Bad(lambda x, y: x.astype("M8[s]"), [f32(3, 4)] * 2, UnsupportedError, "astype(datetime64[s])"),
    "float displacements": Bad(
        lambda x, y: ptoc.scatter(x, y, y), [f32(4), f32(4)], UnsupportedError, "float32 displacements"
    ),
    "endless recursion": Bad(recurses, [f32(3), f32(3)], UnsupportedError, "recurses", False),
    "named tuple": Bad(
        lambda x, y: namedtuple("Pair", "x y")(x, y), [f32(3), f32(3)], UnsupportedError, "returns a Pair", False
    ),
    "out of bounds": Bad(out_of_bounds, [f32(4), np.array([0, 4, 16, 8])], ProgramFault, "no array was changed"),
    "misaligned": Bad(out_of_bounds, [f32(4), np.array([0, 4, 6, 8])], ProgramFault, "no array was changed"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_clear_error(kind: str) -> None:
    bad = BAD[kind]
    before = copy.deepcopy(bad.arrays)
    with pytest.raises(bad.error) as caught:
        ptoc.jit(bad.kernel)(*bad.arrays)
    assert_clear(caught.value, bad.words, bad.in_kernel)
    for array, old in zip(bad.arrays, before):
        if isinstance(array, np.ndarray) and not array.dtype.hasobject:
            assert array.tobytes() == old.tobytes()


def starred(x0: Any, *x: Any, last: Any, **more: Any) -> Any:
    for each in (*x, *more.values()):
        x0[each > 2] = last[each > 2]
    return [x0, *x, last, *more.values()]


def test_arrays_come_by_position_and_by_name() -> None:
    """The same arrays bound to other parameters are another call, with a program of its own."""
    kernel = ptoc.jit(starred)
    for args, kwargs in (
        ([f32(3)], {"last": f32(3)}),
        ([f32(3), f32(3)], {"last": f32(3) * 2}),
        ([f32(3)], {"x1": f32(3), "last": f32(3) * 2}),
        ([f32(3), f32(3)], {"other": f32(3), "last": f32(3) * 2}),
    ):
        got, wanted = kernel(*copy.deepcopy(args), **copy.deepcopy(kwargs)), starred(*args, **kwargs)
        assert [g.tolist() for g in got] == [w.tolist() for w in wanted]
        assert ptoc.validate(kernel, *args, **kwargs).ok


def test_a_python_value_is_bound_by_a_closure_not_by_an_argument() -> None:
    def compares(x: Any, y: Any, strict: bool = True) -> Any:
        return x < y if strict else x <= y

    for kernel in (ptoc.jit(compares), ptoc.jit(functools.partial(compares, strict=True))):
        with pytest.raises(ArgumentError, match="argument strict is a bool"):
            kernel(f32(3), f32(3))


def test_bad_arrays_are_named_by_parameter() -> None:
    kernel, good = ptoc.jit(starred), f32(3)
    with pytest.raises(ArgumentError, match="argument last is an int"):
        kernel(good, good, last=1)
    with pytest.raises(ArgumentError, match="argument x1 is a list"):
        kernel(good, good, [1], last=good)
    with pytest.raises(ArgumentError, match="assigns to x0, which shares memory with x0"):
        kernel(good, good, last=f32(3))
    with pytest.raises(ArgumentError, match="assigns to x0, which shares memory with more"):
        kernel(good, f32(3), last=f32(3), more=good)
    with pytest.raises(ArgumentError, match="missing a required argument: 'last'"):
        kernel(good, good)


def test_errors_leave_guard_bytes_alone() -> None:
    arrays = [Guarded(f32(3, 4), 2), Guarded(f32(3, 4), 1)]
    before = [g.buffer.copy() for g in arrays]
    with pytest.raises(UnsupportedError):
        ptoc.jit(writes_then_fails)(*[g.array for g in arrays])
    assert all((g.buffer == old).all() for g, old in zip(arrays, before))


def test_disjoint_parts_of_one_buffer_do_not_overlap() -> None:
    """Columns beside each other, and rows that take turns."""
    for left, right in ((np.s_[:, :5], np.s_[:, 5:]), (np.s_[::2], np.s_[1::2])):
        buffer = f32(40, 10)
        wanted = buffer.copy()
        wanted[left][wanted[left] < wanted[right]] = wanted[right][wanted[left] < wanted[right]]
        ptoc.jit(assigns)(buffer[left], buffer[right])
        assert (buffer == wanted).all()


def test_an_error_does_not_spoil_the_kernel() -> None:
    kernel = ptoc.jit(lambda x, y: x < y)
    for _ in range(2):
        with pytest.raises(ShapeError):
            kernel(f32(3), f32(4))
        assert kernel(f32(3), f32(3)).tolist() == [False] * 3


def test_a_program_takes_the_arrays_it_was_compiled_for() -> None:
    program = ptoc.jit(lambda x, y: x < y).compile(ptoc.spec((3, 4), "float32"), ptoc.spec((3, 4), "float32"))
    for arrays, words in (
        ([f32(3, 4)], "takes 2 arrays, not 1"),
        ([f32(3, 4), f32(4, 3)], "argument y is 4x3 float32; this program was compiled for 3x4 float32"),
        ([f32(3, 4), f32(3, 5)[:, :4]], "argument y is 3x4 float32, rows 20 bytes apart"),
        ([f32(3, 4), f32(3, 4).astype(int)], "argument y is 3x4 int64"),
    ):
        with pytest.raises(ArgumentError) as caught:
            program.run(*arrays)
        assert_clear(caught.value, words, in_kernel=False)


def test_mistakes_of_the_kernel_itself_are_pythons_own() -> None:
    """A misspelt name is the user's bug; its traceback ends in the kernel."""
    with pytest.raises(NameError):
        ptoc.jit(lambda x: undefined(x))(f32(3))  # noqa: F821
    with pytest.raises(AttributeError, match="no attribute 'shpae'"):
        ptoc.jit(lambda x: x.shpae)(f32(3))


# -- all that numpy has and kernels have not -------------------------------------------------------

IN_KERNEL: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, y: x.sum(),
    "np.sum": lambda x, y: np.sum(x),
    "sum of Python": lambda x, y: sum(x),
    "mean": lambda x, y: np.mean(x, axis=0),
    "any": lambda x, y: (x > 0).any(),
    "np.all": lambda x, y: np.all(x > 0),
    "max": lambda x, y: x.max(),
    "max of Python": lambda x, y: max(x),
    "argmax": lambda x, y: np.argmax(x),
    "cumsum": lambda x, y: np.cumsum(x),
    "exp": lambda x, y: np.exp(x),
    "sqrt": lambda x, y: np.sqrt(x),
    "math.sqrt": lambda x, y: math.sqrt(x),
    "np.floor": lambda x, y: np.floor(x),
    "math.floor": lambda x, y: math.floor(x),
    "math.trunc": lambda x, y: math.trunc(x),
    "round": lambda x, y: round(x),
    "np.round": lambda x, y: np.round(x, 2),
    "clip": lambda x, y: np.clip(x, 0, 1),
    "x.clip": lambda x, y: x.clip(0, 1),
    "T": lambda x, y: x.T,
    "transpose": lambda x, y: np.transpose(x),
    "axes": lambda x, y: np.transpose(x, (0, 2)),
    "swapaxes": lambda x, y: x.swapaxes(0, 2),
    "reshape": lambda x, y: x.reshape(4, 3),
    "ravel": lambda x, y: np.ravel(x),
    "flat": lambda x, y: x.flat,
    "squeeze": lambda x, y: np.squeeze(x),
    "expand_dims": lambda x, y: np.expand_dims(x, 0),
    "x[0]": lambda x, y: x[0],
    "x[-1]": lambda x, y: x[-1],
    "x[1:3]": lambda x, y: x[1:3],
    "x[:, 0]": lambda x, y: x[:, 0],
    "x[:, ::2]": lambda x, y: x[:, ::2],
    "x[None]": lambda x, y: x[None],
    "x[[0, 1]]": lambda x, y: x[[0, 1]],
    "x[y]": lambda x, y: x[y],
    "x[True]": lambda x, y: x[True],
    "x[()]": lambda x, y: x[()].T,
    "x[0] = 1": lambda x, y: x.__setitem__(0, 1),
    "x[1:] = y": lambda x, y: x.__setitem__(slice(1, None), y),
    "x[:] = list": lambda x, y: x.__setitem__(slice(None), [1, 2, 3, 4]),
    "x[mask] = array": lambda x, y: x.__setitem__(x > 0, y),
    "del x[0]": lambda x, y: x.__delitem__(0),
    "x.shape = ...": lambda x, y: setattr(x, "shape", (4, 3)),
    "x.dtype = ...": lambda x, y: setattr(x, "dtype", np.dtype("int32")),
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "stack": lambda x, y: np.stack([x, y]),
    "vstack": lambda x, y: np.vstack((x, y)),
    "split": lambda x, y: np.split(x, 2),
    "tile": lambda x, y: np.tile(x, 2),
    "repeat": lambda x, y: x.repeat(2),
    "pad": lambda x, y: np.pad(x, 1),
    "roll": lambda x, y: np.roll(x, 1),
    "flip": lambda x, y: np.flip(x),
    "sort": lambda x, y: np.sort(x),
    "x.sort": lambda x, y: x.sort(),
    "sorted": lambda x, y: sorted(x),
    "reversed": lambda x, y: list(reversed(x)),
    "unique": lambda x, y: np.unique(x),
    "nonzero": lambda x, y: np.nonzero(x > 0),
    "where of one": lambda x, y: np.where(x > 0),
    "where of numbers": lambda x, y: np.where(x, x, y),
    "take": lambda x, y: np.take(x, 1),
    "put": lambda x, y: np.put(x, 1, 2),
    "putmask": lambda x, y: np.putmask(x, x > 0, y),
    "place": lambda x, y: np.place(x, x > 0, [1]),
    "select": lambda x, y: np.select([x > 0], [x], 0),
    "choose": lambda x, y: np.choose(x > 0, [x, y]),
    "compress": lambda x, y: np.compress([True], x),
    "fill": lambda x, y: x.fill(0),
    "power": lambda x, y: x**2,
    "reflected power": lambda x, y: 2**x,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * 2,
    "divide": lambda x, y: 1 / x,
    "floor division": lambda x, y: x // y,
    "remainder": lambda x, y: x % 2,
    "divmod": lambda x, y: divmod(x, 2),
    "reflected divmod": lambda x, y: divmod(2, x),
    "negative": lambda x, y: -x,
    "positive": lambda x, y: +x,
    "abs": lambda x, y: abs(x),
    "invert": lambda x, y: ~(x > 0),
    "and": lambda x, y: (x > 0) & (y > 0),
    "or": lambda x, y: (x > 0) | True,
    "xor": lambda x, y: (x > 0) ^ (y > 0),
    "shift": lambda x, y: x << 1,
    "and in Python": lambda x, y: (x > 0) and (y > 0),
    "not in Python": lambda x, y: not x,
    "chained comparison": lambda x, y: 0 < x < 1,
    "if": lambda x, y: 1 if x > 0 else 2,
    "contains": lambda x, y: 3 in x,
    "for": lambda x, y: [row for row in x],  # noqa: C416
    "unpacking": lambda x, y: (lambda a, b, c: a)(*x),
    "float": lambda x, y: float(x),
    "int": lambda x, y: int(x),
    "complex": lambda x, y: complex(x),
    "index": lambda x, y: [1, 2, 3][x],
    "range": lambda x, y: range(x),
    "bytes": lambda x, y: bytes(x),
    "item": lambda x, y: x.item(),
    "tolist": lambda x, y: x.tolist(),
    "tobytes": lambda x, y: x.tobytes(),
    "view": lambda x, y: x.view(np.int32),
    "data": lambda x, y: x.data,
    "ctypes": lambda x, y: x.ctypes,
    "base": lambda x, y: x.base,
    "np.asarray": lambda x, y: np.asarray(x),
    "np.array": lambda x, y: np.array([x, y]),
    "np.ascontiguousarray": lambda x, y: np.ascontiguousarray(x),
    "np.float32": lambda x, y: np.float32(x),
    "astype alone": lambda x, y: x.astype(int),
    "astype of a mask": lambda x, y: (x > 0).astype(np.float32),
    "astype to bool": lambda x, y: x.astype(bool),
    "zeros_like": lambda x, y: np.zeros_like(x),
    "full_like": lambda x, y: np.full_like(x, 2),
    "a new array": lambda x, y: np.zeros(x.shape),
    "a new array plus x": lambda x, y: np.zeros(x.shape, np.float32) + np.matmul(x, y),
    "add.reduce": lambda x, y: np.add.reduce(x),
    "add.at": lambda x, y: np.add.at(x, 0, 1),
    "less.outer": lambda x, y: np.less.outer(x, y),
    "less with where=": lambda x, y: np.less(x, y, where=x > 0),
    "less with dtype=": lambda x, y: np.less(x, y, dtype=bool),
    "add with dtype=": lambda x, y: np.add(x, y, dtype=np.float64),
    "matmul with axes=": lambda x, y: np.matmul(x, y, axes=[(0, 1), (0, 1), (0, 1)]),
    "matmul that narrows": lambda x, y: np.matmul(x, y, dtype=np.float16),
    "matmul in float64": lambda x, y: np.matmul(x, y, dtype=np.float64),
    "out= an array": lambda x, y: np.less(x, y, out=np.zeros((3, 4), bool)),
    "copyto an array": lambda x, y: np.copyto(np.zeros((3, 4), np.float32), x),
    "copyto from an array": lambda x, y: np.copyto(x, f32(3, 4)),
    "copyto under an array": lambda x, y: np.copyto(x, y, where=np.ones((3, 4), bool)),
    "maximum of arrays": lambda x, y: np.maximum(x, y),
    "maximum with one": lambda x, y: np.maximum(np.matmul(x, y), 1),
    "minimum": lambda x, y: np.minimum(x, 0),
    "einsum": lambda x, y: np.einsum("ij->ji", x),
    "inner": lambda x, y: np.inner(x, y),
    "tensordot": lambda x, y: np.tensordot(x, y),
    "vecdot": lambda x, y: np.vecdot(x, y),
    "norm": lambda x, y: np.linalg.norm(x),
    "fft": lambda x, y: np.fft.fft(x),
    "isnan": lambda x, y: np.isnan(x),
    "isclose": lambda x, y: np.isclose(x, y),
    "array_equal": lambda x, y: np.array_equal(x, y),
    "logical_and": lambda x, y: np.logical_and(x > 0, y > 0),
    "vectorize": lambda x, y: np.vectorize(lambda v: v + 1)(x),
    "frompyfunc": lambda x, y: np.frompyfunc(lambda v: v + 1, 1, 1)(x),
    "interp": lambda x, y: np.interp(x, [0, 1], [0, 1]),
    "compare with text": lambda x, y: x == "a",
    "compare with None": lambda x, y: x == None,  # noqa: E711
    "compare with complex": lambda x, y: x == 1j,
    "compare with a list": lambda x, y: x < [1, 2, 3, 4],
    "compare a mask": lambda x, y: (x > 0) == (y > 0),
    "mask in a matmul": lambda x, y: np.matmul(x > 0, y),
    "mask plus": lambda x, y: (x > 0) + 1,
}

MASKED_VIEWS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda v: v.sum(),
    "shape": lambda v: v.shape,
    "len": lambda v: len(v),
    "element": lambda v: v[0],
    "for": lambda v: list(v),
    "plus": lambda v: v + 1,
    "reflected": lambda v: 1 / v,
    "power": lambda v: v**2,
    "negative": lambda v: -v,
    "equal": lambda v: v == 1,
    "not equal": lambda v: v != 1,
    "less": lambda v: v < 1,
    "float": lambda v: float(v),
    "bool": lambda v: bool(v),
    "ufunc": lambda v: np.add(v, 1),
    "function": lambda v: np.concatenate([v, v]),
    "asarray": lambda v: np.asarray(v),
}


def assert_refused(function: Callable[[Any, Any], Any], y: Any = None) -> PtocError:
    arrays = f32(3, 4), f32(3, 4) if y is None else y
    before = [a.copy() for a in arrays]
    with pytest.raises(PtocError) as caught:
        ptoc.jit(function)(*arrays)
    assert isinstance(caught.value, UnsupportedError | ShapeError), caught.value
    assert all((a == old).all() for a, old in zip(arrays, before))
    return caught.value


@pytest.mark.parametrize("name", IN_KERNEL)
def test_what_kernels_cannot_do_is_refused(name: str) -> None:
    """No nonsense, no hang, no foreign exception: an error that says so, at the line that asks for it."""
    error = assert_refused(IN_KERNEL[name], f32(4, 3) if "matmul" in name or "new array plus" in name else None)
    assert error.where is not None and error.where.file == __file__, str(error)
    assert "<ptoc." not in str(error) and "object at" not in str(error)


@pytest.mark.parametrize("name", MASKED_VIEWS)
def test_selected_elements_have_no_other_use(name: str) -> None:
    error = assert_refused(lambda x, y: MASKED_VIEWS[name](x[x > 0]))
    assert "src[mask]" in error.message


SELECTED_ELSEWHERE: dict[str, Callable[[Any, Any], Any]] = {
    "in a comparison": lambda x, y: x < y[x > 0],
    "in where": lambda x, y: np.where(x > 0, x[x > 0], y),
    "in copyto": lambda x, y: np.copyto(x, y[x > 0]),
    "in scatter": lambda x, y: ptoc.scatter(x, y, x[x > 0]),
    "in place": lambda x, y: x.__setitem__(x > 0, x[x > 0].__iadd__(1)),
    "in a sum": lambda x, y: np.matmul(x, x[x > 0]),
    "to everything": lambda x, y: x.__setitem__(slice(None), y[x > 0]),
}


@pytest.mark.parametrize("name", SELECTED_ELSEWHERE)
def test_selected_elements_go_nowhere_else(name: str) -> None:
    assert_refused(SELECTED_ELSEWHERE[name])


def test_what_needs_no_contents_works() -> None:
    seen: list[Any] = []

    def kernel(x: Any, y: Any) -> Any:
        seen.append((len(x), x.shape, x.ndim, x.size, x.dtype, x.itemsize, np.isscalar(x), isinstance(x, float)))
        rows, _ = x.shape
        for n in range(rows):
            x[y > n] = n
        if x.dtype == np.float32 and x.ndim == 2 and x is not y:
            return copy.copy(x), copy.deepcopy(x)
        return x

    x, y = f32(3, 4), f32(3, 4)
    first, second = ptoc.jit(kernel)(x, y)
    assert seen == [(3, (3, 4), 2, 12, np.dtype("float32"), 4, False, False)]
    assert (first == x).all() and (second == x).all()
    assert first is not x and second is not x and first is not second
