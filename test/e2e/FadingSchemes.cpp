// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What fades: under gains, in windows of positions, in some regions of
// displacement.
#include "test/e2e/Schemes.h"

#include <cmath>

namespace torsor::test {
namespace {

std::string text(int64_t n) { return std::to_string(n); }

/// Branches of `width` lanes; the lanes that are left have no position.
std::string scheme(int64_t d, int64_t width, const std::string &before,
                   const std::string &chosen) {
  std::string rest = d > width ? " + zero(" + text(d - width) + ")" : "";
  return "scheme x { " + before + " action (" + chosen + ")" + rest +
         " mask causal }";
}
std::string turned(int64_t width) {
  return width == 2 ? "split(turn(0.7))"
                    : "split(rope(" + text(width) + ", base = 10_000))";
}
Magnitude plain(int64_t) { return {}; }
void nothing(Problem &, Random &) {}

} // namespace

std::vector<SchemeCase> fadingRegionCases() {
  return {
      {"gain_on_decay",
       [](int64_t d) {
         return scheme(d, d, "",
                       "gain(decay(" + text(d) + ", rate = 0.03), by = 1.25)");
       },
       [](int64_t d) { return Magnitude{1.6 / std::sqrt(double(d)), 0}; },
       nothing},
      {"gain_on_chain",
       [](int64_t d) {
         return scheme(d, d / 2 * 2, "",
                       "gain(sum b < " + text(d / 2) +
                           ": jordan(decay(1, rate = 0.2), order = 2, couple = "
                           "0.1), by = 1.25)");
       },
       [](int64_t d) { return Magnitude{6.4 / std::sqrt(double(d)), 0}; },
       nothing},
      {"decay_in_a_window_of_positions",
       [](int64_t d) {
         return "scheme x { action decay(" + text(d) +
                ", rate = 0.03) mask causal and s - t < 50 }";
       },
       plain, nothing},
      {"region_near_and_far_fade",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme(d, e, "",
                       "if age < 20 then " + turned(e) + " * decay(" + text(e) +
                           ", rate = 0.03) else decay(" + text(e) +
                           ", rate = 0.01)");
       },
       plain, nothing},
      {"region_one_fades",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme(d, e, "",
                       "if age < 16 then " + turned(e) + " else decay(" +
                           text(e) + ", rate = 0.2)");
       },
       plain, nothing},
      {"region_mixed_everywhere",
       [](int64_t d) {
         return scheme(d, d, "",
                       "if (i + 3 * j) mod 5 < 2 then decay(" + text(d) +
                           ", rate = 0.1) else decay(" + text(d) +
                           ", rate = 2)");
       },
       plain, nothing},
      {"region_chain",
       [](int64_t d) {
         int64_t n = d / 2;
         return scheme(d, 2 * n, "",
                       "if age < 40 then (sum b < " + text(n) +
                           ": jordan(decay(1, rate = 0.2), order = 2, couple = "
                           "0.1)) else " +
                           turned(2 * n));
       },
       [](int64_t d) { return Magnitude{4 / std::sqrt(double(d)), 0}; },
       nothing},
      {"region_of_gates",
       [](int64_t d) {
         return scheme(d, d,
                       "input gate: f32 per token in 0 .. 1 clock tau = sum l "
                       "<= j: gate[l]",
                       "if age < 30 then decay(" + text(d) +
                           ", rate = 1) at tau else zero(" + text(d) + ")");
       },
       plain,
       [](Problem &problem, Random &random) {
         addPerToken(problem, "gate", {}, false,
                     [&](int64_t, int64_t) { return random.uniform(0, 0.1); });
       }},
  };
}

} // namespace torsor::test
