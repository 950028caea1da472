// RUN: torsor-opt %s --split-input-file --torsor-check-legality --verify-diagnostics

// One generator for all pairs.
torsor.scheme @generator head(2) {
  %j = torsor.token key
  %w = torsor.input "w" per token [] : tensor<?xf32>
  %x = torsor.read %w[%j] : (tensor<?xf32>, !torsor.token) -> f64
  %f = torsor.list %x : f64 -> tensor<1xf64>
  // expected-error@+1 {{the law exp((t - s) X) needs one generator for all pairs, but this rate varies by {key}; a clock may [one generator]}}
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

torsor.scheme @finite head(2) {
  %f = arith.constant dense<0x7FF0000000000000> : tensor<1xf64>
  // expected-error@+1 {{a rate must be finite [range]}}
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

// The query's time may read the query, but not the key.
torsor.scheme @sides head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %t = torsor.index %j
  // expected-error@+1 {{the key's time cannot depend on the query [sides]}}
  %s = torsor.index %i
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.at %r(q = %s, k = %s) : !torsor.action<2>, i64, i64
  %a = torsor.adjacent %x : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
}

// -----

torsor.scheme @scale head(2) {
  %j = torsor.token key
  %jj = torsor.index %j
  %x = arith.sitofp %jj : i64 to f64
  // expected-error@+1 {{'scale' belongs to a row and cannot depend on the key, but this varies by {key} [stage]}}
  torsor.scale %x
}

// -----

torsor.scheme @mask head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %q = torsor.vector query %i : tensor<2xf64>
  %k = torsor.vector key %j : tensor<2xf64>
  %d = torsor.dot %q, %k : tensor<2xf64>
  %zero = arith.constant 0.0 : f64
  %m = arith.cmpf ogt, %d, %zero : f64
  // expected-error@+1 {{'mask' cannot depend on the contents of q and k}}
  torsor.mask %m
}

// -----

torsor.scheme @softcap head(2) {
  %zero = arith.constant 0.0 : f64
  // expected-error@+1 {{a softcap must be above 0, and this cannot be shown [range]}}
  torsor.softcap %zero
}

// -----

torsor.scheme @logit head(2) {
  %z = torsor.ambient score : f64
  torsor.logit %z
  %b = arith.constant 1.0 : f64
  // expected-error@+1 {{'logit' writes the whole logit, so 'bias' has no place beside it [assembly]}}
  torsor.bias %b
}

// -----

torsor.scheme @score head(2) {
  // expected-error@+1 {{the score is known only in 'logit' [stage]}}
  %z = torsor.ambient score : f64
  // expected-error@+1 {{'bias' cannot depend on the score}}
  torsor.bias %z
}

// -----

torsor.scheme @linear head(2) {
  %b = arith.constant 1.0 : f64
  // expected-error@+1 {{'sink' belongs to softmax; another readout has no such term [readout]}}
  torsor.sink %b
  torsor.readout linear
}

// -----

torsor.scheme @delta head(2) {
  %two = arith.constant 2.5 : f64
  // expected-error@+3 {{the delta rule needs a mask that hides all keys after the query [half-line]}}
  // expected-error@+2 {{the delta rule needs unit keys: a norm of kind l2 [stability]}}
  // expected-error@+1 {{beta of the delta rule must lie in 0 .. 2, and this cannot be shown [stability]}}
  torsor.readout delta beta %two
}

// -----

torsor.scheme @gain head(2) {
  %zero = arith.constant 0.0 : f64
  %z = torsor.zero : !torsor.action<2>
  // expected-error@+1 {{a gain must be above 0, and this cannot be shown [range]}}
  %g = torsor.gain %z by %zero : !torsor.action<2> -> !torsor.action<2>
  torsor.action %g : !torsor.action<2>
}

// -----

torsor.scheme @values head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %rate = arith.constant 0.1 : f64
  // expected-error@+1 {{an action on values must preserve length on every pair [isometry]}}
  %d = torsor.decay %rate : !torsor.action<2>
  torsor.value_action %d : !torsor.action<2>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// A running sum has no origin.
torsor.scheme @origin head(2) {
  %i = torsor.token query
  %g = torsor.input "gate" per token [] : tensor<?xf32>
  %c = torsor.running "c" {
  ^bb0(%l: !torsor.token):
    %x = torsor.read %g[%l] : (tensor<?xf32>, !torsor.token) -> f64
    torsor.yield %x : f64
  } : !torsor.clock<f64>
  %s = torsor.time %c of %i : !torsor.clock<f64> -> f64
  %one = arith.constant 1.0 : f64
  // expected-error@+1 {{a running sum has no origin: only the difference of two of its times has a meaning [origin]}}
  %b = arith.mulf %s, %one : f64
  torsor.bias %b
}
