// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Intervals of numbers: what the language calls "provably".
#ifndef TORSOR_FRONTEND_INTERVAL_H
#define TORSOR_FRONTEND_INTERVAL_H

#include "frontend/Integer.h"

#include <limits>

namespace torsor {

/// A closed interval [lo, hi]; either end may be infinite. The image functions
/// below contain every result for arguments from their intervals. Ends are
/// rounded outwards once they pass 2^53.
struct Interval {
  static constexpr double inf = std::numeric_limits<double>::infinity();

  double lo = -inf;
  double hi = inf;
  /// What an infinite end stands for in size: of an index, a length or a
  /// position 2^31, more after arithmetic. Only `wrapped` looks at it.
  double reach = 0x1p31;

  static Interval exactly(double value) { return {value, value}; }
  static Interval exactly(const Integer &value);
  static Interval everything() { return {}; }

  /// The largest size of a number in it.
  double most() const;
  bool contains(double value) const { return lo <= value && value <= hi; }
  bool operator==(const Interval &other) const {
    return lo == other.lo && hi == other.hi;
  }
};

Interval negated(Interval a);
Interval sum(Interval a, Interval b);
Interval difference(Interval a, Interval b);
Interval product(Interval a, Interval b);
/// Division of reals; IEEE at a divisor of 0.
Interval quotient(Interval a, Interval b);
/// Floor division and its remainder; `b` must not contain 0.
Interval floorQuotient(Interval a, Interval b);
Interval floorRemainder(Interval a, Interval b);
/// `whole`: the exponent takes integers only.
Interval power(Interval a, Interval b, bool whole);
Interval joined(Interval a, Interval b);
Interval minimum(Interval a, Interval b);
Interval maximum(Interval a, Interval b);
Interval clamped(Interval x, Interval lo, Interval hi);
Interval absolute(Interval a);
Interval squared(Interval a);
/// Of an int at run time, which wraps at 64 bits: nothing is known of what may
/// leave them.
Interval wrapped(Interval a);
/// The image under a function that never decreases; `limits` are its infimum
/// and supremum.
Interval rising(Interval a, double (*f)(double), Interval limits);

} // namespace torsor

#endif // TORSOR_FRONTEND_INTERVAL_H
