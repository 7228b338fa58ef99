"""``tile-matmul``: a stored ``nd.matmul_acc`` becomes loops over CUBE tiles.

The part of the result that consists of whole 128-row groups and 128-column slots is computed with Shared operands, so
that a core reads A and B as few times as its accumulators allow (``shared_product``); what is left on the right and at
the bottom, or all of a small product, is computed with Local ones (``local_product``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ptoc.dialects import nd
from ptoc.passes.diagnostics import reject
from ptoc.passes.local_product import LocalProduct
from ptoc.passes.materialize_operands import WRITES
from ptoc.passes.planning.rings import DoesNotFit
from ptoc.passes.planning.shared import GROUP_ROWS, NARROW_SLOT_COLS, SLOT_COLS, SharedTiling, shared_tiling
from ptoc.passes.planning.tiling import MatmulShape, Rectangle
from ptoc.passes.products import Product, product_of
from ptoc.passes.rewriting import the_function
from ptoc.passes.shared_product import SharedProduct


@dataclass(frozen=True)
class TileMatmul(ModulePass):
    name = "tile-matmul"

    shared: bool = True
    """Whether operands may be Shared."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = the_function(op).body.block
        stores = [each for each in block.ops if isinstance(each, WRITES)]
        products = {each: each.value.owner for each in stores if isinstance(each, nd.StoreOp)}
        for store, matmul in products.items():
            if not isinstance(matmul, nd.MatmulAccOp):
                continue
            try:
                for part in self._parts(product_of(op, store, matmul), alone=len(stores) == 1):
                    part.emit()
            except DoesNotFit as reason:
                reject(matmul, str(reason), rule="Local tile pool of 256 KiB per PE")
            Rewriter.erase_op(store)
            if not matmul.result.uses:
                Rewriter.erase_op(matmul)

    def _parts(self, product: Product, *, alone: bool) -> Iterator[SharedProduct | LocalProduct]:
        """A rectangle of whole groups and slots, what is left to its right, and what is left below both."""
        shape = product.shape
        tiling = self._shared_tiling(shape, alone=alone and not product.needs_room)
        rows = shape.m // GROUP_ROWS * GROUP_ROWS if tiling else 0
        cols = shape.n // tiling.cols * tiling.cols if tiling else 0
        if tiling is not None:
            yield SharedProduct(product, Rectangle(0, 0, rows, cols), tiling)
        if rows and cols < shape.n:
            yield LocalProduct.plan(product, Rectangle(0, cols, rows, shape.n - cols))
        if rows < shape.m:
            yield LocalProduct.plan(product, Rectangle(rows, 0, shape.m - rows, shape.n))

    def _shared_tiling(self, shape: MatmulShape, *, alone: bool) -> SharedTiling | None:
        """Wide slots fill the Local pool, so only a product that has the kernel for itself can have them."""
        if not self.shared:
            return None
        wide = shared_tiling(shape, SLOT_COLS) if alone else None
        return wide or shared_tiling(shape, NARROW_SLOT_COLS)
