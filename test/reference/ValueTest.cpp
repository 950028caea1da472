// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values: reads, vectors, sums in scheme-level IR.
#include "test/reference/Evaluate.h"

#include <cmath>

using namespace torsor;
using namespace torsor::test;

namespace {

/// The biases [query][key] that a body gives over zero q and k; a body ends
/// with an f64 %b.
std::vector<double> biases(const std::string &body, Problem problem,
                           int64_t head = 0) {
  problem.trace = true;
  Output output =
      evaluateIr(body + "\n torsor.bias %b\n torsor.mask %causal", problem);
  int64_t pairs =
      problem.sequences[0].queryLength * problem.sequences[0].keyLength;
  std::vector<double> result;
  for (int64_t n = 0; n < pairs; ++n)
    result.push_back(output.pairs.at(0).at(head * pairs + n).logit);
  return result;
}

Problem zeros(int64_t tokens, int64_t heads = 1) {
  auto zero = [](auto, auto, auto) { return 0; };
  return makeProblem({heads, 1, tokens, tokens, 2, 1}, zero, zero, zero);
}

TEST(Value, ReadsClampAndEndOpenAxesWithZero) {
  Problem problem = zeros(4);
  addValue(problem, "c", HostArray::of({3}, std::vector<double>{1, 2, 3}));
  addValue(problem, "o", HostArray::of({3}, std::vector<double>{10, 20, 30}));
  auto got = biases(R"(
    %c = torsor.param "c" ["3"] : tensor<3xf32>
    %o = torsor.param "o" ["*"] : tensor<?xf32>
    %x = torsor.read %c[%ii] : (tensor<3xf32>, i64) -> f64
    %y = torsor.read %o[%ii] : (tensor<?xf32>, i64) -> f64
    %b = arith.addf %x, %y : f64)",
                    problem);
  EXPECT_EQ(got[0], 11);
  EXPECT_EQ(got[2 * 4], 33);
  EXPECT_EQ(got[3 * 4], 3);
}

TEST(Value, HeadsAndGroups) {
  Problem problem = makeRandom({4, 2, 1, 1, 1, 1}, 1);
  problem.k = HostArray::of({1, 2, 1, 1}, std::vector<double>{0, 0});
  addValue(problem, "w", HostArray::of({4}, std::vector<double>{1, 2, 3, 4}));
  auto got = biases(R"(
    %w = torsor.param "w" ["H"] : tensor<?xf32>
    %h = torsor.ambient head : i64
    %g = torsor.ambient group : i64
    %H = torsor.ambient heads : i64
    %x = torsor.read %w[%h] : (tensor<?xf32>, i64) -> f64
    %hundred = arith.constant 100 : i64
    %y = arith.muli %g, %hundred : i64
    %z = arith.addi %y, %H : i64
    %zf = arith.sitofp %z : i64 to f64
    %b = arith.addf %x, %zf : f64)",
                    problem, 3);
  EXPECT_EQ(got[0], 4 + 100 + 4);
}

TEST(Value, InputsPerSequenceAndCall) {
  Problem problem = zeros(2);
  SequenceRun run = problem.sequences[0];
  run.queryLength = run.keyLength = 1;
  problem.sequences = {run, run};
  problem.sequences[1].queryStart = problem.sequences[1].keyStart = 1;
  problem.trace = true;
  addValue(problem, "a", HostArray::of({2}, std::vector<int64_t>{5, 7}));
  addValue(problem, "c", HostArray::of({}, std::vector<double>{0.5}));
  Output output = evaluateIr(R"(
    %a = torsor.input "a" per sequence [] : tensor<i32>
    %c = torsor.input "c" per call [] : tensor<f32>
    %x = torsor.read %a[] : (tensor<i32>) -> i64
    %y = torsor.read %c[] : (tensor<f32>) -> f64
    %xf = arith.sitofp %x : i64 to f64
    %b = arith.addf %xf, %y : f64
    torsor.bias %b
    torsor.mask %causal)",
                             problem);
  EXPECT_EQ(output.pairs[0][0].logit, 5.5);
  EXPECT_EQ(output.pairs[1][0].logit, 7.5);
}

TEST(Value, VectorsDotsAndRows) {
  Problem problem = makeRandom({1, 1, 3, 3, 2, 1}, 9);
  addValue(problem, "rel",
           HostArray::of({3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6}));
  problem.trace = true;
  Output output = evaluateIr(R"(
    %rel = torsor.param "rel" ["3", "2"] : tensor<3x2xf32>
    %q = torsor.vector query %i : tensor<2xf64>
    %k = torsor.vector key %j : tensor<2xf64>
    %d = arith.subi %ii, %jj : i64
    %row = torsor.read %rel[%d] : (tensor<3x2xf32>, i64) -> tensor<2xf64>
    %x = torsor.dot %q, %row : tensor<2xf64>
    %one = arith.constant 1 : i64
    %y = torsor.element %k[%one] : tensor<2xf64> -> f64
    %b = arith.addf %x, %y : f64
    torsor.bias %b
    torsor.mask %causal)",
                             problem);
  PairTrace pair = output.pairs[0][2 * 3 + 0];
  const double *q = problem.q.reals + 4, *k = problem.k.reals;
  EXPECT_NEAR(pair.logit - pair.score / std::sqrt(2.0),
              5 * q[0] + 6 * q[1] + k[1], 1e-14);
}

TEST(Value, SumsAndTables) {
  auto got = biases(R"(
    %x = torsor.sum < 5 {
    ^bb0(%p: i64):
      %m = arith.muli %p, %ii : i64
      torsor.yield %m : i64
    } : i64
    %v = torsor.tabulate {
    ^bb0(%p: i64):
      %m = torsor.sum < 3 {
      ^bb0(%r: i64):
        %n = arith.muli %p, %r : i64
        torsor.yield %n : i64
      } : i64
      torsor.yield %m : i64
    } : tensor<4xi64>
    %e = torsor.element %v[%jj] : tensor<4xi64> -> i64
    %l = torsor.list %x, %e : i64, i64 -> tensor<2xi64>
    %one = arith.constant 1 : i64
    %zero = arith.constant 0 : i64
    %a0 = torsor.element %l[%zero] : tensor<2xi64> -> i64
    %a1 = torsor.element %l[%one] : tensor<2xi64> -> i64
    %s0 = arith.addi %a0, %a1 : i64
    %b = arith.sitofp %s0 : i64 to f64)",
                    zeros(4));
  EXPECT_EQ(got[3 * 4 + 2], 10 * 3 + 2 * 3); // 0+1+2 = 3 times p
}

/// The sum over l in j .. i (or j + 1 .. i) of x[l], only of seen keys.
std::vector<double> pathSums(const char *word, const char *mask) {
  Problem problem = zeros(4);
  problem.trace = true;
  addTokens(problem, "x", HostArray::of({4}, std::vector<double>{1, 2, 4, 8}));
  Output output = evaluateIr(std::string(R"(
    %x = torsor.input "x" per token [] : tensor<?xf32>
    %b = torsor.path_sum )") + word +
                                 R"( {
    ^bb0(%l: !torsor.token):
      %v = torsor.read %x[%l] : (tensor<?xf32>, !torsor.token) -> f64
      torsor.yield %v : f64
    }
    torsor.bias %b
    %two = arith.constant 2 : i64
    %near = arith.subi %ii, %jj : i64
    %last = arith.cmpi slt, %near, %two : i64
    %window = arith.andi %last, %causal : i1
    torsor.mask )" + mask,
                             problem);
  std::vector<double> result;
  for (const PairTrace &pair : output.pairs.at(0))
    result.push_back(pair.logit);
  return result;
}

TEST(Value, PathSums) {
  EXPECT_EQ(pathSums("", "%causal")[3 * 4 + 1], 2 + 4 + 8);
  EXPECT_EQ(pathSums("after", "%causal")[3 * 4 + 1], 4 + 8);
  EXPECT_EQ(pathSums("after", "%causal")[3 * 4 + 3], 0);
  EXPECT_EQ(pathSums("", "%window")[3 * 4 + 2], 4 + 8);
}

TEST(Value, Embedding) {
  SchemeModule module = parseIr(R"(torsor.scheme @x {
    %j = torsor.token key
    %jj = torsor.index %j
    %x = arith.sitofp %jj : i64 to f64
    %c = math.cos %x : f64
    %v = torsor.list %x, %c : f64, f64 -> tensor<2xf64>
    torsor.embed %v : tensor<2xf64> })");
  ASSERT_EQ(module.error, "");
  Problem problem;
  problem.sequences.emplace_back();
  problem.sequences[0].keyLength = 3;
  auto rows = evaluateEmbedding(module.scheme(), problem);
  ASSERT_TRUE(bool(rows));
  EXPECT_EQ(rows->at(0),
            (std::vector<double>{0, 1, 1, std::cos(1.0), 2, std::cos(2.0)}));
}

} // namespace
