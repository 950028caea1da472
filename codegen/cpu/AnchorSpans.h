// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far what grows or fades may lie from an anchor, and which keys of a tile
// share one.
#ifndef TORSOR_CODEGEN_CPU_ANCHORSPANS_H
#define TORSOR_CODEGEN_CPU_ANCHORSPANS_H

#include "codegen/cpu/PairRuns.h"

namespace torsor {

/// How far rates may make both sides grow together, in powers of two of a
/// decay; of a chain the reach times the couple.
double allowedGrowth(BlockAttr block);

/// The largest magnitude of the rates or couples of an anchored block of one
/// clock.
Num largestRate(const TileContext &c, const Place &place, BlockAttr block);

/// The largest product of a rate of a family and its distance `apart`, at least
/// 0.
Num mostFaded(const TileContext &c, const Place &place, BlockAttr block,
              llvm::function_ref<Num(Num member)> apart);

/// Whether keys from anchors `first` to anchors `last` fade so little that the
/// last serves all of them: then no pass over the rows is needed between.
Num canShareAnchor(const TileContext &c, const Place &place,
                   llvm::ArrayRef<BlockAttr> blocks, Pointer first,
                   Pointer last);

/// Whether all keys of a packed tile have one anchor.
Num sharesAnchor(const TileContext &c, Num tile, Num tileEnd);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_ANCHORSPANS_H
