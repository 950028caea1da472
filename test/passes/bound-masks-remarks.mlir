// RUN: torsor-opt %s --torsor-bound-masks %remarks -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

torsor.scheme @documents {
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %pos = torsor.clock "pos" : !torsor.clock<i32>
  %s = torsor.time %pos of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %pos of %j : !torsor.clock<i32> -> i64
  %doc = torsor.input "doc" per token [] : tensor<?xi32>
  %di = torsor.read %doc[%i] : (tensor<?xi32>, !torsor.token) -> i64
  %dj = torsor.read %doc[%j] : (tensor<?xi32>, !torsor.token) -> i64
  %c = arith.cmpi sle, %t, %s : i64
  // CHECK: bound-masks-remarks.mlir:[[# @LINE + 1]]:8: remark: [Missed] MaskNotBounded
  %e = arith.cmpi eq, %di, %dj : i64
  %m = arith.andi %c, %e : i1
  // CHECK: bound-masks-remarks.mlir:[[# @LINE + 1]]:3: remark: [Passed] MaskByPosition
  torsor.mask %m
}
