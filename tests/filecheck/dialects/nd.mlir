// RUN: ptoc opt %s | ptoc opt | filecheck %s
// RUN: ptoc opt %s --print-op-generic | ptoc opt | filecheck %s
// RUN: ptoc opt %s --print-debuginfo | ptoc opt --print-debuginfo | filecheck %s --check-prefix LOC

// CHECK-LABEL: func.func @every_operation
// LOC:         nd.load %a {{.*}} loc("kernel.py":3:9)
func.func @every_operation(%a: memref<4x8xf16>, %b: memref<8x4xf16, strided<[6, 1]>>, %c: memref<4xf32>, %at: memref<4x4xsi32>, %stack: memref<12x8xf16>, %out: memref<4x4xf32>) {
  // CHECK: nd.load %a : memref<4x8xf16> -> tensor<4x8xf16>
  %x = nd.load %a : memref<4x8xf16> -> tensor<4x8xf16> loc("kernel.py":3:9)
  // CHECK: nd.load %b : memref<8x4xf16, strided<[6, 1]>> -> tensor<8x4xf16>
  %y = nd.load %b : memref<8x4xf16, strided<[6, 1]>> -> tensor<8x4xf16>
  %z = nd.load %c : memref<4xf32> -> tensor<4xf32>
  // CHECK: nd.broadcast %z : tensor<4xf32> -> tensor<4x4xf32>
  %row = nd.broadcast %z : tensor<4xf32> -> tensor<4x4xf32>
  // CHECK: nd.broadcast %x rows <3 by 0, 4 by 1> : tensor<4x8xf16> -> tensor<12x8xf16>
  %repeated = nd.broadcast %x rows <3 by 0, 4 by 1> : tensor<4x8xf16> -> tensor<12x8xf16>
  // CHECK: nd.matmul_acc %x, %y acc %row : tensor<4x4xf32> post <relu> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  %d = nd.matmul_acc %x, %y acc %row : tensor<4x4xf32> post <relu> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  // CHECK: nd.transpose %x : tensor<4x8xf16> -> tensor<8x4xf16>
  %xt = nd.transpose %x : tensor<4x8xf16> -> tensor<8x4xf16>
  // CHECK: nd.matmul_acc %x, %x trans_b : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x4xf32>
  %t = nd.matmul_acc %x, %x trans_b : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x4xf32>
  // CHECK: nd.matmul_acc %y, %x trans_a trans_b acc %t : tensor<4x4xf32> : tensor<8x4xf16>, tensor<4x8xf16> -> tensor<4x4xf32>
  %u = nd.matmul_acc %y, %x trans_a trans_b acc %t : tensor<4x4xf32> : tensor<8x4xf16>, tensor<4x8xf16> -> tensor<4x4xf32>
  // CHECK: nd.matmul_acc %x, %y : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xbf16>
  %e = nd.matmul_acc %x, %y : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xbf16>
  // CHECK: nd.matmul_acc %z, %d : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
  %vm = nd.matmul_acc %z, %d : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
  // CHECK: nd.matmul_acc %d, %z acc %vm : tensor<4xf32> : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  %mv = nd.matmul_acc %d, %z acc %vm : tensor<4xf32> : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: nd.matmul_acc %z, %z : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  %vv = nd.matmul_acc %z, %z : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  // CHECK: nd.add %d, %row : tensor<4x4xf32>
  %f = nd.add %d, %row : tensor<4x4xf32>
  // CHECK: nd.matmul_acc %x, %y post <leaky 0.375, scale 0.5> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
  %leaky = nd.matmul_acc %x, %y post <leaky 0.375, scale 0.5> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
  %bytes = nd.splat <0x1> : tensor<8x8xsi8>
  // CHECK: nd.matmul_acc %bytes, %bytes post <scale 2.0, offset -3, rtz, saturate> : tensor<8x8xsi8>, tensor<8x8xsi8> -> tensor<8x8xsi8>
  %requantised = nd.matmul_acc %bytes, %bytes post <scale 2.0, offset -3, rtz, saturate> : tensor<8x8xsi8>, tensor<8x8xsi8> -> tensor<8x8xsi8>
  // CHECK: nd.matmul_acc %bytes, %bytes post <shift 16> : tensor<8x8xsi8>, tensor<8x8xsi8> -> tensor<8x8xsi16>
  %shifted = nd.matmul_acc %bytes, %bytes post <shift 16> : tensor<8x8xsi8>, tensor<8x8xsi8> -> tensor<8x8xsi16>
  // CHECK: nd.matmul_acc %x, %y post <scale 0.5, saturate, hif8> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xui8>
  %hif8 = nd.matmul_acc %x, %y post <scale 0.5, saturate, hif8> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xui8>
  // CHECK: nd.hif8 %f : tensor<4x4xf32> -> tensor<4x4xui8>
  %codes = nd.hif8 %f : tensor<4x4xf32> -> tensor<4x4xui8>
  // CHECK: nd.matmul_acc %x, %y post <leaky [0.5, 0.25, 0.125, 2.0], scale [1.0, 2.0, 4.0, 8.0]> :
  %columns = nd.matmul_acc %x, %y post <leaky [0.5, 0.25, 0.125, 2.0], scale [1.0, 2.0, 4.0, 8.0]> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  // CHECK: nd.constant <0x3f800000, 0x0> : tensor<2xf32>
  %numbers = nd.constant <0x3f800000, 0x0> : tensor<2xf32>
  // CHECK: nd.mul %f, %f : tensor<4x4xf32>
  %scaled = nd.mul %f, %f : tensor<4x4xf32>
  // CHECK: nd.maximum %f, %scaled : tensor<4x4xf32>
  %larger = nd.maximum %f, %scaled : tensor<4x4xf32>
  // CHECK: nd.minimum %f, %scaled : tensor<4x4xf32>
  %smaller = nd.minimum %f, %scaled : tensor<4x4xf32>
  // CHECK: nd.round floor %f : tensor<4x4xf32>
  %rounded = nd.round floor %f : tensor<4x4xf32>
  // CHECK: nd.neg %at_ : tensor<4x4xsi32>
  %at_ = nd.load %at : memref<4x4xsi32> -> tensor<4x4xsi32>
  %minus = nd.neg %at_ : tensor<4x4xsi32>
  // CHECK: nd.column %z : tensor<4xf32> -> tensor<4x1xf32>
  %upright = nd.column %z : tensor<4xf32> -> tensor<4x1xf32>
  // CHECK: nd.ldexp %f, %exponents : tensor<4x4xf32>, tensor<4x1xsi32>
  %exponents = nd.splat <0x1> : tensor<4x1xsi32>
  %halves = nd.ldexp %f, %exponents : tensor<4x4xf32>, tensor<4x1xsi32>
  // CHECK: nd.matmul_acc %x, %y acc %f : tensor<4x4xf32> scale %twos : tensor<4xui8> post <relu> : tensor<4x8xf16>
  %twos = nd.splat <0x2> : tensor<4xui8>
  %started = nd.matmul_acc %x, %y acc %f : tensor<4x4xf32> scale %twos : tensor<4xui8> post <relu> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  // Maxima of the sums are further results.
  // CHECK: nd.matmul_acc %x, %y post <relu> initial %z : tensor<4xf32> absolute : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16> row_max tensor<4xf32>
  %done, %rows = nd.matmul_acc %x, %y post <relu> initial %z : tensor<4xf32> absolute : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16> row_max tensor<4xf32>
  // CHECK: nd.matmul_acc %bytes, %bytes group 8 : tensor<8x8xsi8>, tensor<8x8xsi8> -> tensor<8x8xsi32> row_max tensor<8x1xsi32> group_max tensor<8x1xsi32>
  %more, %column, %groups = nd.matmul_acc %bytes, %bytes group 8 : tensor<8x8xsi8>, tensor<8x8xsi8> -> tensor<8x8xsi32> row_max tensor<8x1xsi32> group_max tensor<8x1xsi32>
  // CHECK: nd.abs %f : tensor<4x4xf32>
  %magnitudes = nd.abs %f : tensor<4x4xf32>
  // CHECK: nd.max %magnitudes : tensor<4x4xf32> -> tensor<4xf32>
  %largest = nd.max %magnitudes : tensor<4x4xf32> -> tensor<4xf32>
  // CHECK: nd.max %f group 2 : tensor<4x4xf32> -> tensor<4x2xf32>
  %pairs = nd.max %f group 2 : tensor<4x4xf32> -> tensor<4x2xf32>
  // CHECK: nd.shift_right %bytes, %bytes : tensor<8x8xsi8>
  %moved = nd.shift_right %bytes, %bytes : tensor<8x8xsi8>
  // CHECK: nd.relu %f : tensor<4x4xf32>
  %g = nd.relu %f : tensor<4x4xf32>
  // CHECK: nd.cast %e : tensor<4x4xbf16> -> tensor<4x4xf32>
  %h = nd.cast %e : tensor<4x4xbf16> -> tensor<4x4xf32>
  // A NaN with a payload keeps its bits.
  %s = nd.load %stack : memref<12x8xf16> -> tensor<12x8xf16>
  // CHECK: nd.matmul_acc %s, %x trans_b batch <3 a 1 b 0> : tensor<12x8xf16>, tensor<4x8xf16> -> tensor<12x4xf32>
  %sum = nd.matmul_acc %s, %x trans_b batch <3 a 1 b 0> : tensor<12x8xf16>, tensor<4x8xf16> -> tensor<12x4xf32>
  // CHECK: nd.matmul_acc %z, %d trans_b batch <2 a 0 b 1> : tensor<4xf32>, tensor<4x4xf32> -> tensor<2x2xf32>
  %each = nd.matmul_acc %z, %d trans_b batch <2 a 0 b 1> : tensor<4xf32>, tensor<4x4xf32> -> tensor<2x2xf32>
  // CHECK: nd.matmul_acc %s, %y batch <2 a 0 b 0, 3 a 1 b 0> : tensor<12x8xf16>, tensor<8x4xf16> -> tensor<24x4xf32>
  %sums = nd.matmul_acc %s, %y batch <2 a 0 b 0, 3 a 1 b 0> : tensor<12x8xf16>, tensor<8x4xf16> -> tensor<24x4xf32>
  // CHECK: nd.splat <0x7fc00001> : tensor<4x4xf32>
  %nan = nd.splat <0x7fc00001> : tensor<4x4xf32>
  // CHECK: nd.compare ge %g, %nan : tensor<4x4xf32> -> tensor<4x4xi1>
  %mask = nd.compare ge %g, %nan : tensor<4x4xf32> -> tensor<4x4xi1>
  // CHECK: nd.where %mask, %g, %h : tensor<4x4xi1>, tensor<4x4xf32>
  %w = nd.where %mask, %g, %h : tensor<4x4xi1>, tensor<4x4xf32>
  // CHECK: nd.store %w, %out : tensor<4x4xf32> -> memref<4x4xf32>
  nd.store %w, %out : tensor<4x4xf32> -> memref<4x4xf32>
  // CHECK: nd.store %w, %out alone : tensor<4x4xf32> -> memref<4x4xf32>
  nd.store %w, %out alone : tensor<4x4xf32> -> memref<4x4xf32>
  // CHECK: nd.masked_store %mask, %w, %out together 3 : tensor<4x4xi1>, tensor<4x4xf32> -> memref<4x4xf32>
  nd.masked_store %mask, %w, %out together 3 : tensor<4x4xi1>, tensor<4x4xf32> -> memref<4x4xf32>
  %n = nd.load %at : memref<4x4xsi32> -> tensor<4x4xsi32>
  // CHECK: nd.scatter %w, %out at %n where %mask alone : tensor<4x4xf32> -> memref<4x4xf32>, tensor<4x4xsi32>, tensor<4x4xi1>
  nd.scatter %w, %out at %n where %mask alone : tensor<4x4xf32> -> memref<4x4xf32>, tensor<4x4xsi32>, tensor<4x4xi1>
  func.return
}
