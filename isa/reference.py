"""The reference pages of the instruction set, rendered from its tables: one per form and per tile operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ptoc.isa import dtypes, operations
from ptoc.isa.forms import Field, Form, Instruction
from ptoc.isa.instruction_set import InstructionSet
from ptoc.isa.operations import TileOperation
from ptoc.isa.schema import Dimension, Schema, Types

Implemented = Callable[["Form | TileOperation"], "str | None"]
"""Where the meaning of a form or an operation is implemented; ``None`` when it is not simulated."""

_TIERS = {
    "needed": "needed by the kernels that ptoc compiles",
    "core": "core",
    "extra": "extra",
    "later": "nothing that ptoc compiles to",
    "reserved": "reserved: it decodes, and executing it raises IllegalInstruction",
}
_WIDEST_BINARY = 12
SIMULATED, NOT_SIMULATED = "●", "○"


def pages(isa: InstructionSet, implemented: Implemented) -> dict[str, str]:
    """The text of every page by its path; ``README.md`` is the index."""
    found = {_form_path(form): _form_page(isa, form, implemented) for form in isa.forms}
    for op in operations.ALL:
        found[f"operations/{op.name}.md"] = _operation_page(isa, op, implemented)
    found["README.md"] = _index(isa, implemented)
    found["types.md"] = _type_table(implemented)
    return found


def _form_path(form: Form) -> str:
    return f"{form.kind}s/{form.key}.md"


def _form_page(isa: InstructionSet, form: Form, implemented: Implemented) -> str:
    parts = [
        f"# {form.key}",
        f"A {form.kind} of {8 * form.length} bits; {_TIERS[form.tier]}.",
        *_text(isa, form),
        *_encoding(isa, form, {}),
        *_where(implemented(form)),
    ]
    return _page(parts)


def _operation_page(isa: InstructionSet, op: TileOperation, implemented: Implemented) -> str:
    schema = op.schema
    key, fixed = op.start, {}
    if op.family == "TEPL":
        key, fixed = "BSTART.TEPL", {"Mode": op.mode, "Function": op.function}
    selector = f"mode {op.mode}, function {op.function}" if op.family == "TEPL" else f"function {op.function}"
    parts = [
        f"# {op.name}",
        f"Result: {schema.meaning}.",
        f"Engine {op.engine}, family {op.family}, {selector}.",
        *_encoding(isa, isa.by_key[key], fixed),
        "## Bundle",
        _code(_bundle(isa, op)),
        *_operands(schema),
        *_types(schema),
        *_where(implemented(op)),
    ]
    return _page(parts)


def _index(isa: InstructionSet, implemented: Implemented) -> str:
    parts = [
        "# The instruction set",
        f"Revision {isa.name}. These pages are made from the tables in `isa/` by `python docs/generate.py`.",
    ]
    for kind, title in (("command", "Commands"), ("scalar", "Scalar instructions")):
        rows = [_form_row(form, implemented) for form in isa.forms if form.kind == kind]
        parts += [f"## {title}", _table(("form", "bits", "mask", "match", "implemented in"), rows)]
    rows = [
        (f"[{op.name}](operations/{op.name}.md)", op.engine, op.schema.meaning, _module(implemented(op)))
        for op in operations.ALL
    ]
    parts += [
        "## Tile operations",
        "Which types each of them takes, and which of it the simulator has: [types.md](types.md).",
        _table(("operation", "engine", "result", "implemented in"), rows),
    ]
    return _page(parts)


def _type_table(implemented: Implemented) -> str:
    """Every operation by every type of its block start."""
    rows = []
    for op in operations.ALL:
        mark = SIMULATED if implemented(op) else NOT_SIMULATED
        cells = (mark if dtype in op.schema.types else "" for dtype in dtypes.ALL)
        rows.append((f"[{op.name}](operations/{op.name}.md)", *cells))
    parts = [
        "# Operations by type",
        f"The type is that of the block start. {SIMULATED}: the simulator has it, and `tests/reference/` computes it"
        f" once more, from the text of the ISA alone. {NOT_SIMULATED}: a bundle of it stops the simulator with a"
        " message that names the operation. Empty: the operation does not take the type, and the bundle is a"
        " TileLegality fault.",
        _table(("operation", *(dtype.name for dtype in dtypes.ALL)), rows),
    ]
    return _page(parts)


def _form_row(form: Form, implemented: Implemented) -> tuple[str, ...]:
    digits = 2 * form.length
    return (
        f"[{form.key}]({_form_path(form)})",
        str(8 * form.length),
        f"`0x{form.mask:0{digits}x}`",
        f"`0x{form.match:0{digits}x}`",
        _module(implemented(form)),
    )


def _module(where: str | None) -> str:
    return "not simulated yet" if where is None else f"`{where}`"


def _where(where: str | None) -> list[str]:
    return ["## Meaning", "Not simulated yet." if where is None else f"Implemented in `{where}`."]


def _text(isa: InstructionSet, form: Form) -> list[str]:
    templates = isa.syntax.templates[form.key]
    if not templates:
        return ["## Text", "It has no text of its own and is shown as raw data."]
    lines = [template.described() for template in templates]
    parts = ["## Text", _code(lines[:1])]
    if lines[1:]:
        parts += ["Printed where the first cannot express the instruction, and always read:", _code(lines[1:])]
    return parts


def _encoding(isa: InstructionSet, form: Form, fixed: Mapping[str, int]) -> list[str]:
    """The picture of a word, and a table of the fields that are free."""
    free = [f for f in form.fields if f.name not in fixed]
    word = form.match
    for name, value in fixed.items():
        word |= form.fields[form.position[name]].insert(value)
    parts = ["## Encoding", _code(_picture(8 * form.length, word, free))]
    if free:
        rows = [(f.name, _places(f), f.legal, _names(isa, form, f)) for f in free]
        parts.append(_table(("field", "bits", "legal values", "names"), rows))
    return parts


def _picture(size: int, word: int, fields: Sequence[Field]) -> list[str]:
    """The word from its highest bit to its lowest, as boxes."""
    cells: list[tuple[str, str]] = []
    high = size - 1
    starts = {lsb + width - 1: (f, lsb, at, width) for f in fields for lsb, at, width in f.pieces}
    while high >= 0:
        if high in starts:
            f, low, at, width = starts[high]
            label = f.name if len(f.pieces) == 1 else f"{f.name}[{at + width - 1}:{at}]"
        else:
            low = max((top + 1 for top in starts if top < high), default=0)
            label = _digits(word >> low & (1 << high - low + 1) - 1, high - low + 1)
        cells.append((str(high) if high == low else f"{high} {low}", label))
        high = low - 1
    widths = [max(len(bits), len(label)) + 2 for bits, label in cells]
    ruler = " " + " ".join(_spread(bits, width) for (bits, _), width in zip(cells, widths))
    edge = "+" + "+".join("-" * width for width in widths) + "+"
    middle = "|" + "|".join(label.center(width) for (_, label), width in zip(cells, widths)) + "|"
    return [ruler.rstrip(), edge, middle, edge]


def _spread(bits: str, width: int) -> str:
    """The bit numbers of a box, at its ends."""
    high, _, low = bits.partition(" ")
    return high + low.rjust(width - len(high)) if low else high.center(width)


def _digits(value: int, width: int) -> str:
    return f"{value:0{width}b}" if width <= _WIDEST_BINARY else f"0x{value:0{-(-width // 4)}x}"


def _places(f: Field) -> str:
    pieces = sorted(f.pieces, key=lambda piece: -piece[1])
    return ", ".join(f"{lsb + width - 1}:{lsb}" if width > 1 else str(lsb) for lsb, _, width in pieces)


def _names(isa: InstructionSet, form: Form, f: Field) -> str:
    """The names that text has for the values of a field."""
    names = isa.syntax.names(form, f.name)
    return ", ".join(f"{value} {name or 'nothing'}" for name, value in names.items() if f.accepts(value))


def _bundle(isa: InstructionSet, op: TileOperation) -> Iterator[str]:
    """What a bundle of the operation looks like, with the roles of its operands."""
    schema = op.schema
    spelled = f"{op.start} {op.name}, DataType" if op.family == "TEPL" else f"{op.start} DataType"
    yield spelled
    if schema.attributes:
        yield isa.syntax.templates["B.DATR"][0].described()
    for number, dimension in enumerate(schema.dimensions):
        if dimension is not None:
            yield f"B.DIM LB{number}, {dimension.meaning}"
    if schema.scalars:
        yield "B.IOR " + ", ".join(f"RegSrc{number}" for number in range(len(schema.scalars)))
    records = schema.bindings()
    for number, (sources, destination) in enumerate(records, 1):
        operands = [*sources, "mask=PEMode", *["last"] * (number == len(records))]
        yield "B.IOT " + ", ".join(operands) + (f", ->{destination}<SizeCode>" if destination else "")
    yield "BSTOP"


def _operands(schema: Schema) -> Iterator[str]:
    rows = [(f"source {n}", role, "") for n, role in enumerate(schema.sources)]
    rows += [(f"destination {n}", role, "") for n, role in enumerate(schema.destinations)]
    rows += [
        (f"B.IOR RegSrc{n}", scalar.meaning, "required" if scalar.default is None else scalar.default)
        for n, scalar in enumerate(schema.scalars)
    ]
    rows += [(f"B.DIM LB{n}", *_dimension(dimension)) for n, dimension in enumerate(schema.dimensions)]
    yield _table(("operand", "role", "when absent"), rows)
    attributes = ", ".join(schema.attributes) or "none"
    yield f"Fields of B.DATR that may be other than neutral: {attributes}."


def _dimension(dimension: Dimension | None) -> tuple[str, str]:
    if dimension is None:
        return "must be absent", ""
    return dimension.meaning, "required" if dimension.default is None else dimension.default


def _types(schema: Schema) -> Iterator[str]:
    yield "## Types"
    open_type = ", or DTYPE_NONE for that of the source" if schema.open_type else ""
    yield f"Block start: {_listed(schema.types)}{open_type}."
    if schema.portable is not None:
        yield f"The narrow reading of the ISA accepts of them only: {_listed(schema.portable & schema.types)}."
    if schema.index_types:
        yield f"Indices: {_listed(schema.index_types)}."
    yield f"Layouts: {schema.placement.value}."
    if schema.destinations:
        yield f"Destination: {schema.result}."
        yield f"Outside the valid rectangle: {schema.padding}."


def _listed(types: Types) -> str:
    return ", ".join(t.name for t in sorted(types, key=lambda t: t.code))


def first_instruction(form: Form) -> Instruction:
    """An instruction of the form: the smallest legal value in every field."""
    return Instruction(form, tuple(0 if f.accepts(0) else min(f.allowed or (f.low,)) for f in form.fields))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _code(lines: Sequence[str] | Iterator[str]) -> str:
    return "\n".join(["```", *lines, "```"])


def _page(parts: Sequence[str]) -> str:
    return "\n\n".join(parts) + "\n"
