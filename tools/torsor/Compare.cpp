// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparison of arrays.
#include "tools/torsor/Compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace torsor;

Difference torsor::compareArrays(const Array &found, const Array &expected) {
  Difference result;
  for (int64_t n = 0, e = found.count(); n < e; ++n) {
    double a = found.at(n), b = expected.at(n);
    if (std::isfinite(b))
      result.scale = std::max(result.scale, std::abs(b));
    double error = std::abs(a - b);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      error = 0;
    else if (!std::isfinite(error))
      error = std::numeric_limits<double>::infinity();
    if (error > result.largest) {
      result.largest = error;
      result.at = n;
      result.found = a;
      result.expected = b;
    }
  }
  return result;
}

std::string torsor::describeDifference(const Difference &difference,
                                       const std::vector<int64_t> &shape) {
  if (difference.at < 0)
    return "no difference";
  std::vector<int64_t> index(shape.size());
  int64_t rest = difference.at;
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return fmt::format("largest error {:.3g} at [{}] ({:.9g} instead of {:.9g})",
                     difference.largest, fmt::join(index, ", "),
                     difference.found, difference.expected);
}

double torsor::getTolerance(torsor_dtype dtype) {
  // A few units in the last place of the type that o is rounded to, and of p in
  // it; f32 leaves room for the order of summation.
  switch (dtype) {
  case TORSOR_BF16:
    return 1.6e-2;
  case TORSOR_F16:
    return 2e-3;
  default:
    return 1e-5;
  }
}

double torsor::getLogitFactor(const Array &lse) {
  double largest = 0;
  for (int64_t n = 0, e = lse.shape.empty() ? 0 : lse.count(); n < e; ++n)
    if (double value = lse.at(n); std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  return std::max(1.0, largest / 8);
}
