// RUN: ptoc opt --verify-diagnostics --split-input-file %s | filecheck %s

func.func @load(%a: memref<4x8xf16>) {
  %0 = nd.load %a : memref<4x8xf16> -> tensor<4x8xf32>
  func.return
}
// CHECK: the loaded tensor has the shape and element type of the array

// -----

func.func @three_dimensions(%a: memref<2x4x8xf16>) {
  %0 = nd.load %a : memref<2x4x8xf16> -> tensor<2x4x8xf16>
  func.return
}
// CHECK: arrays have at most two dimensions, of known size

// -----

func.func @column_stride(%a: memref<4x8xf16, strided<[16, 2]>>) {
  %0 = nd.load %a : memref<4x8xf16, strided<[16, 2]>> -> tensor<4x8xf16>
  func.return
}
// CHECK: only the row stride may differ from the dense one

// -----

func.func @element(%a: memref<4x8xi7>) {
  %0 = nd.load %a : memref<4x8xi7> -> tensor<4x8xi7>
  func.return
}
// CHECK: i7 is not an element type of PTO

// -----

func.func @store(%a: memref<4x8xf16>) {
  %0 = nd.splat <0x0> : tensor<8x4xf16>
  nd.store %0, %a : tensor<8x4xf16> -> memref<4x8xf16>
  func.return
}
// CHECK: the stored tensor has the shape and element type of the array

// -----

%0 = nd.splat <0x10000> : tensor<4xf16>
// CHECK: 0x10000 does not fit the 16 bits of f16

// -----

%0 = nd.splat <0x0> : tensor<2x4xf16>
%1 = nd.broadcast %0 rows <2 by 0, 3 by 1> : tensor<2x4xf16> -> tensor<6x4xf16>
// CHECK: tensor<2x4xf16> and tensor<6x4xf16> have not 3 and 6 rows

// -----

%0 = nd.splat <0x0> : tensor<2x4xf16>
%1 = nd.broadcast %0 : tensor<2x4xf16> -> tensor<4x4xf16>
// CHECK: does not repeat row by row to

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.compare lt %0, %0 : tensor<4x4xf16> -> tensor<4x4xui8>
// CHECK: a mask is a tensor of i1

// -----

%0 = nd.splat <0x0> : tensor<4x4xi1>
%1 = nd.splat <0x0> : tensor<4x8xf16>
%2 = nd.where %0, %1, %1 : tensor<4x4xi1>, tensor<4x8xf16>
// CHECK: the mask has the shape of the branches

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.matmul_acc %0, %0 : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x8xf32>
// CHECK: tensor<4x8xf16> times tensor<4x8xf16> is not tensor<4x8xf32>

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.splat <0x0> : tensor<4x4xsi8>
%2 = nd.matmul_acc %0, %1 : tensor<4x4xf16>, tensor<4x4xsi8> -> tensor<4x4xf32>
// CHECK: is no matmul pair: both are floating, signed or unsigned

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.matmul_acc %0, %0 acc %0 : tensor<4x4xf16> : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
// CHECK: the accumulator is 4x4 of FP32, not tensor<4x4xf16>

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.matmul_acc %0, %0 : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf64>
// CHECK: B.FPATR does not take FP32 to FP64

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.matmul_acc %0, %0 post <scale 0.1> : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
// CHECK: no quantization word holds scale 0.1 and offset 0

// -----

%0 = nd.splat <0x0> : tensor<4x4xsi8>
%1 = nd.matmul_acc %0, %0 post <scale 1.0, offset 256> : tensor<4x4xsi8>, tensor<4x4xsi8> -> tensor<4x4xsi8>
// CHECK: no quantization word holds scale 1.0 and offset 256

// -----

%0 = nd.splat <0x0> : tensor<4x4xsi8>
%1 = nd.matmul_acc %0, %0 post <shift 17> : tensor<4x4xsi8>, tensor<4x4xsi8> -> tensor<4x4xsi16>
// CHECK: the accumulator is shifted by 1 to 16 places, not 17

// -----

%0 = nd.splat <0x0> : tensor<4x4xsi8>
%1 = nd.matmul_acc %0, %0 post <shift 3, saturate> : tensor<4x4xsi8>, tensor<4x4xsi8> -> tensor<4x4xsi16>
// CHECK: PreQuantMode 13 does not saturate

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.matmul_acc %0, %0 post <rtz> : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
// CHECK: PreQuantMode 1 has its own rounding

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.matmul_acc %0, %0 post <leaky -0.5> : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
// CHECK: no slope word holds -0.5

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.matmul_acc %0, %0 post <hif8> : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
// CHECK: hif8 says what bytes the result is, and of no other

// -----

%0 = nd.splat <0x0> : tensor<4x4xsi8>
%1 = nd.matmul_acc %0, %0 post <scale 1.0, hif8> : tensor<4x4xsi8>, tensor<4x4xsi8> -> tensor<4x4xui8>
// CHECK: B.FPATR does not take S32 to HiF8

// -----

%0 = nd.splat <0x0> : tensor<4x4xsi32>
%1 = nd.hif8 %0 : tensor<4x4xsi32> -> tensor<4x4xui8>
// CHECK: HiF8 codes are those of floats

// -----

func.func @f(%x: memref<4x4xsi4, strided<[8, 1]>>) {
  %0 = nd.load %x : memref<4x4xsi4, strided<[8, 1]>> -> tensor<4x4xsi4>
  func.return
}
// CHECK: rows of packed elements are dense

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.cast %0 : tensor<4x4xf16> -> tensor<4x5xf32>
// CHECK: a cast keeps the shape

// -----

func.func @displacements(%out: memref<4x4xf16>) {
  %0 = nd.splat <0x0> : tensor<4x4xf16>
  %1 = nd.splat <0x0> : tensor<4x4xi1>
  nd.scatter %0, %out at %0 where %1 : tensor<4x4xf16> -> memref<4x4xf16>, tensor<4x4xf16>, tensor<4x4xi1>
  func.return
}
// CHECK: displacements are 32- or 64-bit integers

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.splat <0x0> : tensor<4xui8>
%2 = nd.matmul_acc %0, %0 scale %1 : tensor<4xui8> : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
// CHECK: a scale divides a floating accumulator

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.splat <0x0> : tensor<4x4xf32>
%2 = nd.splat <0x0> : tensor<5xui8>
%3 = nd.matmul_acc %0, %0 acc %1 : tensor<4x4xf32> scale %2 : tensor<5xui8> : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
// CHECK: a scale is one unsigned byte for each of 4 rows, not tensor<5xui8>

// -----

%0 = nd.splat <0x0> : tensor<4x4xf32>
%1 = nd.splat <0x0> : tensor<4x2xsi32>
%2 = nd.ldexp %0, %1 : tensor<4x4xf32>, tensor<4x2xsi32>
// CHECK: there is one exponent per row

// -----

%0 = nd.splat <0x0> : tensor<4x4xf16>
%1 = nd.matmul_acc %0, %0 post <scale [1.0, 2.0]> : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
// CHECK: parameters by column have 4 numbers here

// -----

%0 = nd.constant <0x1, 0x2, 0x3> : tensor<2xui8>
// CHECK: 3 elements are no row like tensor<2xui8>

// -----

%0 = nd.constant <0x1, 0x100> : tensor<2xui8>
// CHECK: an element does not fit the 8 bits of ui8

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x4xf16>
%2 = nd.matmul_acc %0, %1 trans_a : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
// CHECK: tensor<4x8xf16> times tensor<8x4xf16> is not tensor<4x4xf32>

// -----

%0 = nd.splat <0x0> : tensor<4xf16>
%1 = nd.matmul_acc %0, %0 : tensor<4xf16>, tensor<4xf16> -> tensor<4x4xf32>
// CHECK: tensor<4xf16> times tensor<4xf16> is not tensor<4x4xf32>

// -----

%0 = nd.splat <0x0> : tensor<4xf16>
%1 = nd.matmul_acc %0, %0 trans_a : tensor<4xf16>, tensor<4xf16> -> tensor<f32>
// CHECK: tensor<4xf16> times tensor<4xf16> is no product of matrices or vectors

// -----

%0 = nd.splat <0x0> : tensor<f16>
%1 = nd.splat <0x0> : tensor<1x4xf16>
%2 = nd.matmul_acc %0, %1 : tensor<f16>, tensor<1x4xf16> -> tensor<4xf32>
// CHECK: tensor<f16> times tensor<1x4xf16> is no product of matrices or vectors

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.transpose %0 : tensor<4x8xf16> -> tensor<4x8xf16>
// CHECK: tensor<4x8xf16> is not the transpose of tensor<4x8xf16>

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.transpose %0 : tensor<4x8xf16> -> tensor<8x4xf32>
// CHECK: transposing keeps the element type

// -----

%0 = nd.splat <0x0> : tensor<13x8xf16>
%1 = nd.splat <0x0> : tensor<8x4xf16>
%2 = nd.matmul_acc %0, %1 batch <3 a 1 b 0> : tensor<13x8xf16>, tensor<8x4xf16> -> tensor<12x4xf32>
// CHECK: tensor<13x8xf16> is no stack of 3 matrices

// -----

%0 = nd.splat <0x0> : tensor<12x8xf16>
%1 = nd.splat <0x0> : tensor<8x4xf16>
%2 = nd.matmul_acc %0, %1 batch <3 a 1 b 0> : tensor<12x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
// CHECK: tensor<12x8xf16> times tensor<8x4xf16> is not tensor<4x4xf32>

// -----

%0 = nd.splat <0x0> : tensor<8xf16>
%1 = nd.splat <0x0> : tensor<8x4xf16>
%2 = nd.matmul_acc %0, %1 batch <3 a 1 b 0> : tensor<8xf16>, tensor<8x4xf16> -> tensor<4xf32>
// CHECK: tensor<8xf16> is no stack of 3 matrices

// -----

%0 = nd.splat <0x0> : tensor<12x8xf16>
%1 = nd.splat <0x0> : tensor<8xf16>
%2 = nd.matmul_acc %0, %1 batch <3 a 1 b 0> : tensor<12x8xf16>, tensor<8xf16> -> tensor<12xf32>
// CHECK: a stack of products has matrices on the right, and no scale

// -----

%0 = nd.splat <0x0> : tensor<12x8xf16>
%1 = nd.splat <0x0> : tensor<8x4xf16>
%2 = nd.matmul_acc %0, %1 batch <0 a 1 b 0> : tensor<12x8xf16>, tensor<8x4xf16> -> tensor<12x4xf32>
// CHECK: a stack has one product or more along every axis

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x16xf16>
%2, %3 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf32> row_max tensor<16xf32>
// CHECK: there is one maximum for each of 4 rows, not tensor<16xf32>

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x16xf16>
%2, %3 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf16> row_max tensor<4xf16>
// CHECK: maxima are those of sums in FP32

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x48xf16>
%2, %3 = nd.matmul_acc %0, %1 group 12 : tensor<4x8xf16>, tensor<8x48xf16> -> tensor<4x48xf32> group_max tensor<4x4xf32>
// CHECK: 48 columns are no groups of 12

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x20xf16>
%2, %3 = nd.matmul_acc %0, %1 group 8 : tensor<4x8xf16>, tensor<8x20xf16> -> tensor<4x20xf32> group_max tensor<4x3xf32>
// CHECK: 20 columns are no groups of 8

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x16xf16>
%2, %3 = nd.matmul_acc %0, %1 group 8 : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf32> group_max tensor<4x3xf32>
// CHECK: there are 4x2 maxima of groups, not tensor<4x3xf32>

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x16xf16>
%2, %3 = nd.matmul_acc %0, %1 : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf32> group_max tensor<4x2xf32>
// CHECK: group maxima, and they alone, have a number of columns

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x16xf16>
%2 = nd.splat <0x0> : tensor<4xf32>
%3 = nd.matmul_acc %0, %1 initial %2 : tensor<4xf32> : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf32>
// CHECK: row maxima alone have an initial value

// -----

%0 = nd.splat <0x0> : tensor<4x8xf16>
%1 = nd.splat <0x0> : tensor<8x16xf16>
%2 = nd.matmul_acc %0, %1 absolute : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf32>
// CHECK: there are no maxima of magnitudes here

// -----

%0 = nd.splat <0x0> : tensor<4x16xf32>
%1 = nd.max %0 group 5 : tensor<4x16xf32> -> tensor<4x3xf32>
// CHECK: tensor<4x3xf32> holds no maximum of each 5 columns of tensor<4x16xf32>

// -----

%0 = nd.splat <0x0> : tensor<4x16xf32>
%1 = nd.max %0 : tensor<4x16xf32> -> tensor<4xf16>
// CHECK: a maximum has the type of the elements
