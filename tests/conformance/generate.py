"""Write ``evidence.json`` and ``docs/conformance.md``: ``python tests/conformance/generate.py`` does both.

With ``--page`` only the page is written, from the evidence that is recorded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.evidence import FILE, recorded, search
from conformance.rule import RULES, Rule

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"

HEAD = """# Conformance

Every rule that the simulator checks, with a case that shows it kept and a case that shows it violated. This page is
made by `python tests/conformance/generate.py`; a test fails when it is not current.

Names with a number behind a dash are vectors in `tests/vectors`; the others are programs in
`tests/conformance/cases.py`. A case shows a violation because it ends in the fault of the rule, and does so no longer
when the check is switched off: `make test-slow` switches off each check in turn. It shows the rule kept because it
ends without a fault, and no longer does when the check refuses everything.

The ids are those of the ordered lists of the reference, with a letter where one number asks for several things; what a
single operation on tiles of different shapes asks is numbered behind its name.
"""

TITLES = {
    "command": "When a command executes",
    "completion": "When a block completes",
    "program": "Control flow and scalar instructions",
    "TLOAD.norm": "TLOAD, Local",
    "TLOAD.cube": "TLOAD, CUBE",
    "TLOAD.shared": "TLOAD, Shared",
    "TSTORE.norm": "TSTORE, Local",
    "TSTORE.cube": "TSTORE, CUBE",
    "TSTORE.shared": "TSTORE, Shared",
    "MSCATTER_MASK": "MSCATTER_MASK",
    "TCMP": "TCMP",
    "VECTOR": "Vector operations",
    "SHAPED": "Operations on tiles that differ in shape",
    "memory": "Memory accesses",
    "tiles": "Names, pools, ranges, assembly",
    "TMATMUL": "TMATMUL and TMATMUL_ACC",
}


def page() -> str:
    """The text of ``docs/conformance.md``."""
    found = recorded()
    parts = [HEAD]
    checked = sum(bool(rule.offs) for rule in RULES)
    parts.append(f"{len(RULES)} rules, {checked} of them with checks of their own; the others no program can break.\n")
    for prefix, title in TITLES.items():
        rows = [_row(rule, found) for rule in RULES if rule.id.startswith(f"{prefix}.")]
        parts.append(
            f"## {title}\n\n| Rule | Text | Fault | Kept | Violated |\n|---|---|---|---|---|\n" + "".join(rows)
        )
    return "\n".join(parts)


def _row(rule: Rule, found: dict[str, dict[str, list[str]]]) -> str:
    evidence = found[rule.id]
    violated = f"cannot be: {rule.why}" if rule.why else _names(evidence["violated"])
    return f"| {rule.id} | {rule.text} | {rule.fault} | {_names(evidence['kept'])} | {violated} |\n"


def _names(cases: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in cases)


def main() -> None:
    if "--page" not in sys.argv:
        found = {rule.id: search(rule) for rule in RULES}
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
        FILE.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
        for rule in RULES:
            if rule.offs and not (found[rule.id]["kept"] and (found[rule.id]["violated"] or rule.fault == "none")):
                print(f"{rule.id}: not everything is shown, {found[rule.id]}")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
