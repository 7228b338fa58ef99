// RUN: ptoc opt -p convert-tile-to-pto --verify-diagnostics --split-input-file %s | filecheck %s

// A loop is a label, its body, a step and a conditional branch; constants become data.
tile.global @half #tile.splat<width = 4, bits = 0x3f000000, count = 4>
func.func @copy(%a: memref<64x4xf32>, %out: memref<64x4xf32>) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %16 = arith.constant 16 : index
  %64 = arith.constant 64 : index
  %1024 = arith.constant 1024 : index
  scf.for %i = %0 to %1024 step %64 {
    %x = tile.load %a[%i] stride %16 size %4, %4 pes 1 into T : memref<64x4xf32> -> !tile.tile<4x4xf32, norm>
    tile.store %x, %out[%i] stride %16 size %4, %4 pes 1 slots [#tile.slot<T 1>] : !tile.tile<4x4xf32, norm> -> memref<64x4xf32>
  }
  func.return
}
// CHECK:       pto.data @half #tile.splat<width = 4, bits = 0x3f000000, count = 4>
// CHECK:       pto.program @copy
// CHECK:       pto.label "[[LOOP:.*]]"
// CHECK:       pto.bundle argument 0
// CHECK-NEXT:  pto.inst "BSTART.TLOAD FP32"
// CHECK:       pto.inst "B.IOT mask=0001, last, ->T<1>"
// CHECK-NEXT:  pto.inst "BSTOP"
// CHECK:       pto.bundle argument 1
// CHECK-NEXT:  pto.inst "BSTART.TSTORE FP32"
// CHECK:       pto.inst "B.IOT T#1, mask=0001, last"
// CHECK:       BSTART COND, [[LOOP]]
// CHECK-NOT:   func.func

// -----

// A core takes every so manieth iteration, perhaps none: x1 is its number and x2 the number of cores. The
// step takes no register while the loop runs.
func.func @divided(%a: memref<64x4xf32>, %out: memref<64x4xf32>) {
  %4 = arith.constant 4 : index
  %16 = arith.constant 16 : index
  %64 = arith.constant 64 : index
  %1024 = arith.constant 1024 : index
  %core = tile.core_id
  %cores = tile.core_count
  %first = arith.muli %core, %64 : index
  %step = arith.muli %cores, %64 : index
  scf.for %i = %first to %1024 step %step {
    %x = tile.load %a[%i] stride %16 size %4, %4 pes 1 into T : memref<64x4xf32> -> !tile.tile<4x4xf32, norm>
    tile.store %x, %out[%i] stride %16 size %4, %4 pes 1 slots [#tile.slot<T 1>] : !tile.tile<4x4xf32, norm> -> memref<64x4xf32>
  }
  func.return
}
// CHECK:       pto.program @divided
// CHECK:       pto.inst "hl.lis 64, ->[[SCALE:[a-z0-9]+]]"
// CHECK:       pto.inst "slli x1, 6, ->[[I:[a-z0-9]+]]"
// CHECK-NEXT:  pto.bundle
// CHECK-NEXT:  BSTART COND, [[EXIT:L[0-9]+]]
// CHECK-NEXT:  setc.geui [[I]]
// CHECK:       pto.label "[[LOOP:L[0-9]+]]"
// CHECK:       pto.inst "madd x2, [[SCALE]], [[I]], ->[[I]]"
// CHECK:       BSTART COND, [[LOOP]]
// CHECK:       pto.label "[[EXIT]]"

// -----

// Straight code has no branches.
func.func @once(%a: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %16 = arith.constant 16 : index
  %x = tile.load %a[%0] stride %16 size %4, %4 pes 1 into T : memref<4x4xf32> -> !tile.tile<4x4xf32, norm>
  tile.store %x, %out[%0] stride %16 size %4, %4 pes 1 slots [#tile.slot<T 1>] : !tile.tile<4x4xf32, norm> -> memref<4x4xf32>
  func.return
}
// CHECK:     pto.program @once
// CHECK-NOT: pto.label
// CHECK-NOT: COND
// CHECK:     BSTART.TSTORE FP32

// -----

// Whole tensors have no place here.
func.func @early(%a: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  nd.store %0, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK: nd.load has no lowering to instructions

// -----

// Parameter words come from registers, in the order quantization, slope; B.DATR says how to round and clamp.
func.func @requantised(%a: memref<16x32xsi8>, %out: memref<16x8xsi8>) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %32 = arith.constant 32 : index
  %x = tile.load %a[%0] stride %32 size %16, %32 pes 1 into T : memref<16x32xsi8> -> !tile.tile<16x32xsi8, cube_m16>
  %y = tile.load %a[%0] stride %16 size %32, %8 pes 1 into T : memref<16x32xsi8> -> !tile.tile<32x8xsi8, cube_n8>
  %d = tile.matmul %x, %y size %16, %8, %32 post <leaky 0.75, scale 0.5, offset 3, rtm, saturate> pes 1 slots [#tile.slot<T 2>, #tile.slot<T 1>] into T : !tile.tile<16x32xsi8, cube_m16>, !tile.tile<32x8xsi8, cube_n8> -> !tile.tile<16x8xsi8, cube_m16>
  tile.store %d, %out[%0] stride %8 size %16, %8 pes 1 slots [#tile.slot<T 1>] : !tile.tile<16x8xsi8, cube_m16> -> memref<16x8xsi8>
  func.return
}
// CHECK-LABEL: pto.program @requantised
// CHECK:       pto.inst "hl.lis 129536, ->[[SLOPE:[a-z0-9]+]]"
// CHECK:       pto.inst "BSTART.TMATMUL S8"
// CHECK-NEXT:  pto.inst "B.DATR {NORM, S8, Zero, EQ, RTM, 1, 0}"
// CHECK-NEXT:  pto.inst "B.FPATR 3, LReLU, 0, 0, 0, 0, 0, 0, 0, 0"
// CHECK:       pto.inst "B.DIM LB2, 32"
// CHECK-NEXT:  pto.inst "B.IOR {{[a-z0-9]+}}, [[SLOPE]], zero, ->zero"
// CHECK-NEXT:  pto.inst "B.IOT T#2, T#1, mask=0001, last, ->T<1>"

// -----

// Shared operands as they lie in memory: B.FPATR says which of them are transposed.
func.func @transposed(%a: memref<32x128xf16>, %b: memref<64x32xf16>, %out: memref<128x64xf32>) {
  %0 = arith.constant 0 : index
  %32 = arith.constant 32 : index
  %64 = arith.constant 64 : index
  %128 = arith.constant 128 : index
  %256 = arith.constant 256 : index
  %x = tile.load_shared %a[%0] stride %256 size %32, %128 shared 0 pes 1 : memref<32x128xf16> -> !tile.shared<32x128xf16>
  %y = tile.load_shared %b[%0] stride %64 size %64, %32 shared 1 pes 1 : memref<64x32xf16> -> !tile.shared<64x32xf16>
  %d = tile.matmul %x, %y trans_a trans_b size %128, %64, %32 pes 4 into T : !tile.shared<32x128xf16>, !tile.shared<64x32xf16> -> !tile.tile<32x64xf32, cube_m32>
  %e = tile.matmul %x, %y trans_a trans_b acc %d : !tile.tile<32x64xf32, cube_m32> size %128, %64, %32 pes 4 slots [#tile.slot<T 1>] into U : !tile.shared<32x128xf16>, !tile.shared<64x32xf16> -> !tile.tile<32x64xf32, cube_m32>
  func.return
}
// CHECK:      pto.inst "BSTART.TMATMUL FP16"
// CHECK-NEXT: pto.inst "B.FPATR None, None, 0, 0, 0, 0, 0, 1, 1, 0"
// CHECK:      pto.inst "BSTART.TMATMUL.ACC FP16"
// CHECK-NEXT: pto.inst "B.FPATR None, None, 0, 0, 0, 0, 0, 1, 1, 0"

// -----

// Every destination has a record of its own, the last of them; the sources come two by two. B.FPATR says which maxima.
func.func @maxima(%a: memref<16x32xf16>, %out: memref<16x16xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %32 = arith.constant 32 : index
  %64 = arith.constant 64 : index
  %x = tile.load %a[%0] stride %64 size %16, %32 pes 1 into T : memref<16x32xf16> -> !tile.tile<16x32xf16, cube_m16>
  %y = tile.load %a[%0] stride %32 size %32, %16 pes 1 into T : memref<16x32xf16> -> !tile.tile<32x16xf16, cube_n8>
  %first = tile.load %out[%0] stride %64 size %16, %1 pes 1 into M : memref<16x16xf32> -> !tile.tile<16x1xf32, norm>
  %d, %row, %group = tile.matmul %x, %y initial %first : !tile.tile<16x1xf32, norm> size %16, %16, %32 group 8 pes 1 slots [#tile.slot<T 2>, #tile.slot<T 1>, #tile.slot<M 1>] into U beside [#tile<hand M>, #tile<hand N>] : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x16xf16, cube_n8> -> !tile.tile<16x16xf32, cube_m16> row_max !tile.tile<16x1xf32, norm> group_max !tile.tile<16x2xf32, norm>
  %e, %other = tile.matmul %x, %y size %16, %16, %32 absolute pes 1 slots [#tile.slot<T 2>, #tile.slot<T 1>] into U beside [#tile<hand M>] : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x16xf16, cube_n8> -> !tile.tile<16x16xf32, cube_m16> row_max !tile.tile<16x1xf32, norm>
  tile.store %group, %out[%0] stride %64 size %16, %2 pes 1 slots [#tile.slot<N 1>] : !tile.tile<16x2xf32, norm> -> memref<16x16xf32>
  func.return
}
// CHECK-LABEL: pto.program @maxima
// CHECK:       pto.inst "BSTART.TMATMUL FP16"
// CHECK-NEXT:  pto.inst "B.FPATR None, None, 1, 1, 1, 1, 0, 0, 0, 0"
// CHECK:       pto.inst "B.IOT T#2, T#1, mask=0001, ->U<4>"
// CHECK-NEXT:  pto.inst "B.IOT M#1, mask=0001, ->M<1>"
// CHECK-NEXT:  pto.inst "B.IOT mask=0001, last, ->N<1>"
// CHECK:       pto.inst "B.FPATR None, None, 0, 1, 0, 0, 1, 0, 0, 0"
// CHECK:       pto.inst "B.IOT T#2, T#1, mask=0001, ->U<4>"
// CHECK-NEXT:  pto.inst "B.IOT mask=0001, last, ->M<1>"
// CHECK:       pto.inst "BSTART.TSTORE FP32"
// CHECK:       pto.inst "B.IOT N#1, mask=0001, last"

// -----

// Index arithmetic of groups of columns.
func.func @divided_columns(%a: memref<64x48xf32>, %out: memref<64x1xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  %4 = arith.constant 4 : index
  %48 = arith.constant 48 : index
  %96 = arith.constant 96 : index
  scf.for %i = %0 to %96 step %48 {
    %x = arith.divui %i, %48 : index
    %y = arith.shrui %i, %3 : index
    %z = arith.addi %x, %y : index
    %t = tile.load %a[%z] stride %4 size %4, %1 pes 1 into T : memref<64x48xf32> -> !tile.tile<4x1xf32, norm>
    tile.store %t, %out[%i] stride %4 size %4, %1 pes 1 slots [#tile.slot<T 1>] : !tile.tile<4x1xf32, norm> -> memref<64x1xf32>
  }
  func.return
}
// CHECK-LABEL: pto.program @divided_columns
// CHECK:       divu
// CHECK:       srli {{.*}}, 3,

// -----

func.func @shifted_by_a_computed_number(%a: memref<64x4xf32>) {
  %pe = tile.pe_id
  %x = arith.shrui %pe, %pe : index
  func.return
}
// CHECK: arith.shrui by a computed number has no lowering to instructions

// -----

func.func @tiles_without_names(%a: memref<64x4xf32>) {
  %4 = arith.constant 4 : index
  %16 = arith.constant 16 : index
  %t = tile.load %a[%4] stride %16 size %4, %4 pes 1 : memref<64x4xf32> -> !tile.tile<4x4xf32, norm>
  func.return
}
// CHECK: the tiles of tile.load have no names yet
