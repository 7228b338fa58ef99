"""Settings and fixtures that every test shares."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Every program that a test compiles is checked against its kernel, in processes that tests start as well.
os.environ.setdefault("PTOC_CHECK", "1")

# Machines that run the tests are shared, so time limits per example only make failures that mean nothing.
settings.register_profile("ptoc", deadline=None, print_blob=True)
settings.load_profile("ptoc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``golden(text, suffix=".txt")`` compares a text with the file that belongs to this test.

    The file is ``golden/<module>/<test><suffix>`` beside the test's module; ``--update-golden`` writes it.
    """

    def compare(text: str, suffix: str = ".txt") -> None:
        path = _golden_path(request, suffix)
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"{path} is missing; run this test with --update-golden and review the file"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; CONTRIBUTING.md says what to do"

    return compare


def _golden_path(request: pytest.FixtureRequest, suffix: str) -> Path:
    name = request.node.name.replace("[", "-").replace("]", "").replace("/", "-")
    module: Path = request.node.path
    return module.parent / "golden" / module.stem / f"{name}{suffix}"
