// RUN: torsor-opt %s --split-input-file --torsor-form-kernels | FileCheck %s

// Lanes of the key that nothing moves: the cached key lies acted on, and holds
// the value. There is no stream for v.

// CHECK-LABEL: func.func @latent.prefill
// CHECK: torsor.attention
// CHECK: value_low = 1 : i64
// CHECK-NOT: values_acted
// CHECK-LABEL: func.func @latent.append
// CHECK: value_in_key
// CHECK: torsor.interface @latent
// CHECK-SAME: contract = "head 4 value key[1 .. 1] k f32 keys acted action
// CHECK-SAME: keys_acted
// CHECK-SAME: streams = [#torsor.field<name = "k"{{[^<]*}}>, #torsor.field<name = "index"
// CHECK-SAME: value_in_key
torsor.scheme @latent head(4) attributes {value_low = 1 : i64, value_high = 1 : i64} {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %z = torsor.zero : !torsor.action<2>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %x = torsor.concat %z, %a : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  torsor.action %x : !torsor.action<4>
}

// -----

// The action moves them: the key lies as it comes.

// CHECK-LABEL: func.func @moved.prefill
// CHECK: value_low = 1 : i64
// CHECK: torsor.interface @moved
// CHECK-SAME: contract = "head 4 value key[1 .. 2] k f32 keys raw action
// CHECK-NOT: keys_acted
torsor.scheme @moved head(4) attributes {value_low = 1 : i64, value_high = 2 : i64} {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %z = torsor.zero : !torsor.action<2>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %x = torsor.concat %z, %a : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  torsor.action %x : !torsor.action<4>
}

// -----

// The same action on values: what lies in the cache is the acted value.

// CHECK-LABEL: func.func @alike.prefill
// CHECK: value_low = 2 : i64, values_acted
// CHECK: torsor.interface @alike
// CHECK-SAME: keys_acted
torsor.scheme @alike head(4) attributes {value_low = 2 : i64, value_high = 3 : i64} {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %z = torsor.zero : !torsor.action<2>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %x = torsor.concat %z, %a : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  torsor.action %x : !torsor.action<4>
  torsor.value_action %a : !torsor.action<2>
}

// -----

// Another frequency: raw.

// CHECK-LABEL: func.func @unlike.prefill
// CHECK-NOT: values_acted
// CHECK: torsor.interface @unlike
// CHECK-NOT: keys_acted
torsor.scheme @unlike head(4) attributes {value_low = 2 : i64, value_high = 3 : i64} {
  %f = arith.constant dense<0.5> : tensor<1xf64>
  %g = arith.constant dense<0.25> : tensor<1xf64>
  %z = torsor.zero : !torsor.action<2>
  %r = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
  %a = torsor.adjacent %r : !torsor.action<2>
  %x = torsor.concat %z, %a : !torsor.action<2>, !torsor.action<2> -> !torsor.action<4>
  torsor.action %x : !torsor.action<4>
  %s = torsor.turn %g : tensor<1xf64> -> !torsor.action<2>
  %b = torsor.adjacent %s : !torsor.action<2>
  torsor.value_action %b : !torsor.action<2>
}
