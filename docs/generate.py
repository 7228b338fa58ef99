"""Write the pages of `docs/isa/` from the tables, or with --check only say whether they are current.

Run: python docs/generate.py [--check]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ptoc.isa.commands import STARTS
from ptoc.isa.forms import Form
from ptoc.isa.operations import TileOperation
from ptoc.isa.reference import first_instruction, pages
from ptoc.isa.revisions import NEWEST
from ptoc.runtime import decode, header, machine, scalar, starts
from ptoc.runtime.errors import UnsupportedOperation
from ptoc.runtime.operations import module_of

FOLDER = Path(__file__).parent / "isa"


def implemented(subject: Form | TileOperation) -> str | None:
    """The file of the simulator that gives a form or an operation its meaning."""
    if isinstance(subject, TileOperation):
        module = module_of(subject.name)
        return None if module is None else f"runtime/operations/{module}.py"
    try:
        decode.compile_step(first_instruction(subject), 0)
    except UnsupportedOperation:
        return None
    if subject.tier == "reserved":
        module = decode
    elif subject.kind == "scalar":
        module = scalar
    elif subject.key in STARTS:
        module = starts
    else:
        module = header if subject.key in header.COMMANDS else machine
    return f"runtime/{module.__name__.rpartition('.')[2]}.py"


def stale(folder: Path) -> list[str]:
    """The pages in a folder that are missing, differ from the tables, or belong to nothing in them."""
    current = pages(NEWEST, implemented)
    found = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.md")}
    return sorted(name for name in {*current, *found} if current.get(name) != found.get(name))


def write(folder: Path) -> None:
    current = pages(NEWEST, implemented)
    for path in folder.rglob("*.md"):
        if str(path.relative_to(folder)) not in current:
            path.unlink()
    for name, text in current.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not current")
    if not parser.parse_args().check:
        write(FOLDER)
        return 0
    names = stale(FOLDER)
    if names:
        print(f"{len(names)} pages of docs/isa are not current ({', '.join(names[:5])}); run python docs/generate.py")
    return int(bool(names))


if __name__ == "__main__":
    raise SystemExit(main())
