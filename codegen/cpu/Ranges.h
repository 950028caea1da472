// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ranges of keys that a tile of queries sees, as code.
#ifndef TORSOR_CODEGEN_CPU_RANGES_H
#define TORSOR_CODEGEN_CPU_RANGES_H

#include "codegen/cpu/TableReader.h"

namespace torsor {

/// Keys begin … end-1, by number within the run of a sequence.
struct Range {
  Num begin, end;
  Num isEmpty() const { return begin >= end; }
};

/// How the indices of a call lie: whether the maps of an op can be used.
struct Indices {
  /// Of the queries, of the keys: null data where they run on from the
  /// sequence's first.
  Tensor queries, keys;
  Num mapsHold; // i1
  /// Whether the maps of an op tell which indices are seen, by number or not.
  Num mapsTell; // i1

  /// Whether the indices of both sides run on from the first, and positions are
  /// the indices.
  Num runOn(const TableReader &tables) const {
    return queries.isAbsent() & keys.isAbsent() & tables.positionsAreIndices();
  }

  static Indices read(Emitter &e, const Call &call, const TableReader &tables,
                      bool byPosition);
};

/// The ranges of `intervals` (#torsor.interval) for query indices first …
/// last, clipped to the keys of the sequence. Where the maps do not hold:
/// everything, or nothing, as `otherwise` says.
llvm::SmallVector<Range> emitRanges(Emitter &e, mlir::ArrayAttr intervals,
                                    const Sequence &sequence, Num mapsHold,
                                    bool otherwise, Num first, Num last);

/// The same without clipping, in indices of keys.
llvm::SmallVector<Range> emitIndexRanges(Emitter &e, mlir::ArrayAttr intervals,
                                         const Sequence &sequence, Num first,
                                         Num last);

/// From the first to the last key of the ranges that are not empty; [0, 0) if
/// all are.
Range hullOf(Emitter &e, llvm::ArrayRef<Range> ranges);

/// The hull of all keys that some query of the sequence sees; `Indices`'
/// queries decide whether the query indices are known before.
Range emitSequenceHull(Emitter &e, mlir::ArrayAttr visible,
                       const Sequence &sequence, const Indices &indices);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_RANGES_H
