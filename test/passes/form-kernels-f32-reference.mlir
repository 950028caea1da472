// RUN: torsor-opt %s --torsor-form-kernels=f32-reference | FileCheck %s
// RUN: torsor-opt %s --torsor-form-kernels | FileCheck %s --check-prefix=EXACT

// Rates are radians in f32, and the contract of keys that lie turned says so.
// CHECK-LABEL: func.func @turned.prefill(
// CHECK-SAME: memref<2xf32>) attributes
// CHECK-LABEL: func.func private @turned.bind(
// CHECK: arith.truncf
// CHECK: torsor.interface @turned
// CHECK-SAME: keys acted phase f32_reference action (turn
// EXACT-LABEL: func.func @turned.prefill(
// EXACT-SAME: memref<2xi64>) attributes
// EXACT: torsor.interface @turned
// EXACT-SAME: keys acted action (turn
torsor.scheme @turned head(4) {
  %f = arith.constant dense<[1.0, 0.5]> : tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %l = torsor.split %r : !torsor.action<4>
  torsor.action %l : !torsor.action<4>
}

// Keys that lie as they come have no phase.
// CHECK: torsor.interface @plain
// CHECK-NOT: f32_reference
// CHECK-SAME: keys raw action zero
// EXACT: torsor.interface @plain
torsor.scheme @plain head(4) {
}
