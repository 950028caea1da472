// Every operation of the scheme level prints, parses and prints the same.
// RUN: torsor-opt %s --verify-roundtrip | FileCheck %s
// RUN: torsor-opt %s --mlir-print-op-generic | torsor-opt | FileCheck %s

// CHECK-LABEL: torsor.scheme @leaves head(64) value(32)
torsor.scheme @leaves head(64) value(32) {
  // CHECK: %[[I:.*]] = torsor.token{{ +}}query
  %i = torsor.token query
  // CHECK: %[[J:.*]] = torsor.token{{ +}}key
  %j = torsor.token key
  // CHECK: torsor.index %[[I]]
  %ii = torsor.index %i
  // CHECK: %[[POS:.*]] = torsor.clock "pos" moving rising in 0.000000e+00 to 1.023000e+03 : <i32>
  %pos = torsor.clock "pos" moving rising in 0.0 to 1023.0 : !torsor.clock<i32>
  // CHECK: torsor.time %[[POS]] of %[[J]] : <i32> -> i64
  %t = torsor.time %pos of %j : !torsor.clock<i32> -> i64
  // CHECK: %[[GATE:.*]] = torsor.input "gate" per{{ +}}token ["64"] : tensor<?x64xf32>
  %gate = torsor.input "gate" per token ["64"] : tensor<?x64xf32>
  // CHECK: %[[CUM:.*]] = torsor.running "c" exclusive {
  // CHECK: ^bb0(%[[L:.*]]: !torsor.token):
  // CHECK: torsor.read %[[GATE]][%[[L]]] : (tensor<?x64xf32>, !torsor.token) -> tensor<64xf64>
  // CHECK: torsor.yield %{{.*}} : tensor<64xf64>
  // CHECK: } : <f64, 64>
  %run = torsor.running "c" exclusive {
  ^bb0(%l: !torsor.token):
    %row = torsor.read %gate[%l] : (tensor<?x64xf32>, !torsor.token) -> tensor<64xf64>
    torsor.yield %row : tensor<64xf64>
  } : !torsor.clock<f64, 64>
  // CHECK: torsor.time %[[CUM]] member 3 of %[[I]] : <f64, 64> -> f64
  %member = torsor.time %run member 3 of %i : !torsor.clock<f64, 64> -> f64
  // CHECK: torsor.time %[[CUM]] of %[[I]] : <f64, 64> -> tensor<64xf64>
  %family = torsor.time %run of %i : !torsor.clock<f64, 64> -> tensor<64xf64>
  // CHECK: torsor.ambient{{ +}}value_width : i64
  %v = torsor.ambient value_width : i64
  // CHECK: torsor.ambient{{ +}}score : f64
  %score = torsor.ambient score : f64
  // CHECK: torsor.param "w" ["H", "*"] in -1.000000e+00 to 1.000000e+00 : tensor<?x?xf32>
  %w = torsor.param "w" ["H", "*"] in -1.0 to 1.0 : tensor<?x?xf32>
  // CHECK: torsor.param "o" ["8", "8"] orthogonal : tensor<8x8xf64>
  %o = torsor.param "o" ["8", "8"] orthogonal : tensor<8x8xf64>
  // CHECK: torsor.param "c" ["8", "8"] condition 1.000000e+02 : tensor<8x8xf64>
  %c = torsor.param "c" ["8", "8"] condition 100.0 : tensor<8x8xf64>
  // CHECK: torsor.input "n" per{{ +}}call [] : tensor<i1>
  %n = torsor.input "n" per call [] : tensor<i1>
  // CHECK: torsor.read %{{.*}}[] : (tensor<i1>) -> i1
  %nn = torsor.read %n[] : (tensor<i1>) -> i1
  // CHECK: %[[Q:.*]] = torsor.vector{{ +}}query %[[I]] : tensor<64xf64>
  %q = torsor.vector query %i : tensor<64xf64>
  // CHECK: torsor.dot %[[Q]], %[[Q]] : tensor<64xf64>
  %d = torsor.dot %q, %q : tensor<64xf64>
  // CHECK: %[[LIST:.*]] = torsor.list %{{.*}}, %{{.*}} : i64, i64 -> tensor<2xi64>
  %list = torsor.list %ii, %t : i64, i64 -> tensor<2xi64>
  // CHECK: torsor.element %[[LIST]][%{{.*}}] : tensor<2xi64> -> i64
  %e = torsor.element %list[%ii] : tensor<2xi64> -> i64
  // CHECK: torsor.path_sum after {
  %path = torsor.path_sum after {
  ^bb0(%l: !torsor.token):
    torsor.yield %d : f64
  }
  // CHECK: torsor.sum<4 {
  // CHECK: } : f64
  %sum = torsor.sum < 4 {
  ^bb0(%p: i64):
    torsor.yield %d : f64
  } : f64
  // CHECK: torsor.tabulate {
  // CHECK: } : tensor<3xi64>
  %tab = torsor.tabulate {
  ^bb0(%p: i64):
    torsor.yield %p : i64
  } : tensor<3xi64>
}

// CHECK-LABEL: torsor.scheme @actions
torsor.scheme @actions {
  %i = torsor.token query
  %j = torsor.token key
  %s = torsor.index %i
  %t = torsor.index %j
  %x = arith.constant 0.5 : f64
  %yes = arith.constant true
  %f = arith.constant dense<0.5> : tensor<4xf64>
  %u = arith.constant dense<0.5> : tensor<8xf64>
  %p = torsor.param "p" ["8", "8"] orthogonal : tensor<8x8xf64>
  // CHECK: %[[ZERO:.*]] = torsor.zero : <8>
  %zero = torsor.zero : !torsor.action<8>
  // CHECK: %[[TURN:.*]] = torsor.turn %{{.*}} : tensor<4xf64> -> <8>
  %turn = torsor.turn %f : tensor<4xf64> -> !torsor.action<8>
  // CHECK: %[[DECAY:.*]] = torsor.decay %{{.*}} : <8>
  %decay = torsor.decay %x : !torsor.action<8>
  // CHECK: torsor.jordan %[[DECAY]] order 2 couple %{{.*}} : <8> -> <16>
  %jordan = torsor.jordan %decay order 2 couple %x : !torsor.action<8> -> !torsor.action<16>
  // CHECK: torsor.plane %{{.*}}, %{{.*}}, %{{.*}} : tensor<8xf64>, tensor<8xf64> -> <8>
  %plane = torsor.plane %x, %u, %u : tensor<8xf64>, tensor<8xf64> -> !torsor.action<8>
  // CHECK: torsor.unipotent %{{.*}} : <0>
  %unipotent = torsor.unipotent %x : !torsor.action<0>
  // CHECK: torsor.concat %[[ZERO]], %[[TURN]] : !torsor.action<8>, !torsor.action<8> -> <16>
  %concat = torsor.concat %zero, %turn : !torsor.action<8>, !torsor.action<8> -> !torsor.action<16>
  // CHECK: torsor.product %[[TURN]], %[[DECAY]] : <8>
  %product = torsor.product %turn, %decay : !torsor.action<8>
  // CHECK: torsor.split %[[TURN]] : <8>
  %split = torsor.split %turn : !torsor.action<8>
  // CHECK: torsor.adjacent %[[TURN]] : <8>
  %adjacent = torsor.adjacent %turn : !torsor.action<8>
  // CHECK: torsor.basis %{{.*}} columns %{{.*}} : <8>, tensor<8x8xf64> -> <8>
  %basis = torsor.basis %split columns %p : !torsor.action<8>, tensor<8x8xf64> -> !torsor.action<8>
  // CHECK: torsor.gain %[[TURN]] by %{{.*}} : <8> -> <8>
  %by = torsor.gain %turn by %x : !torsor.action<8> -> !torsor.action<8>
  // CHECK: torsor.gain %[[TURN]] q %{{.*}} : tensor<8xf64> k %{{.*}} : tensor<8xf64> : <8> -> <8>
  %weighted = torsor.gain %turn q %u : tensor<8xf64> k %u : tensor<8xf64> : !torsor.action<8> -> !torsor.action<8>
  // CHECK: %[[AT:.*]] = torsor.at %{{.*}}(q = %{{.*}}, k = %{{.*}}) : <8>, i64, i64
  %at = torsor.at %split(q = %s, k = %t) : !torsor.action<8>, i64, i64
  // CHECK: %[[CHOICE:.*]] = torsor.choose %{{.*}}, %[[AT]], %[[AT]] : <8>
  %choice = torsor.choose %yes, %at, %at : !torsor.action<8>
  // CHECK: torsor.action %[[CHOICE]] : <8>
  torsor.action %choice : !torsor.action<8>
}

// CHECK-LABEL: torsor.scheme @terms
torsor.scheme @terms attributes {value_high = 31 : i64, value_low = 0 : i64} {
  %x = arith.constant 0.5 : f64
  %yes = arith.constant true
  %u = arith.constant dense<0.5> : tensor<8xf64>
  %zero = torsor.zero : !torsor.action<8>
  // CHECK: torsor.value_action %{{.*}} : <8>
  torsor.value_action %zero : !torsor.action<8>
  // CHECK: torsor.scale %{{.*}}
  torsor.scale %x
  // CHECK: torsor.softcap %{{.*}}
  torsor.softcap %x
  // CHECK: torsor.logit %{{.*}}
  torsor.logit %x
  // CHECK: torsor.bias %{{.*}}
  torsor.bias %x
  // CHECK: torsor.sink %{{.*}}
  torsor.sink %x
  // CHECK: torsor.mask %{{.*}}
  torsor.mask %yes
  // CHECK: torsor.value_bias %{{.*}} : tensor<8xf64>
  torsor.value_bias %u : tensor<8xf64>
  // CHECK: torsor.embed %{{.*}} : tensor<8xf64>
  torsor.embed %u : tensor<8xf64>
  // CHECK: torsor.norm{{ +}}rms eps 5.000000e-01 q %{{.*}} : tensor<8xf64> k %{{.*}} : tensor<8xf64>
  torsor.norm rms eps 0.5 q %u : tensor<8xf64> k %u : tensor<8xf64>
  // CHECK: torsor.readout{{ +}}linear beta %{{.*}} over %{{.*}}
  torsor.readout linear beta %x over %x
}

// CHECK: torsor.stack @gemma {{\[\[}}@terms], [@leaves, @actions]]
torsor.stack @gemma [[@terms], [@leaves, @actions]]
