// RUN: ptoc opt -p rematerialize --split-input-file %s | filecheck %s
// RUN: ptoc opt -p 'rematerialize{everywhere=true}' --split-input-file %s | filecheck %s --check-prefix ALL

func.func @addresses(%a: memref<64x4xf32>, %t: !tile.tile<4x4xf32, norm>) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %width = arith.constant 16 : index
  %stop = arith.constant 64 : index
  %pe = tile.pe_id
  %start = arith.muli %pe, %width : index
  scf.for %i = %zero to %stop step %four {
    %at = arith.addi %start, %i : index
    tile.store %t, %a[%at] stride %width size %four, %four pes 1 : !tile.tile<4x4xf32, norm> -> memref<64x4xf32>
    tile.store %t, %a[%at] stride %width size %four, %four pes 1 : !tile.tile<4x4xf32, norm> -> memref<64x4xf32>
  }
  tile.store %t, %a[%start] stride %width size %four, %four pes 1 : !tile.tile<4x4xf32, norm> -> memref<64x4xf32>
  func.return
}
// Once for each loop nest and each bundle that uses a value; inside of the loop nothing changes.
// CHECK-LABEL: @addresses
// CHECK:       tile.pe_id
// CHECK-NEXT:  arith.muli
// CHECK-NEXT:  scf.for
// CHECK-NEXT:  [[AT:%[a-z0-9_]+]] = arith.addi
// CHECK-NEXT:  tile.store %t, %a[[[AT]]]
// CHECK-NEXT:  tile.store %t, %a[[[AT]]]
// CHECK-NEXT:  }
// CHECK-NEXT:  arith.muli
// CHECK-NEXT:  tile.store

// ALL-LABEL: @addresses
// ALL:       scf.for
// ALL:       arith.muli
// ALL:       arith.addi
// ALL-NEXT:  tile.store
// ALL:       arith.muli
// ALL:       arith.addi
// ALL-NEXT:  tile.store
// ALL-NEXT:  }
// ALL-NEXT:  arith.muli
// ALL-NEXT:  tile.store

// -----

// Constants and loads stay where they are.
func.func @nothing(%a: memref<4x4xf32>) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %t = tile.load %a[%zero] stride %four size %four, %four pes 1 : memref<4x4xf32> -> !tile.tile<4x4xf32, norm>
  tile.store %t, %a[%zero] stride %four size %four, %four pes 1 : !tile.tile<4x4xf32, norm> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @nothing
// CHECK:       arith.constant 0
// CHECK-NEXT:  arith.constant 4
// CHECK-NEXT:  tile.load
// CHECK-NEXT:  tile.store
