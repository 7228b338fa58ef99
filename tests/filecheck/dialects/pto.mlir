// RUN: ptoc opt %s | ptoc opt | filecheck %s
// RUN: ptoc opt %s --print-op-generic | ptoc opt | filecheck %s
// RUN: ptoc opt %s --print-debuginfo | ptoc opt --print-debuginfo | filecheck %s --check-prefix LOC

// CHECK:      pto.data @zeros #tile.splat<width = 4, bits = 0x0, count = 64>
pto.data @zeros #tile.splat<width = 4, bits = 0x0, count = 64>
// CHECK-NEXT: pto.data @pattern #tile.iota<width = 4, rows = 4, row_step = 32, cols = 8, col_step = 4>
pto.data @pattern #tile.iota<width = 4, rows = 4, row_step = 32, cols = 8, col_step = 4>
// CHECK-NEXT: pto.program @k {
pto.program @k {
  // LOC:        pto.inst "c.movi 0, ->a1" loc("kernel.py":3:9)
  // CHECK-NEXT: pto.inst "c.movi 0, ->a1"
  pto.inst "c.movi 0, ->a1" loc("kernel.py":3:9)
  // CHECK-NEXT: pto.label "L1"
  pto.label "L1"
  // CHECK-NEXT: pto.bundle argument 1 {
  pto.bundle argument 1 {
    // CHECK-NEXT: pto.inst "BSTART.TLOAD FP32"
    pto.inst "BSTART.TLOAD FP32"
    // CHECK-NEXT: pto.inst "B.DIM LB0, 4"
    pto.inst "B.DIM LB0, 4"
    pto.inst "B.DIM LB1, 4"
    pto.inst "B.IOR a0, a1, zero, ->zero"
    pto.inst "B.IOT mask=0001, last, ->T<1>"
    // CHECK: pto.inst "BSTOP"
    pto.inst "BSTOP"
  }
  // CHECK: pto.bundle {
  pto.bundle {
    // CHECK-NEXT: pto.inst "BSTART COND, L1"
    pto.inst "BSTART COND, L1"
    pto.inst "setc.ltui a1, 1024"
    pto.inst "BSTOP"
  }
}
