// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes of every kind that kernels exist for.
#include "test/e2e/Schemes.h"

#include <cmath>

namespace torsor::test {
namespace {

std::string text(int64_t n) { return std::to_string(n); }

/// A rotation of as many lanes as a layout can have, the others at rest.
std::string rope(int64_t d, const char *layout) {
  int64_t even = d / 2 * 2;
  std::string rest = "zero(" + text(d - even) + ")";
  if (even == 0)
    return rest;
  std::string turned =
      std::string(layout) + "(" +
      (even == 2 ? "turn(0.7)" : "rope(" + text(even) + ", base = 10_000)") +
      ")";
  return even == d ? turned : turned + " + " + rest;
}

std::string scheme(const std::string &body) {
  return "scheme x { " + body + " }";
}
std::string head(int64_t d) { return "head " + text(d) + " "; }

Magnitude plain(int64_t) { return {}; }
void nothing(Problem &, Random &) {}

void perHead(Problem &problem, const char *name, int64_t extent, double low,
             double high, Random &random) {
  std::vector<double> data;
  std::vector<int64_t> shape = {problem.heads};
  if (extent)
    shape.push_back(extent);
  for (int64_t n = 0; n < problem.heads * std::max<int64_t>(extent, 1); ++n)
    data.push_back(random.uniform(low, high));
  addValue(problem, name, HostArray::of(shape, data));
}

/// The longest run of keys, for a bias that grows with distance.
constexpr double longest = 2100;

std::vector<SchemeCase> actions() {
  return {
      {"nope", [](int64_t d) { return scheme(head(d) + "mask causal"); }, plain,
       nothing},
      {"rope_split",
       [](int64_t d) {
         return scheme("action " + rope(d, "split") + " mask causal");
       },
       plain, nothing},
      {"rope_adjacent",
       [](int64_t d) {
         return scheme("action " + rope(d, "adjacent") + " mask causal");
       },
       plain, nothing},
      {"partial",
       [](int64_t d) {
         int64_t half = d / 4 * 2;
         return scheme("action " + rope(half ? half : d, "split") +
                       (half ? " + zero(" + text(d - half) + ")" : "") +
                       " mask causal");
       },
       plain, nothing},
      {"rope_last",
       [](int64_t d) {
         int64_t half = d / 4 * 2;
         return scheme("action " +
                       (half ? "zero(" + text(d - half) + ") + " : "") +
                       rope(half ? half : d, "adjacent") + " mask causal");
       },
       plain, nothing},
      {"gain_both",
       [](int64_t d) {
         return scheme("action gain(" + rope(d, "split") +
                       ", by = 1.25) mask causal");
       },
       [](int64_t d) { return Magnitude{1.5625 / std::sqrt(double(d)), 0}; },
       nothing},
      {"clockwise",
       [](int64_t d) {
         int64_t pairs = d / 2;
         return scheme(pairs ? "action split(rotation([for p < " + text(pairs) +
                                   ": -3.0 ^ (-p / 4)]))" +
                                   (d % 2 ? " + zero(1)" : "") + " mask causal"
                             : head(d) + "mask causal");
       },
       plain, nothing},
      {"learned",
       [](int64_t d) {
         int64_t pairs = std::max<int64_t>(d / 2, 1);
         return scheme("param f: f32[" + text(pairs) + "] in -8 .. 8 " +
                       (d < 2
                            ? head(d) + "bias 0 * f[0]"
                            : "action split(rotation([for p < " + text(pairs) +
                                  ": f[p]]))" + (d % 2 ? " + zero(1)" : "")) +
                       " mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         std::vector<double> f;
         for (int64_t n = 0; n < std::max<int64_t>(problem.q.shape[3] / 2, 1);
              ++n)
           f.push_back(random.uniform(-8, 8));
         addValue(problem, "f", HostArray::of({int64_t(f.size())}, f));
       }},
      {"by_length",
       [](int64_t d) {
         int64_t even = d / 2 * 2;
         return scheme(even < 4
                           ? "action " + rope(d, "split") + " mask causal"
                           : "action split(rotation(dynamic_ntk(spectrum(" +
                                 text(even) +
                                 ", base = 10_000), factor = 2, trained = 32, "
                                 "length = N)))" +
                                 (d % 2 ? " + zero(1)" : "") + " mask causal");
       },
       plain, nothing},
      {"two_clocks",
       [](int64_t d) {
         int64_t quarter = d / 4 * 2;
         if (quarter < 2)
           return scheme("clock row " + head(d) +
                         "bias -0.01 * abs(age(row)) mask causal");
         std::string turned = quarter == 2
                                  ? "turn(0.3)"
                                  : "rope(" + text(quarter) + ", base = 100)";
         return scheme(
             "clock row, col action split(" + turned + " at row + " + turned +
             " at col)" +
             (d > 2 * quarter ? " + zero(" + text(d - 2 * quarter) + ")" : "") +
             " mask all");
       },
       [](int64_t) { return Magnitude{0, 10}; },
       [](Problem &problem, Random &random) {
         for (const char *name : {"row", "col"})
           addPerToken(problem, name, {}, true, [&](int64_t, int64_t) {
             return double(random.between(0, 900));
           });
       }},
      {"real_time",
       [](int64_t d) {
         return scheme("clock pos: f64 in 0 .. 1e6 action " + rope(d, "split") +
                       " mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         addPerToken(problem, "pos", {}, false, [&](int64_t, int64_t token) {
           return 37.25 * double(token) + random.uniform(0, 30);
         });
       }},
      // Milliseconds since 1970, turned by many turns each.
      {"fast_real_time",
       [](int64_t d) {
         std::string turns = "[for p < " + text(d / 2) + ": 100 / (1 + 7 * p)]";
         return scheme("clock pos: f64 " +
                       (d < 2 ? head(d)
                              : "action split(rotation(" + turns + "))" +
                                    (d % 2 ? " + zero(1)" : "")) +
                       " mask causal");
       },
       plain,
       [](Problem &problem, Random &random) {
         addPerToken(problem, "pos", {}, false, [&](int64_t, int64_t token) {
           return 1.7e12 + 20 * double(token) + random.uniform(0, 19);
         });
       }},
  };
}

std::vector<SchemeCase> terms() {
  return {
      {"alibi",
       [](int64_t d) {
         return scheme(head(d) +
                       "bias -alibi_slope(h, heads = H) * age mask causal");
       },
       [](int64_t) { return Magnitude{0, longest}; }, nothing},
      {"alibi_both_ways",
       [](int64_t d) {
         return scheme(head(d) + "bias -0.125 * abs(age) mask all");
       },
       [](int64_t) { return Magnitude{0, longest / 8}; }, nothing},
      {"kerple",
       [](int64_t d) {
         return scheme(head(d) + "bias -0.8 * log1p(0.3 * age) mask causal");
       },
       [](int64_t) { return Magnitude{0, 6}; }, nothing},
      {"t5",
       [](int64_t d) {
         return scheme(head(d) + "scale 0.25 param table: f32[H, 32] bias "
                                 "table[h, t5_bucket(age)] mask causal");
       },
       [](int64_t) { return Magnitude{0.25, 2}; },
       [](Problem &problem, Random &random) {
         perHead(problem, "table", 32, -2, 2, random);
       }},
      {"cap_and_sink",
       [](int64_t d) {
         return scheme("param w: f32[H] action " + rope(d, "split") +
                       " softcap 2 sink w[h] mask causal");
       },
       [](int64_t) { return Magnitude{0, 3}; },
       [](Problem &problem, Random &random) {
         perHead(problem, "w", 0, -2, 2, random);
       }},
      {"cap_and_bias",
       [](int64_t d) {
         return scheme(head(d) + "softcap 1.5 bias -0.25 * age sink 0.5 mask "
                                 "causal");
       },
       [](int64_t) { return Magnitude{0, longest / 4}; }, nothing},
      {"log_n",
       [](int64_t d) {
         return scheme("action " + rope(d, "adjacent") +
                       " scale log_n(64) / sqrt(D) mask causal");
       },
       [](int64_t d) { return Magnitude{2 / std::sqrt(double(d)), 0}; },
       nothing},
      {"per_group",
       [](int64_t d) {
         return scheme(head(d) +
                       "param w: f32[G] bias w[g] * (if j mod 3 == 0 then 1 "
                       "else -1) mask causal");
       },
       [](int64_t) { return Magnitude{0, 2}; },
       [](Problem &problem, Random &random) {
         std::vector<double> w;
         for (int64_t n = 0; n < problem.groups; ++n)
           w.push_back(random.uniform());
         addValue(problem, "w", HostArray::of({problem.groups}, w));
       }},
      {"gate_of_token",
       [](int64_t d) {
         return scheme(head(d) + "input gate: f32[H] per token in -4 .. 4 bias "
                                 "gate[j, h] - 0.5 * gate[i, h] mask causal");
       },
       [](int64_t) { return Magnitude{0, 6}; },
       [](Problem &problem, Random &random) {
         addPerToken(problem, "gate", {problem.heads}, false,
                     [&](int64_t, int64_t) { return random.uniform(-4, 4); });
       }},
  };
}

/// Documents of 100 to 300 tokens, the first one cut.
void longDocuments(Problem &problem, Random &random) {
  int64_t size = random.between(100, 300), cut = random.between(0, size - 1);
  addPerToken(problem, "doc", {}, true, [=](int64_t, int64_t token) {
    return double((token + cut) / size);
  });
}

std::vector<SchemeCase> masks() {
  return {
      {"window",
       [](int64_t d) {
         return scheme("action " + rope(d, "split") + " mask last(100)");
       },
       plain, nothing},
      {"window_of_one",
       [](int64_t d) { return scheme(head(d) + "mask last(1)"); }, plain,
       nothing},
      {"both_ways",
       [](int64_t d) { return scheme(head(d) + "mask window(5, right = 7)"); },
       plain, nothing},
      {"all", [](int64_t d) { return scheme(head(d) + "mask all"); }, plain,
       nothing},
      {"only_later", [](int64_t d) { return scheme(head(d) + "mask j > i"); },
       plain, nothing},
      {"chunks",
       [](int64_t d) {
         return scheme("action " + rope(d, "split") +
                       " mask causal and chunk(64)");
       },
       plain, nothing},
      {"first_and_window",
       [](int64_t d) {
         return scheme(head(d) + "mask causal and (i - j < 64 or j < 4)");
       },
       plain, nothing},
      {"dilated",
       [](int64_t d) {
         return scheme(head(d) + "mask causal and (i - j) mod 7 == 0");
       },
       plain, nothing},
      {"packed",
       [](int64_t d) {
         return scheme("input doc: i32 per token action " + rope(d, "split") +
                       " mask causal and doc[i] == doc[j]");
       },
       plain,
       [](Problem &problem, Random &random) {
         int64_t size = random.between(1, 90);
         addPerToken(problem, "doc", {}, true, [=](int64_t, int64_t token) {
           return double(token / size);
         });
       }},
      // Blocks of rows and tiles of keys hold the ends of some.
      {"documents",
       [](int64_t d) {
         return scheme(head(d) + "input doc: i32 per token mask doc[i] == "
                                 "doc[j]");
       },
       plain, longDocuments},
      {"fading_documents",
       [](int64_t d) {
         return scheme("input doc: i32 per token action decay(" + text(d) +
                       ", rate = 0.03) mask causal and doc[i] == doc[j]");
       },
       plain, longDocuments},
      // Positions begin anew with each: what would grow is hidden.
      {"restarting_documents",
       [](int64_t d) {
         return scheme("input doc: i32 per token action (" + rope(d, "split") +
                       ") * decay(" + text(d) +
                       ", rate = 0.5) mask causal and doc[i] == doc[j]");
       },
       plain,
       [](Problem &problem, Random &random) {
         int64_t size = random.between(1, 300);
         addPerToken(problem, "doc", {}, true, [=](int64_t, int64_t token) {
           return double(token / size);
         });
         addPerToken(problem, "pos", {}, true, [=](int64_t, int64_t token) {
           return double(token % size);
         });
       }},
      {"prefix",
       [](int64_t d) {
         return scheme(head(d) + "input prefix: i32 per sequence mask causal "
                                 "or j < prefix");
       },
       plain,
       [](Problem &problem, Random &random) {
         std::vector<int64_t> prefix;
         for (size_t n = 0; n < problem.sequences.size(); ++n)
           prefix.push_back(random.between(0, 40));
         addValue(problem, "prefix",
                  HostArray::of({int64_t(prefix.size())}, prefix));
       }},
      {"blocks",
       [](int64_t d) {
         return scheme(head(d) + "input seen: bool[*, *] per call mask causal "
                                 "and seen[i div 32, j div 32]");
       },
       plain,
       [](Problem &problem, Random &random) {
         std::vector<int64_t> seen;
         for (int64_t n = 0; n < 20 * 20; ++n)
           seen.push_back(random.chance(0.4));
         addValue(problem, "seen", HostArray::of({20, 20}, seen));
       }},
      {"nobody",
       [](int64_t d) { return scheme(head(d) + "mask i < 0 and j < 0"); },
       plain, nothing},
  };
}

} // namespace

std::vector<SchemeCase> schemeCases() {
  std::vector<SchemeCase> all = actions();
  for (auto list : {terms(), masks(), termCases(), actionCases()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

void addParam(Problem &problem, const char *name, std::vector<int64_t> shape,
              double low, double high, Random &random) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::vector<double> data;
  for (int64_t n = 0; n < count; ++n)
    data.push_back(random.uniform(low, high));
  addValue(problem, name, HostArray::of(shape, data));
}

} // namespace torsor::test
