// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tokens of a call: indices, padding, ragged batches, strides, clocks.
#include "test/reference/Evaluate.h"

#include <cmath>
#include <limits>

using namespace torsor;
using namespace torsor::test;

namespace {

const char *const rope = R"(
  %f = arith.constant dense<[0.7, 0.2]> : tensor<2xf64>
  %u = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
  %a = torsor.split %u : !torsor.action<4>
  torsor.action %a : !torsor.action<4>
  torsor.mask %causal
  torsor.readout softmax)";

TEST(Token, QueriesAreTheLastKeys) {
  Problem all = makeRandom({2, 1, 5, 5, 4, 3}, 1), last = all;
  last.q.reals += 3 * 4; // Rows 3 and 4 of both heads, strides as they are.
  last.q.shape[2] = 2;
  last.sequences[0].queryLength = 2;
  Output whole = evaluateIr(rope, all), end = evaluateIr(rope, last);
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t n = 0; n < 2 * 3; ++n)
      EXPECT_EQ(end.o[h * 6 + n], whole.o[h * 15 + 9 + n]);
}

TEST(Token, RaggedRunsStandAlone) {
  Problem batch = makeRandom({2, 2, 12, 12, 4, 3}, 2);
  SequenceRun a, b;
  a.queryLength = a.keyLength = 5;
  b.queryStart = b.keyStart = 5;
  b.queryLength = b.keyLength = 7;
  batch.sequences = {a, b};
  Problem alone = batch;
  alone.sequences = {b};
  Output both = evaluateIr(rope, batch), one = evaluateIr(rope, alone);
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t n = 5 * 3; n < 12 * 3; ++n)
      EXPECT_EQ(both.o[h * 36 + n], one.o[h * 36 + n]);
  EXPECT_TRUE(std::isnan(one.o[0])); // No sequence writes that row.
}

TEST(Token, NegativeIndicesArePadding) {
  Problem problem = makeRandom({1, 1, 4, 4, 4, 2}, 3), rest = problem;
  std::vector<int64_t> indices = {-1, -1, 0, 1};
  problem.queryIndices = problem.keyIndices = HostArray::of({1, 4}, indices);
  Output padded = evaluateIr(rope, problem);
  rest.sequences[0].queryStart = rest.sequences[0].keyStart = 2;
  rest.sequences[0].queryLength = rest.sequences[0].keyLength = 2;
  Output plain = evaluateIr(rope, rest);
  for (int64_t n = 4; n < 8; ++n)
    EXPECT_EQ(padded.o[n], plain.o[n]);
  EXPECT_EQ(padded.o[0], 0);
  EXPECT_EQ(padded.lse[1], -std::numeric_limits<double>::infinity());
}

TEST(Token, ExplicitIndicesInAnyOrder) {
  Problem sorted = makeRandom({1, 1, 1, 3, 4, 2}, 4), shuffled = sorted;
  std::vector<double> k(sorted.k.reals, sorted.k.reals + 12),
      v(sorted.v.reals, sorted.v.reals + 6);
  std::rotate(k.begin(), k.begin() + 4, k.end());
  std::rotate(v.begin(), v.begin() + 2, v.end());
  shuffled.k = HostArray::of({1, 1, 3, 4}, k);
  shuffled.v = HostArray::of({1, 1, 3, 2}, v);
  shuffled.keyIndices = HostArray::of({1, 3}, std::vector<int64_t>{1, 2, 0});
  EXPECT_LE(largestDifference(evaluateIr(rope, sorted).o,
                              evaluateIr(rope, shuffled).o),
            1e-15);
}

TEST(Token, PositionsMoveActionsAndNotMasks) {
  Problem problem = makeRandom({1, 1, 3, 3, 4, 2}, 5);
  problem.trace = true;
  addTokens(problem, "pos",
            HostArray::of({3}, std::vector<int64_t>{0, 10, 11}));
  Output output = evaluateIr(rope, problem);
  EXPECT_TRUE(output.pairs[0][1 * 3 + 0].visible);
  EXPECT_FALSE(output.pairs[0][0 * 3 + 1].visible);
  Problem placed = makeRandom({1, 1, 3, 3, 4, 2}, 5);
  placed.trace = true;
  place(placed, 10, 0, 13); // Query 0 at position 10 against key 0 at 0.
  EXPECT_NE(output.pairs[0][3].score,
            evaluateIr(rope, makeRandom({1, 1, 3, 3, 4, 2}, 5)).o[0]);
  Problem one = problem;
  one.arguments.clear();
  place(one, 10, 0, 20);
  one.q.reals += 4; // The second query, now first, at 10.
  one.q.shape[2] = one.sequences[0].queryLength = 1;
  EXPECT_EQ(output.pairs[0][3].score, evaluateIr(rope, one).pairs[0][0].score);
}

TEST(Token, RealPositionsReachActionsWithoutPlace) {
  SchemeModule module = parseIr(R"(torsor.scheme @x {
    %pos = torsor.clock "pos" : !torsor.clock<f64>
    %f = arith.constant dense<0.5> : tensor<1xf64>
    %a = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
    torsor.action %a : !torsor.action<2> })");
  ASSERT_EQ(module.error, "");
  Problem problem = makeProblem(
      {1, 1, 1, 2, 2, 1}, [](auto, auto, auto c) { return c == 0; },
      [](auto, auto, auto c) { return c == 0; },
      [](auto, auto, auto) { return 1; });
  problem.trace = true;
  addTokens(problem, "pos", HostArray::of({2}, std::vector<double>{0.25, 3}));
  auto output = evaluate(module.scheme(), problem);
  ASSERT_TRUE(bool(output));
  EXPECT_NEAR(output->pairs[0][0].score, std::cos(0.5 * 2.75), 1e-15);
}

TEST(Token, BroadcastStrides) {
  Problem problem = makeRandom({2, 2, 3, 3, 4, 2}, 6), dense = problem;
  problem.k.strides[1] = 0; // Both groups read the first one's keys.
  std::vector<double> k(dense.k.reals, dense.k.reals + 12);
  k.insert(k.end(), dense.k.reals, dense.k.reals + 12);
  dense.k = HostArray::of({1, 2, 3, 4}, k);
  EXPECT_EQ(evaluateIr(rope, problem).o, evaluateIr(rope, dense).o);
}

/// bias = tau(i) - tau(j) over gates 1, 2, 4, 8 with or without the token.
std::string gateBias(const char *word) {
  return std::string(R"(
    %gate = torsor.input "gate" per token [] : tensor<?xf32>
    %tau = torsor.running "tau" )") +
         word + R"( {
    ^bb0(%l: !torsor.token):
      %g = torsor.read %gate[%l] : (tensor<?xf32>, !torsor.token) -> f64
      torsor.yield %g : f64
    } : !torsor.clock<f64>
    %x = torsor.time %tau of %i : !torsor.clock<f64> -> f64
    %y = torsor.time %tau of %j : !torsor.clock<f64> -> f64
    %age = arith.subf %x, %y : f64
    torsor.bias %age
    torsor.mask %causal)";
}

TEST(Token, RunningSums) {
  Problem problem = makeProblem(
      {1, 1, 4, 4, 1, 1}, [](auto, auto, auto) { return 0; },
      [](auto, auto, auto) { return 0; }, [](auto, auto, auto) { return 0; });
  problem.trace = true;
  addTokens(problem, "gate",
            HostArray::of({4}, std::vector<double>{1, 2, 4, 8}));
  Output with = evaluateIr(gateBias(""), problem);
  Output without = evaluateIr(gateBias("exclusive"), problem);
  EXPECT_EQ(with.pairs[0][3 * 4 + 0].logit, 2 + 4 + 8);
  EXPECT_EQ(without.pairs[0][3 * 4 + 0].logit, 1 + 2 + 4);
  EXPECT_EQ(with.pairs[0][2 * 4 + 2].logit, 0);
}

TEST(Token, RunningFamilies) {
  Problem problem = makeRandom({1, 1, 3, 3, 2, 1}, 8);
  problem.trace = true;
  addTokens(problem, "gate",
            HostArray::of({3, 2}, std::vector<double>{1, 10, 2, 20, 4, 40}));
  Output output = evaluateIr(R"(
    %gate = torsor.input "gate" per token ["2"] : tensor<?x2xf32>
    %tau = torsor.running "c" {
    ^bb0(%l: !torsor.token):
      %g = torsor.read %gate[%l] : (tensor<?x2xf32>, !torsor.token) -> tensor<2xf64>
      torsor.yield %g : tensor<2xf64>
    } : !torsor.clock<f64, 2>
    %x = torsor.time %tau member 1 of %i : !torsor.clock<f64, 2> -> f64
    %y = torsor.time %tau member 1 of %j : !torsor.clock<f64, 2> -> f64
    %age = arith.subf %x, %y : f64
    torsor.bias %age
    %p = torsor.time %tau of %i : !torsor.clock<f64, 2> -> tensor<2xf64>
    %q = torsor.time %tau of %j : !torsor.clock<f64, 2> -> tensor<2xf64>
    %rate = arith.constant 0.01 : f64
    %d = torsor.decay %rate : !torsor.action<2>
    %a = torsor.at %d(q = %p, k = %q) : !torsor.action<2>, tensor<2xf64>, tensor<2xf64>
    torsor.action %a : !torsor.action<2>
    torsor.mask %causal)",
                             problem);
  PairTrace pair = output.pairs[0][2 * 3 + 0];
  EXPECT_NEAR(pair.logit - pair.score / std::sqrt(2.0), 60, 1e-13);
  const double *q = problem.q.reals + 4, *k = problem.k.reals;
  EXPECT_NEAR(pair.score,
              q[0] * k[0] * std::exp(-0.06) + q[1] * k[1] * std::exp(-0.6),
              1e-15);
}

TEST(Token, MissingTensorsAreNamed) {
  Problem problem = makeRandom({1, 1, 1, 1, 1, 1}, 1);
  EXPECT_EQ(evaluateFails(gateBias(""), problem),
            "the call does not give 'gate'");
  Problem shape = makeRandom({3, 2, 1, 1, 1, 1}, 1);
  EXPECT_EQ(evaluateFails("torsor.mask %causal", shape),
            "the number of heads is no multiple of the groups");
  Problem outside = makeRandom({1, 1, 1, 1, 1, 1}, 1);
  outside.sequences[0].keyLength = 2;
  EXPECT_EQ(evaluateFails("torsor.mask %causal", outside),
            "a sequence lies outside q or k");
}

} // namespace
