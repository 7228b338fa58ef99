"""What is installed: the packages of pyproject.toml, under the one name `ptoc` and nothing else."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]
PACKAGES: list[str] = PROJECT["tool"]["setuptools"]["packages"]
NO_SOURCE = shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "*.egg-info")


def where_is(module: str, cwd: Path, path: Path | None = None) -> Path:
    """The folder of a package as a fresh interpreter finds it that starts in ``cwd``."""
    environment = dict(os.environ, PYTHONPATH=str(path) if path else "")
    code = f"import {module}; print({module}.__file__)"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=True)
    return Path(result.stdout.strip()).parent


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_listed_package_exists() -> None:
    assert sorted(FOLDERS) == sorted(PACKAGES)
    assert [name for name in PACKAGES if not (ROOT / FOLDERS[name] / "__init__.py").is_file()] == []


def test_every_folder_with_code_is_listed() -> None:
    rooms = [ROOT / folder for folder in FOLDERS.values() if "/" not in folder]
    found = {path.parent.relative_to(ROOT).as_posix() for room in rooms for path in room.rglob("*.py")}
    assert found <= set(FOLDERS.values())


def test_no_folder_of_the_repository_shadows_the_package() -> None:
    assert not (ROOT / "ptoc").exists()


@pytest.mark.parametrize("package", ["ptoc", "ptoc.isa", "ptoc.passes.planning"])
def test_the_editable_install_does_not_depend_on_the_current_directory(package: str, tmp_path: Path) -> None:
    assert where_is(package, cwd=ROOT) == where_is(package, cwd=tmp_path) == ROOT / FOLDERS[package]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # A copy, because setuptools leaves build/ beside the sources and would pick it up again.
    source, output = (tmp_path_factory.mktemp(name) for name in ("source", "wheel"))
    shutil.copytree(ROOT, source, ignore=NO_SOURCE, dirs_exist_ok=True)
    recent = int(version("setuptools").split(".")[0]) >= 77
    pip("wheel", "--no-deps", *(["--no-build-isolation"] if recent else []), "-w", str(output), str(source))
    (built,) = output.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_only_ptoc(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name.startswith("ptoc-") and wheel.name.endswith("-py3-none-any.whl")
    assert {name.split("/")[0] for name in names} == {
        "ptoc",
        f"ptoc-{PROJECT['project']['version']}.dist-info",
    }
    assert {"ptoc/__init__.py", "ptoc/py.typed", "ptoc/isa/__init__.py"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_wheel_holds_every_module(wheel: Path) -> None:
    expected = {
        f"{package.replace('.', '/')}/{path.name}"
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder).glob("*.py")
    }
    assert {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")} == expected


@pytest.mark.slow
def test_the_wheel_works_from_every_directory(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    pip("install", "--no-deps", "--target", str(target), str(wheel))
    for package in PACKAGES:
        expected = target / package.replace(".", "/")
        assert where_is(package, ROOT, target) == where_is(package, tmp_path, target) == expected
