// RUN: ptoc opt -p remove-empty --verify-diagnostics --split-input-file %s | filecheck %s

// Without products, one of zeros; nothing else depends on what the operands were.
func.func @no_products(%a: memref<5x0xf16>, %b: memref<4x0xf16>, %c: memref<5x4xf32>) {
  %0 = nd.load %a : memref<5x0xf16> -> tensor<5x0xf16>
  %1 = nd.load %b : memref<4x0xf16> -> tensor<4x0xf16>
  %2 = nd.load %c : memref<5x4xf32> -> tensor<5x4xf32>
  %3 = nd.matmul_acc %0, %1 trans_b acc %2 : tensor<5x4xf32> : tensor<5x0xf16>, tensor<4x0xf16> -> tensor<5x4xf32>
  nd.store %3, %c : tensor<5x4xf32> -> memref<5x4xf32>
  func.return
}
// CHECK-LABEL: @no_products
// CHECK-NEXT:  [[C:%[a-z0-9_]+]] = nd.load %c
// CHECK-NEXT:  [[A:%[a-z0-9_]+]] = nd.splat <0x0> : tensor<5x1xf16>
// CHECK-NEXT:  [[B:%[a-z0-9_]+]] = nd.splat <0x0> : tensor<4x1xf16>
// CHECK-NEXT:  nd.matmul_acc [[A]], [[B]] trans_b acc [[C]]

// -----

func.func @no_elements(%a: memref<0x3xf32>, %b: memref<3x4xf32>, %c: memref<0x4xf32>) {
  %0 = nd.load %a : memref<0x3xf32> -> tensor<0x3xf32>
  %1 = nd.load %b : memref<3x4xf32> -> tensor<3x4xf32>
  %2 = nd.matmul_acc %0, %1 : tensor<0x3xf32>, tensor<3x4xf32> -> tensor<0x4xf32>
  nd.store %2, %c : tensor<0x4xf32> -> memref<0x4xf32>
  func.return
}
// CHECK-LABEL: @no_elements
// CHECK-NOT:   nd.
// CHECK:       func.return
