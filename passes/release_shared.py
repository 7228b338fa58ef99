"""``release-shared``: Shared tiles that nobody reads any more make room for later ones.

Work that is laid out on its own may take the whole Shared pool, but tiles of earlier work stay until their names are
used again. Where both together might overflow the pool, one-cell loads replace what is in the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ptoc.dialects import tile
from ptoc.dialects.tile import SharedType
from ptoc.isa import dtypes
from ptoc.isa.registers import CELL_BYTES, SHARED_POOL_BYTES, size_bytes
from ptoc.passes.diagnostics import reject
from ptoc.passes.planning.shared_pool import Sizes, fits, largest, to_release
from ptoc.passes.rewriting import Emitter, the_function
from ptoc.passes.tile_values import constant_byte


@dataclass(frozen=True)
class ReleaseShared(ModulePass):
    name = "release-shared"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _make_room(op, the_function(op).body.block, {})


def peak_shared_bytes(function: func.FuncOp) -> int:
    """The most Shared tile bytes of a core at any time, whichever loops run."""
    return _peak(function.body.block, {})


def _peak(block: Block, held: Sizes) -> int:
    most = [0]
    for op, loaded in _loading(block):
        both = largest(held, loaded)
        if fits(held, loaded) or not op.regions:
            most.append(sum(both.values()))
        else:
            most += [_peak(region.block, both) for region in op.regions]
        held = _after(op, held, loaded)
    return max(most)


def _make_room(module: ModuleOp, block: Block, held: Sizes) -> None:
    """Make room in a block at whose start the Shared tiles have at most the ``held`` bytes by name."""
    for op, loaded in _loading(block):
        if not fits(held, loaded):
            read = {_name(load) for load in _loads(module) if _is_read_later(load, op)}
            released = to_release(held, loaded, held.keys() - read)
            _replace(module, op, released)
            held = {**held, **dict.fromkeys(released, CELL_BYTES)}
        if not fits(held, loaded):
            both = largest(held, loaded)
            if isinstance(op, tile.LoadSharedOp):
                nbytes = sum(both.values())
                what = f"{nbytes} bytes of Shared tiles, {SHARED_POOL_BYTES} exist"
                reject(op, what, rule="shared-pool", hint="split the kernel into smaller ones")
            for region in op.regions:
                # An iteration follows the end of the one before.
                _make_room(module, region.block, both)
        held = _after(op, held, loaded)


def _loading(block: Block) -> Iterator[tuple[Operation, Sizes]]:
    """Operations that load Shared tiles, loops among them, and the most bytes that each loads by name."""
    for op in list(block.ops):
        if loads := _loads(op):
            yield op, largest(*({_name(load): _nbytes(load)} for load in loads))


def _after(op: Operation, held: Sizes, loaded: Sizes) -> Sizes:
    """The most that each name may hold behind an operation. A loop may run any number of times, none included."""
    return {**held, **loaded} if isinstance(op, tile.LoadSharedOp) else largest(held, loaded)


def _loads(op: Operation) -> list[tile.LoadSharedOp]:
    """The operation, if it loads a Shared tile, and all such operations in it."""
    return [each for each in op.walk() if isinstance(each, tile.LoadSharedOp)]


def _name(load: tile.LoadSharedOp) -> int:
    return load.shared.value.data


def _nbytes(load: tile.LoadSharedOp) -> int:
    return size_bytes(cast(SharedType, load.result.type).size_code)


def _is_read_later(load: tile.LoadSharedOp, op: Operation) -> bool:
    """Whether a tile that is loaded in front of an operation is read by it or behind it."""
    return _precedes(load, op) and not all(_precedes(reader, op) for reader in _readers(load.result))


def _readers(value: SSAValue) -> Iterator[Operation]:
    """What reads a Shared tile, itself or as a view."""
    for use in value.uses:
        if isinstance(use.operation, tile.ViewOp):
            yield from _readers(use.operation.result)
        else:
            yield use.operation


def _precedes(one: Operation, other: Operation) -> bool:
    """Whether one operation stands in front of another, or in one that does."""
    point: Operation | None = other
    while point is not None and (block := point.parent_block()) is not None:
        ancestor = block.find_ancestor_op_in_block(one)
        if ancestor is not None:
            return ancestor is not point and ancestor.is_before_in_block(point)
        point = point.parent_op()
    return False


def _replace(module: ModuleOp, point: Operation, names: Sequence[int]) -> None:
    """Load one cell into each of some Shared tiles in front of an operation."""
    e = Emitter.before(point, reuse_constants=True)
    for name in names:
        constant_byte(e, module).load_shared(e, 0, 0, (1, 1), SharedType.get(1, 1, dtypes.U8), name)
