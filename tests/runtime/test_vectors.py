"""The conformance vectors, family by family; the counts keep any from disappearing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ptoc.runtime.conformance import run_case

VECTORS = Path(__file__).parents[1] / "vectors"
COUNTS = {
    "assemble": 28,
    "coop_matmul": 34,
    "faults": 434,
    "layouts": 30,
    "matmul_fp": 60,
    "matmul_int": 62,
    "mixed": 38,
    "mscatter": 102,
    "multi_pe": 29,
    "post": 175,
    "rings": 19,
    "scalar_loops": 30,
    "shared": 30,
    "tcmp": 104,
    "tload_cube": 75,
    "tload_norm": 113,
    "tstore": 110,
}


def _runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_vectors", VECTORS / "run_vectors.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    return _runner()


@pytest.fixture(scope="module")
def families(runner: ModuleType) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for family, case in runner.vectors(VECTORS):
        found.setdefault(family, []).append(case)
    return found


def test_every_family_is_listed(families: dict[str, list[dict[str, Any]]]) -> None:
    assert {family: len(cases) for family, cases in families.items()} == COUNTS


@pytest.mark.parametrize("family", COUNTS)
def test_family(family: str, families: dict[str, list[dict[str, Any]]], runner: ModuleType) -> None:
    wrong = {}
    for case in families[family]:
        start = {key: value for key, value in case.items() if key != "expect"}
        problems = runner.compare(case, run_case(start))
        if problems:
            wrong[case["id"]] = problems[:2]
    assert not wrong
