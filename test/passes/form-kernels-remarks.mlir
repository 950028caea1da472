// RUN: torsor-opt %s --split-input-file --torsor-form-kernels %remarks 2>&1 | FileCheck %s

// CHECK: remark: {{.*}}a cache holds keys acted on: nothing on the key side changes between calls
// CHECK: remark: {{.*}}the scale is constant: q is multiplied by it and by log2 e once
// CHECK: remark: {{.*}}sequences of up to 16 queries are decoded
torsor.scheme @rope head(2) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// CHECK: remark: {{.*}}a cache holds raw keys, acted on again in each call: the key side reads a moving clock
torsor.scheme @moving head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %c = torsor.clock "row" moving : !torsor.clock<i32>
  %s = torsor.time %c of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %c of %j : !torsor.clock<i32> -> i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %a = torsor.adjacent %x : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// CHECK: remark: {{.*}}a cache holds raw keys, acted on again in each call: the key side varies by the sequence
torsor.scheme @length head(2) {
  %n = torsor.ambient length : i64
  %x = arith.sitofp %n : i64 to f64
  %f = torsor.list %x : f64 -> tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// CHECK: remark: {{.*}}nothing acts on keys: a cache holds them as they come
// CHECK: remark: {{.*}}the bias depends on ages alone: it starts the accumulator
torsor.scheme @bias head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %d = arith.subi %jj, %ii : i64
  %b = arith.sitofp %d : i64 to f64
  torsor.bias %b
}

// -----

// A bias that is no function of an age follows the product.
// CHECK: remark: {{.*}}a term of the logit is computed for each pair behind the product
torsor.scheme @pair head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %d = arith.muli %jj, %ii : i64
  %b = arith.sitofp %d : i64 to f64
  torsor.bias %b
}
