// RUN: torsor-opt %s --split-input-file --torsor-normalize-action | FileCheck %s --check-prefixes=CHECK,KEEP
// RUN: torsor-opt %s --split-input-file --torsor-normalize-action=fold-gain | FileCheck %s --check-prefixes=CHECK,FOLD

// Gains multiply; a gain on every lane is its square on the scale, but only if
// it is asked for, since a cache then holds other keys.
// CHECK-LABEL: torsor.scheme @whole
// KEEP: %[[G:.*]] = arith.constant 6.000000e+00 : f64
// KEEP: torsor.gain %{{.*}} by %[[G]]
// KEEP-NOT: torsor.scale
// FOLD-NOT: torsor.gain
// FOLD: %[[S:.*]] = arith.constant 1.800000e+01 : f64
// FOLD: torsor.scale %[[S]]
torsor.scheme @whole head(4) {
  %two = arith.constant 2.0 : f64
  %three = arith.constant 3.0 : f64
  %f = arith.constant dense<0.5> : tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %a = torsor.adjacent %r : !torsor.action<4>
  %g = torsor.gain %a by %two : !torsor.action<4> -> !torsor.action<4>
  %h = torsor.gain %g by %three : !torsor.action<4> -> !torsor.action<4>
  torsor.action %h : !torsor.action<4>
}

// -----

// On a part of the lanes a gain is no factor of the score.
// CHECK-LABEL: torsor.scheme @part
// CHECK: torsor.gain
// CHECK-NOT: torsor.scale
torsor.scheme @part head(4) {
  %two = arith.constant 2.0 : f64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %z = torsor.zero : !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %g = torsor.gain %a by %two : !torsor.action<2> -> !torsor.action<2>
  %c = torsor.concat %g, %z : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  torsor.action %c : !torsor.action<4>
}

// -----

// 'logit' reads the score before any scale.
// CHECK-LABEL: torsor.scheme @logit
// CHECK: torsor.gain
// CHECK-NOT: torsor.scale
torsor.scheme @logit head(2) {
  %two = arith.constant 2.0 : f64
  %z = torsor.zero : !torsor.action<2>
  %g = torsor.gain %z by %two : !torsor.action<2> -> !torsor.action<2>
  torsor.action %g : !torsor.action<2>
  %x = torsor.ambient score : f64
  torsor.logit %x
}

// -----

// A gain of 1 is none.
// CHECK-LABEL: torsor.scheme @one
// CHECK-NOT: torsor.gain
// CHECK: torsor.action
torsor.scheme @one head(2) {
  %one = arith.constant 1.0 : f64
  %z = torsor.zero : !torsor.action<2>
  %g = torsor.gain %z by %one : !torsor.action<2> -> !torsor.action<2>
  torsor.action %g : !torsor.action<2>
}
