// RUN: ptoc opt -p allocate-rings --verify-diagnostics --split-input-file %s | filecheck %s

// The newest tile of a hand is #1; each publication moves the older ones by one.
func.func @compare(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %16 = arith.constant 16 : index
  %x = tile.load %a[%0] stride %16 size %4, %4 pes 1 : memref<4x4xf32> -> !tile.tile<4x4xf32, norm>
  %y = tile.load %b[%0] stride %16 size %4, %4 pes 1 : memref<4x4xf32> -> !tile.tile<4x4xf32, norm>
  tile.store %x, %b[%0] stride %16 size %4, %4 pes 1 : !tile.tile<4x4xf32, norm> -> memref<4x4xf32>
  tile.store %y, %a[%0] stride %16 size %4, %4 pes 1 : !tile.tile<4x4xf32, norm> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @compare
// CHECK:       tile.load %a{{.*}} into T
// CHECK:       tile.load %b{{.*}} into T
// CHECK:       tile.store {{.*}} slots [#tile.slot<T 2>]
// CHECK:       tile.store {{.*}} slots [#tile.slot<T 1>]

// -----

// A carried accumulator has one name on every path into the loop body.
func.func @carried(%a: memref<16x64xf16>, %b: memref<64x8xf16>, %c: memref<16x8xf32>) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %32 = arith.constant 32 : index
  %64 = arith.constant 64 : index
  %128 = arith.constant 128 : index
  %first = tile.load %c[%0] stride %32 size %16, %8 pes 1 : memref<16x8xf32> -> !tile.tile<16x8xf32, cube_m16>
  %sum = scf.for %k = %0 to %64 step %32 iter_args(%acc = %first) -> (!tile.tile<16x8xf32, cube_m16>) {
    %x = tile.load %a[%k] stride %128 size %16, %32 pes 1 : memref<16x64xf16> -> !tile.tile<16x32xf16, cube_m16>
    %y = tile.load %b[%k] stride %16 size %32, %8 pes 1 : memref<64x8xf16> -> !tile.tile<32x8xf16, cube_n8>
    %d = tile.matmul %x, %y acc %acc : !tile.tile<16x8xf32, cube_m16> size %16, %8, %32 pes 1 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
    scf.yield %d : !tile.tile<16x8xf32, cube_m16>
  }
  tile.store %sum, %c[%0] stride %32 size %16, %8 pes 1 : !tile.tile<16x8xf32, cube_m16> -> memref<16x8xf32>
  func.return
}
// CHECK-LABEL: @carried
// CHECK:       scf.for
// CHECK:       tile.matmul {{.*}} slots [#tile.slot<[[ACC:[TUMN] [0-9]+]]>, #tile.slot<{{.*}}>, #tile.slot<{{.*}}>] into {{[TUMN]}}
// CHECK:       tile.store {{.*}} slots [#tile.slot<{{[TUMN]}} 1>]

// -----

// A hand that is asked for is kept, and T holds no tile over seventeen publications.
func.func @too_late(%a: memref<4x4xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %16 = arith.constant 16 : index
  %17 = arith.constant 17 : index
  %x = tile.load %a[%0] stride %16 size %4, %4 pes 1 into T : memref<4x4xf32> -> !tile.tile<4x4xf32, norm>
  scf.for %i = %0 to %17 step %1 {
    %y = tile.load %a[%0] stride %16 size %4, %4 pes 1 into T : memref<4x4xf32> -> !tile.tile<4x4xf32, norm>
    tile.store %y, %a[%0] stride %16 size %4, %4 pes 1 : !tile.tile<4x4xf32, norm> -> memref<4x4xf32>
  }
  tile.store %x, %a[%0] stride %16 size %4, %4 pes 1 : !tile.tile<4x4xf32, norm> -> memref<4x4xf32>
  func.return
}
// CHECK:      tile registers: tile.store: a source has left hand T after 16 publications
// CHECK:      rule: rings: 
