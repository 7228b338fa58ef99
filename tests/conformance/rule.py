"""The rules of the reference pages: what each demands, its fault, and where the simulator checks it.

They are written down in ``rules/``, a file for every part of the pages. A rule is a line with its id, its fault and
what it demands, and below it the checks that enforce it:

* ``module:function  condition`` is a condition in ``ptoc.runtime`` (``conformance.switches``), switched off by
  taking it as false, or as true where ``-> True`` follows;
* ``field  form name`` is a field of an instruction that must not take every value;
* ``never  why`` stands for a rule that no program can break, because of what it says.

The id is the section's name and the number there; letters tell apart what one number asks for. The fault ``Probe``
is DataAlignment or DataPage; ``none`` marks what must not fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from conformance.switches import AnyValue, Off, Switch

FILES = ("commands", "program", "tload", "tstore", "mscatter_mask", "tcmp", "vector", "shaped", "tiles", "tmatmul")
FOLDER = Path(__file__).with_name("rules")
PROBE, WAITS, NONE = "DataAlignment or DataPage", "waiting", "none"


@dataclass
class Rule:
    """One rule; one without checks says ``why`` it needs none."""

    id: str
    fault: str
    text: str
    offs: list[Off] = field(default_factory=list)
    why: str = ""

    @property
    def form(self) -> str:
        """The operation form the rule belongs to; empty when it holds for all of them."""
        name = self.id.rsplit(".", 1)[0]
        return name if name.startswith(("TLOAD", "TSTORE", "MSCATTER", "TCMP", "VECTOR", "SHAPED", "TMATMUL")) else ""


def parse(text: str) -> Iterator[Rule]:
    """The rules of one file."""
    rule: Rule | None = None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            if rule is not None:
                yield rule
            name, fault, words = line.split(maxsplit=2)
            rule = Rule(name, PROBE if fault == "Probe" else fault, words)
            continue
        assert rule is not None, f"no rule before {line!r}"
        kind, rest = line.split(maxsplit=1)
        if kind == "never":
            rule.why = rest
        else:
            rule.offs.append(_off(kind, rest))
    if rule is not None:
        yield rule


def _off(kind: str, rest: str) -> Off:
    if kind == "field":
        form, name = rest.split()
        return AnyValue(form, name)
    module, function = kind.split(":")
    condition = rest.removesuffix("  -> True")
    return Switch(module, function, condition, value=condition != rest)


RULES = tuple(rule for name in FILES for rule in parse((FOLDER / f"{name}.txt").read_text(encoding="utf-8")))
"""All rules that the simulator checks."""
