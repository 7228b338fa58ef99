// RUN: ptoc opt --verify-diagnostics --split-input-file %s | filecheck %s

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.load_view %a view <0 [4, 9] [8, 1]> : memref<4x8xf32> -> tensor<4x9xf32>
  func.return
}
// CHECK: the view reaches elements 0 to 32, which memref<4x8xf32> does not have

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.load_view %a view <6 [8] [-1]> : memref<4x8xf32> -> tensor<8xf32>
  func.return
}
// CHECK: the view reaches elements -1 to 6

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.load_view %a view <0 [4] [1]> : memref<4x8xf32> -> tensor<4x1xf32>
  func.return
}
// CHECK: tensor<4x1xf32> is no view of 1 dimensions of [4]

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.load_view %a view <0 [4] [1]> : memref<4x8xf32> -> tensor<4xf16>
  func.return
}
// CHECK: memref<4x8xf32> has no elements of f16

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  nd.store_view %x, %a view <0 [4, 8] [0, 1]> : tensor<4x8xf32> -> memref<4x8xf32>
  func.return
}
// CHECK: an element is written once

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.elementwise "add" %x, %y : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: operands and result of nd.elementwise have one shape

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.elementwise "select" %x, %x, %x : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: a mask is a tensor of i1

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.operation "TLOAD" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: TLOAD is no operation that works element by element

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.operation "TADD" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: TADD has 2 operands, not 1

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.operation "TNOT" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: TNOT does not take FP32

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.operation "TCMP" %x, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: the result of TCMP is predicate

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.operation "TADD" %x, %x datr {CMode = 1 : i64} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: TADD has no CMode = 1

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.operation "TSEL" %x, %x, %x : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: TSEL does not take tensor<4x8xf32>

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.reduce sum %x axis 2 : tensor<4x8xf32> -> tensor<4x1xf32>
  func.return
}
// CHECK: is not tensor<4x8xf32> with one element along axis 2

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.fold "median" %x axis 1 chunk 8 : tensor<4x8xf32> -> tensor<4x1xf32>
  func.return
}
// CHECK: there is no fold median

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.fold "argmax" %x axis 1 chunk 4 : tensor<4x8xf32> -> tensor<4x1xui32>
  func.return
}
// CHECK: places of extremes are found in one run

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.reshape %x : tensor<4x8xf32> -> tensor<3x8xf32>
  func.return
}
// CHECK: tensor<4x8xf32> has not as many elements as tensor<3x8xf32>

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.expand %x : tensor<4x8xf32> -> tensor<4x16xf32>
  func.return
}
// CHECK: tensor<4x8xf32> does not broadcast to tensor<4x16xf32>

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.iota 0 step 1 axis 0 : tensor<8xf32>
  func.return
}
// CHECK: places are whole numbers, not f32

// -----

func.func @f(%a: memref<4x8xf32>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  %0 = nd.gather %a at %x : memref<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}
// CHECK: displacements are 32- or 64-bit integers
