// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Images of intervals contain every value, on a grid of small intervals.
#include "frontend/Interval.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace torsor;

namespace {

constexpr int most = 4;

std::vector<Interval> intervals() {
  std::vector<Interval> list;
  for (int lo = -most; lo <= most; ++lo)
    for (int hi = lo; hi <= most; ++hi)
      list.push_back({double(lo), double(hi)});
  for (int end = -most; end <= most; ++end) {
    list.push_back({double(end), Interval::inf});
    list.push_back({-Interval::inf, double(end)});
  }
  list.push_back({});
  return list;
}

std::vector<double> valuesIn(Interval range) {
  std::vector<double> values;
  for (double x :
       {-1000.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 1000.0})
    if (range.contains(x))
      values.push_back(x);
  return values;
}

/// Checks an operation on every pair of intervals; `f` may refuse a pair of
/// values by giving a NaN.
void checkImage(
    Interval (*image)(Interval, Interval), double (*f)(double, double),
    bool (*allowed)(Interval) = [](Interval) { return true; }) {
  for (Interval a : intervals())
    for (Interval b : intervals()) {
      if (!allowed(b))
        continue;
      Interval r = image(a, b);
      for (double x : valuesIn(a))
        for (double y : valuesIn(b)) {
          double z = f(x, y);
          ASSERT_TRUE(std::isnan(z) || r.contains(z))
              << x << " and " << y << " give " << z << ", not in " << r.lo
              << " .. " << r.hi << " from " << a.lo << " .. " << a.hi << " and "
              << b.lo << " .. " << b.hi;
        }
    }
}

TEST(Interval, Arithmetic) {
  checkImage(sum, [](double x, double y) { return x + y; });
  checkImage(difference, [](double x, double y) { return x - y; });
  checkImage(product, [](double x, double y) { return x * y; });
  checkImage(quotient, [](double x, double y) { return x / y; });
  checkImage(minimum, [](double x, double y) { return std::min(x, y); });
  checkImage(maximum, [](double x, double y) { return std::max(x, y); });
}

TEST(Interval, FloorDivision) {
  auto noZero = [](Interval b) { return !b.contains(0); };
  checkImage(
      floorQuotient, [](double x, double y) { return std::floor(x / y); },
      noZero);
  checkImage(
      floorRemainder,
      [](double x, double y) { return x - y * std::floor(x / y); }, noZero);
}

TEST(Interval, Power) {
  checkImage([](Interval a, Interval b) { return power(a, b, true); },
             [](double x, double y) { return std::pow(x, y); });
  checkImage([](Interval a, Interval b) { return power(a, b, false); },
             [](double x, double y) { return std::pow(x, y); });
}

TEST(Interval, IsTight) {
  EXPECT_EQ(squared({-3, 2}), (Interval{0, 9}));
  EXPECT_EQ(power({-3, 2}, {2, 2}, true), (Interval{0, 9}));
  EXPECT_EQ(power({2, 2}, {-8, 0}, true), (Interval{0.00390625, 1}));
  EXPECT_EQ(floorRemainder({0, Interval::inf}, {4, 4}), (Interval{0, 3}));
  EXPECT_EQ(floorRemainder({0, 2}, {4, 4}), (Interval{0, 2}));
  EXPECT_EQ(floorQuotient({0, 10}, {2, 2}), (Interval{0, 5}));
  EXPECT_EQ(quotient({0, Interval::inf}, {1, Interval::inf}),
            (Interval{0, Interval::inf}));
  EXPECT_EQ(clamped({0, Interval::inf}, {0, 0}, {128, 128}),
            (Interval{0, 128}));
  EXPECT_EQ(absolute({-5, 3}), (Interval{0, 5}));
}

TEST(Interval, IsUnknownOfWhatMayWrap) {
  Interval index{0, Interval::inf}, large{0x1p62, 0x1p62}, all;
  EXPECT_EQ(wrapped({-5, 3}), (Interval{-5, 3}));
  EXPECT_EQ(wrapped(sum(index, {1, 1})), (Interval{1, Interval::inf}));
  EXPECT_EQ(wrapped(product(index, index)), index);
  EXPECT_EQ(wrapped(power({2, 2}, {0, 40}, true)), (Interval{1, 0x1p40}));
  EXPECT_EQ(wrapped(sum(large, large)), all);
  EXPECT_EQ(wrapped(product(sum(index, {1, 1}), large)), all);
  EXPECT_EQ(wrapped(product(product(index, index), index)), all);
  EXPECT_EQ(wrapped(squared(product(index, index))), all);
  EXPECT_EQ(wrapped(power({3, 3}, index, true)), all);
  // What wrapped once stays unknown, though one end be known again.
  Interval any = wrapped(sum(large, large));
  EXPECT_EQ(wrapped(sum(absolute(any), {1, 1})), all);
  EXPECT_EQ(wrapped(difference(minimum(any, {5, 5}), {1, 1})), all);
}

TEST(Interval, IntegersBeyondF64RoundOutwards) {
  Interval r = Interval::exactly(*Integer::parse("9007199254740993"));
  EXPECT_LT(r.lo, 9007199254740993.0);
  EXPECT_GT(r.hi, 9007199254740992.0);
}

} // namespace
