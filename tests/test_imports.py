"""The house rules on imports: which room may know which, and what `import ptoc` may cost."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A room imports only what stands in its row; the longest matching room of a module counts.
ALLOWED: dict[str, tuple[str, ...]] = {
    "ptoc": ("ptoc",),
    "ptoc.passes": ("ptoc.passes", "ptoc.dialects", "ptoc.isa"),
    "ptoc.passes.planning": ("ptoc.passes.planning", "ptoc.isa"),
    "ptoc.dialects": ("ptoc.dialects", "ptoc.isa"),
    "ptoc.backend": ("ptoc.backend", "ptoc.dialects", "ptoc.isa"),
    "ptoc.runtime": ("ptoc.runtime", "ptoc.isa"),
    "ptoc.isa": ("ptoc.isa",),
}
# Libraries that would be out of place in a room.
FOREIGN_TO: dict[str, tuple[str, ...]] = {
    "xdsl": ("ptoc.passes.planning", "ptoc.runtime", "ptoc.isa"),
    "numba": tuple(room for room in ALLOWED if room != "ptoc.runtime"),
    "networkx": ("ptoc.dialects", "ptoc.backend", "ptoc.runtime", "ptoc.isa"),
    "rich": (
        "ptoc.passes",
        "ptoc.passes.planning",
        "ptoc.dialects",
        "ptoc.backend",
        "ptoc.runtime",
        "ptoc.isa",
    ),
}
HEAVY = ("numba", "xdsl", "networkx", "rich", "ml_dtypes")
FOLDERS = {"frontend": "ptoc"} | {f: f"ptoc.{f}" for f in ("backend", "dialects", "isa", "passes", "runtime")}


def modules() -> Iterator[tuple[str, Path]]:
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(p for p in parts if p != "__init__")]), path


MODULES = dict(modules())


def room(module: str) -> str:
    return max((r for r in ALLOWED if within(module, r)), key=len)


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def imported(module: str, path: Path) -> Iterator[tuple[str, int]]:
    """Every module that the file names in an import, wherever it stands, with its line."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: 1 - node.level or None]) if node.level else ""
            origin = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                full = f"{origin}.{alias.name}"
                yield (full if full in MODULES else origin), node.lineno


@pytest.mark.parametrize("module", MODULES)
def test_a_room_imports_only_rooms_below(module: str) -> None:
    path = MODULES[module]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {room(module)} may not import {name}"
        for name, line in imported(module, path)
        if within(name, "ptoc") and not any(within(name, allowed) for allowed in ALLOWED[room(module)])
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", MODULES)
def test_a_room_uses_only_its_own_libraries(module: str) -> None:
    path = MODULES[module]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {room(module)} may not import {name}"
        for name, line in imported(module, path)
        if room(module) in FOREIGN_TO.get(name.partition(".")[0], ())
    ]
    assert not found, "\n".join(found)


def test_the_walk_resolves_relative_imports(tmp_path: Path) -> None:
    path = tmp_path / "schedule.py"
    path.write_text("from . import x\nfrom .. import y\nfrom ...isa import dtypes\nfrom ptoc import isa\n")
    names = [name for name, _ in imported("ptoc.passes.planning.schedule", path)]
    assert names == ["ptoc.passes.planning", "ptoc.passes", "ptoc.isa.dtypes", "ptoc.isa"]


@pytest.mark.parametrize("use", ["", "; ptoc.jit(lambda a: a); ptoc.spec(4, 'float32')"])
def test_importing_ptoc_and_making_a_kernel_loads_nothing_heavy(use: str) -> None:
    code = f"import sys, ptoc{use}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
