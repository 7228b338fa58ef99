"""Which cases show that a rule is kept and that it is violated: found by switching its checks off and on.

A case shows a violation when it ends in the rule's fault, and no longer does so without the check. It shows the
rule kept when it ends without a fault, and no longer does so when the check always refuses.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from conformance.cases import OWN as OF_MOST
from conformance.rule import NONE, PROBE, WAITS, Rule
from conformance.shaped_cases import SHAPED
from conformance.switches import AnyValue, Off, RunCase, Switch, without
from ptoc.isa.encoding import decode_word
from ptoc.isa.forms import Instruction
from ptoc.isa.operations import operation_of

VECTORS = Path(__file__).parents[1] / "vectors"
FILE = Path(__file__).with_name("evidence.json")
OWN = OF_MOST | SHAPED
_SHAPED_MODE = 3
"""Of the block starts whose operations have tiles of different shapes."""


@dataclass(frozen=True, eq=False)
class Case:
    """A vector or a program of our own, with the outcome that the pages prescribe."""

    name: str
    start: dict[str, Any]
    expect: dict[str, Any]

    @property
    def ends(self) -> str:
        """How the case ends: the kind of its fault, ``waiting`` or ``none``."""
        if self.expect.get("waiting") is not None:
            return WAITS
        return str(self.expect["fault"]["kind"]) if self.expect["fault"] else "none"

    @cached_property
    def bundles(self) -> list[list[Instruction]]:
        """The instructions of every block that decode, as they stand in the program."""
        found: list[list[Instruction]] = [[]]
        for word, bits in self.start["program"]:
            inst = decode_word(int(word, 16), bits // 8)
            if inst is not None:
                if inst.key.startswith(("BSTART", "C.BSTART")):
                    found.append([])
                found[-1].append(inst)
        return found[1:]

    @cached_property
    def forms(self) -> list[str]:
        return [_form(bundle) for bundle in self.bundles]

    @cached_property
    def last_form(self) -> str:
        """The form of the bundle that faults or waits; of the last one where that cannot be told."""
        number = self.expect["fault"]["bundle"] if self.expect["fault"] else self.expect.get("waiting", -1)
        forms = self.forms or [""]
        return forms[number] if number < len(forms) else forms[-1]

    def holds(self, run: RunCase) -> bool:
        """Whether a simulator ends the case as prescribed."""
        try:
            got = run(self.start)
        except Exception:
            return False
        if got["fault"] != self.expect["fault"] or got.get("waiting") != self.expect.get("waiting"):
            return False
        return self.name in OWN or _agrees(got, self.expect, self.start)


def _agrees(got: dict[str, Any], expect: dict[str, Any], start: dict[str, Any]) -> bool:
    """Memory, flags and definedness and payload of the tiles; undefined elements are zero on both sides."""
    if got["flags"] != expect["flags"] or len(got["tiles"]) != len(expect["tiles"]):
        return False
    order = ("hand", "n")
    ours, theirs = (sorted(tiles, key=lambda t: [t[k] for k in order]) for tiles in (got["tiles"], expect["tiles"]))
    if any(mine != {key: tile[key] for key in mine} for mine, tile in zip(ours, theirs)):
        return False
    return _memory(start, got["memory"]) == _memory(start, expect["memory"])


def _memory(start: dict[str, Any], changes: list[list[Any]]) -> bytes:
    memory = bytearray(start["memory"]["size"])
    for address, data in [*start["memory"]["segments"], *changes]:
        memory[address : address + len(data) // 2] = bytes.fromhex(data)
    return bytes(memory)


def _form(bundle: list[Instruction]) -> str:
    """The operation form of a bundle, as rules are named."""
    keys = [inst.key for inst in bundle]
    name = bundle[0].key.removeprefix("BSTART.")
    if name == "TEPL":
        operation = operation_of(bundle[0])
        if bundle[0]["Mode"] == _SHAPED_MODE:
            return f"SHAPED.{operation}"
        return "TCMP" if operation is not None and operation.name == "TCMP" else "VECTOR"
    if name == "MSCATTER.MASK":
        return "MSCATTER_MASK"
    if name not in ("TLOAD", "TSTORE"):
        return "TMATMUL" if name.startswith("TMATMUL") else ""
    layouts = [inst["Layout"] for inst in bundle if inst.key == "B.DATR"]
    if layouts and 21 <= layouts[0] <= 26:
        return f"{name}.cube"
    return f"{name}.shared" if "B.IOS" in keys else f"{name}.norm"


@cache
def cases() -> dict[str, Case]:
    """All cases by name."""
    found = {}
    for path in sorted(VECTORS.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                expect = case.pop("expect")
                found[case["id"]] = Case(case["id"], case, expect)
    for name, own in OWN.items():
        found[name] = Case(name, own.start(), own.expect())
    return found


def opposite(offs: Sequence[Off]) -> list[Off]:
    """The switches that make a check refuse everything, as far as it is a condition."""
    conditions = [off for off in offs if isinstance(off, Switch) and not _is_call(off.condition)]
    return [replace(off, value=not off.value) for off in conditions]


def _is_call(condition: str) -> bool:
    return condition.startswith(("check_", "reject_", "probe(", "_expect(", "_once(", "core.memory.probe"))


def violations(rule: Rule) -> Iterator[Case]:
    """The cases that may show a violation, our own first."""
    kinds = {"DataAlignment", "DataPage"} if rule.fault == PROBE else {rule.fault}
    for case in sorted(cases().values(), key=lambda case: case.name != rule.id):
        if case.ends in kinds and case.last_form.startswith(rule.form):
            yield case


def passing(rule: Rule) -> Iterator[Case]:
    """The cases that may show the rule kept."""
    forms = [off.form for off in rule.offs if isinstance(off, AnyValue)]
    for case in cases().values():
        keys = {inst.key for bundle in case.bundles for inst in bundle} if forms else set()
        if case.ends == "none" and set(forms) <= keys and any(form.startswith(rule.form) for form in case.forms):
            yield case


def search(rule: Rule, wanted: int = 2) -> dict[str, list[str]]:
    """Names of cases that show a rule kept and violated.

    A rule without a fault allows something: what shows it kept is what no longer ends well without it.
    """
    shown: list[str] = []
    if rule.offs:
        with without(rule.offs) as run:
            for case in violations(rule):
                if len(shown) < wanted and not case.holds(run):
                    shown.append(case.name)
    if rule.fault == NONE:
        return {"kept": shown, "violated": []}
    return {"kept": _kept(rule, wanted), "violated": shown}


def _kept(rule: Rule, wanted: int) -> list[str]:
    """Cases that fail when the check refuses everything, or just legal ones where that cannot be arranged."""
    refusing, kept = opposite(rule.offs), list[str]()
    if refusing:
        with without(refusing) as run:
            for case in passing(rule):
                if len(kept) < wanted and not case.holds(run):
                    kept.append(case.name)
    return kept or [case.name for case in passing(rule)][:wanted]


def recorded() -> dict[str, dict[str, list[str]]]:
    """What the last search found, by rule."""
    found: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
