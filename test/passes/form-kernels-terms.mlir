// RUN: torsor-opt %s --split-input-file --torsor-form-kernels | FileCheck %s

// A norm is an attribute: its weights are tables by lane. Cached keys have it
// behind them, with or without an action.
// CHECK-LABEL: func.func @norm.prefill
// CHECK: torsor.attention
// CHECK-SAME: norm = #torsor.norm<kind = rms, eps = 5.000000e-01 : f64, q = [[Q:[0-9]+]]>
// CHECK-LABEL: func.func @norm.append
// CHECK: torsor.append
// CHECK-SAME: norm = #torsor.norm<kind = rms, eps = 5.000000e-01 : f64>
// CHECK: torsor.interface @norm
// CHECK-SAME: contract = "head 2 value 2 k f32 v f32 keys acted action zero norm rms eps 0.5"
// CHECK-SAME: keys_acted
torsor.scheme @norm head(2) {
  %w = torsor.param "w" ["2"] : tensor<2xf32>
  %r = torsor.read %w[] : (tensor<2xf32>) -> tensor<2xf64>
  torsor.norm rms eps 0.5 q %r : tensor<2xf64>
}

// -----

// A gain that differs between the lanes of a pair stands behind the action.
// CHECK-LABEL: func.func @gains.prefill
// CHECK: torsor.attention
// CHECK-SAME: lane_gain_k = {{[0-9]+}} : i64, lane_gain_q = {{[0-9]+}} : i64
torsor.scheme @gains head(2) {
  %u = arith.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %b = torsor.gain %a q %u : tensor<2xf64> k %u : tensor<2xf64> : !torsor.action<2> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}

// -----

// The twin: one number for both lanes stays with the block.
// CHECK-LABEL: func.func @alike.prefill
// CHECK: gain_q = 2.000000e+00
// CHECK-NOT: lane_gain
torsor.scheme @alike head(2) {
  %u = arith.constant dense<[2.0, 2.0]> : tensor<2xf64>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %b = torsor.gain %a q %u : tensor<2xf64> k %u : tensor<2xf64> : !torsor.action<2> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}

// -----

// A vector of the pair's distance: all products of a query are tabulated, and
// so are those of a key but in a decode. What reads no content is a number by
// row.
// CHECK-LABEL: func.func @rows.prefill
// CHECK: logit
// CHECK-DAG: torsor.row_dot query %{{.*}}[%{{.*}}<5] by_lane
// CHECK-DAG: torsor.row_dot key %{{.*}}[%{{.*}}<5] by_lane
// CHECK-DAG: torsor.lookup %{{.*}}[%{{.*}}] : (memref<5xf32>, i64) -> f32
// CHECK-LABEL: func.func @rows.decode
// CHECK: logit
// CHECK-DAG: torsor.row_dot query %{{.*}}[%{{.*}}<5] by_lane
// CHECK-DAG: torsor.row_dot key %{{.*}}[%{{.*}}<5] :
torsor.scheme @rows head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %e = arith.subi %s, %t : i64
  %w = torsor.param "w" ["5", "2"] : tensor<5x2xf32>
  %u = torsor.param "u" ["2"] : tensor<2xf32>
  %q = torsor.vector query %i : tensor<2xf64>
  %k = torsor.vector key %j : tensor<2xf64>
  %r = torsor.read %w[%e] : (tensor<5x2xf32>, i64) -> tensor<2xf64>
  %o = torsor.read %u[] : (tensor<2xf32>) -> tensor<2xf64>
  %x = torsor.dot %q, %r : tensor<2xf64>
  %y = torsor.dot %k, %r : tensor<2xf64>
  %z = torsor.dot %o, %r : tensor<2xf64>
  %xy = arith.addf %x, %y : f64
  %b = arith.addf %xy, %z : f64
  torsor.bias %b
}

// -----

// A product that one side decides is a slot of that side; keys whose contents
// are read lie raw behind a rotation.
// CHECK-LABEL: func.func @slots.prefill
// CHECK: rows {
// CHECK: torsor.content
// CHECK: columns {
// CHECK: torsor.row_dot key %{{.*}}[%{{.*}}<1] :
// CHECK: torsor.interface @slots
// CHECK-NOT: keys_acted
torsor.scheme @slots head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %u = torsor.param "u" ["2"] : tensor<2xf32>
  %q = torsor.vector query %i : tensor<2xf64>
  %k = torsor.vector key %j : tensor<2xf64>
  %o = torsor.read %u[] : (tensor<2xf32>) -> tensor<2xf64>
  %c = arith.constant 1 : i64
  %x = torsor.element %q[%c] : tensor<2xf64> -> f64
  %y = torsor.dot %k, %o : tensor<2xf64>
  %b = arith.mulf %x, %y : f64
  torsor.bias %b
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// A sum over a path: its term is a region of its own, at the key's token, and
// the product of q and k without an action is the score.
// CHECK-LABEL: func.func @path.prefill
// CHECK: path_after = 1
// CHECK: path {
// CHECK-NEXT: ^bb0(%[[Z:.*]]: f32,
// CHECK-NOT: torsor.row_dot
// CHECK: logit
// CHECK: torsor.path 0
// CHECK-LABEL: func.func @path.decode
// CHECK: path_after = 1
torsor.scheme @path head(2) {
  %i = torsor.token query
  %q = torsor.vector query %i : tensor<2xf64>
  %b = torsor.path_sum after {
  ^bb0(%l: !torsor.token):
    %k = torsor.vector key %l : tensor<2xf64>
    %x = torsor.dot %q, %k : tensor<2xf64>
    torsor.yield %x : f64
  }
  torsor.bias %b
}

// -----

// A linear readout weighs by z itself and divides behind the last key; merging
// sums its parts.
// CHECK-LABEL: func.func @linear.prefill
// CHECK: torsor.attention
// CHECK-SAME: linear
// CHECK: divide
// CHECK-LABEL: func.func @linear.merge
// CHECK: torsor.merge
// CHECK-SAME: linear
// CHECK: divide
torsor.scheme @linear head(2) {
  %z = torsor.ambient score : f64
  %zero = arith.constant 0.0 : f64
  %relu = arith.maximumf %z, %zero : f64
  torsor.logit %relu
  %t = torsor.ambient total : f64
  torsor.readout linear over %t
}

// -----

// CHECK-LABEL: func.func @values.prefill
// CHECK: value_table = {{[0-9]+}}
// CHECK: value_row
torsor.scheme @values head(2) value(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %e = arith.subi %s, %t : i64
  %w = torsor.param "w" ["5", "2"] : tensor<5x2xf32>
  %r = torsor.read %w[%e] : (tensor<5x2xf32>, i64) -> tensor<2xf64>
  torsor.value_bias %r : tensor<2xf64>
}
