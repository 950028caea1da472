// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes of actions beyond rotations of constant frequencies: frequencies of
// heads, products, running clocks, regions, blocks that fade.
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

void addPlaces(Problem &problem, Random &random) {
  for (const char *name : {"row", "col"})
    addPerToken(problem, name, {}, true, [&](int64_t, int64_t) {
      return double(random.between(0, 900));
    });
}

std::vector<SchemeCase> frequencies() {
  return {
      {"turns_by_head",
       [](int64_t d) {
         int64_t p = d / 2;
         return scheme("param w: f32[H, " + text(p) +
                       "] in -3 .. 3 action split(sum p < " + text(p) +
                       ": turn(w[h, p]))" + rest(d, 2 * p) + " mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         addParam(problem, "w", {problem.heads, pairsOf(problem)}, -3, 3,
                  random);
       }},
      {"mixed",
       [](int64_t d) {
         std::string p = text(d / 2);
         return scheme("clock row, col param w: f32[H, 2, " + p +
                       "] in -3 .. 3 action adjacent((sum p < " + p +
                       ": turn(w[h, 0, p])) at row * (sum p < " + p +
                       ": turn(w[h, 1, p])) at col)" + rest(d, d / 2 * 2) +
                       " mask all");
       },
       plain,
       [](Problem &problem, Random &random) {
         addParam(problem, "w", {problem.heads, 2, pairsOf(problem)}, -3, 3,
                  random);
         addPlaces(problem, random);
       }},
      {"product_of_clocks",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("clock row, col action split(" + rope(e) +
                       " at row * rotation([for p < " + text(e / 2) +
                       ": 0.3 / (p + 1)]) at col)" + rest(d, e) +
                       " mask causal");
       },
       plain, addPlaces},
  };
}

/// A bias by the sum of forget gates, of each query or each key head.
template <bool byQuery> SchemeCase fox(const char *name) {
  return {
      name,
      [](int64_t d) {
        return scheme("head " + text(d) + " input log_f: f32[" +
                      (byQuery ? "H" : "G") +
                      "] per token in -0.2 .. 0 clock tau = sum l <= j: "
                      "log_f[l, " +
                      (byQuery ? "h" : "g") + "] bias age(tau) mask causal");
      },
      [](int64_t) { return Magnitude{0, 420}; },
      [](Problem &problem, Random &random) {
        int64_t heads = byQuery ? problem.heads : problem.groups;
        addPerToken(problem, "log_f", {heads}, false,
                    [&](int64_t, int64_t) { return random.uniform(-0.2, 0); });
      }};
}

std::vector<SchemeCase> runningClocks() {
  return {
      fox<true>("fox"),
      fox<false>("fox_by_key_head"),
      {"contextual_phase",
       [](int64_t d) {
         int64_t p = d / 2;
         return scheme("input gate: f32[H] per token param w: f32[H, " +
                       text(p) +
                       "] in -3 .. 3 clock phi = sum l < j: sigmoid(gate[l, h] "
                       "/ 16) action split(sum p < " +
                       text(p) + ": turn(w[h, p])) at phi" + rest(d, 2 * p) +
                       " mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         addParam(problem, "w", {problem.heads, pairsOf(problem)}, -3, 3,
                  random);
         addPerToken(problem, "gate", {problem.heads}, false,
                     [&](int64_t, int64_t) { return random.uniform(-9, 9); });
       }},
      {"running_steps",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("input step: f32 per token in 0 .. 3 clock c = sum l <= "
                       "j: step[l] action split(" +
                       rope(e) + " at c)" + rest(d, e) + " mask all");
       },
       plain,
       [](Problem &problem, Random &random) {
         addPerToken(problem, "step", {}, false,
                     [&](int64_t, int64_t) { return random.uniform(0, 3); });
       }},
  };
}

std::vector<SchemeCase> regions() {
  return {
      {"rerope",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("let r = " + rope(e) +
                       " action split(if age < 20 then r else r at (q = 20, k "
                       "= 0))" +
                       rest(d, e) + " mask causal");
       },
       plain, nothing},
      {"leaky_rerope",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("let r = " + rope(e) +
                       " action split(if age < 40 then r else r at (q = (s + "
                       "40 * 3) / 4, k = t / 4))" +
                       rest(d, e) + " mask causal");
       },
       plain, nothing},
      {"self_extend",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("let r = " + rope(e) +
                       " action split(if age < 16 then r else r at (q = s div "
                       "4 + 12, k = t div 4))" +
                       rest(d, e) + " mask causal");
       },
       plain, nothing},
      {"dual_chunk",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme(
             "let r = " + rope(e) +
             " action split(if s div 24 == t div 24 then r at (q = s mod 24, k "
             "= t mod 24) else if s div 24 == t div 24 + 1 then r at (q = "
             "min(s mod 24 + 24, 31), k = t mod 24) else r at (q = 31, k = t "
             "mod 24))" +
             rest(d, e) + " mask causal");
       },
       plain, nothing},
      {"region_of_documents",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("input doc: i32 per token let r = " + rope(e) +
                       " action split(if doc[i] == doc[j] then r else zero(" +
                       text(e) + "))" + rest(d, e) + " mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         int64_t size = random.between(1, 90);
         addPerToken(problem, "doc", {}, true, [=](int64_t, int64_t token) {
           return double(token / size);
         });
       }},
  };
}

std::vector<SchemeCase> fading() {
  // Chains grow before they fade; the norm of exp(delta X) stays below this.
  auto grown = [](int64_t d) { return Magnitude{4 / std::sqrt(double(d)), 0}; };
  return {
      {"decay",
       [](int64_t d) {
         return scheme("action decay(" + text(d) +
                       ", rate = 0.03) mask "
                       "causal");
       },
       plain, nothing},
      {"decay_fast",
       [](int64_t d) {
         return scheme("action decay(" + text(d) + ", rate = 2.5) mask causal");
       },
       plain, nothing},
      {"decay_by_head",
       [](int64_t d) {
         return scheme("param r: f32[H] in 0 .. 1 action decay(" + text(d) +
                       ", rate = r[h]) mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         addParam(problem, "r", {problem.heads}, 0, 1, random);
       }},
      {"xpos",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("action adjacent(xpos(" + text(e) + "))" + rest(d, e) +
                       " mask causal");
       },
       plain, nothing},
      {"wall",
       [](int64_t d) {
         std::string n = text(d);
         return scheme("head " + n + " input gate: f32[H, " + n +
                       "] per token in -inf .. 0 clock tau[c < " + n +
                       "] = sum l <= j: -gate[l, h, c] action sum c < " + n +
                       ": decay(1, rate = log(2)) at tau[c] mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         addPerToken(problem, "gate", {problem.heads, problem.q.shape[3]},
                     false,
                     [&](int64_t, int64_t) { return random.uniform(-0.4, 0); });
       }},
      {"jordan_real",
       [](int64_t d) {
         int64_t n = d / 3;
         return scheme("action (sum b < " + text(n) +
                       ": jordan(decay(1, rate = 0.1), order = 3, couple = "
                       "0.05))" +
                       rest(d, 3 * n) + " mask causal");
       },
       grown, nothing},
      {"jordan_complex",
       [](int64_t d) {
         int64_t n = d / 4;
         return scheme("action adjacent(sum b < " + text(n) +
                       ": jordan(turn(0.7 / (b + 1)) * decay(2, rate = 0.05 * "
                       "(b + 1)), order = 2, couple = 0.1))" +
                       rest(d, 4 * n) + " mask causal");
       },
       grown, nothing},
      {"jordan_split",
       [](int64_t d) {
         int64_t n = d / 4;
         return scheme("action split(sum b < " + text(n) +
                       ": jordan(turn(0.3) * decay(2, rate = 1), order = 2))" +
                       rest(d, 4 * n) + " mask causal");
       },
       grown, nothing},
  };
}

std::vector<SchemeCase> valueActions() {
  return {
      {"value_turn",
       [](int64_t d) {
         int64_t e = d / 2 * 2;
         return scheme("action split(" + rope(e) + ")" + rest(d, e) +
                       " let a = split(sum p < V div 2: turn(0.9 / (p + 1))) "
                       "value_action if V mod 2 == 0 then a else a + zero(1) "
                       "sink 0.5 mask causal");
       },
       [](int64_t) { return Magnitude{0, 1}; }, nothing},
      {"value_turn_by_head",
       [](int64_t d) {
         return scheme("head " + text(d) +
                       " param w: f32[H] in -1 .. 1 let a = adjacent(sum p < V "
                       "div 2: turn(w[h])) value_action if V mod 2 == 0 then a "
                       "else a + zero(1) mask last(50)");
       },
       plain,
       [](Problem &problem, Random &random) {
         addParam(problem, "w", {problem.heads}, -1, 1, random);
       }},
  };
}

} // namespace

std::vector<SchemeCase> actionCases() {
  std::vector<SchemeCase> all = frequencies();
  for (auto list : {runningClocks(), regions(), fading(), planeCases(),
                    valueActions(), fadingRegionCases()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

} // namespace torsor::test
