// RUN: ptoc opt -p tile-matmul --split-input-file %s | filecheck %s

// Two blocks of 16 rows on two PEs, the last row on PE0; K in one piece.
func.func @ragged(%a: memref<33x20xf16>, %b: memref<20x9xf16>, %c: memref<33x9xf32>, %out: memref<33x9xf32>) {
  %0 = nd.load %a : memref<33x20xf16> -> tensor<33x20xf16>
  %1 = nd.load %b : memref<20x9xf16> -> tensor<20x9xf16>
  %2 = nd.load %c : memref<33x9xf32> -> tensor<33x9xf32>
  %3 = nd.matmul_acc %0, %1 acc %2 : tensor<33x9xf32> : tensor<33x20xf16>, tensor<20x9xf16> -> tensor<33x9xf32>
  nd.store %3, %out : tensor<33x9xf32> -> memref<33x9xf32>
  func.return
}
// CHECK-LABEL: @ragged
// CHECK:       tile.pe_id
// CHECK:       [[C:%[a-z0-9_]+]] = tile.load %c{{.*}} pes 2 {{.*}} -> !tile.tile<16x16xf32, cube_m16>
// CHECK:       tile.load %a{{.*}} pes 2 {{.*}} -> !tile.tile<16x32xf16, cube_m16>
// CHECK:       tile.load %b{{.*}} pes 2 {{.*}} -> !tile.tile<32x16xf16, cube_n8>
// CHECK:       [[D:%[a-z0-9_]+]] = tile.matmul {{.*}} acc [[C]]
// CHECK:       tile.store [[D]], %out{{.*}} pes 2
// CHECK:       tile.matmul {{.*}} pes 1
// CHECK:       tile.store {{.*}} pes 1
// CHECK-NOT:   nd.store

// -----

// A long sum is a loop over K that carries the accumulator; ReLU belongs to its last piece, outside of the loop.
func.func @long_sum(%a: memref<16x600xf16>, %b: memref<600x8xf16>, %out: memref<16x8xf16>) {
  %0 = nd.load %a : memref<16x600xf16> -> tensor<16x600xf16>
  %1 = nd.load %b : memref<600x8xf16> -> tensor<600x8xf16>
  %2 = nd.matmul_acc %0, %1 post <relu> : tensor<16x600xf16>, tensor<600x8xf16> -> tensor<16x8xf16>
  nd.store %2, %out : tensor<16x8xf16> -> memref<16x8xf16>
  func.return
}
// CHECK-LABEL: @long_sum
// CHECK:       [[FIRST:%[a-z0-9_]+]] = tile.matmul
// CHECK-NOT:   relu
// CHECK:       [[SUM:%[a-z0-9_]+]] = scf.for {{.*}} iter_args([[CARRIED:%[a-z0-9_]+]] = [[FIRST]])
// CHECK:       [[NEXT:%[a-z0-9_]+]] = tile.matmul {{.*}} acc [[CARRIED]]
// CHECK-NEXT:  scf.yield [[NEXT]]
// CHECK:       tile.matmul {{.*}} acc [[SUM]] {{.*}} post <relu> pes 1 {{.*}} -> !tile.tile<{{.*}}xf16, cube_m16>

// -----

// Stores of other values are left to tile-elementwise.
func.func @copy(%a: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  nd.store %0, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @copy
// CHECK:       nd.load
// CHECK-NEXT:  nd.store

// -----

// Whole groups of 128 rows and slots of columns have Shared operands: C fills a queue, each piece of K takes the oldest
// accumulator and appends its successor, the last piece stores it. What is left on the right has Local operands.
func.func @shared(%a: memref<128x1024xf16>, %b: memref<1024x264xf16>, %c: memref<128x264xf32>, %out: memref<128x264xf32>) {
  %0 = nd.load %a : memref<128x1024xf16> -> tensor<128x1024xf16>
  %1 = nd.load %b : memref<1024x264xf16> -> tensor<1024x264xf16>
  %2 = nd.load %c : memref<128x264xf32> -> tensor<128x264xf32>
  %3 = nd.matmul_acc %0, %1 acc %2 : tensor<128x264xf32> : tensor<128x1024xf16>, tensor<1024x264xf16> -> tensor<128x264xf32>
  nd.store %3, %out : tensor<128x264xf32> -> memref<128x264xf32>
  func.return
}
// CHECK-LABEL: @shared
// CHECK:       [[EMPTY:%[a-z0-9_]+]] = tile.queue
// CHECK:       [[FULL:%[a-z0-9_]+]] = scf.for %slot{{.*}} iter_args({{.*}} = [[EMPTY]])
// CHECK:       [[C:%[a-z0-9_]+]] = tile.load %c
// CHECK-NEXT:  tile.push [[C]]
// CHECK:       scf.for %k{{.*}} iter_args({{.*}} = [[FULL]])
// CHECK:       [[A:%[a-z0-9_]+]] = tile.load_shared %a{{.*}} shared 0 pes 1
// CHECK:       [[B:%[a-z0-9_]+]] = tile.load_shared %b{{.*}} shared 63 pes 1
// CHECK-NEXT:  [[OLD:%[a-z0-9_]+]], [[REST:%[a-z0-9_]+]] = tile.pop
// CHECK-NEXT:  [[NEW:%[a-z0-9_]+]] = tile.matmul [[A]], [[B]] acc [[OLD]]
// CHECK-NEXT:  tile.push [[NEW]], [[REST]]
// CHECK:       tile.pop
// CHECK-NEXT:  [[D:%[a-z0-9_]+]] = tile.matmul
// CHECK:       tile.store [[D]], %out
// CHECK:       tile.load %a{{.*}} -> !tile.tile<32x{{.*}}, cube_m32>
// CHECK:       tile.store

// -----

// The scale of C belongs to the first piece of the sum, which stands outside of the loop then.
func.func @divided(%a: memref<16x600xf16>, %b: memref<600x8xf16>, %c: memref<16x8xf32>, %e: memref<16xui8>, %out: memref<16x8xf32>) {
  %0 = nd.load %a : memref<16x600xf16> -> tensor<16x600xf16>
  %1 = nd.load %b : memref<600x8xf16> -> tensor<600x8xf16>
  %2 = nd.load %c : memref<16x8xf32> -> tensor<16x8xf32>
  %3 = nd.load %e : memref<16xui8> -> tensor<16xui8>
  %4 = nd.matmul_acc %0, %1 acc %2 : tensor<16x8xf32> scale %3 : tensor<16xui8> : tensor<16x600xf16>, tensor<600x8xf16> -> tensor<16x8xf32>
  nd.store %4, %out : tensor<16x8xf32> -> memref<16x8xf32>
  func.return
}
// CHECK-LABEL: @divided
// CHECK:       [[C:%[a-z0-9_]+]] = tile.load %c
// CHECK:       [[E:%[a-z0-9_]+]] = tile.load %e{{.*}} -> !tile.tile<16x1xui8, cube_m32>
// CHECK:       [[FIRST:%[a-z0-9_]+]] = tile.matmul {{.*}} acc [[C]] {{.*}} scale [[E]] : !tile.tile<16x1xui8, cube_m32>
// CHECK:       scf.for {{.*}} iter_args([[CARRIED:%[a-z0-9_]+]] = [[FIRST]])
// CHECK-NOT:   scale
// CHECK:       func.return

// -----

// Parameters by column are words in memory, of which the last piece of a sum loads those of its columns.
func.func @columns(%a: memref<16x32xf16>, %b: memref<32x4xf16>, %out: memref<16x4xf16>) {
  %0 = nd.load %a : memref<16x32xf16> -> tensor<16x32xf16>
  %1 = nd.load %b : memref<32x4xf16> -> tensor<32x4xf16>
  %2 = nd.matmul_acc %0, %1 post <leaky [0.5, 0.25, 0.5, 1.0], scale 2.0> : tensor<16x32xf16>, tensor<32x4xf16> -> tensor<16x4xf16>
  nd.store %2, %out : tensor<16x4xf16> -> memref<16x4xf16>
  func.return
}
// CHECK:       tile.global @const0 #tile.words<0x1f800, 0x1f400, 0x1f800, 0x1fc00>
// CHECK-LABEL: @columns
// CHECK:       [[ROW:%[a-z0-9_]+]] = tile.get_global @const0 : memref<4xui64>
// CHECK:       [[SLOPES:%[a-z0-9_]+]] = tile.load [[ROW]]{{.*}} -> !tile.tile<1x{{[0-9]+}}xui64, norm>
// CHECK:       tile.matmul {{.*}} slopes [[SLOPES]] {{.*}} post <leaky columns, scale 2.0>
