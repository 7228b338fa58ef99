"""Mistakes that users of numpy make, and what they are told: one golden message each.

The message says where (file:line:col, the source line, a caret below), with which shapes and dtypes, which rule is
broken and on which page it is explained, and what to do. Each kernel below is a mistake of its own; the golden files
beside this one hold the whole messages.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptoc
from ptoc import functions
from ptoc.rules import RULES, anchor

ROOT = Path(__file__).parents[2]
F32 = np.float32


def ones(shape: tuple[int, ...], dtype: Any = F32) -> Any:
    return np.ones(shape, dtype)


@dataclass(frozen=True)
class Mistake:
    """A kernel and what it is called with. ``shapes``: the message names shapes and dtypes of what is concerned."""

    kernel: Callable[..., Any]
    arrays: Sequence[Any]
    shapes: bool = True


MISTAKES: dict[str, Mistake] = {}


def mistake(*arrays: Any, shapes: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(kernel: Callable[..., Any]) -> Callable[..., Any]:
        MISTAKES[kernel.__name__] = Mistake(kernel, arrays, shapes)
        return kernel

    return add


MATRIX, SQUARE, ROW, COLUMN = ones((3, 4)), ones((4, 4)), ones((4,)), ones((3, 1))
HALF, BYTES = ones((3, 4), np.float16), ones((4, 4), np.int8)
TABLE = ones((3, 4))

# -- shapes ----------------------------------------------------------------------------------------


@mistake(MATRIX, MATRIX)
def inner_dimensions_differ(a, b):
    return a @ b


@mistake(MATRIX, ones((3, 5)))
def shapes_do_not_broadcast(x, y):
    return np.where(x > y, x, y)


@mistake(MATRIX, COLUMN)
def column_threshold(x, limit):
    return x > limit


@mistake(MATRIX, SQUARE, COLUMN)
def column_bias(x, w, bias):
    return bias + x @ w


@mistake(MATRIX, SQUARE, ones((1, 1)))
def bias_of_one_element(x, w, bias):
    return x @ w + bias


@mistake(MATRIX, ROW)
def mask_of_a_row(x, row):
    x[row > 0] = 0


@mistake(MATRIX, ROW)
def assignment_of_a_matrix_to_a_row(x, row):
    row[:] = x


@mistake(ones((2, 3, 4)), ones((5, 4, 3)))
def stacks_of_other_lengths(a, b):
    return np.matmul(a, b)


@mistake(ones((2, 3, 4)), ones((2, 4, 3)))
def maximum_of_a_stack(a, b):
    return (a @ b).max(axis=-1)


@mistake(ones((2, 3, 4)))
def reversed_axes_of_a_stack(a):
    return a.T


@mistake(MATRIX, SQUARE)
def groups_that_do_not_fit(x, w):
    return (x @ w).reshape(3, 2, 3).max(axis=2)


# -- dtypes ----------------------------------------------------------------------------------------


@mistake(ones((2, 4), np.int8), BYTES)
def sum_of_int8_in_int8(a, b):
    return a @ b


@mistake(ones((2, 4), np.float64), ones((4, 4), np.float64))
def product_of_float64(a, b):
    return a @ b


@mistake(MATRIX, ones((3, 4), np.float16))
def comparison_of_two_dtypes(x, y):
    return x > y


@mistake(HALF, ones((4, 4), np.float16), ones((4,), np.float16))
def bias_in_float16(x, w, bias):
    return x @ w + bias


@mistake(MATRIX, ones((4, 4)), ones((4,), np.float64))
def bias_in_float64(x, w, bias):
    return x @ w + bias


@mistake(MATRIX)
def conversion_without_a_product(x):
    return x.astype(np.float16)


@mistake(MATRIX)
def mask_as_numbers(x):
    return (x > 0).astype(F32)


@mistake(MATRIX, ones((3, 4), np.int32))
def assignment_of_another_dtype(x, y):
    x[:] = y


@mistake(ones((3, 4), np.int8))
def number_that_the_dtype_does_not_hold(x):
    return np.where(x > 0, x, 1000)


@mistake(ones((3, 4), np.complex64), shapes=False)
def complex_numbers(x):
    return x


@mistake(ones((3, 4), object), shapes=False)
def objects(x):
    return x


@mistake(ones((3, 4), ">f4"), shapes=False)
def foreign_byte_order(x):
    return x


# -- what the machine does not have ----------------------------------------------------------------


@mistake(MATRIX)
def elementary_functions(x):
    y = np.exp(x)
    z = np.sqrt(x * x)
    return np.where(y > z, y, z)


@mistake(SQUARE)
def inverse(a):
    return np.linalg.inv(a)


@mistake(MATRIX)
def sorting(x):
    return np.sort(x, axis=1)


@mistake(MATRIX)
def sum_along_an_axis(x):
    return x.sum(axis=1)


@mistake(MATRIX, MATRIX)
def sum_of_two_arrays(x, y):
    return x + y


@mistake(MATRIX, MATRIX)
def and_of_masks(x, y):
    return (x > 0) & (y > 0)


@mistake(MATRIX, MATRIX)
def or_of_masks(x, y):
    return np.logical_or(x > 0, y > 0)


@mistake(MATRIX)
def not_of_a_mask(x):
    return ~(x > 0)


@mistake(MATRIX)
def chained_comparison(x):
    return 0 < x < 1


@mistake(MATRIX, MATRIX)
def concatenation(x, y):
    return np.concatenate([x, y])


@mistake(MATRIX, ones((3, 4), np.int64))
def fancy_indexing(x, places):
    return x[places]


@mistake(MATRIX)
def slicing(x):
    return x[1:3, ::2]


@mistake(MATRIX)
def element_of_an_array(x):
    x[0, 0] = 1


@mistake(MATRIX)
def transpose_alone(x):
    return np.where(x.T > 0, x.T, 0)


@mistake(MATRIX, SQUARE)
def einsum(a, b):
    return np.einsum("ij,jk->ik", a, b)


# -- contents that are asked for -------------------------------------------------------------------


@mistake(MATRIX)
def branch_on_contents(x):
    if x > 0:
        return x
    return x.copy()


@mistake(MATRIX)
def loop_over_rows(x):
    for row in x:
        row[:] = 0


@mistake(MATRIX, shapes=False)
def printed_number(x):
    print(float(x))
    return x


@mistake(MATRIX)
def index_by_contents(x):
    return [1, 2, 3][x]


@mistake(MATRIX)
def conversion_to_an_array(x):
    return np.asarray(x)


@mistake(MATRIX)
def python_sum(x):
    return sum(x)


# -- arrays from outside, results, in place --------------------------------------------------------


@mistake(MATRIX)
def captured_array(x):
    return x > TABLE


@mistake(MATRIX, SQUARE)
def out_that_is_no_argument(x, w):
    return np.matmul(x, w, out=np.empty((3, 4), F32))


@mistake(MATRIX, SQUARE, MATRIX)
def dot_with_out(x, w, y):
    np.dot(x, w, out=y)


@mistake(MATRIX)
def copy_into_a_new_array(x):
    y = np.zeros(x.shape, x.dtype)
    np.copyto(y, x)
    return y


@mistake(MATRIX, shapes=False)
def number_as_result(x):
    return 2.0


@mistake(MATRIX, shapes=False)
def dictionary_as_result(x):
    return {"y": x}


@mistake(MATRIX)
def selected_elements_as_result(x):
    return x[x > 0]


@mistake(MATRIX, MATRIX)
def selection_under_another_mask(x, y):
    x[x > 0] = y[y > 0]


@mistake(MATRIX)
def new_shape(x):
    x.shape = (4, 3)


# -- around a product ------------------------------------------------------------------------------


@mistake(MATRIX, SQUARE)
def scale_that_fp19_does_not_hold(x, w):
    return x @ w * 0.1


@mistake(MATRIX, SQUARE)
def slope_that_fp19_does_not_hold(x, w):
    y = x @ w
    return np.where(y > 0, y, 0.01 * y)


@mistake(MATRIX, SQUARE)
def infinite_factor(x, w):
    return (x @ w) * np.inf


@mistake(MATRIX, SQUARE)
def factor_that_is_nan(x, w):
    return np.nan * (x @ w)


@mistake(MATRIX, SQUARE)
def two_epilogues_refused(x, w):
    y = x @ w
    return y * 0.1, y * -1, np.maximum(y, 0)


@mistake(MATRIX, SQUARE, ROW)
def scale_in_an_argument(x, w, scale):
    return x @ w * scale


@mistake(MATRIX, SQUARE)
def conversion_without_clip(x, w):
    return np.rint(x @ w).astype(np.int8)


@mistake(MATRIX, SQUARE)
def offset_before_rounding(x, w):
    return np.clip(np.rint(x @ w * 0.5 + 3), -128, 127).astype(np.int8)


@mistake(MATRIX, SQUARE)
def division_by_three(x, w):
    return x @ w / 3


@mistake(MATRIX, SQUARE)
def maximum_along_columns(x, w):
    return (x @ w).max(axis=0)


@mistake(MATRIX, SQUARE, ones((3, 4)))
def sum_behind_a_scale(x, w, c):
    return c + 2 * (x @ w)


# -- the call --------------------------------------------------------------------------------------


@mistake([[1.0, 2.0]], shapes=False)
def list_as_argument(x):
    return x


@mistake(MATRIX, 2.0, shapes=False)
def number_as_argument(x, limit):
    return x > limit


@mistake(MATRIX)
def missing_array(x, y):
    return x > y


@mistake(MATRIX, MATRIX)
def keyword_only_parameter(x, *, y):
    return x > y


@mistake(np.broadcast_to(F32(1), (3, 4)))
def assigning_to_a_read_only_array(x):
    x[x > 0] = 0


SHARED = ones((6, 4))


@mistake(SHARED[:4], SHARED[2:])
def overlapping_arguments(x, y):
    x[x > y] = 0


@mistake(ones((4,)), np.array([0, 4, 16, 8]))
def scatter_out_of_bounds(x, places):
    ptoc.scatter(x, places, x.copy())


@mistake(ones((4,)), np.array([0, 4, 6, 8]))
def scatter_between_elements(x, places):
    ptoc.scatter(x, places, x.copy())


@mistake(ones((4,)), ones((4,), np.int64), ones((3,)))
def scatter_of_other_shapes(x, places, y):
    ptoc.scatter(x, places, y)


@mistake(MATRIX, shapes=False)
def endless_recursion(x):
    return endless_recursion(x)


# -- what they are told ----------------------------------------------------------------------------


def told(name: str) -> str:
    each = MISTAKES[name]
    with pytest.raises(ptoc.PtocError) as caught:
        ptoc.jit(each.kernel)(*each.arrays)
    return str(caught.value)


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message(name: str, golden: Callable[..., None]) -> None:
    text = told(name).replace(__file__, "kernel.py")
    # Lines of this file move when mistakes are added.
    first = MISTAKES[name].kernel.__code__.co_firstlineno
    text = re.sub(r"kernel\.py:(\d+)", lambda m: f"kernel.py:{int(m[1]) - first}", text)
    text = re.sub(r"^( *\d+) \|", lambda m: f"{int(m[1]) - first:>5} |", text, flags=re.MULTILINE)
    golden(text + "\n")


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_says_where_what_why_and_what_to_do(name: str) -> None:
    for error in told(name).split("\n\n"):
        check_place(error)
        assert not MISTAKES[name].shapes or re.search(r"\b\d+(x\d+)* (bool|b?float|u?int)\d*", error), error
        rule = re.search(r"^rule: ([\w-]+): .+ \(docs/([\w.-]+)#([\w-]+)\)$", error, re.MULTILINE)
        assert rule is not None and rule[1] in RULES, error
        assert re.search(r"^help: \w.{8,}", error, re.MULTILINE), error
        assert "<ptoc." not in error and "object at" not in error and "Traceback" not in error, error


def check_place(error: str) -> None:
    """``file:line:col: message``, that line of the file, and carets below the place."""
    place, source, carets = error.splitlines()[:3]
    found = re.match(rf"{re.escape(__file__)}:(\d+):(\d+): \S", place)
    assert found is not None, error
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[int(found[1]) - 1]
    assert source == f"{int(found[1]):>5} | {line.strip()}", error
    indent = len(line) - len(line.lstrip())
    assert re.fullmatch(rf"      \| {' ' * (int(found[2]) - 1 - indent)}\^+", carets), error


def test_there_are_enough_and_none_is_told_the_same() -> None:
    messages = {told(name).split(": ", 1)[1] for name in MISTAKES}
    assert len(messages) == len(MISTAKES) >= 30


# -- the rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_its_page_and_heading(name: str) -> None:
    rule = RULES[name]
    page = (ROOT / "docs" / rule.page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    assert rule.heading in headings
    assert rule.reference == f"docs/{rule.page}#{anchor(rule.heading)}"


def rules_in(source: str) -> Iterator[str]:
    """The rules that a module names: ``rule="…"``, ``about("…", …)``, and the defaults of the kinds of errors."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "rule":
            yield from strings_in(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "about":
            yield from strings_in(node.args[0])
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "default_rule":
            yield from strings_in(node.value)


def strings_in(node: ast.AST) -> Iterator[str]:
    return (n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def test_the_rules_that_errors_name_are_the_listed_ones() -> None:
    sources = [p for room in ("frontend", "passes") for p in (ROOT / room).rglob("*.py")]
    named = {name for path in sources for name in rules_in(path.read_text(encoding="utf-8"))}
    assert named | set(functions._TOPICS.values()) == RULES.keys()


def test_anchors_are_those_of_rendered_pages() -> None:
    assert anchor("ptoc as, ptoc dis") == "ptoc-as-ptoc-dis"
    assert anchor("TLOAD, Local") == "tload-local"
