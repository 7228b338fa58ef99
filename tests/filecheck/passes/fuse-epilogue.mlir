// RUN: ptoc opt -p fuse-epilogue --verify-diagnostics --split-input-file %s | filecheck %s

// The sum starts from c, whichever side of the + it stands on.
func.func @accumulate(%a: memref<4x8xf16>, %b: memref<8x4xf16>, %c: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x4xf16> -> tensor<8x4xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  %3 = nd.load %c : memref<4x4xf32> -> tensor<4x4xf32>
  %4 = nd.add %3, %2 : tensor<4x4xf32>
  nd.store %4, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @accumulate
// CHECK-NOT:   nd.matmul_acc {{%[a-z0-9]+, %[a-z0-9]+}} :
// CHECK:       [[C:%[a-z0-9]+]] = nd.load %c
// CHECK-NEXT:  [[D:%[a-z0-9]+]] = nd.matmul_acc {{.*}} acc [[C]] : tensor<4x4xf32>
// CHECK-NEXT:  nd.store [[D]], %out

// -----

func.func @relu_and_convert(%a: memref<4x8xf16>, %b: memref<8x4xf16>, %out: memref<4x4xf16>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x4xf16> -> tensor<8x4xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  %3 = nd.relu %2 : tensor<4x4xf32>
  %4 = nd.cast %3 : tensor<4x4xf32> -> tensor<4x4xf16>
  nd.store %4, %out : tensor<4x4xf16> -> memref<4x4xf16>
  func.return
}
// CHECK-LABEL: @relu_and_convert
// CHECK:       nd.matmul_acc {{.*}} relu : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
// CHECK-NEXT:  nd.store
// CHECK-NOT:   nd.relu
// CHECK-NOT:   nd.cast

// -----

// What is no epilogue stays.
func.func @no_matmul(%a: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  nd.store %0, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @no_matmul
// CHECK:       nd.load
// CHECK-NEXT:  nd.store

// -----

func.func @sum_of_arrays(%a: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  %1 = nd.add %0, %0 : tensor<4x4xf32>
  nd.store %1, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK:      this sum is not the accumulation of a matmul
// CHECK-NEXT: rule: TMATMUL_ACC
// CHECK-NEXT: help: write c + np.matmul(a, b, dtype=c.dtype)

// -----

func.func @relu_of_an_array(%a: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  %1 = nd.relu %0 : tensor<4x4xf32>
  nd.store %1, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK: np.maximum(x, 0) is supported on the result of a matmul only

// -----

func.func @cast_of_an_array(%a: memref<4x4xf32>, %out: memref<4x4xf16>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  %1 = nd.cast %0 : tensor<4x4xf32> -> tensor<4x4xf16>
  nd.store %1, %out : tensor<4x4xf16> -> memref<4x4xf16>
  func.return
}
// CHECK: astype from float32 to float16 is not supported here
