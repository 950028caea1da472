// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of a kernel before they are attributes.
#ifndef TORSOR_PASSES_PLANBLOCKS_H
#define TORSOR_PASSES_PLANBLOCKS_H

#include "passes/ActionForm.h"
#include "passes/VariesBy.h"

namespace torsor {

/// The least that a block is made of: a turning pair, a fading lane, a chain of
/// lanes, a plane, a change of basis, or a lane that only has a gain.
struct PlannedPair {
  const ActionUnit *unit = nullptr;
  BlockKind kind = BlockKind::Zero;
  /// A pair's lanes; the first two of a chain; else one lane, the first.
  int64_t first = 0, second = -1;
  /// Every lane that it acts on, in the block's own order.
  llvm::SmallVector<int64_t, 2> lanes;
  /// Links of a chain.
  int64_t order = 1;
  double gainQ = 1, gainK = 1;
  /// Of a product: what acts on its lanes before. A basis comes first.
  int layer = 0;
  /// A decay's rate in log2 units, a chain's couple, a plane's rate in radians;
  /// a turn has its frequency (frequencyOf).
  mlir::Value rate;
  /// Of a basis.
  BasisOp basis;
  /// What the rate varies by; does its clock count reals?
  VarySet frequency;
  bool isReal = false;
  /// A running sum with several members, and which of them; else null.
  RunningOp family;
  int64_t member = -1;

  /// Acts at a time.
  bool acts() const {
    return kind != BlockKind::Zero && kind != BlockKind::Basis;
  }
  bool isSameTime(const PlannedPair &other) const {
    if (family || other.family)
      return family == other.family;
    return unit->timeQ == other.unit->timeQ && unit->timeK == other.unit->timeK;
  }
  /// Can stand in one block, and have its rate in one table.
  bool isAlike(const PlannedPair &other) const {
    bool alone = kind == BlockKind::Plane || kind == BlockKind::Basis;
    return layer == other.layer && kind == other.kind && !alone &&
           order == other.order && gainQ == other.gainQ &&
           gainK == other.gainK &&
           (!acts() || (isSameTime(other) && frequency == other.frequency));
  }
};

/// Pairs at lanes in equal steps.
struct PlannedBlock {
  llvm::SmallVector<PlannedPair> pairs;
  int64_t step = 1;
};

/// The blocks of one branch of the action, in the order in which they act.
using PlannedBranch = llvm::SmallVector<PlannedBlock>;

/// Cuts pairs at the same times and gains, sorted by their first lane, into
/// runs of equal steps: the longest from the first lane on, and so on with what
/// is left. They act on lanes of their own, in any order.
void cutRuns(llvm::ArrayRef<PlannedPair> group, PlannedBranch &out);

struct SchemePlan;

/// The blocks of these units; refuses what has no kernel. `onValues`: they act
/// on values, and say nothing about cached keys.
mlir::FailureOr<PlannedBranch>
planBranch(SchemePlan &plan, llvm::ArrayRef<const ActionUnit *> units,
           bool onValues = false);

} // namespace torsor

#endif // TORSOR_PASSES_PLANBLOCKS_H
