"""The compiled loops of matrix products; importing this module loads numba.

Four rows by four k steps are held together so that each element of ``b`` is read once per four rows and
``acc`` once per four steps; the column loop is the vector loop. Additions stay in k order for every element.
Nothing may be reassociated; only ``fused`` may contract a product and a sum, and it is called only where
products are exact. No loop holds the interpreter's lock, so that several may run at once.

``share`` and ``serve`` perform one product on several threads, by way of a *board* of words. ``share`` writes what is
to be done on it and takes parts of the rows; ``serve``, on another thread, takes parts too, until it has seen none for
a while. The *ticket* is one word with the number of parts and the next of them; who moves it on has taken a part. What
else stands on the board is read after that, and changes only when all parts are done, so a thread that comes late finds
nothing to take. Handing over a part costs less than a microsecond, where waking a thread costs as much as a small
product.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, Literal

import numba
import numpy as np
from numba import types
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from ptoc.runtime.numerics import atomics

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]
Board = NDArray[np.int64]

FUSED, SEPARATE, WHOLE = range(3)
"""The kinds of products that ``share`` performs."""

_LINE = 8
"""Words of a cache line: what several threads write stands on lines of its own."""
_TICKET, _DONE = 0, _LINE
_KIND, _REACH, _ROWS, _DEPTH, _COLS, _STRIDE, _STEP, _A, _B, _START, _OUT = range(2 * _LINE, 2 * _LINE + 11)
_BOARD_WORDS = 4 * _LINE
_PARTS_SHIFT = 32
_NEXT = (1 << _PARTS_SHIFT) - 1
_NAN = np.float32(np.nan)
_SMALLEST_NORMAL_HALF = np.float32(2.0**-14)


def _product(a: Floats, b: Floats, start: Words, out: Words) -> None:
    acc = out.view(np.float32)
    rows, depth = a.shape
    cols = b.shape[1]
    for m in range(rows):
        for n in range(cols):
            out[m, n] = start[m, n]
    whole_rows = rows - rows % 4
    whole_depth = depth - depth % 4
    for m in range(0, whole_rows, 4):
        for k in range(0, whole_depth, 4):
            a00, a01, a02, a03 = a[m, k], a[m, k + 1], a[m, k + 2], a[m, k + 3]
            a10, a11, a12, a13 = a[m + 1, k], a[m + 1, k + 1], a[m + 1, k + 2], a[m + 1, k + 3]
            a20, a21, a22, a23 = a[m + 2, k], a[m + 2, k + 1], a[m + 2, k + 2], a[m + 2, k + 3]
            a30, a31, a32, a33 = a[m + 3, k], a[m + 3, k + 1], a[m + 3, k + 2], a[m + 3, k + 3]
            for n in range(cols):
                b0, b1, b2, b3 = b[k, n], b[k + 1, n], b[k + 2, n], b[k + 3, n]
                acc[m, n] = (((acc[m, n] + a00 * b0) + a01 * b1) + a02 * b2) + a03 * b3
                acc[m + 1, n] = (((acc[m + 1, n] + a10 * b0) + a11 * b1) + a12 * b2) + a13 * b3
                acc[m + 2, n] = (((acc[m + 2, n] + a20 * b0) + a21 * b1) + a22 * b2) + a23 * b3
                acc[m + 3, n] = (((acc[m + 3, n] + a30 * b0) + a31 * b1) + a32 * b2) + a33 * b3
        for k in range(whole_depth, depth):
            a00, a10, a20, a30 = a[m, k], a[m + 1, k], a[m + 2, k], a[m + 3, k]
            for n in range(cols):
                b0 = b[k, n]
                acc[m, n] += a00 * b0
                acc[m + 1, n] += a10 * b0
                acc[m + 2, n] += a20 * b0
                acc[m + 3, n] += a30 * b0
    for m in range(whole_rows, rows):
        for k in range(depth):
            a00 = a[m, k]
            for n in range(cols):
                acc[m, n] += a00 * b[k, n]
    for m in range(rows):
        for n in range(cols):
            value = acc[m, n]
            acc[m, n] = value if value == value else _NAN


def _whole(reach: int, a: Floats, b: Floats, start: Words, out: Words) -> None:
    """Integers: ``reach`` products at a time have an exact sum in FP32, which is added modulo 2^32."""
    rows, cols = out.shape
    depth = a.shape[1]
    zeros, sums = np.zeros((rows, cols), np.uint32), np.empty((rows, cols), np.uint32)
    numbers = sums.view(np.float32)
    for m in range(rows):
        for n in range(cols):
            out[m, n] = start[m, n]
    for k in range(0, depth, reach):
        fused(a[:, k : k + reach], b[k : k + reach], zeros, sums)
        for m in range(rows):
            for n in range(cols):
                out[m, n] += np.uint32(np.int32(numbers[m, n]))


def _halves(codes: NDArray[np.uint16], out: Words) -> None:
    """FP16 codes as the bits of FP32 values; one loop per step, since only loops without branches are vectors."""
    values = out.view(np.float32)
    for i in range(codes.shape[0]):
        magnitude = np.uint32(codes[i]) & np.uint32(0x7FFF)
        offset = np.uint32(0x3800_0000)
        if magnitude >= np.uint32(0x7C00):
            offset = np.uint32(0x7000_0000)
        if magnitude < np.uint32(0x400):
            offset = np.uint32(0x3880_0000)
        out[i] = (magnitude << np.uint32(13)) + offset
    # A subnormal has been given the exponent of the smallest normal number and its leading one; this takes it away.
    for i in range(codes.shape[0]):
        values[i] -= _SMALLEST_NORMAL_HALF if codes[i] & np.uint16(0x7C00) == 0 else np.float32(0)
    for i in range(codes.shape[0]):
        out[i] |= (np.uint32(codes[i]) & np.uint32(0x8000)) << np.uint32(16)


def _looked_up(table: Words, codes: NDArray[np.uint8], out: Words) -> None:
    last = table.shape[0] - 1
    for i in range(codes.shape[0]):
        out[i] = table[min(np.intp(codes[i]), last)]


def _take(board: Board) -> int:
    """The number of a part that nobody has taken; -1 where there is none."""
    while True:
        ticket = atomics.load(board, _TICKET)
        part: int = ticket & _NEXT
        if part >= ticket >> _PARTS_SHIFT:
            return -1
        if atomics.replace(board, _TICKET, ticket, ticket + 1):
            return part


def _perform(board: Board, part: int) -> None:
    """Do a part that was taken."""
    rows, depth, cols = board[_ROWS], board[_DEPTH], board[_COLS]
    first = part * board[_STEP]
    last = min(first + board[_STEP], rows)
    a = carray(atomics.floats_at(board[_A]), (rows, board[_STRIDE]))[first:last, :depth]
    b = carray(atomics.floats_at(board[_B]), (depth, cols))
    start = carray(atomics.words_at(board[_START]), (rows, cols))[first:last]
    out = carray(atomics.words_at(board[_OUT]), (rows, cols))[first:last]
    if board[_KIND] == FUSED:
        fused(a, b, start, out)
    elif board[_KIND] == SEPARATE:
        separate(a, b, start, out)
    else:
        whole(board[_REACH], a, b, start, out)
    atomics.increment(board, _DONE)


def _share(board: Board, kind: int, reach: int, step: int, a: Floats, b: Floats, start: Words, out: Words) -> None:
    """A product in parts of ``step`` rows, together with whoever serves the board; each row of ``a`` is contiguous."""
    rows, depth = a.shape
    parts = (rows + step - 1) // step
    board[_KIND], board[_REACH], board[_STEP] = kind, reach, step
    board[_ROWS], board[_DEPTH], board[_COLS] = rows, depth, b.shape[1]
    # A single row may have any stride.
    board[_STRIDE] = max(depth, a.strides[0] // 4)
    board[_A], board[_B], board[_START], board[_OUT] = a.ctypes.data, b.ctypes.data, start.ctypes.data, out.ctypes.data
    board[_DONE] = 0
    atomics.store(board, _TICKET, parts << _PARTS_SHIFT)
    while True:
        part = take(board)
        if part < 0:
            break
        perform(board, part)
    while atomics.load(board, _DONE) < parts:
        atomics.give_way()


def _serve(board: Board, patience: int) -> None:
    """Take parts of whatever is shared, until there was none for ``patience`` looks."""
    looks = 0
    while looks < patience:
        part = take(board)
        if part < 0:
            looks += 1
            atomics.give_way()
        else:
            perform(board, part)
            looks = 0


def _compile(function: Any, name: str, *arguments: Any, result: types.Type = types.void, fastmath: Any = False) -> Any:
    """A compiled function under its own name: numba's cache tells functions apart by name, not by flags."""
    copy = FunctionType(function.__code__, globals(), name)
    copy.__qualname__ = name
    options = {"fastmath": fastmath, "error_model": "numpy", "nogil": True}
    signature = result(*arguments)
    try:
        return numba.njit(signature, cache=True, **options)(copy)
    except RuntimeError:
        # No place for the cache: an installation and a home that cannot be written.
        return numba.njit(signature, **options)(copy)


def _read(dtype: types.Type, dimensions: int, layout: Literal["A", "C"] = "C") -> types.Type:
    return types.Array(dtype, dimensions, layout, readonly=True)


_OPERANDS = (
    _read(types.float32, 2, "A"),
    _read(types.float32, 2),
    _read(types.uint32, 2),
    types.uint32[:, ::1],
)
separate: Any = _compile(_product, "separate", *_OPERANDS)
fused: Any = _compile(_product, "fused", *_OPERANDS, fastmath={"contract"})
whole: Any = _compile(_whole, "whole", types.intp, *_OPERANDS)
halves: Any = _compile(_halves, "halves", _read(types.uint16, 1), types.uint32[::1])
looked_up: Any = _compile(_looked_up, "looked_up", _read(types.uint32, 1), _read(types.uint8, 1), types.uint32[::1])
_BOARD = types.int64[::1]
take: Any = _compile(_take, "take", _BOARD, result=types.int64)
perform: Any = _compile(_perform, "perform", _BOARD, types.int64)
share: Any = _compile(_share, "share", _BOARD, *[types.int64] * 3, *_OPERANDS)
serve: Any = _compile(_serve, "serve", _BOARD, types.int64)


def new_board() -> Board:
    """A board on which nothing is to be done."""
    return np.zeros(_BOARD_WORDS, np.int64)
