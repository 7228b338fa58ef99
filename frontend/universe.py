"""Our dialects and passes as a plugin: ``xdsl-opt`` and other tools of xDSL find them where ptoc is installed."""

from __future__ import annotations

from xdsl.universe import Universe

from ptoc.dialects import DIALECTS
from ptoc.passes import PASSES

UNIVERSE = Universe(all_dialects=DIALECTS, all_passes=PASSES)
