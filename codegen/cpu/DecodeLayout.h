// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How decode cuts keys and values into register tiles, and where it keeps what.
#ifndef TORSOR_CODEGEN_CPU_DECODELAYOUT_H
#define TORSOR_CODEGEN_CPU_DECODELAYOUT_H

#include "codegen/cpu/TileLayout.h"

namespace torsor {

/// Keys of a chunk: enough that what is done once per chunk does not count,
/// few enough that two chunks of k and v stay in the second cache.
inline constexpr int64_t decodeChunk = 64;

/// Rows that one pass over a key takes in registers at most.
inline constexpr int64_t decodeRows = 4;

/// Rows whose products with some keys are made before others: they share what
/// the first cache holds, and requests for the next keys lie between them.
inline constexpr int64_t sumRows = 2 * decodeRows;

/// Register tiles of decode, for rows of k and v of so many bytes.
///
/// Keys beyond the processor's caches come at the bandwidth of memory only if
/// their lines are asked for early: tiles that compute enough for each load
/// take several keys at once, in pieces, which no hardware foresees. So the
/// next chunk is prefetched, k and v in turn (a new page of one then waits
/// behind the other), as one or more stretches of rows side by side. On
/// processors with 512 bits, whose one core fills more lines at once than two
/// streams ask for, four stretches are a third faster than one, and pages
/// anywhere in memory no slower than rows in order; on those with 256 bits one
/// was measured to be best.
struct DecodeTile {
  DecodeTile(const Target &target, int64_t rowBytes);

  /// Keys whose products with `rows` rows are summed together.
  int64_t keysBeside(int64_t rows) const;

  int64_t keyAccumulators, mostKeys;
  /// Vectors of columns of a tile of outputs, to which `valueKeys` keys are
  /// added while it lies in registers.
  int64_t valueVectors;
  static constexpr int64_t valueKeys = 8;
  /// Stretches of the next chunk that are prefetched side by side.
  int64_t streams;
};

/// `count` elements, fewer than `lanes`, with zeros behind them, as f32.
Num loadTail(Pointer from, int64_t lanes, int64_t count);

/// Lanes `begin` to before `end` of a row.
struct LaneSpan {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};

/// Whether a block of a value action does more than copy its lanes.
inline bool changesValues(BlockAttr block) {
  return block.acts() || block.kGain() != 1;
}

/// The scratch memory of a decode worker behind that of the tile layout.
struct DecodeScratch {
  DecodeScratch(const TileLayout &layout, int64_t stepBytes, int64_t dots);
  int64_t queryWidth;  // of a row of q, filled up with 0
  int64_t rowCount;    // addresses: a split's rows, and those of a next chunk
  int64_t formBytes;   // of the rows of q in one form
  int64_t anchors;     // times of the block's query, for each form of keys
  int64_t anchorBytes; // of a form; one behind the other for rows by head
  LaneSpan acted;      // of v, those that something acts on
  int64_t actedValues; // these lanes of a chunk's rows
  int64_t steps;       // KeySteps
  int64_t dotRows, dotScores; // KeyDots: vectors by row, products by row
  int64_t merged; // scores of a chunk whose pairs are in several branches
  int64_t queries, sums, keys, kept, keyRows, valueRows, keyIndices, slots,
      slotBytes, bytes;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_DECODELAYOUT_H
