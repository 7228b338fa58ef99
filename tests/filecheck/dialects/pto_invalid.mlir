// RUN: ptoc opt --verify-diagnostics --parsing-diagnostics --split-input-file %s | filecheck %s

pto.program @text {
  pto.inst "nonsense a0"
}
// CHECK: no instruction is called 'nonsense'

// -----

pto.program @operand {
  pto.inst "add a0, q9, ->a1"
}
// CHECK: q9

// -----

pto.program @no_stop {
  pto.bundle {
    pto.inst "BSTART.TLOAD FP32"
    pto.inst "B.DIM LB0, 4"
  }
}
// CHECK: a bundle begins with a block start and ends with BSTOP, not BSTART.TLOAD … B.DIM.LB0

// -----

pto.program @two_blocks {
  pto.bundle {
    pto.inst "BSTART.TLOAD FP32"
    pto.inst "BSTOP"
    pto.inst "BSTART.TLOAD FP32"
    pto.inst "BSTOP"
  }
}
// CHECK: a bundle holds one block

// -----

pto.program @empty {
  pto.bundle {
  }
}
// CHECK: a bundle holds instructions from a block start to a stop

// -----

pto.program @foreign {
  pto.bundle {
    pto.inst "BSTART.TLOAD FP32"
    %0 = arith.constant 1 : index
    pto.inst "BSTOP"
  }
}
// CHECK: a bundle holds instructions from a block start to a stop
