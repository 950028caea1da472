// Every operation of the kernel level prints, parses and prints the same.
// RUN: torsor-opt %s --verify-roundtrip | FileCheck %s
// RUN: torsor-opt %s --mlir-print-op-generic | torsor-opt | FileCheck %s

!f = memref<?x?x?x4xf32, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @attention
func.func @attention(%q: !f, %k: !f, %v: !f, %o: !f, %lse: memref<?x?x?xf32>,
    %seq: memref<?x12xi64>, %acted: i1, %turns: memref<2xi64>,
    %doc: memref<?xi32>, %slopes: memref<?xf32>) {
  // CHECK: torsor.attention q(%arg0) k(%arg1) v(%arg2) o(%arg3) lse(%arg4) sequences(%arg5) acted(%arg6) tables(%arg7, %arg8, %arg9)
  // CHECK-SAME: table_info [#torsor.table<bind 0["2"]>, #torsor.table<argument 1 key = true["token"]>, #torsor.table<prepare 0["sequence", "H"]>]
  // CHECK-SAME: branches {{\[\[}}#torsor.block<kind = turn, lanes = <0, 2, 1 x 2>, rates = 0, s = 0, t = 0, gain_q = 2.000000e+00 : f64, keys = cached>], [#torsor.block<kind = zero, lanes = <0, -1, 1 x 4>>{{\]\]}}
  // CHECK-SAME: visible [#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, s0)>]
  // CHECK-SAME: full [#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, s0)>]
  // CHECK-SAME: by_position scale 5.000000e-01 scale_slot 1 sink_slot 1 plan <rows = 96, keys = 256, form = tiled>
  // CHECK: rows {
  // CHECK: torsor.lookup %{{.*}}[%{{.*}}] : (memref<?xf32>, i64) -> f32
  // CHECK: } columns {
  // CHECK: torsor.fetch %{{.*}}[] : memref<?xi32> -> i64
  // CHECK: } branch {
  // CHECK: } init {
  // CHECK: } toeplitz {
  // CHECK: } logit {
  // CHECK: } mask {
  // CHECK: } tile {
  torsor.attention q(%q) k(%k) v(%v) o(%o) lse(%lse) sequences(%seq)
    acted(%acted) tables(%turns, %doc, %slopes)
    table_info [#torsor.table<bind 0 ["2"]>,
                #torsor.table<argument 1 key = true ["token"]>,
                #torsor.table<prepare 0 ["sequence", "H"]>]
    branches [[#torsor.block<kind = turn, lanes = <0, 2, 1 x 2>, rates = 0,
                             s = 0, t = 0, gain_q = 2.0 : f64, keys = cached>],
              [#torsor.block<kind = zero, lanes = <0, -1, 1 x 4>>]]
    visible [#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d1 + 1, s0)>]
    full [#torsor.interval<(d0, d1)[s0] -> (0), (d0, d1)[s0] -> (d0 + 1, s0)>]
    by_position scale 0.5 scale_slot 1 sink_slot 1
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %m = torsor.lookup %slopes[%h] : (memref<?xf32>, i64) -> f32
      torsor.yield %s, %m : i64, f32
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      %d = torsor.fetch %doc[] : memref<?xi32> -> i64
      torsor.yield %t, %d : i64, i64
    } branch {
    ^bb0(%i: i32, %j: i32, %s: i64, %m: f32, %t: i64, %d: i64):
      %one = arith.constant 1 : i32
      torsor.yield %one : i32
    } init {
    ^bb0(%i: i32, %j: i32, %s: i64, %m: f32, %t: i64, %d: i64):
      torsor.yield %m : f32
    } toeplitz {
    ^bb0(%age: i64, %h: i64, %b: i64, %n: i64):
      %m = torsor.lookup %slopes[%h] : (memref<?xf32>, i64) -> f32
      torsor.yield %m : f32
    } logit {
    ^bb0(%z: f32, %i: i32, %j: i32, %s: i64, %m: f32, %t: i64, %d: i64):
      torsor.yield %z : f32
    } mask {
    ^bb0(%i: i32, %j: i32, %s: i64, %m: f32, %t: i64, %d: i64):
      %c = arith.cmpi sle, %j, %i : i32
      torsor.yield %c : i1
    } tile {
    ^bb0(%i0: i64, %i1: i64, %j0: i64, %j1: i64, %s0: i64, %s1: i64, %m0: f32,
         %m1: f32, %t0: i64, %t1: i64, %d0: i64, %d1: i64):
      %some = arith.cmpi sle, %j0, %i1 : i64
      %all = arith.cmpi sle, %j1, %i0 : i64
      torsor.yield %some, %all : i1, i1
    }
    : !f, !f, !f, !f, memref<?x?x?xf32>, memref<?x12xi64>, i1, memref<2xi64>,
      memref<?xi32>, memref<?xf32>
  return
}

// A running sum, and blocks of every kind.
// CHECK-LABEL: func.func @actions
func.func @actions(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %sq: memref<?x?x4xf64>, %sk: memref<?x?x4xf64>,
    %rates: memref<4xf64>, %rows: memref<4x4xf32>, %gate: memref<?x?xf32>) {
  // CHECK: torsor.scan 0 sequences(%arg4) tables(%arg10) table_info [#torsor.table<argument 0 key = true["token", "H"]>] exclusive by_head {
  // CHECK: torsor.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : f64, f64, f64, f64
  // CHECK: } : memref<?x12xi64>, memref<?x?xf32>
  torsor.scan 0 sequences(%seq) tables(%gate)
    table_info [#torsor.table<argument 0 key = true ["token", "H"]>]
    exclusive by_head {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64, %h: i64):
      %x = torsor.fetch %gate[%h] : memref<?x?xf32> -> f32
      %y = arith.extf %x : f32 to f64
      torsor.yield %y, %y, %y, %y : f64, f64, f64, f64
    } : memref<?x12xi64>, memref<?x?xf32>
  // CHECK: torsor.attention
  // CHECK-SAME: #torsor.block<kind = basis, lanes = <0, -1, 1 x 4>, vectors = 3>
  // CHECK-SAME: #torsor.block<kind = decay, lanes = <0, -1, 1 x 4>, rates = 2, s = 0, t = 1, family = true>
  // CHECK-SAME: #torsor.block<kind = jordan, lanes = <0, 2, 1 x 2>, rates = 2, s = 0, t = 0, order = 2>
  // CHECK-SAME: #torsor.block<kind = plane, lanes = <0, -1, 1 x 4>, rates = 2, s = 0, t = 0, vectors = 3>
  // CHECK-SAME: keys_by_head
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%sq, %sk, %rates, %rows)
    table_info [#torsor.table<scan 0 ["token", "H", "4"]>,
                #torsor.table<scan 0 key = true ["token", "H", "4"]>,
                #torsor.table<bind 0 ["4"]>, #torsor.table<bind 1 ["4", "4"]>]
    branches [[
      #torsor.block<kind = basis, lanes = <0, -1, 1 x 4>, vectors = 3>,
      #torsor.block<kind = decay, lanes = <0, -1, 1 x 4>, rates = 2, s = 0,
                    t = 1, family = true>,
      #torsor.block<kind = jordan, lanes = <0, 2, 1 x 2>, rates = 2, s = 0,
                    t = 0, order = 2>,
      #torsor.block<kind = plane, lanes = <0, -1, 1 x 4>, rates = 2, s = 0,
                    t = 0, vectors = 3>]]
    visible [] full [] plan <rows = 96, keys = 256, form = tiled>
    attributes {keys_by_head}
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64, %h: i64):
      torsor.yield %t : i64
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?x?x4xf64>,
        memref<?x?x4xf64>, memref<4xf64>, memref<4x4xf32>
  return
}

// CHECK-LABEL: func.func @append
func.func @append(%k: !f, %v: !f, %kc: !f, %vc: !f, %seq: memref<?x12xi64>,
    %turns: memref<2xi64>) {
  // CHECK: torsor.append k(%arg0) v(%arg1) into(%arg2, %arg3) sequences(%arg4) tables(%arg5) table_info [#torsor.table<bind 0["2"]>] blocks [#torsor.block<kind = turn, lanes = <0, 1, 2 x 2>, rates = 0, s = 0, t = 0>]
  torsor.append k(%k) v(%v) into(%kc, %vc) sequences(%seq) tables(%turns)
    table_info [#torsor.table<bind 0 ["2"]>]
    blocks [#torsor.block<kind = turn, lanes = <0, 1, 2 x 2>, rates = 0, s = 0, t = 0>]
    columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    } : !f, !f, !f, !f, memref<?x12xi64>, memref<2xi64>
  return
}

// CHECK-LABEL: func.func @rebase
func.func @rebase(%kc: !f, %seq: memref<?x12xi64>, %turns: memref<2xi64>) {
  // CHECK: torsor.rebase in(%arg0) sequences(%arg1) tables(%arg2) table_info [#torsor.table<bind 0["2"]>] blocks [#torsor.block<kind = turn, lanes = <0, 1, 2 x 2>, rates = 0>] streams ["index", "pos"]
  torsor.rebase in(%kc) sequences(%seq) tables(%turns)
    table_info [#torsor.table<bind 0 ["2"]>]
    blocks [#torsor.block<kind = turn, lanes = <0, 1, 2 x 2>, rates = 0>]
    streams ["index", "pos"] : !f, memref<?x12xi64>, memref<2xi64>
  // A contract of raw keys: nothing but what lies beside them moves.
  // CHECK: torsor.rebase in(%arg0) sequences(%arg1) table_info [] blocks [] streams ["index"]
  torsor.rebase in(%kc) sequences(%seq) table_info [] blocks []
    streams ["index"] : !f, memref<?x12xi64>
  return
}

// CHECK-LABEL: func.func @merge
func.func @merge(%o: !f, %lse: memref<?x?x?xf32>, %seq: memref<?x12xi64>,
    %sinks: memref<?xf32>) {
  // CHECK: torsor.merge o(%arg0) lse(%arg1) sequences(%arg2) tables(%arg3) table_info [#torsor.table<bind 0["H"]>] sink_slot 0
  torsor.merge o(%o) lse(%lse) sequences(%seq) tables(%sinks)
    table_info [#torsor.table<bind 0 ["H"]>] sink_slot 0
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %m = torsor.lookup %sinks[%h] : (memref<?xf32>, i64) -> f32
      torsor.yield %m : f32
    } : !f, memref<?x?x?xf32>, memref<?x12xi64>, memref<?xf32>
  return
}

// CHECK: torsor.interface @x {
// CHECK-SAME: arguments = [#torsor.field<name = "doc", type = i32, stage = 3, sides = 3, flags = 1, axes = [], low = 0.000000e+00 : f64, high = 9.000000e+00 : f64, condition = 1.000000e+00 : f64, contract = true>]
// CHECK-SAME: window = 1024 : i64
torsor.interface @x {head = 4 : i64, value = 4 : i64, q = f32, k = f32, v = f32,
  o = f32, operations = {prefill = @attention}, canonical = "scheme x { }",
  arguments = [#torsor.field<name = "doc", type = i32, stage = 3, sides = 3,
                             flags = 1, axes = [], low = 0.0 : f64,
                             high = 9.0 : f64, condition = 1.0 : f64,
                             contract = true>],
  streams = [#torsor.field<name = "k", type = f32, stage = 3, sides = 2, axes = ["G", "4"]>],
  manifest = "", contract = "contract 1", bind_tables = [], prepare_tables = [],
  keys_acted, decode_queries = 16 : i64, window = 1024 : i64}

// What only some schemes have: a norm, factors by lane, weights that are the
// logits themselves, sums over paths, rows added to values.
!g = memref<?x?x?x4xf32>
// CHECK-LABEL: func.func @extras
func.func @extras(%q: !g, %k: !g, %v: !g, %o: !g, %seq: memref<?x12xi64>,
    %acted: i1, %w: memref<4xf32>, %r: memref<3x4xf32>, %t: memref<4x16xf32>) {
  // CHECK: torsor.attention
  // CHECK-SAME: lane_gain_k = 0 : i64
  // CHECK-SAME: linear
  // CHECK-SAME: norm = #torsor.norm<kind = rms, eps = 5.000000e-01 : f64, q = 0>
  // CHECK-SAME: path_after = 1 : i64
  // CHECK-SAME: value_table = 1 : i64
  // CHECK: torsor.content
  // CHECK: torsor.row_dot key %{{.*}}[%{{.*}}<3] : (memref<3x4xf32>, i64) -> f32
  // CHECK: path {
  // CHECK: logit {
  // CHECK: torsor.path 0
  // CHECK: torsor.row_dot query %{{.*}}[%{{.*}}<3] by_lane : (memref<4x16xf32>, i32) -> f32
  // CHECK: value_row {
  // CHECK: divide {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%w, %r, %t) table_info [#torsor.table<bind 0["4"]>,
      #torsor.table<bind 1["3", "4"]>, #torsor.table<bind 2["4", "16"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    attributes {norm = #torsor.norm<kind = rms, eps = 0.5 : f64, q = 0>,
                lane_gain_k = 0 : i64, linear, value_table = 1 : i64,
                path_after = 1 : i64}
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %x = torsor.content %i
      torsor.yield %x : f32
    } columns {
    ^bb0(%j: i64, %u: i64, %g: i64, %b: i64, %n: i64):
      %x = torsor.row_dot key %r[%j < 3] : (memref<3x4xf32>, i64) -> f32
      torsor.yield %x : f32
    } path {
    ^bb0(%z: f32, %i: i32, %j: i32, %x: f32, %y: f32):
      torsor.yield %z : f32
    } logit {
    ^bb0(%z: f32, %i: i32, %j: i32, %x: f32, %y: f32):
      %p = torsor.path 0
      %d = torsor.row_dot query %t[%j < 3] by_lane : (memref<4x16xf32>, i32) -> f32
      %a = arith.addf %p, %d : f32
      torsor.yield %a : f32
    } value_row {
    ^bb0(%i: i32, %j: i32, %x: f32, %y: f32):
      torsor.yield %j : i32
    } divide {
    ^bb0(%z: f32, %x: f32):
      torsor.yield %z : f32
    } : !g, !g, !g, !g, memref<?x12xi64>, i1, memref<4xf32>, memref<3x4xf32>,
        memref<4x16xf32>
  // CHECK: torsor.append
  // CHECK-SAME: norm = #torsor.norm<kind = l2, eps = 0.000000e+00 : f64>
  torsor.append k(%k) v(%v) into(%k, %v) sequences(%seq) table_info []
    blocks [] attributes {norm = #torsor.norm<kind = l2, eps = 0.0 : f64>}
    columns {
    ^bb0(%j: i64, %u: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } : !g, !g, !g, !g, memref<?x12xi64>
  return
}
