"""``tile``: SSA tiles inside ``scf`` loops with ``arith`` address arithmetic.

Tile sizes, CUBE layouts, strides, valid dimensions and the PEs that take part are decided and visible here.
Arrays stay memrefs: a load or store names its array and a byte offset into it, so the array an access belongs
to is never lost. Index values are per PE where they depend on ``tile.pe_id``; dimensions never do.

Ring allocation fills in ``into`` (the hand that receives a result) and ``slots`` (the relative names of the tile
operands, in operand order); before it both are absent.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ptoc.dialects.tile.base import RowsOperation, TileOperation
from ptoc.dialects.tile.constants import Data, GetGlobalOp, GlobalOp, IotaAttr, SplatAttr, WordsAttr
from ptoc.dialects.tile.identity import CoreCountOp, CoreIdOp, PeIdOp
from ptoc.dialects.tile.masks import CompareOp, ScatterOp
from ptoc.dialects.tile.matmul import MatmulOp
from ptoc.dialects.tile.memory import LoadOp, LoadSharedOp, StoreOp, ViewOp, shared_load
from ptoc.dialects.tile.names import Hand, HandAttr, SlotAttr
from ptoc.dialects.tile.operation import OperationOp
from ptoc.dialects.tile.queues import PopOp, PushOp, QueueOp
from ptoc.dialects.tile.types import (
    LayoutAttr,
    PredicateType,
    QueueType,
    SharedType,
    TileLayout,
    TileType,
    is_tile,
    tile_capacity,
)

__all__ = [
    "TILE",
    "CompareOp",
    "CoreCountOp",
    "CoreIdOp",
    "Data",
    "GetGlobalOp",
    "GlobalOp",
    "Hand",
    "HandAttr",
    "IotaAttr",
    "LayoutAttr",
    "LoadOp",
    "LoadSharedOp",
    "MatmulOp",
    "OperationOp",
    "PeIdOp",
    "PopOp",
    "PredicateType",
    "PushOp",
    "QueueOp",
    "QueueType",
    "RowsOperation",
    "ScatterOp",
    "SharedType",
    "SlotAttr",
    "SplatAttr",
    "StoreOp",
    "TileLayout",
    "TileOperation",
    "TileType",
    "ViewOp",
    "WordsAttr",
    "is_tile",
    "shared_load",
    "tile_capacity",
]

TILE = Dialect(
    "tile",
    [
        LoadOp,
        LoadSharedOp,
        ViewOp,
        StoreOp,
        CompareOp,
        ScatterOp,
        OperationOp,
        MatmulOp,
        QueueOp,
        PushOp,
        PopOp,
        PeIdOp,
        CoreIdOp,
        CoreCountOp,
        GlobalOp,
        GetGlobalOp,
    ],
    [TileType, PredicateType, SharedType, QueueType, LayoutAttr, HandAttr, SlotAttr, SplatAttr, IotaAttr, WordsAttr],
)
"""The dialect, for an xDSL context."""
