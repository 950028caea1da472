// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far blocks that are not normal let a score grow before it fades.
#ifndef TORSOR_RUNTIME_JIT_GROWTH_H
#define TORSOR_RUNTIME_JIT_GROWTH_H

#include "dialect/TorsorDialect.h"

#include <optional>
#include <string>

namespace torsor {

/// The spectrum decides what becomes of a score in the end, and says nothing
/// about the way there where X does not commute with its transpose.
struct GrowthFacts {
  /// Bound of ||A(delta)|| over the horizon, gains left out; absent where it is
  /// not known before the params are.
  std::optional<double> factor = 1;
  /// What is not normal, for people: "a chain of equal blocks"; "": nothing is.
  std::string reason;
  /// The distance of the bound, where it is not the same at all.
  std::optional<int64_t> peak;
  /// The first distance from which on the bound is at most 1; absent where it
  /// is above at the horizon.
  std::optional<int64_t> settled;
  /// The numerical abscissa, the largest eigenvalue of (X + X^T) / 2 in the
  /// age: the rate at which a score may grow at first, in nats a unit. Absent
  /// where a basis is not known.
  std::optional<double> abscissa;
};

/// Bounds an action over distances up to `horizon`.
GrowthFacts boundGrowth(mlir::Value action, int64_t horizon);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_GROWTH_H
