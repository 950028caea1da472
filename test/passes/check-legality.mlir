// RUN: torsor-opt %s --split-input-file --torsor-check-legality --verify-diagnostics

// Lawful: rotation times decay under a causal mask (xPos).
torsor.scheme @xpos head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %rate = arith.constant 0.1 : f64
  %d = torsor.decay %rate : !torsor.action<2>
  %p = torsor.product %r, %d : !torsor.action<2>
  %a = torsor.adjacent %p : !torsor.action<2>
  torsor.action %a : !torsor.action<2>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// The same without a mask: a later key would grow.
torsor.scheme @open head(2) {
  %rate = arith.constant 0.1 : f64
  // expected-error@+1 {{'decay' grows without bound when a query sees later keys, and this mask does not exclude them [half-line]}}
  %d = torsor.decay %rate : !torsor.action<2>
  torsor.action %d : !torsor.action<2>
}

// -----

// A mask that only bounds keys before the query is not enough.
torsor.scheme @behind head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %rate = arith.constant 0.1 : f64
  // expected-error@+1 {{[half-line]}}
  %d = torsor.decay %rate : !torsor.action<2>
  torsor.action %d : !torsor.action<2>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %w = arith.constant 8 : i64
  %age = arith.subi %ii, %jj : i64
  %m = arith.cmpi slt, %age, %w : i64
  torsor.mask %m
}

// -----

// A window of positions beside 'j <= i' does not take back what that says.
torsor.scheme @window_of_positions head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %rate = arith.constant 0.1 : f64
  %d = torsor.decay %rate : !torsor.action<2>
  torsor.action %d : !torsor.action<2>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %past = arith.cmpi sle, %jj, %ii : i64
  %pos = torsor.clock "pos" : <i32>
  %s = torsor.time %pos of %i : <i32> -> i64
  %t = torsor.time %pos of %j : <i32> -> i64
  %age = arith.subi %s, %t : i64
  %w = arith.constant 23 : i64
  %near = arith.cmpi slt, %age, %w : i64
  %m = arith.andi %past, %near : i1
  torsor.mask %m
}

// -----

// A rate below 0 grows with the distance.
torsor.scheme @growing head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %rate = arith.constant -0.1 : f64
  // expected-error@+1 {{a decay needs a rate of at least 0, and this cannot be shown [half-line]}}
  %d = torsor.decay %rate : !torsor.action<2>
  torsor.action %d : !torsor.action<2>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// -log1p(-2^(-5-h)) is shown to be at least 0 (RetNet).
torsor.scheme @retnet head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %h = torsor.ambient head : i64
  %m5 = arith.constant -5 : i64
  %e = arith.subi %m5, %h : i64
  %ef = arith.sitofp %e : i64 to f64
  %x = math.exp2 %ef : f64
  %n = arith.negf %x : f64
  %l = math.log1p %n : f64
  %rate = arith.negf %l : f64
  %d = torsor.decay %rate : !torsor.action<2>
  torsor.action %d : !torsor.action<2>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi slt, %jj, %ii : i64
  torsor.mask %m
}

// -----

// A clock that is not declared rising may run backwards.
torsor.scheme @backwards head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %c = torsor.clock "time" : !torsor.clock<f64>
  %s = torsor.time %c of %i : !torsor.clock<f64> -> f64
  %t = torsor.time %c of %j : !torsor.clock<f64> -> f64
  %rate = arith.constant 0.1 : f64
  // expected-error@+1 {{'decay' needs a clock that never runs backwards: 'pos', a rising clock, or a running sum of terms at least 0 [half-line]}}
  %d = torsor.decay %rate : !torsor.action<2>
  %a = torsor.at %d(q = %s, k = %t) : !torsor.action<2>, f64, f64
  torsor.action %a : !torsor.action<2>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// Its twin, declared rising, is lawful.
torsor.scheme @rising head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %c = torsor.clock "time" rising : !torsor.clock<f64>
  %s = torsor.time %c of %i : !torsor.clock<f64> -> f64
  %t = torsor.time %c of %j : !torsor.clock<f64> -> f64
  %rate = arith.constant 0.1 : f64
  %d = torsor.decay %rate : !torsor.action<2>
  %a = torsor.at %d(q = %s, k = %t) : !torsor.action<2>, f64, f64
  torsor.action %a : !torsor.action<2>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// A chain of order 2 with no decay inside grows linearly.
torsor.scheme @jordan head(4) {
  %i = torsor.token query
  %j = torsor.token key
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %one = arith.constant 1.0 : f64
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %b = torsor.adjacent %r : !torsor.action<2>
  // expected-error@+1 {{a chain of order above 1 grows with the distance unless a decay stands inside [half-line]}}
  %d = torsor.jordan %b order 2 couple %one : !torsor.action<2> -> !torsor.action<4>
  torsor.action %d : !torsor.action<4>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// Which lanes form a pair?
torsor.scheme @layout head(2) {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  // expected-error@+1 {{which lanes form a pair? a turn stands under 'split' or 'adjacent' [layout]}}
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  torsor.action %r : !torsor.action<2>
}

// -----

torsor.scheme @layouts head(4) {
  %f = arith.constant dense<[0.5, 0.25]> : tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  // expected-error@+1 {{the lanes of these pairs are already laid out [layout]}}
  %a = torsor.adjacent %r : !torsor.action<4>
  %b = torsor.split %a : !torsor.action<4>
  torsor.action %b : !torsor.action<4>
}

// -----

torsor.scheme @clocks head(2) {
  %i = torsor.token query
  %j = torsor.token key
  %c = torsor.clock "row" : !torsor.clock<i32>
  %s = torsor.time %c of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %c of %j : !torsor.clock<i32> -> i64
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  // expected-error@+1 {{this action already has its clock [one clock]}}
  %x = torsor.at %r(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %y = torsor.at %x(q = %s, k = %t) : !torsor.action<2>, i64, i64
  %b = torsor.split %y : !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}
