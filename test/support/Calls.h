// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the calls that tests evaluate.
#ifndef TORSOR_TEST_SUPPORT_CALLS_H
#define TORSOR_TEST_SUPPORT_CALLS_H

#include "reference/Reference.h"

#include <functional>

namespace torsor::test {

/// One sequence whose tensors are filled by functions of (head, token, lane).
struct Shape {
  int64_t heads = 1, groups = 1, queries = 1, keys = 1, head = 1, value = 1;
};
using Fill = std::function<double(int64_t, int64_t, int64_t)>;

/// A call of one sequence, the queries last.
Problem makeProblem(const Shape &shape, const Fill &q, const Fill &k,
                    const Fill &v);
/// Elements uniform in [-1, 1), the same for the same seed everywhere.
Problem makeRandom(const Shape &shape, uint64_t seed);
/// Places the only sequence of a call: indices of the first query and key.
void place(Problem &problem, int64_t query, int64_t key, int64_t total);
/// Adds a param, or an input per call.
void addValue(Problem &problem, std::string name, HostArray value);
/// Adds a clock or an input per token, read on both sides: one array
/// [tokens, axes…] over the keys, the queries being the last of them.
void addTokens(Problem &problem, std::string name, HostArray keys);

/// A small generator (SplitMix64), so that a seed means the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  double uniform(double low = -1, double high = 1);
  /// In low … high, both included.
  int64_t between(int64_t low, int64_t high);
  bool chance(double probability) { return uniform(0, 1) < probability; }

private:
  uint64_t state;
};

/// Largest absolute difference; NaN where only one of two is NaN, equal
/// infinities differ by 0.
double largestDifference(const std::vector<double> &a,
                         const std::vector<double> &b);

} // namespace torsor::test

#endif
