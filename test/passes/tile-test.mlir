// RUN: torsor-opt %s --split-input-file --torsor-derive-tiles --cse --verify-roundtrip | FileCheck %s

// Equal only where both sides can be, and surely where all are one.
// CHECK-LABEL: func.func @documents(
// CHECK: tile {
// CHECK-NEXT: ^bb0(%[[I0:[^:]+]]: i64, %[[I1:[^:]+]]: i64, %[[J0:[^:]+]]: i64, %[[J1:[^:]+]]: i64, %[[S0L:[^:]+]]: i64, %[[S0H:[^:]+]]: i64, %[[S1L:[^:]+]]: i64, %[[S1H:[^:]+]]: i64):
// CHECK: %[[V0:.*]] = arith.cmpi sle, %[[S0L]], %[[S1H]] : i64
// CHECK: %[[V1:.*]] = arith.cmpi sle, %[[S1L]], %[[S0H]] : i64
// CHECK: %[[V2:.*]] = arith.andi %[[V0]], %[[V1]] : i1
// CHECK: %[[V3:.*]] = arith.cmpi eq, %[[S0L]], %[[S0H]] : i64
// CHECK: %[[V4:.*]] = arith.cmpi eq, %[[S1L]], %[[S1H]] : i64
// CHECK: %[[V5:.*]] = arith.andi %[[V3]], %[[V4]] : i1
// CHECK: %[[V6:.*]] = arith.cmpi eq, %[[S0L]], %[[S1L]] : i64
// CHECK: %[[V7:.*]] = arith.andi %[[V5]], %[[V6]] : i1
// CHECK: torsor.yield %[[V2]], %[[V7]] : i1, i1
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

// Differences of indices cannot wrap.
// CHECK-LABEL: func.func @age(
// CHECK: tile {
// CHECK-NEXT: ^bb0(%[[I0:[^:]+]]: i64, %[[I1:[^:]+]]: i64, %[[J0:[^:]+]]: i64, %[[J1:[^:]+]]: i64):
// CHECK: %[[C512_I64:.*]] = arith.constant 512 : i64
// CHECK: %[[V0:.*]] = arith.subi %[[I0]], %[[J1]] : i64
// CHECK: %[[V1:.*]] = arith.subi %[[I1]], %[[J0]] : i64
// CHECK: %[[V2:.*]] = arith.cmpi slt, %[[V0]], %[[C512_I64]] : i64
// CHECK: %[[V3:.*]] = arith.cmpi slt, %[[V1]], %[[C512_I64]] : i64
// CHECK: torsor.yield %[[V2]], %[[V3]] : i1, i1
!f = memref<?x?x?x1xf32>
func.func @age(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
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
      %w = arith.constant 512 : i32
      %a = arith.subi %i, %j : i32
      %m = arith.cmpi slt, %a, %w : i32
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// Positions may be any integers: a difference that wraps may be anything.
// CHECK-LABEL: func.func @wraps(
// CHECK: tile {
// CHECK-NEXT: ^bb0(%[[I0:[^:]+]]: i64, %[[I1:[^:]+]]: i64, %[[J0:[^:]+]]: i64, %[[J1:[^:]+]]: i64, %[[S0L:[^:]+]]: i64, %[[S0H:[^:]+]]: i64, %[[S1L:[^:]+]]: i64, %[[S1H:[^:]+]]: i64):
// CHECK: %[[C512_I64:.*]] = arith.constant 512 : i64
// CHECK: %[[V0:.*]] = arith.subi %[[S0L]], %[[S1H]] : i64
// CHECK: %[[V1:.*]] = arith.subi %[[S0H]], %[[S1L]] : i64
// CHECK: %[[V2:.*]] = arith.xori %[[S0L]], %[[V0]] : i64
// CHECK: %[[V3:.*]] = arith.xori %[[S0L]], %[[S1H]] : i64
// CHECK: %[[V4:.*]] = arith.andi %[[V2]], %[[V3]] : i64
// CHECK: %[[C0_I64:.*]] = arith.constant 0 : i64
// CHECK: %[[V5:.*]] = arith.cmpi slt, %[[V4]], %[[C0_I64]] : i64
// CHECK: %[[V6:.*]] = arith.xori %[[S0H]], %[[V1]] : i64
// CHECK: %[[V7:.*]] = arith.xori %[[S0H]], %[[S1L]] : i64
// CHECK: %[[V8:.*]] = arith.andi %[[V6]], %[[V7]] : i64
// CHECK: %[[V9:.*]] = arith.cmpi slt, %[[V8]], %[[C0_I64]] : i64
// CHECK: %[[V10:.*]] = arith.ori %[[V5]], %[[V9]] : i1
// CHECK: %[[CM9223372036854775808_I64:.*]] = arith.constant -9223372036854775808 : i64
// CHECK: %[[V11:.*]] = arith.select %[[V10]], %[[CM9223372036854775808_I64]], %[[V0]] : i64
// CHECK: %[[C9223372036854775807_I64:.*]] = arith.constant 9223372036854775807 : i64
// CHECK: %[[V12:.*]] = arith.select %[[V10]], %[[C9223372036854775807_I64]], %[[V1]] : i64
// CHECK: %[[V13:.*]] = arith.cmpi slt, %[[V11]], %[[C512_I64]] : i64
// CHECK: %[[V14:.*]] = arith.cmpi slt, %[[V12]], %[[C512_I64]] : i64
// CHECK: torsor.yield %[[V13]], %[[V14]] : i1, i1
!f = memref<?x?x?x1xf32>
func.func @wraps(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
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
    } mask {
    ^bb0(%i: i32, %j: i32, %s: i64, %t: i64):
      %w = arith.constant 512 : i64
      %a = arith.subi %s, %t : i64
      %m = arith.cmpi slt, %a, %w : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// Twin of @wraps: in a declared range they cannot wrap.
// CHECK-LABEL: func.func @declared_positions(
// CHECK: tile {
// CHECK-NEXT: ^bb0(%[[I0:[^:]+]]: i64, %[[I1:[^:]+]]: i64, %[[J0:[^:]+]]: i64, %[[J1:[^:]+]]: i64, %[[S0L:[^:]+]]: i64, %[[S0H:[^:]+]]: i64, %[[S1L:[^:]+]]: i64, %[[S1H:[^:]+]]: i64):
// CHECK: %[[C512_I64:.*]] = arith.constant 512 : i64
// CHECK: %[[V0:.*]] = arith.subi %[[S0L]], %[[S1H]] : i64
// CHECK: %[[V1:.*]] = arith.subi %[[S0H]], %[[S1L]] : i64
// CHECK: %[[V2:.*]] = arith.cmpi slt, %[[V0]], %[[C512_I64]] : i64
// CHECK: %[[V3:.*]] = arith.cmpi slt, %[[V1]], %[[C512_I64]] : i64
// CHECK: torsor.yield %[[V2]], %[[V3]] : i1, i1
!f = memref<?x?x?x1xf32>
func.func @declared_positions(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
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
    } mask {
    ^bb0(%i: i32, %j: i32, %s: i64, %t: i64):
      %w = arith.constant 512 : i64
      %a = arith.subi %s, %t : i64
      %m = arith.cmpi slt, %a, %w : i64
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1
  return
}

// -----

// A table is read where the box lies in one block.
// CHECK-LABEL: func.func @blocks(
// CHECK: tile {
// CHECK-NEXT: ^bb0(%[[I0:[^:]+]]: i64, %[[I1:[^:]+]]: i64, %[[J0:[^:]+]]: i64, %[[J1:[^:]+]]: i64):
// CHECK: %[[C64_I64:.*]] = arith.constant 64 : i64
// CHECK: %[[V0:.*]] = arith.floordivsi %[[I0]], %[[C64_I64]] : i64
// CHECK: %[[V1:.*]] = arith.floordivsi %[[I1]], %[[C64_I64]] : i64
// CHECK: %[[V2:.*]] = arith.floordivsi %[[J0]], %[[C64_I64]] : i64
// CHECK: %[[V3:.*]] = arith.floordivsi %[[J1]], %[[C64_I64]] : i64
// CHECK: %[[V4:.*]] = arith.cmpi eq, %[[V0]], %[[V1]] : i64
// CHECK: %[[V5:.*]] = arith.cmpi eq, %[[V2]], %[[V3]] : i64
// CHECK: %[[V6:.*]] = arith.andi %[[V4]], %[[V5]] : i1
// CHECK: %[[V7:.*]] = torsor.lookup %[[ARG6:.+]][%[[V0]], %[[V2]]] : (memref<?x?xi1>, i64, i64) -> i1
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[V8:.*]] = arith.xori %[[V6]], %[[TRUE]] : i1
// CHECK: %[[V9:.*]] = arith.ori %[[V8]], %[[V7]] : i1
// CHECK: %[[V10:.*]] = arith.andi %[[V6]], %[[V7]] : i1
// CHECK: torsor.yield %[[V9]], %[[V10]] : i1, i1
!f = memref<?x?x?x1xf32>
func.func @blocks(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
    %acted: i1, %seen: memref<?x?xi1>) {
  torsor.attention q(%q) k(%k) v(%v) o(%o) sequences(%seq) acted(%acted)
    tables(%seen) table_info [#torsor.table<argument 0 ["*", "*"]>]
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
      %c = arith.constant 64 : i32
      %a = arith.floordivsi %i, %c : i32
      %d = arith.floordivsi %j, %c : i32
      %m = torsor.lookup %seen[%a, %d] : (memref<?x?xi1>, i32, i32) -> i1
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?x?xi1>
  return
}

// -----

// A NaN among the values leaves a tile partial.
// CHECK-LABEL: func.func @reals(
// CHECK: tile {
// CHECK-NEXT: ^bb0(%[[I0:[^:]+]]: i64, %[[I1:[^:]+]]: i64, %[[J0:[^:]+]]: i64, %[[J1:[^:]+]]: i64, %[[S0L:[^:]+]]: f32, %[[S0H:[^:]+]]: f32):
// CHECK: %[[V0:.*]] = arith.cmpf uno, %[[S0L]], %[[S0H]] : f32
// CHECK: %[[CST:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: %[[V1:.*]] = arith.cmpf olt, %[[S0L]], %[[CST]] : f32
// CHECK: %[[V2:.*]] = arith.ori %[[V0]], %[[V1]] : i1
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[V3:.*]] = arith.xori %[[V0]], %[[TRUE]] : i1
// CHECK: %[[V4:.*]] = arith.cmpf olt, %[[S0H]], %[[CST]] : f32
// CHECK: %[[V5:.*]] = arith.andi %[[V3]], %[[V4]] : i1
// CHECK: torsor.yield %[[V2]], %[[V5]] : i1, i1
!f = memref<?x?x?x1xf32>
func.func @reals(%q: !f, %k: !f, %v: !f, %o: !f, %seq: memref<?x12xi64>,
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
      %m = arith.cmpf olt, %x, %w : f32
      torsor.yield %m : i1
    } : !f, !f, !f, !f, memref<?x12xi64>, i1, memref<?xf32>
  return
}
