// What is known of the slots decides.
// RUN: torsor-opt %s --split-input-file --torsor-narrow-pair --verify-roundtrip | FileCheck %s
// RUN: torsor-opt %s --split-input-file --torsor-narrow-pair %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not='[Missed]'

// A slot of a table of i32 is read as it is stored.
// CHECK-LABEL: func.func @documents(
// CHECK: rows {
// CHECK: %[[V0:[^ ,:]+]] = torsor.fetch %[[ARG6:[^ ,:]+]][] : memref<?xi32> -> i64
// CHECK: %[[V1:[^ ,:]+]] = arith.trunci %[[V0]] : i64 to i32
// CHECK: torsor.yield %[[V1]] : i32
// CHECK: } columns {
// CHECK: %[[V0:[^ ,:]+]] = torsor.fetch %[[ARG6:[^ ,:]+]][] : memref<?xi32> -> i64
// CHECK: %[[V1:[^ ,:]+]] = arith.trunci %[[V0]] : i64 to i32
// CHECK: torsor.yield %[[V1]] : i32
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[ARG7:[^ ,:]+]]: i32, %[[ARG8:[^ ,:]+]]: i32, %[[ARG9:[^ ,:]+]]: i32, %[[ARG10:[^ ,:]+]]: i32):
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.cmpi eq, %[[ARG9]], %[[ARG10]] : i32
// CHECK-NEXT: torsor.yield %[[V0]] : i1
!f = memref<?x?x?x1xf32>
func.func @documents(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %doc: memref<?xi32>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%doc) table_info [#torsor.table<argument 0 ["token"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %d = torsor.fetch %doc[] : memref<?xi32> -> i64
      torsor.yield %d : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      %d = torsor.fetch %doc[] : memref<?xi32> -> i64
      torsor.yield %d : i64
    } mask {
    ^bb0(%i: i32, %j: i32, %d: i64, %e: i64):
      %m = arith.cmpi eq, %d, %e : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?xi32>
  return
}

// -----

// A declared range narrows a table of i64.
// CHECK-LABEL: func.func @declared(
// CHECK: rows {
// CHECK: %[[V0:[^ ,:]+]] = torsor.fetch %[[ARG6:[^ ,:]+]][] {high = 99 : i64, low = 0 : i64} : memref<?xi64> -> i64
// CHECK: %[[V1:[^ ,:]+]] = arith.trunci %[[V0]] : i64 to i32
// CHECK: torsor.yield %[[V1]] : i32
// CHECK: } columns {
// CHECK: %[[V0:[^ ,:]+]] = torsor.fetch %[[ARG6:[^ ,:]+]][] {high = 99 : i64, low = 0 : i64} : memref<?xi64> -> i64
// CHECK: %[[V1:[^ ,:]+]] = arith.trunci %[[V0]] : i64 to i32
// CHECK: torsor.yield %[[V1]] : i32
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[ARG7:[^ ,:]+]]: i32, %[[ARG8:[^ ,:]+]]: i32, %[[ARG9:[^ ,:]+]]: i32, %[[ARG10:[^ ,:]+]]: i32):
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.cmpi eq, %[[ARG9]], %[[ARG10]] : i32
// CHECK-NEXT: torsor.yield %[[V0]] : i1
!f = memref<?x?x?x1xf32>
func.func @declared(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %big: memref<?xi64>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%big) table_info [#torsor.table<argument 0 ["token"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %d = torsor.fetch %big[] {low = 0 : i64, high = 99 : i64} : memref<?xi64> -> i64
      torsor.yield %d : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      %d = torsor.fetch %big[] {low = 0 : i64, high = 99 : i64} : memref<?xi64> -> i64
      torsor.yield %d : i64
    } mask {
    ^bb0(%i: i32, %j: i32, %d: i64, %e: i64):
      %m = arith.cmpi eq, %d, %e : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?xi64>
  return
}

// -----

// Refused twin of @declared.
// CHECK-LABEL: func.func @undeclared(
// CHECK: rows {
// CHECK: %[[V0:[^ ,:]+]] = torsor.fetch %[[ARG6:[^ ,:]+]][] : memref<?xi64> -> i64
// CHECK: torsor.yield %[[V0]] : i64
// CHECK: } columns {
// CHECK: %[[V0:[^ ,:]+]] = torsor.fetch %[[ARG6:[^ ,:]+]][] : memref<?xi64> -> i64
// CHECK: torsor.yield %[[V0]] : i64
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[ARG7:[^ ,:]+]]: i32, %[[ARG8:[^ ,:]+]]: i32, %[[ARG9:[^ ,:]+]]: i64, %[[ARG10:[^ ,:]+]]: i64):
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.cmpi eq, %[[ARG9]], %[[ARG10]] : i64
// CHECK-NEXT: torsor.yield %[[V0]] : i1
!f = memref<?x?x?x1xf32>
func.func @undeclared(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %big: memref<?xi64>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%big) table_info [#torsor.table<argument 0 ["token"]>]
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      %d = torsor.fetch %big[] : memref<?xi64> -> i64
      torsor.yield %d : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      %d = torsor.fetch %big[] : memref<?xi64> -> i64
      torsor.yield %d : i64
    } mask {
    ^bb0(%i: i32, %j: i32, %d: i64, %e: i64):
      // REMARK: [[# @LINE + 1]]:{{[0-9]+}}: remark: [Missed] StaysWide{{.*}}a comparison stays
      %m = arith.cmpi eq, %d, %e : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?xi64>
  return
}

// -----

// Differences of positions in a declared range are narrow, as reals too.
// CHECK-LABEL: func.func @positions(
// CHECK: rows {
// CHECK: %[[V0:[^ ,:]+]] = arith.trunci %[[ARG7:[^ ,:]+]] : i64 to i32
// CHECK: torsor.yield %[[V0]] : i32
// CHECK: } columns {
// CHECK: %[[V0:[^ ,:]+]] = arith.trunci %[[ARG7:[^ ,:]+]] : i64 to i32
// CHECK: torsor.yield %[[V0]] : i32
// CHECK: } init {
// CHECK-NEXT: ^bb0(%[[ARG6:[^ ,:]+]]: i32, %[[ARG7:[^ ,:]+]]: i32, %[[ARG8:[^ ,:]+]]: i32, %[[ARG9:[^ ,:]+]]: i32):
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.subi %[[ARG9]], %[[ARG8]] : i32
// CHECK-NEXT: %[[V1:[^ ,:]+]] = arith.sitofp %[[V0]] : i32 to f32
// CHECK-NEXT: torsor.yield %[[V1]] : f32
!f = memref<?x?x?x1xf32>
func.func @positions(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled> attributes {position_low = 0 : i64, position_high = 131071 : i64}
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    } init {
    ^bb0(%i: i32, %j: i32, %s: i64, %t: i64):
      %a = arith.subi %t, %s : i64
      %x = arith.sitofp %a : i64 to f32
      torsor.yield %x : f32
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// Refused twin of @positions: they may be any integers.
// CHECK-LABEL: func.func @any_positions(
// CHECK: rows {
// CHECK: torsor.yield %[[ARG7:[^ ,:]+]] : i64
// CHECK: } columns {
// CHECK: torsor.yield %[[ARG7:[^ ,:]+]] : i64
// CHECK: } init {
// CHECK-NEXT: ^bb0(%[[ARG6:[^ ,:]+]]: i32, %[[ARG7:[^ ,:]+]]: i32, %[[ARG8:[^ ,:]+]]: i64, %[[ARG9:[^ ,:]+]]: i64):
// CHECK-NEXT: %[[V0:[^ ,:]+]] = arith.subi %[[ARG9]], %[[ARG8]] : i64
// CHECK-NEXT: %[[V1:[^ ,:]+]] = arith.sitofp %[[V0]] : i64 to f32
// CHECK-NEXT: torsor.yield %[[V1]] : f32
!f = memref<?x?x?x1xf32>
func.func @any_positions(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    table_info []
    branches [] visible [] full []
    plan <rows = 96, keys = 256, form = tiled>
    rows {
    ^bb0(%i: i64, %s: i64, %h: i64, %b: i64, %n: i64):
      torsor.yield %s : i64
    } columns {
    ^bb0(%j: i64, %t: i64, %g: i64, %b: i64, %n: i64):
      torsor.yield %t : i64
    } init {
    ^bb0(%i: i32, %j: i32, %s: i64, %t: i64):
      // REMARK: [[# @LINE + 1]]:{{[0-9]+}}: remark: [Missed] StaysWide{{.*}}a difference stays
      %a = arith.subi %t, %s : i64
      // REMARK: [[# @LINE + 1]]:{{[0-9]+}}: remark: [Missed] StaysWide{{.*}}an integer that becomes a real stays
      %x = arith.sitofp %a : i64 to f32
      torsor.yield %x : f32
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}
