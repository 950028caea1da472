// RUN: torsor-opt %s --split-input-file --torsor-form-kernels --verify-diagnostics

// Legal, but without a kernel: an error at the clause, never a wrong kernel.

torsor.scheme @width {
  // expected-error@-1 {{the scheme leaves the width of a head open; the compile command must give it}}
}

// -----

torsor.scheme @decay head(2) {
  %rate = arith.constant 0.1 : f64
  // expected-error@+1 {{no kernel for this yet: the block 'decay'}}
  %d = torsor.decay %rate : !torsor.action<2>
  torsor.action %d : !torsor.action<2>
}

// -----

torsor.scheme @product head(2) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %rate = arith.constant 0.1 : f64
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %d = torsor.decay %rate : !torsor.action<2>
  // expected-error@+1 {{no kernel for this yet: the combinator 'product'}}
  %p = torsor.product %r, %d : !torsor.action<2>
  %a = torsor.adjacent %p : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

torsor.scheme @choose head(2) {
  %i = torsor.token query
  %c = arith.constant true
  %x = torsor.zero : !torsor.action<2>
  %y = torsor.zero : !torsor.action<2>
  // expected-error@+1 {{no kernel for this yet: the combinator 'choose'}}
  %p = torsor.choose %c, %x, %y : !torsor.action<2>
  torsor.action %p : !torsor.action<2>
}

// -----

// Keys are shared by the query heads of a group.
torsor.scheme @by_head head(2) {
  %w = torsor.param "w" ["H", "1"] : tensor<?x1xf32>
  %h = torsor.ambient head : i64
  %f = torsor.read %w[%h] : (tensor<?x1xf32>, i64) -> tensor<1xf64>
  // expected-error@+1 {{no kernel for this yet: frequencies that vary by the query head, since keys are shared by the heads of a group}}
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

torsor.scheme @time_by_head head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %h = torsor.ambient head : i64
  %s = torsor.index %i
  %t0 = torsor.index %j
  // expected-error@+1 {{no kernel for this yet: a key's time that varies by the query head}}
  %t = arith.addi %t0, %h : i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %a = torsor.adjacent %x : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

torsor.scheme @gain head(2) {
  %w = torsor.param "w" [] in 1.0 to 2.0 : tensor<f32>
  // expected-error@+1 {{no kernel for this yet: a gain that is not a constant}}
  %g = torsor.read %w[] : (tensor<f32>) -> f64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %b = torsor.gain %a by %g : !torsor.action<2> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}

// -----

torsor.scheme @pair_gain head(2) {
  %u = arith.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  // expected-error@+1 {{no kernel for this yet: gains that differ between the lanes of a pair}}
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %b = torsor.gain %a q %u : tensor<2xf64> k %u : tensor<2xf64> : !torsor.action<2> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}

// -----

torsor.scheme @terms head(2) {
  %z = torsor.zero : !torsor.action<2>
  // expected-error@+1 {{no kernel for this yet: an action on values}}
  torsor.value_action %z : !torsor.action<2>
  // expected-error@+1 {{no kernel for this yet: a norm of q and k}}
  torsor.norm rms
  // expected-error@+1 {{no kernel for this yet: a linear readout}}
  torsor.readout linear
  %v = arith.constant dense<0.5> : tensor<2xf64>
  // expected-error@+1 {{no kernel for this yet: a vector added to values}}
  torsor.value_bias %v : tensor<2xf64>
  // expected-error@+1 {{no kernel for this yet: an additive encoding}}
  torsor.embed %v : tensor<2xf64>
}

// -----

torsor.scheme @content head(2) {
  %i = torsor.token query
  %j = torsor.token key
  // expected-error@+1 {{no kernel for this yet: a term that reads the contents of q and k}}
  %q = torsor.vector query %i : tensor<2xf64>
  // expected-error@+1 {{no kernel for this yet: a term that reads the contents of q and k}}
  %k = torsor.vector key %j : tensor<2xf64>
  %d = torsor.dot %q, %k : tensor<2xf64>
  torsor.bias %d
}

// -----

torsor.scheme @running head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %g = torsor.input "gate" per token [] : tensor<?xf32>
  // expected-error@+1 {{no kernel for this yet: a running sum as a clock}}
  %c = torsor.running {
  ^bb0(%l: !torsor.token):
    %x = torsor.read %g[%l] : (tensor<?xf32>, !torsor.token) -> f64
    torsor.yield %x : f64
  } : !torsor.clock<f64>
  %s = torsor.time %c of %i : !torsor.clock<f64> -> f64
  %t = torsor.time %c of %j : !torsor.clock<f64> -> f64
  %b = arith.subf %s, %t : f64
  torsor.bias %b
}

// -----

torsor.scheme @path head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %g = torsor.input "gate" per token [] : tensor<?xf32>
  // expected-error@+1 {{no kernel for this yet: a sum over the tokens between key and query}}
  %b = torsor.path_sum {
  ^bb0(%l: !torsor.token):
    %x = torsor.read %g[%l] : (tensor<?xf32>, !torsor.token) -> f64
    torsor.yield %x : f64
  }
  torsor.bias %b
}

// -----

torsor.scheme @long_sum head(2) {
  %h = torsor.ambient head : i64
  // expected-error@+1 {{no kernel for this yet: a sum of 5000 terms; at most 4096 are written out}}
  %b = torsor.sum < 5000 {
  ^bb0(%p: i64):
    %x = arith.muli %p, %h : i64
    torsor.yield %x : i64
  } : i64
  %f = arith.sitofp %b : i64 to f64
  torsor.bias %f
}

// -----

// expected-error@+1 {{no kernel for this yet: a value that is part of the key}}
torsor.scheme @value_in_key head(4) value(2) attributes {value_low = 0 : i64, value_high = 2 : i64} {
}
