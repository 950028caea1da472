// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times that are linear in a clock.
#ifndef TORSOR_RUNTIME_JIT_LINEARTIME_H
#define TORSOR_RUNTIME_JIT_LINEARTIME_H

#include "mlir/IR/Value.h"

#include <optional>

namespace torsor {

/// slope * (the time of a token) + offset; the clock is null where the slope
/// is 0.
struct LinearTime {
  mlir::Value clock;
  int64_t member = 0;
  double slope = 0, offset = 0;

  bool operator==(const LinearTime &) const = default;
};

/// A time that is linear in a clock; `depth` operations deep at most.
std::optional<LinearTime> readLinear(mlir::Value value, int depth = 8);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_LINEARTIME_H
