// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gains of the units of an action.
#ifndef TORSOR_PASSES_UNITGAINS_H
#define TORSOR_PASSES_UNITGAINS_H

#include "passes/FormKernels.h"

namespace torsor {

/// The gain of a unit on the side of queries or of keys, for the lane `lane` of
/// the unit and those that share its number. Reports a gain that is no
/// constant.
mlir::FailureOr<double> gainOf(const ActionUnit &unit, bool key, size_t lane);

/// Whether a gain has to stand behind the action, lane by lane: one that is not
/// constant, or that differs between the lanes of a pair.
bool hasLaneGains(const ActionUnit &unit);

/// Multiplies the lanes of one side in the plan by the gains of a unit.
void addLaneGains(SchemePlan &plan, const ActionUnit &unit, bool key);

} // namespace torsor

#endif // TORSOR_PASSES_UNITGAINS_H
