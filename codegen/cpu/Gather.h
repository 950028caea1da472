// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements from anywhere as a vector.
#ifndef TORSOR_CODEGEN_CPU_GATHER_H
#define TORSOR_CODEGEN_CPU_GATHER_H

#include "codegen/cpu/Emitter.h"

namespace torsor {

/// Elements `indices` (a vector of integers) of `from`: by the instruction
/// where there is one for sixteen lanes, else one after another.
Num gather(Pointer from, Num indices);

/// What the vector `indices` picks: `one` gives the element of its first where
/// all are the same, `each` those of different ones, given how far before the
/// first each index is.
Num pickOneOrEach(Num indices, llvm::function_ref<Num(Num)> one,
                  llvm::function_ref<Num(Num)> each);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_GATHER_H
