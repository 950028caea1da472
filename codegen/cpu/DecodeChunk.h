// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of row-major keys and values against the rows of a decode block.
#ifndef TORSOR_CODEGEN_CPU_DECODECHUNK_H
#define TORSOR_CODEGEN_CPU_DECODECHUNK_H

#include "codegen/cpu/Act.h"
#include "codegen/cpu/DecodeLayout.h"
#include "codegen/cpu/DecodeSteps.h"
#include "codegen/cpu/Phase.h"
#include "codegen/cpu/TileTest.h"

#include <functional>

namespace torsor {

/// Products of each key with vectors of tables that columns read: they are made
/// as the products with q are.
///
/// So are those with the two vectors e1, e2 of a plane that turns keys: with
/// its angle t rate, c = cos - 1 and s = sin
///
///     <q, R k> = <q, k> + <q, e1> (c <e1, k> - s <e2, k>)
///                       + <q, e2> (s <e1, k> + c <e2, k>)
struct KeyDots {
  KeyDots(AttentionOp op, const Kernel &kernel, const TileLayout &layout);

  struct Dot {
    RowDotOp op; // null: vector `row` of the plane
    const Table *table;
    int64_t row;
    bool byHead;
  };
  llvm::SmallVector<Dot, 2> dots;
  BlockAttr plane; // null: none, or it is not taken so
  size_t planeDots = 0;
  bool isNormed;     // keys have a norm before them
  bool readsVectors; // beside these something reads the vectors of keys
};

/// What the chunks of a split share: where its keys lie, and what acts on them.
struct DecodeSplit {
  Emitter &e;
  const DecodeTile &tile;
  const DecodeScratch &at;
  Pointer scratch;
  llvm::ArrayRef<BlockAttr> blocks;
  const KeySteps &steps;
  const KeyDots &dots;
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
  /// The rows of q from the chunk's anchors, as `keys` of a branch ask for.
  void emitStepQueries(const TileContext &c, int64_t branch, Num rows) const;
  Pointer stepsAt() const { return scratch.bytes(at.steps); }
  /// The vectors of `dots` for the heads of `rows` rows.
  void emitDotRows(const TileContext &c, Num rows) const;
  Pointer dotRows(const TileContext &c, int64_t dot) const;
  /// Their products with a chunk, by row.
  Pointer dotScores(const TileContext &c, int64_t dot) const;
  /// Brings the outputs back into their order.
  void emitInOrder(const TileContext &c, Num rows) const;
  /// Row `number` of the split.
  Pointer keyRow(Num number) const { return rowAt(at.keyRows, k, number); }
  Pointer valueRow(Num number) const { return rowAt(at.valueRows, v, number); }

private:
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

/// Where products take keys from: vectors of columns at a time, in f32.
struct KeySource {
  struct Key {
    Pointer row;
    llvm::SmallVector<Pointer, 2> tables; // of what acts on it
    std::function<Nums(Num)> acted;       // or what comes of its action
  };
  /// Some columns: what `load` gives for a number 0, step, … below `end` stands
  /// for the columns of q that begin where `columns` says.
  struct Part {
    int64_t end, step;
    std::function<Nums(Num)> columns;
    std::function<Nums(const Key &, Num)> load;
  };
  std::function<Key(Num)> open; // key `number` of the chunk
  llvm::SmallVector<Part, 2> parts;
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
  /// Keeps what columns and pairs read of the vectors of keys.
  void emitVectors() const;
  Num emitPlaneDot(Num row, int64_t number) const;
  /// Adds what the plane makes of products with keys that lie as they are.
  void emitPlane() const;
  Num emitVectorOp(mlir::Operation &op, llvm::ArrayRef<Num> operands,
                   Num number, Num row) const;
  /// Number within the split of key `number` of the chunk.
  Num inSplit(Num number) const { return first - split.begin + number; }
  /// The rows as they lie in the cache.
  KeyRows cachedRows() const;
  /// Acts on the keys from `from` to before `to` of the chunk in their form of
  /// branch `branch`, for row `row` if heads see different keys; `bySteps`: by
  /// tables. Key n then lies in row n % `period` of the scratch.
  void emitActedKeys(int64_t branch, Num row, bool bySteps, int64_t period,
                     Num from, Num to) const;
  /// Writes the addresses of rows of f32 that lie one behind the other, each
  /// for the keys of its number modulo `period`.
  void listRows(Pointer list, Pointer keys, int64_t period) const;
  /// Products of rows and keys in the forms of one branch.
  void emitBranch(int64_t branch, llvm::ArrayRef<Num> isRegular) const;
  /// Products with keys that are acted on before they are read, all of them, or
  /// a vector of keys at a time; by tables, where `bySteps` (or null) holds.
  /// Those that can be computed as they are read are.
  void emitActedProducts(int64_t branch, Num bySteps) const;
  /// Products with keys that tables act on as they are read.
  void emitDirectProducts(int64_t branch) const;
  KeySource directSource(int64_t branch, Num row) const;
  /// Whether keys are acted on for each row by factors, or turns, that are
  /// computed as products read them; and the keys of row `row` so.
  bool computesInProducts(int64_t branch) const;
  KeySource computedSource(int64_t branch, Num row) const;
  void emitComputedProducts(int64_t branch) const;
  Num computedFactors(int64_t branch, Num row, const Place &own, Num number,
                      Num at) const;
  CosSin computedTurn(int64_t branch, Num row, const Place &own, Num number,
                      Num at) const;
  KeySource sourceOf(const KeyRows &keys) const;
  /// The columns from `begin` to before `end` as they lie; `inPairs`: as evens
  /// and odds.
  void addPlainParts(KeySource &source, int64_t begin, int64_t end,
                     bool inPairs) const;
  /// Products of pairs in branches, each in its own.
  void emitBranches(llvm::ArrayRef<Num> isRegular) const;
  /// Products of all pairs.
  void emitAllForms() const;
  llvm::SmallVector<Num, 2> branchBounds() const;
  /// Products of `rowCount` rows with a tile of keys from `first` on of
  /// `block`, a vector of keys; their lanes are left to be summed.
  void emitTileSums(Num firstRow, int64_t rowCount, Num block, Num first,
                    const KeySource &keys) const;
  /// Products of rows with the keys of `block`; `tileSums` is emitTileSums.
  void emitDots(Num firstRow, Num rowCount, Num block,
                llvm::function_ref<void(Num)> tileSums) const;
  /// Products of all rows; with `acted` of those keys, where the cache does not
  /// hold them acted on.
  void emitProducts(const KeySource &keys,
                    const KeySource *acted = nullptr) const;
  void emitBlockProducts(const KeySource &keys, Num block,
                         const KeySource *acted = nullptr) const;
  void emitRowTile(Num row, Num block, Num n, const KeySource &keys,
                   const KeySource *acted) const;
  /// Products of row `row` alone.
  void emitRow(Num row, const KeySource &keys) const;
  void emitRowDots(Num row, Num block, const KeySource &keys) const;
  void emitMask() const;
  void emitBias(Num row, Num key, Num partial) const;
  void emitBiases(Num partial) const;
  /// Hides what the row does not see.
  void maskScores(Num row, Num key, Num &score) const;

  /// Asks for lines of the next chunk's rows of k and v, a line of each stretch
  /// in turn, each in the order of their addresses: the two passes over this
  /// chunk's keys ask for one half each. A tile of `keys` keys at `number` asks
  /// for its share, or for piece `piece` of `pieces` of that.
  void emitAsk(Num number, int64_t keys, bool inValues, Num piece,
               int64_t pieces) const;

  void emitKept() const;
  /// Acts on the rows of v, as far as something changes their lanes; they then
  /// lie in the scratch.
  void emitActedValues() const;
  /// Row `number` of these, as if all its lanes lay there.
  Pointer actedValueRow(Num number) const;
  Num outputsAreFinite() const;
  void emitSums(bool onlySeen) const;
  /// Columns: `vectors` vectors, of the last one `tail` if it is not whole;
  /// `isActed`: of rows that were acted on.
  struct Piece {
    Num column;
    int64_t vectors, tail;
    bool isActed;
  };
  Nums loadValues(Num number, const Piece &piece) const;
  /// Runs `body` for each piece of the columns, with its number.
  void forPieces(llvm::function_ref<void(Num, const Piece &)> body) const;
  int64_t countPieces() const;
  /// The columns as they lie in the cache, and those acted on, in order.
  llvm::SmallVector<std::pair<LaneSpan, bool>, 3> columnSpans() const;
  void emitPiece(const Piece &piece, Num begin, Num end, bool onlySeen) const;
  void emitValueTile(const Piece &piece, Num row, int64_t rowCount, Num begin,
                     Num end, bool onlySeen) const;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_DECODECHUNK_H
