// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that grow or fade, in the tiles of prefill: their times are taken from
// an anchor of the key tile.
#ifndef TORSOR_CODEGEN_CPU_ANCHORS_H
#define TORSOR_CODEGEN_CPU_ANCHORS_H

#include "codegen/cpu/QueryRows.h"

namespace torsor {

/// The anchored blocks of a kernel and the rows of one block.
///
/// Keys are packed with exp((t - a) X), a being the time of the tile's last
/// key. The rows are acted on with exp((r - s) X), r being the time of the
/// first of them, and for each tile with exp((a - r) X), which is one factor
/// for each lane. Where all queries are at a or behind it all sides fade. Where
/// they are not one grows; that is borne as long as it stays small. Else the
/// products of the tile are computed key by key: from r for keys that lie
/// before it, from the first row of a register tile, or from each query.
class Anchors {
public:
  Anchors(const TileContext &c, const Indices &indices, const Tensor &k,
          RowBlock rows, llvm::ArrayRef<Bounds> rowBounds, Num used);

  /// Acts on the rows for the tile of the keys tile … tileEnd-1, or computes
  /// its products into the scores; gives whether it did the latter.
  Num emit(Num tile, Num tileEnd, Num groups) const;
  /// The rows as acted on.
  Pointer rows() const { return c.anchoredQueries; }

private:
  Pointer relative(Num row) const {
    return c.anchoredQueries + (row + c.layout.rows) * c.layout.head;
  }
  Pointer anchorsOf(Num tile) const;
  Num largestRate(BlockAttr block) const;
  Num isUnsafe(Num tile) const;
  Num growth(BlockAttr block, Num largest, Num tile) const;
  Num familyGrowth(BlockAttr block, Num tile) const;

  /// The times of a row as anchors.
  void emitRowAnchors(Num row, Pointer anchors) const;
  /// What fades on row `row` of q since the anchors.
  void emitQuery(Num row, Pointer anchors, Pointer to) const;
  /// The key acted on, what fades since the anchors.
  void emitKey(Num number, Pointer anchors, Pointer to) const;
  /// Is the key at the anchors or before them, by every clock, and so is what
  /// they stand for at or before the rows?
  Num isBefore(Num number, Pointer anchors) const;
  Num dot(Pointer a, Pointer b) const;
  void emitRows(Num tile) const;
  void emitProducts(Num tile, Num tileEnd, Num groups) const;
  void emitGroup(Num tile, Num group, Pointer acted) const;

  const TileContext &c;
  Emitter &e;
  const Indices &indices;
  const Tensor &k;
  RowBlock block;
  llvm::ArrayRef<Bounds> rowBounds;
  Num used;
  llvm::ArrayRef<BlockAttr> blocks;
  Nums largest;  // rate or couple of each anchored block
  Pointer first; // the times of the first row
  Num isSorted;  // no row is before it
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_ANCHORS_H
