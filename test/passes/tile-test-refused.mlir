// Masks without a test of tiles.
// RUN: torsor-opt %s --split-input-file --torsor-derive-tiles --cse --verify-roundtrip | FileCheck %s
// RUN: torsor-opt %s --split-input-file --torsor-derive-tiles %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

// Refused: nothing is known of an exponential, so there is no test.
// CHECK-LABEL: func.func @exponential(
// CHECK-NOT: tile {
// CHECK: return
!f = memref<?x?x?x1xf32>
func.func @exponential(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %row: memref<?xf32>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%row) table_info [#torsor.table<argument 0 ["token"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %x = torsor.fetch %row[] : memref<?xf32> -> f32
      torsor.yield %x : f32
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } mask {
    ^bb0(%i: i32, %j: i32, %x: f32):
      %w = arith.constant 0.5 : f32
      // REMARK: [[# @LINE + 1]]:{{[0-9]+}}: remark: [Missed] TileUndecided{{.*}}bound 'exp':
      %e = math.exp %x : f32
      %m = arith.cmpf olt, %e, %w : f32
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?xf32>
  return
}

// -----

// Refused twin of @blocks: the element is that of each pair's own token.
// CHECK-LABEL: func.func @own_token(
// CHECK-NOT: tile {
// CHECK: return
!f = memref<?x?x?x1xf32>
func.func @own_token(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %keep: memref<?x?xi1>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%keep) table_info [#torsor.table<argument 0 ["token", "*"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } mask {
    ^bb0(%i: i32, %j: i32):
      %z = arith.constant 0 : i32
      %c = arith.constant 64 : i32
      %d = arith.floordivsi %j, %c : i32
      // REMARK: [[# @LINE + 1]]:{{[0-9]+}}: remark: [Missed] TileUndecided{{.*}}bound an entry of a param
      %m = torsor.lookup %keep[%z, %d] : (memref<?x?xi1>, i32, i32) -> i1
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?x?xi1>
  return
}

// -----

// Refused: the ranges say all.
// CHECK-LABEL: func.func @maps_decide(
// CHECK-NOT: tile {
// CHECK: return
!f = memref<?x?x?x1xf32>
func.func @maps_decide(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled> attributes {maps_decide}
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield
    } mask {
    ^bb0(%i: i32, %j: i32):
      %m = arith.cmpi sle, %j, %i : i32
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}
