"""The text of one instruction, printed and parsed from the same templates.

A template is literal text with operands ``{Field:kind}``, or ``{Field+Field:kind}`` where one operand spans
fields; ``ptoc.isa.operands`` holds the kinds. Fields it does not mention are 0. Printing takes the first
template that can express the instruction, parsing any that matches; white space around punctuation and the
case of letters do not matter on input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from ptoc.isa.forms import EncodingError, Form, Instruction
from ptoc.isa.operands import LABEL, Operand

LabelOf = Callable[[int], "str | None"]

_MNEMONIC = re.compile(r"[^\s,{}\[\]=<>]+")
_PLACEHOLDER = r"\{([^{}:]+):(\w+)\}"
_LABEL = re.compile(LABEL)


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
class _Part:
    """An operand of a template after the literal text before it; its fields by their places in the form."""

    literal: str
    kind: str
    operand: Operand
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A word or punctuation mark of a template, or an operand; group 1 of ``pattern`` is its text."""

    pattern: re.Pattern[str]
    expects: str
    part: _Part | None = None


@dataclass(frozen=True, slots=True)
class _Failure:
    template: Template
    position: int
    expects: str = ""
    reason: str = ""


class Template:
    """One way to write the instructions of a form."""

    def __init__(self, text: str, form: Form, kinds: Mapping[str, Operand]) -> None:
        self.text = text
        self.form = form
        self._kinds = kinds
        split = re.split(_PLACEHOLDER, text)
        self._parts = tuple(
            _Part(literal, kind, kinds[kind], tuple(form.position[name] for name in names.split("+")))
            for literal, names, kind in zip(split[0::3], split[1::3], split[2::3])
        )
        self._tail = split[-1]
        # The operands alone, for printing.
        self._format = "%s".join(literal.replace("%", "%%") for literal in split[0::3])
        self._shown = tuple((part.operand.show, part.places, part.kind == "target") for part in self._parts)
        mentioned = {place for part in self._parts for place in part.places}
        self._zero = tuple(place for place in range(len(form.fields)) if place not in mentioned)

    @cached_property
    def steps(self) -> tuple[_Step, ...]:
        """The template token by token."""

        def step(pattern: str, expects: str, part: _Part | None = None) -> _Step:
            return _Step(re.compile(rf"\s*({pattern})", re.IGNORECASE), expects, part)

        steps = []
        for literal, part in (*((part.literal, part) for part in self._parts), (self._tail, None)):
            steps += [step(pattern, expects) for pattern, expects in _tokens(literal)]
            if part is not None:
                steps.append(step(part.operand.pattern, part.operand.expects, part))
        return tuple(steps)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """All steps at once; no step is tried again with less, as none is when they are taken one by one."""
        pattern = ""
        for part in self._parts:
            pattern += "".join(rf"(?>\s*{token})" for token, _ in _tokens(part.literal))
            pattern += rf"(?>\s*({part.operand.pattern}))"
        pattern += "".join(rf"(?>\s*{token})" for token, _ in _tokens(self._tail))
        return re.compile(pattern, re.IGNORECASE)

    def fill(self, values: Sequence[int], label: LabelOf | None, pc: int) -> str | None:
        """The text with the operands of these field values; ``None`` when it cannot express them."""
        for place in self._zero:
            if values[place]:
                return None
        texts = []
        for show, places, target in self._shown:
            shown = (values[places[0]],) if len(places) == 1 else tuple([values[place] for place in places])
            text = show(shown)
            if target and label is not None:
                text = label(pc + 2 * shown[0]) or text
            if text is None:
                return None
            texts.append(text)
        return self._format % tuple(texts)

    def read(self, text: str, start: int) -> Parsed | None:
        """The instruction of a text that ends without white space; ``None`` when it is not of this template."""
        match = self._pattern.fullmatch(text, start)
        if match is None:
            return None
        form = self.form
        values = [0] * len(form.fields)
        target, open_ = None, False
        for part, found in zip(self._parts, match.groups()):
            if part.kind == "target" and _LABEL.fullmatch(found):
                target = found
                continue
            try:
                read = part.operand.read(found)
            except EncodingError:
                return None
            if read is None:
                return None
            for place, value in zip(part.places, read):
                if not form.fields[place].accepts(value):
                    return None
                values[place] = value
            open_ = open_ or (part.kind == "last" and "open" in found.lower())
        return Parsed(Instruction(form, tuple(values)), target, open_)

    def failure(self, text: str, start: int) -> _Failure:
        """Where and why ``read`` gave up on a text."""
        position = start
        for step in self.steps:
            match = step.pattern.match(text, position)
            if match is None:
                return _Failure(self, position, step.expects)
            if step.part is not None and not (step.part.kind == "target" and _LABEL.fullmatch(match[1])):
                try:
                    read = step.part.operand.read(match[1])
                    for place, value in zip(step.part.places, read or ()):
                        self.form.fields[place].insert(value)
                except EncodingError as error:
                    return _Failure(self, position, reason=str(error))
                if read is None:
                    return _Failure(self, position, step.expects)
            position = match.end()
        return _Failure(self, position, "the end of the instruction")

    def described(self) -> str:
        """The template for a reader: operands by the names of their fields, or by the syntax of their kind."""
        return re.sub(_PLACEHOLDER, lambda match: self._kinds[match[2]].syntax or match[1], self.text)


def _tokens(literal: str) -> list[tuple[str, str]]:
    """Patterns of the words and punctuation marks of literal text, each with what to expect in words."""
    tokens = []
    for token, space in re.findall(r"(->|[\w.]+|[^\w\s])(\s*)", literal):
        apart = r"(?!\w)" if space and token[-1].isalnum() else ""
        tokens.append((re.escape(token) + apart, f"'{token}'"))
    return tokens


class Syntax:
    """The text of all forms of an instruction set."""

    def __init__(self, forms: Sequence[Form], kinds: Mapping[str, Operand]) -> None:
        self._forms = forms
        self._kinds = kinds

    @cached_property
    def templates(self) -> dict[str, tuple[Template, ...]]:
        """The templates of every form, by its key."""
        return {form.key: tuple(Template(text, form, self._kinds) for text in form.syntax) for form in self._forms}

    def names(self, form: Form, field: str) -> Mapping[str, int]:
        """The names of a field's values in the text of a form; none where an operand spans several fields."""
        found = (re.search(rf"\{{{re.escape(field)}:(\w+)\}}", text) for text in form.syntax)
        return next((self._kinds[match[1]].names for match in found if match), {})

    @cached_property
    def _by_mnemonic(self) -> dict[str, tuple[Template, ...]]:
        """The templates under the first word of their text in upper case."""
        found: dict[str, list[Template]] = {}
        for templates in self.templates.values():
            for template in templates:
                found.setdefault(template.text.split()[0].upper(), []).append(template)
        return {mnemonic: tuple(templates) for mnemonic, templates in found.items()}

    def print(self, inst: Instruction, label: LabelOf | None, pc: int) -> str | None:
        """The canonical text; ``None`` when no text would give the word back."""
        for template in self.templates[inst.form.key]:
            text = template.fill(inst.values, label, pc)
            if text is not None:
                return text
        return None

    def parse(self, text: str) -> Parsed:
        """The instruction a text means; ``TextError`` says what was expected where."""
        body = text.rstrip()
        start = len(body) - len(body.lstrip())
        mnemonic = _MNEMONIC.match(body, start)
        templates = self._by_mnemonic.get(mnemonic[0].upper(), ()) if mnemonic else ()
        for template in templates:
            parsed = template.read(body, start)
            if parsed is not None:
                return parsed
        if templates:
            raise _error(body, [template.failure(body, start) for template in templates])
        found = mnemonic[0] if mnemonic else body.strip()
        missing = f"no instruction is called '{found}'" if found else "an instruction is missing"
        raise TextError(missing, (start if body else len(text)) + 1)


def _error(text: str, failures: list[_Failure]) -> TextError:
    """The error of the templates that came furthest."""
    furthest = max(failure.position for failure in failures)
    failures = [failure for failure in failures if failure.position == furthest]
    rest = text[furthest:].lstrip()
    reason = next((failure.reason for failure in failures if failure.reason), "")
    if not reason:
        expected = " or ".join(dict.fromkeys(failure.expects for failure in failures))
        reason = f"expected {expected}, found {_found(rest)}"
    closest = next((failure for failure in failures if failure.reason), failures[0])
    return TextError(reason, len(text) - len(rest) + 1, closest.template.described())


def _found(rest: str) -> str:
    token = re.match(r"[\w.#$]+|->|\S", rest)
    return f"'{token.group()}'" if token else "the end"


def target_field(form: Form) -> str | None:
    """The field that holds the distance to the branch target in halfwords, for forms that branch to one."""
    return _target_field(form.syntax)


@cache
def _target_field(syntax: tuple[str, ...]) -> str | None:
    found = (re.search(r"\{([^{}:]+):target\}", template) for template in syntax)
    return next((match[1] for match in found if match), None)


_UNITS = ((".word", 4), (".half", 2), (".byte", 1))


def raw_data(data: bytes) -> str:
    """The directive that emits the bytes, in the widest unit that divides them."""
    directive, width = next(row for row in _UNITS if len(data) % row[1] == 0)
    units = (int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width))
    return f"{directive} " + ", ".join(f"0x{unit:0{2 * width}x}" for unit in units)
