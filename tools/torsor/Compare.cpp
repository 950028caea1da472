// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparison of arrays.
#include "tools/torsor/Compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace torsor;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The largest finite magnitude of elements n to end - 1, 0 without one.
static double getLargest(const Array &array, int64_t n, int64_t end) {
  double largest = 0;
  for (; n < end; ++n)
    if (double value = array.at(n); std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  return largest;
}

Difference torsor::compareArrays(const Array &found, const Array &expected,
                                 const std::vector<double> &scales) {
  Difference result;
  int64_t count = found.count();
  result.scale = std::max(1.0, getLargest(expected, 0, count));
  int64_t width = scales.empty() ? 1 : found.shape.back();
  double share = 0;
  for (int64_t n = 0; n < count; ++n) {
    double scale = scales.empty() ? result.scale : scales[n / width];
    if (scale == infinity) {
      result.open += n % width == 0;
      continue;
    }
    double a = found.at(n), b = expected.at(n);
    double error = std::abs(a - b);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      error = 0;
    else if (!std::isfinite(error))
      error = infinity;
    if (error / scale > share) {
      share = error / scale;
      result.largest = error;
      result.scale = scale;
      result.at = n;
      result.found = a;
      result.expected = b;
    }
  }
  return result;
}

std::vector<double> torsor::getScales(const Array &exact,
                                      const std::vector<double> &condition,
                                      double tolerance) {
  int64_t width = exact.shape.back(), rows = condition.size();
  std::vector<double> scales;
  // As large as the values are at least: |o| <= c |v|.
  double values = 1;
  for (int64_t row = 0; row < rows; ++row) {
    scales.push_back(getLargest(exact, row * width, (row + 1) * width));
    values = std::max(values, scales[row] / std::max(1.0, condition[row]));
  }
  for (int64_t row = 0; row < rows; ++row) {
    double by = std::max(1.0, condition[row]), left = 1 - tolerance * (by - 1);
    scales[row] =
        left > 0 ? by * std::max(values, scales[row]) / left : infinity;
  }
  return scales;
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
