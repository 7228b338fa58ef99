"""Tiles that wait for each other: the accumulators of rotating blocks."""

from __future__ import annotations

from typing import cast

from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

from ptoc.dialects.tile.types import QueueType, TileType


@irdl_op_definition
class QueueOp(IRDLOperation):
    """An empty queue."""

    name = "tile.queue"
    result = result_def(QueueType)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, type_: QueueType) -> None:
        super().__init__(result_types=[type_])


@irdl_op_definition
class PushOp(IRDLOperation):
    """Append a tile that has just been published: nothing may be published in its hand in between."""

    name = "tile.push"
    item = operand_def(TileType)
    queue = operand_def(QueueType)
    result = result_def(QueueType)
    assembly_format = "$item `,` $queue attr-dict `:` type($item) `,` type($queue) `->` type($result)"

    def __init__(self, item: SSAValue, queue: SSAValue) -> None:
        super().__init__(operands=[item, queue], result_types=[queue.type])


@irdl_op_definition
class PopOp(IRDLOperation):
    """Take the oldest tile of a queue."""

    name = "tile.pop"
    queue = operand_def(QueueType)
    item = result_def(TileType)
    rest = result_def(QueueType)
    assembly_format = "$queue attr-dict `:` type($queue) `->` type($item) `,` type($rest)"

    def __init__(self, queue: SSAValue) -> None:
        super().__init__(operands=[queue], result_types=[cast(QueueType, queue.type).item, queue.type])
