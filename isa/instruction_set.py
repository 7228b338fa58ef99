"""An instruction set: the forms of one revision, and how its words and its text are read and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ptoc.isa.forms import EncodingError, Form, Instruction
from ptoc.isa.operands import Operand, renamed
from ptoc.isa.syntax import LabelOf, Parsed, Syntax, raw_data

_LENGTHS = (2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 6, 8)
"""Bytes by the low four bits of the first halfword."""

_KEY_BITS = 7


class _Row(NamedTuple):
    """A form, prepared for decoding.

    ``plain`` are shift and mask of every field when that is all it takes to extract them, ``limited`` the places
    of the fields that allow only some values, with these.
    """

    form: Form
    plain: tuple[tuple[int, int], ...] | None
    limited: tuple[tuple[int, frozenset[int]], ...]


_Bucket = tuple[tuple[int, dict[int, _Row]], ...]
"""Rows by match, for every mask."""


def instruction_length(first_halfword: int, second_halfword: int = 0) -> int:
    """Bytes of the instruction that starts with these halfwords: 2, 4, 6 or 8, in every revision.

    The low four bits decide, except that C.BSTART DIRECT and a following C.SETRET are one BSTART.CALL.
    """
    if first_halfword & 0xF == 2 and second_halfword & 0xF83F == 0x5016:
        return 4
    return _LENGTHS[first_halfword & 0xF]


class InstructionSet:
    """One revision of the instruction set.

    ``forms`` are its encodings and ``kinds`` the operands that their text is made of. Keys of forms and names
    of fields mean the same in all revisions, so an instruction of one is re-made in another by them.
    """

    def __init__(self, name: str, forms: Iterable[Form], kinds: Mapping[str, Operand]) -> None:
        self.name = name
        self.forms = tuple(forms)
        self.kinds = dict(kinds)
        self.by_key: dict[str, Form] = {form.key: form for form in self.forms}
        self.syntax = Syntax(self.forms, self.kinds)
        self._buckets = _buckets(self.forms)

    def __repr__(self) -> str:
        return f"<instruction set {self.name}>"

    def revised(
        self, name: str, *, forms: Iterable[Form] = (), names: Mapping[str, Mapping[str, str]] | None = None
    ) -> InstructionSet:
        """A revision in which ``forms`` replace those of the same key or are new.

        ``names`` gives other names to codes, by kind of operand: ``{"dtype": {"FP16": "HALF"}}``.
        """
        changed = {form.key: form for form in forms}
        kinds = self.kinds | {kind: renamed(self.kinds[kind], new) for kind, new in (names or {}).items()}
        return InstructionSet(name, (self.by_key | changed).values(), kinds)

    def make(self, key: str, **values: int) -> Instruction:
        """The instruction of a form with the named field values; fields left out are 0.

        ``EncodingError`` for an unknown form or field and for a value the field cannot hold. Mind that 0 is
        not "none" everywhere: an unmodified operand of add, sub, and, or, xor has SrcRType 3.
        """
        form = self.by_key.get(key)
        if form is None:
            raise EncodingError(f"no instruction form is called {key}")
        unknown = values.keys() - form.position.keys()
        if unknown:
            raise EncodingError(f"{key} has no field {', '.join(sorted(unknown))}")
        for f in form.fields:
            f.insert(values.get(f.name, 0))
        return Instruction(form, tuple(values.get(f.name, 0) for f in form.fields))

    def remake(self, inst: Instruction) -> Instruction:
        """The instruction of any revision in this one: the same form and field values.

        ``EncodingError`` when this revision lacks the form, a field or the value.
        """
        if self.by_key.get(inst.key) is inst.form:
            return inst
        return self.make(inst.key, **{f.name: value for f, value in zip(inst.form.fields, inst.values)})

    def decode(self, data: bytes, offset: int) -> Instruction | None:
        """The instruction at ``offset``; ``None`` when it does not decode or its bytes are not all there.

        Where the two differ, compare ``instruction_length`` with the bytes that are left.
        """
        first = int.from_bytes(data[offset : offset + 2], "little")
        second = int.from_bytes(data[offset + 2 : offset + 4], "little")
        length = instruction_length(first, second)
        if offset < 0 or offset + length > len(data):
            return None
        return self.decode_word(int.from_bytes(data[offset : offset + length], "little"), length)

    def decode_word(self, word: int, length: int) -> Instruction | None:
        """The instruction a word of ``length`` bytes encodes; ``None`` when it decodes to nothing."""
        for mask, rows in self._buckets.get((length, word & (1 << _KEY_BITS) - 1), ()):
            row = rows.get(word & mask)
            if row is None:
                continue
            form, plain, limited = row
            if plain is None:
                values = tuple([f.extract(word) for f in form.fields])
            else:
                values = tuple([word >> shift & bits for shift, bits in plain])
            for place, allowed in limited:
                if values[place] not in allowed:
                    break
            else:
                return Instruction(form, values)
        return None

    def format(self, inst: Instruction, *, label: LabelOf | None = None, pc: int = 0) -> str:
        """The canonical text of an instruction, or raw data when no text would give its word back.

        A branch target is shown as ``.+8``, or as the label that ``label`` gives for its address when the
        instruction stands at ``pc``.
        """
        text = self.syntax.print(inst, label, pc)
        return raw_data(inst.to_bytes()) if text is None else text

    def text(self, inst: Instruction) -> str | None:
        """The canonical text without labels; ``None`` when no text would give the word back."""
        return self.syntax.print(inst, None, 0)

    def parse(self, text: str) -> Parsed:
        """The instruction a text means; ``TextError`` says what was expected where."""
        return self.syntax.parse(text)


def _row(form: Form) -> _Row:
    plain = [(f.pieces[0][0], f.high) for f in form.fields if len(f.pieces) == 1 and f.step == 1 and not f.signed]
    limited = ((place, f.allowed) for place, f in enumerate(form.fields) if f.allowed is not None)
    return _Row(form, tuple(plain) if len(plain) == len(form.fields) else None, tuple(limited))


def _buckets(forms: Iterable[Form]) -> dict[tuple[int, int], _Bucket]:
    """The forms that can match, by length and low bits of the word."""
    low = (1 << _KEY_BITS) - 1
    found: dict[tuple[int, int], dict[int, dict[int, _Row]]] = {}
    for form in forms:
        row = _row(form)
        for key in range(low + 1):
            if not (form.match ^ key) & form.mask & low:
                found.setdefault((form.length, key), {}).setdefault(form.mask, {})[form.match] = row
    return {key: tuple(masks.items()) for key, masks in found.items()}
