// RUN: ptoc opt -p divide-among-cores --split-input-file %s | filecheck %s

// Writes that do not meet are divided freely.
func.func @apart(%a: memref<8x8xf32>, %x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  %0 = nd.load %a : memref<8x8xf32> -> tensor<8x8xf32>
  nd.store %0, %x : tensor<8x8xf32> -> memref<8x8xf32>
  nd.store %0, %y : tensor<8x8xf32> -> memref<8x8xf32>
  func.return
}
// CHECK-LABEL: @apart
// CHECK:       nd.store %{{[0-9]+}}, %x :
// CHECK-NEXT:  nd.store %{{[0-9]+}}, %y :

// -----

// Element by element: a core finds what it has written itself. A row that nobody writes may be repeated.
func.func @by_element(%a: memref<8x8xf32>, %r: memref<8xf32>, %x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  %0 = nd.load %a : memref<8x8xf32> -> tensor<8x8xf32>
  nd.store %0, %x : tensor<8x8xf32> -> memref<8x8xf32>
  %1 = nd.load %x : memref<8x8xf32> -> tensor<8x8xf32>
  %2 = nd.load %r : memref<8xf32> -> tensor<8xf32>
  %3 = nd.broadcast %2 : tensor<8xf32> -> tensor<8x8xf32>
  %4 = nd.compare lt %1, %3 : tensor<8x8xf32> -> tensor<8x8xi1>
  nd.masked_store %4, %1, %y : tensor<8x8xi1>, tensor<8x8xf32> -> memref<8x8xf32>
  func.return
}
// CHECK-LABEL: @by_element
// CHECK:       nd.store %{{[0-9]+}}, %x together 0 :
// CHECK:       nd.masked_store %{{[0-9]+}}, %{{[0-9]+}}, %y together 0 :

// -----

// Every row of the second write needs the row that the first one changes; the third write is apart.
func.func @by_row(%r: memref<8xf32>, %x: memref<8x8xf32>, %a: memref<8xf32>, %y: memref<8xf32>) {
  %0 = nd.load %a : memref<8xf32> -> tensor<8xf32>
  nd.store %0, %r : tensor<8xf32> -> memref<8xf32>
  %1 = nd.load %r : memref<8xf32> -> tensor<8xf32>
  %2 = nd.broadcast %1 : tensor<8xf32> -> tensor<8x8xf32>
  nd.store %2, %x : tensor<8x8xf32> -> memref<8x8xf32>
  nd.store %0, %y : tensor<8xf32> -> memref<8xf32>
  func.return
}
// CHECK-LABEL: @by_row
// CHECK:       nd.store %{{[0-9]+}}, %r alone :
// CHECK:       nd.store %{{[0-9]+}}, %x alone :
// CHECK:       nd.store %{{[0-9]+}}, %y :

// -----

// An array that is read before it is overwritten meets as well; a product needs all of its operands.
func.func @read_first(%a: memref<8x8xf32>, %x: memref<8x8xf32>) {
  %0 = nd.load %a : memref<8x8xf32> -> tensor<8x8xf32>
  %1 = nd.matmul_acc %0, %0 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  nd.store %1, %x : tensor<8x8xf32> -> memref<8x8xf32>
  %2 = nd.splat <0x0> : tensor<8x8xf32>
  nd.store %2, %a : tensor<8x8xf32> -> memref<8x8xf32>
  func.return
}
// CHECK-LABEL: @read_first
// CHECK:       nd.store %{{[0-9]+}}, %x alone :
// CHECK:       nd.store %{{[0-9]+}}, %a alone :

// -----

// Targets of a scatter may meet each other.
func.func @scatter(%v: memref<4xf32>, %at: memref<4xsi32>, %m: memref<4xi1>, %dst: memref<9x9xf32>) {
  %0 = nd.load %v : memref<4xf32> -> tensor<4xf32>
  %1 = nd.load %at : memref<4xsi32> -> tensor<4xsi32>
  %2 = nd.load %m : memref<4xi1> -> tensor<4xi1>
  nd.scatter %0, %dst at %1 where %2 : tensor<4xf32> -> memref<9x9xf32>, tensor<4xsi32>, tensor<4xi1>
  func.return
}
// CHECK-LABEL: @scatter
// CHECK:       nd.scatter %{{[0-9]+}}, %dst at %{{[0-9]+}} where %{{[0-9]+}} alone :

// -----

// The stores of one product are one nest, so that the second one needs what the first one overwrites makes nothing meet.
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
// CHECK-NOT:   alone
// CHECK:       func.return
