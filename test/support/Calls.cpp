// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls filled by functions or by a seed.
#include "test/support/Calls.h"

#include <cmath>

namespace torsor::test {

static HostArray filled(int64_t heads, int64_t tokens, int64_t width,
                        const Fill &fill) {
  std::vector<double> data;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t c = 0; c < width; ++c)
        data.push_back(fill(h, t, c));
  return HostArray::of({1, heads, tokens, width}, std::move(data));
}

Problem makeProblem(const Shape &shape, const Fill &q, const Fill &k,
                    const Fill &v) {
  Problem problem;
  problem.heads = shape.heads;
  problem.groups = shape.groups;
  problem.q = filled(shape.heads, shape.queries, shape.head, q);
  problem.k = filled(shape.groups, shape.keys, shape.head, k);
  problem.v = filled(shape.groups, shape.keys, shape.value, v);
  SequenceRun run;
  run.queryLength = shape.queries;
  run.keyLength = shape.keys;
  problem.sequences.push_back(run);
  return problem;
}

uint64_t Random::next() {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Random::uniform(double low, double high) {
  return low + (high - low) * double(next() >> 11) * 0x1p-53;
}

int64_t Random::between(int64_t low, int64_t high) {
  return low + int64_t(next() % uint64_t(high - low + 1));
}

Problem makeRandom(const Shape &shape, uint64_t seed) {
  Random random(seed);
  auto draw = [&](int64_t, int64_t, int64_t) { return random.uniform(); };
  return makeProblem(shape, draw, draw, draw);
}

void place(Problem &problem, int64_t query, int64_t key, int64_t total) {
  SequenceRun &run = problem.sequences.at(0);
  run.placed = true;
  run.queryIndex = query;
  run.keyIndex = key;
  run.total = total;
}

void addValue(Problem &problem, std::string name, HostArray value) {
  problem.arguments.push_back({std::move(name), std::move(value), {}, {}});
}

void addTokens(Problem &problem, std::string name, HostArray keys) {
  keys.shape.insert(keys.shape.begin(), 1);
  keys.strides.insert(keys.strides.begin(), 0);
  HostArray queries = keys;
  const SequenceRun &run = problem.sequences.at(0);
  int64_t skipped = (run.keyLength - run.queryLength) * keys.strides[1];
  queries.shape[1] = run.queryLength;
  if (queries.reals)
    queries.reals += skipped;
  else
    queries.integers += skipped;
  problem.arguments.push_back({std::move(name), {}, queries, keys});
}

double largestDifference(const std::vector<double> &a,
                         const std::vector<double> &b) {
  if (a.size() != b.size())
    return std::nan("");
  double largest = 0;
  for (size_t n = 0; n < a.size(); ++n) {
    if (a[n] == b[n] || (std::isnan(a[n]) && std::isnan(b[n])))
      continue;
    double difference = std::fabs(a[n] - b[n]);
    if (std::isnan(difference))
      return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

} // namespace torsor::test
