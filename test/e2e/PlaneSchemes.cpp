// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Planes of given vectors, and changes of basis.
#include "test/e2e/Schemes.h"

#include <cmath>

namespace torsor::test {
namespace {

std::string text(int64_t n) { return std::to_string(n); }
std::string scheme(const std::string &body) {
  return "scheme x { " + body + " }";
}
/// The lanes that pairs leave over.
std::string rest(int64_t d, int64_t used) {
  return d > used ? " + zero(" + text(d - used) + ")" : "";
}
std::string rope(int64_t width) {
  return width == 2 ? "turn(0.7)" : "rope(" + text(width) + ", base = 10_000)";
}
Magnitude plain(int64_t) { return {}; }
void nothing(Problem &, Random &) {}

int64_t pairsOf(const Problem &problem) { return problem.q.shape[3] / 2; }

/// (I - 2 v v' / v'v) diag(1 … most): orthogonal for 1.
void addReflection(Problem &problem, int64_t n, Random &random,
                   double most = 1) {
  std::vector<double> v, p(n * n);
  double square = 0;
  for (int64_t r = 0; r < n; ++r) {
    v.push_back(random.uniform());
    square += v.back() * v.back();
  }
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < n; ++c)
      p[r * n + c] = ((r == c) - 2 * v[r] * v[c] / square) *
                     std::pow(most, double(c) / double(n));
  addValue(problem, "P", HostArray::of({n, n}, p));
}

std::vector<SchemeCase> planes() {
  return {
      {"plane",
       [](int64_t d) {
         std::string n = text(d);
         return scheme("head " + n + " param a, b: f32[H, " + n +
                       "] param w: f32[H] action plane(w[h], a = [for c < " +
                       n + ": a[h, c]], b = [for c < " + n +
                       ": b[h, c]]) mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         int64_t d = problem.q.shape[3];
         addParam(problem, "a", {problem.heads, d}, -1, 1, random);
         addParam(problem, "b", {problem.heads, d}, -1, 1, random);
         addParam(problem, "w", {problem.heads}, 0.01, 0.1, random);
       }},
      {"flat_planes", // of vectors that span none
       [](int64_t d) {
         std::string n = text(d);
         auto vector = [&](const char *name) {
           return "[for c < " + n + ": " + name + "[h, c]]";
         };
         return scheme("head " + n + " param a, b: f32[H, " + n +
                       "] action plane(0.7, a = " + vector("a") +
                       ", b = " + vector("b") + ") mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         int64_t d = problem.q.shape[3];
         std::vector<double> a, b(problem.heads * d); // zero but for one head
         for (int64_t n = 0; n < problem.heads * d; ++n)
           a.push_back(random.uniform(-1, 1));
         std::copy(a.begin(), a.begin() + d, b.begin());
         addValue(problem, "a", HostArray::of({problem.heads, d}, a));
         addValue(problem, "b", HostArray::of({problem.heads, d}, b));
       }},
      {"two_planes",
       [](int64_t d) {
         std::string n = text(d);
         auto unit = [&](int64_t at, double by) {
           return "[for c < " + n + ": if c == " + text(at) + " then " +
                  std::to_string(by) + " else 0]";
         };
         return scheme("action plane(0.7, a = " + unit(0, 1) + ", b = " +
                       unit(d - 1, 2) + ") * plane(-0.2, a = " + unit(1, 0.5) +
                       ", b = " + unit(d - 2, 1) + ") mask causal");
       },
       plain, nothing},
  };
}

std::vector<SchemeCase> bases() {
  return {
      {"basis",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("param P: f32[" + text(e) + ", " + text(e) +
                       "] orthogonal action basis(adjacent(" + rope(e) +
                       "), columns = P)" + rest(d, e) + " mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         addReflection(problem, 2 * pairsOf(problem), random);
       }},
      {"basis_conditioned",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("param P: f32[" + text(e) + ", " + text(e) +
                       "] condition 5 action basis(split(" + rope(e) +
                       "), columns = P)" + rest(d, e) + " mask causal");
       },
       [](int64_t d) { return Magnitude{4 / std::sqrt(double(d)), 0}; },
       [](Problem &problem, Random &random) {
         addReflection(problem, 2 * pairsOf(problem), random, 4);
       }},
      {"basis_of_decay",
       [](int64_t d) {
         std::string n = text(d);
         return scheme("param P: f32[" + n + ", " + n +
                       "] condition 5 action basis(decay(" + n +
                       ", rate = 0.02), columns = P) mask causal");
       },
       [](int64_t d) { return Magnitude{4 / std::sqrt(double(d)), 0}; },
       [](Problem &problem, Random &random) {
         addReflection(problem, problem.q.shape[3], random, 4);
       }},
      {"basis_by_head",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("param P: f32[" + text(e) + ", " + text(e) +
                       "] orthogonal param w: f32[H, " + text(e / 2) +
                       "] action basis(adjacent(sum p < " + text(e / 2) +
                       ": turn(w[h, p])), columns = P)" + rest(d, e) +
                       " mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         addReflection(problem, 2 * pairsOf(problem), random);
         addParam(problem, "w", {problem.heads, pairsOf(problem)}, -3, 3,
                  random);
       }},
  };
}

} // namespace

std::vector<SchemeCase> planeCases() {
  std::vector<SchemeCase> all = planes(), more = bases();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

} // namespace torsor::test
