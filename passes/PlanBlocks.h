// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of a kernel before they are attributes.
#ifndef TORSOR_PASSES_PLANBLOCKS_H
#define TORSOR_PASSES_PLANBLOCKS_H

#include "passes/ActionForm.h"
#include "passes/VariesBy.h"

namespace torsor {

/// A turning pair, or a lane that only has a gain.
struct PlannedPair {
  const ActionUnit *unit = nullptr;
  int64_t first = 0, second = -1;
  double gainQ = 1, gainK = 1;
  /// What the frequency varies by; does its clock count reals?
  VarySet frequency;
  bool isReal = false;

  /// Can stand in one block, and have its rate in one table.
  bool isAlike(const PlannedPair &other) const {
    return (second < 0) == (other.second < 0) && gainQ == other.gainQ &&
           gainK == other.gainK &&
           (second < 0 || (unit->timeQ == other.unit->timeQ &&
                           unit->timeK == other.unit->timeK &&
                           frequency == other.frequency));
  }
};

/// Pairs at lanes in equal steps.
struct PlannedBlock {
  llvm::SmallVector<PlannedPair> pairs;
  int64_t step = 1;
};

} // namespace torsor

#endif // TORSOR_PASSES_PLANBLOCKS_H
