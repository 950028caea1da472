// RUN: torsor-opt %s --split-input-file --torsor-narrow-pair --verify-roundtrip | FileCheck %s
// RUN: torsor-opt %s --split-input-file --torsor-narrow-pair %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not='[Missed]'

// Differences of indices fit in 32 bits.
// CHECK-LABEL: func.func @indices(
// CHECK: rows {
// CHECK: torsor.yield
// CHECK: } columns {
// CHECK: torsor.yield
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[ARG6:[^ ,:]+]]: i32, %[[ARG7:[^ ,:]+]]: i32):
// CHECK-NEXT: %[[C1024_I32:[^ ,:]+]] = arith.constant 1024 : i32
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.subi %[[ARG6]], %[[ARG7]] : i32
// CHECK-NEXT: %[[V1:[^ ,:]+]] = arith.cmpi slt, %[[V0]], %[[C1024_I32]] : i32
// CHECK-NEXT: torsor.yield %[[V1]] : i1
!f = memref<?x?x?x1xf32>
func.func @indices(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
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
    } mask {
    ^bb0(%i: i32, %j: i32):
      %ii = arith.extsi %i : i32 to i64
      %jj = arith.extsi %j : i32 to i64
      %w = arith.constant 1024 : i64
      %a = arith.subi %ii, %jj : i64
      %m = arith.cmpi slt, %a, %w : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// Refused twin of @indices: products of indices do not.
// CHECK-LABEL: func.func @products(
// CHECK: rows {
// CHECK: torsor.yield
// CHECK: } columns {
// CHECK: torsor.yield
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[ARG6:[^ ,:]+]]: i32, %[[ARG7:[^ ,:]+]]: i32):
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.extsi %[[ARG6]] : i32 to i64
// CHECK-NEXT: %[[V1:[^ ,:]+]] = arith.extsi %[[ARG7]] : i32 to i64
// CHECK-NEXT: %[[C1024_I64:[^ ,:]+]] = arith.constant 1024 : i64
// CHECK-NEXT: %[[V2:[^ ,:]+]] = arith.muli %[[V0]], %[[V1]] : i64
// CHECK-NEXT: %[[V3:[^ ,:]+]] = arith.cmpi slt, %[[V2]], %[[C1024_I64]] : i64
// CHECK-NEXT: torsor.yield %[[V3]] : i1
!f = memref<?x?x?x1xf32>
func.func @products(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
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
    } mask {
    ^bb0(%i: i32, %j: i32):
      %ii = arith.extsi %i : i32 to i64
      %jj = arith.extsi %j : i32 to i64
      %w = arith.constant 1024 : i64
      // REMARK: [[# @LINE + 1]]:{{[0-9]+}}: remark: [Missed] StaysWide{{.*}}a product stays
      %a = arith.muli %ii, %jj : i64
      // REMARK: [[# @LINE + 1]]:{{[0-9]+}}: remark: [Missed] StaysWide{{.*}}a comparison stays
      %m = arith.cmpi slt, %a, %w : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// The times of a block stay wide, with a narrow slot beside them.
// CHECK-LABEL: func.func @times(
// CHECK: rows {
// CHECK: %[[V0:[^ ,:]+]] = arith.trunci %[[ARG8:[^ ,:]+]] : i64 to i32
// CHECK: torsor.yield %[[ARG8]], %[[V0]] : i64, i32
// CHECK: } columns {
// CHECK: %[[V0:[^ ,:]+]] = arith.trunci %[[ARG8:[^ ,:]+]] : i64 to i32
// CHECK: torsor.yield %[[ARG8]], %[[V0]] : i64, i32
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[ARG7:[^ ,:]+]]: i32, %[[ARG8:[^ ,:]+]]: i32, %[[ARG9:[^ ,:]+]]: i64, %[[ARG10:[^ ,:]+]]: i32, %[[ARG11:[^ ,:]+]]: i64, %[[ARG12:[^ ,:]+]]: i32):
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.cmpi sle, %[[ARG12]], %[[ARG10]] : i32
// CHECK-NEXT: torsor.yield %[[V0]] : i1
!f = memref<?x?x?x1xf32>
func.func @times(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %turns: memref<1xi64>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%turns) table_info [#torsor.table<bind 0 ["1"]>]
    branches [[#torsor.block<kind = turn, lanes = <0, 1, 1 x 0>, rates = 0, s = 0, t = 0>]] visible [] full []
    plan <rows = 96, keys = 256, form = tiled> attributes {position_low = 0 : i64, position_high = 131071 : i64}
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    } mask {
    ^bb0(%i: i32, %j: i32, %s: i64, %t: i64):
      %m = arith.cmpi sle, %t, %s : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<1xi64>
  return
}

// -----

// Divisions by constants of indices: a shift, a mask, an unsigned division.
// CHECK-LABEL: func.func @divisions(
// CHECK: rows {
// CHECK: torsor.yield
// CHECK: } columns {
// CHECK: torsor.yield
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[ARG6:[^ ,:]+]]: i32, %[[ARG7:[^ ,:]+]]: i32):
// CHECK-NEXT: %[[C63_I32:[^ ,:]+]] = arith.constant 63 : i32
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.andi %[[ARG6]], %[[C63_I32]] : i32
// CHECK-NEXT: %[[C6_I32:[^ ,:]+]] = arith.constant 6 : i32
// CHECK-NEXT: %[[V1:[^ ,:]+]] = arith.shrsi %[[ARG7]], %[[C6_I32]] : i32
// CHECK-NEXT: %[[C10_I32:[^ ,:]+]] = arith.constant 10 : i32
// CHECK-NEXT: %[[V2:[^ ,:]+]] = arith.divui %[[ARG7]], %[[C10_I32]] : i32
// CHECK-NEXT: %[[V3:[^ ,:]+]] = arith.addi %[[V1]], %[[V2]] : i32
// CHECK-NEXT: %[[V4:[^ ,:]+]] = arith.cmpi slt, %[[V0]], %[[V3]] : i32
// CHECK-NEXT: torsor.yield %[[V4]] : i1
!f = memref<?x?x?x1xf32>
func.func @divisions(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
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
    } mask {
    ^bb0(%i: i32, %j: i32):
      %ii = arith.extsi %i : i32 to i64
      %jj = arith.extsi %j : i32 to i64
      %c = arith.constant 64 : i64
      %e = arith.constant 10 : i64
      %a = arith.floordivsi %ii, %c : i64
      %p = arith.muli %a, %c : i64
      %r = arith.subi %ii, %p : i64
      %y = arith.floordivsi %jj, %c : i64
      %u = arith.floordivsi %jj, %e : i64
      %x = arith.addi %y, %u : i64
      %m = arith.cmpi slt, %r, %x : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// Refused twin of @divisions: what may be below 0 has no unsigned division.
// CHECK-LABEL: func.func @negatives(
// CHECK: rows {
// CHECK: torsor.yield
// CHECK: } columns {
// CHECK: torsor.yield
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[ARG6:[^ ,:]+]]: i32, %[[ARG7:[^ ,:]+]]: i32):
// CHECK-NEXT: %[[C10_I32:[^ ,:]+]] = arith.constant 10 : i32
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.subi %[[ARG6]], %[[ARG7]] : i32
// CHECK-NEXT: %[[V1:[^ ,:]+]] = arith.floordivsi %[[V0]], %[[C10_I32]] : i32
// CHECK-NEXT: %[[V2:[^ ,:]+]] = arith.cmpi slt, %[[V1]], %[[C10_I32]] : i32
// CHECK-NEXT: torsor.yield %[[V2]] : i1
!f = memref<?x?x?x1xf32>
func.func @negatives(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
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
    } mask {
    ^bb0(%i: i32, %j: i32):
      %ii = arith.extsi %i : i32 to i64
      %jj = arith.extsi %j : i32 to i64
      %c = arith.constant 10 : i64
      %a = arith.subi %ii, %jj : i64
      %y = arith.floordivsi %a, %c : i64
      %m = arith.cmpi slt, %y, %c : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}
