"""Copies of arguments: values and layout of the originals, so that a program made for one takes the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptoc
from ptoc.arrays import Placement, copy_with_strides, spec_of
from ptoc.bisection import bisect


@st.composite
def views(draw: st.DrawFn) -> Any:
    """Any view of up to four dimensions: parts, steps, exchanged and repeated axes."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    array = np.arange(np.prod(shape) * 2 ** len(shape), dtype=np.float32).reshape([2 * n for n in shape])
    steps = [draw(st.sampled_from([slice(None, n), slice(None, None, 2), slice(None, None, -1)])) for n in shape]
    array = array[tuple(steps)]
    if draw(st.booleans()):
        array = array.swapaxes(0, draw(st.integers(0, array.ndim - 1)))
    if draw(st.booleans()):
        array = np.broadcast_to(array[:1], (3, *array.shape[1:]))
    return array


@given(views())
def test_a_copy_has_the_layout_of_the_original(array: Any) -> None:
    copy = copy_with_strides(array)
    assert not np.shares_memory(copy, array)
    assert copy.dtype == array.dtype
    assert (copy == array).all()
    spec = spec_of(array, "x")
    assert spec_of(copy, "x") == spec or spec.placement is Placement.COPIED


def numbers(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


STACKS = {
    "columns of longer rows": lambda: numbers(2, 3, 2)[..., :1],
    "every other row": lambda: numbers(2, 6, 1)[:, ::2],
    "every other matrix": lambda: numbers(4, 3, 1)[::2],
    "one matrix repeated": lambda: np.broadcast_to(numbers(3, 2)[:, :1], (2, 3, 1)),
}


@pytest.mark.parametrize("name", STACKS)
def test_stacks_with_gaps_are_validated(name: str) -> None:
    def product(a: Any, b: Any) -> Any:
        return np.matmul(a, b, dtype=np.float32)

    def larger(a: Any, b: Any) -> Any:
        return np.where(a > b, a, b)

    stack = STACKS[name]()
    assert ptoc.validate(product, stack, numbers(1, 4)).ok
    assert ptoc.validate(product, numbers(4, 3), stack).ok
    assert ptoc.validate(larger, stack, STACKS[name]()).ok
    assert bisect(product, stack, numbers(1, 4)).guilty is None
