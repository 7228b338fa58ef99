// RUN: ptoc opt --verify-diagnostics --parsing-diagnostics --split-input-file %s | filecheck %s

func.func @columns(%t: !tile.tile<4x6xf32, norm>) {
  func.return
}
// CHECK: a row-major tile has a power-of-two column count, not 6

// -----

func.func @rows(%t: !tile.tile<17x8xf32, cube_m16>) {
  func.return
}
// CHECK: cube_m16 does not hold 17 rows

// -----

func.func @capacity(%t: !tile.tile<1024x256xf32, norm>) {
  func.return
}
// CHECK: tile 1024x256 of FP32 needs 1048576 bytes, more than a Local tile holds

// -----

func.func @cube_type(%t: !tile.tile<4x8xf64, cube_n8>) {
  func.return
}
// CHECK: FP64 has no CUBE form

// -----

func.func @dimensions(%t: !tile.tile<4x8x8xf32, norm>) {
  func.return
}
// CHECK: a tile has two dimensions

// -----

func.func @pes(%a: memref<4x4xf32>, %n: index) {
  %0 = tile.load %a[%n] stride %n size %n, %n pes 5 : memref<4x4xf32> -> !tile.tile<4x4xf32, norm>
  func.return
}
// CHECK: one to four PEs take part

// -----

func.func @width(%a: memref<4x4xf32>, %n: index) {
  %0 = tile.load %a[%n] stride %n size %n, %n pes 1 : memref<4x4xf32> -> !tile.tile<4x4xf16, norm>
  func.return
}
// CHECK: array and tile have elements of one width

// -----

func.func @slots(%a: memref<4x4xf32>, %t: !tile.tile<4x4xf32, norm>, %n: index) {
  tile.store %t, %a[%n] stride %n size %n, %n pes 1 slots [#tile.slot<T 1>, #tile.slot<T 2>] : !tile.tile<4x4xf32, norm> -> memref<4x4xf32>
  func.return
}
// CHECK: one slot per tile operand

// -----

func.func @generation(%a: memref<4x4xf32>, %t: !tile.tile<4x4xf32, norm>, %n: index) {
  tile.store %t, %a[%n] stride %n size %n, %n pes 1 slots [#tile.slot<T 17>] : !tile.tile<4x4xf32, norm> -> memref<4x4xf32>
  func.return
}
// CHECK: no tile is named T#17

// -----

func.func @compare(%t: !tile.tile<4x8xf16, cube_m16>, %n: index) {
  %0 = tile.compare eq %t, %t size %n, %n pes 1 : !tile.tile<4x8xf16, cube_m16>, !tile.tile<4x8xf16, cube_m16> -> !tile.predicate<4x8>
  func.return
}
// CHECK: TCMP compares two row-major tiles of one type and shape

// -----

func.func @predicate(%t: !tile.tile<4x8xf16, norm>, %n: index) {
  %0 = tile.compare eq %t, %t size %n, %n pes 1 : !tile.tile<4x8xf16, norm>, !tile.tile<4x8xf16, norm> -> !tile.predicate<8x8>
  func.return
}
// CHECK: the predicate has the shape of what is compared

// -----

func.func @displacements(%a: memref<4x8xf16>, %t: !tile.tile<4x8xf16, norm>, %p: !tile.predicate<4x8>, %n: index) {
  tile.scatter %t at %t where %p, %a[%n] size %n, %n pes 1 : !tile.tile<4x8xf16, norm>, !tile.tile<4x8xf16, norm>, !tile.predicate<4x8> -> memref<4x8xf16>
  func.return
}
// CHECK: MSCATTER_MASK does not store FP16 at FP16 displacements

// -----

func.func @layouts(%a: !tile.tile<16x32xf16, cube_m16>, %n: index) {
  %0 = tile.matmul %a, %a size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<16x32xf16, cube_m16> -> !tile.tile<16x32xf32, cube_m16>
  func.return
}
// CHECK: A is cube_m16 or cube_m32, B is cube_n8

// -----

func.func @result(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0 = tile.matmul %a, %b size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xsi32, cube_m16>
  func.return
}
// CHECK: B.FPATR does not take FP32 to S32

// -----

func.func @capacities(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %c: !tile.tile<16x64xf32, cube_m16>, %n: index) {
  %0 = tile.matmul %a, %b acc %c : !tile.tile<16x64xf32, cube_m16> size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: accumulator and result have one capacity

// -----

func.func @scale(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %c: !tile.tile<16x8xf32, cube_m16>, %e: !tile.tile<16x1xui8, cube_m16>, %n: index) {
  %0 = tile.matmul %a, %b acc %c : !tile.tile<16x8xf32, cube_m16> scale %e : !tile.tile<16x1xui8, cube_m16> size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: CScale is a column of unsigned bytes in cube_m32

// -----

func.func @scale_of_nothing(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %e: !tile.tile<16x1xui8, cube_m32>, %n: index) {
  %0 = tile.matmul %a, %b scale %e : !tile.tile<16x1xui8, cube_m32> size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: CScale needs a floating accumulator

// -----

func.func @words(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0 = tile.matmul %a, %b size %n, %n, %n post <scale columns> pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: there is a tile of words where post leaves a parameter to the columns

// -----

func.func @slopes(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %s: !tile.tile<1x8xui32, norm>, %n: index) {
  %0 = tile.matmul %a, %b slopes %s : !tile.tile<1x8xui32, norm> size %n, %n, %n post <leaky columns> pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: parameters by column are one row of 64-bit words

// -----

func.func @numbers(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %s: !tile.tile<1x8xui64, norm>, %n: index) {
  %0 = tile.matmul %a, %b slopes %s : !tile.tile<1x8xui64, norm> size %n, %n, %n post <leaky [1.0, 0.5]> pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: what differs by column stands in tiles

// -----

func.func @transposed_local(%n: index, %a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>) {
  %0 = tile.matmul %a, %b trans_a size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: only a Shared operand is transposed

// -----

func.func @row_maxima(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0, %1 = tile.matmul %a, %b size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16> row_max !tile.tile<16x2xf32, norm>
  func.return
}
// CHECK: maxima of rows are a column

// -----

func.func @type_of_maxima(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0, %1 = tile.matmul %a, %b size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16> row_max !tile.tile<16x1xsi32, norm>
  func.return
}
// CHECK: maxima of 16 rows are row-major, in FP32

// -----

func.func @layout_of_maxima(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0, %1 = tile.matmul %a, %b size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16> row_max !tile.tile<16x1xf32, cube_m16>
  func.return
}
// CHECK: maxima of 16 rows are row-major, in FP32

// -----

func.func @rows_of_maxima(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0, %1 = tile.matmul %a, %b size %n, %n, %n group 8 pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16> group_max !tile.tile<32x1xf32, norm>
  func.return
}
// CHECK: maxima of 16 rows are row-major, in FP32

// -----

func.func @initial_of_nothing(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index, %i: !tile.tile<16x1xf32, norm>) {
  %0 = tile.matmul %a, %b initial %i : !tile.tile<16x1xf32, norm> size %n, %n, %n pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: RowMaxIn needs row maxima

// -----

func.func @groups_of_seven(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0, %1 = tile.matmul %a, %b size %n, %n, %n group 7 pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16> group_max !tile.tile<16x1xf32, norm>
  func.return
}
// CHECK: no group has 7 columns

// -----

func.func @groups_of_none(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0 = tile.matmul %a, %b size %n, %n, %n group 8 pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: group maxima, and they alone, have a number of columns

// -----

func.func @no_magnitudes(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0 = tile.matmul %a, %b size %n, %n, %n absolute pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  func.return
}
// CHECK: there are no maxima of magnitudes here

// -----

func.func @hands(%a: !tile.tile<16x32xf16, cube_m16>, %b: !tile.tile<32x8xf16, cube_n8>, %n: index) {
  %0, %1 = tile.matmul %a, %b size %n, %n, %n pes 1 slots [#tile.slot<T 1>, #tile.slot<U 1>] into T : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16> row_max !tile.tile<16x1xf32, norm>
  func.return
}
// CHECK: one hand per tile result

// -----

func.func @blocks(%t: !tile.tile<8x32xf32, zn>) {
  func.return
}
// CHECK: zn tiles of FP32 have whole blocks of 16 x 8, not 8x32

// -----

func.func @block_columns(%t: !tile.tile<16x8xf16, nz>) {
  func.return
}
// CHECK: nz tiles of FP16 have whole blocks of 16 x 16, not 16x8

// -----

func.func @column_major_columns(%t: !tile.tile<4x6xf32, dn>) {
  func.return
}
// CHECK: a dn tile has a power-of-two column count, not 6

// -----

func.func @stored(%a: memref<4x4xf32>, %t: !tile.tile<4x4xf32, dn>, %n: index) {
  tile.store %t, %a[%n] stride %n size %n, %n pes 1 : !tile.tile<4x4xf32, dn> -> memref<4x4xf32>
  func.return
}
// CHECK: TSTORE takes row-major and CUBE tiles, not dn
