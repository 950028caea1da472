// RUN: torsor-opt %s --torsor-annotate-varies-by | FileCheck %s

// The union of what a value reads; a sum takes its token away, a running sum
// is of the token it is read at, and H and G are of the call.
// CHECK-LABEL: torsor.scheme @sets
torsor.scheme @sets head(2) {
  // CHECK: torsor.token query {varies_by = "{query}"}
  %i = torsor.token query
  // CHECK: torsor.token key {varies_by = "{key}"}
  %j = torsor.token key
  // CHECK: torsor.ambient head {varies_by = "{head}"}
  %h = torsor.ambient head : i64
  // CHECK: torsor.ambient group {varies_by = "{group}"}
  %g = torsor.ambient group : i64
  // CHECK: torsor.ambient heads {varies_by = "{call}"}
  %H = torsor.ambient heads : i64
  // CHECK: torsor.ambient length {varies_by = "{sequence}"}
  %n = torsor.ambient length : i64
  // CHECK: torsor.ambient width {varies_by = "{}"}
  %d = torsor.ambient width : i64
  // CHECK: torsor.param "w" {{.*}}varies_by = "{loaded}"
  %w = torsor.param "w" ["H"] : tensor<?xf32>
  // CHECK: torsor.input "x" per token {{.*}}varies_by = "{}"
  %x = torsor.input "x" per token [] : tensor<?xf32>
  // CHECK: torsor.input "y" per sequence {{.*}}varies_by = "{sequence}"
  %y = torsor.input "y" per sequence [] : tensor<f32>
  // CHECK: torsor.input "z" per call {{.*}}varies_by = "{call}"
  %z = torsor.input "z" per call [] : tensor<f32>
  // CHECK: torsor.read {{.*}}varies_by = "{loaded, head}"
  %wh = torsor.read %w[%h] : (tensor<?xf32>, i64) -> f64
  // CHECK: torsor.read {{.*}}varies_by = "{key}"
  %xj = torsor.read %x[%j] : (tensor<?xf32>, !torsor.token) -> f64
  // CHECK: torsor.index {{.*}}varies_by = "{query}"
  %ii = torsor.index %i
  // CHECK: torsor.index {{.*}}varies_by = "{key}"
  %jj = torsor.index %j
  // CHECK: arith.subi {{.*}}varies_by = "{query, key}"
  %age = arith.subi %ii, %jj : i64
  // CHECK: torsor.running
  // CHECK: torsor.read {{.*}}varies_by = "{path}"
  // CHECK: {varies_by = "{}"} : <f64>
  %c = torsor.running "c" {
  ^bb0(%l: !torsor.token):
    %xl = torsor.read %x[%l] : (tensor<?xf32>, !torsor.token) -> f64
    torsor.yield %xl : f64
  } : !torsor.clock<f64>
  // CHECK: torsor.time {{.*}}varies_by = "{key}"
  %t = torsor.time %c of %j : !torsor.clock<f64> -> f64
  // CHECK: torsor.path_sum
  // CHECK: {varies_by = "{query, key}"}
  %p = torsor.path_sum {
  ^bb0(%l: !torsor.token):
    %xl = torsor.read %x[%l] : (tensor<?xf32>, !torsor.token) -> f64
    torsor.yield %xl : f64
  }
  // CHECK: torsor.vector {{.*}}varies_by = "{query, content}"
  %q = torsor.vector query %i : tensor<2xf64>
  // CHECK: torsor.ambient score {varies_by = "{score}"}
  %s = torsor.ambient score : f64
}
