// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Norms, gains by lane, and terms that read the vectors of tokens.
#include "test/e2e/Schemes.h"

#include <cmath>

namespace torsor::test {
namespace {

std::string text(int64_t n) { return std::to_string(n); }

std::string scheme(int64_t d, const std::string &body) {
  return "scheme x { head " + text(d) + " " + body + " }";
}

/// A rotation of all lanes, or of all but the last.
std::string rope(int64_t d) {
  int64_t even = d / 2 * 2;
  std::string turned =
      even == 2 ? "turn(0.7)" : "rope(" + text(even) + ", base = 10_000)";
  return "split(" + turned + ")" + (d % 2 ? " + zero(1)" : "");
}

int64_t widthOf(const Problem &problem) { return problem.q.shape[3]; }

/// Normed vectors are longer than those drawn from [-1, 1): by a factor of
/// sqrt(3) and what few lanes leave to chance, on either side.
Magnitude normed(int64_t d) { return {6 / std::sqrt(double(d)), 0}; }
Magnitude biased(int64_t) { return {0, 40}; }
void nothing(Problem &, Random &) {}

void weights(Problem &problem, Random &random) {
  for (const char *name : {"wq", "wk"})
    addParam(problem, name, {widthOf(problem)}, 0.5, 1.5, random);
}

std::vector<SchemeCase> norms() {
  return {
      {"norm_rms",
       [](int64_t d) {
         return scheme(d, "norm rms(eps = 1e-6) action " + rope(d) +
                              " mask causal");
       },
       normed, nothing},
      {"norm_weighted",
       [](int64_t d) {
         return scheme(d, "param wq, wk: f32[D] norm rms(q = wq, k = wk, eps = "
                          "1e-5) action " +
                              rope(d) + " mask causal");
       },
       [](int64_t d) { return Magnitude{13 / std::sqrt(double(d)), 0}; },
       weights},
      {"norm_alone",
       [](int64_t d) { return scheme(d, "norm l2 scale 9 mask last(40)"); },
       [](int64_t d) { return Magnitude{60.0 / d, 0}; }, nothing},
      {"norm_raw",
       [](int64_t d) {
         return scheme(d, "clock rank: i32 moving norm rms(eps = 1e-6) "
                          "action (" +
                              rope(d) + ") at rank mask causal");
       },
       normed,
       [](Problem &problem, Random &random) {
         addPerToken(problem, "rank", {}, true, [&](int64_t, int64_t token) {
           return double(token + random.between(0, 3));
         });
       }},
      {"gain_by_lane",
       [](int64_t d) {
         std::string lanes = "[for p < " + text(d) + ": ";
         return scheme(d, "param wq, wk: f32[D] norm rms(eps = 1e-6) "
                          "action gain(" +
                              rope(d) + ", q = " + lanes +
                              "wq[p]], k = " + lanes + "wk[p]]) mask causal");
       },
       [](int64_t d) { return Magnitude{13 / std::sqrt(double(d)), 0}; },
       weights},
      {"gain_by_lane_alone",
       [](int64_t d) {
         std::string lanes = "[for p < " + text(d) + ": ";
         return scheme(d, "param wq, wk: f32[D] action gain(" + rope(d) +
                              ", q = " + lanes + "wq[p]], k = " + lanes +
                              "wk[p]]) mask causal");
       },
       [](int64_t d) { return Magnitude{2.25 / std::sqrt(double(d)), 0}; },
       weights},
  };
}

/// Params r [H, rows, D], u and w [H, D].
template <int64_t rows> void relative(Problem &problem, Random &random) {
  int64_t d = widthOf(problem);
  addParam(problem, "r", {problem.heads, rows, d}, -1, 1, random);
  for (const char *name : {"u", "w"})
    addParam(problem, name, {problem.heads, d}, -1, 1, random);
}

const std::string tablesOfAge =
    "param near: f32[9] param far: f32[H, 9] param bucket: i32[40] in 0 .. 8 "
    "let row = bucket[clamp(age, 0, 39)] ";

void addTablesOfAge(Problem &problem, Random &random) {
  addParam(problem, "near", {9}, -1, 1, random);
  addParam(problem, "far", {problem.heads, 9}, -1, 1, random);
  addParam(problem, "bucket", {40}, 0, 8, random);
}

std::vector<SchemeCase> contents() {
  return {
      {"shaw_keys",
       [](int64_t d) {
         return scheme(d, "param rel_k: f32[33, D] "
                          "bias dot(q[i], rel_k[clamp(delta, -16, 16) + 16]) "
                          "/ sqrt(D) mask all");
       },
       biased,
       [](Problem &problem, Random &random) {
         addParam(problem, "rel_k", {33, widthOf(problem)}, -1, 1, random);
       }},
      {"shaw",
       [](int64_t d) {
         return scheme(d, "param rel_k: f32[33, D] param rel_v: f32[33, V] "
                          "let row = clamp(delta, -16, 16) + 16 "
                          "bias dot(q[i], rel_k[row]) / sqrt(D) "
                          "value_bias rel_v[row] mask all");
       },
       biased,
       [](Problem &problem, Random &random) {
         addParam(problem, "rel_k", {33, widthOf(problem)}, -1, 1, random);
         addParam(problem, "rel_v", {33, problem.v.shape[3]}, -1, 1, random);
       }},
      {"value_of_table",
       [](int64_t d) {
         return scheme(d, "param extra: f32[H, 9, V] value_bias extra[h, j mod "
                          "9] mask last(77)");
       },
       [](int64_t) { return Magnitude{0, 0}; },
       [](Problem &problem, Random &random) {
         addParam(problem, "extra", {problem.heads, 9, problem.v.shape[3]}, -1,
                  1, random);
       }},
      {"tables_of_age", // some of them the same for all heads
       [](int64_t d) {
         return scheme(d, tablesOfAge + "bias near[row] * far[h, row] mask "
                                        "causal");
       },
       biased, addTablesOfAge},
      {"tables_in_logit",
       [](int64_t d) {
         return scheme(d, tablesOfAge +
                              "logit score / sqrt(D) * (1 + near[clamp(row - "
                              "1, 0, 8)] / 4) + far[h, row] mask causal");
       },
       [](int64_t d) { return Magnitude{1.25 / std::sqrt(double(d)), 40}; },
       addTablesOfAge},
      {"xlnet",
       [](int64_t d) {
         return scheme(d, "param u, w: f32[H, D] param r: f32[H, 64, D] "
                          "let row = clamp(32 - age, 0, 63) "
                          "bias (dot(u[h], k[j]) + dot(q[i], r[h, row]) + "
                          "dot(w[h], r[h, row])) / sqrt(D) mask all");
       },
       biased, relative<64>},
      {"transformer_xl",
       [](int64_t d) {
         return scheme(d, "param u, w: f32[H, D] param r: f32[H, 700, D] "
                          "let row = clamp(age, 0, 699) "
                          "bias (dot(u[h], k[j]) + dot(q[i], r[h, row]) + "
                          "dot(w[h], r[h, row])) / sqrt(D) mask causal");
       },
       biased, relative<700>},
      {"deberta",
       [](int64_t d) {
         return scheme(d, "param to_k, to_q: f32[H, 40, D] "
                          "let row = clamp(age + 20, 0, 39) "
                          "scale 1 / sqrt(3 * D) bias (dot(q[i], to_k[h, row]) "
                          "+ dot(k[j], to_q[h, row])) / sqrt(3 * D) mask all");
       },
       biased,
       [](Problem &problem, Random &random) {
         for (const char *name : {"to_k", "to_q"})
           addParam(problem, name, {problem.heads, 40, widthOf(problem)}, -1, 1,
                    random);
       }},
      {"two_indices",
       [](int64_t d) {
         return scheme(d, "param r: f32[5, 7, D] bias 0.25 * dot(k[j], r[i mod "
                          "5, j mod 7]) mask causal");
       },
       biased,
       [](Problem &problem, Random &random) {
         addParam(problem, "r", {5, 7, widthOf(problem)}, -1, 1, random);
       }},
      {"grape_a",
       [](int64_t d) {
         return scheme(d, "param u, w: f32[H, D] param slope: f32[H] in 0 .. 1 "
                          "let gates = softplus(dot(w[h], q[i]) / sqrt(D)) + "
                          "softplus(dot(u[h], k[j]) / sqrt(D)) "
                          "bias delta * slope[h] * gates mask causal");
       },
       [](int64_t) { return Magnitude{0, 200}; },
       [](Problem &problem, Random &random) {
         for (const char *name : {"u", "w"})
           addParam(problem, name, {problem.heads, widthOf(problem)}, -1, 1,
                    random);
         addParam(problem, "slope", {problem.heads}, 0.01, 0.1, random);
       }},
      {"scale_of_query",
       [](int64_t d) {
         return scheme(d, "scale (1 + 0.5 * tanh(q[i][0])) / sqrt(D) action " +
                              rope(d) + " mask causal");
       },
       [](int64_t d) { return Magnitude{1.5 / std::sqrt(double(d)), 0}; },
       nothing},
      {"lanes",
       [](int64_t d) {
         return scheme(d, "action " + rope(d) + " bias 2 * q[i][0] * k[j][" +
                              text(d - 1) + "] + k[j][0] mask causal");
       },
       [](int64_t) { return Magnitude{0, 3}; }, nothing},
      {"normed_contents",
       [](int64_t d) {
         return scheme(d, "norm rms(eps = 1e-6) bias 0.5 * k[j][0] - q[i][" +
                              text(d - 1) + "] * k[j][0] mask causal");
       },
       [](int64_t d) { return Magnitude{6 / std::sqrt(double(d)), 30}; },
       nothing},
  };
}

/// Integers to a power that is not constant: per pair, per row and per head,
/// with results that wrap, and in a mask.
std::vector<SchemeCase> powers() {
  return {
      {"power_of_minus_one",
       [](int64_t d) {
         return scheme(d, "action " + rope(d) +
                              " bias (-1) ^ (i + j + h) mask causal");
       },
       biased, nothing},
      {"power_wraps",
       [](int64_t d) {
         return scheme(d, "bias ((j mod 9 - 4) ^ (i mod 150)) div 2 ^ 60 + "
                          "(3 ^ (j + h)) div 2 ^ 60 + 0 ^ j mask causal");
       },
       biased, nothing},
      {"power_of_param",
       [](int64_t d) {
         return scheme(d, "param c: i64 in -3 .. 3 bias c ^ (j mod 3) + (j mod "
                          "64) ^ (age mod 2) / 64 sink (-2) ^ (i mod 3) scale "
                          "c ^ (h mod 2) / sqrt(D) mask window(70)");
       },
       [](int64_t d) { return Magnitude{3 / std::sqrt(double(d)), 80}; },
       [](Problem &problem, Random &) {
         addValue(problem, "c", HostArray::of({}, std::vector<int64_t>{-3}));
       }},
      {"power_in_mask",
       [](int64_t d) {
         return scheme(d, "action " + rope(d) +
                              " mask causal and (-1) ^ j == 1 and (j mod 5) ^ "
                              "(i mod 4) < 30");
       },
       [](int64_t) { return Magnitude{}; }, nothing},
  };
}

} // namespace

std::vector<SchemeCase> pathCases() {
  return {
      {"cope",
       [](int64_t d) {
         return scheme(
             d, "param e: f32[64, D] "
                "let p = clamp(sum l in j .. i: sigmoid(dot(q[i], k[l])), 0, "
                "63) let n = clamp(floor(p), 0, 62) "
                "bias 0.25 * ((n + 1 - p) * dot(q[i], e[n]) + (p - n) * "
                "dot(q[i], e[n + 1])) mask causal");
       },
       [](int64_t) { return Magnitude{0, 2000}; },
       [](Problem &problem, Random &random) {
         addParam(problem, "e", {64, widthOf(problem)}, -1, 1, random);
       }},
      {"path_of_gates",
       [](int64_t d) {
         return scheme(d, "input gate: f32[H] per token in 0 .. 1 bias -(sum l "
                          "in j + 1 .. i: gate[l, h]) action " +
                              rope(d) + " mask last(300)");
       },
       [](int64_t) { return Magnitude{0, 60}; },
       [](Problem &problem, Random &random) {
         addPerToken(problem, "gate", {problem.heads}, false,
                     [&](int64_t, int64_t) { return random.uniform(0, 0.1); });
       }},
      {"path_of_both_sides",
       [](int64_t d) {
         return scheme(d, "input gate: f32[H] per token in 0 .. 1 bias -(sum l "
                          "in j .. i: gate[l, h]) action " +
                              rope(d) + " mask all");
       },
       [](int64_t) { return Magnitude{0, 60}; },
       [](Problem &problem, Random &random) {
         addPerToken(problem, "gate", {problem.heads}, false,
                     [&](int64_t, int64_t) { return random.uniform(0, 0.1); });
       }},
      {"path_of_scores",
       [](int64_t d) {
         return scheme(d, "bias -0.1 * (sum l in j + 1 .. i: sigmoid(dot(q[i], "
                          "k[l]) / sqrt(D))) mask window(90, right = 7)");
       },
       [](int64_t) { return Magnitude{0, 20}; }, nothing},
      {"grape_ap",
       [](int64_t d) {
         return scheme(
             d, "input p: f32[4] per token param alpha: f32[H] in 0 .. 1 "
                "bias sum l in j + 1 .. i: -alpha[h] * softplus(-(sum c < 2: "
                "p[i, 2 * c] * (cos(pos[l]) * p[l, 2 * c] - sin(pos[l]) * p[l, "
                "2 * c + 1]) + p[i, 2 * c + 1] * (sin(pos[l]) * p[l, 2 * c] + "
                "cos(pos[l]) * p[l, 2 * c + 1])) / 4) mask causal");
       },
       [](int64_t) { return Magnitude{0, 400}; },
       [](Problem &problem, Random &random) {
         addPerToken(problem, "p", {4}, false,
                     [&](int64_t, int64_t) { return random.uniform(-1, 1); });
         addParam(problem, "alpha", {problem.heads}, 0.02, 0.1, random);
       }},
  };
}

std::vector<SchemeCase> termCases() {
  std::vector<SchemeCase> all = norms();
  for (auto list : {contents(), powers()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

} // namespace torsor::test
