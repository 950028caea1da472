// RUN: torsor-opt %s --split-input-file --torsor-plain-scheme | FileCheck %s

// A sum is written out, and constants are folded.
// CHECK-LABEL: torsor.scheme @sum
// CHECK: %[[C:.*]] = arith.constant 6 : i64
// CHECK: arith.muli %{{.*}}, %[[C]]
// CHECK-NOT: torsor.sum
torsor.scheme @sum {
  %h = torsor.ambient head : i64
  %s = torsor.sum < 4 {
  ^bb0(%p: i64):
    torsor.yield %p : i64
  } : i64
  %x = arith.muli %h, %s : i64
  %f = arith.sitofp %x : i64 to f64
  torsor.bias %f
}

// -----

// An empty sum is 0.
// CHECK-LABEL: torsor.scheme @empty
// CHECK: %[[Z:.*]] = arith.constant 0.000000e+00 : f64
// CHECK: torsor.bias %[[Z]]
torsor.scheme @empty {
  %s = torsor.sum < 0 {
  ^bb0(%p: i64):
    %x = arith.sitofp %p : i64 to f64
    torsor.yield %x : f64
  } : f64
  torsor.bias %s
}

// -----

// Too many terms stay a sum.
// CHECK-LABEL: torsor.scheme @long
// CHECK: torsor.sum<5000
torsor.scheme @long {
  %h = torsor.ambient head : i64
  %s = torsor.sum < 5000 {
  ^bb0(%p: i64):
    %y = arith.muli %p, %h : i64
    %x = arith.sitofp %y : i64 to f64
    torsor.yield %x : f64
  } : f64
  torsor.bias %s
}

// -----

// Elements of a list, by a constant and by a value; past the end the last one.
// CHECK-LABEL: torsor.scheme @list
// CHECK: %[[H:.*]] = torsor.ambient head
// CHECK: %[[A:.*]] = arith.cmpi sge, %[[H]]
// CHECK: arith.select %[[A]]
// CHECK-NOT: torsor.element
torsor.scheme @list {
  %h = torsor.ambient head : i64
  %n = torsor.ambient length : i64
  %l = torsor.list %n, %h : i64, i64 -> tensor<2xi64>
  %e = torsor.element %l[%h] : tensor<2xi64> -> i64
  %f = arith.sitofp %e : i64 to f64
  torsor.bias %f
}

// -----

// An element of a tabulation is its term, of a row the element itself.
// CHECK-LABEL: torsor.scheme @vectors
// CHECK: torsor.read %{{.*}}[%{{.*}}, %{{.*}}] : (tensor<?x4xf32>, i64, i64) -> f64
// CHECK-NOT: torsor.tabulate
// CHECK-NOT: torsor.element
torsor.scheme @vectors {
  %w = torsor.param "w" ["H", "4"] : tensor<?x4xf32>
  %h = torsor.ambient head : i64
  %two = arith.constant 2 : i64
  %r = torsor.read %w[%h] : (tensor<?x4xf32>, i64) -> tensor<4xf64>
  %x = torsor.element %r[%two] : tensor<4xf64> -> f64
  %v = torsor.tabulate {
  ^bb0(%p: i64):
    %y = arith.muli %p, %h : i64
    %z = arith.sitofp %y : i64 to f64
    torsor.yield %z : f64
  } : tensor<4xf64>
  %e = torsor.element %v[%two] : tensor<4xf64> -> f64
  %s = arith.addf %x, %e : f64
  torsor.bias %s
}

// -----

// Sums that multiply beyond all measure stay as they are.
// CHECK-LABEL: torsor.scheme @nested
// CHECK: torsor.sum<4000
torsor.scheme @nested {
  %h = torsor.ambient head : i64
  %s = torsor.sum < 4000 {
  ^bb0(%p: i64):
    %u = torsor.sum < 4000 {
    ^bb0(%q: i64):
      %y = arith.muli %p, %q : i64
      %z = arith.muli %y, %h : i64
      torsor.yield %z : i64
    } : i64
    torsor.yield %u : i64
  } : i64
  %f = arith.sitofp %s : i64 to f64
  torsor.bias %f
}
