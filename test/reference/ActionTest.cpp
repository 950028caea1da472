// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Actions: closed forms against matrix exponentials, and the laws they obey.
#include "reference/Action.h"

#include "test/reference/Evaluate.h"

#include <cmath>

using namespace torsor;
using namespace torsor::test;

namespace {

struct ActionCase {
  const char *name;
  int64_t width;
  const char *body; ///< Ends with an action %a.
};

// Every primitive and every combinator, with the places that occur.
const ActionCase cases[] = {
    {"zero", 3, "%a = torsor.zero : !torsor.action<3>"},
    {"turn", 4, R"(
      %f = arith.constant dense<[0.7, -0.3]> : tensor<2xf64>
      %a = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>)"},
    {"split", 6, R"(
      %f = arith.constant dense<[0.7, -0.3, 0.01]> : tensor<3xf64>
      %r = torsor.turn %f : tensor<3xf64> -> !torsor.action<6>
      %a = torsor.split %r : !torsor.action<6>)"},
    {"adjacent", 4, R"(
      %f = arith.constant dense<[0.7, -0.3]> : tensor<2xf64>
      %r = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
      %a = torsor.adjacent %r : !torsor.action<4>)"},
    {"decay", 3, R"(
      %r = arith.constant 0.05 : f64
      %a = torsor.decay %r : !torsor.action<3>)"},
    {"jordan", 3, R"(
      %r = arith.constant 0.1 : f64
      %e = arith.constant 0.5 : f64
      %d = torsor.decay %r : !torsor.action<1>
      %a = torsor.jordan %d order 3 couple %e : !torsor.action<1> -> !torsor.action<3>)"},
    {"complexJordan", 4, R"(
      %f = arith.constant dense<0.7> : tensor<1xf64>
      %r = arith.constant 0.1 : f64
      %e = arith.constant 1.0 : f64
      %u = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
      %d = torsor.decay %r : !torsor.action<2>
      %p = torsor.product %u, %d : !torsor.action<2>
      %a = torsor.jordan %p order 2 couple %e : !torsor.action<2> -> !torsor.action<4>)"},
    {"plane", 4, R"(
      %f = arith.constant 0.8 : f64
      %u = arith.constant dense<[0.0, 1.0, 0.3, 0.4]> : tensor<4xf64>
      %v = arith.constant dense<[1.0, 0.5, 0.0, -0.2]> : tensor<4xf64>
      %a = torsor.plane %f, %u, %v : tensor<4xf64>, tensor<4xf64> -> !torsor.action<4>)"},
    {"parallelPlane", 2, R"(
      %f = arith.constant 0.8 : f64
      %u = arith.constant dense<[0.3, 0.7]> : tensor<2xf64>
      %v = arith.constant dense<[0.9, 2.1]> : tensor<2xf64>
      %a = torsor.plane %f, %u, %v : tensor<2xf64>, tensor<2xf64> -> !torsor.action<2>)"},
    {"zeroPlane", 2, R"(
      %f = arith.constant 0.8 : f64
      %u = arith.constant dense<[0.0, 0.0]> : tensor<2xf64>
      %v = arith.constant dense<[0.9, 2.1]> : tensor<2xf64>
      %a = torsor.plane %f, %u, %v : tensor<2xf64>, tensor<2xf64> -> !torsor.action<2>)"},
    {"concat", 5, R"(
      %f = arith.constant dense<0.7> : tensor<1xf64>
      %u = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
      %z = torsor.zero : !torsor.action<3>
      %a = torsor.concat %u, %z : !torsor.action<2>, !torsor.action<3> -> !torsor.action<5>)"},
    {"dampedSplit", 4, R"(
      %f = arith.constant dense<[0.7, 0.2]> : tensor<2xf64>
      %r = arith.constant 0.05 : f64
      %u = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
      %d = torsor.decay %r : !torsor.action<4>
      %p = torsor.product %u, %d : !torsor.action<4>
      %a = torsor.split %p : !torsor.action<4>)"},
    {"basis", 4, R"(
      %f = arith.constant dense<[0.7, 0.2]> : tensor<2xf64>
      %P = torsor.param "P" ["4", "4"] condition 100.0 : tensor<4x4xf32>
      %u = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
      %a = torsor.basis %u columns %P : !torsor.action<4>, tensor<4x4xf32> -> !torsor.action<4>)"},
    {"at", 4, R"(
      %f = arith.constant dense<[0.7, 0.2]> : tensor<2xf64>
      %u = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
      %half = arith.constant 0.5 : f64
      %sf = arith.sitofp %s : i64 to f64
      %tf = arith.sitofp %t : i64 to f64
      %s2 = arith.mulf %sf, %half : f64
      %t2 = arith.mulf %tf, %half : f64
      %a = torsor.at %u(q = %s2, k = %t2) : !torsor.action<4>, f64, f64)"},
    {"choose", 4, R"(
      %f = arith.constant dense<[0.7, 0.2]> : tensor<2xf64>
      %u = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
      %three = arith.constant 3 : i64
      %zero = arith.constant 0 : i64
      %w = torsor.at %u(q = %three, k = %zero) : !torsor.action<4>, i64, i64
      %age = arith.subi %s, %t : i64
      %near = arith.cmpi slt, %age, %three : i64
      %c = torsor.choose %near, %u, %w : !torsor.action<4>
      %a = torsor.split %c : !torsor.action<4>)"},
    {"gain", 4, R"(
      %f = arith.constant dense<[0.7, 0.2]> : tensor<2xf64>
      %g = arith.constant 1.3 : f64
      %u = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
      %a = torsor.gain %u by %g : !torsor.action<4> -> !torsor.action<4>)"},
    {"dampedGain", 2, R"(
      %r = arith.constant 0.05 : f64
      %g = arith.constant 1.3 : f64
      %u = torsor.decay %r : !torsor.action<2>
      %a = torsor.gain %u by %g : !torsor.action<2> -> !torsor.action<2>)"},
    {"sideGains", 4, R"(
      %f = arith.constant dense<[0.7, 0.2]> : tensor<2xf64>
      %gq = arith.constant dense<[1.0, 2.0, 0.5, 0.25]> : tensor<4xf64>
      %gk = arith.constant dense<[0.5, 1.5, 1.0, 3.0]> : tensor<4xf64>
      %u = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
      %a = torsor.gain %u q %gq : tensor<4xf64> k %gk : tensor<4xf64> : !torsor.action<4> -> !torsor.action<4>)"},
    {"dampedSideGains", 4, R"(
      %f = arith.constant dense<[0.7, 0.2]> : tensor<2xf64>
      %r = arith.constant 0.05 : f64
      %gq = arith.constant dense<[1.0, 2.0, 0.5, 0.25]> : tensor<4xf64>
      %gk = arith.constant dense<[0.5, 1.5, 1.0, 3.0]> : tensor<4xf64>
      %u = torsor.turn %f : tensor<2xf64> -> !torsor.action<4>
      %d = torsor.decay %r : !torsor.action<4>
      %p = torsor.product %u, %d : !torsor.action<4>
      %a = torsor.gain %p q %gq : tensor<4xf64> k %gk : tensor<4xf64> : !torsor.action<4> -> !torsor.action<4>)"},
};

Problem problemOf(const ActionCase &c) {
  Problem problem = makeRandom({2, 1, 6, 6, c.width, 2}, 7);
  problem.trace = true;
  if (std::string(c.name) == "basis")
    addValue(problem, "P",
             HostArray::of({4, 4}, std::vector<double>{1, 0.3, 0, 0, -0.2, 1.5,
                                                       0, 0.1, 0, 0.4, 0.9, 0,
                                                       0.2, 0, 0, 1.1}));
  return problem;
}

std::string schemeOf(const ActionCase &c) {
  return std::string(c.body) + "\n torsor.action %a : !torsor.action<" +
         std::to_string(c.width) +
         ">\n torsor.mask %causal\n torsor.readout softmax\n";
}

class ActionTest : public testing::TestWithParam<ActionCase> {};
INSTANTIATE_TEST_SUITE_P(All, ActionTest, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

std::vector<double> scores(const Output &output) {
  std::vector<double> result;
  for (auto &block : output.pairs)
    for (const PairTrace &pair : block)
      result.push_back(pair.visible ? pair.score : 0);
  return result;
}

// Ages here are at most 5 and |X| at most 2: Pade of the exponential is exact
// to some 1e-15 relative to e^10 at worst, the closed form to 1e-16.
TEST_P(ActionTest, ClosedFormIsTheExponential) {
  Problem problem = problemOf(GetParam());
  Output closed = evaluateIr(schemeOf(GetParam()), problem);
  problem.exponential = true;
  Output dense = evaluateIr(schemeOf(GetParam()), problem);
  EXPECT_LE(largestDifference(scores(closed), scores(dense)), 1e-12);
  EXPECT_LE(largestDifference(closed.o, dense.o), 1e-12);
}

// Moving all tokens by the same amount changes no score; a gain of one side
// around a rotation breaks that, as the language says.
TEST_P(ActionTest, IsRelative) {
  std::string name = GetParam().name;
  Problem problem = problemOf(GetParam());
  Output here = evaluateIr(schemeOf(GetParam()), problem);
  place(problem, 1000, 1000, 1006);
  Output there = evaluateIr(schemeOf(GetParam()), problem);
  double moved = largestDifference(scores(here), scores(there));
  if (name == "sideGains" || name == "dampedSideGains")
    EXPECT_GT(moved, 1e-2);
  else
    EXPECT_LE(moved, 1e-13);
}

TEST(Action, TurnsCounterClockwise) {
  // One pair at displacement 5: score = q^T R(0.1 * 5) k.
  Problem problem = makeProblem(
      {1, 1, 1, 6, 2, 1}, [](auto, auto, auto c) { return c == 0; },
      [](auto, auto, auto c) { return c == 1; },
      [](auto, auto, auto) { return 1; });
  problem.trace = true;
  Output output = evaluateIr(R"(
    %f = arith.constant dense<0.1> : tensor<1xf64>
    %a = torsor.turn %f : tensor<1xf64> -> !torsor.action<2>
    torsor.action %a : !torsor.action<2>
    torsor.mask %causal)",
                             problem);
  // q = (1, 0), k = (0, 1): the score is -sin(0.1 (t - s)), t - s = -5.
  EXPECT_NEAR(output.pairs.at(0).at(0).score, std::sin(0.5), 1e-15);
}

TEST(Action, UnipotentAddsToTheLogit) {
  Problem problem = makeRandom({1, 1, 3, 3, 2, 1}, 1);
  problem.trace = true;
  Output output = evaluateIr(R"(
    %m = arith.constant 0.25 : f64
    %z = torsor.zero : !torsor.action<2>
    %u = torsor.unipotent %m : !torsor.action<0>
    %a = torsor.concat %z, %u : !torsor.action<2>, !torsor.action<0> -> !torsor.action<2>
    torsor.action %a : !torsor.action<2>
    torsor.mask %causal)",
                             problem);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      PairTrace pair = output.pairs.at(0).at(i * 3 + j);
      EXPECT_NEAR(pair.logit, pair.score / std::sqrt(2.0) + 0.25 * (j - i),
                  1e-15);
    }
}

// cos and sin of the exact product x f: products by powers of two are exact in
// f64, the others are split into such ones by the addition theorem.
TEST(Action, PhasesAreExact) {
  double e = 0.8659643233600653;
  reference::Turned a = reference::turnBy(int64_t(1) << 40, e);
  EXPECT_NEAR(a.cosine, std::cos(std::ldexp(e, 40)), 1e-15);
  EXPECT_NEAR(a.sine, std::sin(std::ldexp(e, 40)), 1e-15);
  // x f = (2^53 - 1) f needs 106 bits: split exactly as 2^53 f - f.
  double f = 0.7498942093324559;
  reference::Turned b = reference::turnBy((int64_t(1) << 53) - 1, f);
  double big = std::ldexp(f, 53); // exact
  double expected = std::cos(big) * std::cos(f) + std::sin(big) * std::sin(f);
  EXPECT_NEAR(b.cosine, expected, 1e-15);
  // Beyond doubles: 2^53 + 1 is an integer that no double holds.
  reference::Turned c = reference::turnBy((int64_t(1) << 53) + 1, f);
  EXPECT_NEAR(c.cosine,
              std::cos(big) * std::cos(f) - std::sin(big) * std::sin(f), 1e-15);
}

} // namespace
