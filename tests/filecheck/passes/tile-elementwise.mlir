// RUN: ptoc opt -p tile-elementwise --split-input-file %s | filecheck %s

// A write under a mask is TCMP and MSCATTER_MASK with a pattern of byte displacements.
func.func @masked(%src: memref<5x7xf32>, %dst: memref<5x7xf32>) {
  %0 = nd.load %src : memref<5x7xf32> -> tensor<5x7xf32>
  %1 = nd.splat <0x3f000000> : tensor<5x7xf32>
  %2 = nd.compare gt %0, %1 : tensor<5x7xf32> -> tensor<5x7xi1>
  nd.masked_store %2, %0, %dst : tensor<5x7xi1>, tensor<5x7xf32> -> memref<5x7xf32>
  func.return
}
// CHECK:       tile.global @[[HALF:[a-z0-9]+]] #tile.splat<width = 4, bits = 0x3f000000
// CHECK:       tile.global @[[PATTERN:[a-z0-9]+]] #tile.iota<width = 4
// CHECK-LABEL: @masked
// CHECK:       [[MASK:%[a-z0-9_]+]] = tile.compare gt
// CHECK:       tile.scatter {{.*}} where [[MASK]], %dst
// CHECK-NOT:   nd.

// -----

// where: the second branch whole, then the first under the mask.
func.func @where(%a: memref<5x7xf32>, %b: memref<5x7xf32>, %out: memref<5x7xf32>) {
  %0 = nd.load %a : memref<5x7xf32> -> tensor<5x7xf32>
  %1 = nd.load %b : memref<5x7xf32> -> tensor<5x7xf32>
  %2 = nd.compare lt %0, %1 : tensor<5x7xf32> -> tensor<5x7xi1>
  %3 = nd.where %2, %0, %1 : tensor<5x7xi1>, tensor<5x7xf32>
  nd.store %3, %out : tensor<5x7xf32> -> memref<5x7xf32>
  func.return
}
// CHECK-LABEL: @where
// CHECK:       [[A:%[a-z0-9_]+]] = tile.load %a
// CHECK:       [[B:%[a-z0-9_]+]] = tile.load %b
// CHECK:       [[MASK:%[a-z0-9_]+]] = tile.compare lt [[A]], [[B]]
// CHECK:       tile.store {{.*}}, %out
// CHECK:       tile.scatter {{.*}} where [[MASK]], %out

// -----

// A copy needs no mask and no constants. Rows apart keep their stride: they are not folded into one line.
func.func @strided_copy(%a: memref<5x7xf32, strided<[9, 1]>>, %out: memref<5x7xf32>) {
  %0 = nd.load %a : memref<5x7xf32, strided<[9, 1]>> -> tensor<5x7xf32>
  nd.store %0, %out : tensor<5x7xf32> -> memref<5x7xf32>
  func.return
}
// CHECK-NOT:   tile.global
// CHECK-LABEL: @strided_copy
// CHECK:       arith.constant 36 : index
// CHECK:       tile.load %a
// CHECK:       tile.store {{.*}}, %out

// -----

// Displacements of the user go to the scatter as they are.
func.func @scatter(%v: memref<3x4xf32>, %at: memref<3x4xsi32>, %m: memref<3x4xi1>, %dst: memref<9x9xf32>) {
  %0 = nd.load %v : memref<3x4xf32> -> tensor<3x4xf32>
  %1 = nd.load %at : memref<3x4xsi32> -> tensor<3x4xsi32>
  %2 = nd.load %m : memref<3x4xi1> -> tensor<3x4xi1>
  nd.scatter %0, %dst at %1 where %2 : tensor<3x4xf32> -> memref<9x9xf32>, tensor<3x4xsi32>, tensor<3x4xi1>
  func.return
}
// CHECK-LABEL: @scatter
// CHECK:       [[AT:%[a-z0-9_]+]] = tile.load %at
// CHECK:       tile.scatter {{.*}} at [[AT]] where {{.*}}, %dst

// -----

// The cores take the rounds in turn; the last core does a single round.
func.func @divided(%a: memref<1000x300xf32, strided<[400, 1]>>, %out: memref<1000x300xf32>) {
  %0 = nd.load %a : memref<1000x300xf32, strided<[400, 1]>> -> tensor<1000x300xf32>
  nd.store %0, %out : tensor<1000x300xf32> -> memref<1000x300xf32>
  func.return
}
// CHECK-LABEL: @divided
// CHECK:       [[CORE:%[a-z0-9_]+]] = tile.core_id
// CHECK-NEXT:  [[FIRST:%[a-z0-9_]+]] = arith.muli [[CORE]], [[ROUND:%c16]]
// CHECK-NEXT:  [[CORES:%[a-z0-9_]+]] = tile.core_count
// CHECK-NEXT:  [[STEP:%[a-z0-9_]+]] = arith.muli [[CORES]], [[ROUND]]
// CHECK-NEXT:  scf.for %row = [[FIRST]] to %c992 step [[STEP]]
// CHECK:       [[OTHERS:%[a-z0-9_]+]] = arith.subi %{{.*}}, %c1
// CHECK-NEXT:  [[CORE:%[a-z0-9_]+]] = tile.core_id
// CHECK-NEXT:  [[TURN:%[a-z0-9_]+]] = arith.subi [[OTHERS]], [[CORE]]
// CHECK-NEXT:  scf.for %turn = [[TURN]] to %c1 step %c1

// -----

// What meets another write in an array is the first core's.
func.func @alone(%a: memref<1000x300xf32, strided<[400, 1]>>, %out: memref<1000x300xf32>) {
  %0 = nd.load %a : memref<1000x300xf32, strided<[400, 1]>> -> tensor<1000x300xf32>
  nd.store %0, %out alone : tensor<1000x300xf32> -> memref<1000x300xf32>
  func.return
}
// CHECK-LABEL: @alone
// CHECK-NOT:   tile.core_count
// CHECK:       [[CORE:%[a-z0-9_]+]] = tile.core_id
// CHECK-NEXT:  scf.for %turn = [[CORE]] to %c1 step %c1
// CHECK-NEXT:    scf.for %row = %c0 to %c992 step %c16
// CHECK:       [[CORE:%[a-z0-9_]+]] = tile.core_id
// CHECK-NEXT:  scf.for %{{.*}} = [[CORE]] to %c1 step %c1
