// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Actions of several factors, step by step on a row in f32.
#ifndef TORSOR_CODEGEN_CPU_ACTSTEPS_H
#define TORSOR_CODEGEN_CPU_ACTSTEPS_H

#include "codegen/cpu/Act.h"

namespace torsor {

/// Whether blocks meet on a lane, or are more than gains and turns.
bool needsSteps(llvm::ArrayRef<BlockAttr> blocks, int64_t width);

/// One block on a row of f32, in place: decay, jordan, plane or basis.
void emitStep(Emitter &e, int64_t lanes, const Action &action, BlockAttr block,
              const TableReader &tables, const Place &place, Pointer row);

/// What a chain's couples come to since the anchor, for each chain.
void emitCouplings(Emitter &e, int64_t lanes, const Action &action,
                   BlockAttr block, const TableReader &tables,
                   const Place &place, Pointer to);

/// Whether a block must be taken from a near anchor.
bool isAnchored(llvm::ArrayRef<BlockAttr> blocks);

/// Anchors lie one behind the other, in words of 8 bytes: the times of each
/// anchored block, one, or one for each pair of a family.
int64_t anchorWords(llvm::ArrayRef<BlockAttr> blocks);
Pointer anchorOf(llvm::ArrayRef<BlockAttr> blocks, BlockAttr block,
                 Pointer anchors);

/// Stores the times of a token as anchors. `onQuery`: it is a query's.
void emitAnchors(Emitter &e, llvm::ArrayRef<BlockAttr> blocks, bool onQuery,
                 llvm::function_ref<Num(int64_t)> time,
                 const TableReader &tables, const Place &place,
                 Pointer anchors);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_ACTSTEPS_H
