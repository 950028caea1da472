// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that grow or fade, in the tiles of prefill: their times are taken from
// an anchor of the key tile.
#ifndef TORSOR_CODEGEN_CPU_ANCHORS_H
#define TORSOR_CODEGEN_CPU_ANCHORS_H

#include "codegen/cpu/QueryRows.h"

namespace torsor {

/// The anchored blocks of a kernel and the rows of one block.
///
/// Keys are packed with exp((t - a) X), a being the time of the last key of a
/// stretch of the tile, or of the tile where that fades slowly (AnchorSpans.h).
/// The rows are acted on with exp((r - s) X), r being the time of the first of
/// them, and for each stretch with exp((a - r) X), which is one factor for each
/// lane. Where all queries are at a or behind it all sides fade. Where they are
/// not one grows; that is borne as long as it stays small. Else the rows are
/// acted on with exp((a - s) X) at once, if times are those of the tokens and
/// no row sees a key behind it: what is seen then grows no further than along
/// the stretch. Else the products are computed key by key: from r for keys that
/// lie before it, from the first row of a register tile, or from each query.
class Anchors {
public:
  /// For branch `branch` of the action.
  Anchors(const TileContext &c, const Indices &indices, const Tensor &k,
          RowBlock rows, llvm::ArrayRef<Bounds> rowBounds, Num used,
          int64_t branch = 0);

  /// Acts on the rows for the keys begin … end-1 of a tile, a stretch of it, or
  /// computes their products into the scores; gives whether it did the latter.
  Num emit(Num tile, Num begin, Num end, Num groups) const;
  /// Computes the products of the keys begin … end-1 of a tile into the scores.
  void emitProducts(Num tile, Num begin, Num end, Num groups) const;
  /// The rows as acted on.
  Pointer rows() const { return c.anchoredQueries; }

private:
  Pointer query(Num row) const {
    return c.queryRow(c.layout.forms.branches[branch].query, row);
  }
  Pointer relative(Num row) const {
    return c.anchoredQueries +
           (row + (branch + 1) * c.layout.rows) * c.layout.head;
  }
  Pointer anchorsOf(Num begin) const;
  Num isUnsafe(Num begin) const;
  Num growth(BlockAttr block, Num largest, Num begin) const;
  Num familyGrowth(BlockAttr block, Num begin) const;
  /// Least and greatest time of the stretch's keys.
  Bounds keyTimes(BlockAttr block, Num begin) const;
  /// Whether the block's times are those of the tokens: indices or positions.
  bool isTokenTime(BlockAttr block) const;
  /// Whether a row sees no key behind it, as far as masks tell.
  bool isCausal() const;
  /// Whether the rows can be acted on from the stretch's anchors at once; null:
  /// never.
  Num isNear(Num begin) const;

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
  void emitRows(Num begin) const;
  void emitNearRows(Num begin, Num end, Num groups) const;
  void emitGroup(Num tile, Num begin, Num end, Num group, Pointer acted) const;

  const TileContext &c;
  Emitter &e;
  const Indices &indices;
  const Tensor &k;
  RowBlock block;
  llvm::ArrayRef<Bounds> rowBounds;
  Num used;
  int64_t branch;
  llvm::ArrayRef<BlockAttr> blocks;
  Nums largest;  // rate or couple of each anchored block
  Pointer first; // the times of the first row
  Num isSorted;  // no row is before it
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_ANCHORS_H
