"""The text of one instruction, printed and parsed from the same templates.

A template is literal text with operands ``{Field:kind}``, or ``{Field+Field:kind}`` where one operand spans
fields; ``ptoc.isa.operands`` holds the kinds. Fields it does not mention are 0. Printing takes the first
template that can express the instruction, parsing any that matches; white space around punctuation and the
case of letters do not matter on input.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ptoc.isa.encoding import FORMS, EncodingError, Form, Instruction
from ptoc.isa.operands import KINDS, LABEL, Operand

LabelOf = Callable[[int], "str | None"]

_MNEMONIC = re.compile(r"[^\s,{}\[\]=<>]+")
_PLACEHOLDER = r"\{([^{}:]+):(\w+)\}"


class TextError(ValueError):
    """Text that is not an instruction.

    ``column`` counts from 1; ``syntax`` is the operand syntax that came closest, if any did.
    """

    def __init__(self, message: str, column: int, syntax: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.syntax = syntax


@dataclass(frozen=True, slots=True)
class Parsed:
    """An instruction read from text.

    ``target`` is the label its branch goes to, whose distance is then still 0. ``open`` tells that a B.IOT
    says it is not the last of its block, which keeps the assembler from making it so.
    """

    instruction: Instruction
    target: str | None = None
    open: bool = False


@dataclass(frozen=True, slots=True)
class _Step:
    """A word or punctuation mark of a template, or an operand; group 1 of ``pattern`` is its text."""

    pattern: re.Pattern[str]
    expects: str
    names: tuple[str, ...] = ()
    operand: Operand | None = None


@dataclass(frozen=True, slots=True)
class _Failure:
    template: str
    position: int
    expects: str = ""
    reason: str = ""


@cache
def _pieces(template: str) -> tuple[tuple[str, tuple[str, ...], Operand | None], ...]:
    """Literals, each with the fields and the kind of the operand after it; the last has none."""
    split = re.split(_PLACEHOLDER, template)
    operands = [(tuple(names.split("+")), KINDS[kind]) for names, kind in zip(split[1::3], split[2::3])]
    return tuple(zip(split[0::3], *zip(*operands, ((), None))))


@cache
def _steps(template: str) -> tuple[_Step, ...]:
    """The template token by token."""

    def step(
        pattern: str, expects: str, names: tuple[str, ...] = (), operand: Operand | None = None
    ) -> _Step:
        return _Step(re.compile(rf"\s*({pattern})", re.IGNORECASE), expects, names, operand)

    steps = []
    for literal, names, operand in _pieces(template):
        for token, space in re.findall(r"(->|[\w.]+|[^\w\s])(\s*)", literal):
            apart = r"(?!\w)" if space and token[-1].isalnum() else ""
            steps.append(step(re.escape(token) + apart, f"'{token}'"))
        if operand is not None:
            steps.append(step(operand.pattern, operand.expects, names, operand))
    return tuple(steps)


@cache
def _by_mnemonic() -> dict[str, tuple[tuple[Form, str], ...]]:
    """The templates, with their forms, under the first word of their text in upper case."""
    found: dict[str, list[tuple[Form, str]]] = {}
    for form in FORMS:
        for template in form.syntax:
            found.setdefault(template.split()[0].upper(), []).append((form, template))
    return {mnemonic: tuple(rows) for mnemonic, rows in found.items()}


def format_instruction(inst: Instruction, *, label: LabelOf | None = None, pc: int = 0) -> str:
    """The canonical text of an instruction, or raw data when no text would give its word back.

    A branch target is shown as ``.+8``, or as the label that ``label`` gives for its address when the
    instruction stands at ``pc``.
    """
    text = _text(inst, label, pc)
    return raw_data(inst.to_bytes()) if text is None else text


def target_field(form: Form) -> str | None:
    """The field that holds the distance to the branch target in halfwords, for forms that branch to one."""
    for template in form.syntax:
        for _, names, operand in _pieces(template):
            if operand is KINDS["target"]:
                return names[0]
    return None


def canonical(inst: Instruction) -> bool:
    """Whether the text of the instruction gives its word back."""
    return _text(inst, None, 0) is not None


_UNITS = ((".word", 4), (".half", 2), (".byte", 1))


def raw_data(data: bytes) -> str:
    """The directive that emits the bytes, in the widest unit that divides them."""
    directive, width = next(row for row in _UNITS if len(data) % row[1] == 0)
    units = (int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width))
    return f"{directive} " + ", ".join(f"0x{unit:0{2 * width}x}" for unit in units)


def _text(inst: Instruction, label: LabelOf | None, pc: int) -> str | None:
    texts = (_fill(template, inst, label, pc) for template in inst.form.syntax)
    return next((text for text in texts if text is not None), None)


def _fill(template: str, inst: Instruction, label: LabelOf | None, pc: int) -> str | None:
    """The template with the operands of ``inst``; ``None`` when it cannot express them."""
    parts: list[str] = []
    mentioned: set[str] = set()
    for literal, names, operand in _pieces(template):
        parts.append(literal)
        if operand is None:
            continue
        values = tuple(inst[name] for name in names)
        text = operand.show(values)
        if operand is KINDS["target"] and label is not None:
            text = label(pc + 2 * values[0]) or text
        if text is None:
            return None
        parts.append(text)
        mentioned.update(names)
    if any(value for f, value in zip(inst.form.fields, inst.values) if f.name not in mentioned):
        return None
    return "".join(parts)


def parse_instruction(text: str) -> Parsed:
    """The instruction a text means; ``TextError`` says what was expected where."""
    start = len(text) - len(text.lstrip())
    body = text.rstrip()
    mnemonic = _MNEMONIC.match(body, start)
    rows = _by_mnemonic().get(mnemonic.group().upper(), ()) if mnemonic else ()
    if not rows:
        found = mnemonic.group() if mnemonic else body.strip()
        missing = f"no instruction is called '{found}'" if found else "an instruction is missing"
        raise TextError(missing, start + 1)
    failures = []
    for form, template in rows:
        result = _match(form, template, body, start)
        if isinstance(result, Parsed):
            return result
        failures.append(result)
    furthest = max(failure.position for failure in failures)
    raise _error(body, [failure for failure in failures if failure.position == furthest])


def _match(form: Form, template: str, text: str, start: int) -> Parsed | _Failure:
    """Fit the text, which ends without white space, to one template."""
    values: dict[str, int] = {}
    target, open_ = None, False
    position = start
    for step in _steps(template):
        match = step.pattern.match(text, position)
        if match is None:
            return _Failure(template, position, step.expects)
        if step.operand is not None:
            found = match.group(1)
            read: tuple[int, ...] | None
            if step.operand is KINDS["target"] and re.fullmatch(LABEL, found):
                target, read = found, (0,)
            else:
                try:
                    read = step.operand.read(found)
                    _check(form, step.names, read)
                except EncodingError as error:
                    return _Failure(template, position, reason=str(error))
            if read is None:
                return _Failure(template, position, step.expects)
            open_ = open_ or (step.operand is KINDS["last"] and "open" in found.lower())
            values.update(zip(step.names, read))
        position = match.end()
    if position != len(text):
        return _Failure(template, position, "the end of the instruction")
    return Parsed(Instruction(form, tuple(values.get(f.name, 0) for f in form.fields)), target, open_)


def _check(form: Form, names: tuple[str, ...], values: tuple[int, ...] | None) -> None:
    for name, value in zip(names, values or ()):
        form.fields[form.position[name]].insert(value)


def _error(text: str, failures: list[_Failure]) -> TextError:
    rest = text[failures[0].position :].lstrip()
    reason = next((failure.reason for failure in failures if failure.reason), "")
    if not reason:
        expected = " or ".join(dict.fromkeys(failure.expects for failure in failures))
        reason = f"expected {expected}, found {_found(rest)}"
    closest = next((failure for failure in failures if failure.reason), failures[0])
    return TextError(reason, len(text) - len(rest) + 1, _described(closest.template))


def _described(template: str) -> str:
    """The template for a reader: operands by the names of their fields, or by the syntax of their kind."""
    return re.sub(_PLACEHOLDER, lambda match: KINDS[match[2]].syntax or match[1], template)


def _found(rest: str) -> str:
    token = re.match(r"[\w.#$]+|->|\S", rest)
    return f"'{token.group()}'" if token else "the end"
