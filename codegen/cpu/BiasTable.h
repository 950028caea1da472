// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Biases that depend on the age of a pair alone, tabulated once a call.
#ifndef TORSOR_CODEGEN_CPU_BIASTABLE_H
#define TORSOR_CODEGEN_CPU_BIASTABLE_H

#include "codegen/cpu/TileLayout.h"

namespace torsor {

/// The region `toeplitz` of every head of a sequence: entry queryLength - 1 -
/// query + key of a head's row is the start of the pair of these numbers, so
/// that neighbouring keys lie beside each other and all queries share a row.
/// O(queries + keys) for each head; it holds where indices run on from the
/// first, on both sides, and positions are the indices (if `age_of_positions`).
class BiasTable {
public:
  /// Without the region, or where the kernel is not tiled: nothing.
  BiasTable(Emitter &e, AttentionOp op, const TileLayout &layout);

  bool exists() const { return present; }
  /// Bytes of a sequence's table, and the items that fill it: one a stretch of
  /// ages.
  Num bytes(const Call &call, const Sequence &sequence) const;
  Num items(const Call &call, const Sequence &sequence) const;
  /// Fills stretch `stretch` of every head's row: what is the same for all
  /// heads is computed once.
  void fill(const TileContext &c, const Indices &indices, Pointer table,
            Num stretch) const;
  /// Lets the tiles of `c` read it.
  void place(TileContext &c, const Indices &indices, Pointer table) const;

private:
  Num entries(const Sequence &sequence) const;
  Num holds(const TableReader &tables, const Indices &indices) const;

  Emitter &e;
  mutable AttentionOp op;
  const TileLayout &layout;
  bool present;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_BIASTABLE_H
