// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the attention kernels keep what, and how they are cut into tiles.
#ifndef TORSOR_CODEGEN_CPU_TILELAYOUT_H
#define TORSOR_CODEGEN_CPU_TILELAYOUT_H

#include "codegen/cpu/Contents.h"
#include "codegen/cpu/Forms.h"
#include "codegen/cpu/InPlaceValues.h"
#include "codegen/cpu/Ranges.h"

namespace torsor {

/// `value`, or the next multiple of `unit` above it.
inline int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Columns of v that one register tile covers: `vectors` vectors each, `count`
/// of them in a row, the first at vector `first`.
struct ValuePanels {
  int64_t first, count, vectors;
};

/// The cut of an attention kernel. A row block is `rows` rows, the queries of
/// all heads of a group, query by query; a key tile is `keys` keys.
struct TileLayout {
  TileLayout(AttentionOp op, const Target &target);

  Forms forms;
  /// Words of the anchors of a stretch of keys, 0 where nothing grows or fades;
  /// keys of a stretch, and stretches of a tile.
  int64_t anchors, anchorKeys, anchorStretches;
  int64_t lanes, rowTile, panel; // panel: keys of a packed panel
  int64_t rows, keys, head, value;
  /// Keys differ between the query heads of a group: each head has its own.
  bool byHead;
  /// They do, but are acted on for each head where they are read: decode.
  bool actsByHead;
  /// Keys are the same for the heads of a group, but their slots are not.
  bool slotsByHead;
  /// q, k, the weights and v meet as pairs of bf16 (BfloatPairs.h).
  bool pairs;
  /// Words of 4 bytes of a packed row of q or k: f32, or pairs of bf16.
  int64_t headWords;
  int64_t valueVectors; // vectors of a row of v, the last one padded
  llvm::SmallVector<ValuePanels, 2> valuePanels;
  llvm::SmallVector<mlir::Type> rowSlots, columnSlots;
  int64_t visibleRanges, fullRanges;
  /// Products of vectors with tables that pairs read; a sum over each path.
  llvm::SmallVector<ProductTable, 2> products;
  int64_t paths;
  /// Rows of the table that is added to values, 0 without one.
  int64_t valueRows;
  /// Regions read the vectors of tokens, which are kept in f32.
  bool readsQueries, readsKeys;

  int64_t groups() const { return rows / rowTile; }
  int64_t valueWidth() const { return valueVectors * lanes; }
  /// i64 words of a row group: its ranges, then the keys of the tile that are
  /// all seen (narrowGroups), and its first and last key.
  int64_t groupWords() const { return 2 * (visibleRanges + fullRanges) + 4; }
  /// Type of a slot in memory: i1 is kept as i32.
  static mlir::Type storedSlot(mlir::Type slot);

  // Byte offsets into the scratch memory of a worker.
  int64_t anchoredQueries; // the rows for one key tile
  int64_t branchScores;    // of one branch, where some branch fades
  int64_t queries, scores, outputs, rowMax, rowSum, maxima, alphas, indices,
      rowTokens, groupRanges, slots, slotBytes, scratchBytes;
  int64_t rowHeads, contents, queryProducts, pathSums, valueWeights;
  int64_t keyRows, keyContents; // of the keys that are being packed

  /// What a packed row of q or k holds.
  mlir::Type packedElement(Emitter &e) const { return pairs ? e.bf16 : e.f32; }
  int64_t packedHead() const { return pairs ? 2 * headWords : headWords; }
  /// Keys that one word of a packed value, or of a weight, stands for.
  int64_t keysPerWord() const { return pairs ? 2 : 1; }
  /// Key runs of a sequence: one for each group, or for each query head.
  Num runs(const Call &call) const { return byHead ? call.heads : call.groups; }
  Num headsPerRun(const Call &call) const {
    return byHead ? call.heads.e->index(1) : call.heads / call.groups;
  }
  /// Says group and first head of a key run.
  void setRun(Place &place, const Call &call, Num run) const {
    place.head = run * headsPerRun(call);
    place.group = byHead ? run / (call.heads / call.groups) : run;
  }
  /// Keys of a sequence, filled up to whole panels.
  Num paddedKeys(Num keys) const { return alignUp(keys, panel); }
  Num tiles(Num keyCount) const { return ceilDiv(keyCount, keys); }
  /// Workspace of one group of a sequence: packed keys, packed values, key
  /// indices, column slots, and low and high of each per key tile.
  Num groupBytes(const Call &call, Num keyCount) const;
  /// Heads that have column slots of their own in a key run.
  Num slotHeads(const Call &call) const {
    return slotsByHead ? headsPerRun(call) : call.heads.e->index(1);
  }
  /// Where the anchors of the stretch that begins at `key` lie among all.
  Num anchorsAt(Num key) const {
    return (key / keys * anchorStretches + key % keys / anchorKeys) * anchors;
  }
  int64_t tileBoundsWords() const { return 2 * (columnSlots.size() + 1); }
};

class NearPairs;
class PairRuns;
struct PairArguments;

/// Everything that code inside a tile needs.
struct TileContext {
  Emitter &e;
  const Kernel &kernel;
  AttentionOp op;
  const TileLayout &layout;
  const TableReader &tables;
  Place place; // sequence and group; head, token by row
  Num keyCount, padded;

  // Packed keys and values, of the whole group or of the tile at hand. Pointers
  // but `values` are those of key 0, which need not be there.
  Pointer keys, values, keyIndices, tileBounds, tileAnchors;
  Num firstPacked;
  /// Whether a block of rows packs the tiles that it meets; whether it does,
  /// and their rows lie one behind the other.
  Num packsInBlock, packsInOrder;
  CallersRows callersKeys, callersValues;
  Pointer anchoredQueries, branchScores;
  Num valuesInPlace; // areValuesInPlace
  llvm::SmallVector<Pointer> columnSlots;
  /// With slots by head, those of a head lie so many behind those of the one
  /// before it; `slotsByRow`: those of each row.
  Num slotStride;
  bool slotsByRow = false;
  // Scratch.
  Pointer queries, scores, outputs, rowMax, rowSum, maxima, alphas, indices,
      rowTokens, groupRanges;
  llvm::SmallVector<Pointer> rowSlots;
  /// Heads of the rows; vectors of rows, or of the keys being loaded; products
  /// by table, a row after the other; sums over paths, [path][row]; weights by
  /// row of the table of values, [row][valueRows].
  Pointer rowHeads, contents, pathSums, valueWeights;
  llvm::SmallVector<Pointer> products;
  /// Starts by age (BiasTable.h), entries of a head's row, and whether they
  /// hold in this call; null without a table.
  Pointer biasTable;
  Num biasEntries, biasHolds;
  /// Number of the key that the pair regions' key 0 stands for.
  Num firstKey;
  /// Narrower pair regions, and whether they hold in the tile; null: none.
  const NearPairs *near = nullptr;
  Num isNear;
  /// Whether indices run on from the first, and positions are the indices;
  /// null: not known. `runs`: what then holds of the pairs.
  Num runsOn;
  const PairRuns *runs = nullptr;
  /// What pairs of a query and a vector of keys share, read beforehand; null:
  /// each pair reads its own.
  const PairArguments *shared = nullptr;
  /// The keys that the rows meet, before the last; null: all that they see.
  Num keysFrom, keysTo;

  /// Where key `number` lies in the packed values of a panel of columns.
  Pointer packedValues(Num column, Num number, int64_t panelWidth) const {
    return values + (padded * column + (number - firstPacked) * panelWidth) /
                        layout.keysPerWord();
  }

  /// Elements from row to row of `queries`, of `packedElement`.
  int64_t queryStride = layout.packedHead();
  /// Row `row` of q in form `form`.
  Pointer queryRow(int64_t form, Num row) const {
    return queries.as(layout.packedElement(e)) +
           (row + form * layout.rows) * queryStride;
  }
  /// Packed keys in form `form`.
  Pointer keyForm(int64_t form) const {
    return keys + padded * (form * layout.headWords);
  }

  /// The slots `slot` of the keys, as row `row` sees them.
  Pointer columnSlot(int64_t slot, Num row) const {
    if (!layout.slotsByHead)
      return columnSlots[slot];
    Num head = slotsByRow ? row : rowHeads.load(row) - place.head;
    return columnSlots[slot] + head * slotStride;
  }

  /// Sets the pointers to packed keys: `room` keys from key 0 on lie at `base`.
  void placePacked(const Call &call, Pointer base, Num room);
  /// Takes the packed keys of `other`, whose memory holds those that are
  /// `later` keys, whole tiles, further on.
  void takePacked(const TileContext &other, Num later);
  void placeScratch(Pointer scratch);

  int64_t lanes() const { return layout.lanes; }
  const Target &target() const { return *kernel.target; }
  /// Word `word` of row group `group`.
  Pointer groupWord(Num group, int64_t word) const {
    return groupRanges + (group * layout.groupWords() + word);
  }
  Pointer tileSeen(Num group) const {
    return groupWord(group, layout.groupWords() - 4);
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
