// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys that a cache holds raw, in the forms in which decode acts on them.
#include "test/e2e/Schemes.h"

#include <cmath>

namespace torsor::test {
namespace {

std::string text(int64_t n) { return std::to_string(n); }
/// A rotation whose frequencies no cache knows.
std::string byLength(int64_t width) {
  return "rotation(dynamic_ntk(spectrum(" + text(width) +
         ", base = 10_000), factor = 2, trained = 32, length = N))";
}
std::string scheme(const std::string &text) {
  return "scheme x { " + text + " mask causal }";
}
std::string zeros(int64_t width) { return "zero(" + text(width) + ")"; }
Magnitude plain(int64_t) { return {}; }
Magnitude grown(int64_t d) { return {4 / std::sqrt(double(d)), 0}; }
void nothing(Problem &, Random &) {}

std::string nearByHead(int64_t d, const char *layout) {
  std::string p = text(d / 2);
  return scheme("param w: f32[H, " + p +
                "] in -3 .. 3 action if age < 200 then " + layout +
                "(sum p < " + p + ": turn(w[h, p])) else " + zeros(d));
}
void fillByHead(Problem &problem, Random &random) {
  addParam(problem, "w", {problem.heads, problem.q.shape[3] / 2}, -3, 3,
           random);
}

std::vector<SchemeCase> turns() {
  return {
      {"all_lanes",
       [](int64_t d) { return scheme("action adjacent(" + byLength(d) + ")"); },
       plain, nothing},
      {"first_lanes",
       [](int64_t d) {
         return scheme("action split(" + byLength(64) + ") + " + zeros(d - 64));
       },
       plain, nothing},
      {"lanes_between",
       [](int64_t d) {
         return scheme("action zero(32) + adjacent(" + byLength(32) + ") + " +
                       zeros(d - 64));
       },
       plain, nothing},
      {"some_pairs",
       [](int64_t d) {
         std::string p = text(d / 2);
         return scheme("let f = dynamic_ntk(spectrum(" + text(d) +
                       ", base = 10_000), factor = 2, trained = 32, length = "
                       "N) action split(rotation([for p < " +
                       p + ": if p < 5 then 0 else f[p]]))");
       },
       plain, nothing},
      {"gain",
       [](int64_t d) {
         return scheme("action gain(split(" + byLength(d) + "), by = 1.25)");
       },
       [](int64_t d) { return Magnitude{1.6 / std::sqrt(double(d)), 0}; },
       nothing},
      {"two_clocks",
       [](int64_t d) {
         return scheme("clock row, col action split(" + byLength(d) +
                       " at row * rope(" + text(d) + ", base = 100) at col)");
       },
       plain,
       [](Problem &problem, Random &) {
         addPerToken(problem, "row", {}, true,
                     [](int64_t, int64_t token) { return double(token / 40); });
         addPerToken(problem, "col", {}, true,
                     [](int64_t, int64_t token) { return double(token % 40); });
       }},
      {"near_by_head", [](int64_t d) { return nearByHead(d, "split"); }, plain,
       fillByHead},
      {"near_by_head_adjacent",
       [](int64_t d) { return nearByHead(d, "adjacent"); }, plain, fillByHead},
  };
}

std::vector<SchemeCase> fading() {
  return {
      {"turn_and_decay",
       [](int64_t d) { return scheme("action split(xpos(" + text(d) + "))"); },
       plain, nothing},
      {"decay_of_some",
       [](int64_t d) {
         return scheme("action decay(" + text(d - 24) + ", rate = 0.02) + " +
                       zeros(24));
       },
       plain, nothing},
      {"turn_and_decay_by_head",
       [](int64_t d) {
         return scheme("param r: f32[H] in 0 .. 0.1 action adjacent(rope(" +
                       text(d) + ", base = 10_000) * decay(" + text(d) +
                       ", rate = r[h]))");
       },
       plain,
       [](Problem &problem, Random &random) {
         addParam(problem, "r", {problem.heads}, 0, 0.1, random);
       }},
      {"real_steps",
       [](int64_t d) {
         return scheme("clock pos: f64 in 0 .. 1e6 action adjacent(rope(" +
                       text(d) + ", base = 10_000) * decay(" + text(d) +
                       ", rate = 0.02))");
       },
       plain,
       [](Problem &problem, Random &) {
         // Steps of another length from key 520 on.
         addPerToken(problem, "pos", {}, false, [](int64_t, int64_t token) {
           return 0.5 * double(token) +
                  0.25 * double(std::max<int64_t>(token - 520, 0));
         });
       }},
      {"chain",
       [](int64_t d) {
         return scheme("action (sum b < " + text(d / 3) +
                       ": jordan(decay(1, rate = 0.1), order = 3, couple = "
                       "0.05))");
       },
       grown, nothing},
      {"chain_of_pairs",
       [](int64_t d) {
         return scheme("action adjacent(sum b < " + text(d / 4) +
                       ": jordan(turn(0.7 / (b + 1)) * decay(2, rate = 0.05 * "
                       "(b + 1)), order = 2, couple = 0.1))");
       },
       grown, nothing},
  };
}

} // namespace

std::vector<SchemeCase> rawKeyCases() {
  std::vector<SchemeCase> all = turns();
  for (const SchemeCase &scheme : fading())
    all.push_back(scheme);
  return all;
}

} // namespace torsor::test
