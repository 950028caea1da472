// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far an array is from another.
#ifndef TORSOR_TOOLS_TORSOR_COMPARE_H
#define TORSOR_TOOLS_TORSOR_COMPARE_H

#include "tools/support/Npy.h"

#include <string>

namespace torsor {

/// The absolute difference that is largest for its scale, and where it is.
/// Elements that are not finite differ by infinity unless both are NaN or the
/// same infinity.
struct Difference {
  double largest = 0;
  int64_t at = -1; ///< -1: nothing differs
  double found = 0, expected = 0;
  double scale = 1; ///< of what is there; errors are measured by it
  int64_t open = 0; ///< rows left out, whose scale is infinite
};

/// The shapes must agree. `scales`: that of each row of the last axis, infinite
/// if no value of it says anything; empty: the largest finite |expected| for
/// all, at least 1.
Difference compareArrays(const Array &found, const Array &expected,
                         const std::vector<double> &scales = {});

/// The scales of the rows of a linear readout that divides, from what the
/// reference says of the division (Output::condition) and of o. `tolerance`:
/// the relative error e of the weights.
///
/// The sum of z v is off by e |z| |v| and the divisor by e |z| times its slope,
/// so o = sum / divisor is off by e c max(|v|, |o|) / (1 - e (c - 1)), c being
/// the condition; of 1, where weights have one sign, the tolerance takes care.
/// Where e (c - 1) reaches 1 rounding alone may turn the divisor's sign.
std::vector<double> getScales(const Array &exact,
                              const std::vector<double> &condition,
                              double tolerance);

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
