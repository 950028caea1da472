// RUN: torsor-opt %s --split-input-file --torsor-check-legality --verify-diagnostics

// Two turns of the same pairs commute, each on its own clock.
torsor.scheme @axes head(4) {
  %i = torsor.token query
  %j = torsor.token key
  %c = torsor.clock "row" : !torsor.clock<i32>
  %s = torsor.time %c of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %c of %j : !torsor.clock<i32> -> i64
  %f = arith.constant dense<[0.5, 0.25]> : tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %g = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %h = torsor.at %g(q = %s, k = %t) : !torsor.action<4>, i64, i64
  %p = torsor.product %r, %h : !torsor.action<4>
  %a = torsor.adjacent %p : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
}

// -----

// Adjacent and split pairs meet in one lane each.
torsor.scheme @pairs head(4) {
  %f = arith.constant dense<[0.5, 0.25]> : tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %g = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %x = torsor.adjacent %r : !torsor.action<4>
  %y = torsor.split %g : !torsor.action<4>
  // expected-error@+1 {{the two sides of a product do not commute: they act on lanes [0, 1] and [0, 2] [composition]}}
  %p = torsor.product %x, %y : !torsor.action<4>
  torsor.action %p : !torsor.action<4>
}

// -----

// Equal frequencies commute as numbers go, but never by a numerical test.
torsor.scheme @numbers head(4) {
  %f = arith.constant dense<0.5> : tensor<2xf64>
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %g = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %x = torsor.adjacent %r : !torsor.action<4>
  %y = torsor.split %g : !torsor.action<4>
  // expected-error@+1 {{[composition]}}
  %p = torsor.product %x, %y : !torsor.action<4>
  torsor.action %p : !torsor.action<4>
}

// -----

// A decay of one rate over all lanes is scalar where it meets a pair.
torsor.scheme @scalar head(4) {
  %i = torsor.token query
  %j = torsor.token key
  %f = arith.constant dense<[0.5, 0.25]> : tensor<2xf64>
  %rate = arith.constant 0.1 : f64
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %x = torsor.split %r : !torsor.action<4>
  %d = torsor.decay %rate : !torsor.action<4>
  %p = torsor.product %x, %d : !torsor.action<4>
  torsor.action %p : !torsor.action<4>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// Two rates on the two lanes of a pair are not.
torsor.scheme @rates head(4) {
  %i = torsor.token query
  %j = torsor.token key
  %f = arith.constant dense<[0.5, 0.25]> : tensor<2xf64>
  %u = arith.constant 0.1 : f64
  %v = arith.constant 0.2 : f64
  %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %x = torsor.split %r : !torsor.action<4>
  %d = torsor.decay %u : !torsor.action<2>
  %e = torsor.decay %v : !torsor.action<2>
  %c = torsor.concat %d, %e : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  // expected-error@+1 {{the two sides of a product do not commute: they act on lanes [0, 2] and [0, 1] [composition]}}
  %p = torsor.product %x, %c : !torsor.action<4>
  torsor.action %p : !torsor.action<4>
  %ii = torsor.index %i
  %jj = torsor.index %j
  %m = arith.cmpi sle, %jj, %ii : i64
  torsor.mask %m
}

// -----

// Planes of vectors that share no lane are orthogonal.
torsor.scheme @planes head(4) {
  %one = arith.constant 1.0 : f64
  %a = arith.constant dense<[1.0, 0.0, 0.0, 0.0]> : tensor<4xf64>
  %b = arith.constant dense<[0.0, 2.0, 0.0, 0.0]> : tensor<4xf64>
  %c = arith.constant dense<[0.0, 0.0, 1.0, 0.0]> : tensor<4xf64>
  %d = arith.constant dense<[0.0, 0.0, 1.0, 3.0]> : tensor<4xf64>
  %x = torsor.plane %one, %a, %b : tensor<4xf64>, tensor<4xf64> -> !torsor.action<4>
  %y = torsor.plane %one, %c, %d : tensor<4xf64>, tensor<4xf64> -> !torsor.action<4>
  %p = torsor.product %x, %y : !torsor.action<4>
  torsor.action %p : !torsor.action<4>
}

// -----

torsor.scheme @meeting_planes head(4) {
  %one = arith.constant 1.0 : f64
  %a = arith.constant dense<[1.0, 0.0, 0.0, 0.0]> : tensor<4xf64>
  %b = arith.constant dense<[0.0, 2.0, 0.0, 0.0]> : tensor<4xf64>
  %c = arith.constant dense<[0.0, 1.0, 1.0, 0.0]> : tensor<4xf64>
  %x = torsor.plane %one, %a, %b : tensor<4xf64>, tensor<4xf64> -> !torsor.action<4>
  %y = torsor.plane %one, %a, %c : tensor<4xf64>, tensor<4xf64> -> !torsor.action<4>
  // expected-error@+1 {{[composition]}}
  %p = torsor.product %x, %y : !torsor.action<4>
  torsor.action %p : !torsor.action<4>
}

// -----

// A basis must have an inverse.
torsor.scheme @basis head(2) {
  %p = torsor.param "P" ["2", "2"] : tensor<2x2xf32>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.adjacent %r : !torsor.action<2>
  // expected-error@+1 {{the columns of a basis must be a param that is orthogonal or has a condition of at most 1000, so that its inverse is safe [conditioning]}}
  %b = torsor.basis %x columns %p : !torsor.action<2>, tensor<2x2xf32> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}

// -----

torsor.scheme @orthogonal head(2) {
  %p = torsor.param "P" ["2", "2"] orthogonal : tensor<2x2xf32>
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %x = torsor.adjacent %r : !torsor.action<2>
  %b = torsor.basis %x columns %p : !torsor.action<2>, tensor<2x2xf32> -> !torsor.action<2>
  torsor.action %b : !torsor.action<2>
}
