"""``tile-matmul``: a stored ``nd.matmul_acc`` becomes loops over CUBE tiles.

``planning.search`` chooses the bands of row blocks, ``shared_product`` emits their loops. With ``shared=false`` every
operand is Local, in the loops of ``local_product``: the machine without its Shared tiles, for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ptoc.passes.diagnostics import reject
from ptoc.passes.local_product import LocalProduct
from ptoc.passes.planning.rings import DoesNotFit
from ptoc.passes.planning.search import NoPlan, plan_product
from ptoc.passes.planning.shapes import Rectangle
from ptoc.passes.planning.techniques import Techniques
from ptoc.passes.products import Product, product_of
from ptoc.passes.shared_product import SharedProduct
from ptoc.passes.stored_matmuls import stored_matmuls, write_groups


@dataclass(frozen=True)
class TileMatmul(ModulePass):
    name = "tile-matmul"

    shared: bool = True
    """Whether operands may be Shared."""

    rotation: bool = True
    """Whether a hand may hold several accumulators."""

    residency: bool = True
    """Whether the last piece of A may stay in Shared storage for all blocks of columns."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        alone = len(write_groups(op)) == 1
        for stored in stored_matmuls(op):
            matmul = stored.matmul
            try:
                for product in product_of(op, stored).parts():
                    for part in self._parts(product, alone=alone):
                        part.emit()
            except (DoesNotFit, NoPlan) as reason:
                reject(matmul, str(reason), rule="local-pool", hint="split the kernel into smaller ones")
            for store in stored.stores:
                Rewriter.erase_op(store)
            if not any(result.uses for result in matmul.results):
                Rewriter.erase_op(matmul)

    def _parts(self, product: Product, *, alone: bool) -> Iterator[SharedProduct | LocalProduct]:
        """The bands of a product with Shared operands, or all of it with Local ones."""
        shape = product.shape
        if self.shared:
            room = product.room(alone=alone)
            techniques = Techniques(rotation=self.rotation, residency=self.residency)
            for band in plan_product(shape, room, techniques).bands:
                yield SharedProduct(product, band)
        elif shape.trans_a or shape.trans_b or product.batch:
            raise DoesNotFit("only Shared operands can be transposed, or those of a stack")
        elif shape.row_max or shape.group:
            raise DoesNotFit("the loops of Local operands alone find no maxima")
        else:
            yield LocalProduct.plan(product, Rectangle(0, 0, shape.m, shape.n))
