"""``ptoc passes``: the compiler's passes in the order of its pipeline, each with one line on what it does."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence

from ptoc.cli import GOOD


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ptoc passes", description=__doc__)
    parser.parse_args(arguments)

    from ptoc.passes import PASSES
    from ptoc.passes.pipeline import STAGES

    width = max(map(len, PASSES))
    for stage, names in STAGES.items():
        print(f"to {stage}:")
        for name in names:
            print(f"  {name:<{width}}  {_summary(name)}")
    others = sorted(set(PASSES).difference(*STAGES.values()))
    if others:
        print("on request:")
    for name in others:
        print(f"  {name:<{width}}  {_summary(name)}")
    return GOOD


def _summary(name: str) -> str:
    """The first line of the module's docstring, without the name it begins with."""
    from ptoc.passes import PASSES

    text = inspect.getdoc(sys.modules[PASSES[name]().__module__]) or ""
    return text.partition("\n")[0].removeprefix(f"``{name}``: ").rstrip(".").replace("``", "")
