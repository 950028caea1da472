// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is added to a logit, and the factors in front of it.
#include "test/oracle/Oracle.h"

#include <algorithm>
#include <cmath>

namespace torsor::test {
namespace {

std::string text(double x) {
  char buffer[40];
  snprintf(buffer, sizeof buffer, x < 0 ? "(%.17g)" : "%.17g", x);
  return buffer;
}

Numbers alibiSlopes(int64_t first, int64_t last, int64_t heads) {
  Numbers slopes;
  for (int64_t h = first; h < last; ++h)
    slopes.push_back(number("alibi_slope(" + std::to_string(h) +
                            ", heads = " + std::to_string(heads) + ")"));
  return slopes;
}

/// The head's own slope in a scheme, with h and H of the call.
Comparison slopesOfHeads(const json &e) {
  int64_t heads = e["inputs"]["heads"];
  return {
      logitsOf("scheme x { head 1 bias alibi_slope(h, heads = H) mask all }",
               probe({0}, {0}, heads)),
      flat(e["expected"])};
}

/// One expression of the input's list; {} stands for the element.
Comparison overList(const json &e, const char *list, const std::string &form) {
  Comparison c{{}, flat(e["expected"])};
  for (double x : flat(e["inputs"][list])) {
    std::string filled = form;
    filled.replace(filled.find("{}"), 2, text(x));
    c.got.push_back(number(filled));
  }
  return c;
}

/// The same with an integer and at run time: a bias of delta or age, which
/// are given as clocks.
Comparison overClock(const json &e, const char *list, const std::string &form,
                     double sign) {
  Comparison c{{}, flat(e["expected"])};
  for (double x : flat(e["inputs"][list])) {
    // age = s - t: the query at |x|, the key at 0, or the other way round.
    int64_t age = int64_t(sign * x);
    Problem problem =
        probe({std::max<int64_t>(age, 0)}, {std::max<int64_t>(-age, 0)});
    Numbers got =
        logitsOf("scheme x { head 1 bias " + form + " mask all }", problem);
    c.got.insert(c.got.end(), got.begin(), got.end());
  }
  return c;
}

/// The first distance of every bucket, read off the compiled-in list.
Comparison thresholds(const json &e, const char *list, int64_t buckets) {
  Comparison c{{}, flat(e["expected"])};
  Numbers steps = elements(list, 129);
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    auto at = std::find(steps.begin(), steps.end(), double(bucket));
    c.got.push_back(double(at - steps.begin()));
    c.got.push_back(double(bucket));
  }
  return c;
}

Comparison sandwich(const json &e) {
  Comparison c{{}, flat(e["expected"])};
  for (double head : flat(e["inputs"]["head"]))
    for (double age : flat(e["inputs"]["age"]))
      c.got.push_back(number("sandwich(" + text(age) + ", head_index = " +
                             std::to_string(int(head) - 1) + ", heads = 8)"));
  return c;
}

Comparison fire(const json &e) {
  Comparison c{{}, flat(e["expected"])};
  for (const json &pair : e["inputs"]["ij"]) {
    Problem problem = probe({pair[0]}, {pair[1]});
    Numbers got = logitsOf("scheme x { head 1 bias log1p(0.1 * (i - j)) / "
                           "log1p(0.1 * max(512, i)) mask causal }",
                           problem);
    c.got.insert(c.got.end(), got.begin(), got.end());
  }
  return c;
}

Comparison cope(const json &e) {
  Problem problem = probe({3}, {0, 1, 2, 3});
  HostArray z = tensorOf(e["inputs"]["logits"]);
  addTokens(problem, "z", z);
  addValue(problem, "zi", tensorOf(e["inputs"]["z_int"]));
  return {logitsOf(R"(scheme cope { head 1 input z: f32 per token
    param zi: f32[4]
    let p = clamp(sum l in j .. i: sigmoid(z[l]), 0, 3)
    let n = clamp(floor(p), 0, 2)
    bias (n + 1 - p) * zi[n] + (p - n) * zi[n + 1]
    mask causal })",
                   problem),
          expected(e, "bias")};
}

Comparison fox(const json &e) {
  Problem problem = probe({0, 1, 2, 3}, {0, 1, 2, 3});
  Numbers logs;
  for (double f : flat(e["inputs"]["f"]))
    logs.push_back(std::log(f));
  addTokens(problem, "log_f", HostArray::of({4, 1}, logs));
  return {logitsOf(R"(scheme f { head 1
    input log_f: f32[H] per token in -inf .. 0
    clock tau = sum l <= j: log_f[l, h] bias age(tau) mask causal })",
                   problem),
          expected(e, "bias")};
}

Comparison grapeAp(const json &e) {
  Problem problem = probe({0, 1, 2, 3}, {0, 1, 2, 3});
  addTokens(problem, "p", tensorOf(e["inputs"]["p"]));
  return {logitsOf(R"(scheme gr { head 1 input p: f32[2] per token
    bias sum l in j + 1 .. i: -softplus(-(
      p[i, 0] * (cos(pos[l]) * p[l, 0] - sin(pos[l]) * p[l, 1]) +
      p[i, 1] * (sin(pos[l]) * p[l, 0] + cos(pos[l]) * p[l, 1])) / 2)
    mask causal })",
                   problem),
          flat(e["expected"])};
}

Comparison grapeA(const json &e) {
  const json &t = e["inputs"];
  Problem problem = probe({7}, {3}, 1, 2);
  setRows(problem.q, json::array({t["q"]}));
  setRows(problem.k, json::array({t["k"]}));
  for (const char *name : {"u", "v"})
    addValue(problem, name, tensorOf(t[name]));
  addValue(problem, "w", tensorOf(t["omega"]));
  // A scale of 0 leaves the bias alone.
  return {logitsOf(R"(scheme gr { head 2 param u, v: f32[2]
    param w: f32 in 0 .. 10
    scale 0
    bias delta * w * (softplus(dot([for c < 2: v[c]], q[i]) / sqrt(D))
                    + softplus(dot([for c < 2: u[c]], k[j]) / sqrt(D)))
    mask causal })",
                   problem),
          expected(e, "bias")};
}

Comparison shaw(const json &e) {
  const json &t = e["inputs"];
  Problem problem = probe({0}, {0}, 1, 2);
  setRows(problem.q, json::array({t["q"]}));
  setRows(problem.k, json::array({t["k"]}));
  addValue(problem, "rel",
           tensorOf(json::array({t["a_k"], t["a_k"], t["a_k"]})));
  return {logitsOf(R"(scheme x { head 2 param rel: f32[3, 2]
    bias dot(q[i], rel[clamp(delta, -1, 1) + 1]) / sqrt(D) mask all })",
                   problem),
          flat(e["expected"])};
}

Comparison unipotent(const json &e) {
  const json &t = e["inputs"];
  Problem problem = probe({t["i"]}, {t["j"]}, 1, 2);
  setRows(problem.q, json::array({t["q"]}));
  setRows(problem.k, json::array({t["k"]}));
  return {logitsOf("scheme x { head 2 bias linear_bias(0.25) mask causal }",
                   problem),
          expected(e, "direct")};
}

/// A factor of the row, as `scale` beside a score of 1.
Comparison scaleAt(const json &e, const std::string &form) {
  Comparison c{{}, flat(e["expected"])};
  for (double pos : flat(e["inputs"]["pos"])) {
    Problem problem = probe({int64_t(pos)}, {0});
    problem.q = problem.k = HostArray::of({1, 1, 1, 1}, Numbers{1});
    Numbers got =
        logitsOf("scheme x { head 1 scale " + form + " mask causal }", problem);
    c.got.insert(c.got.end(), got.begin(), got.end());
  }
  return c;
}

} // namespace

std::vector<OracleEntry> biasCases() {
  return {
      {"alibi.slopes.H8", slopesOfHeads},
      {"alibi.slopes.H16", slopesOfHeads},
      {"alibi.slopes.H12", slopesOfHeads},
      {"alibi.slopes.H40.last8",
       [](const json &e) -> Comparison {
         return {alibiSlopes(32, 40, 40), flat(e["expected"])};
       }},
      {"alibi.slopes.H12.naive_wrong",
       [](const json &e) -> Comparison {
         return {logitsOf("scheme x { head 1 bias 2 ^ (-8 * (h + 1) / H) mask "
                          "all }",
                          probe({0}, {0}, 12)),
                 flat(e["expected"])};
       }},
      {"alibi.bidirectional.sym",
       [](const json &e) -> Comparison {
         return {logitsOf("scheme a { head 1 bias -0.25 * abs(age) mask all }",
                          probe({2}, {5})),
                 flat(e["expected"])};
       }},
      {"alibi.bidirectional.asym",
       [](const json &e) -> Comparison {
         return {logitsOf("scheme a { head 1 bias if age >= 0 then -0.25 * age "
                          "else 0.0625 * age mask all }",
                          probe({2}, {0, 2, 5})),
                 flat(e["expected"])};
       }},
      {"alibi.unipotent.equivalence", unipotent},
      {"t5.causal.32.128",
       [](const json &e) {
         return overClock(e, "delta", "t5_bucket(age)", -1);
       }},
      {"t5.bidirectional.32.128",
       [](const json &e) {
         return overClock(e, "delta", "t5_bucket_both(delta)", -1);
       }},
      {"t5.thresholds.causal",
       [](const json &e) {
         return thresholds(e, "t5_steps(32, far = 128)", 32);
       }},
      {"t5.thresholds.bidir_half",
       [](const json &e) {
         return thresholds(e, "t5_steps(16, far = 128)", 16);
       }},
      {"shaw.clip_index.k4",
       [](const json &e) {
         return overClock(e, "delta", "clamp(delta, -4, 4) + 4", -1);
       }},
      {"shaw.logit", shaw},
      {"sandwich.d128.H8", sandwich},
      {"kerple.log",
       [](const json &e) {
         return overList(e, "age", "-0.8 * log1p(0.3 * {})");
       }},
      {"kerple.power",
       [](const json &e) { return overList(e, "age", "-0.02 * {} ^ 1.2"); }},
      {"fire.normalised_distance", fire},
      {"cope.toy", cope},
      {"fox.T4", fox},
      {"grape_ap.T4", grapeAp},
      {"grape_a.qk", grapeA},
      {"llama4.temperature",
       [](const json &e) {
         return scaleAt(e, "stepped(0.1, period = 8192, offset = 1)");
       }},
      {"ministral3.temperature",
       [](const json &e) {
         return scaleAt(e, "stepped(0.1, period = 16_384, offset = 0)");
       }},
      {"logn.scale", [](const json &e) { return scaleAt(e, "log_n(4096)"); }},
      {"softcap.50",
       [](const json &e) { return overList(e, "s", "50 * tanh({} / 50)"); }},
      {"xpos.zeta.d64",
       [](const json &e) {
         return overList(e, "pairs", "(2 * {} / 64 + 0.4) / 1.4");
       }},
      {"xpos.min_pos",
       [](const json &e) -> Comparison {
         return {{number("(-10) div 2"), number("(-7) div 2")},
                 flat(e["expected"])};
       }},
      {"kda.gate",
       [](const json &e) -> Comparison {
         return {{number("-5 * sigmoid(exp(0.5) * (0.3 + -1.0))"),
                  number("-exp(0.5) * softplus(0.3 + -1.0)")},
                 {e["expected"]["lower_bound_form"],
                  e["expected"]["softplus_form"]}};
       }},
  };
}

} // namespace torsor::test
