// One chunk for each rule of the kernel level.
// RUN: torsor-opt %s --split-input-file --verify-diagnostics

// attention R1
!f = memref<?x?x?x1xf32>
func.func @attention_r1_type(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  // expected-error @below {{'torsor.attention' op a slot must be i64, i32, i1, f32 or f64, but is 'f16'}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %x = arith.constant 0.5 : f16
      torsor.yield %x : f16
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    }  : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// attention R1
!f = memref<?x?x?x1xf32>
func.func @attention_r1_slots(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  // expected-error @below {{'torsor.attention' op region 'mask' must take the indices as i32 and then every slot}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } mask {
    ^bb0(%i: i32, %j: i32):
      %m = arith.constant true
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// attention R1
!f = memref<?x?x?x1xf32>
func.func @attention_r1_indices(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  // expected-error @below {{'torsor.attention' op region 'init' must take the indices as i32 and then every slot}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } init {
    ^bb0(%i: i64, %j: i64):
      %m = arith.constant 0.5 : f32
      torsor.yield %m : f32
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

!f = memref<?x?x?x1xf32>
func.func @logit_type(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  // expected-error @below {{'torsor.attention' op region 'logit' must yield one 'f32'}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } logit {
    ^bb0(%z: f32, %i: i32, %j: i32):
      torsor.yield %i : i32
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// attention R2
!f = memref<?x?x?x1xf32>
func.func @attention_r2(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %turns: memref<1xi64>) {
  // expected-error @below {{'torsor.attention' op the times of a block must be slots of type i64 or f64, but they are 0 and 0}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%turns) table_info [#torsor.table<bind 0 ["1"]>]
    branches [[#torsor.block<kind = turn, lanes = <0, 1, 1 x 0>, rates = 0, s = 0, t = 0>]] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    }  : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<1xi64>
  return
}

// -----

!f = memref<?x?x?x1xf32>
func.func @block_rates(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %turns: memref<1xi64>) {
  // expected-error @below {{'torsor.attention' op table 1 does not exist}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%turns) table_info [#torsor.table<bind 0 ["1"]>]
    branches [[#torsor.block<kind = turn, lanes = <0, 1, 1 x 0>, rates = 1, s = 0, t = 0>]] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    }  : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<1xi64>
  return
}

// -----

// attention R3
!f = memref<?x?x?x1xf32>
func.func @attention_r3(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %turns: memref<1xi64>) {
  // expected-error @below {{'torsor.attention' op describes 0 tables, but has 1}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%turns) table_info []
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    }  : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<1xi64>
  return
}

// -----

!f = memref<?x?x?x1xf32>
func.func @table_info(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %turns: memref<1xi64>) {
  // expected-error @below {{'torsor.attention' op 'table_info' must hold #torsor.table}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%turns) table_info [0]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    }  : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<1xi64>
  return
}

// -----

!f = memref<?x?x?x1xf32>
func.func @ranges(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  // expected-error @below {{'torsor.attention' op ranges must be #torsor.interval}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [] visible [0] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    }  : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

!f = memref<?x?x?x1xf32>
func.func @branches(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  // expected-error @below {{'torsor.attention' op 'branches' must hold lists of blocks}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [0] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    }  : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// attention r2 family
!f = memref<?x?x?x4xf32>
func.func @attention_r2_family(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %r: memref<4xf64>) {
  // expected-error @below {{'torsor.attention' op the times of a family must be tables of a running sum, but they are 0 and 0}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%r)
    table_info [#torsor.table<bind 0 ["4"]>]
    branches [[#torsor.block<kind = decay, lanes = <0, -1, 1 x 4>, rates = 0, s = 0, t = 0, family = true>]] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<4xf64>
  return
}

// -----

// attention r2 vectors
!f = memref<?x?x?x4xf32>
func.func @attention_r2_vectors(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %r: memref<4xf64>) {
  // expected-error @below {{'torsor.attention' op table -1 does not exist}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%r)
    table_info [#torsor.table<bind 0 ["4"]>]
    branches [[#torsor.block<kind = basis, lanes = <0, -1, 1 x 4>>]] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<4xf64>
  return
}

// -----

// attention r6 lanes
!f = memref<?x?x?x4xf32>
func.func @attention_r6_lanes(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %r: memref<4xf64>) {
  // expected-error @below {{'torsor.attention' op a block leaves the lanes of the head: #torsor.block<kind = decay, lanes = <0, -1, 1 x 5>, rates = 0, s = 0, t = 0>}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%r)
    table_info [#torsor.table<bind 0 ["4"]>]
    branches [[#torsor.block<kind = decay, lanes = <0, -1, 1 x 5>, rates = 0, s = 0, t = 0>]] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<4xf64>
  return
}

// -----

// attention r6 chain
!f = memref<?x?x?x4xf32>
func.func @attention_r6_chain(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %r: memref<4xf64>) {
  // expected-error @below {{'torsor.attention' op a block leaves the lanes of the head: #torsor.block<kind = jordan, lanes = <0, 2, 1 x 2>, rates = 0, s = 0, t = 0, order = 3>}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%r)
    table_info [#torsor.table<bind 0 ["4"]>]
    branches [[#torsor.block<kind = jordan, lanes = <0, 2, 1 x 2>, rates = 0, s = 0, t = 0, order = 3>]] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<4xf64>
  return
}

// -----

// scan R1
func.func @scan_r1_arguments(%seq: memref<?x12xi64>) {
  // expected-error @below {{'torsor.scan' op its term must take j, t, g, b, n and h and yield f64}}
  torsor.scan 0 sequences(%seq) table_info [] {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      %x = arith.constant 0.5 : f64
      torsor.yield %x : f64
    } : memref<?x12xi64>
  return
}

// -----

// scan R1
func.func @scan_r1_type(%seq: memref<?x12xi64>) {
  // expected-error @below {{'torsor.scan' op its term must take j, t, g, b, n and h and yield f64}}
  torsor.scan 0 sequences(%seq) table_info [] {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64, %h: i64):
      %x = arith.constant 0.5 : f32
      torsor.yield %x : f32
    } : memref<?x12xi64>
  return
}

// -----

// scan R2
func.func @scan_r2(%seq: memref<?x12xi64>) {
  // expected-error @below {{'torsor.scan' op describes 1 tables, but has 0}}
  torsor.scan 0 sequences(%seq) table_info [#torsor.table<bind 0 ["1"]>] {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64, %h: i64):
      %x = arith.constant 0.5 : f64
      torsor.yield %x : f64
    } : memref<?x12xi64>
  return
}

// -----

// attention R4
!f = memref<?x?x?x1xf32>
func.func @attention_r4_norm(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %w: memref<3x1xf32>) {
  // expected-error @below {{'torsor.attention' op table 4 does not exist}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%w) table_info [#torsor.table<bind 0["3", "1"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled> attributes {norm = #torsor.norm<kind = rms, eps = 0.5 : f64, q = 4>}
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<3x1xf32>
  return
}

// -----

// attention R4
!f = memref<?x?x?x1xf32>
func.func @attention_r4_gain(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %w: memref<3x1xf32>) {
  // expected-error @below {{'torsor.attention' op table 1 does not exist}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%w) table_info [#torsor.table<bind 0["3", "1"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled> attributes {lane_gain_k = 1}
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<3x1xf32>
  return
}

// -----

// attention R5
!f = memref<?x?x?x1xf32>
func.func @attention_r5_divide(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %w: memref<3x1xf32>) {
  // expected-error @below {{'torsor.attention' op 'divide' stands with 'linear' only}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%w) table_info [#torsor.table<bind 0["3", "1"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } divide {
    ^bb0(%z: f32):
      torsor.yield %z : f32
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<3x1xf32>
  return
}

// -----

// attention R5
!f = memref<?x?x?x1xf32>
func.func @attention_r5_values(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %w: memref<3x1xf32>) {
  // expected-error @below {{'torsor.attention' op 'value_row' and 'value_table' stand together}}
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%w) table_info [#torsor.table<bind 0["3", "1"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled> attributes {value_table = 0}
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<3x1xf32>
  return
}

// -----

// path R1
!f = memref<?x?x?x1xf32>
func.func @path_r1(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %w: memref<3x1xf32>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%w) table_info [#torsor.table<bind 0["3", "1"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } logit {
    ^bb0(%z: f32, %i: i32, %j: i32):
      // expected-error @below {{'torsor.path' op reads sum 0, but there are 0 here}}
      %p = torsor.path 0
      torsor.yield %p : f32
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<3x1xf32>
  return
}

// -----

// content R1
!f = memref<?x?x?x1xf32>
func.func @content_r1(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %w: memref<3x1xf32>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%w) table_info [#torsor.table<bind 0["3", "1"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } init {
    ^bb0(%i: i32, %j: i32):
      %c = arith.constant 0 : i64
      // expected-error @below {{'torsor.content' op stands in 'rows' and 'columns' only}}
      %p = torsor.content %c
      torsor.yield %p : f32
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<3x1xf32>
  return
}

// -----

// row_dot R1
!f = memref<?x?x?x1xf32>
func.func @row_dot_r1(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %w: memref<3x1xf32>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%w) table_info [#torsor.table<bind 0["3", "1"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      // expected-error @below {{'torsor.row_dot' op reads the vector of the other side}}
      %p = torsor.row_dot key %w[%i < 3] : (memref<3x1xf32>, i64) -> f32
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<3x1xf32>
  return
}

// -----

// rebase R1: a decay stands at no group of isometries.
!f = memref<?x?x?x4xf32>
func.func @rebase_r1_kind(%k: !f, %seq: memref<?x12xi64>, %w: memref<2xi64>) {
  // expected-error @below {{'torsor.rebase' op only turns and planes move keys, by the shift alone and without gains, but a block is}}
  torsor.rebase in(%k) sequences(%seq) tables(%w) table_info [#torsor.table<bind 0["2"]>]
    blocks [#torsor.block<kind = decay, lanes = <0, -1, 1 x 2>, rates = 0>]
    streams [] : !f, memref<?x12xi64>, memref<2xi64>
  return
}

// -----

// rebase R1: the shift is the only time.
!f = memref<?x?x?x4xf32>
func.func @rebase_r1_time(%k: !f, %seq: memref<?x12xi64>, %w: memref<2xi64>) {
  // expected-error @below {{'torsor.rebase' op only turns and planes move keys, by the shift alone and without gains, but a block is}}
  torsor.rebase in(%k) sequences(%seq) tables(%w) table_info [#torsor.table<bind 0["2"]>]
    blocks [#torsor.block<kind = turn, lanes = <0, 1, 2 x 2>, rates = 0, t = 0>]
    streams [] : !f, memref<?x12xi64>, memref<2xi64>
  return
}

// -----

// rebase R1: gains have been applied before.
!f = memref<?x?x?x4xf32>
func.func @rebase_r1_gain(%k: !f, %seq: memref<?x12xi64>, %w: memref<2xi64>) {
  // expected-error @below {{'torsor.rebase' op only turns and planes move keys, by the shift alone and without gains, but a block is}}
  torsor.rebase in(%k) sequences(%seq) tables(%w) table_info [#torsor.table<bind 0["2"]>]
    blocks [#torsor.block<kind = turn, lanes = <0, 1, 2 x 2>, rates = 0, gain_k = 2.0 : f64>]
    streams [] : !f, memref<?x12xi64>, memref<2xi64>
  return
}

// -----

// rebase R2
!f = memref<?x?x?x4xf32>
func.func @rebase_r2_table(%k: !f, %seq: memref<?x12xi64>, %w: memref<2xi64>) {
  // expected-error @below {{'torsor.rebase' op a block names a table that does not exist}}
  torsor.rebase in(%k) sequences(%seq) tables(%w) table_info [#torsor.table<bind 0["2"]>]
    blocks [#torsor.block<kind = turn, lanes = <0, 1, 2 x 2>, rates = 1>]
    streams [] : !f, memref<?x12xi64>, memref<2xi64>
  return
}

// -----

// rebase R2
!f = memref<?x?x?x4xf32>
func.func @rebase_r2_info(%k: !f, %seq: memref<?x12xi64>, %w: memref<2xi64>) {
  // expected-error @below {{'torsor.rebase' op describes 0 tables, but has 1}}
  torsor.rebase in(%k) sequences(%seq) tables(%w) table_info []
    blocks []
    streams [] : !f, memref<?x12xi64>, memref<2xi64>
  return
}

// -----

// attention R6
!f = memref<?x?x?x4xf32>
func.func @rebase_lanes(%k: !f, %seq: memref<?x12xi64>, %w: memref<2xi64>) {
  // expected-error @below {{'torsor.rebase' op a block leaves the lanes of the head}}
  torsor.rebase in(%k) sequences(%seq) tables(%w) table_info [#torsor.table<bind 0["2"]>]
    blocks [#torsor.block<kind = turn, lanes = <0, 1, 2 x 3>, rates = 0>]
    streams [] : !f, memref<?x12xi64>, memref<2xi64>
  return
}
