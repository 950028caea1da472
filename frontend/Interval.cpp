// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Intervals of numbers: what the language calls "provably".
#include "frontend/Interval.h"

#include <algorithm>
#include <cmath>

using namespace torsor;

namespace {

constexpr double inf = Interval::inf;
constexpr double exactLimit = 9007199254740992.0; // 2^53

double down(double x) {
  if (std::isnan(x))
    return -inf;
  return std::abs(x) < exactLimit ? x : std::nextafter(x, -inf);
}

double up(double x) {
  if (std::isnan(x))
    return inf;
  return std::abs(x) < exactLimit ? x : std::nextafter(x, inf);
}

/// Infinite bounds are limits, so 0 times one of them is 0.
double times(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

Interval hull(std::initializer_list<double> ends) {
  return {down(std::min(ends)), up(std::max(ends))};
}

} // namespace

Interval Interval::exactly(const Integer &value) {
  double real = value.toReal();
  return {down(real), up(real)};
}

double Interval::most() const {
  auto size = [&](double end) {
    return std::isinf(end) ? reach : std::abs(end);
  };
  return std::max(size(lo), size(hi));
}

Interval torsor::wrapped(Interval a) {
  constexpr double limit = 0x1p63;
  return a.most() < limit ? a : Interval{-inf, inf, limit};
}

Interval torsor::negated(Interval a) { return {-a.hi, -a.lo, a.reach}; }

Interval torsor::sum(Interval a, Interval b) {
  return {down(a.lo + b.lo), up(a.hi + b.hi), a.most() + b.most()};
}

Interval torsor::difference(Interval a, Interval b) {
  return sum(a, negated(b));
}

Interval torsor::product(Interval a, Interval b) {
  Interval r = hull({times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo),
                     times(a.hi, b.hi)});
  r.reach = a.most() * b.most();
  return r;
}

Interval torsor::quotient(Interval a, Interval b) {
  if (b.lo <= 0 && b.hi >= 0) {
    // +0 and -0 are not told apart, so only two rising ends say anything.
    if (b.lo == 0 && a.lo >= 0)
      return {0, inf};
    return Interval::everything();
  }
  // x / inf is 0 in the limit, and inf / inf may be anything between.
  auto ratio = [](double x, double y) { return std::isinf(y) ? 0.0 : x / y; };
  Interval r = hull({ratio(a.lo, b.lo), ratio(a.lo, b.hi), ratio(a.hi, b.lo),
                     ratio(a.hi, b.hi)});
  return r;
}

Interval torsor::floorQuotient(Interval a, Interval b) {
  Interval r = quotient(a, b);
  // A quotient that vanishes in the limit from below floors to -1.
  if ((a.lo < 0 && b.hi > 0) || (a.hi > 0 && b.lo < 0))
    r.lo = std::min(r.lo, -1.0);
  return {std::floor(r.lo), std::floor(r.hi), a.most()};
}

Interval torsor::floorRemainder(Interval a, Interval b) {
  if (b.lo > 0) {
    Interval r{0, b.hi - 1, b.most()};
    if (a.lo >= 0)
      r.hi = std::min(r.hi, a.hi);
    return a.lo >= 0 && a.hi < b.lo ? a : r;
  }
  if (b.hi < 0)
    return {b.lo + 1, 0, b.most()};
  return Interval::everything();
}

static Interval powerEnds(Interval a, Interval b, bool whole) {
  if (whole && b.lo == b.hi && b.lo >= 0) {
    double n = b.lo;
    bool even = std::fmod(n, 2) == 0;
    Interval base = even ? absolute(a) : a;
    return hull({std::pow(base.lo, n), std::pow(base.hi, n)});
  }
  if (a.lo < 0)
    return Interval::everything();
  // For a base of at least 0 the power is monotone in each argument, on either
  // side of base 1, so the corners (and 1 itself) bound it.
  auto corner = [](double x, double y) {
    double p = std::pow(x, y);
    return std::isnan(p) ? inf : p;
  };
  Interval r = hull({corner(a.lo, b.lo), corner(a.lo, b.hi), corner(a.hi, b.lo),
                     corner(a.hi, b.hi)});
  if (a.contains(1) || b.contains(0))
    r = joined(r, Interval::exactly(1.0));
  if (a.lo == 0)
    r.lo = 0;
  if (a.lo == 0 && b.lo < 0)
    r.hi = inf;
  return {std::max(r.lo, 0.0), r.hi};
}

Interval torsor::power(Interval a, Interval b, bool whole) {
  Interval r = powerEnds(a, b, whole);
  r.reach = std::pow(std::max(a.most(), 1.0), b.most());
  return r;
}

Interval torsor::joined(Interval a, Interval b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi),
          std::max(a.most(), b.most())};
}

Interval torsor::minimum(Interval a, Interval b) {
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi),
          std::max(a.most(), b.most())};
}

Interval torsor::maximum(Interval a, Interval b) {
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi),
          std::max(a.most(), b.most())};
}

Interval torsor::clamped(Interval x, Interval lo, Interval hi) {
  return maximum(lo, minimum(x, hi));
}

Interval torsor::absolute(Interval a) {
  double far = std::max(std::abs(a.lo), std::abs(a.hi));
  double near = std::min(std::abs(a.lo), std::abs(a.hi));
  return {a.contains(0) ? 0 : near, far, a.reach};
}

Interval torsor::squared(Interval a) {
  Interval b = absolute(a), r = hull({times(b.lo, b.lo), times(b.hi, b.hi)});
  r.reach = a.most() * a.most();
  return r;
}

Interval torsor::rising(Interval a, double (*f)(double), Interval limits) {
  auto at = [&](double x, double atInfinity) {
    if (std::isinf(x))
      return atInfinity;
    double y = f(x);
    return std::isnan(y) ? atInfinity : y;
  };
  return {at(a.lo, a.lo < 0 ? limits.lo : limits.hi),
          at(a.hi, a.hi < 0 ? limits.lo : limits.hi)};
}
