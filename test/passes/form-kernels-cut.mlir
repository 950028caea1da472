// RUN: torsor-opt %s --split-input-file --torsor-form-kernels | FileCheck %s

// Where each part of a logit goes: the slope and the sink, known once an
// instance is bound, into tables of `bind` with log2 e in them; the document,
// one token's, into a slot of each side; what both tokens decide into `init`
// and `mask`.
// CHECK-LABEL: func.func @alibi_docs.prefill(
// CHECK: torsor.attention
// CHECK-SAME: table_info [#torsor.table<bind 0["H"]>, #torsor.table<bind 1["H"]>
// CHECK-SAME: sink_slot 0
// CHECK: rows {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[S:[a-z0-9]+]]: i64, %[[H:[a-z0-9]+]]: i64, %{{.*}}: i64, %{{.*}}: i64):
// CHECK-DAG: %[[SINK:.*]] = torsor.lookup %{{.*}}[%[[H]]] : (memref<?xf32>, i64) -> f32
// CHECK-DAG: %[[SLOPE:.*]] = torsor.lookup %{{.*}}[%[[H]]] : (memref<?xf32>, i64) -> f32
// CHECK-DAG: %[[DOC:.*]] = torsor.fetch %{{.*}}[] : memref<?x?xi32, strided<[?, ?], offset: ?>> -> i64
// CHECK: torsor.yield %[[SINK]], %[[S]], %[[SLOPE]], %[[DOC]] : f32, i64, f32, i64
// CHECK: columns {
// CHECK: torsor.yield %{{.*}}, %{{.*}} : i64, i64
// Positions are subtracted as integers; one rounding follows.
// CHECK: init {
// CHECK: %[[D:.*]] = arith.subi %{{.*}}, %{{.*}} : i64
// CHECK: %[[X:.*]] = arith.sitofp %[[D]] : i64 to f32
// CHECK: arith.mulf %{{.*}}, %[[X]] : f32
// CHECK-NOT: arith.mulf
// CHECK: toeplitz {
// CHECK: mask {
// CHECK: arith.cmpi eq, %{{.*}}, %{{.*}} : i64
// The sink is a row slot of merge, which adds it once.
// CHECK-LABEL: func.func @alibi_docs.merge(
// CHECK: torsor.merge
// CHECK-SAME: sink_slot 0
// CHECK-LABEL: func.func private @alibi_docs.bind(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: memref<?xf32, strided<[?], offset: ?>>
// CHECK-SAME: torsor.tables = [#torsor.table<argument 2["H"]>, #torsor.table<bind 0["H"]>
// CHECK: scf.for
// CHECK: arith.constant 1.4426950408889634 : f64
// CHECK: scf.for
// CHECK: math.exp2 %{{.*}} : f64
// CHECK: torsor.interface @alibi_docs
// Keys lie raw: nothing acts on them. Attention reads the position and the
// document of cached keys.
// CHECK-SAME: contract = "head 64 value 64 k f32 v f32 keys raw action zero"
// CHECK-NOT: keys_acted
// CHECK-SAME: streams = [
// CHECK-SAME: name = "index"
// CHECK-SAME: name = "pos"
// CHECK-SAME: name = "doc"
// CHECK-SAME: window = 1023
torsor.scheme @alibi_docs head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %pos = torsor.clock "pos" : !torsor.clock<i32>
  %s = torsor.time %pos of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %pos of %j : !torsor.clock<i32> -> i64
  %doc = torsor.input "doc" per token [] : tensor<?xi32>
  %sinks = torsor.param "sinks" ["H"] : tensor<?xf32>
  %di = torsor.read %doc[%i] : (tensor<?xi32>, !torsor.token) -> i64
  %dj = torsor.read %doc[%j] : (tensor<?xi32>, !torsor.token) -> i64
  %h = torsor.ambient head : i64
  %H = torsor.ambient heads : i64
  %c8 = arith.constant -8 : i64
  %h8 = arith.muli %h, %c8 : i64
  %hf = arith.sitofp %h8 : i64 to f64
  %Hf = arith.sitofp %H : i64 to f64
  %e = arith.divf %hf, %Hf : f64
  %slope = math.exp2 %e : f64
  %d = arith.subi %t, %s : i64
  %df = arith.sitofp %d : i64 to f64
  %b = arith.mulf %slope, %df : f64
  torsor.bias %b
  %ii = torsor.index %i
  %jj = torsor.index %j
  %c0 = arith.constant 0 : i64
  %w = arith.constant 1024 : i64
  %a = arith.subi %ii, %jj : i64
  %x = arith.cmpi sge, %a, %c0 : i64
  %y = arith.cmpi slt, %a, %w : i64
  %same = arith.cmpi eq, %di, %dj : i64
  %xy = arith.andi %x, %y : i1
  %m = arith.andi %xy, %same : i1
  torsor.mask %m
  %sk = torsor.read %sinks[%h] : (tensor<?xf32>, i64) -> f64
  torsor.sink %sk
}

// -----

// A spectrum that N decides is prepared for each sequence; keys then lie raw.
// CHECK-LABEL: func.func @dynamic.prefill(
// CHECK: table_info [#torsor.table<prepare 0["sequence", "2"]>]
// CHECK-SAME: #torsor.block<kind = turn, lanes = <0, 2, 1 x 2>, rates = 0, s = 0, t = 0>
// CHECK-LABEL: func.func @dynamic.decode(
// CHECK: #torsor.block<
// CHECK-SAME: keys = loop
// CHECK-LABEL: func.func @dynamic.append(
// CHECK: blocks []
// CHECK-LABEL: func.func private @dynamic.prepare(
// CHECK-SAME: %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %[[N:[a-z0-9]+]]: i64, %{{.*}}: memref<?x2xi64>)
// CHECK: arith.sitofp %[[N]]
// CHECK: torsor.interface @dynamic
// CHECK-SAME: keys raw action {x0 = sitofp(length);
// CHECK-SAME: name = "pos"
torsor.scheme @dynamic head(4) {
  %n = torsor.ambient length : i64
  %nf = arith.sitofp %n : i64 to f64
  %f = torsor.tabulate {
  ^bb0(%p: i64):
    %pf = arith.sitofp %p : i64 to f64
    %q = arith.divf %pf, %nf : f64
    %x = math.exp2 %q : f64
    torsor.yield %x : f64
  } : tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %a = torsor.split %r : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
}

// -----

// Learned frequencies of a group: a table by "G", read on the side of keys;
// the contract names the param.
// CHECK-LABEL: func.func @learned.prefill(
// CHECK: #torsor.table<bind 0["G", "2"]>
// CHECK-SAME: keys = cached
// CHECK: torsor.interface @learned
// CHECK-SAME: #torsor.field<name = "w", type = f32, stage = 1, sides = 0, axes = ["G", "2"], contract = true>
// CHECK-SAME: contract = "head 4 value 4 k f32 v f32 keys acted action {x0 = read($w, group, 0); x1 = read($w, group, 1);} (turn 0 2 step 1 count 2 at pos rates [x0, x1])"
torsor.scheme @learned head(4) {
  %w = torsor.param "w" ["G", "2"] : tensor<?x2xf32>
  %g = torsor.ambient group : i64
  %f = torsor.read %w[%g] : (tensor<?x2xf32>, i64) -> tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %a = torsor.split %r : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
}

// -----

// Softcap: scale / c goes to q, c log2 e behind tanh, and the bias after it.
// CHECK-LABEL: func.func @softcap.prefill(
// CHECK-SAME: memref<?x?x?x64xf32
// CHECK: scale 2.500000e-03 plan
// CHECK: logit {
// CHECK-NEXT: ^bb0(%[[Z:[a-z0-9]+]]: f32, %{{.*}}: i32, %{{.*}}: i32
// CHECK: %[[T:.*]] = math.tanh %[[Z]] : f32
// CHECK: %[[C:.*]] = arith.constant 72.1347503 : f32
// CHECK: %[[Y:.*]] = arith.mulf %[[T]], %[[C]] : f32
// CHECK: arith.addf %[[Y]], %{{.*}} : f32
torsor.scheme @softcap head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %cap = arith.constant 50.0 : f64
  torsor.softcap %cap
  %ii = torsor.index %i
  %jj = torsor.index %j
  %d = arith.subi %jj, %ii : i64
  %b = arith.sitofp %d : i64 to f64
  torsor.bias %b
}

// -----

// A scale of the query's is a factor of the row; no softcap: nothing is left
// of the logit.
// CHECK-LABEL: func.func @temperature.prefill(
// CHECK: scale_slot 0
// CHECK: rows {
// CHECK-NEXT: ^bb0(%[[I:[a-z0-9]+]]: i64,
// CHECK: arith.sitofp %[[I]] : i64 to f64
// CHECK: math.log %{{.*}} : f64
// CHECK: %[[X:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: torsor.yield %[[X]] : f32
// CHECK-NOT: logit {
// CHECK-LABEL: func.func @temperature.decode(
torsor.scheme @temperature head(64) {
  %i = torsor.token query
  %ii = torsor.index %i
  %one = arith.constant 1.0 : f64
  %x = arith.sitofp %ii : i64 to f64
  %y = arith.addf %x, %one : f64
  %l = math.log %y : f64
  torsor.scale %l
}

// -----

// Two times of reals are subtracted in f64, and only the difference is rounded.
// CHECK-LABEL: func.func @stamps.prefill(
// CHECK: torsor.yield %{{.*}} : f64
// CHECK: mask {
// CHECK: %[[D:.*]] = arith.subf %{{.*}}, %{{.*}} : f64
// CHECK: arith.cmpf olt, %[[D]], %{{.*}} : f64
// CHECK: torsor.interface @stamps
torsor.scheme @stamps head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %c = torsor.clock "time" : !torsor.clock<f64>
  %s = torsor.time %c of %i : !torsor.clock<f64> -> f64
  %t = torsor.time %c of %j : !torsor.clock<f64> -> f64
  %w = arith.constant 3600.0 : f64
  %d = arith.subf %s, %t : f64
  %m = arith.cmpf olt, %d, %w : f64
  torsor.mask %m
}

// -----

// T5: a table of buckets, picked by the age: a start of the accumulator that a
// back end may tabulate; constants are a table of `bind`.
// CHECK-LABEL: func.func @buckets.prefill(
// CHECK-SAME: memref<?x4xf32, strided<[?, ?], offset: ?>>
// CHECK: init {
// CHECK: torsor.lookup %{{.*}} : (memref<6xi64>, i64) -> i64
// CHECK: torsor.lookup %{{.*}} : (memref<?x4xf32, strided<[?, ?], offset: ?>>, i64, i64) -> f32
// CHECK: toeplitz {
// CHECK-NEXT: ^bb0(%[[AGE:[a-z0-9]+]]: i64, %[[H:[a-z0-9]+]]: i64, %{{.*}}: i64, %{{.*}}: i64):
// CHECK: torsor.lookup %{{.*}}[%[[H]], %{{.*}}] : (memref<?x4xf32
// CHECK-NOT: logit {
// CHECK-LABEL: func.func @buckets.decode(
torsor.scheme @buckets head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %w = torsor.param "table" ["H", "4"] : tensor<?x4xf32>
  %h = torsor.ambient head : i64
  %steps = arith.constant dense<[0, 1, 2, 2, 3, 3]> : tensor<6xi64>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %age = arith.subi %ii, %jj : i64
  %n = torsor.element %steps[%age] : tensor<6xi64> -> i64
  %b = torsor.read %w[%h, %n] : (tensor<?x4xf32>, i64, i64) -> f64
  torsor.bias %b
}

// -----

// A value of one token that the other token picks: a lookup in the pair region,
// whose first index stands for the pair's own token.
// CHECK-LABEL: func.func @picked.prefill(
// CHECK: #torsor.table<argument 0["token", "*"]>
// CHECK: mask {
// CHECK: %[[OWN:.*]] = arith.constant 0 : i64
// CHECK: torsor.lookup %{{.*}}[%[[OWN]], %{{.*}}] : (memref<?x?x?xi1, strided<[?, ?, ?], offset: ?>>, i64, i64) -> i1
torsor.scheme @picked head(64) {
  %i = torsor.token query
  %j = torsor.token key
  %keep = torsor.input "keep" per token ["*"] : tensor<?x?xi1>
  %jj = torsor.index %j
  %m = torsor.read %keep[%i, %jj] : (tensor<?x?xi1>, !torsor.token, i64) -> i1
  torsor.mask %m
}
