// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The test that tells hidden, partial and visible tiles of pairs apart.
#ifndef TORSOR_CODEGEN_CPU_TILETEST_H
#define TORSOR_CODEGEN_CPU_TILETEST_H

#include "codegen/cpu/Slots.h"

namespace torsor {

/// What is known of a tile of queries and keys: whether some pair may be seen,
/// and whether all are; with branches the least and the greatest of its pairs.
struct TileVerdict {
  Num some, all;
  Num lowBranch, highBranch;
  /// Whether the products of the pairs stand in the scores already; null: not.
  Num isComputed = {};
  /// Whether its positions lie near 0 (NearPairs.h); null: not known.
  Num isNear = {};
};

/// Bounds of indices and slots over the queries, or the keys, of a tile.
struct TileSide {
  Bounds indices;
  llvm::ArrayRef<Bounds> slots;
};

/// Bounds of keys in `tileBoundsWords` words: of the index, then of the slots.
llvm::SmallVector<Bounds> loadKeyBounds(const TileContext &c, Pointer words);

/// Runs the op's region `tile`; without one, a tile is partial.
TileVerdict emitTileTest(const TileContext &c, const TileSide &queries,
                         const TileSide &keys);

/// Says for each row group which panels of the tile it may see
/// (TileContext::tileFirst) and which of them wholly (tileSeen), where the
/// block of all rows and the tile are `partial`. Rows of two documents share a
/// block, keys of two a tile.
void narrowGroups(const TileContext &c, Num groups, Num tile, Num tileEnd,
                  Num partial);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_TILETEST_H
