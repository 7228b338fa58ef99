"""``ptoc.scatter``: a masked store at byte displacements, the one thing numpy has no word for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptoc.errors import ArgumentError, caller_location, kind_of


def scatter(dst: Any, byte_displacements: Any, src: Any, mask: Any = True) -> None:
    """Store ``src[i]`` at ``byte_displacements[i]`` bytes from the first element of ``dst`` where ``mask[i]``.

    ``dst`` is any array; the other three have one shape (``mask=True`` selects everything). Displacements are int32,
    uint32, int64 or uint64, multiples of the element size, and may be anything where the mask is false. ``src`` has
    the dtype of ``dst``. Where two elements meet, the machine leaves open which one stays: numpy and the simulator keep
    the last in row-major order, and ``ptoc.validate`` reports it.

    Inside a kernel this becomes MSCATTER_MASK; called on numpy arrays it does the same in numpy. ``ArgumentError``
    (in a program: ``ProgramFault``) when an enabled displacement does not name an element of ``dst``; nothing is
    written then.
    """
    if not isinstance(dst, np.ndarray):
        from ptoc import functions
        from ptoc.tracing import Tracer, about, unsupported

        if not isinstance(dst, Tracer):
            raise unsupported(f"ptoc.scatter into {kind_of(dst)}", hint="scatter into an array")
        with about("scatter", dst, byte_displacements, src):
            functions.scatter(dst, byte_displacements, src, mask)
        return
    enabled = np.broadcast_to(np.asarray(mask, bool), byte_displacements.shape)
    targets = [int(d) for d in byte_displacements[enabled]]
    places = [_place(dst, displacement) for displacement in targets]
    for place, value in zip(places, src[enabled]):
        dst[place] = value


def _place(dst: np.ndarray[Any, Any], displacement: int) -> tuple[int, ...]:
    """The index of the element that starts ``displacement`` bytes behind the first one."""
    index, rest = [], displacement
    for extent, stride in zip(dst.shape, dst.strides):
        step = min(rest // stride, extent - 1) if stride and rest >= 0 else 0
        index.append(step)
        rest -= step * stride
    if rest or not dst.size:
        raise ArgumentError(
            f"displacement {displacement} names no element of a {'x'.join(map(str, dst.shape))} {dst.dtype} array",
            where=caller_location(),
            hint="disable the element with the mask, or use a multiple of the element size inside the array",
        )
    return tuple(index)
