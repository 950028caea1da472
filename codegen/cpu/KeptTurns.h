// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Phases that several rows have in common.
#ifndef TORSOR_CODEGEN_CPU_KEPTTURNS_H
#define TORSOR_CODEGEN_CPU_KEPTTURNS_H

#include "codegen/cpu/Emitter.h"
#include "codegen/cpu/Spec.h"

namespace torsor {

/// cos and sin of a token's phases, kept for the rows that share them: the
/// heads of a query. `isFresh`: the row's are computed and kept, else read.
struct KeptTurns {
  Pointer words; // f32, two for each pair
  Num isFresh;
};

/// Pairs that blocks turn.
int64_t countTurns(llvm::ArrayRef<BlockAttr> blocks);

/// Whether all heads of a token turn by the same phases: rates without heads,
/// and times that are its index or its position, as the region `slots` of the
/// side's tokens yields them.
bool shareTurns(mlir::Region &slots, const Kernel &kernel,
                llvm::ArrayRef<BlockAttr> blocks, bool onQuery);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_KEPTTURNS_H
