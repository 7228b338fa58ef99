"""20,000 bundles of 1 x 1 tiles on all four PEs, every check on: loads, a product and a store by turns.

Once as a loop, whose bundles are decoded once and which has the limit, and once as straight code of a megabyte, which
every run decodes on the way.
"""

from __future__ import annotations

from benchmarks.harness import Report
from benchmarks.simulator import load, looped, multiply, per_bundle, store
from ptoc.isa.dtypes import FP16, FP32
from ptoc.isa.layouts import LayoutCode

COUNT = 20_000
LIMIT = 30.0
"""Microseconds."""


def measure(report: Report) -> None:
    start = load(FP32, LayoutCode.ND2M16, 1, 1, 2)
    turn = (
        load(FP16, LayoutCode.ND2M16, 1, 1, 0)
        + load(FP16, LayoutCode.ND2N8, 1, 1, 1)
        + multiply(1, 1, 1)
        + store(FP32, LayoutCode.M162ND, 1, 1, 32)
    )
    per_bundle(report, "a loop of four bundles", start + looped(turn, COUNT // 4), COUNT, LIMIT)
    per_bundle(report, "straight code", start + turn * (COUNT // 4), COUNT)
