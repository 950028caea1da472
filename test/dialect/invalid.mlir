// One chunk for each rule of a verifier.
// RUN: torsor-opt %s --split-input-file --verify-diagnostics

// turn R1
torsor.scheme @turn_r1 {
  %f = arith.constant dense<0.5> : tensor<4xf64>
  // expected-error @below {{'torsor.turn' op turns 4 pairs, so it must be 8 lanes wide, but it is 6}}
  %r = torsor.turn %f : tensor<4xf64> -> !torsor.action<6>
}

// -----

// jordan R1
torsor.scheme @jordan_r1_order {
  %x = arith.constant 0.5 : f64
  %a = torsor.decay %x : !torsor.action<4>
  // expected-error @below {{'torsor.jordan' op its order must be at least 1, but it is 0}}
  %j = torsor.jordan %a order 0 couple %x : !torsor.action<4> -> !torsor.action<0>
}

// -----

// jordan R1
torsor.scheme @jordan_r1_width {
  %x = arith.constant 0.5 : f64
  %a = torsor.decay %x : !torsor.action<4>
  // expected-error @below {{'torsor.jordan' op must be 8 lanes wide, but it is 12}}
  %j = torsor.jordan %a order 2 couple %x : !torsor.action<4> -> !torsor.action<12>
}

// -----

// concat R1
torsor.scheme @concat_r1 {
  %a = torsor.zero : !torsor.action<4>
  // expected-error @below {{'torsor.concat' op must be 8 lanes wide, but it is 4}}
  %c = torsor.concat %a, %a : !torsor.action<4>, !torsor.action<4> -> !torsor.action<4>
}

// -----

torsor.scheme @split_width {
  %a = torsor.zero : !torsor.action<5>
  // expected-error @below {{'torsor.split' op needs an even width, but it is 5}}
  %s = torsor.split %a : !torsor.action<5>
}

// -----

torsor.scheme @adjacent_width {
  %a = torsor.zero : !torsor.action<7>
  // expected-error @below {{'torsor.adjacent' op needs an even width, but it is 7}}
  %s = torsor.adjacent %a : !torsor.action<7>
}

// -----

// gain R1
torsor.scheme @gain_r1_both {
  %x = arith.constant 0.5 : f64
  %u = arith.constant dense<0.5> : tensor<4xf64>
  %a = torsor.zero : !torsor.action<4>
  // expected-error @below {{'torsor.gain' op takes either 'by', or both 'q' and 'k'}}
  %g = torsor.gain %a by %x q %u : tensor<4xf64> k %u : tensor<4xf64> : !torsor.action<4> -> !torsor.action<4>
}

// -----

// gain R1
torsor.scheme @gain_r1_one {
  %u = arith.constant dense<0.5> : tensor<4xf64>
  %a = torsor.zero : !torsor.action<4>
  // expected-error @below {{'torsor.gain' op takes either 'by', or both 'q' and 'k'}}
  %g = torsor.gain %a q %u : tensor<4xf64> : !torsor.action<4> -> !torsor.action<4>
}

// -----

// scheme R1
torsor.scheme @scheme_r1 {
  %x = arith.constant 0.5 : f64
  // expected-note @below {{the first is here}}
  torsor.scale %x
  // expected-error @below {{'torsor.scale' op stands twice in a scheme}}
  torsor.scale %x
}

// -----

// scheme R2
torsor.scheme @scheme_r2 head(128) {
  %a = torsor.zero : !torsor.action<64>
  // expected-error @below {{'torsor.action' op is 64 lanes wide, but the head is 128}}
  torsor.action %a : !torsor.action<64>
}

// -----

func.func @outside(%x: f64) {
  // expected-error @below {{'torsor.scale' op expects parent op 'torsor.scheme'}}
  torsor.scale %x
  return
}

// -----

torsor.scheme @running_element {
  // expected-error @below {{'torsor.running' op a running sum is a clock of f64}}
  %c = torsor.running "c" {
  ^bb0(%l: !torsor.token):
    %x = arith.constant 0.5 : f64
    torsor.yield %x : f64
  } : !torsor.clock<i32>
}

// -----

torsor.scheme @running_argument {
  // expected-error @below {{'torsor.running' op its term must take one argument of type '!torsor.token'}}
  %c = torsor.running "c" {
    %x = arith.constant 0.5 : f64
    torsor.yield %x : f64
  } : !torsor.clock<f64>
}

// -----

torsor.scheme @sum_yield {
  // expected-error @below {{'torsor.sum' op its term must yield a 'f64', but it yields a 'i64'}}
  %s = torsor.sum < 4 {
  ^bb0(%p: i64):
    torsor.yield %p : i64
  } : f64
}

// -----

torsor.scheme @tabulate_yield {
  // expected-error @below {{'torsor.tabulate' op its term must yield one value}}
  %s = torsor.tabulate {
  ^bb0(%p: i64):
    torsor.yield %p, %p : i64, i64
  } : tensor<3xi64>
}

// -----

torsor.scheme @path_sum_argument {
  // expected-error @below {{'torsor.path_sum' op its term must take one argument of type '!torsor.token'}}
  %s = torsor.path_sum {
  ^bb0(%p: i64):
    %x = arith.constant 0.5 : f64
    torsor.yield %x : f64
  }
}

// -----

torsor.scheme @time_member {
  %i = torsor.token query
  %pos = torsor.clock "c" : !torsor.clock<f64, 4>
  // expected-error @below {{'torsor.time' op member 4 lies outside 0 .. 3}}
  %t = torsor.time %pos member 4 of %i : !torsor.clock<f64, 4> -> f64
}

// -----

torsor.scheme @time_type {
  %i = torsor.token query
  %pos = torsor.clock "pos" : !torsor.clock<i32>
  // expected-error @below {{'torsor.time' op must give a 'i64'}}
  %t = torsor.time %pos of %i : !torsor.clock<i32> -> f64
}

// -----

torsor.scheme @param_square {
  // expected-error @below {{'torsor.param' op orthogonal and condition need square matrices}}
  %p = torsor.param "p" ["4", "8"] orthogonal : tensor<4x8xf64>
}

// -----

torsor.scheme @param_rank {
  // expected-error @below {{'torsor.param' op names 1 axes, but its type has rank 2}}
  %p = torsor.param "p" ["4"] : tensor<4x8xf64>
}

// -----

torsor.scheme @param_axis {
  // expected-error @below {{'torsor.param' op axis 'K' must be H, G, * or a number}}
  %p = torsor.param "p" ["K"] : tensor<?xf64>
}

// -----

torsor.scheme @input_axis {
  // expected-error @below {{'torsor.input' op axis '4' and its type disagree}}
  %p = torsor.input "p" per token ["4"] : tensor<?x?xf64>
}

// -----

torsor.scheme @read_type {
  %i = torsor.token query
  %d = torsor.input "doc" per token [] : tensor<?xi32>
  // expected-error @below {{'torsor.read' op must give a 'i64'}}
  %x = torsor.read %d[%i] : (tensor<?xi32>, !torsor.token) -> f64
}

// -----

torsor.scheme @read_indices {
  %w = torsor.param "w" ["4", "4", "4"] : tensor<4x4x4xf64>
  %z = arith.constant 0 : i64
  // expected-error @below {{'torsor.read' op takes 3 indices, or one less for a row, but has 1}}
  %x = torsor.read %w[%z] : (tensor<4x4x4xf64>, i64) -> f64
}

// -----

torsor.scheme @read_row {
  %w = torsor.param "w" ["4", "8"] : tensor<4x8xf64>
  %z = arith.constant 0 : i64
  // expected-error @below {{'torsor.read' op must give a row of the tensor}}
  %x = torsor.read %w[%z] : (tensor<4x8xf64>, i64) -> tensor<4xf64>
}

// -----

torsor.scheme @list_type {
  %z = arith.constant 0 : i64
  // expected-error @below {{'torsor.list' op must give a vector of its operands}}
  %x = torsor.list %z, %z : i64, i64 -> tensor<3xi64>
}
