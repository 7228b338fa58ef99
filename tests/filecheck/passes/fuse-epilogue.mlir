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
// CHECK:       nd.matmul_acc {{.*}} post <relu> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
// CHECK-NEXT:  nd.store
// CHECK-NOT:   nd.relu
// CHECK-NOT:   nd.cast

// -----

// Two multiples of the same sums, chosen by their sign: the slope of the negative ones.
func.func @leaky(%a: memref<4x8xf16>, %b: memref<8x4xf16>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x4xf16> -> tensor<8x4xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  %3 = nd.splat <0x0> : tensor<4x4xf32>
  %4 = nd.splat <0x3e800000> : tensor<4x4xf32>
  %5 = nd.compare gt %2, %3 : tensor<4x4xf32> -> tensor<4x4xi1>
  %6 = nd.mul %2, %4 : tensor<4x4xf32>
  %7 = nd.where %5, %2, %6 : tensor<4x4xi1>, tensor<4x4xf32>
  nd.store %7, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @leaky
// CHECK:       nd.load
// CHECK-NEXT:  nd.load
// CHECK-NEXT:  nd.matmul_acc {{.*}} post <leaky 0.25> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
// CHECK-NEXT:  nd.store

// -----

// Scale, round, offset, clamp, convert.
func.func @requantise(%a: memref<4x8xsi8>, %b: memref<8x4xsi8>, %out: memref<4x4xsi8>) {
  %0 = nd.load %a : memref<4x8xsi8> -> tensor<4x8xsi8>
  %1 = nd.load %b : memref<8x4xsi8> -> tensor<8x4xsi8>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xsi8>, tensor<8x4xsi8> -> tensor<4x4xsi32>
  %3 = nd.cast %2 : tensor<4x4xsi32> -> tensor<4x4xf64>
  %half = nd.splat <0x3fe0000000000000> : tensor<4x4xf64>
  %three = nd.splat <0x4008000000000000> : tensor<4x4xf64>
  %low = nd.splat <0xc060000000000000> : tensor<4x4xf64>
  %high = nd.splat <0x405fc00000000000> : tensor<4x4xf64>
  %4 = nd.mul %3, %half : tensor<4x4xf64>
  %5 = nd.round floor %4 : tensor<4x4xf64>
  %6 = nd.add %5, %three : tensor<4x4xf64>
  %7 = nd.maximum %6, %low : tensor<4x4xf64>
  %8 = nd.minimum %7, %high : tensor<4x4xf64>
  %9 = nd.cast %8 : tensor<4x4xf64> -> tensor<4x4xsi8>
  nd.store %9, %out : tensor<4x4xsi8> -> memref<4x4xsi8>
  func.return
}
// CHECK-LABEL: @requantise
// CHECK:       nd.matmul_acc {{.*}} post <scale 0.5, offset 3, rtm, saturate> : tensor<4x8xsi8>, tensor<8x4xsi8> -> tensor<4x4xsi8>
// CHECK-NEXT:  nd.store

// -----

// A value that is needed before its epilogue as well is computed for both.
func.func @both(%a: memref<4x8xf16>, %b: memref<8x4xf16>, %out: memref<4x4xf32>, %post: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x4xf16> -> tensor<8x4xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  %3 = nd.splat <0x40000000> : tensor<4x4xf32>
  %4 = nd.mul %3, %2 : tensor<4x4xf32>
  nd.store %2, %out : tensor<4x4xf32> -> memref<4x4xf32>
  nd.store %4, %post : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @both
// CHECK:       [[SUMS:%[a-z0-9]+]] = nd.matmul_acc %{{[0-9]+}}, %{{[0-9]+}} :
// CHECK:       [[SCALED:%[a-z0-9]+]] = nd.matmul_acc %{{[0-9]+}}, %{{[0-9]+}} post <scale 2.0> :
// CHECK:       nd.store [[SUMS]], %out
// CHECK:       nd.store [[SCALED]], %post

// -----

// The rows of c divided by powers of two: the bytes of the exponents become an operand.
func.func @divided(%a: memref<4x8xf16>, %b: memref<8x4xf16>, %c: memref<4x4xf32>, %e: memref<4xui8>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x4xf16> -> tensor<8x4xf16>
  %2 = nd.load %c : memref<4x4xf32> -> tensor<4x4xf32>
  %3 = nd.load %e : memref<4xui8> -> tensor<4xui8>
  %4 = nd.cast %3 : tensor<4xui8> -> tensor<4xsi32>
  %5 = nd.neg %4 : tensor<4xsi32>
  %6 = nd.column %5 : tensor<4xsi32> -> tensor<4x1xsi32>
  %7 = nd.ldexp %2, %6 : tensor<4x4xf32>, tensor<4x1xsi32>
  %8 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  %9 = nd.add %7, %8 : tensor<4x4xf32>
  nd.store %9, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @divided
// CHECK:       [[C:%[a-z0-9]+]] = nd.load %c
// CHECK-NEXT:  [[E:%[a-z0-9]+]] = nd.load %e
// CHECK-NEXT:  nd.matmul_acc {{.*}} acc [[C]] : tensor<4x4xf32> scale [[E]] : tensor<4xui8> :
// CHECK-NEXT:  nd.store

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
// CHECK:      rule: accumulation: TMATMUL_ACC
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

// -----

// Operands stay as they lie in memory.
func.func @transposed(%a: memref<8x4xf16>, %b: memref<4x8xf16>, %c: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<8x4xf16> -> tensor<8x4xf16>
  %1 = nd.load %b : memref<4x8xf16> -> tensor<4x8xf16>
  %2 = nd.load %c : memref<4x4xf32> -> tensor<4x4xf32>
  %3 = nd.matmul_acc %0, %1 trans_a trans_b : tensor<8x4xf16>, tensor<4x8xf16> -> tensor<4x4xf32>
  %4 = nd.add %2, %3 : tensor<4x4xf32>
  nd.store %4, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @transposed
// CHECK:       nd.matmul_acc %{{.*}}, %{{.*}} trans_a trans_b acc %{{.*}}
// CHECK-NOT:   nd.add

// -----

// The maxima of sums are found where the sums are computed anyway, whatever is done to them there; two of one kind take
// two matmuls.
func.func @maxima(%a: memref<4x8xf16>, %b: memref<8x16xf16>, %d: memref<4x16xf16>, %r: memref<4xf32>, %g: memref<4x2xf32>, %m: memref<4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x16xf16> -> tensor<8x16xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf32>
  %3 = nd.max %2 : tensor<4x16xf32> -> tensor<4xf32>
  %4 = nd.max %2 group 8 : tensor<4x16xf32> -> tensor<4x2xf32>
  %5 = nd.cast %2 : tensor<4x16xf32> -> tensor<4x16xf16>
  %6 = nd.abs %2 : tensor<4x16xf32>
  %7 = nd.max %6 : tensor<4x16xf32> -> tensor<4xf32>
  nd.store %5, %d : tensor<4x16xf16> -> memref<4x16xf16>
  nd.store %3, %r : tensor<4xf32> -> memref<4xf32>
  nd.store %4, %g : tensor<4x2xf32> -> memref<4x2xf32>
  nd.store %7, %m : tensor<4xf32> -> memref<4xf32>
  func.return
}
// CHECK-LABEL: @maxima
// CHECK:       [[D:%[a-z0-9]+]], [[R:%[a-z0-9]+]], [[G:%[a-z0-9]+]] = nd.matmul_acc {{.*}} group 8 : {{.*}} -> tensor<4x16xf16> row_max tensor<4xf32> group_max tensor<4x2xf32>
// CHECK-NEXT:  {{%[a-z0-9]+}}, [[M:%[a-z0-9]+]] = nd.matmul_acc {{.*}} absolute : {{.*}} -> tensor<4x16xf32> row_max tensor<4xf32>
// CHECK-NEXT:  nd.store [[D]], %d
// CHECK-NEXT:  nd.store [[R]], %r
// CHECK-NEXT:  nd.store [[G]], %g
// CHECK-NEXT:  nd.store [[M]], %m

// -----

// What a maximum starts from moves in front of the matmul; that of ReLU starts from 0.
func.func @initial(%a: memref<4x8xf16>, %b: memref<8x16xf16>, %d: memref<4x16xf32>, %m: memref<4xf32>, %n: memref<4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x16xf16> -> tensor<8x16xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf32>
  nd.store %2, %d : tensor<4x16xf32> -> memref<4x16xf32>
  %3 = nd.load %m : memref<4xf32> -> tensor<4xf32>
  %4 = nd.max %2 : tensor<4x16xf32> -> tensor<4xf32>
  %5 = nd.maximum %3, %4 : tensor<4xf32>
  nd.store %5, %m : tensor<4xf32> -> memref<4xf32>
  %6 = nd.relu %2 : tensor<4x16xf32>
  %7 = nd.max %6 : tensor<4x16xf32> -> tensor<4xf32>
  nd.store %7, %n : tensor<4xf32> -> memref<4xf32>
  func.return
}
// CHECK-LABEL: @initial
// CHECK:       [[OLD:%[a-z0-9]+]] = nd.load %m
// CHECK-NEXT:  [[D:%[a-z0-9]+]], [[NEW:%[a-z0-9]+]] = nd.matmul_acc {{.*}} initial [[OLD]] : tensor<4xf32>
// CHECK-NEXT:  nd.store [[D]], %d
// CHECK-NEXT:  nd.store [[NEW]], %m
// CHECK-NEXT:  [[ZERO:%[a-z0-9]+]] = nd.splat <0x0> : tensor<4xf32>
// CHECK-NEXT:  nd.matmul_acc {{.*}} initial [[ZERO]] : tensor<4xf32>

// -----

// What is overwritten in between does not move.
func.func @overwritten(%a: memref<4x8xf16>, %b: memref<8x4xf16>, %d: memref<4x4xf32>, %m: memref<4xf32>, %n: memref<4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x4xf16> -> tensor<8x4xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  %3 = nd.load %n : memref<4xf32> -> tensor<4xf32>
  nd.store %3, %m : tensor<4xf32> -> memref<4xf32>
  %4 = nd.load %m : memref<4xf32> -> tensor<4xf32>
  %5 = nd.max %2 : tensor<4x4xf32> -> tensor<4xf32>
  %6 = nd.maximum %4, %5 : tensor<4xf32>
  nd.store %2, %d : tensor<4x4xf32> -> memref<4x4xf32>
  nd.store %6, %n : tensor<4xf32> -> memref<4xf32>
  func.return
}
// CHECK-LABEL: @overwritten
// CHECK:       nd.matmul_acc {{.*}} -> tensor<4x4xf32>{{$}}
// CHECK:       nd.store
// CHECK-NEXT:  [[OLD:%[a-z0-9]+]] = nd.load %m
// CHECK-NEXT:  nd.matmul_acc {{.*}} initial [[OLD]]

// -----

func.func @too_late(%a: memref<4x8xf16>, %b: memref<8x16xf16>, %r: memref<4xf32>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %1 = nd.load %b : memref<8x16xf16> -> tensor<8x16xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf32>
  %3 = nd.splat <0x40000000> : tensor<4x16xf32>
  %4 = nd.mul %2, %3 : tensor<4x16xf32>
  %5 = nd.max %4 : tensor<4x16xf32> -> tensor<4xf32>
  nd.store %5, %r : tensor<4xf32> -> memref<4xf32>
  func.return
}
// CHECK: the maximum of sums that something was done to is not supported
