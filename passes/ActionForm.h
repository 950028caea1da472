// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The normal form of an action: primitive blocks with their lanes, times and
// gains, all combinators resolved.
#ifndef TORSOR_PASSES_ACTIONFORM_H
#define TORSOR_PASSES_ACTIONFORM_H

#include "dialect/TorsorDialect.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace torsor {

/// One pair of a turn, or all lanes of another primitive block.
struct ActionUnit {
  /// The primitive block: zero, turn, decay, jordan, plane or unipotent.
  mlir::Operation *block = nullptr;
  /// Of a turn: the number of the pair in its frequencies.
  int64_t index = 0;
  /// Lanes of the head that the unit acts on, in the block's own order.
  llvm::SmallVector<int64_t, 2> lanes;
  /// Times of query and key; null: the position.
  mlir::Value timeQ, timeK;
  /// Gains on both sides (f64 values), and per lane of one side.
  llvm::SmallVector<mlir::Value, 1> by;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 0> gainQ, gainK;
  /// The combinators above that a direct sum does not resolve, outside in:
  /// basis, product, choose, jordan.
  llvm::SmallVector<mlir::Operation *, 0> within;
  /// The lanes that each of `within` acts on, in its own order.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 0> withinLanes;
  /// The operand of each of `within` that leads here.
  llvm::SmallVector<int64_t, 0> branch;
  /// Stands under split or adjacent.
  bool hasLayout = false;

  int64_t first() const { return lanes.empty() ? 0 : lanes.front(); }
  int64_t second() const { return lanes.size() > 1 ? lanes[1] : -1; }
};

/// The units of an action in order of their lanes of the unlaid action.
struct ActionForm {
  int64_t width = 0;
  std::vector<ActionUnit> units;
};

/// Resolves concat, split, adjacent, gain and at. Fails, with an error at the
/// operation, only where the nesting is too deep.
mlir::FailureOr<ActionForm> flattenAction(mlir::Value action);

/// Does the unit keep every length, on either side: a skew generator, in bases
/// that are orthogonal?
bool isIsometry(const ActionUnit &unit);

/// Replaces each chain exp(t (I (x) X_A + e N (x) I)) by the units of its base
/// on every copy, with the chain exp(t e N) beside them: the factors commute.
mlir::LogicalResult expandChains(ActionForm &form);

/// Whether a block of an action fades with the time, and so grows without bound
/// where that runs backwards. What is linear in it grows both ways, and may.
bool growsBackwards(mlir::Operation *block);

/// The value of a constant scalar, or of element `index` of a constant vector.
std::optional<double> constantReal(mlir::Value value, int64_t index = 0);

} // namespace torsor

#endif // TORSOR_PASSES_ACTIONFORM_H
