// RUN: torsor-opt %s --split-input-file --torsor-form-kernels | FileCheck %s

// Eight terms are added in four chains, each of which waits for itself alone.
// CHECK-LABEL: func.func @eight.prefill
// CHECK: init
// CHECK: %[[T0:[0-9]+]] = math.sin %{{[0-9]+}} : f32
// CHECK: %[[T1:[0-9]+]] = math.sin %{{[0-9]+}} : f32
// CHECK: %[[T2:[0-9]+]] = math.sin %{{[0-9]+}} : f32
// CHECK: %[[T3:[0-9]+]] = math.sin %{{[0-9]+}} : f32
// CHECK: %[[T4:[0-9]+]] = math.sin %{{[0-9]+}} : f32
// CHECK: %[[T5:[0-9]+]] = math.sin %{{[0-9]+}} : f32
// CHECK: %[[T6:[0-9]+]] = math.sin %{{[0-9]+}} : f32
// CHECK: %[[T7:[0-9]+]] = math.sin %{{[0-9]+}} : f32
// CHECK-NEXT: %[[A:[0-9]+]] = arith.addf %[[T0]], %[[T4]] : f32
// CHECK-NEXT: %[[B:[0-9]+]] = arith.addf %[[T1]], %[[T5]] : f32
// CHECK-NEXT: %[[C:[0-9]+]] = arith.addf %[[T2]], %[[T6]] : f32
// CHECK-NEXT: %[[D:[0-9]+]] = arith.addf %[[T3]], %[[T7]] : f32
// CHECK-NEXT: %[[AB:[0-9]+]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT: %[[CD:[0-9]+]] = arith.addf %[[C]], %[[D]] : f32
// CHECK-NEXT: arith.addf %[[AB]], %[[CD]] : f32
torsor.scheme @eight head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %e = arith.subi %s, %t : i64
  %x = arith.sitofp %e : i64 to f64
  %c0 = arith.constant 2.0 : f64
  %q0 = arith.divf %x, %c0 : f64
  %t0 = math.sin %q0 : f64
  %c1 = arith.constant 3.0 : f64
  %q1 = arith.divf %x, %c1 : f64
  %t1 = math.sin %q1 : f64
  %a1 = arith.addf %t0, %t1 : f64
  %c2 = arith.constant 4.0 : f64
  %q2 = arith.divf %x, %c2 : f64
  %t2 = math.sin %q2 : f64
  %a2 = arith.addf %a1, %t2 : f64
  %c3 = arith.constant 5.0 : f64
  %q3 = arith.divf %x, %c3 : f64
  %t3 = math.sin %q3 : f64
  %a3 = arith.addf %a2, %t3 : f64
  %c4 = arith.constant 6.0 : f64
  %q4 = arith.divf %x, %c4 : f64
  %t4 = math.sin %q4 : f64
  %a4 = arith.addf %a3, %t4 : f64
  %c5 = arith.constant 7.0 : f64
  %q5 = arith.divf %x, %c5 : f64
  %t5 = math.sin %q5 : f64
  %a5 = arith.addf %a4, %t5 : f64
  %c6 = arith.constant 8.0 : f64
  %q6 = arith.divf %x, %c6 : f64
  %t6 = math.sin %q6 : f64
  %a6 = arith.addf %a5, %t6 : f64
  %c7 = arith.constant 9.0 : f64
  %q7 = arith.divf %x, %c7 : f64
  %t7 = math.sin %q7 : f64
  %a7 = arith.addf %a6, %t7 : f64
  torsor.bias %a7
}

// -----

// The twin: seven are added one by one.
// CHECK-LABEL: func.func @seven.prefill
// CHECK: init
// CHECK: %[[S0:[0-9]+]] = arith.addf %{{[0-9]+}}, %{{[0-9]+}} : f32
// CHECK: %[[S1:[0-9]+]] = arith.addf %[[S0]], %{{[0-9]+}} : f32
// CHECK: %[[S2:[0-9]+]] = arith.addf %[[S1]], %{{[0-9]+}} : f32
// CHECK: %[[S3:[0-9]+]] = arith.addf %[[S2]], %{{[0-9]+}} : f32
// CHECK: %[[S4:[0-9]+]] = arith.addf %[[S3]], %{{[0-9]+}} : f32
// CHECK: %[[S5:[0-9]+]] = arith.addf %[[S4]], %{{[0-9]+}} : f32
torsor.scheme @seven head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %e = arith.subi %s, %t : i64
  %x = arith.sitofp %e : i64 to f64
  %c0 = arith.constant 2.0 : f64
  %q0 = arith.divf %x, %c0 : f64
  %t0 = math.sin %q0 : f64
  %c1 = arith.constant 3.0 : f64
  %q1 = arith.divf %x, %c1 : f64
  %t1 = math.sin %q1 : f64
  %a1 = arith.addf %t0, %t1 : f64
  %c2 = arith.constant 4.0 : f64
  %q2 = arith.divf %x, %c2 : f64
  %t2 = math.sin %q2 : f64
  %a2 = arith.addf %a1, %t2 : f64
  %c3 = arith.constant 5.0 : f64
  %q3 = arith.divf %x, %c3 : f64
  %t3 = math.sin %q3 : f64
  %a3 = arith.addf %a2, %t3 : f64
  %c4 = arith.constant 6.0 : f64
  %q4 = arith.divf %x, %c4 : f64
  %t4 = math.sin %q4 : f64
  %a4 = arith.addf %a3, %t4 : f64
  %c5 = arith.constant 7.0 : f64
  %q5 = arith.divf %x, %c5 : f64
  %t5 = math.sin %q5 : f64
  %a5 = arith.addf %a4, %t5 : f64
  %c6 = arith.constant 8.0 : f64
  %q6 = arith.divf %x, %c6 : f64
  %t6 = math.sin %q6 : f64
  %a6 = arith.addf %a5, %t6 : f64
  torsor.bias %a6
}
