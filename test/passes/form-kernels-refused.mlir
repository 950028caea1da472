// RUN: torsor-opt %s --split-input-file --torsor-form-kernels --verify-diagnostics

// Legal, but without a kernel: an error at the clause, never a wrong kernel.

torsor.scheme @width {
  // expected-error@-1 {{the scheme leaves the width of a head open; give it by --head-width D, or write 'head D'}}
}

// -----

torsor.scheme @long_chain head(66) {
  %rate = arith.constant 0.1 : f64
  %one = arith.constant 1.0 : f64
  %d = torsor.decay %rate : !torsor.action<2>
  // expected-error@+1 {{no kernel for this yet: a chain of 33 links; at most 32}}
  %j = torsor.jordan %d order 33 couple %one : !torsor.action<2> -> !torsor.action<66>
  torsor.action %j : !torsor.action<66>
}

// -----

// Each of three choices doubles the branches.
// expected-error@+1 {{no kernel for this yet: an action of more than 6 regions}}
torsor.scheme @regions head(6) {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %c = arith.cmpi slt, %ii, %jj : i64
  %d = arith.cmpi eq, %ii, %jj : i64
  %zero = arith.constant 0 : i64
  %e = arith.cmpi eq, %ii, %zero : i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %z = torsor.zero : !torsor.action<2>
  %x = torsor.choose %c, %r, %z : !torsor.action<2>
  %y = torsor.choose %d, %r, %z : !torsor.action<2>
  %w = torsor.choose %e, %r, %z : !torsor.action<2>
  %all = torsor.concat %x, %y, %w : !torsor.action<2>, !torsor.action<2>, !torsor.action<2> -> !torsor.action<6>
  %a = torsor.adjacent %all : !torsor.action<6>
  torsor.action %a : !torsor.action<6>
}

// -----

torsor.scheme @value_basis head(2) {
  %p = torsor.param "p" ["2", "2"] orthogonal : tensor<2x2xf32>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  // expected-error@+1 {{no kernel for this yet: values under the combinator 'basis'}}
  %b = torsor.basis %a columns %p : !torsor.action<2>, tensor<2x2xf32> -> !torsor.action<2>
  torsor.value_action %b : !torsor.action<2>
}

// -----

// An inverse that nothing bounds.
torsor.scheme @unconditioned head(2) {
  %p = torsor.param "p" ["2", "2"] : tensor<2x2xf32>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  // expected-error@+1 {{no kernel for this yet: a basis that is neither orthogonal nor conditioned}}
  %b = torsor.basis %a columns %p : !torsor.action<2>, tensor<2x2xf32> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
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

// expected-error@+1 {{a value is lanes 2 to 4 of the key, which has 0 to 3}}
torsor.scheme @value_in_key head(4) attributes {value_low = 2 : i64, value_high = 4 : i64} {
}
