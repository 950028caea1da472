// RUN: torsor-opt %s --split-input-file --torsor-bound-masks | FileCheck %s

// Keys up to the last query are seen, up to the first by all.
// CHECK-LABEL: torsor.scheme @causal {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @causal {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// A window: its left end moves with the tile.
// CHECK-LABEL: torsor.scheme @last {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d1 - 1023), (d0, d1)[s0] -> (d0 + 1, s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d0 - 1023), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @last {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %z = arith.constant 0 : i64
  %w = arith.constant 1024 : i64
  %a = arith.subi %ii, %jj : i64
  %x = arith.cmpi sle, %z, %a : i64
  %y = arith.cmpi slt, %a, %w : i64
  %m = arith.andi %x, %y : i1
  torsor.mask %m
}

// -----

// An absolute value is two comparisons.
// CHECK-LABEL: torsor.scheme @distance {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d1 - 64), (d0, d1)[s0] -> (d0 + 65, s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d0 - 64), (d0, d1)[s0] -> (d1 + 65, s0)>
// CHECK-SAME: ]}
torsor.scheme @distance {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %w = arith.constant 64 : i64
  %a = arith.subi %ii, %jj : i64
  %d = math.absi %a : i64
  %m = arith.cmpi sle, %d, %w : i64
  torsor.mask %m
}

// -----

// Equal quotients: the block of the query.
// CHECK-LABEL: torsor.scheme @chunk {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> ((d1 floordiv 8192) * 8192), (d0, d1)[s0] -> ((d0 floordiv 8192) * 8192 + 8192, s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> ((d0 floordiv 8192) * 8192), (d0, d1)[s0] -> ((d1 floordiv 8192) * 8192 + 8192, s0)>
// CHECK-SAME: ]}
torsor.scheme @chunk {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %c = arith.constant 8192 : i64
  %a = arith.floordivsi %ii, %c : i64
  %d = arith.floordivsi %jj, %c : i64
  %m = arith.cmpi eq, %a, %d : i64
  torsor.mask %m
}

// -----

// A union of intervals: sinks first, then the window.
// CHECK-LABEL: torsor.scheme @sinks {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, 4, s0)>
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d1 - 1023), (d0, d1)[s0] -> (d0 + 1, s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, 4, s0)>
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0, d0 - 1023), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @sinks {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %w = arith.constant 1024 : i64
  %s = arith.constant 4 : i64
  %a = arith.subi %ii, %jj : i64
  %c = arith.cmpi sle, %jj, %ii : i64
  %x = arith.cmpi slt, %a, %w : i64
  %y = arith.cmpi slt, %jj, %s : i64
  %o = arith.ori %x, %y : i1
  %m = arith.andi %c, %o : i1
  torsor.mask %m
}

// -----

// A negation is the opposite comparison.
// CHECK-LABEL: torsor.scheme @negated {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, s0)>
// CHECK-SAME: ]}
torsor.scheme @negated {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %yes = arith.constant true
  %x = arith.cmpi sgt, %jj, %ii : i64
  %m = arith.xori %x, %yes : i1
  torsor.mask %m
}

// -----

// Intervals that touch are one.
// CHECK-LABEL: torsor.scheme @touching {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (s0)>
// CHECK-SAME: ]}
torsor.scheme @touching {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %s = arith.constant 4 : i64
  %x = arith.cmpi slt, %jj, %s : i64
  %y = arith.cmpi sge, %jj, %s : i64
  %m = arith.ori %x, %y : i1
  torsor.mask %m
}

// -----

// A condition on queries is a bound that leaves no key where it fails.
// CHECK-LABEL: torsor.scheme @image {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 * -2147483647 + s0 + 1234803097025, s0)>
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, d0 * 2147483647 + s0 - 1236950580672, s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 * -2147483647 + s0 + 1234803097025, s0)>
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, d1 * 2147483647 + s0 - 1236950580672, s0)>
// CHECK-SAME: ]}
torsor.scheme @image {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %p = arith.constant 576 : i64
  %yes = arith.constant true
  %c = arith.cmpi slt, %ii, %p : i64
  %x = arith.cmpi sle, %jj, %ii : i64
  %m = arith.select %c, %yes, %x : i1
  torsor.mask %m
}

// -----

// N may bound keys.
// CHECK-LABEL: torsor.scheme @half {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (s0 floordiv 2, s0)>
// CHECK-SAME: ], visible = [
// CHECK-SAME: #torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (s0 floordiv 2, s0)>
// CHECK-SAME: ]}
torsor.scheme @half {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %n = torsor.ambient length : i64
  %two = arith.constant 2 : i64
  %p = arith.floordivsi %n, %two : i64
  %m = arith.cmpi slt, %jj, %p : i64
  torsor.mask %m
}

// -----

// No pair is seen.
// CHECK-LABEL: torsor.scheme @never {
// CHECK: torsor.mask %{{[a-z0-9]+}} {full = [
// CHECK-SAME: ], visible = [
// CHECK-SAME: ]}
torsor.scheme @never {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.constant false
  torsor.mask %m
}
