"""The kinds of operand in instruction text: how each is printed, recognised and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ptoc.isa import dtypes, operations, registers
from ptoc.isa.forms import EncodingError
from ptoc.isa.layouts import LayoutCode
from ptoc.isa.postprocess import Rounding

LABEL = r"\.?(?:[^\W\d]|\$)[\w.$]*"
"""A label; a leading dot is allowed."""

_UNSIGNED = r"(?:0x[0-9a-f]{1,32}|[0-9]{1,40})"
INTEGER = rf"[+-]?{_UNSIGNED}"
"""An integer literal; no longer than any field can want."""

_NAME = r"[A-Za-z_]\w*"

Values = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """One kind of operand, which may span several fields.

    ``show`` gives the text of field values, ``None`` when they have none. ``read`` gives the values of a text
    that ``pattern`` matched, ``None`` when it is not of this kind after all; it raises ``EncodingError`` with
    a reason where one is worth telling. ``expects`` describes the kind in messages, ``syntax`` stands for it
    where a syntax is shown; if it is empty, the names of the fields do. A kind whose values have names keeps
    them in ``names``, and those that are only read in ``aliases``.
    """

    expects: str
    pattern: str
    show: Callable[[Values], str | None]
    read: Callable[[str], Values | None]
    syntax: str = ""
    names: Mapping[str, int] = field(default_factory=dict, repr=False)
    aliases: Mapping[str, int] = field(default_factory=dict, repr=False)


def integer(text: str) -> int:
    """A decimal or 0x literal with optional sign."""
    return int(text, 16 if "x" in text.lower() else 10)


def _named(
    expects: str, names: Mapping[str, int], aliases: Mapping[str, int] | None = None, pattern: str = _NAME
) -> Operand:
    """A kind with one canonical name per value and further names on input."""
    aliases = aliases or {}
    texts = {value: name for name, value in names.items()}
    codes = {name.lower(): value for name, value in (*aliases.items(), *names.items())}

    def read(text: str) -> Values | None:
        value = codes.get(text.lower())
        return None if value is None else (value,)

    return Operand(expects, pattern, lambda v: texts.get(v[0]), read, names=names, aliases=aliases)


def renamed(kind: Operand, new: Mapping[str, str]) -> Operand:
    """The kind with new names for some codes, by their old names, which are then read no more."""
    unknown = new.keys() - kind.names.keys()
    if unknown:
        raise ValueError(f"no code is called {', '.join(sorted(unknown))}; expected is {kind.expects}")
    names = {new.get(name, name): code for name, code in kind.names.items()}
    return replace(_named(kind.expects, names, kind.aliases, kind.pattern), syntax=kind.syntax)


def _suffix(names: Mapping[str, int]) -> Operand:
    """A modifier after a register: ``.uw`` or nothing; codes without a name are aliases and have no text."""
    suffixes = {f".{name}" if name else "": code for name, code in names.items()}
    shown = [suffix for suffix in suffixes if suffix]
    plain = _named(" or ".join(shown), suffixes, pattern=r"(?:\.[a-z]+)?")
    return replace(plain, syntax=f"[{'|'.join(shown)}]")


def _read_tile(text: str) -> Values:
    hand, number = registers.HANDS.index(text[0].upper()), int(text[1:].lstrip("#"))
    if not 1 <= number <= registers.GENERATIONS:
        raise EncodingError(f"{text} names no tile: the number is the recency, 1 (newest) to {registers.GENERATIONS}")
    return (registers.tile_selector(hand, number),)


def _show_tile(values: Values) -> str:
    hand, generation = divmod(values[0], registers.GENERATIONS)
    return f"{registers.HANDS[hand]}#{generation + 1}"


def _mask_text(mode: int) -> str:
    return f"{registers.PE_MASKS[mode]:04b}"


def _read_mask(text: str) -> Values:
    mode = registers.PE_MODE.get(int(text, 2))
    if mode is None:
        legal = ", ".join(map(_mask_text, range(len(registers.PE_MASKS))))
        raise EncodingError(f"PE mask {text} has no encoding, only {legal} have one")
    return (mode,)


def _read_size(text: str) -> Values:
    return (int(text, 2 if len(text) == 4 and set(text) <= {"0", "1"} else 10),)


def _read_shift(text: str) -> Values:
    return (int(text.lstrip("< \t")) if text else 0,)


def _read_last(text: str) -> Values:
    return (int("last" in text.lower()),)


def _read_halfwords(text: str) -> Values:
    value = integer(text)
    if value % 2:
        raise EncodingError(f"offset {value} is odd, instructions start at even addresses")
    return (value // 2,)


_RETURN_BASE = 2
"""Bytes from the start of a call to where its return offset counts from."""


def _read_offset(text: str) -> Values:
    """The offset after a dot, which may have white space in it; 0 without one."""
    return _read_halfwords("".join(text[1:].split()) or "0")


def _read_return(text: str) -> Values:
    return (_read_offset(text)[0] - _RETURN_BASE // 2,)


def _read_attributes(text: str) -> Values | None:
    found = [name.strip().lower() for name in text.split(",")] if text.strip() else []
    for i, name in enumerate(found):
        if name in found[:i]:
            raise EncodingError(f"{name} is given twice")
    if not set(found) <= {"trap", "atomic", "aq", "rl", "aqrl", "far", "dr"}:
        return None
    both = "aqrl" in found
    present = ("trap" in found, "atomic" in found, both or "aq" in found, both or "rl" in found)
    return (*map(int, present), int("far" in found), int("dr" in found))


def _show_attributes(values: Values) -> str:
    trap, atomic, aq, rl, far, dr = values
    order = "aq" * aq + "rl" * rl
    shown = ("trap" * trap, "atomic" * atomic, order, "far" * far, "dr" * dr)
    return ", ".join(name for name in shown if name)


def _read_likelihood(text: str) -> Values:
    lowered = text.lower()
    return (int(bool(text)), int("br.likely" in lowered))


_LIKELIHOODS: dict[Values, str] = {(0, 0): "", (1, 0): "BR.unlikely, ", (1, 1): "BR.likely, "}


def _operation(engine: operations.Engine) -> Operand:
    def show(values: Values) -> str | None:
        op = operations.BY_SELECTOR.get(("TEPL", values[0], values[1]))
        return op.name if op is not None and op.engine == engine else None

    def read(text: str) -> Values | None:
        op = operations.BY_NAME.get(text.upper())
        if op is None or op.family != "TEPL":
            return None
        if op.engine != engine:
            raise EncodingError(f"{op} runs on the {op.engine} engine, it starts with {op.start}")
        return (op.mode, op.function)

    return Operand(f"an operation of the {engine} engine", _NAME, show, read, "operation")


_ALIASED_GPRS = {f"r{code}": code for code in range(registers.GPR_COUNT)}
_QUEUE_ENTRIES = [f"{queue}#{entry}" for queue in "tu" for entry in range(1, registers.QUEUE_DEPTH + 1)]
_QUEUES = {name: code for code, name in enumerate(_QUEUE_ENTRIES, registers.GPR_COUNT)}
_TYPES = {t.name: t.code for t in dtypes.ALL} | {"DTYPE_NONE": dtypes.NONE_CODE}
_ROUNDINGS = {"Default" if r is Rounding.DEFAULT else r.name: int(r) for r in Rounding}
_RELUS = ("None", "ReLU", "LReLU", "PReLU")
_INT_OR_NAME = rf"(?:{_NAME}|{INTEGER})"
_TEMPERATURES = {f"TEMP.{name}": code for code, name in enumerate(("none", "cool", "warm", "hot"))}


def _numbers(names: Mapping[str, int], count: int) -> dict[str, int]:
    """Names, and for the values without one their decimal text."""
    return dict(names) | {str(v): v for v in range(count) if v not in names.values()}


KINDS: dict[str, Operand] = {
    "int": Operand("an integer", INTEGER, lambda v: str(v[0]), lambda text: (integer(text),)),
    "dtype": _named("a data type such as FP16", _TYPES),
    "gpr": _named("a register zero, sp, a0..a7, ra, s0..s8 or x0..x3", registers.GPR, _ALIASED_GPRS),
    "source": _named(
        "a register or queue entry such as a0 or t#1",
        {**registers.GPR, **_QUEUES},
        _ALIASED_GPRS,
        r"[A-Za-z]\w*(?:#[0-9])?",
    ),
    "destination": _named("a destination register, t or u", {**registers.GPR, "u": 30, "t": 31}, _ALIASED_GPRS),
    "arithmetic": _suffix({"sw": 0, "uw": 1, "neg": 2, "": 3}),
    "logical": _suffix({"sw": 0, "uw": 1, "not": 2, "": 3}),
    "compare": _suffix({"": 0, "sw": 1, "uw": 2}),
    "select": _suffix({"": 0, "neg": 3}),
    "shift": Operand(
        "a shift such as <<3",
        r"(?:<<\s*[0-9]{1,9})?",
        lambda v: f"<<{v[0]}" if v[0] else "",
        _read_shift,
        "[<<shift]",
    ),
    "tile": Operand("a tile such as T#1", r"[TUMN]#?[0-9]{1,9}", _show_tile, _read_tile),
    "hand": _named(
        "a hand T, U, M or N", {hand: code for code, hand in enumerate(registers.HANDS)}, pattern="[A-Za-z]"
    ),
    "shared": Operand("a Shared name S0..S63", r"S[0-9]{1,9}", lambda v: f"S{v[0]}", lambda text: (int(text[1:]),)),
    "mask": Operand("four mask digits such as 1111", r"[01]{4}(?!\d)", lambda v: _mask_text(v[0]), _read_mask),
    "size": Operand("a size code such as 3", r"[0-9]{1,9}", lambda v: str(v[0]), _read_size),
    "last": Operand(
        "last",
        r"(?:,\s*(?:last|<last>|open)(?!\w))?",
        lambda v: ", last" if v[0] else "",
        _read_last,
        "[, last]",
    ),
    "layout": _named("a layout such as NORM or ND2M32", {code.name: int(code) for code in LayoutCode}),
    "pad": _named("Zero, Max, Min or Null", {"Zero": 0, "Max": 1, "Min": 2, "Null": 3}),
    "cmode": _named("EQ, NE, LT, GT, LE or GE", {"EQ": 0, "NE": 1, "LT": 2, "GT": 3, "LE": 4, "GE": 5}, {"None": 0}),
    "rmode": _named("a rounding mode such as Default or RNE", _ROUNDINGS),
    "prequant": _named("None or a PreQuantMode number", _numbers({"None": 0}, 64), {"0": 0}, _INT_OR_NAME),
    "relu": _named(
        "None, ReLU, LReLU or PReLU",
        {name: code for code, name in enumerate(_RELUS)},
        {str(code): code for code in range(len(_RELUS))},
        _INT_OR_NAME,
    ),
    "transfer": _named("FALL, IND or RET", {"FALL": 1, "IND": 5, "RET": 7}),
    "vec_operation": _operation("VEC"),
    "sfu_operation": _operation("SFU"),
    "attributes": Operand(
        "trap, atomic, aq, rl, aqrl, far or dr",
        r"(?:[a-z]+(?:\s*,\s*[a-z]+)*)?",
        _show_attributes,
        _read_attributes,
        "trap, atomic, aq|rl|aqrl, far, dr",
    ),
    "likelihood": Operand(
        "BR.likely or BR.unlikely",
        r"(?:BR\.(?:un)?likely\s*,\s*)?",
        lambda v: _LIKELIHOODS.get(v),
        _read_likelihood,
        "[BR.likely|BR.unlikely, ]",
    ),
    "temperature": _named("TEMP.hot, TEMP.warm, TEMP.cool or TEMP.none", _TEMPERATURES, pattern=r"TEMP\.\w+"),
    "trace": _named("begin or end", {"begin": 0, "end": 1}),
    "halfwords": Operand("an even offset in bytes", INTEGER, lambda v: str(2 * v[0]), _read_halfwords),
    "return": Operand(
        "a return offset such as .+6",
        rf"\.\s*[+]\s*{_UNSIGNED}",
        lambda v: f".+{_RETURN_BASE + 2 * v[0]}",
        _read_return,
    ),
    # The distance in halfwords from the instruction; text.py adds labels.
    "target": Operand(
        "a label or an offset such as .+8",
        rf"\.\s*[+-]\s*{_UNSIGNED}|{LABEL}|\.(?!\w)",
        lambda v: f".{2 * v[0]:+d}",
        _read_offset,
    ),
}
