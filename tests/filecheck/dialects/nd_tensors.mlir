// RUN: ptoc opt %s | ptoc opt | filecheck %s
// RUN: ptoc opt %s --print-op-generic | ptoc opt | filecheck %s

// CHECK-LABEL: func.func @every_operation
func.func @every_operation(%a: memref<4x8xf32>, %out: memref<4x8xf32>) {
  // CHECK: nd.load_view %a view <0 [4, 8] [8, 1]> : memref<4x8xf32> -> tensor<4x8xf32>
  %x = nd.load_view %a view <0 [4, 8] [8, 1]> : memref<4x8xf32> -> tensor<4x8xf32>
  // CHECK: nd.load_view %a view <7 [2, 3, 4] [0, 8, -2]> : memref<4x8xf32> -> tensor<2x3x4xf32>
  %r = nd.load_view %a view <7 [2, 3, 4] [0, 8, -2]> : memref<4x8xf32> -> tensor<2x3x4xf32>
  // CHECK: nd.load_view %a view <31 [] []> : memref<4x8xf32> -> tensor<f32>
  %last = nd.load_view %a view <31 [] []> : memref<4x8xf32> -> tensor<f32>
  // CHECK: nd.elementwise "exp" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %e = nd.elementwise "exp" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: nd.operation "TADD" %x, %e : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %o = nd.operation "TADD" %x, %e : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: nd.operation "TCMP" %x, %o datr {CMode = 2 : i64} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xi1>
  %q = nd.operation "TCMP" %x, %o datr {CMode = 2 : i64} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: nd.elementwise "select" %q, %x, %o : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %w = nd.elementwise "select" %q, %x, %o : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: nd.operation "TXOR" %q, %q : tensor<4x8xi1>, tensor<4x8xi1> -> tensor<4x8xi1>
  %n = nd.operation "TXOR" %q, %q : tensor<4x8xi1>, tensor<4x8xi1> -> tensor<4x8xi1>
  // CHECK: nd.reduce argmax %o axis 0 : tensor<4x8xf32> -> tensor<1x8xsi64>
  %p = nd.reduce argmax %o axis 0 : tensor<4x8xf32> -> tensor<1x8xsi64>
  // CHECK: nd.fold "sum" %o axis 1 chunk 4 : tensor<4x8xf32> -> tensor<4x1xf32>
  %s = nd.fold "sum" %o axis 1 chunk 4 : tensor<4x8xf32> -> tensor<4x1xf32>
  // CHECK: nd.reshape %s : tensor<4x1xf32> -> tensor<2x2xf32>
  %t = nd.reshape %s : tensor<4x1xf32> -> tensor<2x2xf32>
  // CHECK: nd.expand %s : tensor<4x1xf32> -> tensor<3x4x8xf32>
  %b = nd.expand %s : tensor<4x1xf32> -> tensor<3x4x8xf32>
  // CHECK: nd.iota 0 step 4 axis 1 : tensor<2x8xsi32>
  %i = nd.iota 0 step 4 axis 1 : tensor<2x8xsi32>
  // CHECK: nd.gather %a at %i : memref<4x8xf32>, tensor<2x8xsi32> -> tensor<2x8xf32>
  %g = nd.gather %a at %i : memref<4x8xf32>, tensor<2x8xsi32> -> tensor<2x8xf32>
  // CHECK: nd.store_view %x, %out view <24 [4, 8] [-8, 1]> alone : tensor<4x8xf32> -> memref<4x8xf32>
  nd.store_view %x, %out view <24 [4, 8] [-8, 1]> alone : tensor<4x8xf32> -> memref<4x8xf32>
  // CHECK: nd.store_at %g, %out at %i : tensor<2x8xf32> -> memref<4x8xf32>, tensor<2x8xsi32>
  nd.store_at %g, %out at %i : tensor<2x8xf32> -> memref<4x8xf32>, tensor<2x8xsi32>
  func.return
}
