// RUN: torsor-opt %s --split-input-file --torsor-form-kernels | FileCheck %s

// A number of the key's vector alone: an append keeps it, and kernels read what
// is kept, or compute it first where keys are fresh. The heads of a group share
// packed keys.
// CHECK-LABEL: func.func @gate.prefill
// CHECK: torsor.scan 0
// CHECK-SAME: by_head each stream "k.0"
// CHECK: torsor.attention
// CHECK-NOT: keys_by_head
// CHECK: slots_by_head
// CHECK-NOT: torsor.row_dot
// CHECK-LABEL: func.func @gate.decode
// CHECK: torsor.scan 0
// CHECK-SAME: by_head each stream "k.0"
// CHECK: torsor.row_dot key
// CHECK: math.exp
// CHECK: torsor.attention
// CHECK-NOT: torsor.row_dot
// CHECK: torsor.fetch %{{.*}} : memref<?x?x1xf64> -> f64
// CHECK-NOT: torsor.row_dot
// CHECK-LABEL: func.func @gate.append
// CHECK: torsor.scan 0
// CHECK-SAME: by_head each stream "k.0"
// CHECK: torsor.row_dot key
// CHECK: torsor.interface @gate
// CHECK-SAME: name = "k.0", type = f64
torsor.scheme @gate head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %u = torsor.param "u" ["H", "2"] : tensor<?x2xf32>
  %h = torsor.ambient head : i64
  %k = torsor.vector key %j : tensor<2xf64>
  %o = torsor.read %u[%h] : (tensor<?x2xf32>, i64) -> tensor<2xf64>
  %y = torsor.dot %k, %o : tensor<2xf64>
  %e = math.exp %y : f64
  %s = torsor.index %i
  %t = torsor.index %j
  %a = arith.subi %t, %s : i64
  %d = arith.sitofp %a : i64 to f64
  %b = arith.mulf %e, %d : f64
  torsor.bias %b
}

// -----

// Of all heads of a group: one number for each key head.
// CHECK-LABEL: func.func @shared.decode
// CHECK: torsor.scan 0
// CHECK-SAME: by_group each stream "k.0"
torsor.scheme @shared head(2) {
  %j = torsor.token key
  %u = torsor.param "u" ["2"] : tensor<2xf32>
  %k = torsor.vector key %j : tensor<2xf64>
  %o = torsor.read %u[] : (tensor<2xf32>) -> tensor<2xf64>
  %y = torsor.dot %k, %o : tensor<2xf64>
  torsor.bias %y
}

// -----

// Not what moves with the position: the product alone is kept.
// CHECK-LABEL: func.func @moves.decode
// CHECK: torsor.scan 0
// CHECK-SAME: each stream "k.0"
// CHECK: torsor.row_dot key
// CHECK-NOT: arith.sitofp
// CHECK: torsor.attention
// CHECK-NOT: torsor.row_dot
// CHECK: arith.sitofp
torsor.scheme @moves head(2) {
  %j = torsor.token key
  %u = torsor.param "u" ["2"] : tensor<2xf32>
  %k = torsor.vector key %j : tensor<2xf64>
  %o = torsor.read %u[] : (tensor<2xf32>) -> tensor<2xf64>
  %y = torsor.dot %k, %o : tensor<2xf64>
  %t = torsor.index %j
  %d = arith.sitofp %t : i64 to f64
  %b = arith.mulf %y, %d : f64
  torsor.bias %b
}

// -----

// Not behind a norm, nor by an input that a call brings.
// CHECK-LABEL: func.func @normed.decode
// CHECK-NOT: torsor.scan
// CHECK-LABEL: func.func @normed.append
// CHECK-NOT: torsor.scan
// CHECK: torsor.interface @normed
// CHECK-NOT: "k.0"
torsor.scheme @normed head(2) {
  %j = torsor.token key
  %u = torsor.param "u" ["2"] : tensor<2xf32>
  %k = torsor.vector key %j : tensor<2xf64>
  %o = torsor.read %u[] : (tensor<2xf32>) -> tensor<2xf64>
  %y = torsor.dot %k, %o : tensor<2xf64>
  torsor.norm l2
  torsor.bias %y
}

// -----

// CHECK-LABEL: func.func @brought.decode
// CHECK-NOT: torsor.scan
// CHECK: torsor.interface @brought
// CHECK-NOT: "k.0"
torsor.scheme @brought head(2) {
  %j = torsor.token key
  %u = torsor.input "u" per call ["2"] : tensor<2xf32>
  %k = torsor.vector key %j : tensor<2xf64>
  %o = torsor.read %u[] : (tensor<2xf32>) -> tensor<2xf64>
  %y = torsor.dot %k, %o : tensor<2xf64>
  torsor.bias %y
}
