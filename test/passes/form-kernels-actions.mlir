// RUN: torsor-opt %s --split-input-file --torsor-form-kernels --torsor-derive-tiles | FileCheck %s

// A product is two blocks in turn; a chain is its base on each copy and a block
// that links them. What fades makes cached keys raw.

// CHECK-LABEL: func.func @chain.prefill
// CHECK: branches {{\[\[}}#torsor.block<kind = jordan, lanes = <0, 2, 1 x 2>, rates = 0, s = 0, t = 0, order = 2>, #torsor.block<kind = turn, lanes = <0, 1, 2 x 2>, rates = 1, s = 0, t = 0>, #torsor.block<kind = decay, lanes = <0, -1, 1 x 4>, rates = 2, s = 0, t = 0>{{\]\]}}
// CHECK-LABEL: func.func @chain.append
// CHECK: blocks []
torsor.scheme @chain head(4) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %rate = arith.constant 0.1 : f64
  %couple = arith.constant 0.25 : f64
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %d = torsor.decay %rate : !torsor.action<2>
  %p = torsor.product %r, %d : !torsor.action<2>
  %j = torsor.jordan %p order 2 couple %couple : !torsor.action<2> -> !torsor.action<4>
  %a = torsor.adjacent %j : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
}

// -----

// One list of blocks for each side of a choice, and the number of a pair's
// branch over a tile from the ends of its slots.

// CHECK-LABEL: func.func @region.prefill
// CHECK: branches {{\[\[}}#torsor.block<kind = turn, lanes = <0, 1, 1 x 1>, rates = 0, s = 0, t = 0>], [#torsor.block<kind = turn, lanes = <0, 1, 1 x 1>, rates = 0, s = 1, t = 1>{{\]\]}}
// CHECK: } branch {
// CHECK: arith.cmpi slt
// CHECK: torsor.yield %{{.*}} : i32
// CHECK: } tile {
// CHECK: torsor.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i1, i1, i64, i64
torsor.scheme @region head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %pos = torsor.clock "pos" : !torsor.clock<i32>
  %s = torsor.time %pos of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %pos of %j : !torsor.clock<i32> -> i64
  %w = arith.constant 8 : i64
  %z = arith.constant 0 : i64
  %age = arith.subi %s, %t : i64
  %near = arith.cmpi slt, %age, %w : i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %y = torsor.at %r(q = %w, k = %z) : !torsor.action<2>, i64, i64
  %c = torsor.choose %near, %x, %y : !torsor.action<2>
  %a = torsor.adjacent %c : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// A block may fade in one region and not in another.

// CHECK-LABEL: func.func @fading_region.prefill
// CHECK: branches {{\[\[}}#torsor.block<kind = decay, lanes = <0, -1, 1 x 2>, rates = 0, s = 0, t = 0>], []]
torsor.scheme @fading_region head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %c = arith.cmpi slt, %ii, %jj : i64
  %rate = arith.constant 0.1 : f64
  %d = torsor.decay %rate : !torsor.action<2>
  %z = torsor.zero : !torsor.action<2>
  %x = torsor.choose %c, %d, %z : !torsor.action<2>
  torsor.action %x : !torsor.action<2>
}

// -----

// Frequencies of heads: the keys' side knows the head, and keys lie raw.

// CHECK-LABEL: func.func @by_head.prefill
// CHECK: torsor.attention
// CHECK: keys_by_head
// CHECK: } columns {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64):
torsor.scheme @by_head head(2) {
  %w = torsor.param "w" ["H", "1"] : tensor<?x1xf32>
  %h = torsor.ambient head : i64
  %f = torsor.read %w[%h] : (tensor<?x1xf32>, i64) -> tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// A basis that is not orthogonal: the keys meet its transposed inverse, which
// `bind` makes.

// CHECK-LABEL: func.func @conditioned.prefill
// CHECK: kind = basis, lanes = <0, -1, 1 x 2>, keys = cached, vectors = 0, key_vectors = 1>
// CHECK-LABEL: func.func @conditioned.append
// CHECK: key_vectors = 1
// CHECK-LABEL: func.func private @conditioned.bind
// CHECK-SAME: memref<2x2xf32>, %{{.*}}: memref<2x4xf64>, %{{.*}}: memref<2x2xf32>
// CHECK: arith.divf
torsor.scheme @conditioned head(2) {
  %p = torsor.param "p" ["2", "2"] condition 10.0 : tensor<2x2xf32>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %b = torsor.basis %a columns %p : !torsor.action<2>, tensor<2x2xf32> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}

// -----

// A sum by head that no block reads: keys are packed once for a group.

// CHECK-LABEL: func.func @forgetting.prefill
// CHECK: torsor.attention
// CHECK-NOT: keys_by_head
// CHECK: slots_by_head
// CHECK-NOT: keys_by_head
// CHECK: } columns {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64):
torsor.scheme @forgetting head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %h = torsor.ambient head : i64
  %g = torsor.input "gate" per token ["H"] : tensor<?x?xf32>
  %c = torsor.running "c" {
  ^bb0(%l: !torsor.token):
    %x = torsor.read %g[%l, %h] : (tensor<?x?xf32>, !torsor.token, i64) -> f64
    torsor.yield %x : f64
  } : !torsor.clock<f64>
  %s = torsor.time %c of %i : !torsor.clock<f64> -> f64
  %t = torsor.time %c of %j : !torsor.clock<f64> -> f64
  %b = arith.subf %s, %t : f64
  torsor.bias %b
}

// -----

// A running sum is made before the kernel.

// CHECK-LABEL: func.func @running.prefill
// CHECK: torsor.scan 0 sequences(%{{.*}}) tables(%{{.*}})
// CHECK-SAME: exclusive stream "c"
// CHECK: torsor.fetch
// CHECK: torsor.yield %{{.*}} : f64
// CHECK: torsor.attention
// CHECK: torsor.fetch %{{.*}}[%{{.*}}] : memref<?x1xf64> -> f64
// An append sums on, in the cache, which holds no gates.
// CHECK-LABEL: func.func @running.append
// CHECK: torsor.scan 0 sequences
// CHECK-SAME: #torsor.table<argument 0["token"]>] exclusive stream "c"
// CHECK: torsor.append
// CHECK: torsor.interface @running
// CHECK-SAME: name = "c", type = f64
// CHECK-SAME: name = "c.next", type = f64
// CHECK-SAME: name = "index"
// CHECK-NOT: name = "gate"
torsor.scheme @running head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %g = torsor.input "gate" per token [] : tensor<?xf32>
  %c = torsor.running "c" exclusive {
  ^bb0(%l: !torsor.token):
    %x = torsor.read %g[%l] : (tensor<?xf32>, !torsor.token) -> f64
    torsor.yield %x : f64
  } : !torsor.clock<f64>
  %s = torsor.time %c of %i : !torsor.clock<f64> -> f64
  %t = torsor.time %c of %j : !torsor.clock<f64> -> f64
  %b = arith.subf %s, %t : f64
  torsor.bias %b
}

// -----

// Values turn when they are read, and the output turns back.

// CHECK-LABEL: func.func @value.prefill
// CHECK: value_blocks = [#torsor.block<kind = turn, lanes = <0, 1, 1 x 1>, rates = 0, s = 0, t = 0>]
// CHECK-LABEL: func.func @value.append
// CHECK: blocks []
torsor.scheme @value head(2) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.value_action %a : !torsor.action<2>
}
