// RUN: ptoc opt --verify-diagnostics --parsing-diagnostics --split-input-file %s | filecheck %s

func.func @unknown(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TADDD" %x, %x pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TADDD is no operation that tile.operation stands for

// -----

func.func @product(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TMATMUL" %x, %x pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TMATMUL is no operation that tile.operation stands for

// -----

func.func @sources(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TADD" %x pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TADD has 2 sources, not 1

// -----

func.func @results(%x: !tile.tile<4x8xf32, norm>) {
  tile.operation "TABS" %x pes 1 : !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TABS has 1 result, not 0

// -----

func.func @scalars(%x: !tile.tile<4x8xf32, norm>, %n: index) {
  %a = tile.operation "TADDS" %x scalars %n, %n pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TADDS has 1 scalars, of which 0 have to be there

// -----

func.func @types(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TAND" %x, %x pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TAND does not take FP32

// -----

func.func @result_type(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TABS" %x pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf16, norm>
  func.return
}
// CHECK: the result of TABS has the type of the block start, FP32

// -----

func.func @mask(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TSEL" %x, %x, %x pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: predicate of TSEL is a predicate tile

// -----

func.func @attribute(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TABS" %x datr {RMode = 1 : i64} pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TABS has no attribute RMode; it has PadValueOrByteId

// -----

func.func @attribute_value(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TABS" %x datr {PadValueOrByteId = 9 : i64} pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: PadValueOrByteId of B.DATR is not 9 : i64

// -----

func.func @no_memory(%i: !tile.tile<4x8xsi32, norm>) {
  %a = tile.operation "MGATHER" %i pes 1 : !tile.tile<4x8xsi32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: MGATHER has 1 array, not 0

// -----

func.func @index_type(%m: memref<64xf32>, %i: !tile.tile<4x8xf32, norm>, %n: index) {
  %a = tile.operation "MGATHER" %i at %m[%n] pes 1 : !tile.tile<4x8xf32, norm> memory memref<64xf32> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: MGATHER has no byte displacements of FP32

// -----

func.func @dimensions(%x: !tile.tile<4x8xf32, norm>, %n: index) {
  %a = tile.operation "TABS" %x size %n, %n, %n pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TABS does not have so many dimensions

// -----

func.func @layout(%x: !tile.tile<4x8xf32, dn>) {
  %a = tile.operation "TABS" %x pes 1 : !tile.tile<4x8xf32, dn> -> !tile.tile<4x8xf32, dn>
  func.return
}
// CHECK: TABS has no tiles in DN and DN: every tile is row-major

// -----

func.func @no_code(%x: !tile.tile<4x8xf32, dn>) {
  %a = tile.operation "TCVT" %x pes 1 : !tile.tile<4x8xf32, dn> -> !tile.tile<4x8xf16, dn>
  func.return
}
// CHECK: TCVT has no tiles in DN and DN: no code of B.DATR.Layout leads from DN to DN

// -----

func.func @said_twice(%x: !tile.tile<4x8xf32, norm>) {
  %a = tile.operation "TTRANS" %x datr {Layout = 1 : i64} pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<8x4xf32, norm>
  func.return
}
// CHECK: TTRANS has no attribute Layout

// -----

func.func @kept(%x: !tile.tile<4x8xf32, dn>) {
  %a = tile.operation "TMOV" %x pes 1 : !tile.tile<4x8xf32, dn> -> !tile.tile<4x8xf32, norm>
  func.return
}
// CHECK: TMOV has no tiles in DN and NORM: the result is in the layout of the source
