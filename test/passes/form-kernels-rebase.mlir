// RUN: torsor-opt %s --split-input-file --torsor-form-kernels | FileCheck %s
// RUN: torsor-opt %s --split-input-file --torsor-form-kernels %remarks 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Gains and norms stand in a cached key already, and commute with what moves it.
// REMARK: {{.*}}Rebase{{.*}}cached keys can be moved to other positions: the action of the shift is applied to what the cache holds
// CHECK-LABEL: func.func @gains.rebase(
// CHECK: torsor.rebase
// CHECK-SAME: blocks [#torsor.block<kind = turn, lanes = <0, 1, 1 x 1>, rates = 0, keys = cached>]
// CHECK-SAME: streams ["index", "pos"]
// CHECK: torsor.interface @gains
// CHECK-NOT: no_rebase
// CHECK-SAME: rebase = @gains.rebase
torsor.scheme @gains head(2) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %g = arith.constant 2.0 : f64
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %b = torsor.gain %a by %g : !torsor.action<2> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
  torsor.norm rms
}

// -----

// Nothing acts on cached keys: what lies beside them moves.
// REMARK: {{.*}}Rebase{{.*}}cached keys can be moved to other positions without touching them
// CHECK-LABEL: func.func @plain.rebase(
// CHECK: torsor.rebase
// CHECK-SAME: blocks [] streams ["index"]
torsor.scheme @plain head(2) {
}

// -----

// Two axes and no position: a shift moves both, as text does under M-RoPE.
// CHECK-LABEL: func.func @axes.rebase(
// CHECK: torsor.rebase
// CHECK-SAME: streams ["index", "row", "col"]
torsor.scheme @axes head(4) {
  %i = torsor.token query
  %j = torsor.token key
  %row = torsor.clock "row" : !torsor.clock<i32>
  %col = torsor.clock "col" : !torsor.clock<i32>
  %s = torsor.time %row of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %row of %j : !torsor.clock<i32> -> i64
  %u = torsor.time %col of %i : !torsor.clock<i32> -> i64
  %v = torsor.time %col of %j : !torsor.clock<i32> -> i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %y = torsor.at %r(q = %u, k = %v) : !torsor.action<2>, i64, i64
  %xy = torsor.concat %x, %y : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  %a = torsor.adjacent %xy : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
}

// -----

// The refused twin: one axis beside the position.
// REMARK: {{.*}}Rebase{{.*}}cached keys cannot be moved to other positions: keys are acted on at the clock 'row', which a shift of positions does not move
// CHECK-NOT: @axis_and_position.rebase
// CHECK: torsor.interface @axis_and_position
// CHECK-SAME: no_rebase = "keys are acted on at the clock 'row'
torsor.scheme @axis_and_position head(4) {
  %i = torsor.token query
  %j = torsor.token key
  %row = torsor.clock "row" : !torsor.clock<i32>
  %s = torsor.time %row of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %row of %j : !torsor.clock<i32> -> i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %xy = torsor.concat %x, %r : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  %a = torsor.adjacent %xy : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
}

// -----

// Seconds are not positions.
// REMARK: {{.*}}Rebase{{.*}}cached keys cannot be moved to other positions: keys are acted on at the clock 'time', which counts reals
// CHECK-NOT: @seconds.rebase
// CHECK: torsor.interface @seconds
torsor.scheme @seconds head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %time = torsor.clock "time" : !torsor.clock<f64>
  %s = torsor.time %time of %i : !torsor.clock<f64> -> f64
  %t = torsor.time %time of %j : !torsor.clock<f64> -> f64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s, k = %t) : !torsor.action<2>, f64, f64
  %a = torsor.adjacent %x : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// Different factors on the lanes of a pair, behind its turn.
// REMARK: {{.*}}Rebase{{.*}}cached keys cannot be moved to other positions: gains by lane stand behind the action
// CHECK-NOT: @lanes.rebase
// CHECK: torsor.interface @lanes
torsor.scheme @lanes head(2) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %g = arith.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %one = arith.constant dense<[1.0, 1.0]> : tensor<2xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %b = torsor.gain %a q %one : tensor<2xf64> k %g : tensor<2xf64> : !torsor.action<2> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}
