// RUN: torsor-opt %s --split-input-file --torsor-check-legality --verify-diagnostics

torsor.scheme @twice {
  // expected-note@+1 {{the first is here}}
  %a = torsor.param "w" ["H"] : tensor<?xf32>
  // expected-error@+1 {{'w' is declared twice}}
  %b = torsor.input "w" per call [] : tensor<f32>
}

// -----

torsor.scheme @tensor {
  %a = arith.constant dense<1.0> : tensor<4xf32>
  %n = arith.constant 0 : i64
  // expected-error@+1 {{reads a param or an input, but its tensor is none}}
  %x = torsor.read %a[%n] : (tensor<4xf32>, i64) -> f64
}

// -----

torsor.scheme @token {
  %i = torsor.token query
  %w = torsor.param "w" ["4"] : tensor<4xf32>
  // expected-error@+1 {{takes integers, since the tensor is not per token}}
  %x = torsor.read %w[%i] : (tensor<4xf32>, !torsor.token) -> f64
}

// -----

torsor.scheme @index {
  %n = arith.constant 0 : i64
  %w = torsor.input "w" per token [] : tensor<?xf32>
  // expected-error@+1 {{takes a token first and then integers}}
  %x = torsor.read %w[%n] : (tensor<?xf32>, i64) -> f64
}
