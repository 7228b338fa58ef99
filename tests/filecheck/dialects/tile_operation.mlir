// RUN: ptoc opt %s | ptoc opt | filecheck %s
// RUN: ptoc opt %s --print-op-generic | ptoc opt | filecheck %s

// Operations by their names in the ISA.
// CHECK-LABEL: func.func @operations
func.func @operations(%m: memref<64xf32>, %x: !tile.tile<4x8xf32, norm>, %i: !tile.tile<4x8xsi32, norm>, %p: !tile.predicate<4x8>, %column: !tile.tile<4x1xf32, norm>) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  // CHECK: tile.operation "TADD" %x, %x size %{{.*}}, %{{.*}} pes 4 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  %a = tile.operation "TADD" %x, %x size %8, %4 pes 4 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  // CHECK: tile.operation "TMULS" %x size %{{.*}}, %{{.*}} scalars %{{.*}} datr {PadValueOrByteId = 3 : i64} pes 1
  %b = tile.operation "TMULS" %x size %8, %4 scalars %0 datr {PadValueOrByteId = 3 : i64} pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  // CHECK: tile.operation "TSEL" %p, %x, %x {{.*}} slots [#tile.slot<T 1>, #tile.slot<T 2>, #tile.slot<T 2>] into U
  %c = tile.operation "TSEL" %p, %x, %x size %8, %4 pes 1 slots [#tile.slot<T 1>, #tile.slot<T 2>, #tile.slot<T 2>] into U : !tile.predicate<4x8>, !tile.tile<4x8xf32, norm>, !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>
  // CHECK: tile.operation "TROWEXPANDADD" %x, %column
  %d = tile.operation "TROWEXPANDADD" %x, %column size %8, %4 pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x1xf32, norm> -> !tile.tile<4x8xf32, norm>
  // CHECK: tile.operation "TCMPS" %x {{.*}} datr {CMode = 2 : i64} pes 1 : !tile.tile<4x8xf32, norm> -> !tile.predicate<4x8>
  %e = tile.operation "TCMPS" %x size %8, %4 scalars %0 datr {CMode = 2 : i64} pes 1 : !tile.tile<4x8xf32, norm> -> !tile.predicate<4x8>
  // CHECK: tile.operation "TCVT" %x {{.*}} -> !tile.tile<4x8xf16, norm>
  %f = tile.operation "TCVT" %x size %8, %4 datr {RMode = 1 : i64} pes 1 : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf16, norm>
  // CHECK: tile.operation "TEXPANDS" size %{{.*}}, %{{.*}} scalars %{{.*}} pes 1 -> !tile.tile<4x8xf32, norm>
  %g = tile.operation "TEXPANDS" size %8, %4 scalars %0 pes 1 -> !tile.tile<4x8xf32, norm>
  // CHECK: tile.operation "MGATHER" %i at %m[%{{.*}}] size %{{.*}}, %{{.*}} pes 1 : !tile.tile<4x8xsi32, norm> memory memref<64xf32> -> !tile.tile<4x8xf32, norm>
  %h = tile.operation "MGATHER" %i at %m[%0] size %8, %4 pes 1 : !tile.tile<4x8xsi32, norm> memory memref<64xf32> -> !tile.tile<4x8xf32, norm>
  // CHECK: tile.operation "MSCATTER" %x, %i at %m
  tile.operation "MSCATTER" %x, %i at %m[%0] size %8, %4 pes 1 : !tile.tile<4x8xf32, norm>, !tile.tile<4x8xsi32, norm> memory memref<64xf32>
  // CHECK: tile.operation "TPREFETCH" at %m[%{{.*}}] size %{{.*}} pes 1 memory memref<64xf32>
  tile.operation "TPREFETCH" at %m[%0] size %8 pes 1 memory memref<64xf32>
  // CHECK: tile.operation "TSORT" %x {{.*}} into T beside [#tile<hand U>] : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>, !tile.tile<4x8xui32, norm>
  %s, %places = tile.operation "TSORT" %x size %8 pes 1 slots [#tile.slot<M 1>] into T beside [#tile<hand U>] : !tile.tile<4x8xf32, norm> -> !tile.tile<4x8xf32, norm>, !tile.tile<4x8xui32, norm>
  func.return
}
