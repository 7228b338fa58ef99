"""Floating products over all type pairs are a plain loop bit for bit, with compiled kernels and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reference.float_products import PAIRS, compare

CASES = 1008
SCRIPT = Path(__file__).with_name("float_products.py")


def test_every_pair_thrice() -> None:
    assert len(PAIRS) == 144
    assert not compare(CASES, 3 * len(PAIRS))


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "loaded"), [("", "True"), ("1", "False")])
def test_many_products(setting: str, loaded: str) -> None:
    env = {**os.environ, "PTOC_NO_NUMBA": setting}
    command = [sys.executable, str(SCRIPT), "0", str(CASES)]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "wrong", loaded], run.stdout
