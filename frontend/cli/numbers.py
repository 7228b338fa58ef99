"""Numbers on the command line."""

from __future__ import annotations

import argparse


def number(text: str) -> int:
    """A number from 0 on, decimal or with the prefix of its base."""
    try:
        value = int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def cores(text: str) -> int:
    """A number of cores that a machine can have."""
    from ptoc.arrays import MAX_CORES

    value = count(text)
    if value > MAX_CORES:
        raise argparse.ArgumentTypeError(f"a machine has 1 to {MAX_CORES} cores, not {text}")
    return value


def count(text: str) -> int:
    """A number from 1 on."""
    value = number(text)
    if value == 0:
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return value
