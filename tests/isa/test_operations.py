"""The schema of every operation against an independent rendering of the same facts."""

import json
from pathlib import Path

import pytest

from ptoc.isa import dtypes
from ptoc.isa.encoding import make
from ptoc.isa.operations import ALL, BY_NAME, TileOperation
from ptoc.isa.schema import Dimension, Placement, Types

FACTS = json.loads((Path(__file__).parent / "data" / "operations.json").read_text())
ATTRIBUTES = {f.name for f in make("B.DATR", DataType=31).form.fields}


def names(types: Types) -> set[str]:
    return {t.name for t in types}


def test_every_operation_is_listed_once() -> None:
    assert sorted(row["name"] for row in FACTS) == sorted(BY_NAME)
    assert len(FACTS) == len(ALL) == 109


@pytest.mark.parametrize("row", FACTS, ids=lambda row: row["name"])
def test_operation(row: dict) -> None:
    op = BY_NAME[row["name"]]
    assert (op.engine, op.family, op.mode, op.function) == (
        row["engine"], row["family"], row["mode"], row["function"],
    )  # fmt: skip
    values = {"DataType": 0} | ({"Mode": op.mode, "Function": op.function} if op.family == "TEPL" else {})
    start = make("BSTART.TEPL" if op.family == "TEPL" else op.start, **values)
    assert start.encode() == int(row["word"], 16)


@pytest.mark.parametrize("row", FACTS, ids=lambda row: row["name"])
def test_schema(row: dict) -> None:
    schema = BY_NAME[row["name"]].schema
    # The independent rendering leaves the types of matrix operations to another one, which test_tables reads.
    assert names(schema.types) == (set(row["types"]) if row["types"] else names(dtypes.MATMUL_TYPES))
    assert names(schema.portable or schema.types) == set(row.get("portable") or names(schema.types))
    assert names(schema.index_types) == set(row.get("index_types", ()))
    assert (len(schema.sources), len(schema.destinations)) == (row["sources"], row["destinations"])
    assert list(schema.sources) == row.get("order", list(schema.sources))
    if "bindings" in row:
        assert bindings(BY_NAME[row["name"]]) == row["bindings"]
    assert [scalar.default is None for scalar in schema.scalars] == [s == "required" for s in row["scalars"]]
    assert "".join(map(presence, schema.dimensions)) == row["dimensions"]
    assert sorted(schema.attributes) == row["attributes"]
    assert set(schema.attributes) <= ATTRIBUTES


@pytest.mark.parametrize("op", ALL, ids=str)
def test_masks_and_indices_are_sources_and_addresses_are_scalars(op: TileOperation) -> None:
    schema = op.schema
    assert {schema.mask, schema.index} - {None} <= set(schema.sources)
    assert (schema.index is None) == (not schema.index_types)
    assert any("address" in scalar.meaning for scalar in schema.scalars) == schema.in_memory
    assert not schema.in_memory or "address" in schema.scalars[0].meaning


PLACED = {
    "TLOAD": Placement.LOADED,
    "TSTORE": Placement.STORED,
    "TMOV": Placement.KEPT,
    "GMOV": Placement.KEPT_PLAIN,
    "TPREFETCH": Placement.NO_TILE,
    "TCVT": Placement.ENDS,
    **dict.fromkeys(["TCONCAT", "TEXTRACT", "TINSERT", "TFILLPAD", "TTRANS", "TGATHER", "TSCATTER"], Placement.RESULT),
    **dict.fromkeys(["MGATHER", "MGATHER_MASK", "MGATHER_CAS", "MSCATTER", "MSCATTER_MASK"], Placement.ALL),
}


@pytest.mark.parametrize("op", [op for op in ALL if op.family != "CUBE"], ids=str)
def test_operations_with_a_layout_field_are_those_that_have_other_layouts(op: TileOperation) -> None:
    assert op.schema.placement is PLACED.get(op.name, Placement.ROW_MAJOR)
    assert ("Layout" in op.schema.attributes) == (op.schema.placement is not Placement.ROW_MAJOR)


@pytest.mark.parametrize(
    ("name", "sources", "result", "code"),
    [
        ("TADD", ["NORM", "NORM"], "NORM", 0),
        ("TADD", ["NORM", "DN"], "NORM", None),
        ("TCVT", ["ZN"], "DN", 18),
        ("TCVT", ["NORM"], "NORM", 0),
        ("TCVT", ["NZ"], "NZ", None),
        ("TCVT", ["CUBE_M16"], "NORM", None),
        ("TCONCAT", ["ZN", "DN"], "NZ", 4),
        ("TCONCAT", ["ZN", "CUBE_N8"], "NORM", None),
        ("TMOV", ["CUBE_N8"], "CUBE_N8", 0),
        ("TMOV", ["NZ"], "NORM", None),
        ("GMOV", ["ZN"], "ZN", 0),
        ("GMOV", ["CUBE_N8"], "CUBE_N8", None),
        ("MGATHER", ["DN"], "DN", 1),
        ("MGATHER", ["DN"], "NORM", None),
        ("MGATHER_MASK", ["DN"], "DN", None),
        ("MGATHER_MASK", ["NORM"], "NORM", 0),
    ],
)
def test_layouts_of_tiles_give_the_code(name: str, sources: list[str], result: str, code: int | None) -> None:
    schema = BY_NAME[name].schema
    if code is not None:
        assert schema.layout_code(sources, [result]) == code
        return
    with pytest.raises(ValueError):
        schema.layout_code(sources, [result])


def presence(dimension: Dimension | None) -> str:
    if dimension is None:
        return "-"
    return "r" if dimension.default is None else "o"


def bindings(op: TileOperation) -> list[str]:
    """The B.IOT records with numbered tiles."""
    source, texts = 0, []
    for number, (sources, destination) in enumerate(op.schema.bindings()):
        shown = [f"source{source + i}" for i in range(len(sources))]
        source += len(sources)
        first = number - len(op.schema.bindings()) + len(op.schema.destinations)
        texts.append(",".join(shown) + (f"->destination{first}" if destination else ""))
    return texts


def test_what_a_schema_says_is_complete() -> None:
    for op in ALL:
        schema = op.schema
        assert schema.meaning and all(schema.sources) and all(schema.destinations), op
        assert schema.types, op
        assert bool(schema.padding) == bool(schema.destinations), op
        assert len(schema.scalars) <= 3, op
