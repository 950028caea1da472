// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole attention: outputs and LSE of small calls.
#include "test/oracle/Oracle.h"

#include <cmath>
#include <gtest/gtest.h>

namespace torsor::test {
namespace {

/// The tensors that every "e2e." case is made of.
Problem tensors(const json &inputs) {
  Shape shape{inputs["heads_q"], inputs["heads_kv"], inputs["T"],
              inputs["T"],       inputs["head_dim"], inputs["v_dim"]};
  return makeProblem(
      shape,
      [](auto h, auto t, auto c) {
        return std::sin(0.9 + 1.7 * h + 0.61 * t + 0.37 * c);
      },
      [](auto, auto t, auto c) { return std::cos(0.3 + 0.83 * t + 0.41 * c); },
      [](auto, auto t, auto c) { return std::sin(1.1 + 0.29 * t - 0.53 * c); });
}

void addArguments(Problem &problem, const json &inputs) {
  Numbers table, wq, wk, gates, sinks = {0.1, 0.1};
  for (int h = 0; h < 2; ++h)
    for (int b = 0; b < 8; ++b)
      table.push_back(0.1 * (b % 2 ? -1 : 1) * (b + 1) / (h + 1));
  for (int n = 0; n < 8; ++n) {
    wq.push_back(1 + 0.1 * n);
    wk.push_back(1 - 0.05 * n);
  }
  for (int p = 0; p < 6; ++p)
    for (int h = 0; h < 2; ++h)
      gates.push_back(std::log(0.9 - 0.1 * h - 0.05 * p));
  if (inputs.contains("sinks"))
    sinks = flat(inputs["sinks"]);
  addValue(problem, "table", HostArray::of({2, 8}, table));
  addValue(problem, "wq", HostArray::of({8}, wq));
  addValue(problem, "wk", HostArray::of({8}, wk));
  addValue(problem, "sk", HostArray::of({2}, sinks));
  addTokens(problem, "lf", HostArray::of({6, 2}, gates));
  addTokens(problem, "doc",
            HostArray::of({6}, std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
}

struct Whole {
  const char *id, *body;
  const char *mask = "causal";
};
const Whole wholes[] = {
    {"nope", "head 8"},
    {"rope.adjacent", "action adjacent(rope(8, base = 100))"},
    {"rope.split_half", "action split(rope(8, base = 100))"},
    {"partial.neox.rot4", "action split(rope(4, base = 100)) + zero(4)"},
    {"proportional.p0.5", "action split(rotation(highest(spectrum(8, base = "
                          "100), count = 2)) + zero(4))"},
    {"alibi", "head 8 bias -alibi_slope(h, heads = H) * age"},
    {"rope.window3", "action adjacent(rope(8, base = 100))", "last(3)"},
    {"rope.softcap2.sink", "param sk: f32[H] action adjacent(rope(8, base = "
                           "100)) softcap 2 sink sk[h]"},
    {"rope.gain1.2", "action gain(adjacent(rope(8, base = 100)), by = 1.2)"},
    {"partial4.gain1.2",
     "action gain(split(rope(4, base = 100)), by = 1.2) + zero(4)"},
    {"leaky_rerope.w2.s2",
     "let r = rope(8, base = 100) action adjacent(if age < 2 then r else r at "
     "(q = (s + 2) / 2, k = t / 2))"},
    {"rope.documents",
     "input doc: i32 per token action adjacent(rope(8, base = 100))",
     "causal and doc[i] == doc[j]"},
    {"t5", "head 8 scale 1 param table: f32[H, 8] bias table[h, "
           "t5_bucket(age, buckets = 8, far = 16)]"},
    {"fox", "head 8 input lf: f32[H] per token in -inf .. 0 clock tau = sum l "
            "<= j: lf[l, h] bias age(tau)"},
    {"jordan.complex.2blocks",
     "action adjacent(sum b < 2: jordan(turn(0.7 / (b + 1)) * decay(2, rate = "
     "0.05 * (b + 1)), order = 2, couple = 0.1))"},
    {"xpos.scale_base4", "action adjacent(xpos(8, base = 100, over = 4))"},
    {"value_rotation", "action adjacent(rope(8, base = 100)) value 4 "
                       "value_action adjacent(rope(4, base = 100))"},
    {"qknorm_then_rope",
     "head 8 param wq, wk: f32[8] norm rms(q = wq, k = wk, eps = 1e-6) action "
     "split(rope(8, base = 100))"},
    {"retention.damped.g0.8",
     "action adjacent(rope(8, base = 100) * decay(8, rate = -log(0.8))) "
     "readout linear"},
};

Comparison whole(const json &e) {
  std::string id = std::string(e["id"]).substr(4);
  Comparison c;
  for (const Whole &w : wholes) {
    if (id != w.id)
      continue;
    Problem problem = tensors(e["inputs"]);
    addArguments(problem, e["inputs"]);
    Output output = evaluateSource(std::string("scheme x { ") + w.body +
                                       " mask " + w.mask + " }",
                                   problem);
    c = {output.o, expected(e, "out")};
    if (e["expected"].contains("lse")) {
      Numbers lse = expected(e, "lse");
      c.got.insert(c.got.end(), output.lse.begin(), output.lse.end());
      c.want.insert(c.want.end(), lse.begin(), lse.end());
    }
  }
  EXPECT_FALSE(c.want.empty()) << "no scheme for " << id;
  return c;
}

/// q, k, v and a gate of one head, as lists in the case.
Problem lists(const json &inputs, const char *q = "q", const char *k = "k") {
  int64_t count = int64_t(inputs[q].size());
  Problem problem = makeRandom({1, 1, count, count, 2, 2}, 1);
  setRows(problem.q, inputs[q]);
  setRows(problem.k, inputs[k]);
  setRows(problem.v, inputs["v"]);
  if (inputs.contains("log_gate"))
    addTokens(problem, "g0", tensorOf(inputs["log_gate"]));
  if (inputs.contains("beta"))
    addTokens(problem, "b", tensorOf(inputs["beta"]));
  return problem;
}

Comparison linear(const json &e, const std::string &body) {
  Output output = evaluateSource("scheme x { " + body + " mask causal }",
                                 lists(e["inputs"]));
  const json &want = e["expected"];
  return {output.o, want.is_object() ? flat(want["out"]) : flat(want)};
}

Comparison kda(const json &e) {
  Output output = evaluateSource(R"(scheme x { head 2 norm l2
    input g0: f32[2] per token in -inf .. 0
    input b: f32 per token in 0 .. 2
    clock tau[c < 2] = sum l <= j: -g0[l, c]
    action sum c < 2: decay(1, rate = 1) at tau[c]
    mask causal readout delta(beta = b[j]) })",
                                 lists(e["inputs"], "q_raw", "k_raw"));
  return {output.o, expected(e, "out")};
}

} // namespace

std::vector<OracleEntry> attentionCases() {
  std::vector<OracleEntry> cases;
  for (const Whole &w : wholes)
    cases.push_back({std::string("e2e.") + w.id, whole});
  cases.insert(
      cases.end(),
      {{"retention.decay_only.T6",
        [](const json &e) {
          return linear(e, "action decay(2, rate = -log(0.9)) scale 1 readout "
                           "linear");
        }},
       {"retention.rotation_decay.T6",
        [](const json &e) {
          return linear(e, "action adjacent(turn(0.7) * decay(2, rate = "
                           "-log(0.9))) scale 1 readout linear");
        }},
       {"retention.normalised.T6",
        [](const json &e) {
          return linear(e, "let r = -log(0.9) action decay(2, rate = r) scale "
                           "1 / sqrt((1 - exp(-r * (s + 1))) / (1 - exp(-r))) "
                           "readout linear / max(1, abs(total))");
        }},
       {"gla.channel_gate.T6",
        [](const json &e) {
          return linear(e, "head 2 input g0: f32[2] per token in -inf .. 0 "
                           "clock tau[c < 2] = sum l <= j: -g0[l, c] action "
                           "sum c < 2: decay(1, rate = 1) at tau[c] scale 1 "
                           "readout linear");
        }},
       {"scalar_gate.T6",
        [](const json &e) {
          return linear(e, "head 2 input g0: f32 per token in -inf .. 0 clock "
                           "tau = sum l <= j: -g0[l] action decay(2, rate = "
                           "1) at tau scale 1 readout linear");
        }},
       {"kda.T6", kda}});
  return cases;
}

} // namespace torsor::test
