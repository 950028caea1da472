// Masks that affine maps do not decide, and what they still bound.
// RUN: torsor-opt %s --split-input-file --torsor-bound-masks | FileCheck %s

// What a mask reads is left to the tile test; the rest still bounds it.
// CHECK-LABEL: torsor.scheme @documents {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: ], needs_tile, visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @documents {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %doc = torsor.input "doc" per token [] : tensor<?xi32>
  %di = torsor.read %doc[%i] : (tensor<?xi32>, !torsor.token) -> i64
  %dj = torsor.read %doc[%j] : (tensor<?xi32>, !torsor.token) -> i64
  %c = arith.cmpi sle, %jj, %ii : i64
  %e = arith.cmpi eq, %di, %dj : i64
  %m = arith.andi %c, %e : i1
  torsor.mask %m
}

// -----

// A declared range bounds a window that the call gives.
// CHECK-LABEL: torsor.scheme @declared {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (d1), (d0, d1)[s0] -> (d0 + 1, s0)>
// CHECK-SAME: ], needs_tile, visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d0 - 4095), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @declared {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %input = torsor.input "w" per sequence [] in 1.0 to 4096.0 : tensor<i32>
  %w = torsor.read %input[] : (tensor<i32>) -> i64
  %a = arith.subi %ii, %jj : i64
  %c = arith.cmpi sle, %jj, %ii : i64
  %x = arith.cmpi slt, %a, %w : i64
  %m = arith.andi %c, %x : i1
  torsor.mask %m
}

// -----

// Refused twin of @declared: without a range nothing is known of it.
// CHECK-LABEL: torsor.scheme @undeclared {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: ], needs_tile, visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d0 - 2147483646), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @undeclared {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %input = torsor.input "w" per sequence [] : tensor<i32>
  %w = torsor.read %input[] : (tensor<i32>) -> i64
  %a = arith.subi %ii, %jj : i64
  %c = arith.cmpi sle, %jj, %ii : i64
  %x = arith.cmpi slt, %a, %w : i64
  %m = arith.andi %c, %x : i1
  torsor.mask %m
}

// -----

// Positions bound keys while they are the indices.
// CHECK-LABEL: torsor.scheme @by_position {
// CHECK: torsor.mask %{{[a-z0-9]+}} {by_position, full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, s0)>
// CHECK-SAME: ], needs_tile, visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @by_position {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %pos = torsor.clock "pos" : !torsor.clock<i32>
  %s = torsor.time %pos of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %pos of %j : !torsor.clock<i32> -> i64
  %m = arith.cmpi sle, %t, %s : i64
  torsor.mask %m
}

// -----

// Refused twin of @by_position: another clock is not the index.
// CHECK-LABEL: torsor.scheme @other_clock {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: ], needs_tile, visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (s0)>
// CHECK-SAME: ]}
torsor.scheme @other_clock {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %row = torsor.clock "row" : !torsor.clock<i32>
  %s = torsor.time %row of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %row of %j : !torsor.clock<i32> -> i64
  %m = arith.cmpi sle, %t, %s : i64
  torsor.mask %m
}

// -----

// The stride is left open, the window around it is not.
// CHECK-LABEL: torsor.scheme @dilated {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: ], needs_tile, visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d0 - 255), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @dilated {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %w = arith.constant 256 : i64
  %c = arith.constant 4 : i64
  %z = arith.constant 0 : i64
  %a = arith.subi %ii, %jj : i64
  %q = arith.floordivsi %a, %c : i64
  %p = arith.muli %q, %c : i64
  %r = arith.subi %a, %p : i64
  %x = arith.cmpi sge, %a, %z : i64
  %y = arith.cmpi slt, %a, %w : i64
  %e = arith.cmpi eq, %r, %z : i64
  %xy = arith.andi %x, %y : i1
  %m = arith.andi %xy, %e : i1
  torsor.mask %m
}

// -----

// Refused twin of @last: a product of indices is not affine.
// CHECK-LABEL: torsor.scheme @product {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: ], needs_tile, visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (s0)>
// CHECK-SAME: ]}
torsor.scheme @product {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %w = arith.constant 1024 : i64
  %a = arith.muli %ii, %jj : i64
  %m = arith.cmpi slt, %a, %w : i64
  torsor.mask %m
}

// -----

// Refused: a sum that may wrap says nothing.
// CHECK-LABEL: torsor.scheme @wraps {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: ], needs_tile, visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (s0)>
// CHECK-SAME: ]}
torsor.scheme @wraps {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %w = arith.constant 9223372036854775807 : i64
  %a = arith.addi %jj, %w : i64
  %m = arith.cmpi sle, %a, %ii : i64
  torsor.mask %m
}
