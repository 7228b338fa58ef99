"""One rule of the reference pages: what it demands, its fault, and where the simulator checks it."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.switches import AnyValue, Off, Switch


@dataclass(frozen=True)
class Rule:
    """``id`` is the section's name and the number there; letters tell apart what one number asks for.

    ``offs`` are the conditions that check the rule. A rule that no program can break has none, and ``why`` says
    what keeps it.
    """

    id: str
    text: str
    fault: str
    offs: tuple[Off, ...] = ()
    why: str = ""

    @property
    def form(self) -> str:
        """The operation form the rule belongs to; empty when it holds for all of them."""
        name = self.id.rsplit(".", 1)[0]
        return "" if name.startswith(("command", "completion", "tiles", "memory", "program")) else name


CONTROL, LEGALITY, ALLOCATION = "BundleControl", "TileLegality", "TileAllocation"
ILLEGAL, WAITS = "IllegalInstruction", "waiting"
PROBE = "DataAlignment or DataPage"


def at(place: str, condition: str, *, value: bool = False) -> Switch:
    """The condition in a function given as ``module:function``."""
    module, function = place.split(":")
    return Switch(module, function, condition, value)


def field(form: str, name: str) -> AnyValue:
    return AnyValue(form, name)
