// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements from anywhere as a vector.
#ifndef TORSOR_CODEGEN_CPU_GATHER_H
#define TORSOR_CODEGEN_CPU_GATHER_H

#include "codegen/cpu/Emitter.h"

namespace torsor {

/// Elements `indices` (a vector of integers) of `from`: by the instruction
/// where there is one for sixteen lanes, else one after another.
Num gather(Pointer from, Num indices);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_GATHER_H
