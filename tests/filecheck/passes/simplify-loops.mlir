// RUN: ptoc opt -p simplify-loops --print-debuginfo %s | filecheck %s

func.func @addresses(%a: memref<64x4xf32>) {
  %zero = arith.constant 0 : index loc("k.py":1:1)
  %four = arith.constant 4 : index loc("k.py":2:1)
  %stop = arith.constant 64 : index loc("k.py":3:1)
  %width = arith.constant 16 : index loc("k.py":4:1)
  scf.for %i = %zero to %stop step %four {
    %pe = tile.pe_id loc("k.py":5:1)
    %again = tile.pe_id loc("k.py":6:1)
    %unused = arith.muli %pe, %pe : index loc("k.py":7:1)
    %sum = arith.addi %pe, %again : index loc("k.py":8:1)
    %at = arith.addi %sum, %i : index loc("k.py":9:1)
    %t = tile.load %a[%at] stride %width size %four, %four pes 1 : memref<64x4xf32> -> !tile.tile<4x4xf32, norm> loc("k.py":10:1)
    tile.store %t, %a[%at] stride %width size %four, %four pes 1 : !tile.tile<4x4xf32, norm> -> memref<64x4xf32> loc("k.py":11:1)
  } loc("k.py":12:1)
  func.return
}
// What does not change is computed once, before the loop, and keeps its place in the source.
// CHECK-LABEL: @addresses
// CHECK:       [[PE:%[a-z0-9_]+]] = tile.pe_id loc("k.py":5:1)
// CHECK-NEXT:  [[SUM:%[a-z0-9_]+]] = arith.addi [[PE]], [[PE]] : index loc("k.py":8:1)
// CHECK-NEXT:  scf.for [[I:%[a-z0-9_]+]] =
// CHECK-NEXT:  [[AT:%[a-z0-9_]+]] = arith.addi [[SUM]], [[I]] : index loc("k.py":9:1)
// Accesses of memory stay where they are.
// CHECK-NEXT:  tile.load %a[[[AT]]]
// CHECK-NEXT:  tile.store
// CHECK-NOT:   arith.muli
