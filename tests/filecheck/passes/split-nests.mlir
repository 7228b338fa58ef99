// RUN: ptoc opt -p split-nests --split-input-file %s | filecheck %s

// One of two sums of one array along different axes goes through memory.
// CHECK-LABEL: func.func @both_axes
// CHECK: %[[ROWS:.*]] = nd.fold "sum" %{{.*}} axis 0
// CHECK: nd.store_view %[[ROWS]], %tmp0 view <0 [1, 8] [8, 1]>
// CHECK-NEXT: %[[LOADED:.*]] = nd.load_view %tmp0 view <0 [1, 8] [8, 1]>
// CHECK: nd.reshape %[[LOADED]]
// CHECK: nd.operation "TADD"
func.func @both_axes(%a: memref<8x8xsi32>, %out: memref<8xsi32>) {
  %x = nd.load_view %a view <0 [8, 8] [8, 1]> : memref<8x8xsi32> -> tensor<8x8xsi32>
  %rows = nd.fold "sum" %x axis 0 chunk 8 : tensor<8x8xsi32> -> tensor<1x8xsi32>
  %columns = nd.fold "sum" %x axis 1 chunk 8 : tensor<8x8xsi32> -> tensor<8x1xsi32>
  %0 = nd.reshape %rows : tensor<1x8xsi32> -> tensor<8xsi32>
  %1 = nd.reshape %columns : tensor<8x1xsi32> -> tensor<8xsi32>
  %sum = nd.operation "TADD" %1, %0 : tensor<8xsi32>, tensor<8xsi32> -> tensor<8xsi32>
  nd.store_view %sum, %out view <0 [8] [1]> : tensor<8xsi32> -> memref<8xsi32>
  func.return
}

// -----

// What is only loaded is loaded once more.
// CHECK-LABEL: func.func @twice
// CHECK-COUNT-2: nd.load_view %a
// CHECK-NOT: nd.store_view %{{.*}}, %tmp0
func.func @twice(%a: memref<8xsi32>, %out: memref<8x8xsi32>) {
  %x = nd.load_view %a view <0 [8] [1]> : memref<8xsi32> -> tensor<8xsi32>
  %0 = nd.expand %x : tensor<8xsi32> -> tensor<8x8xsi32>
  %1 = nd.reshape %x : tensor<8xsi32> -> tensor<8x1xsi32>
  %2 = nd.expand %1 : tensor<8x1xsi32> -> tensor<8x8xsi32>
  %3 = nd.operation "TADD" %0, %2 : tensor<8x8xsi32>, tensor<8x8xsi32> -> tensor<8x8xsi32>
  nd.store_view %3, %out view <0 [8, 8] [8, 1]> : tensor<8x8xsi32> -> memref<8x8xsi32>
  func.return
}

// -----

// A nest that needs nothing stays as it is.
// CHECK-LABEL: func.func @one_nest
// CHECK-NOT: %tmp
func.func @one_nest(%a: memref<8x8xsi32>, %out: memref<8x8xsi32>) {
  %x = nd.load_view %a view <0 [8, 8] [8, 1]> : memref<8x8xsi32> -> tensor<8x8xsi32>
  %m = nd.fold "max" %x axis 1 chunk 8 : tensor<8x8xsi32> -> tensor<8x1xsi32>
  %b = nd.expand %m : tensor<8x1xsi32> -> tensor<8x8xsi32>
  %y = nd.operation "TSUB" %x, %b : tensor<8x8xsi32>, tensor<8x8xsi32> -> tensor<8x8xsi32>
  nd.store_view %y, %out view <0 [8, 8] [8, 1]> : tensor<8x8xsi32> -> memref<8x8xsi32>
  func.return
}
