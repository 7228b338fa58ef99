"""A ``pto`` module as assembly statements: data, labels, instructions, and where each came from."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ptoc.backend.statements import (
    Access,
    Align,
    Bytes,
    Inst,
    Iota,
    Label,
    Location,
    Revision,
    Section,
    Splat,
    Statement,
)
from ptoc.dialects import pto
from ptoc.dialects.parsing import source_of
from ptoc.dialects.tile import Data, SplatAttr, WordsAttr


def statements(module: ModuleOp, isa: str | None = None) -> list[Statement]:
    """The program of a verified ``pto`` module, for a revision: its instructions first, then its constant data."""
    listing: list[Statement] = [] if isa is None else [Revision(isa)]
    for op in module.body.block.ops:
        if isinstance(op, pto.ProgramOp):
            listing += [Section("text"), Label(op.sym_name.data), *_code(op)]
    data = [op for op in module.body.block.ops if isinstance(op, pto.DataOp)]
    if data:
        listing.append(Section("data"))
    for op in data:
        listing += [Align(pto.DATA_ALIGNMENT), Label(op.sym_name.data), _data(op.value)]
    return listing


def _code(program: pto.ProgramOp) -> Iterator[Statement]:
    current: Location | None = None
    for op in program.body.block.ops:
        if isinstance(op, pto.LabelOp):
            yield Label(op.label.data)
            continue
        location = _location(op)
        if location is not None and location != current:
            current = location
            yield location
        if isinstance(op, pto.BundleOp):
            if op.argument is not None:
                yield Access(op.argument.value.data)
            for each in op.instructions:
                yield Inst(each.instruction, each.target)
        elif isinstance(op, pto.InstOp):
            yield Inst(op.instruction, op.target)


def _location(op: Operation) -> Location | None:
    place = source_of(op)
    return None if place is None else Location(*place)


def _data(value: Data) -> Statement:
    if isinstance(value, WordsAttr):
        return Bytes(value.data)
    if isinstance(value, SplatAttr):
        return Splat(value.width.data, value.bits.data, value.count.data)
    sizes = (value.rows.data, value.row_step.data, value.cols.data, value.col_step.data)
    return Iota(value.width.data, 0, *sizes)
