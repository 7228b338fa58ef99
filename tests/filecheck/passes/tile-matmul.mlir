// RUN: ptoc opt -p tile-matmul --split-input-file %s | filecheck %s
// RUN: ptoc opt -p 'tile-matmul{rotation=false residency=false}' --split-input-file %s | filecheck %s --check-prefix=ALONE

// One group of 33 rows: 16 on each of two PEs, one on the third. Nine columns are a slot of one and a slot of eight, 20
// products a piece of sixteen and one of four.
func.func @ragged(%a: memref<33x20xf16>, %b: memref<20x9xf16>, %c: memref<33x9xf32>, %out: memref<33x9xf32>) {
  %0 = nd.load %a : memref<33x20xf16> -> tensor<33x20xf16>
  %1 = nd.load %b : memref<20x9xf16> -> tensor<20x9xf16>
  %2 = nd.load %c : memref<33x9xf32> -> tensor<33x9xf32>
  %3 = nd.matmul_acc %0, %1 acc %2 : tensor<33x9xf32> : tensor<33x20xf16>, tensor<20x9xf16> -> tensor<33x9xf32>
  nd.store %3, %out : tensor<33x9xf32> -> memref<33x9xf32>
  func.return
}
// Without rotation a hand has one accumulator, so there is no queue.
// ALONE-LABEL: @ragged
// ALONE-NOT:   tile.queue
// ALONE:       tile.matmul {{.*}} into U
// CHECK-LABEL: @ragged
// CHECK:       scf.for %row = {{.*}} to %c33
// CHECK-NEXT:  [[QUEUE:%[a-z0-9_]+]] = tile.queue
// CHECK-NEXT:  scf.for %slot = %c0 to %c2 step %c1 iter_args({{.*}} = %c0, {{.*}} = %c1, {{.*}} = %c8, {{.*}} = [[QUEUE]])
// CHECK:       tile.load %c{{.*}} pes 2 rest 1 into T
// CHECK:       tile.load_shared %a{{.*}} size %c33, %c16 shared 0 pes 1
// CHECK:       tile.load_shared %b{{.*}} size %c16, [[WIDTH:%[a-z0-9_]+]] shared 63 pes 1
// CHECK:       tile.matmul {{.*}} size %c33, [[WIDTH]], %c16 pes 4 into T
// CHECK:       tile.load_shared %a{{.*}} size %c33, %c4 shared 0 pes 1
// CHECK:       tile.matmul {{.*}} size %c33, [[WIDTH:%[a-z0-9_]+]], %c4 pes 4 into T
// CHECK:       tile.store {{.*}} size %c16, [[WIDTH]] pes 2 rest 1
// CHECK-NOT:   nd.store

// -----

// A long sum is a loop over K that carries the accumulator; ReLU belongs to its last piece, outside of the loop.
func.func @long_sum(%a: memref<16x600xf16>, %b: memref<600x8xf16>, %out: memref<16x8xf16>) {
  %0 = nd.load %a : memref<16x600xf16> -> tensor<16x600xf16>
  %1 = nd.load %b : memref<600x8xf16> -> tensor<600x8xf16>
  %2 = nd.matmul_acc %0, %1 post <relu> : tensor<16x600xf16>, tensor<600x8xf16> -> tensor<16x8xf16>
  nd.store %2, %out : tensor<16x8xf16> -> memref<16x8xf16>
  func.return
}
// CHECK-LABEL: @long_sum
// CHECK:       [[FIRST:%[a-z0-9_]+]] = tile.matmul
// CHECK-NOT:   relu
// CHECK:       [[SUM:%[a-z0-9_]+]] = scf.for %k{{.*}} iter_args([[CARRIED:%[a-z0-9_]+]] = [[FIRST]])
// CHECK:       [[NEXT:%[a-z0-9_]+]] = tile.matmul {{.*}} acc [[CARRIED]]
// CHECK-NEXT:  scf.yield [[NEXT]]
// CHECK:       tile.matmul {{.*}} acc [[SUM]]
// CHECK:       tile.matmul {{.*}} acc {{.*}} post <relu> pes 4 into U {{.*}} -> !tile.tile<{{.*}}xf16, cube_m16>
// CHECK-NEXT:  arith

// -----

// Stores of other values are left to tile-elementwise.
func.func @copy(%a: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %0 = nd.load %a : memref<4x4xf32> -> tensor<4x4xf32>
  nd.store %0, %out : tensor<4x4xf32> -> memref<4x4xf32>
  func.return
}
// CHECK-LABEL: @copy
// CHECK:       nd.load
// CHECK-NEXT:  nd.store

// -----

// C fills a queue, each piece of K takes the oldest accumulator and appends its successor, the last piece stores it. The
// cores share the rows.
func.func @shared(%a: memref<128x1024xf16>, %b: memref<1024x264xf16>, %c: memref<128x264xf32>, %out: memref<128x264xf32>) {
  %0 = nd.load %a : memref<128x1024xf16> -> tensor<128x1024xf16>
  %1 = nd.load %b : memref<1024x264xf16> -> tensor<1024x264xf16>
  %2 = nd.load %c : memref<128x264xf32> -> tensor<128x264xf32>
  %3 = nd.matmul_acc %0, %1 acc %2 : tensor<128x264xf32> : tensor<128x1024xf16>, tensor<1024x264xf16> -> tensor<128x264xf32>
  nd.store %3, %out : tensor<128x264xf32> -> memref<128x264xf32>
  func.return
}
// CHECK-LABEL: @shared
// CHECK:       [[START:%[a-z0-9_]+]] = arith.muli %core, %c128
// CHECK:       [[STEP:%[a-z0-9_]+]] = arith.muli %cores, %c128
// CHECK:       scf.for %row = [[START]] to %c128 step [[STEP]]
// CHECK:       [[EMPTY:%[a-z0-9_]+]] = tile.queue
// CHECK:       [[FULL:%[a-z0-9_]+]] = scf.for %slot{{.*}} = [[EMPTY]])
// CHECK:       [[C:%[a-z0-9_]+]] = tile.load %c
// CHECK-NEXT:  tile.push [[C]]
// CHECK:       scf.for %k{{.*}} iter_args({{.*}} = {{%[a-z0-9_]+}})
// CHECK:       [[A:%[a-z0-9_]+]] = tile.load_shared %a{{.*}} shared 0 pes 1
// CHECK:       [[B:%[a-z0-9_]+]] = tile.load_shared %b{{.*}} shared 63 pes 1
// CHECK-NEXT:  [[OLD:%[a-z0-9_]+]], [[REST:%[a-z0-9_]+]] = tile.pop
// CHECK-NEXT:  [[NEW:%[a-z0-9_]+]] = tile.matmul [[A]], [[B]] acc [[OLD]]
// CHECK-NEXT:  tile.push [[NEW]], [[REST]]
// CHECK:       tile.pop
// CHECK-NEXT:  [[D:%[a-z0-9_]+]] = tile.matmul
// CHECK:       tile.store [[D]], %out

// -----

// Two groups of 128 rows rotate through hand T: a bundle reads the rows of one in a view of the Shared tile of both. The
// 44 rows below have a lane of their own, in hand U.
func.func @lanes(%a: memref<300x64xf16>, %b: memref<64x64xf16>, %out: memref<300x64xf32>) {
  %0 = nd.load %a : memref<300x64xf16> -> tensor<300x64xf16>
  %1 = nd.load %b : memref<64x64xf16> -> tensor<64x64xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<300x64xf16>, tensor<64x64xf16> -> tensor<300x64xf32>
  nd.store %2, %out : tensor<300x64xf32> -> memref<300x64xf32>
  func.return
}
// CHECK-LABEL: @lanes
// CHECK:       [[A:%[a-z0-9_]+]] = tile.load_shared %a{{.*}} size %c256, %c64 shared 0
// CHECK:       [[BELOW:%[a-z0-9_]+]] = tile.load_shared %a{{.*}} size %c44, %c64 shared 1
// CHECK:       [[B:%[a-z0-9_]+]] = tile.load_shared %b
// CHECK:       scf.for %group
// CHECK:       [[CELL:%[a-z0-9_]+]] = arith.muli %group, %c128
// CHECK-NEXT:  [[ROWS:%[a-z0-9_]+]] = tile.view [[A]][[[CELL]]] : !tile.shared<256x64xf16> -> !tile.shared<128x64xf16>
// CHECK-NEXT:  tile.matmul [[ROWS]], [[B]] size %c128, %c64, %c64 pes 4 into T
// CHECK:       tile.store {{.*}} size %c32, %c64 pes 4
// CHECK:       tile.matmul [[BELOW]], [[B]] size %c44, %c64, %c64 pes 4 into U
// CHECK:       tile.store {{.*}} size %c16, %c64 pes 2 rest 12

// -----

// Seven columns and seven products are no power of two: in Local operands they take one cell of each.
func.func @local(%a: memref<1000x7xf16>, %b: memref<7x7xf16>, %out: memref<1000x7xf32>) {
  %0 = nd.load %a : memref<1000x7xf16> -> tensor<1000x7xf16>
  %1 = nd.load %b : memref<7x7xf16> -> tensor<7x7xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<1000x7xf16>, tensor<7x7xf16> -> tensor<1000x7xf32>
  nd.store %2, %out : tensor<1000x7xf32> -> memref<1000x7xf32>
  func.return
}
// CHECK-LABEL: @local
// CHECK:       [[B:%[a-z0-9_]+]] = tile.load %b{{.*}} size %c7, %c7 pes 4 into M {{.*}} cube_n8
// CHECK:       [[A:%[a-z0-9_]+]] = tile.load %a{{.*}} into N
// CHECK:       tile.matmul [[A]], [[B]] size {{.*}}, %c7, %c7

// -----

// Each PE would read a B of its own, which is much beside so few rows: one PE does it all.
func.func @alone(%a: memref<100x300xf16>, %b: memref<300x7xf16>, %out: memref<100x7xf32>) {
  %0 = nd.load %a : memref<100x300xf16> -> tensor<100x300xf16>
  %1 = nd.load %b : memref<300x7xf16> -> tensor<300x7xf16>
  %2 = nd.matmul_acc %0, %1 : tensor<100x300xf16>, tensor<300x7xf16> -> tensor<100x7xf32>
  nd.store %2, %out : tensor<100x7xf32> -> memref<100x7xf32>
  func.return
}
// CHECK-LABEL: @alone
// CHECK-NOT:   tile.pe_id
// CHECK:       [[B:%[a-z0-9_]+]] = tile.load %b{{.*}} size %c128, %c7 pes 1 into M
// CHECK:       scf.for %group = %c0 to %c3
// CHECK:       [[A:%[a-z0-9_]+]] = tile.load %a{{.*}} size %c32, %c128 pes 1 into N
// CHECK:       tile.matmul [[A]], [[B]] size %c32, %c7, %c128 pes 1 into T
// CHECK:       tile.load %a{{.*}} size %c4, %c128 pes 1 into N
// CHECK:       tile.matmul {{.*}}, [[B]] size %c4, %c7, %c128 pes 1 into U

// -----

// Sums of one piece: A is loaded once and stays for all columns, those of fewer PEs in front of the others.
func.func @stays(%a: memref<417x15xf16>, %b: memref<15x300xf16>, %c: memref<417x300xf32>, %out: memref<417x300xf32>) {
  %0 = nd.load %a : memref<417x15xf16> -> tensor<417x15xf16>
  %1 = nd.load %b : memref<15x300xf16> -> tensor<15x300xf16>
  %2 = nd.load %c : memref<417x300xf32> -> tensor<417x300xf32>
  %3 = nd.matmul_acc %0, %1 acc %2 : tensor<417x300xf32> : tensor<417x15xf16>, tensor<15x300xf16> -> tensor<417x300xf32>
  nd.store %3, %out : tensor<417x300xf32> -> memref<417x300xf32>
  func.return
}
// CHECK-LABEL: @stays
// CHECK:       [[BELOW:%[a-z0-9_]+]] = tile.load %a{{.*}} size %c16, %c15 pes 2 rest 1 into N
// CHECK:       [[FIRST:%[a-z0-9_]+]] = tile.load %a{{.*}} size %c32, %c15 pes 4 into N
// CHECK:       [[SECOND:%[a-z0-9_]+]] = tile.load %a{{.*}} size %c32, %c15 pes 4 into N
// CHECK:       [[THIRD:%[a-z0-9_]+]] = tile.load %a{{.*}} size %c32, %c15 pes 4 into N
// CHECK:       scf.for %slot
// CHECK:       scf.for %group
// CHECK:       tile.load %c
// CHECK:       scf.for %slot
// CHECK:       [[B:%[a-z0-9_]+]] = tile.load %b{{.*}} pes 4 into M
// CHECK:       tile.matmul [[FIRST]], [[B]]
// CHECK:       tile.matmul [[SECOND]], [[B]]
// CHECK:       tile.matmul [[THIRD]], [[B]]
// CHECK:       tile.matmul [[BELOW]], [[B]]

// -----

// The scale of C belongs to the first piece of the sum, which stands outside of the loop then.
func.func @divided(%a: memref<16x600xf16>, %b: memref<600x8xf16>, %c: memref<16x8xf32>, %e: memref<16xui8>, %out: memref<16x8xf32>) {
  %0 = nd.load %a : memref<16x600xf16> -> tensor<16x600xf16>
  %1 = nd.load %b : memref<600x8xf16> -> tensor<600x8xf16>
  %2 = nd.load %c : memref<16x8xf32> -> tensor<16x8xf32>
  %3 = nd.load %e : memref<16xui8> -> tensor<16xui8>
  %4 = nd.matmul_acc %0, %1 acc %2 : tensor<16x8xf32> scale %3 : tensor<16xui8> : tensor<16x600xf16>, tensor<600x8xf16> -> tensor<16x8xf32>
  nd.store %4, %out : tensor<16x8xf32> -> memref<16x8xf32>
  func.return
}
// CHECK-LABEL: @divided
// CHECK:       [[C:%[a-z0-9_]+]] = tile.load %c
// CHECK:       [[E:%[a-z0-9_]+]] = tile.load %e{{.*}} -> !tile.tile<16x1xui8, cube_m32>
// CHECK:       [[FIRST:%[a-z0-9_]+]] = tile.matmul {{.*}} acc [[C]] {{.*}} scale [[E]] : !tile.tile<16x1xui8, cube_m32>
// CHECK:       scf.for {{.*}} iter_args([[CARRIED:%[a-z0-9_]+]] = [[FIRST]])
// CHECK-NOT:   scale
// CHECK:       func.return

// -----

// Parameters by column are words in memory, of which the last piece of a sum loads those of its columns.
func.func @columns(%a: memref<16x32xf16>, %b: memref<32x4xf16>, %out: memref<16x4xf16>) {
  %0 = nd.load %a : memref<16x32xf16> -> tensor<16x32xf16>
  %1 = nd.load %b : memref<32x4xf16> -> tensor<32x4xf16>
  %2 = nd.matmul_acc %0, %1 post <leaky [0.5, 0.25, 0.5, 1.0], scale 2.0> : tensor<16x32xf16>, tensor<32x4xf16> -> tensor<16x4xf16>
  nd.store %2, %out : tensor<16x4xf16> -> memref<16x4xf16>
  func.return
}
// CHECK:       tile.global @const0 #tile.words<0x1f800, 0x1f400, 0x1f800, 0x1fc00>
// CHECK-LABEL: @columns
// CHECK:       [[ROW:%[a-z0-9_]+]] = tile.get_global @const0 : memref<4xui64>
// CHECK:       [[SLOPES:%[a-z0-9_]+]] = tile.load [[ROW]]{{.*}} -> !tile.tile<1x{{[0-9]+}}xui64, norm>
// CHECK:       tile.matmul {{.*}} slopes [[SLOPES]] {{.*}} post <leaky columns, scale 2.0>

// -----

// A loop over the products of a stack, which cores share, moves the arrays; b stays where it is.
func.func @stack(%a: memref<20x8xf16>, %b: memref<8x8xf16>, %out: memref<20x8xf32>) {
  %0 = nd.load %a : memref<20x8xf16> -> tensor<20x8xf16>
  %1 = nd.load %b : memref<8x8xf16> -> tensor<8x8xf16>
  %2 = nd.matmul_acc %0, %1 batch <5 a 1 b 0> : tensor<20x8xf16>, tensor<8x8xf16> -> tensor<20x8xf32>
  nd.store %2, %out : tensor<20x8xf32> -> memref<20x8xf32>
  func.return
}
// CHECK-LABEL: @stack
// CHECK:       scf.for [[N:%[a-z0-9_]+]] = %{{.*}} to %c5 step %{{.*}} {
// CHECK-NEXT:    [[A:%[a-z0-9_]+]] = arith.muli [[N]], %c64 : index
// CHECK-NEXT:    [[OUT:%[a-z0-9_]+]] = arith.muli [[N]], %c128 : index
// CHECK:         tile.load_shared %a[[[A]]]
// CHECK:         tile.load_shared %b[%c0]
// CHECK:         tile.store {{.*}}, %out[%{{.*}}] stride %c32 size %c4, %c8

// -----

// The maxima of rows go through all slots and blocks in a queue, which starts from what loses against every sum; those of
// groups are stored with their columns. The sums are not stored: nothing but maxima is wanted.
func.func @maxima(%a: memref<256x64xf16>, %b: memref<64x512xf16>, %r: memref<256xf32>, %g: memref<256x64xf32>) {
  %0 = nd.load %a : memref<256x64xf16> -> tensor<256x64xf16>
  %1 = nd.load %b : memref<64x512xf16> -> tensor<64x512xf16>
  %2, %3, %4 = nd.matmul_acc %0, %1 group 8 : tensor<256x64xf16>, tensor<64x512xf16> -> tensor<256x512xf32> row_max tensor<256xf32> group_max tensor<256x64xf32>
  nd.store %3, %r : tensor<256xf32> -> memref<256xf32>
  nd.store %4, %g : tensor<256x64xf32> -> memref<256x64xf32>
  func.return
}
// CHECK:       tile.global @[[LEAST:[a-z0-9]+]] #tile.splat<width = 4, bits = 0x7fc00000, count = 1>
// CHECK-LABEL: @maxima
// CHECK:       [[ARRAY:%[a-z0-9_]+]] = tile.get_global @[[LEAST]]
// CHECK:       scf.for %row
// CHECK:       tile.load [[ARRAY]][%c0] stride %c0 size %c32, %c1 pes 4 into U
// CHECK-NEXT:  tile.push
// CHECK:       [[FOUND:%[a-z0-9_]+]] = scf.for %col
// CHECK:       [[BEFORE:%[a-z0-9_]+]], [[QUEUE:%[a-z0-9_]+]] = tile.pop
// CHECK-NEXT:  {{%[a-z0-9_]+}}, [[ROWS:%[a-z0-9_]+]], [[GROUPS:%[a-z0-9_]+]] = tile.matmul {{.*}} initial [[BEFORE]] : {{.*}} group 8 pes 4 into T beside [#tile<hand U>, #tile<hand N>]
// CHECK:       arith.shrui {{.*}}, %c3
// CHECK:       tile.store [[GROUPS]], %g
// CHECK-NEXT:  tile.push [[ROWS]], [[QUEUE]]
// CHECK:       [[FIRST:%[a-z0-9_]+]], [[REST:%[a-z0-9_]+]] = tile.pop [[FOUND]]
// CHECK:       tile.store [[FIRST]], %r
// CHECK:       tile.pop [[REST]]
// CHECK:       tile.store {{.*}}, %r
// CHECK-NOT:   tile.store

// -----

// One slot is all of a row: its maximum starts from nothing.
func.func @one_slot(%a: memref<256x64xf16>, %b: memref<64x64xf16>, %d: memref<256x64xf32>, %r: memref<256x1xf32>) {
  %0 = nd.load %a : memref<256x64xf16> -> tensor<256x64xf16>
  %1 = nd.load %b : memref<64x64xf16> -> tensor<64x64xf16>
  %2, %3 = nd.matmul_acc %0, %1 absolute : tensor<256x64xf16>, tensor<64x64xf16> -> tensor<256x64xf32> row_max tensor<256x1xf32>
  nd.store %2, %d : tensor<256x64xf32> -> memref<256x64xf32>
  nd.store %3, %r : tensor<256x1xf32> -> memref<256x1xf32>
  func.return
}
// CHECK-LABEL: @one_slot
// CHECK:       tile.matmul {{.*}} size %c128, %c64, %c64 absolute pes 4 into T beside [#tile<hand U>]
// CHECK:       tile.store {{.*}}, %d
// CHECK:       tile.store {{.*}}, %r
