// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From logits to outputs: order of the terms, sinks, data that is not finite.
#include "test/reference/Evaluate.h"

#include <cmath>
#include <limits>

using namespace torsor;
using namespace torsor::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Keys with the logits z (head width 1, scale 1) and values 1, 2, 3, ….
Problem logits(std::vector<double> z) {
  return makeProblem(
      {1, 1, 1, int64_t(z.size()), 1, 1}, [](auto, auto, auto) { return 1; },
      [=](auto, auto t, auto) { return z[t]; },
      [](auto, auto t, auto) { return t + 1; });
}

const char *const plain = R"(
  %one = arith.constant 1.0 : f64
  torsor.scale %one
  torsor.mask %causal
  torsor.readout softmax)";

TEST(Readout, Softmax) {
  Output output = evaluateIr(plain, logits({1, 2, 3}));
  double a = std::exp(1), b = std::exp(2), c = std::exp(3);
  EXPECT_NEAR(output.o[0], (a + 2 * b + 3 * c) / (a + b + c), 1e-15);
  EXPECT_NEAR(output.lse[0], std::log(a + b + c), 1e-15);
}

TEST(Readout, SinkTakesWeightOnce) {
  std::string body = std::string(plain) + R"(
    %sink = arith.constant 0.5 : f64
    torsor.sink %sink)";
  Output output = evaluateIr(body, logits({1, 2, 3}));
  double a = std::exp(1), b = std::exp(2), c = std::exp(3),
         all = a + b + c + std::exp(0.5);
  EXPECT_NEAR(output.o[0], (a + 2 * b + 3 * c) / all, 1e-15);
  EXPECT_NEAR(output.lse[0], std::log(all), 1e-15);
  Problem partial = logits({1, 2, 3});
  partial.sequences[0].partial = true;
  EXPECT_NEAR(evaluateIr(body, partial).lse[0], std::log(a + b + c), 1e-15);
}

TEST(Readout, CapsBeforeTheBias) {
  Problem problem = logits({3});
  problem.trace = true;
  Output output = evaluateIr(R"(
    %two = arith.constant 2.0 : f64
    torsor.scale %two
    torsor.softcap %two
    torsor.bias %two
    torsor.mask %causal)",
                             problem);
  EXPECT_NEAR(output.pairs[0][0].logit, 2 * std::tanh(3.0) + 2, 1e-15);
}

TEST(Readout, LogitReplacesTheOthers) {
  Problem problem = logits({3});
  problem.trace = true;
  Output output = evaluateIr(R"(
    %x = torsor.ambient score : f64
    %y = arith.mulf %x, %x : f64
    torsor.logit %y
    torsor.mask %causal)",
                             problem);
  EXPECT_EQ(output.pairs[0][0].logit, 9);
}

TEST(Readout, EmptyRows) {
  const char *body = R"(
    %one = arith.constant 1.0 : f64
    %never = arith.constant false
    torsor.scale %one
    torsor.sink %one
    torsor.mask %never)";
  Output output = evaluateIr(body, logits({1, 2}));
  EXPECT_EQ(output.o[0], 0);
  EXPECT_EQ(output.lse[0], -infinity);
  Problem none = makeRandom({2, 1, 3, 0, 4, 4}, 1);
  Output without = evaluateIr(plain, none);
  EXPECT_EQ(without.o, std::vector<double>(2 * 3 * 4, 0.0));
  EXPECT_EQ(without.lse, std::vector<double>(6, -infinity));
}

TEST(Readout, MinusInfinityHasNoWeight) {
  Problem problem = logits({-infinity, 2});
  problem.v = HostArray::of({1, 1, 2, 1}, std::vector<double>{infinity, 5});
  Output output = evaluateIr(plain, problem);
  EXPECT_EQ(output.o[0], 5);
  EXPECT_EQ(output.lse[0], 2);
  Output all = evaluateIr(plain, logits({-infinity, -infinity}));
  EXPECT_EQ(all.o[0], 0);
  EXPECT_EQ(all.lse[0], -infinity);
}

TEST(Readout, NanAndInfinityBreakTheirOwnRowOnly) {
  for (double bad : {std::nan(""), infinity}) {
    // Row 0 sees key 0 alone, rows 1 and 2 see the broken key 1.
    Problem problem = makeProblem(
        {1, 1, 3, 3, 1, 1}, [](auto, auto, auto) { return 1; },
        [=](auto, auto t, auto) { return t == 1 ? bad : 0.5; },
        [](auto, auto t, auto) { return t + 1; });
    Output output = evaluateIr(plain, problem);
    EXPECT_EQ(output.o[0], 1);
    EXPECT_TRUE(std::isnan(output.o[1]) && std::isnan(output.lse[1]));
    EXPECT_TRUE(std::isnan(output.o[2]) && std::isnan(output.lse[2]));
  }
}

TEST(Readout, HiddenKeysDoNotCount) {
  // Row 0 of a causal mask, whatever the later keys, values and biases hold.
  Problem problem = makeProblem(
      {1, 1, 2, 2, 1, 1}, [](auto, auto, auto) { return 1; },
      [=](auto, auto t, auto) { return t == 1 ? std::nan("") : 0.5; },
      [=](auto, auto t, auto) { return t == 1 ? infinity : 7; });
  Output output = evaluateIr(plain, problem);
  EXPECT_EQ(output.o[0], 7);
  EXPECT_NEAR(output.lse[0], 0.5, 1e-16);
}

TEST(Readout, Linear) {
  Output output = evaluateIr(R"(
    %one = arith.constant 1.0 : f64
    torsor.scale %one
    torsor.mask %causal
    %total = torsor.ambient total : f64
    %abs = math.absf %total : f64
    %by = arith.maximumf %one, %abs : f64
    torsor.readout linear over %by)",
                             logits({1, 2, -0.5}));
  EXPECT_NEAR(output.o[0], (1 + 4 - 1.5) / 2.5, 1e-15);
  EXPECT_EQ(output.lse[0], 2.5); // the total itself
  EXPECT_NEAR(output.condition[0], 3.5 / 2.5, 1e-15);
}

TEST(Readout, ConditionOfTheDivision) {
  auto conditionOf = [](const std::string &readout, std::vector<double> z) {
    return evaluateIr(R"(
      %one = arith.constant 1.0 : f64
      torsor.scale %one
      torsor.mask %causal
      %total = torsor.ambient total : f64
      )" + readout,
                      logits(z))
        .condition;
  };
  // A total that nearly cancels; a divisor that stands still; one that changes
  // three times as fast as the total.
  EXPECT_NEAR(
      conditionOf("torsor.readout linear over %total", {1, 1, -1.75})[0],
      3.75 / 0.25, 1e-13);
  EXPECT_NEAR(conditionOf(R"(
      %by = arith.maximumf %one, %total : f64
      torsor.readout linear over %by)",
                          {1, 1, -1.75})[0],
              3.75, 1e-13);
  EXPECT_NEAR(conditionOf(R"(
      %three = arith.constant 3.0 : f64
      %by = arith.mulf %three, %total : f64
      torsor.readout linear over %by)",
                          {1, 1, -1.75})[0],
              3.75 / 0.25, 1e-8);
  EXPECT_TRUE(conditionOf("torsor.readout linear", {1, 1, -1.75}).empty());
}

TEST(Readout, DeltaRule) {
  // Two unit keys e1, e1: the second write replaces a half of the first.
  Problem problem = makeProblem(
      {1, 1, 2, 2, 2, 1}, [](auto, auto, auto c) { return c == 0; },
      [](auto, auto, auto c) { return c == 0; },
      [](auto, auto t, auto) { return t ? 8 : 2; });
  Output output = evaluateIr(R"(
    %half = arith.constant 0.5 : f64
    %one = arith.constant 1.0 : f64
    torsor.scale %one
    torsor.norm l2
    torsor.mask %causal
    torsor.readout delta beta %half)",
                             problem);
  EXPECT_NEAR(output.o[0], 1, 1e-15);
  EXPECT_NEAR(output.o[1], 1 + 0.5 * (8 - 1), 1e-15);
}

TEST(Readout, ValueBiasAndValueAction) {
  // One key at displacement -1: o = R(-w) (v + r).
  Problem problem = makeProblem(
      {1, 1, 1, 1, 1, 2}, [](auto, auto, auto) { return 1; },
      [](auto, auto, auto) { return 1; },
      [](auto, auto, auto c) { return c == 0; });
  place(problem, 1, 0, 2);
  Output output = evaluateIr(R"(
    %f = arith.constant dense<0.7> : tensor<1xf64>
    %r = arith.constant dense<[1.0, 0.0]> : tensor<2xf64>
    %a = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
    torsor.value_action %a : !torsor.action<2>
    torsor.value_bias %r : tensor<2xf64>
    torsor.mask %causal)",
                             problem);
  EXPECT_NEAR(output.o[0], 2 * std::cos(0.7), 1e-15);
  EXPECT_NEAR(output.o[1], -2 * std::sin(0.7), 1e-15);
}

TEST(Readout, ValueFromTheKey) {
  SchemeModule module = parseIr(R"(torsor.scheme @x attributes
    {value_low = 1 : i64, value_high = 2 : i64} {
    torsor.readout softmax })");
  ASSERT_EQ(module.error, "");
  Problem problem = makeRandom({1, 1, 1, 1, 4, 1}, 3);
  problem.v = {};
  auto output = evaluate(module.scheme(), problem);
  ASSERT_TRUE(bool(output));
  EXPECT_EQ(output->o,
            (std::vector<double>{problem.k.reals[1], problem.k.reals[2]}));
}

TEST(Readout, Norms) {
  Problem problem = makeProblem(
      {1, 1, 1, 1, 2, 1}, [](auto, auto, auto c) { return c ? 4 : 3; },
      [](auto, auto, auto c) { return c ? 0 : 2; },
      [](auto, auto, auto) { return 1; });
  problem.trace = true;
  Output l2 = evaluateIr("torsor.norm l2\n torsor.mask %causal", problem);
  EXPECT_NEAR(l2.pairs[0][0].score, 3.0 / 5, 1e-15);
  Output rms = evaluateIr(R"(
    %w = arith.constant dense<[10.0, 1.0]> : tensor<2xf64>
    torsor.norm rms eps 0.5 q %w : tensor<2xf64>
    torsor.mask %causal)",
                          problem);
  EXPECT_NEAR(rms.pairs[0][0].score,
              10 * 3 / std::sqrt(12.5 + 0.5) * 2 / std::sqrt(2 + 0.5), 1e-14);
}

} // namespace
