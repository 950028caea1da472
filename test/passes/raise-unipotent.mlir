// RUN: torsor-opt %s --split-input-file --torsor-raise-unipotent | FileCheck %s

// -m age is the unipotent action of slope m.
// CHECK-LABEL: torsor.scheme @alibi
// CHECK-DAG: %[[Z:.*]] = torsor.zero : <64>
// CHECK: %[[U:.*]] = torsor.unipotent %{{.*}} : <0>
// CHECK: %[[A:.*]] = torsor.at %[[U]]
// CHECK: %[[C:.*]] = torsor.concat %[[Z]], %[[A]]
// CHECK: torsor.action %[[C]]
// CHECK-NOT: torsor.bias
torsor.scheme @alibi head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %pos = torsor.clock "pos" : !torsor.clock<i32>
  %s = torsor.time %pos of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %pos of %j : !torsor.clock<i32> -> i64
  %m = arith.constant 0.5 : f64
  %n = arith.negf %m : f64
  %age = arith.subi %s, %t : i64
  %x = arith.sitofp %age : i64 to f64
  %b = arith.mulf %n, %x : f64
  torsor.bias %b
}

// -----

// Only the affine part of a bias is raised.
// CHECK-LABEL: torsor.scheme @part
// CHECK: %[[R:.*]] = math.sqrt
// CHECK: torsor.unipotent
// CHECK: torsor.bias %[[R]]
torsor.scheme @part head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %w = torsor.param "w" ["H"] in 0.0 to 1.0 : tensor<?xf32>
  %h = torsor.ambient head : i64
  %m = torsor.read %w[%h] : (tensor<?xf32>, i64) -> f64
  %age = arith.subi %s, %t : i64
  %x = arith.sitofp %age : i64 to f64
  %y = arith.mulf %m, %x : f64
  %r = math.sqrt %x : f64
  %b = arith.subf %r, %y : f64
  torsor.bias %b
}

// -----

// A slope of the query's is no generator.
// CHECK-LABEL: torsor.scheme @slope_refused
// CHECK-NOT: torsor.unipotent
// CHECK: torsor.bias
torsor.scheme @slope_refused head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %m = arith.sitofp %s : i64 to f64
  %age = arith.subi %t, %s : i64
  %x = arith.sitofp %age : i64 to f64
  %b = arith.mulf %m, %x : f64
  torsor.bias %b
}

// -----

// |age| has a kink: each half-line has a lift, the line has none.
// CHECK-LABEL: torsor.scheme @kink_refused
// CHECK-NOT: torsor.unipotent
// CHECK: torsor.bias
torsor.scheme @kink_refused head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %m = arith.constant -0.5 : f64
  %age = arith.subi %s, %t : i64
  %d = math.absi %age : i64
  %x = arith.sitofp %d : i64 to f64
  %b = arith.mulf %m, %x : f64
  torsor.bias %b
}

// -----

// A difference of two clocks is no age.
// CHECK-LABEL: torsor.scheme @clocks_refused
// CHECK-NOT: torsor.unipotent
// CHECK: torsor.bias
torsor.scheme @clocks_refused head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %pos = torsor.clock "pos" : !torsor.clock<i32>
  %s = torsor.time %pos of %i : !torsor.clock<i32> -> i64
  %t = torsor.index %j
  %m = arith.constant 0.5 : f64
  %d = arith.subi %t, %s : i64
  %x = arith.sitofp %d : i64 to f64
  %b = arith.mulf %m, %x : f64
  torsor.bias %b
}
