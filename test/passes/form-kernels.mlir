// RUN: torsor-opt %s --split-input-file --torsor-form-kernels | FileCheck %s

// Causal RoPE in split pairs: one block, turns as 64-bit fixed point, the scale
// and log2 e in q, exact ranges.
// CHECK-LABEL: func.func @rope.prefill(
// CHECK-SAME: memref<?x?x?x8xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-SAME: memref<4xi64>) attributes {torsor.operation = "prefill"}
// CHECK: torsor.attention
// CHECK-SAME: table_info [#torsor.table<bind 0["4"]>]
// CHECK-SAME: branches {{\[\[}}#torsor.block<kind = turn, lanes = <0, 4, 1 x 4>, rates = 0, s = 0, t = 0, keys = cached>]]
// CHECK-SAME: visible [#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, s0)>]
// CHECK-SAME: full [#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, s0)>]
// log2(e) / sqrt(8)
// CHECK-SAME: scale 0.510069723
// CHECK-SAME: plan <rows = 96, keys = 256, form = tiled>
// CHECK-SAME: rows {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[S:[a-z0-9]+]]: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64):
// CHECK-NEXT: torsor.yield %[[S]] : i64
// CHECK-NEXT: } columns {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[T:[a-z0-9]+]]: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64):
// CHECK-NEXT: torsor.yield %[[T]] : i64
// CHECK-NEXT: } mask {
// CHECK: arith.cmpi sle

// CHECK-LABEL: func.func @rope.decode(
// CHECK: torsor.attention
// CHECK-SAME: plan <rows = 16, keys = 512, form = split>

// A cache holds acted keys: append acts.
// CHECK-LABEL: func.func @rope.append(
// CHECK: torsor.append
// CHECK-SAME: blocks [#torsor.block<kind = turn, lanes = <0, 4, 1 x 4>, rates = 0, t = 0, keys = cached>]

// CHECK-LABEL: func.func @rope.merge(
// CHECK: torsor.merge

// CHECK-LABEL: func.func @rope.rebase(
// CHECK-SAME: memref<4xi64>) attributes {torsor.operation = "rebase"}
// CHECK: torsor.rebase
// CHECK-SAME: blocks [#torsor.block<kind = turn, lanes = <0, 4, 1 x 4>, rates = 0, keys = cached>]
// CHECK-SAME: streams ["index", "pos"]

// 1 radian is 2935890503282001226 / 2^64 turns; -0.5 turns the other way.
// CHECK-LABEL: func.func private @rope.bind(
// CHECK: arith.constant 2935890503282001226 : i64
// CHECK: arith.constant 293589050328200139 : i64
// CHECK: arith.constant 29358905032820013 : i64
// CHECK: arith.constant -1467945251641000613 : i64
// CHECK: memref.store

// CHECK: torsor.interface @rope
// CHECK-SAME: contract = "head 8 value 8 k f32 v f32 keys acted action (turn 0 4 step 1 count 4 at pos rates [1.0, 0.1, 0.01, -0.5])"
// CHECK-SAME: keys_acted
// Attention does not read the positions of acted keys.
// CHECK-SAME: streams = [
// CHECK-NOT: name = "pos"
// CHECK-SAME: value = 8
torsor.scheme @rope head(8) {
  %i = torsor.token query
  %j = torsor.token key
  %f = arith.constant dense<[1.0, 0.1, 0.01, -0.5]> : tensor<4xf64>
  %r = torsor.turn %f : tensor<4xf64> -> !torsor.action<8>
  %a = torsor.split %r : !torsor.action<8>
  torsor.action %a : !torsor.action<8>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %c = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %c
}

// -----

// Interleaved sections of three clocks: steps of 3, one block a clock.
// CHECK-LABEL: func.func @mrope.prefill(
// CHECK: torsor.attention
// CHECK-SAME: table_info [#torsor.table<bind 0["2"]>, #torsor.table<argument 0["token"]>, #torsor.table<argument 0 key = true["token"]>,
// CHECK-SAME: lanes = <0, 6, 3 x 2>
// CHECK-SAME: lanes = <1, 7, 3 x 2>
// CHECK-SAME: lanes = <2, 8, 3 x 2>
// CHECK: rows {
// CHECK: torsor.fetch
// CHECK: torsor.fetch
// CHECK: torsor.fetch
// The tokens of an append are addressed as queries, clocks too.
// CHECK-LABEL: func.func @mrope.append(
// CHECK: torsor.append
// CHECK-NOT: key = true
// CHECK-SAME: #torsor.table<argument 0["token"]>
// CHECK-SAME: #torsor.table<argument 1["token"]>
// CHECK-SAME: #torsor.table<argument 2["token"]>
// CHECK-LABEL: func.func @mrope.merge(
torsor.scheme @mrope head(12) {
  %i = torsor.token query
  %j = torsor.token key
  %ca = torsor.clock "time" : !torsor.clock<i32>
  %cb = torsor.clock "row" : !torsor.clock<i32>
  %cc = torsor.clock "col" : !torsor.clock<i32>
  %sa = torsor.time %ca of %i : !torsor.clock<i32> -> i64
  %ta = torsor.time %ca of %j : !torsor.clock<i32> -> i64
  %sb = torsor.time %cb of %i : !torsor.clock<i32> -> i64
  %tb = torsor.time %cb of %j : !torsor.clock<i32> -> i64
  %sc = torsor.time %cc of %i : !torsor.clock<i32> -> i64
  %tc = torsor.time %cc of %j : !torsor.clock<i32> -> i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %p0 = torsor.at %r(q = %sa, k = %ta) : !torsor.action<2>, i64, i64
  %p1 = torsor.at %r(q = %sb, k = %tb) : !torsor.action<2>, i64, i64
  %p2 = torsor.at %r(q = %sc, k = %tc) : !torsor.action<2>, i64, i64
  %p3 = torsor.at %r(q = %sa, k = %ta) : !torsor.action<2>, i64, i64
  %p4 = torsor.at %r(q = %sb, k = %tb) : !torsor.action<2>, i64, i64
  %p5 = torsor.at %r(q = %sc, k = %tc) : !torsor.action<2>, i64, i64
  %c = torsor.concat %p0, %p1, %p2, %p3, %p4, %p5 : !torsor.action<2>, !torsor.action<2>, !torsor.action<2>, !torsor.action<2>, !torsor.action<2>, !torsor.action<2> -> !torsor.action<12>
  %a = torsor.split %c : !torsor.action<12>
  torsor.action %a : !torsor.action<12>
}

// -----

// Gains stand on the block; lanes in no block pass, those with a gain do not.
// CHECK-LABEL: func.func @gains.prefill(
// CHECK-SAME: memref<?x?x?x8xf32
// CHECK: branches {{\[\[}}#torsor.block<kind = turn, lanes = <0, 2, 1 x 2>, rates = 0, s = 0, t = 0, gain_q = 1.500000e+00 : f64, gain_k = 1.500000e+00 : f64, keys = cached>
// CHECK-SAME: #torsor.block<kind = zero, lanes = <4, -1, 1 x 2>, gain_q = 3.000000e+00 : f64, gain_k = 2.000000e+00 : f64, keys = cached>]]
torsor.scheme @gains head(8) {
  %g = arith.constant 1.5 : f64
  %f = arith.constant dense<[1.0, 0.1]> : tensor<2xf64>
  %u = arith.constant dense<3.0> : tensor<2xf64>
  %v = arith.constant dense<2.0> : tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %s = torsor.split %r : !torsor.action<4>
  %a = torsor.gain %s by %g : !torsor.action<4> -> !torsor.action<4>
  %y = torsor.zero : !torsor.action<2>
  %b = torsor.gain %y q %u : tensor<2xf64> k %v : tensor<2xf64> : !torsor.action<2> -> !torsor.action<2>
  %z = torsor.zero : !torsor.action<2>
  %c = torsor.concat %a, %b, %z : !torsor.action<4>, !torsor.action<2>, !torsor.action<2> -> !torsor.action<8>
  torsor.action %c : !torsor.action<8>
}

// -----

// A gain on a product multiplies once, whichever factor it stands at.

// CHECK-LABEL: func.func @gain_on_product.prefill
// CHECK: kind = turn{{[^>]*>[^>]*}}gain_q = 2.000000e+00 : f64, gain_k = 2.000000e+00 : f64
// CHECK-SAME: kind = decay, lanes = <0, -1, 1 x 2>, rates = {{[0-9]+}}, s = 0, t = 0>
torsor.scheme @gain_on_product head(2) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %rate = arith.constant 0.07 : f64
  %two = arith.constant 2.0 : f64
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %d = torsor.decay %rate : !torsor.action<2>
  %p = torsor.product %r, %d : !torsor.action<2>
  %a = torsor.adjacent %p : !torsor.action<2>
  %g = torsor.gain %a by %two : !torsor.action<2> -> !torsor.action<2>
  torsor.action %g : !torsor.action<2>
}
