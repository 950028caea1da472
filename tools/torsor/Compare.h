// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far an array is from another.
#ifndef TORSOR_TOOLS_TORSOR_COMPARE_H
#define TORSOR_TOOLS_TORSOR_COMPARE_H

#include "tools/support/Npy.h"

#include <string>

namespace torsor {

/// Largest absolute difference and where it is. Elements that are not finite
/// differ by infinity unless both are NaN or the same infinity.
struct Difference {
  double largest = 0;
  int64_t at = -1; ///< -1: nothing differs
  double found = 0, expected = 0;
  double scale = 0; ///< largest finite |expected|
};

/// The shapes must agree.
Difference compareArrays(const Array &found, const Array &expected);

/// "largest error 3.1e-07 at [0, 3, 17, 5] (0.25 instead of 0.24999969)".
std::string describeDifference(const Difference &difference,
                               const std::vector<int64_t> &shape);

/// What rounding alone may do: absolute error of outputs whose values are at
/// most 1, of a type.
double getTolerance(torsor_dtype dtype);

/// How much larger the error of o may be where logits are large: a logit is
/// rounded relative to its size, and exp makes that absolute error a relative
/// one of the weight. `lse` tells the size of the logits; at least 1.
double getLogitFactor(const Array &lse);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_COMPARE_H
