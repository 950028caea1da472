// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of row-major keys and values against the rows of a decode block.
#ifndef TORSOR_CODEGEN_CPU_DECODECHUNK_H
#define TORSOR_CODEGEN_CPU_DECODECHUNK_H

#include "codegen/cpu/Act.h"
#include "codegen/cpu/Ranges.h"
#include "codegen/cpu/Slots.h"

namespace torsor {

/// Keys of a chunk: enough for whole vectors, few enough to stay in L1.
inline constexpr int64_t decodeChunk = 32;

/// Rows that one pass over a key takes in registers.
inline constexpr int64_t decodeRows = 4;

/// The scratch memory of a decode worker behind that of the tile layout.
struct DecodeScratch {
  DecodeScratch(const TileLayout &layout);
  int64_t queryWidth; // of a row of q, filled up with 0
  int64_t queries, sums, keys, values, keyIndices, slots, slotBytes, bytes;
};

/// A chunk: the keys first … first + count - 1 of the run. Slots and indices of
/// `c` are those of the chunk, by number within it.
struct DecodeChunk {
  const TileContext &c;
  const DecodeScratch &at;
  Pointer scratch;
  llvm::ArrayRef<BlockAttr> blocks;
  const Indices &indices;
  Tensor k, v;
  Num isActed, rows, first, count;

  /// Indices and slots of the chunk's keys.
  void emitColumns() const;
  /// Scores of all rows, with `partial` also masked.
  void emitScores(Num partial) const;
  /// Maxima, alphas, weights and row sums.
  void emitWeights() const;
  /// outputs = alpha * outputs + weights * values.
  void emitOutputs() const;

private:
  Place place(Num number) const;
  Pointer rowOf(const Tensor &tensor, Num number) const;
  void emitDots(Num firstRow, int64_t count, Num block, bool acted) const;
  void emitActedKeys() const;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_DECODECHUNK_H
