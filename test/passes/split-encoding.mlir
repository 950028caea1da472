// RUN: torsor-opt %s --split-input-file --torsor-split-encoding | FileCheck %s

// Each of the two keeps what it reads; the stack goes on naming the attention.
// CHECK-LABEL: torsor.scheme @gpt head(4)
// CHECK-NOT: "table"
// CHECK: torsor.clock "pos"
// CHECK-NOT: "table"
// CHECK: torsor.param "sinks"
// CHECK-NOT: torsor.embed
// CHECK: torsor.mask
// CHECK: torsor.sink
// CHECK-NOT: torsor.embed
// CHECK-LABEL: torsor.scheme @gpt_embed {
// CHECK-NOT: "sinks"
// CHECK: torsor.clock "pos"
// CHECK: torsor.param "table"
// CHECK-NOT: torsor.mask
// CHECK-NOT: torsor.sink
// CHECK: torsor.embed
// CHECK: torsor.stack @model {{.*}}@gpt]
torsor.scheme @gpt head(4) {
  %i = torsor.token query
  %j = torsor.token key
  %pos = torsor.clock "pos" in 0.0 to 15.0 : !torsor.clock<i32>
  %table = torsor.param "table" ["16", "6"] : tensor<16x6xf32>
  %sinks = torsor.param "sinks" ["H"] : tensor<?xf32>
  %h = torsor.ambient head : i64
  %level = torsor.read %sinks[%h] : (tensor<?xf32>, i64) -> f64
  %ii = torsor.index %i
  %jj = torsor.index %j
  %seen = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %seen
  torsor.sink %level
  %t = torsor.time %pos of %j : !torsor.clock<i32> -> i64
  %row = torsor.read %table[%t] : (tensor<16x6xf32>, i64) -> tensor<6xf64>
  torsor.embed %row : tensor<6xf64>
}
torsor.stack @model [[@gpt], [@gpt]]

// -----

// A name that is taken.
// CHECK-LABEL: torsor.scheme @x {
// CHECK-LABEL: torsor.scheme @x_embed_2 {
// CHECK: torsor.embed
// CHECK-LABEL: torsor.scheme @x_embed {
// CHECK: torsor.bias
torsor.scheme @x {
  %one = arith.constant 1.0 : f64
  torsor.bias %one
  %row = torsor.list %one, %one : f64, f64 -> tensor<2xf64>
  torsor.embed %row : tensor<2xf64>
}
torsor.scheme @x_embed {
  %one = arith.constant 1.0 : f64
  torsor.bias %one
}

// -----

// An encoding alone, and attention alone, stay as they are.
// CHECK-LABEL: torsor.scheme @alone {
// CHECK: torsor.embed
// CHECK-NOT: torsor.scheme @alone_embed
// CHECK-LABEL: torsor.scheme @none {
// CHECK-NOT: _embed
torsor.scheme @alone {
  %one = arith.constant 1.0 : f64
  %row = torsor.list %one, %one : f64, f64 -> tensor<2xf64>
  torsor.embed %row : tensor<2xf64>
}
torsor.scheme @none {
  %one = arith.constant 1.0 : f64
  torsor.bias %one
}
