"""Rounds: how the cores of a machine and their PEs take turns with the rows, or any other parts, of a loop nest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ptoc.passes.planning.tiling import RowBlock
from ptoc.passes.rewriting import Emitter, Index
from ptoc.passes.tile_values import core_count, core_id, pe_id


def emit_rounds(e: Emitter, block: RowBlock, body: Callable[[Emitter, Index], None], *, alone: bool) -> None:
    """``body(emitter, first row)`` for the rows of every PE in every round.

    The cores take the rounds in turn, or the first one does them all ``alone``.
    """
    per_round = block.pes * block.rows

    def round_(e: Emitter, first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        row = first
        if block.pes > 1:
            row = e.add(e.mul(pe_id(e), block.rows), first)
        body(e, row)
        return ()

    first, stop = block.first, block.first + block.rounds * per_round
    if not alone and block.rounds > 1:
        start = e.add(first, e.mul(core_id(e), per_round))
        e.loop(start, stop, e.mul(core_count(e), per_round), round_, name="row")
        return

    def all_rounds(e: Emitter, _: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return e.loop(first, stop, per_round, round_, carried, name="row")

    # The last core has the fewest of the rounds that are taken in turn, so it has a single one.
    turn = core_id(e) if alone else e.sub(e.sub(core_count(e), 1), core_id(e))
    e.loop(turn, 1, 1, all_rounds, name="turn")
