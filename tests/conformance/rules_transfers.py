"""Rules of operations.md sections 0 to 4 and of tiles.md."""

from __future__ import annotations

from conformance.rule import ALLOCATION, CONTROL, LEGALITY, PROBE, WAITS, Rule, at

_COMMON, _LOAD, _STORE = "operations.common", "operations.tload", "operations.tstore"
_CUBE, _PLAIN, _SHARED = f"{_COMMON}:check_cube_transfer", f"{_LOAD}:_prepare_plain", f"{_LOAD}:_prepare_shared"
_RECTANGLE, _TCMP, _SCATTER = f"{_STORE}:_rectangle_of", "operations.tcmp:prepare", "operations.mscatter_mask:prepare"
_COMPARED, _SCATTERED = "operations.tcmp:Comparison._check", "operations.mscatter_mask:Scatter._check"
_CLEAN = "check_attributes(bundle)"
_NO_CELL = (
    at(f"{_COMMON}:cube_view", "offset >= geometry.cells"),
    at(f"{_COMMON}:cube_view", "not values.size"),
    at(f"{_STORE}:CubeStore.__call__", "d.valid_shape != shape"),
)
_MISALIGNED = at("memory:Memory._raise", "not aligned")


def _cube(form: str, source: str) -> tuple[Rule, ...]:
    """The first group of both CUBE forms."""
    return (
        Rule(f"{form}.1a", "LB0 is present.", LEGALITY, (at(_CUBE, "dims[0] is None"),)),
        Rule(f"{form}.1b", "LB1 is present.", LEGALITY, (at(_CUBE, "dims[1] is None"),)),
        Rule(f"{form}.1c", "LB2 is absent.", LEGALITY, (at(_CUBE, "dims[2] is not None"),)),
        Rule(f"{form}.1d", "No dimension is zero.", LEGALITY, (at(_CUBE, "0 in dims"),)),
        Rule(f"{form}.1e", "The layout is one of this direction.", LEGALITY, (at(_CUBE, "datr.layout not in codes"),)),
        Rule(f"{form}.1f", "B.DATR names no type.", LEGALITY, (at(_CUBE, "datr.dtype_code != NONE_CODE"),)),
        Rule(f"{form}.1g", "CMode, RMode, Sat, Canonicalize are zero.", LEGALITY, (at(_CUBE, "not clean"),)),
        Rule(f"{form}.1h", f"Exactly one B.IOT with {source}, marked last.", LEGALITY, (at(_CUBE, "binding is None"),)),
        Rule(f"{form}.1i", "No B.IOS.", LEGALITY, (at(_CUBE, "bundle.shared"),)),
        Rule(f"{form}.1j", "No B.FPATR.", LEGALITY, (), "B.FPATR faults when it executes (command.fpatr.2)"),
        Rule(
            f"{form}.1k",
            "B.IOR names base and stride only.",
            LEGALITY,
            (at(_CUBE, "check_transfer_registers(bundle, LEGALITY)"),),
        ),
    )


TRANSFERS = (
    Rule(
        "TLOAD.norm.1",
        "Exactly one B.IOT with a destination and no source, marked last.",
        CONTROL,
        (at(_PLAIN, "binding is None"),),
    ),
    Rule(
        "TLOAD.norm.2",
        "B.IOR names base and stride only.",
        CONTROL,
        (at(_PLAIN, "check_transfer_registers(bundle, CONTROL)"),),
    ),
    Rule(
        "TLOAD.norm.3a", "B.DATR sets the layout only.", LEGALITY, (at(_PLAIN, "check_attributes(bundle, 'layout')"),)
    ),
    Rule("TLOAD.norm.3b", "The layout is one of TLOAD's.", LEGALITY, (at(_PLAIN, "layout is None"),)),
    Rule("TLOAD.norm.4", "No dimension is explicitly zero.", LEGALITY, (at(_PLAIN, "reject_zero_dimensions(dims)"),)),
    Rule(
        "TLOAD.norm.5a", "Col is a power of two.", ALLOCATION, (at(f"{_COMMON}:row_major", "not power_of_two(cols)"),)
    ),
    Rule("TLOAD.norm.5b", "Col is at most 32768.", ALLOCATION, (), "no other power of two has sixteen bits"),
    Rule("TLOAD.norm.5c", "ValidCol is at most Col.", ALLOCATION, (at(f"{_COMMON}:row_major", "valid_cols > cols"),)),
    Rule(
        "TLOAD.norm.5d",
        "ValidRow is at most the rows of the tile, these at most 65535.",
        ALLOCATION,
        (at(f"{_COMMON}:row_major", "not valid_rows <= rows <= MAX_DIMENSION"),),
    ),
    Rule(
        "TLOAD.norm.5e",
        "ZN and NZ need whole blocks of 16 rows and 32 bytes.",
        LEGALITY,
        (at(f"{_LOAD}:_plain_tile", "layout != layouts.DN and (plain.rows % 16 or plain.cols % (256 // dtype.bits))"),),
    ),
    Rule(
        "TLOAD.norm.6",
        "The Local pool has room after the commit.",
        ALLOCATION,
        (at("tiles:LocalTiles.check", "used > LOCAL_POOL_BYTES"),),
    ),
    Rule(
        "TLOAD.norm.7",
        "Every element can be read.",
        PROBE,
        (at(f"{_LOAD}:LocalLoad.__call__", "probe(core, bundle, pe, rect)"),),
    ),
    *_cube("TLOAD.cube", "a destination"),
    Rule(
        "TLOAD.cube.2",
        "The type has a CUBE form.",
        LEGALITY,
        (at(f"{_LOAD}:_prepare_cube", "check_cube_type(bundle.dtype)"),),
    ),
    Rule(
        "TLOAD.cube.3a",
        "M16 holds 16 rows, M32 holds 32.",
        ALLOCATION,
        (at(f"{_COMMON}:cube_tile", "rows > layouts.M_ROWS.get(layout, rows)"),),
    ),
    Rule(
        "TLOAD.cube.3b",
        "The cells fit the tile.",
        ALLOCATION,
        (at(f"{_COMMON}:cube_tile", "geometry.storage_bytes > capacity"),),
    ),
    Rule(
        "TLOAD.cube.4",
        "The Local pool has room after the commit.",
        ALLOCATION,
        (at("tiles:LocalTiles.check", "used > LOCAL_POOL_BYTES"),),
    ),
    Rule(
        "TLOAD.cube.5",
        "Every valid element can be read.",
        PROBE,
        (at(f"{_LOAD}:LocalLoad.__call__", "probe(core, bundle, pe, rect)"),),
    ),
    Rule("TLOAD.shared.1", "One B.IOS.", LEGALITY, (at(_SHARED, "len(bundle.shared) > 1"),)),
    Rule(
        "TLOAD.shared.2",
        "B.IOR names base and stride only.",
        CONTROL,
        (at(_SHARED, "check_transfer_registers(bundle, CONTROL)"),),
    ),
    Rule("TLOAD.shared.3", "B.DATR sets nothing.", LEGALITY, (at(_SHARED, _CLEAN),)),
    Rule("TLOAD.shared.4a", "No B.IOT.", LEGALITY, (at(_SHARED, "bundle.locals"),)),
    Rule(
        "TLOAD.shared.4b",
        "B.IOS is a destination, or continues a generation.",
        LEGALITY,
        (
            at(_SHARED, "(binding.size_code == 0) != continues"),
            at(_SHARED, "size_code == 0"),
        ),
    ),
    Rule(
        "TLOAD.shared.5",
        "Several PEs need B.ASSEMBLE.",
        LEGALITY,
        (at(_SHARED, "len(bundle.pes) > 1 and assembly is None"),),
    ),
    Rule(
        "TLOAD.shared.6", "No dimension is explicitly zero.", LEGALITY, (at(_SHARED, "reject_zero_dimensions(dims)"),)
    ),
    Rule(
        "TLOAD.shared.7a", "Col is a power of two.", LEGALITY, (at(f"{_COMMON}:row_major", "not power_of_two(cols)"),)
    ),
    Rule("TLOAD.shared.7b", "ValidCol is at most Col.", LEGALITY, (at(f"{_COMMON}:row_major", "valid_cols > cols"),)),
    Rule(
        "TLOAD.shared.7c",
        "ValidRow is at most the rows of parent or fragment.",
        LEGALITY,
        (at(f"{_COMMON}:row_major", "not valid_rows <= rows <= MAX_DIMENSION"),),
    ),
    Rule(
        "TLOAD.shared.8a",
        "Loading again keeps the descriptor.",
        LEGALITY,
        (at(f"{_LOAD}:_check_rewrite", "existing.tile.descriptor != descriptor"),),
    ),
    Rule(
        "TLOAD.shared.8b",
        "Loading again is for PEs that took part.",
        LEGALITY,
        (at(f"{_LOAD}:_check_rewrite", "binding.mask & ~existing.mask"),),
    ),
    Rule(
        "TLOAD.shared.9",
        "The Shared pool has room.",
        LEGALITY,
        (at("shared:SharedTiles.check_pool", "used > SHARED_POOL_BYTES"),),
    ),
    Rule(
        "TLOAD.shared.10",
        "Every element of every PE can be read.",
        PROBE,
        (at(f"{_LOAD}:_read", "probe(core, bundle, pe, rect)"),),
    ),
    Rule(
        "TSTORE.norm.1",
        "B.IOR names base and stride only.",
        CONTROL,
        (at(f"{_STORE}:_prepare_plain", "check_transfer_registers(bundle, CONTROL)"),),
    ),
    Rule(
        "TSTORE.norm.2",
        "The source is live on every selected PE.",
        LEGALITY,
        (at(f"{_COMMON}:find_source", "tile is None"),),
    ),
    Rule(
        "TSTORE.norm.3",
        "Exactly one B.IOT with one source and no destination, marked last.",
        LEGALITY,
        (at(f"{_STORE}:_prepare_plain", "_sole_source(bundle) is None"),),
    ),
    Rule("TSTORE.norm.4", "B.DATR sets nothing.", LEGALITY, (at(f"{_STORE}:_prepare_plain", _CLEAN),)),
    Rule(
        "TSTORE.norm.5a",
        "No dimension is explicitly zero.",
        LEGALITY,
        (
            at(f"{_STORE}:_prepare_plain", "reject_zero_dimensions(dims)"),
            at(_RECTANGLE, "reject_zero_dimensions(dims)"),
        ),
    ),
    Rule("TSTORE.norm.5b", "Col is that of the source.", LEGALITY, (at(_RECTANGLE, "cols != d.cols"),)),
    Rule(
        "TSTORE.norm.5c",
        "ValidCol is at most that of the source.",
        LEGALITY,
        (at(_RECTANGLE, "valid_cols > d.valid_cols"),),
    ),
    Rule(
        "TSTORE.norm.5d",
        "ValidRow is at most that of the source.",
        LEGALITY,
        (at(_RECTANGLE, "valid_rows > d.valid_rows"),),
    ),
    Rule("TSTORE.norm.6a", "The source is numeric and row-major.", LEGALITY, (at(_RECTANGLE, "not d.row_major"),)),
    Rule(
        "TSTORE.norm.6b", "The source has the type of the block start.", LEGALITY, (at(_RECTANGLE, "d.dtype != dtype"),)
    ),
    Rule(
        "TSTORE.norm.7",
        "Every stored element is defined.",
        LEGALITY,
        (),
        "every operation defines the whole valid rectangle of a Local tile",
    ),
    Rule(
        "TSTORE.norm.8",
        "Every stored element is a valid encoding.",
        LEGALITY,
        (at(f"{_STORE}:_checked", "check_encoding(tile.descriptor.dtype, tile, rows, cols)"),),
    ),
    Rule(
        "TSTORE.norm.9",
        "Every element can be written.",
        PROBE,
        (at(f"{_STORE}:_checked", "probe(core, bundle, pe, rect, write=True)"),),
    ),
    *_cube("TSTORE.cube", "one source"),
    Rule(
        "TSTORE.cube.2a",
        "The source is live on every selected PE.",
        LEGALITY,
        (at(f"{_COMMON}:find_source", "tile is None"),),
    ),
    Rule(
        "TSTORE.cube.2b",
        "The source has exactly the layout of the code.",
        LEGALITY,
        (at(f"{_STORE}:CubeStore.__call__", "d.layout != self.layout"),),
    ),
    Rule(
        "TSTORE.cube.2c",
        "The source has the type of the block start.",
        LEGALITY,
        (at(f"{_STORE}:CubeStore.__call__", "d.dtype != self.dtype"),),
    ),
    Rule(
        "TSTORE.cube.2d",
        "LB0 and LB1 are exactly its valid shape.",
        LEGALITY,
        (at(f"{_STORE}:CubeStore.__call__", "d.valid_shape != shape"),),
    ),
    Rule(
        "TSTORE.cube.2e",
        "All valid elements are valid encodings.",
        LEGALITY,
        (at(f"{_STORE}:_checked", "check_encoding(tile.descriptor.dtype, tile, rows, cols)"),),
    ),
    Rule(
        "TSTORE.cube.2f",
        "All valid elements are defined.",
        LEGALITY,
        (),
        "every operation defines the whole valid rectangle of a Local tile",
    ),
    Rule(
        "TSTORE.cube.2g",
        "The type has a CUBE form.",
        LEGALITY,
        (),
        "the source would have to be a CUBE tile of such a type (TLOAD.cube.2)",
    ),
    Rule(
        "TSTORE.cube.3",
        "Every valid element can be written.",
        PROBE,
        (at(f"{_STORE}:_checked", "probe(core, bundle, pe, rect, write=True)"),),
    ),
    Rule("TSTORE.shared.1a", "One B.IOS.", LEGALITY, (at(f"{_STORE}:_prepare_shared", "len(bundle.shared) > 1"),)),
    Rule(
        "TSTORE.shared.1b",
        "B.IOS is no destination.",
        LEGALITY,
        (at(f"{_STORE}:_prepare_shared", "binding.size_code"),),
    ),
    Rule(
        "TSTORE.shared.1c",
        "B.IOS continues no generation.",
        LEGALITY,
        (at(f"{_STORE}:_prepare_shared", "binding.assembly is not None"),),
    ),
    Rule("TSTORE.shared.1d", "No B.IOT.", LEGALITY, (at(f"{_STORE}:_prepare_shared", "bundle.locals"),)),
    Rule(
        "TSTORE.shared.2",
        "B.IOR names base and stride only.",
        CONTROL,
        (at(f"{_STORE}:_prepare_shared", "check_transfer_registers(bundle, CONTROL)"),),
    ),
    Rule("TSTORE.shared.3", "B.DATR sets nothing.", LEGALITY, (at(f"{_STORE}:_prepare_shared", _CLEAN),)),
    Rule(
        "TSTORE.shared.4",
        "A Shared tile that is not published and ready is waited for.",
        WAITS,
        (at(f"{_STORE}:SharedStore.__call__", "published is None"),),
    ),
    Rule(
        "TSTORE.shared.5a",
        "No dimension is explicitly zero.",
        LEGALITY,
        (at(_RECTANGLE, "reject_zero_dimensions(dims)"),),
    ),
    Rule(
        "TSTORE.shared.5b", "Col is that of the parent, or of the view.", LEGALITY, (at(_RECTANGLE, "cols != d.cols"),)
    ),
    Rule(
        "TSTORE.shared.5c",
        "ValidCol is at most that of the parent, or of the view.",
        LEGALITY,
        (at(_RECTANGLE, "valid_cols > d.valid_cols"),),
    ),
    Rule(
        "TSTORE.shared.5d",
        "ValidRow is at most that of the parent, or of the view.",
        LEGALITY,
        (at(_RECTANGLE, "valid_rows > d.valid_rows"),),
    ),
    Rule(
        "TSTORE.shared.6",
        "The parent has the type of the block start.",
        LEGALITY,
        (at(_RECTANGLE, "d.dtype != dtype"),),
    ),
    Rule(
        "TSTORE.shared.7a",
        "A view starts at cell 2047 or before.",
        LEGALITY,
        (),
        "with 2048 cells in the largest parent the next rule says the same",
    ),
    Rule(
        "TSTORE.shared.7b",
        "A view ends inside its parent.",
        LEGALITY,
        (
            at("shared:view_of", "offset > MAX_CELL_OFFSET"),
            at("shared:view_of", "offset * CELL_BYTES + size > d.capacity"),
        ),
    ),
    Rule(
        "TSTORE.shared.7c",
        "A view is part of one row or whole rows.",
        LEGALITY,
        (at("shared:view_of", "col == 0 and count % d.cols == 0", value=True),),
    ),
    Rule(
        "TSTORE.shared.7d",
        "A view holds a valid row of its parent.",
        LEGALITY,
        (at("shared:view_of", "valid_rows <= 0"),),
    ),
    Rule(
        "TSTORE.shared.7e",
        "A view holds a valid column of its parent.",
        LEGALITY,
        (at("shared:view_of", "valid_cols <= 0"),),
    ),
    Rule(
        "TSTORE.shared.8a",
        "Every stored element is defined.",
        LEGALITY,
        (at(f"{_STORE}:_checked", "check_defined(tile, rows, cols, pe)"),),
    ),
    Rule(
        "TSTORE.shared.8b",
        "Every stored element is a valid encoding.",
        LEGALITY,
        (at(f"{_STORE}:_checked", "check_encoding(tile.descriptor.dtype, tile, rows, cols)"),),
    ),
    Rule(
        "TSTORE.shared.9",
        "Every element of every PE can be written.",
        PROBE,
        (at(f"{_STORE}:_checked", "probe(core, bundle, pe, rect, write=True)"),),
    ),
    Rule("MSCATTER_MASK.1a", "No B.IOS.", LEGALITY, (at(_SCATTER, "bundle.shared"),)),
    Rule("MSCATTER_MASK.1b", "B.IOR is present.", LEGALITY, (at(_SCATTER, "registers is None"),)),
    Rule(
        "MSCATTER_MASK.1c",
        "B.IOR has no other source than the base.",
        LEGALITY,
        (at(_SCATTER, "any(registers.sources[1:])"),),
    ),
    Rule("MSCATTER_MASK.1d", "B.IOR has no destination.", LEGALITY, (at(_SCATTER, "registers.destination"),)),
    Rule(
        "MSCATTER_MASK.1e",
        "Exactly the two B.IOT: data and index; mask, marked last.",
        LEGALITY,
        (at(_SCATTER, "shapes != [(2, False, False), (1, False, True)]"),),
    ),
    Rule("MSCATTER_MASK.1f", "LB0 is present.", LEGALITY, (at(_SCATTER, "dims[0] is None"),)),
    Rule("MSCATTER_MASK.1g", "No dimension is zero.", LEGALITY, (at(_SCATTER, "reject_zero_dimensions(dims)"),)),
    Rule(
        "MSCATTER_MASK.1h",
        "ValidCol is at most Col, a power of two.",
        LEGALITY,
        (at(_SCATTER, "dims[0] > cols"), at(_SCATTER, "not power_of_two(cols)"), at(_SCATTERED, "d.cols != self.cols")),
    ),
    Rule(
        "MSCATTER_MASK.1i",
        "The masks agree.",
        LEGALITY,
        (),
        "a second mask faults when its B.IOT executes (command.iot.2)",
    ),
    Rule("MSCATTER_MASK.1j", "No B.FPATR.", LEGALITY, (), "B.FPATR faults when it executes (command.fpatr.2)"),
    Rule(
        "MSCATTER_MASK.2",
        "B.DATR sets the layout of the sources, which is row-major, and nothing else.",
        LEGALITY,
        (at(_SCATTER, _CLEAN),),
    ),
    Rule(
        "MSCATTER_MASK.3",
        "All sources are live on every selected PE.",
        LEGALITY,
        (at(f"{_COMMON}:find_source", "tile is None"),),
    ),
    Rule(
        "MSCATTER_MASK.4a",
        "Data and index are numeric and row-major.",
        LEGALITY,
        (at(_SCATTERED, "not (d.row_major and i.row_major)"),),
    ),
    Rule("MSCATTER_MASK.4b", "The mask is a predicate tile.", LEGALITY, (at(_SCATTERED, "m.kind != PREDICATE"),)),
    Rule(
        "MSCATTER_MASK.4c",
        "Data has the type of the block start.",
        LEGALITY,
        (at(_SCATTERED, "d.dtype != self.dtype"),),
    ),
    Rule(
        "MSCATTER_MASK.4d", "Data is not of a four-bit type.", LEGALITY, (at(_SCATTER, "dtype not in SCATTER_TYPES"),)
    ),
    Rule(
        "MSCATTER_MASK.4e",
        "Index is S32, U32, S64 or U64.",
        LEGALITY,
        (at(_SCATTERED, "i.dtype not in SCATTER_INDEX_TYPES"),),
    ),
    Rule(
        "MSCATTER_MASK.4f",
        "All valid shapes are that of the bundle.",
        LEGALITY,
        (at(_SCATTERED, "not d.valid_shape == i.valid_shape == m.valid_shape == self.shape"),),
    ),
    Rule("MSCATTER_MASK.4g", "Col is that of data.", LEGALITY, (at(_SCATTERED, "d.cols != self.cols"),)),
    Rule(
        "MSCATTER_MASK.4h",
        "All valid elements are defined.",
        LEGALITY,
        (),
        "every operation defines the whole valid rectangle of a Local tile",
    ),
    Rule(
        "MSCATTER_MASK.5",
        "Every enabled lane can be written.",
        PROBE,
        (
            at(
                "operations.mscatter_mask:Scatter.__call__",
                "core.memory.probe_elements(addresses, values.dtype.itemsize, write=True, window=window)",
            ),
        ),
    ),
    Rule(
        "TCMP.1",
        "Both sources are live on every selected PE.",
        LEGALITY,
        (at(f"{_COMMON}:find_source", "tile is None"),),
    ),
    Rule("TCMP.2a", "Exactly one B.IOT.", LEGALITY, (at(_TCMP, "len(bundle.locals) != 1"),)),
    Rule("TCMP.2b", "It has two sources.", LEGALITY, (at(_TCMP, "len(binding.sources) != 2"),)),
    Rule("TCMP.2c", "It has a destination.", LEGALITY, (at(_TCMP, "not binding.stores"),)),
    Rule("TCMP.2d", "It is marked last.", LEGALITY, (at(_TCMP, "not binding.last"),)),
    Rule("TCMP.2e", "No B.IOR.", LEGALITY, (at(_TCMP, "bundle.registers is not None"),)),
    Rule("TCMP.2f", "No B.IOS.", LEGALITY, (at(_TCMP, "bundle.shared"),)),
    Rule(
        "TCMP.3",
        "B.DATR sets CMode and PadValue only.",
        LEGALITY,
        (at(_TCMP, "check_attributes(bundle, 'cmode', 'pad')"),),
    ),
    Rule("TCMP.4a", "LB0 is present.", LEGALITY, (at(_TCMP, "dims[0] is None"),)),
    Rule("TCMP.4b", "No dimension is zero.", LEGALITY, (at(_TCMP, "reject_zero_dimensions(dims)"),)),
    Rule(
        "TCMP.4c",
        "ValidCol is at most Col.",
        LEGALITY,
        (at(_TCMP, "dims[0] > cols"), at(_COMPARED, "a.cols != self.cols")),
    ),
    Rule("TCMP.5", "The type is one of sixteen.", LEGALITY, (at(_TCMP, "bundle.dtype not in COMPARE_TYPES"),)),
    Rule(
        "TCMP.6a",
        "Both sources are numeric and row-major.",
        LEGALITY,
        (at(_COMPARED, "not (a.row_major and b.row_major)"),),
    ),
    Rule(
        "TCMP.6b",
        "The left source has the type of the block start.",
        LEGALITY,
        (at(_COMPARED, "a.dtype != self.dtype"),),
    ),
    Rule(
        "TCMP.6c",
        "The right source has the type of the block start.",
        LEGALITY,
        (at(_COMPARED, "b.dtype != self.dtype"),),
    ),
    Rule(
        "TCMP.6d",
        "The shapes of both sources are the same.",
        LEGALITY,
        (at(_COMPARED, "(a.rows, a.cols, a.valid_shape) != (b.rows, b.cols, b.valid_shape)"),),
    ),
    Rule(
        "TCMP.6e",
        "The valid shape is that of the dimensions.",
        LEGALITY,
        (at(_COMPARED, "a.valid_shape != self.shape"),),
    ),
    Rule("TCMP.6f", "Col is that of the sources.", LEGALITY, (at(_COMPARED, "a.cols != self.cols"),)),
    Rule(
        "TCMP.7",
        "Every valid element is defined.",
        LEGALITY,
        (),
        "every operation defines the whole valid rectangle of a Local tile",
    ),
    Rule(
        "TCMP.8a",
        "Every valid element on the left is a valid encoding.",
        LEGALITY,
        (at(_COMPARED, "check_encoding(self.dtype, left, *self.shape)"),),
    ),
    Rule(
        "TCMP.8b",
        "Every valid element on the right is a valid encoding.",
        LEGALITY,
        (at(_COMPARED, "check_encoding(self.dtype, right, *self.shape)"),),
    ),
    Rule(
        "TCMP.9a",
        "The predicate bits fit the tile.",
        ALLOCATION,
        (at(_COMPARED, "a.rows * a.cols > self.destination.capacity * 8"),),
    ),
    Rule(
        "TCMP.9b",
        "The Local pool has room after the commit.",
        ALLOCATION,
        (at("tiles:LocalTiles.check", "used > LOCAL_POOL_BYTES"),),
    ),
    Rule("memory.1", "An access is aligned to its size.", "DataAlignment", (_MISALIGNED,)),
    Rule(
        "tiles.naming.1",
        "A bundle retires no generation that it reads.",
        ALLOCATION,
        (at("tiles:LocalTiles.check", "GENERATIONS * hand + oldest in sources"),),
    ),
    Rule(
        "tiles.naming.2",
        "A selector without a generation behind it is illegal.",
        LEGALITY,
        (at(f"{_COMMON}:find_source", "tile is None"),),
    ),
    Rule(
        "tiles.pool.1",
        "The Local pool counts what is left after retiring.",
        ALLOCATION,
        (at("tiles:LocalTiles.check", "used > LOCAL_POOL_BYTES"),),
    ),
    Rule(
        "tiles.pool.2",
        "The Shared pool counts an open generation.",
        LEGALITY,
        (at("shared:SharedTiles.check_pool", "used > SHARED_POOL_BYTES"),),
    ),
    Rule(
        "tiles.subview.1",
        "A Local view is of a CUBE tile.",
        LEGALITY,
        (at(f"{_COMMON}:cube_view", "d.layout not in layouts.CUBE_LAYOUTS"),),
    ),
    Rule("tiles.subview.2", "A Local view starts at a cell of its tile.", LEGALITY, _NO_CELL),
    Rule(
        "tiles.subview.3",
        "A Local view holds a valid element of its tile.",
        LEGALITY,
        (),
        "every cell of a CUBE tile holds one",
    ),
    Rule(
        "tiles.assemble.1",
        "INIT opens where none is open, continuing needs an open one.",
        LEGALITY,
        (at(f"{_LOAD}:_generation", "(found is None) != assembly.init"),),
    ),
    Rule("tiles.assemble.2", "A fragment has a size.", LEGALITY, (at(_SHARED, "size_code == 0"),)),
    Rule(
        "tiles.assemble.3",
        "A fragment starts at cell 2047 or before and ends inside the parent.",
        LEGALITY,
        (
            at(f"{_LOAD}:FragmentLoad._fragments", "first > MAX_CELL_OFFSET"),
            at(f"{_LOAD}:FragmentLoad._fragments", "fragment.end * CELL_BYTES > generation.capacity"),
        ),
    ),
    Rule(
        "tiles.assemble.4",
        "Fragments do not overlap.",
        LEGALITY,
        (
            at(
                f"{_LOAD}:FragmentLoad._fragments",
                "any((fragment.overlaps(other) for other in (*generation.fragments, *fragments)))",
            ),
        ),
    ),
    Rule(
        "tiles.assemble.5",
        "All fragments agree in mask, Col and type.",
        LEGALITY,
        (at(f"{_LOAD}:_generation", "not found.matches(binding.mask, fragment.cols, fragment.dtype)"),),
    ),
    Rule(
        "tiles.assemble.6",
        "At LAST every cell is covered.",
        LEGALITY,
        (at(f"{_LOAD}:FragmentLoad.__call__", "assembly.last and (not generation.covered(fragments))"),),
    ),
    Rule(
        "tiles.assemble.7",
        "A plain load waits for no open generation: it is illegal.",
        LEGALITY,
        (at(f"{_LOAD}:_check_rewrite", "binding.number in core.shared.open"),),
    ),
    Rule(
        "tiles.assemble.8",
        "No B.ASSEMBLE on a Local destination.",
        LEGALITY,
        (at("operations:_common_checks", "any((binding.assembly for binding in bundle.locals))"),),
    ),
)
