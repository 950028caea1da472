// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface of operations that are a block of an action.
#ifndef TORSOR_GENERATOR_TD
#define TORSOR_GENERATOR_TD

include "mlir/IR/OpBase.td"

def Torsor_Generator : OpInterface<"Generator"> {
  let description = [{
    A block with a generator X: it scores q^T exp(delta X) k, where delta is the
    key's time minus the query's.
  }];
  let cppNamespace = "::torsor";
  let methods = [
    InterfaceMethod<"Lanes that the block acts on.", "int64_t", "lanes">,
    InterfaceMethod<"Is X skew, so that exp(delta X) is an isometry?", "bool",
                    "isSkew">,
    InterfaceMethod<"Index of the nilpotent part of X; 1: diagonalisable.",
                    "int64_t", "nilpotentOrder">,
    InterfaceMethod<"Is exp(delta X) bounded for all delta <= 0 (past keys)?",
                    "bool", "boundedOnPast">,
    InterfaceMethod<"Is exp(delta X) bounded for all delta >= 0?", "bool",
                    "boundedOnFuture">,
    InterfaceMethod<"Is X a multiple of the identity on its lanes?", "bool",
                    "isScalar">,
    InterfaceMethod<"Is X made of complex scalars aI + bJ on its pairs?",
                    "bool", "isComplexScalar">,
  ];
}

#endif
