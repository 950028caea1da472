// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of row-major keys and values against the rows of a decode block.
#ifndef TORSOR_CODEGEN_CPU_DECODECHUNK_H
#define TORSOR_CODEGEN_CPU_DECODECHUNK_H

#include "codegen/cpu/Act.h"
#include "codegen/cpu/DecodeLayout.h"
#include "codegen/cpu/TileTest.h"

namespace torsor {

/// What the chunks of a split share: where its keys lie, and what acts on them.
struct DecodeSplit {
  Emitter &e;
  const DecodeTile &tile;
  const DecodeScratch &at;
  Pointer scratch;
  llvm::ArrayRef<BlockAttr> blocks;
  const Indices &indices;
  Tensor k, v;
  Num isActed;
  Num begin, end;                        // keys, by number within the run
  llvm::ArrayRef<BlockAttr> valueBlocks; // what acts on v
  Num asks;                              // whether to ask for keys beforehand

  /// Writes the addresses of the rows of k and v, from those of `begin` to
  /// those of the chunk behind `end`; the last key stands for those behind it.
  void emitAddresses(const TileContext &c) const;
  /// Whether a row of k, and so of q, is summed as evens and odds; a row of v,
  /// and so the outputs (in the columns of whole tiles).
  bool keysInPairs(const TileLayout &layout) const;
  bool valuesInPairs() const;
  /// Brings the outputs back into their order.
  void emitInOrder(const TileContext &c, Num rows) const;
  /// Row `number` of the split.
  Pointer keyRow(Num number) const { return rowAt(at.keyRows, k, number); }
  Pointer valueRow(Num number) const {
    Pointer row = rowAt(at.valueRows, v, number);
    return actedValues().empty() ? row : row.as(e.f32);
  }

private:
  llvm::ArrayRef<BlockAttr> actedValues() const { return valueBlocks; }
  /// Acts on the rows of v; their addresses are then those of the scratch.
  void emitActedValues(const TileContext &c) const;
  Pointer rowAt(int64_t list, const Tensor &tensor, Num number) const {
    Num address = scratch.bytes(list).as(e.pointer).load(number);
    return {address, tensor.data.element};
  }
};

/// Where the rows of a chunk's keys lie: `list` holds an address for each, up
/// to whole vectors of keys.
struct KeyRows {
  Pointer list;
  mlir::Type element;

  Pointer row(Num number) const { return {list.load(number), element}; }
};

/// A chunk: the keys first … first + count - 1 of the run. Slots and indices of
/// `c` are those of the chunk, by number within it.
struct DecodeChunk {
  const TileContext &c;
  const DecodeSplit &split;
  Num rows, first, count;

  /// Indices and slots of the chunk's keys; gives their bounds, the indices'
  /// first, if the op tests tiles.
  llvm::SmallVector<Bounds> emitColumns() const;
  /// Whether something reads what emitColumns writes.
  Num needsColumns(Num partial) const;
  /// Scores of all rows, with `partial` also masked.
  void emitScores(Num partial) const;
  /// Adds the terms of path sums of all keys to c.pathSums.
  void emitPathTotals() const;
  /// Maxima, alphas, weights and row sums.
  void emitWeights() const;
  /// outputs = alpha * outputs + weights * values.
  void emitOutputs() const;

private:
  Place place(Num number) const;
  /// Number within the split of key `number` of the chunk.
  Num inSplit(Num number) const { return first - split.begin + number; }
  /// The rows as they lie in the cache.
  KeyRows cachedRows() const;
  /// Acts on the chunk's keys, into form `form`; where the rows then lie goes
  /// to `rows`.
  void emitActedKeys(int64_t form, const KeyRows &rows) const;
  /// Products of rows and keys in one form of each.
  void emitForm(int64_t query, int64_t key) const;
  /// Products of pairs in branches, each in its own.
  void emitBranches() const;
  /// Products of all pairs.
  void emitAllForms() const;
  llvm::SmallVector<Num, 2> branchBounds() const;
  void emitDots(Num firstRow, int64_t rowCount, Num block,
                const KeyRows &keys) const;
  void emitProducts(const KeyRows &keys) const;
  void emitMask() const;
  void emitBias(Num row, Num key, Num partial) const;
  void emitBiases(Num partial) const;
  Num isSeen(Num row, Num key) const;
  /// Hides what the row does not see.
  void maskScores(Num row, Num key, Num &score) const;

  /// Asks for lines of the next chunk's rows of k and v, a line of each stretch
  /// in turn, each in the order of their addresses: the two passes over this
  /// chunk's keys ask for one half each. A tile of `keys` keys at `number` asks
  /// for its share, or for piece `piece` of `pieces` of that.
  void emitAsk(Num number, int64_t keys, bool inValues, Num piece,
               int64_t pieces) const;

  void emitKept() const;
  Num outputsAreFinite() const;
  void emitSums(bool onlySeen) const;
  void emitValueTile(Num key, Num column, int64_t vectors, int64_t tail,
                     bool onlySeen) const;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_DECODECHUNK_H
