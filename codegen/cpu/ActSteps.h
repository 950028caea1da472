// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Actions of several factors, step by step on a row in f32.
#ifndef TORSOR_CODEGEN_CPU_ACTSTEPS_H
#define TORSOR_CODEGEN_CPU_ACTSTEPS_H

#include "codegen/cpu/Act.h"

namespace torsor {

/// The lanes of a block, and lane number n, in its own order.
int64_t countLanes(BlockAttr block);
Num laneOf(BlockAttr block, Num n);

/// Whether a turn is made together with one before it, of the same pairs.
bool isMergedTurn(llvm::ArrayRef<BlockAttr> blocks, BlockAttr block);

/// Whether blocks meet on a lane, or are more than gains and turns; `merges`:
/// turns of the same pairs are one.
bool needsSteps(llvm::ArrayRef<BlockAttr> blocks, int64_t width,
                bool merges = false);

/// Steps over `count` pairs, `step` at a time, then halves of that, and the
/// last few one by one.
void forPairs(Emitter &e, int64_t count, int64_t step,
              llvm::function_ref<void(Num, int64_t)> body);

/// One block on a row of f32, in place: decay, jordan, plane or basis.
void emitStep(Emitter &e, int64_t lanes, const Action &action, BlockAttr block,
              const TableReader &tables, const Place &place, Pointer row);

/// What a turn, decay or chain acts with at the action's time, pair by pair, in
/// f32: all cosines and then all sines, the factors since the anchor, or what
/// couples come to since then.
void emitFactors(Emitter &e, int64_t lanes, const Action &action,
                 BlockAttr block, const TableReader &tables, const Place &place,
                 Pointer to);
/// The factors of a decay since its anchor, of the pairs p … p + lanes - 1.
Num emitFactor(Emitter &e, const Action &action, BlockAttr block,
               const TableReader &tables, const Place &place, Num p,
               int64_t lanes);
/// How many of them there are: 0 of other blocks.
int64_t countFactors(BlockAttr block);

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
