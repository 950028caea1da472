// RUN: torsor-opt %s --split-input-file --torsor-normalize-action | FileCheck %s

// A place goes to the blocks, sums are flat, zero has no place.
// CHECK-LABEL: torsor.scheme @place
// CHECK: %[[T:.*]] = torsor.turn %{{.*}} : tensor<1xf64> -> <2>
// CHECK: %[[A:.*]] = torsor.at %[[T]]
// CHECK: %[[Z:.*]] = torsor.zero : <4>
// CHECK: %[[C:.*]] = torsor.concat %[[A]], %[[Z]] : !torsor.action<2>, !torsor.action<4> -> <6>
// CHECK: torsor.split %[[C]]
torsor.scheme @place head(6) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.zero : !torsor.action<2>
  %y = torsor.zero : !torsor.action<2>
  %u = torsor.concat %x, %y : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  %c = torsor.concat %r, %u : !torsor.action<2>, !torsor.action<4> -> !torsor.action<6>
  %l = torsor.split %c : !torsor.action<6>
  %a = torsor.at %l(q = %s, k = %t) : !torsor.action<6>, i64, i64
  torsor.action %a : !torsor.action<6>
}

// -----

// Neighbours on one clock are one block (M-RoPE with equal axes).
// CHECK-LABEL: torsor.scheme @join
// CHECK: %[[F:.*]] = arith.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf64>
// CHECK: torsor.turn %[[F]] : tensor<2xf64> -> <4>
// CHECK-NOT: torsor.concat
torsor.scheme @join head(4) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %g = arith.constant dense<0.25> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %s = torsor.turn %g : tensor<1xf64> -> !torsor.action<2>
  %c = torsor.concat %r, %s : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  %a = torsor.adjacent %c : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
}

// -----

// On two clocks they stay two.
// CHECK-LABEL: torsor.scheme @join_refused
// CHECK: torsor.turn %{{.*}} : tensor<1xf64> -> <2>
// CHECK: torsor.turn %{{.*}} : tensor<1xf64> -> <2>
// CHECK: torsor.concat
torsor.scheme @join_refused head(4) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %g = arith.constant dense<0.25> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %q = torsor.turn %g : tensor<1xf64> -> !torsor.action<2>
  %p = torsor.at %q(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %c = torsor.concat %r, %p : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  %a = torsor.adjacent %c : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
}

// -----

// A pair that does not turn is two lanes without position.
// CHECK-LABEL: torsor.scheme @still
// CHECK-DAG: %[[T:.*]] = torsor.turn %{{.*}} : tensor<1xf64> -> <2>
// CHECK-DAG: %[[Z:.*]] = torsor.zero : <4>
// CHECK: torsor.concat %[[T]], %[[Z]]
torsor.scheme @still head(6) {
  %f = arith.constant dense<[0.5, 0.0, 0.0]> : tensor<3xf64>
  %r = torsor.turn %f : tensor<3xf64> -> !torsor.action<6>
  %a = torsor.split %r : !torsor.action<6>
  torsor.action %a : !torsor.action<6>
}

// -----

// A learned frequency may be 0 only by chance.
// CHECK-LABEL: torsor.scheme @still_refused
// CHECK: torsor.turn
// CHECK-NOT: torsor.zero
torsor.scheme @still_refused head(2) {
  %w = torsor.param "w" ["1"] : tensor<1xf32>
  %f = torsor.read %w[] : (tensor<1xf32>) -> tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.split %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// R(a) R(b) = R(a + b) on one clock.
// CHECK-LABEL: torsor.scheme @product
// CHECK: %[[F:.*]] = arith.constant dense<7.500000e-01> : tensor<1xf64>
// CHECK: torsor.turn %[[F]]
// CHECK-NOT: torsor.product
torsor.scheme @product head(2) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %g = arith.constant dense<0.25> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %s = torsor.turn %g : tensor<1xf64> -> !torsor.action<2>
  %p = torsor.product %r, %s : !torsor.action<2>
  %a = torsor.adjacent %p : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// CHECK-LABEL: torsor.scheme @product_refused
// CHECK: torsor.product
torsor.scheme @product_refused head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %u = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %v = torsor.at %u(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %p = torsor.product %r, %v : !torsor.action<2>
  %a = torsor.adjacent %p : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// e^(a d) e^(b d) = e^((a + b) d); a zero block changes nothing.
// CHECK-LABEL: torsor.scheme @decays
// CHECK: %[[R:.*]] = arith.constant 7.500000e-01 : f64
// CHECK: torsor.decay %[[R]]
// CHECK-NOT: torsor.product
torsor.scheme @decays head(2) {
  %u = arith.constant 0.5 : f64
  %v = arith.constant 0.25 : f64
  %x = torsor.decay %u : !torsor.action<2>
  %y = torsor.decay %v : !torsor.action<2>
  %z = torsor.zero : !torsor.action<2>
  %p = torsor.product %x, %y : !torsor.action<2>
  %q = torsor.product %p, %z : !torsor.action<2>
  torsor.action %q : !torsor.action<2>
}

// -----

// A decay and a turn commute, but are no single block here.
// CHECK-LABEL: torsor.scheme @decays_refused
// CHECK: torsor.product
torsor.scheme @decays_refused head(2) {
  %u = arith.constant 0.5 : f64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %x = torsor.decay %u : !torsor.action<2>
  %y = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %p = torsor.product %x, %y : !torsor.action<2>
  %a = torsor.adjacent %p : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// Position interpolation: a clock divided by 4 divides the frequency.
// CHECK-LABEL: torsor.scheme @interpolation
// CHECK-DAG: %[[F:.*]] = arith.constant dense<1.250000e-01> : tensor<1xf64>
// CHECK-DAG: %[[S:.*]] = torsor.index
// CHECK-DAG: %[[T:.*]] = torsor.index
// CHECK: %[[R:.*]] = torsor.turn %[[F]]
// CHECK: torsor.at %[[R]](q = %[[S]], k = %[[T]]) : <2>, i64, i64
torsor.scheme @interpolation head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %four = arith.constant 4.0 : f64
  %sf = arith.sitofp %s : i64 to f64
  %tf = arith.sitofp %t : i64 to f64
  %s4 = arith.divf %sf, %four : f64
  %t4 = arith.divf %tf, %four : f64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s4, k = %t4) : !torsor.action<2>, f64, f64
  %a = torsor.adjacent %x : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// Two different factors are no change of the clock.
// CHECK-LABEL: torsor.scheme @interpolation_refused
// CHECK: torsor.at %{{.*}} : <2>, f64, f64
torsor.scheme @interpolation_refused head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %four = arith.constant 4.0 : f64
  %two = arith.constant 2.0 : f64
  %sf = arith.sitofp %s : i64 to f64
  %tf = arith.sitofp %t : i64 to f64
  %s4 = arith.divf %sf, %four : f64
  %t2 = arith.divf %tf, %two : f64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s4, k = %t2) : !torsor.action<2>, f64, f64
  %a = torsor.adjacent %x : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// Equal offsets cancel.
// CHECK-LABEL: torsor.scheme @offset
// CHECK-DAG: %[[S:.*]] = torsor.index
// CHECK-DAG: %[[T:.*]] = torsor.index
// CHECK: torsor.at %{{.*}}(q = %[[S]], k = %[[T]])
torsor.scheme @offset head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %two = arith.constant 2 : i64
  %s2 = arith.addi %s, %two : i64
  %t2 = arith.addi %t, %two : i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s2, k = %t2) : !torsor.action<2>, i64, i64
  %a = torsor.adjacent %x : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// CHECK-LABEL: torsor.scheme @offset_refused
// CHECK: %[[S:.*]] = arith.addi
// CHECK: torsor.at %{{.*}}(q = %[[S]], k =
torsor.scheme @offset_refused head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %s2 = arith.addi %s, %two : i64
  %t2 = arith.addi %t, %three : i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s2, k = %t2) : !torsor.action<2>, i64, i64
  %a = torsor.adjacent %x : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// A declared position is the clock of a block without one, not dead code.
// CHECK-LABEL: torsor.scheme @declared
// CHECK: torsor.clock "pos"
// CHECK: torsor.at %{{.*}} : <2>, f64, f64
torsor.scheme @declared head(2) {
  %pos = torsor.clock "pos" : !torsor.clock<f64>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}
