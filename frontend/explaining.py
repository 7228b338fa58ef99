"""Why the matmuls of a program are laid out as they are, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptoc.dialects.batching import count
from ptoc.dialects.parsing import source_of
from ptoc.errors import SourceLocation
from ptoc.passes.planning.explain import explain
from ptoc.passes.products import product_of
from ptoc.passes.stored_matmuls import stored_matmuls, write_groups

if TYPE_CHECKING:
    from ptoc.program import Program


def explanation_of(program: Program) -> str:
    """The text of ``Program.explain``."""
    module = program.module("nd")
    matmuls = stored_matmuls(module)
    if not matmuls:
        return f"{program.name} has no matmul, so no layout was chosen among several\n"
    texts = []
    alone = len(write_groups(module)) == 1
    for number, stored in enumerate(matmuls, 1):
        parts, place = list(product_of(module, stored).parts()), source_of(stored.matmul)
        where = f", {SourceLocation(*place[:2])}" if place else ""
        title = f"{program.name}: matmul {number} of {len(matmuls)}{where}\n"
        if parts[0].batch:
            title += f"{count(parts[0].batch)} products of one layout, one after the other\n"
        if len(parts) > 1:
            title += f"{len(parts)} loop nests, since the last of an odd number of columns has a byte of its own\n"
        texts.append(title + "\n".join(explain(each.shape, each.room(alone=alone)) for each in parts))
    return "\n".join(texts)
