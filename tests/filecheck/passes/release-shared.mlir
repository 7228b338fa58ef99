// RUN: ptoc opt -p release-shared --verify-diagnostics --split-input-file %s | filecheck %s

// S0 and S1 hold 192 KiB when a loop loads 128 KiB into S2. Nobody reads S0 any more, so a cell takes its place.
func.func @in_the_way(%a: memref<512x128xf16>) {
  %0 = arith.constant 0 : index
  %128 = arith.constant 128 : index
  %256 = arith.constant 256 : index
  %512 = arith.constant 512 : index
  %x = tile.load_shared %a[%0] stride %256 size %512, %128 shared 0 pes 1 : memref<512x128xf16> -> !tile.shared<512x128xf16>
  %y = tile.load_shared %a[%0] stride %256 size %256, %128 shared 1 pes 1 : memref<512x128xf16> -> !tile.shared<256x128xf16>
  scf.for %i = %0 to %128 step %128 {
    %z = tile.load_shared %a[%0] stride %256 size %512, %128 shared 2 pes 1 : memref<512x128xf16> -> !tile.shared<512x128xf16>
  }
  func.return
}
// CHECK-LABEL: @in_the_way
// CHECK:       tile.load_shared %a{{.*}} shared 0
// CHECK-NEXT:  tile.load_shared %a{{.*}} shared 1
// CHECK-NEXT:  [[BYTE:%[a-z0-9_]+]] = tile.get_global
// CHECK-NEXT:  tile.load_shared [[BYTE]][%{{.*}}] stride %{{.*}} size %{{.*}}, %{{.*}} shared 0 pes 1 : memref<1xui8> -> !tile.shared<1x1xui8>
// CHECK-NEXT:  scf.for
// CHECK-NEXT:    tile.load_shared %a{{.*}} shared 2

// -----

// A later bundle reads a view of S0, so S1 gives way.
func.func @still_read(%a: memref<512x128xf16>, %b: memref<128x8xf16>) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %128 = arith.constant 128 : index
  %256 = arith.constant 256 : index
  %512 = arith.constant 512 : index
  %x = tile.load_shared %a[%0] stride %256 size %512, %128 shared 0 pes 1 : memref<512x128xf16> -> !tile.shared<512x128xf16>
  %view = tile.view %x[%0] : !tile.shared<512x128xf16> -> !tile.shared<128x128xf16>
  %y = tile.load_shared %a[%0] stride %256 size %256, %128 shared 1 pes 1 : memref<512x128xf16> -> !tile.shared<256x128xf16>
  %b0 = tile.load_shared %b[%0] stride %16 size %128, %8 shared 63 pes 1 : memref<128x8xf16> -> !tile.shared<128x8xf16>
  scf.for %i = %0 to %128 step %128 {
    %z = tile.load_shared %a[%0] stride %256 size %256, %128 shared 2 pes 1 : memref<512x128xf16> -> !tile.shared<256x128xf16>
    %d = tile.matmul %view, %b0 size %128, %8, %128 pes 4 : !tile.shared<128x128xf16>, !tile.shared<128x8xf16> -> !tile.tile<32x8xf32, cube_m32>
  }
  func.return
}
// CHECK-LABEL: @still_read
// CHECK:       tile.load_shared %b{{.*}} shared 63
// CHECK-NEXT:  tile.get_global
// CHECK-NEXT:  tile.load_shared %{{.*}} shared 1 pes 1 : memref<1xui8>
// CHECK-NEXT:  scf.for

// -----

// An iteration follows the end of the one before: each of the two inner loops finds what the other one has left.
func.func @around(%a: memref<512x128xf16>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %9 = arith.constant 9 : index
  %128 = arith.constant 128 : index
  %256 = arith.constant 256 : index
  %512 = arith.constant 512 : index
  scf.for %batch = %0 to %9 step %1 {
    scf.for %i = %0 to %9 step %1 {
      %x = tile.load_shared %a[%0] stride %256 size %512, %128 shared 0 pes 1 : memref<512x128xf16> -> !tile.shared<512x128xf16>
      %y = tile.load_shared %a[%0] stride %256 size %256, %128 shared 1 pes 1 : memref<512x128xf16> -> !tile.shared<256x128xf16>
    }
    scf.for %i = %0 to %9 step %1 {
      %z = tile.load_shared %a[%0] stride %256 size %512, %128 shared 2 pes 1 : memref<512x128xf16> -> !tile.shared<512x128xf16>
    }
  }
  func.return
}
// CHECK-LABEL: @around
// CHECK:       scf.for %batch
// CHECK-NEXT:    tile.get_global
// CHECK-NEXT:    tile.load_shared %{{.*}} shared 2 pes 1 : memref<1xui8>
// CHECK-NEXT:    scf.for
// CHECK:         tile.load_shared %a{{.*}} shared 1
// CHECK:         tile.get_global
// CHECK-NEXT:    tile.load_shared %{{.*}} shared 0 pes 1 : memref<1xui8>
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.load_shared %a{{.*}} shared 2

// -----

// Nothing may give way but S2, whose cell is too much beside S0 and S1.
func.func @too_much(%a: memref<512x128xf16>, %b: memref<512x128xf16>) {
  %0 = arith.constant 0 : index
  %128 = arith.constant 128 : index
  %256 = arith.constant 256 : index
  %512 = arith.constant 512 : index
  scf.for %i = %0 to %512 step %128 {
    %x = tile.load_shared %a[%0] stride %256 size %512, %128 shared 0 pes 1 : memref<512x128xf16> -> !tile.shared<512x128xf16>
    %view = tile.view %x[%0] : !tile.shared<512x128xf16> -> !tile.shared<128x128xf16>
    %y = tile.load_shared %b[%0] stride %256 size %512, %128 shared 1 pes 1 : memref<512x128xf16> -> !tile.shared<512x128xf16>
    %part = tile.view %y[%0] : !tile.shared<512x128xf16> -> !tile.shared<128x128xf16>
    %z = tile.load_shared %b[%0] stride %256 size %128, %128 shared 2 pes 1 : memref<512x128xf16> -> !tile.shared<128x128xf16>
    %d = tile.matmul %view, %z size %128, %128, %128 pes 4 : !tile.shared<128x128xf16>, !tile.shared<128x128xf16> -> !tile.tile<32x128xf32, cube_m32>
    %e = tile.matmul %part, %z size %128, %128, %128 pes 4 : !tile.shared<128x128xf16>, !tile.shared<128x128xf16> -> !tile.tile<32x128xf32, cube_m32>
  }
  func.return
}
// CHECK:      262272 bytes of Shared tiles, 262144 exist
// CHECK:      rule: shared-pool: 
