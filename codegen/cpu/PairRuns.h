// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices by which pairs pick rows of tables, as runs along the keys.
#ifndef TORSOR_CODEGEN_CPU_PAIRRUNS_H
#define TORSOR_CODEGEN_CPU_PAIRRUNS_H

#include "codegen/cpu/TileLayout.h"

#include <array>
#include <optional>

namespace torsor {

/// How an index changes from one row, or one key, to the next: not at all, or
/// by one at most and always the same way.
struct IndexSteps {
  int row = 0, key = 0;
};

/// The indices of a pair region that are sums and differences of the pair's
/// indices and positions, clamped. Where all of these run on, a few scalars
/// tell how the index lies in a rectangle of rows and keys: at the corners.
class PairRuns {
public:
  /// Of the region's picks, and of what it yields, if `yielded`.
  PairRuns(const TileContext &c, mlir::Region &region, bool yielded = false);

  /// Whether all picks by lane are such.
  bool exist() const { return !runs.empty(); }

  /// What holds of all runs for the rows row … row + rows - 1, which are in the
  /// order of their indices, and the keys key … key + keys - 1.
  struct Shape {
    Num isEqual;    // each is one number
    Num isStraight; // each rises or falls by one at every key
  };
  Shape shape(Num row, int64_t rows, Num key, Num keys) const;

  /// Least and greatest index of the dot's picks for the rows row … lastRow and
  /// the keys key … last; nothing if it is no run.
  std::optional<std::pair<Num, Num>> bounds(RowDotOp dot, Num row, Num lastRow,
                                            Num key, Num last) const;
  /// How index number `run` changes.
  IndexSteps stepsOf(size_t run) const { return runs[run].steps; }
  /// Index number `run` of row `row` and key `key`, a scalar.
  Num indexAt(size_t run, Num row, Num key) const;

  /// The result of `op` where the runs are equal or, if `straight`, straight;
  /// null if it is to be computed as everywhere. `first`: a key of the shape.
  Num emitOp(mlir::Operation &op, llvm::ArrayRef<Num> operands, Num row,
             Num key, const Place &place) const;

  /// What holds where a region is cloned.
  bool straight = false;
  Num first;

private:
  struct Run {
    mlir::Value index;
    IndexSteps steps;
    /// It lies in 0 … count - 1; 0: in any range.
    int64_t count;
  };
  std::optional<IndexSteps> stepsOfValue(mlir::Value value) const;
  std::optional<IndexSteps> stepsOfArgument(mlir::BlockArgument argument) const;
  /// Whether the slot of rows, or columns, is the token's index or position.
  bool isIndexSlot(mlir::Region &slots, unsigned number) const;
  bool add(mlir::Value index, int64_t count);
  const Run *find(mlir::Value index) const;
  /// At the first and last key of the first row, then of the last.
  std::array<Num, 4> corners(const Run &run, Num row, Num lastRow, Num key,
                             Num last) const;
  Num evaluate(mlir::Value value, Num i, Num j) const;
  Num indexOf(const Run &run, Num i, Num key) const;
  int64_t denseElements(LookupOp lookup, mlir::Value index) const;
  Num emitStraight(LookupOp lookup, Nums indices, Num row, Num key,
                   const Place &place) const;
  Num emitDot(RowDotOp dot, const Run &run, Num row, Num key) const;

  const TileContext &c;
  mlir::Block &block;
  llvm::SmallVector<Run, 2> runs;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PAIRRUNS_H
