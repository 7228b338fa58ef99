"""What compiled loops need to work together: words that several threads read and write, and arrays by their address.

Importing this module loads numba. All functions are for compiled code only. ``words`` is a one-dimensional int64 array.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _word(context: Any, builder: Any, signature: Any, words: Any, index: Any) -> Any:
    """The address of a word."""
    array = context.make_array(signature.args[0])(context, builder, words)
    return cgutils.get_item_pointer(context, builder, signature.args[0], array, [index], wraparound=False)


def _load(typing: Any, words: Any, index: Any) -> Any:
    """``load(words, index)``: a word, and all that was written before it was stored."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_word(context, builder, signature, *arguments), "acquire", 8)

    return types.int64(words, types.intp), generate


def _store(typing: Any, words: Any, index: Any, value: Any) -> Any:
    """``store(words, index, value)``, after all that was written before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[2], _word(context, builder, signature, *arguments[:2]), "release", 8)
        return context.get_dummy_value()

    return types.void(words, types.intp, types.int64), generate


def _replace(typing: Any, words: Any, index: Any, old: Any, new: Any) -> Any:
    """``replace(words, index, old, new)``: store ``new`` where the word still is ``old``; whether it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _word(context, builder, signature, *arguments[:2])
        return builder.extract_value(builder.cmpxchg(pointer, *arguments[2:], "acq_rel", "acquire"), 1)

    return types.boolean(words, types.intp, types.int64, types.int64), generate


def _increment(typing: Any, words: Any, index: Any) -> Any:
    """``increment(words, index)``, after all that was written before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = ir.Constant(ir.IntType(64), 1)
        builder.atomic_rmw("add", _word(context, builder, signature, *arguments), one, "acq_rel")
        return context.get_dummy_value()

    return types.void(words, types.intp), generate


def _give_way(typing: Any) -> Any:
    """``give_way()``: let another thread have the processor, where the system has a call for that."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if os.name == "posix":
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


def _at(element: Any) -> Any:
    """``at(address)``: a pointer to elements of one type."""

    def at(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), generate

    return intrinsic(at)


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
replace: Any = intrinsic(_replace)
increment: Any = intrinsic(_increment)
give_way: Any = intrinsic(_give_way)
floats_at: Any = _at(types.float32)
words_at: Any = _at(types.uint32)
