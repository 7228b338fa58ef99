// RUN: ptoc opt -p materialize-operands --split-input-file %s | filecheck %s

// A matmul that is an operand of another goes through a scratch array.
func.func @two_matmuls(%a: memref<4x4xf32>, %out: memref<4x4xf32> {ptoc.kind = "output"}) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  %1 = nd.matmul_acc %0, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = nd.matmul_acc %1, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  nd.store %2, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @two_matmuls
// CHECK-SAME:  %tmp0: memref<4x4xf32> {ptoc.kind = "scratch"}
// CHECK:       [[FIRST:%[a-z0-9]+]] = nd.matmul_acc
// CHECK-NEXT:  nd.store [[FIRST]], %tmp0
// CHECK-NEXT:  [[AGAIN:%[a-z0-9]+]] = nd.load %tmp0
// CHECK-NEXT:  nd.matmul_acc [[AGAIN]],

// -----

// A product may not overwrite an array whose elements it still has to read.
func.func @in_place_matmul(%a: memref<4x4xf32> {ptoc.kind = "inout"}, %b: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  %b0 = nd.load %b : memref<4x4xf32> -> tensor<4x4xf32>
  %1 = nd.matmul_acc %0, %b0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  nd.store %1, %a : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @in_place_matmul
// CHECK:       [[A:%[a-z0-9]+]] = nd.load %a
// CHECK-NEXT:  nd.store [[A]], %tmp0
// CHECK-NEXT:  nd.load %tmp0
// CHECK:       nd.store {{%[a-z0-9]+}}, %a

// -----

// Writing the very element that was read is safe: no scratch array.
func.func @in_place_selection(%a: memref<4x4xf32> {ptoc.kind = "inout"}, %b: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  %1 = nd.load %b : memref<4x4xf32> -> tensor<4x4xf32>
  %2 = nd.compare gt %0, %1 : tensor<4x4xf32> -> tensor<4x4xi1>
  nd.masked_store %2, %1, %a : tensor<4x4xi1>, tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @in_place_selection
// CHECK-NOT:   scratch
// CHECK:       nd.masked_store

// -----

// The old contents are kept when an array is written before they are used.
func.func @swap(%a: memref<4x4xf32> {ptoc.kind = "inout"}, %b: memref<4x4xf32> {ptoc.kind = "inout"}) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  %1 = nd.load %b : memref<4x4xf32> -> tensor<4x4xf32>
  nd.store %1, %a : tensor<4x4xf32> -> memref<4x4xf32>
  nd.store %0, %b : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @swap
// CHECK:       [[OLD:%[a-z0-9]+]] = nd.load %a
// CHECK-NEXT:  nd.store [[OLD]], %tmp0
// CHECK-NEXT:  [[COPY:%[a-z0-9]+]] = nd.load %tmp0
// CHECK:       nd.store {{%[a-z0-9]+}}, %a
// CHECK:       nd.store [[COPY]], %b

// -----

// The stores of one product are one nest, which stands where the first of them does: it has read c when the second
// store comes.
func.func @sums_and_maxima(%a: memref<4x8xf16>, %b: memref<8x4xf16>, %c: memref<4x4xf32>, %r: memref<4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x4xf16> -> tensor<8x4xf16>
  %2 = nd.load %c : memref<4x4xf32> -> tensor<4x4xf32>
  %3, %4 = nd.matmul_acc %0, %1 acc %2 : tensor<4x4xf32> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32> row_max tensor<4xf32>
  nd.store %3, %c : tensor<4x4xf32> -> memref<4x4xf32>
  nd.store %4, %r : tensor<4xf32> -> memref<4xf32>
  func.return
}
// CHECK-LABEL: @sums_and_maxima
// CHECK-NOT:   %tmp
// CHECK:       func.return

// -----

// Somebody reads r in between, so the product is computed again, from a copy of c.
func.func @read_in_between(%a: memref<4x8xf16>, %b: memref<8x4xf16>, %c: memref<4x4xf32>, %r: memref<4xf32>, %s: memref<4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x4xf16> -> tensor<8x4xf16>
  %2 = nd.load %c : memref<4x4xf32> -> tensor<4x4xf32>
  %3, %4 = nd.matmul_acc %0, %1 acc %2 : tensor<4x4xf32> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32> row_max tensor<4xf32>
  nd.store %3, %c : tensor<4x4xf32> -> memref<4x4xf32>
  %5 = nd.load %r : memref<4xf32> -> tensor<4xf32>
  nd.store %5, %s : tensor<4xf32> -> memref<4xf32>
  nd.store %4, %r : tensor<4xf32> -> memref<4xf32>
  func.return
}
// CHECK-LABEL: @read_in_between
// CHECK:       [[OLD:%[a-z0-9]+]] = nd.load %c
// CHECK-NEXT:  nd.store [[OLD]], %tmp
