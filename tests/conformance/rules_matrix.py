"""Rules of operations.md sections 5 and 6."""

from __future__ import annotations

from conformance.rule import ALLOCATION, CONTROL, LEGALITY, Rule, at

_SCHEMA, _EXPECT = "operations.matrix_schema", "operations.tmatmul:_expect"
_TILES = "operations.tmatmul:_check_tiles"
_PRIMARY = "operations.matrix_shared:_primary"
_POST = f"{_SCHEMA}:_post_process"

MATRIX = (
    Rule("TMATMUL.1", "B.FPATR is there.", CONTROL, (at(f"{_SCHEMA}:read_schema", "attributes is None"),)),
    Rule(
        "TMATMUL.2",
        "The function is assigned.",
        "IllegalInstruction",
        (),
        "an unassigned function is no form (command.decode.1)",
    ),
    Rule(
        "TMATMUL.3a",
        "AType and BType are accepted and of one class.",
        LEGALITY,
        (at(f"{_SCHEMA}:read_schema", "b_type is None or accumulator is None"),),
    ),
    Rule("TMATMUL.3b", "At most two B.IOS.", LEGALITY, (at(f"{_SCHEMA}:read_schema", "shared > 2"),)),
    Rule(
        "TMATMUL.3c",
        "Every B.IOS is a source.",
        LEGALITY,
        (at(f"{_SCHEMA}:read_schema", "any((binding.size_code or binding.assembly for binding in bundle.shared))"),),
    ),
    Rule(
        "TMATMUL.3d",
        "The Local sources are exactly those that the form and B.FPATR ask for.",
        LEGALITY,
        (at(f"{_SCHEMA}:_sources", "len(slots) != len(roles)"),),
    ),
    Rule(
        "TMATMUL.3e", "The B.IOT list is marked last.", LEGALITY, (at(f"{_SCHEMA}:_sources", "not bundle.terminated"),)
    ),
    Rule(
        "TMATMUL.3f",
        "The destinations are exactly D and the maxima of B.FPATR.",
        LEGALITY,
        (at(f"{_SCHEMA}:_destinations", "len(bindings) != len(roles)"),),
    ),
    Rule(
        "TMATMUL.3g",
        "B.IOR has no register that no parameter uses.",
        LEGALITY,
        (at(f"{_SCHEMA}:_scalar_words", "any(registers.sources[len(roles):])"),),
    ),
    Rule(
        "TMATMUL.3h", "B.IOR has no destination.", LEGALITY, (at(f"{_SCHEMA}:_scalar_words", "registers.destination"),)
    ),
    Rule(
        "TMATMUL.3i",
        "Layout, PadValue, CMode, Canonicalize are zero.",
        LEGALITY,
        (at(f"{_SCHEMA}:_b_type", "check_attributes(bundle, 'dtype', 'rounding', 'saturate')"),),
    ),
    Rule(
        "TMATMUL.3j",
        "RMode only where the PreQuantMode rounds by it.",
        LEGALITY,
        (at(_POST, "mode.rounding is not None and datr.rounding != Rounding.DEFAULT"),),
    ),
    Rule(
        "TMATMUL.3k",
        "Sat only where the PreQuantMode saturates.",
        LEGALITY,
        (at(_POST, "datr.saturate and (not mode.saturates)"),),
    ),
    Rule("TMATMUL.3l", "No dimension is zero.", LEGALITY, (at(f"{_SCHEMA}:_dimensions", "0 in dims"),)),
    Rule(
        "TMATMUL.3m", "Shared forms: at most 128 rows.", LEGALITY, (at(f"{_SCHEMA}:_dimensions", "m > MAX_GROUP_ROWS"),)
    ),
    Rule(
        "TMATMUL.3n",
        "Shared forms: N is a power of two.",
        LEGALITY,
        (at(f"{_SCHEMA}:_dimensions", "not power_of_two(n)"),),
    ),
    Rule(
        "TMATMUL.3o",
        "Shared forms: K is a power of two.",
        LEGALITY,
        (at(f"{_SCHEMA}:_dimensions", "not power_of_two(k)"),),
    ),
    Rule(
        "TMATMUL.3p",
        "Local and Shared masks agree.",
        LEGALITY,
        (at(f"{_SCHEMA}:_dimensions", "any((binding.mask != bundle.mask for binding in bundle.locals))"),),
    ),
    Rule(
        "TMATMUL.3q",
        "Shared forms: mask 1111.",
        LEGALITY,
        (at(f"{_SCHEMA}:_dimensions", "bundle.mask != prefix_mask(4)"),),
    ),
    Rule(
        "TMATMUL.4a",
        "TransA only of a Shared A.",
        LEGALITY,
        (at("operations.matrix_shared:shared_primaries", "attributes.trans_a and schema.shared < 2"),),
    ),
    Rule(
        "TMATMUL.4b",
        "TransB only of a Shared B.",
        LEGALITY,
        (at("operations.matrix_shared:shared_primaries", "attributes.trans_b and schema.shared < 1"),),
    ),
    Rule("TMATMUL.4c", "A Shared primary is published and ready.", LEGALITY, (at(_PRIMARY, "published is None"),)),
    Rule(
        "TMATMUL.4d",
        "Its type is AType or BType.",
        LEGALITY,
        (at(_PRIMARY, "published.tile.descriptor.dtype != dtype"),),
    ),
    Rule("TMATMUL.4e", "Its Col is that of the stored matrix.", LEGALITY, (at(_PRIMARY, "d.cols != stored[1]"),)),
    Rule("TMATMUL.4f", "Its valid rows hold the stored matrix.", LEGALITY, (at(_PRIMARY, "d.valid_rows < stored[0]"),)),
    Rule(
        "TMATMUL.4g", "Its valid columns hold the stored matrix.", LEGALITY, (at(_PRIMARY, "d.valid_cols < stored[1]"),)
    ),
    Rule(
        "TMATMUL.4h", "Its needed elements are defined.", LEGALITY, (at(_PRIMARY, "check_defined(tile, *stored, pe)"),)
    ),
    Rule(
        "TMATMUL.5",
        "A PE without rows has no Local check.",
        "none",
        (at("operations.tmatmul:prepare", "schema.valid_m(pe)", value=True),),
    ),
    Rule("TMATMUL.6", "Every Local source is live.", LEGALITY, (at("operations.common:find_source", "tile is None"),)),
    Rule(
        "TMATMUL.7",
        "CScale only when a floating product accumulates.",
        LEGALITY,
        (at(f"{_SCHEMA}:_check_cscale", "attributes.cscale and (not (accumulating and accumulator.is_float))"),),
    ),
    Rule(
        "TMATMUL.8a",
        "The PreQuantMode is of the accumulator's class.",
        LEGALITY,
        (at(_POST, "mode.source is not None and mode.source != accumulator"),),
    ),
    Rule(
        "TMATMUL.8b",
        "Every quantization word is legal.",
        LEGALITY,
        (
            at(
                "operations.tmatmul:_legal_parameters",
                "quantization is not None and (not convert.quantization_legal(mode, quantization))",
            ),
        ),
    ),
    Rule(
        "TMATMUL.8c",
        "Every slope word is legal.",
        LEGALITY,
        (at("operations.tmatmul:_legal_parameters", "slope is not None and (not convert.slope_legal(slope))"),),
    ),
    Rule(
        "TMATMUL.8d",
        "Parameter tiles are 1 x N, U64 and row-major.",
        LEGALITY,
        (
            at(
                "operations.tmatmul:_parameters",
                "_expect(tile, f'the {role} tile', dtypes.U64, (layouts.NORM,), (1, schema.n))",
            ),
        ),
    ),
    Rule(
        "TMATMUL.8e",
        "RowMaxIn is M x 1, of the accumulator type and row-major.",
        LEGALITY,
        (at(_TILES, "_expect(tiles['RowMaxIn'], 'RowMaxIn', schema.accumulator, (layouts.NORM,), (rows, 1))"),),
    ),
    Rule(
        "TMATMUL.9a",
        "C is M x N, of the accumulator type, in A's layout or one for M.",
        LEGALITY,
        (at(_TILES, "_expect(tiles['C'], 'C', schema.accumulator, m_layouts, (rows, schema.n))"),),
    ),
    Rule(
        "TMATMUL.9b",
        "C has D's capacity when D is raw.",
        LEGALITY,
        (at(_TILES, "schema.post.mode.code == 0 and c.capacity != schema.destinations['D'].capacity"),),
    ),
    Rule(
        "TMATMUL.9c",
        "A is M x K, of AType, in a layout for M.",
        LEGALITY,
        (at(_TILES, "_expect(tiles['A'], 'A', schema.a_type, m_layouts, (rows, schema.k))"),),
    ),
    Rule(
        "TMATMUL.9d",
        "B is K x N, of BType, in N8.",
        LEGALITY,
        (at(_TILES, "_expect(tiles['B'], 'B', schema.b_type, (layouts.CUBE_N8,), (schema.k, schema.n))"),),
    ),
    Rule(
        "TMATMUL.9e",
        "CScale is M x 1, U8, in M32.",
        LEGALITY,
        (at(_TILES, "_expect(tiles['CScale'], 'CScale', dtypes.U8, (layouts.CUBE_M32,), (rows, 1))"),),
    ),
    Rule(
        "TMATMUL.10",
        "The selectors of C and CScale are not the numbers of destination hands.",
        LEGALITY,
        (at(f"{_SCHEMA}:_check_selectors", "role in sources and bundle.locals[number].sources[which] in forbidden"),),
    ),
    Rule(
        "TMATMUL.11", "The layout of D can be told.", LEGALITY, (), "A or C of a legal bundle gives it, or the rows do"
    ),
    Rule(
        "TMATMUL.12a",
        "D fits its tile.",
        ALLOCATION,
        (at("operations.common:cube_tile", "geometry.storage_bytes > capacity"),),
    ),
    Rule(
        "TMATMUL.12b",
        "GroupMaxOut has a power of two of columns.",
        ALLOCATION,
        (at("operations.common:row_major", "not power_of_two(cols)"),),
    ),
    Rule(
        "TMATMUL.12c",
        "RowMaxOut and GroupMaxOut fit their tiles.",
        ALLOCATION,
        (at("operations.common:row_major", "not valid_rows <= rows <= MAX_DIMENSION"),),
    ),
    Rule(
        "TMATMUL.12d",
        "The Local pool has room for all destinations after the commit.",
        ALLOCATION,
        (at("tiles:LocalTiles.check", "used > LOCAL_POOL_BYTES"),),
    ),
)
