"""Meanings as a person writes them: ``c[0:32, 0:128] + a[0:32, 0:64] @ b[0:64, 0:128]``."""

from __future__ import annotations

from collections.abc import Sequence

from ptoc.isa.postprocess import ReluMode, Rounding
from ptoc.passes.checking.errors import WrongProgram
from ptoc.passes.checking.meanings import (
    NEVER_WRITTEN,
    UNKNOWN_VERSION,
    Block,
    Compared,
    Finish,
    Maxima,
    Meaning,
    Pattern,
    Splat,
    Sum,
)
from ptoc.passes.checking.memory import Array

_RELATIONS = ("==", "!=", "<", ">", "<=", ">=")
_WORDS_SHOWN = 4


def text_of(meaning: Meaning, arrays: Sequence[Array]) -> str:
    """What a tile holds, in terms of these arrays."""
    if isinstance(meaning, Block):
        return _block(meaning, arrays[meaning.array])
    if isinstance(meaning, Splat):
        return f"{meaning.bits:#x} everywhere"
    if isinstance(meaning, Pattern):
        return f"{meaning.first} + {meaning.row_step} * row + {meaning.col_step} * column"
    if isinstance(meaning, Compared):
        lhs, rhs = (text_of(each, arrays) for each in (meaning.lhs, meaning.rhs))
        return f"({lhs} {_RELATIONS[meaning.relation]} {rhs} as {meaning.dtype})"
    if isinstance(meaning, Sum):
        return _sum(meaning, arrays)
    if isinstance(meaning, Maxima):
        return _maxima(meaning, arrays)
    return _words(meaning.words)


def _words(words: Sequence[int]) -> str:
    shown = ", ".join(f"{word:#x}" for word in words[:_WORDS_SHOWN])
    return f"words {shown}" + (f" … ({len(words)})" if len(words) > _WORDS_SHOWN else "")


def _block(block: Block, array: Array) -> str:
    rows = 1 if block.stride == 0 else block.rows
    try:
        row, col = array.rectangle(block.start, block.stride, rows, block.cols)
        text = f"{array.name}[{row}:{row + rows}, {col}:{col + block.cols}]"
    except WrongProgram:
        text = f"{block.rows} x {block.cols} of {array.name} from byte {block.start} on"
        text += f" with rows {block.stride} bytes apart"
    if rows < block.rows:
        text += f" for {block.rows} rows"
    text += ".T" if block.turned else ""
    text += "" if block.dtype == array.dtype else f" as {block.dtype}"
    if block.version == NEVER_WRITTEN:
        return text
    changed = "of several writes" if block.version == UNKNOWN_VERSION else f"of write {block.version}"
    return f"{text} {changed}"


def _sum(total: Sum, arrays: Sequence[Array]) -> str:
    terms = [] if total.start is None else [text_of(total.start, arrays)]
    if total.scale is not None:
        terms[0] += f" / 2**{text_of(total.scale, arrays)}"
    terms += [f"{text_of(a, arrays)} @ {text_of(b, arrays)}" for a, b in total.pieces]
    text = " + ".join(terms)
    return text if total.finish is None else f"({text}), then {_finish(total.finish, arrays)}"


def _maxima(maxima: Maxima, arrays: Sequence[Array]) -> str:
    of = "magnitude" if maxima.absolute else "value"
    where = f"every {maxima.group} columns of a row" if maxima.group else "a row"
    parts = [] if maxima.start is None else [text_of(maxima.start, arrays)]
    parts += [_sum(each, arrays) for each in maxima.sums]
    return f"the largest {of} in {where} of {', '.join(parts)}"


def _finish(finish: Finish, arrays: Sequence[Array]) -> str:
    parts = [f"PreQuantMode {finish.mode}", f"ReLU {ReluMode(finish.relu).name}"]
    parts += [f"rounding {Rounding(finish.rounding).name}"] if finish.rounding else []
    parts += ["saturation"] if finish.saturate else []
    parts += [_words(finish.words)] if finish.words else []
    parts += [text_of(each, arrays) for each in finish.tiles]
    return ", ".join(parts)
