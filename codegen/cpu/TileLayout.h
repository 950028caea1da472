// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the attention kernels keep what, and how they are cut into tiles.
#ifndef TORSOR_CODEGEN_CPU_TILELAYOUT_H
#define TORSOR_CODEGEN_CPU_TILELAYOUT_H

#include "codegen/cpu/Ranges.h"
#include "codegen/cpu/Regions.h"

namespace torsor {

/// Columns of v that one register tile covers: `vectors` vectors each, `count`
/// of them in a row, the first at vector `first`.
struct ValuePanels {
  int64_t first, count, vectors;
};

/// The cut of an attention kernel. A row block is `rows` rows, the queries of
/// all heads of a group, query by query; a key tile is `keys` keys.
struct TileLayout {
  TileLayout(AttentionOp op, const Target &target);

  int64_t lanes, rowTile, panel; // panel: keys of a packed panel
  int64_t rows, keys, head, value;
  int64_t valueVectors; // vectors of a row of v, the last one padded
  llvm::SmallVector<ValuePanels, 2> valuePanels;
  llvm::SmallVector<mlir::Type> rowSlots, columnSlots;
  int64_t visibleRanges, fullRanges;

  int64_t groups() const { return rows / rowTile; }
  int64_t valueWidth() const { return valueVectors * lanes; }
  /// i64 words of a row group: its ranges, then first and last key of the tile.
  int64_t groupWords() const { return 2 * (visibleRanges + fullRanges) + 2; }
  /// Type of a slot in memory: i1 is kept as i32.
  static mlir::Type storedSlot(mlir::Type slot);

  // Byte offsets into the scratch memory of a worker.
  int64_t queries, scores, outputs, rowMax, rowSum, maxima, alphas, indices,
      rowTokens,
      groupRanges, slots, slotBytes, scratchBytes;

  /// Keys of a sequence, filled up to whole panels.
  Num paddedKeys(Num keys) const { return alignUp(keys, panel); }
  Num tiles(Num keyCount) const { return ceilDiv(keyCount, keys); }
  /// Workspace of one group of a sequence: packed keys, packed values, key
  /// indices, column slots, and low and high of each per key tile.
  Num groupBytes(Emitter &e, Num keyCount) const;
  int64_t tileBoundsWords() const { return 2 * (columnSlots.size() + 1); }
};

/// Everything that code inside a tile needs.
struct TileContext {
  Emitter &e;
  const Kernel &kernel;
  AttentionOp op;
  const TileLayout &layout;
  const TableReader &tables;
  Place place; // sequence and group; head, token by row
  Num keyCount, padded;

  // Workspace of the group.
  Pointer keys, values, keyIndices, tileBounds;
  llvm::SmallVector<Pointer> columnSlots;
  // Scratch.
  Pointer queries, scores, outputs, rowMax, rowSum, maxima, alphas, indices,
      rowTokens,
      groupRanges;
  llvm::SmallVector<Pointer> rowSlots;
  /// Number of the key that the pair regions' key 0 stands for.
  Num firstKey;

  /// Elements from row to row of `queries`.
  int64_t queryStride = layout.head;

  /// Sets the pointers into the workspace from the group's first byte.
  void placeGroup(Pointer base);
  void placeScratch(Pointer scratch);

  int64_t lanes() const { return layout.lanes; }
  const Target &target() const { return *kernel.target; }
  /// Word `word` of row group `group`.
  Pointer groupWord(Num group, int64_t word) const {
    return groupRanges + (group * layout.groupWords() + word);
  }
  Pointer tileFirst(Num group) const {
    return groupWord(group, layout.groupWords() - 2);
  }
};

/// A finite score below every other: a hidden key.
inline constexpr double hiddenScore = -1e30;
/// Where the running maximum starts: above hiddenScore, so that hidden keys of
/// a row that has seen no other weigh nothing.
inline constexpr double lowestMaximum = -5e29;

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_TILELAYOUT_H
