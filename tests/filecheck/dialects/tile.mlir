// RUN: ptoc opt %s | ptoc opt | filecheck %s
// RUN: ptoc opt %s --print-op-generic | ptoc opt | filecheck %s
// RUN: ptoc opt %s --print-debuginfo | ptoc opt --print-debuginfo | filecheck %s --check-prefix LOC

// CHECK: tile.global @ones #tile.splat<width = 4, bits = 0x3f800000, count = 64>
tile.global @ones #tile.splat<width = 4, bits = 0x3f800000, count = 64>
// CHECK: tile.global @pattern #tile.iota<width = 4, rows = 4, row_step = 32, cols = 8, col_step = 4>
tile.global @pattern #tile.iota<width = 4, rows = 4, row_step = 32, cols = 8, col_step = 4>

// CHECK-LABEL: func.func @every_operation
func.func @every_operation(%x: memref<16x32xf16>, %w: memref<32x8xf16>, %c: memref<16x8xf32>, %v: memref<4x8xf32>) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %32 = arith.constant 32 : index
  %64 = arith.constant 64 : index
  // CHECK: tile.pe_id
  // LOC:   tile.pe_id loc("kernel.py":3:9)
  %pe = tile.pe_id loc("kernel.py":3:9)
  // CHECK: tile.core_id
  %core = tile.core_id
  // CHECK: tile.core_count
  %cores = tile.core_count
  // CHECK: [[A:%[a-z0-9_]+]] = tile.load %x[{{%.*}}] stride {{%.*}} size {{%.*}}, {{%.*}} pes 4 into T : memref<16x32xf16> -> !tile.tile<16x32xf16, cube_m16>
  %a = tile.load %x[%pe] stride %64 size %16, %32 pes 4 into T : memref<16x32xf16> -> !tile.tile<16x32xf16, cube_m16>
  // CHECK: tile.load {{.*}} into U : memref<32x8xf16> -> !tile.tile<32x8xf16, cube_n8>
  %b = tile.load %w[%0] stride %16 size %32, %8 pes 4 into U : memref<32x8xf16> -> !tile.tile<32x8xf16, cube_n8>
  // Before allocation there are no names.
  // CHECK: tile.matmul {{.*}} pes 4 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  %d = tile.matmul %a, %b size %16, %8, %32 pes 4 : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf32, cube_m16>
  // CHECK: tile.matmul [[A]], {{%.*}} acc {{%.*}} : !tile.tile<16x8xf32, cube_m16> size {{%.*}} post <relu> pes 4 slots [#tile.slot<M 1>, #tile.slot<T 1>, #tile.slot<U 1>] into N
  %e = tile.matmul %a, %b acc %d : !tile.tile<16x8xf32, cube_m16> size %16, %8, %32 post <relu> pes 4 slots [#tile.slot<M 1>, #tile.slot<T 1>, #tile.slot<U 1>] into N : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf16, cube_m16>
  // Maxima of rows and groups are further results, with hands of their own.
  // CHECK: tile.matmul {{.*}} initial {{%.*}} : !tile.tile<16x1xf32, norm> size {{%.*}} post <relu> group 8 absolute pes 4 slots [#tile.slot<T 1>, #tile.slot<U 1>, #tile.slot<M 2>] into N beside [#tile<hand M>, #tile<hand T>] : {{.*}} -> !tile.tile<16x8xf16, cube_m16> row_max !tile.tile<16x1xf32, norm> group_max !tile.tile<16x1xf32, norm>
  %first = tile.load %c[%0] stride %32 size %16, %4 pes 4 into M : memref<16x8xf32> -> !tile.tile<16x1xf32, norm>
  %f, %row, %group = tile.matmul %a, %b initial %first : !tile.tile<16x1xf32, norm> size %16, %8, %32 post <relu> group 8 absolute pes 4 slots [#tile.slot<T 1>, #tile.slot<U 1>, #tile.slot<M 2>] into N beside [#tile<hand M>, #tile<hand T>] : !tile.tile<16x32xf16, cube_m16>, !tile.tile<32x8xf16, cube_n8> -> !tile.tile<16x8xf16, cube_m16> row_max !tile.tile<16x1xf32, norm> group_max !tile.tile<16x1xf32, norm>
  // CHECK: tile.store {{.*}} pes 4 : !tile.tile<16x8xf32, cube_m16> -> memref<16x8xf32>
  tile.store %d, %c[%0] stride %32 size %16, %8 pes 4 : !tile.tile<16x8xf32, cube_m16> -> memref<16x8xf32>
  // CHECK: tile.load_shared %x[{{.*}}] stride {{%.*}} size {{%.*}}, {{%.*}} shared 0 pes 1 : memref<16x32xf16> -> !tile.shared<16x32xf16>
  %sa = tile.load_shared %x[%0] stride %64 size %16, %32 shared 0 pes 1 : memref<16x32xf16> -> !tile.shared<16x32xf16>
  // The Shared tiles are the operands as they lie in memory: 32 rows of A^T, 32 columns of B^T.
  // CHECK: tile.matmul {{%.*}}, {{%.*}} trans_a trans_b size {{%.*}} pes 4 : !tile.shared<16x32xf16>, !tile.shared<32x16xf16> -> !tile.tile<32x32xf32, cube_m32>
  %sb = tile.load_shared %w[%0] stride %16 size %32, %16 shared 1 pes 1 : memref<32x8xf16> -> !tile.shared<32x16xf16>
  %st = tile.matmul %sa, %sb trans_a trans_b size %32, %32, %16 pes 4 : !tile.shared<16x32xf16>, !tile.shared<32x16xf16> -> !tile.tile<32x32xf32, cube_m32>
  // CHECK: tile.get_global @pattern : memref<32xsi32>
  %g = tile.get_global @pattern : memref<32xsi32>
  %index = tile.load %g[%0] stride %32 size %4, %8 pes 1 : memref<32xsi32> -> !tile.tile<4x8xsi32, norm>
  %data = tile.load %v[%0] stride %32 size %4, %8 pes 1 : memref<4x8xf32> -> !tile.tile<4x8xf32, norm>
  // CHECK: tile.compare ne {{.*}} pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.predicate<4x8>
  %mask = tile.compare ne %data, %data size %4, %8 pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.predicate<4x8>
  // CHECK: tile.scatter {{.*}} at {{.*}} where {{.*}}, %v[{{.*}}] size {{.*}} pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xsi32, norm>, !tile.predicate<4x8> -> memref<4x8xf32>
  tile.scatter %data at %index where %mask, %v[%0] size %4, %8 pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xsi32, norm>, !tile.predicate<4x8> -> memref<4x8xf32>
  func.return
}
