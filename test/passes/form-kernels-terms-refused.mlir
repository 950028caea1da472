// RUN: torsor-opt %s --split-input-file --torsor-form-kernels --verify-diagnostics

// Terms that read contents, and what of them has no kernel.

torsor.scheme @path_of_key head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %g = torsor.input "gate" per token [] : tensor<?xf32>
  %y = torsor.read %g[%j] : (tensor<?xf32>, !torsor.token) -> f64
  // expected-error@+1 {{no kernel for this yet: a sum over a path whose term reads the key}}
  %b = torsor.path_sum {
  ^bb0(%l: !torsor.token):
    %x = torsor.read %g[%l] : (tensor<?xf32>, !torsor.token) -> f64
    %p = arith.mulf %x, %y : f64
    torsor.yield %p : f64
  }
  torsor.bias %b
}

// -----

torsor.scheme @sink_of_query head(2) {
  %i = torsor.token query
  %q = torsor.vector query %i : tensor<2xf64>
  %c = arith.constant 0 : i64
  %x = torsor.element %q[%c] : tensor<2xf64> -> f64
  // expected-error@+1 {{no kernel for this yet: a sink that reads contents}}
  torsor.sink %x
}

// -----

torsor.scheme @value_of_pair head(2) value(2) {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %w = torsor.param "w" ["4", "5", "2"] : tensor<4x5x2xf32>
  %r = torsor.read %w[%s, %t] : (tensor<4x5x2xf32>, i64, i64) -> tensor<2xf64>
  // expected-error@+1 {{no kernel for this yet: a vector added to values that is not a row of a table picked by one number}}
  torsor.value_bias %r : tensor<2xf64>
}

// -----

torsor.scheme @divisor_of_query head(2) {
  %i = torsor.token query
  %q = torsor.vector query %i : tensor<2xf64>
  %c = arith.constant 0 : i64
  %x = torsor.element %q[%c] : tensor<2xf64> -> f64
  // expected-error@+1 {{no kernel for this yet: a divisor that reads contents}}
  torsor.readout linear over %x
}

// -----

torsor.scheme @wide_product head(300) {
  %i = torsor.token query
  %j = torsor.token key
  %q = torsor.vector query %i : tensor<300xf64>
  %k = torsor.vector key %j : tensor<300xf64>
  %f = arith.constant dense<0.5> : tensor<150xf64>
  %r = torsor.turn %f : tensor<150xf64> -> !torsor.action<300>
  %a = torsor.split %r : !torsor.action<300>
  torsor.action %a : !torsor.action<300>
  // expected-error@+1 {{no kernel for this yet: a product over 300 lanes that is neither one with a row of a table nor the score; at most 256 are written out}}
  %d = torsor.dot %q, %k : tensor<300xf64>
  torsor.bias %d
}
