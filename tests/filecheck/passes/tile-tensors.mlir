// RUN: ptoc opt -p tile-tensors --split-input-file %s | filecheck %s

// A row of eight columns fits a tile: one load and one store for each of the PEs, and the maximum stays a column.
// CHECK-LABEL: func.func @rows
// CHECK:       %[[X:.*]] = tile.load %a{{.*}} pes 4 : memref<64x8xf32> -> !tile.tile<16x8xf32, norm>
// CHECK-NEXT:  %[[M:.*]] = tile.operation "TROWMAX" %[[X]] {{.*}} -> !tile.tile<128x1xf32, norm>
// CHECK-NEXT:  %[[Y:.*]] = tile.operation "TROWEXPANDSUB" %[[X]], %[[M]] {{.*}} -> !tile.tile<16x8xf32, norm>
// CHECK:       tile.store %[[Y]], %out
// CHECK-NOT:   tile.load
func.func @rows(%a: memref<64x8xf32>, %out: memref<64x8xf32>) {
  %x = nd.load_view %a view <0 [64, 8] [8, 1]> : memref<64x8xf32> -> tensor<64x8xf32>
  %m = nd.fold "max" %x axis 1 chunk 8 : tensor<64x8xf32> -> tensor<64x1xf32>
  %b = nd.expand %m : tensor<64x1xf32> -> tensor<64x8xf32>
  %y = nd.operation "TSUB" %x, %b : tensor<64x8xf32>, tensor<64x8xf32> -> tensor<64x8xf32>
  nd.store_view %y, %out view <0 [64, 8] [8, 1]> : tensor<64x8xf32> -> memref<64x8xf32>
  func.return
}

// -----

// A row of parameters is loaded once, before the loop over rows.
// CHECK-LABEL: func.func @parameters
// CHECK:       %[[ROW:.*]] = tile.load %row
// CHECK:       scf.for %row
// CHECK:       %[[X:.*]] = tile.load %a
// CHECK-NEXT:  %[[Y:.*]] = tile.operation "TCOLEXPANDMUL" %[[X]], %[[ROW]]
// CHECK:       tile.store %[[Y]]
func.func @parameters(%a: memref<4096x64xf32>, %row: memref<64xf32>, %out: memref<4096x64xf32>) {
  %x = nd.load_view %a view <0 [4096, 64] [64, 1]> : memref<4096x64xf32> -> tensor<4096x64xf32>
  %r = nd.load_view %row view <0 [64] [1]> : memref<64xf32> -> tensor<64xf32>
  %b = nd.expand %r : tensor<64xf32> -> tensor<4096x64xf32>
  %y = nd.operation "TMUL" %b, %x : tensor<4096x64xf32>, tensor<4096x64xf32> -> tensor<4096x64xf32>
  nd.store_view %y, %out view <0 [4096, 64] [64, 1]> : tensor<4096x64xf32> -> memref<4096x64xf32>
  func.return
}

// -----

// Elements that lie apart come by their displacements; backwards they count down.
// CHECK:       tile.global @const0 #tile.iota<{{.*}}col_step = -8>
// CHECK-LABEL: func.func @backwards
// CHECK:       tile.operation "MGATHER" %{{.*}} at %a[
func.func @backwards(%a: memref<128xf32>, %out: memref<64xf32>) {
  %x = nd.load_view %a view <127 [64] [-2]> : memref<128xf32> -> tensor<64xf32>
  nd.store_view %x, %out view <0 [64] [1]> : tensor<64xf32> -> memref<64xf32>
  func.return
}
