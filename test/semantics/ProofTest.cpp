// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is proved: causality of masks by what they say, and values by intervals.
#include <gtest/gtest.h>

#include "Checked.h"

using namespace torsor;

namespace {

bool isCausal(const std::string &mask) {
  Checked checked = check("fn same(n: int) -> bool = i div n == j div n\n"
                          "let back = not (i < j)\n"
                          "scheme x { head 64 input d: i32 per token input "
                          "n: i32 per call in 1 .. inf mask " +
                          mask + " bias d[i] * n }");
  EXPECT_FALSE(checked.diagnostics.hasErrors()) << checked.diagnostics.print();
  return checked.scheme("x").causal;
}

TEST(Causality, IsReadFromWhatAMaskSays) {
  for (const char *mask : {"causal",
                           "j <= i",
                           "j < i",
                           "i >= j",
                           "i > j",
                           "i == j",
                           "0 <= i - j",
                           "0 < i - j",
                           "i - j >= 0",
                           "i - j > -1",
                           "last(4)",
                           "window(4)",
                           "causal and d[i] == d[j]",
                           "d[i] == d[j] and last(9)",
                           "causal or i == j",
                           "not (i < j)",
                           "not (j > i)",
                           "not (i - j < 0)",
                           "not (d[i] == 1 or j > i)",
                           "back",
                           "if d[i] == 0 then causal else last(3)",
                           "2 * i >= 2 * j",
                           "j + 1 <= i",
                           "j <= i - 3",
                           "3 * (i - j) + 2 >= 0"})
    EXPECT_TRUE(isCausal(mask)) << mask;
}

TEST(Causality, IsNotReadWhereItIsNotSaid) {
  for (const char *mask :
       {"all", "i - j < 4", "window(4, right = 1)", "chunk(8)", "same(8)",
        "causal or j < 4", "causal or d[i] == d[j]", "not (j <= i)", "j >= i",
        "not (causal and d[i] == 0)", "if d[i] == 0 then causal else all",
        "i - j > -2", "j <= i + 1", "3 * (i - j) + 3 >= 0", "s >= t",
        "age >= 0", "i != j", "2 * i >= j"})
    EXPECT_FALSE(isCausal(mask)) << mask;
}

TEST(Causality, GivesItsFacts) {
  EXPECT_EQ(idsOf("bias -log(i - j + 1)"), "");
  EXPECT_EQ(idsOf("bias -log(age + 1)"), "");
  EXPECT_EQ(idsOf("bias -log(1 - delta)"), "");
  EXPECT_EQ(idsOf("bias -log(s - t + 1)"), "");
  EXPECT_EQ(idsOf("bias -log(1 - (j - i))"), "");
  EXPECT_EQ(idsOf("bias -log(age + 1) mask all"), "domain@2:11");
  // Indices and positions are not of one kind.
  EXPECT_EQ(idsOf("bias -log(i - t + 1)"), "domain@2:11");
  EXPECT_EQ(idsOf("bias -log(j - i + 1)"), "domain@2:11");
}

TEST(Causality, GivesFactsOfRunningSums) {
  std::string sum = "input y: f32 per token in 0 .. 1\n"
                    "clock c = sum l <= j: y[l]\n";
  EXPECT_EQ(idsOf(sum + "bias -log(age(c) + 1)"), "");
  EXPECT_EQ(idsOf(sum + "bias -log(1 - delta(c))"), "");
  EXPECT_EQ(idsOf(sum + "bias -log(age(c) + 1) mask all"), "domain@4:11");
  EXPECT_EQ(idsOf("input y: f32 per token in -1 .. 0\n"
                  "clock c = sum l <= j: y[l]\nbias -log(1 - age(c))"),
            "");
  EXPECT_EQ(idsOf("input y: f32 per token\n"
                  "clock c = sum l <= j: y[l]\nbias -log(age(c) + 1)"),
            "domain@4:11");
}

TEST(Proof, FollowsIntervalsThroughOperators) {
  std::string table = "param w: f32[H, 8]\n";
  EXPECT_EQ(idsOf(table + "bias w[h, age mod 8]"), "");
  EXPECT_EQ(idsOf(table + "bias w[h, clamp(age, 0, 7)]"), "");
  EXPECT_EQ(idsOf(table + "bias w[h, min(age, 7)]"), "");
  EXPECT_EQ(idsOf(table + "bias w[h, min(age div 2, 7)]"), "");
  EXPECT_EQ(idsOf(table + "bias w[h, min(abs(delta), 7)] mask all"), "");
  EXPECT_EQ(idsOf(table + "bias w[h, if age < 8 then 1 else 7]"), "");
  EXPECT_EQ(idsOf(table + "bias w[h, floor(7 * sigmoid(age))]"), "");
  EXPECT_EQ(idsOf(table + "bias w[h, age mod 9]"), "index@3:11");
  EXPECT_EQ(idsOf(table + "bias w[h, min(age, 7)] mask all"), "index@3:11");
  EXPECT_EQ(idsOf(table + "bias w[h, age]"), "index@3:11");
}

TEST(Proof, IntegersWrapAtRunTime) {
  EXPECT_EQ(idsOf("bias log((i + 1) * (j + 1))"), "");
  EXPECT_EQ(idsOf("bias log(2 ^ ilog2(i + 1))"), "");
  EXPECT_EQ(idsOf("bias log((i + 1) * 9_223_372_036_854_775_807)"),
            "domain@2:10");
  EXPECT_EQ(idsOf("bias log(1 + i * i * i)"), "domain@2:10");
  EXPECT_EQ(idsOf("bias log(2 ^ i)"), "domain@2:10");
  EXPECT_EQ(idsOf("bias log(1 + (sum n < 4: i * 4_611_686_018_427_387_904))"),
            "domain@2:10");
  // Reals do not.
  EXPECT_EQ(idsOf("bias log((i + 1.0) * 9_223_372_036_854_775_807)"), "");
}

TEST(Proof, SquaresAreNeverNegative) {
  EXPECT_EQ(idsOf("bias -sqrt(delta ^ 2) mask all"), "");
  EXPECT_EQ(idsOf("bias -sqrt(delta * delta) mask all"), "");
  EXPECT_EQ(idsOf("bias -sqrt(delta ^ 3) mask all"), "domain@2:12");
}

TEST(Proof, DecidesComparisonsByIntervalsExceptInMasks) {
  // age >= 0 is known under a causal mask, so the other arm breaks no range.
  EXPECT_EQ(idsOf("bias if age >= 0 then -log(age + 1) else log(age)"), "");
  Checked checked = check("scheme x { head 64 mask i >= 0 and causal }");
  EXPECT_EQ(checked.scheme("x").mask->op, NodeOp::And);
}

TEST(Proof, ContractsOfDefinitionsHoldInMasksByRanges) {
  EXPECT_EQ(idsOf("param w: i32 in 1 .. 10\nmask last(w)"), "");
  EXPECT_EQ(idsOf("mask last(h + 1)"), "");
  EXPECT_EQ(idsOf("param w: i32 in 0 .. 10\nmask last(w)"), "unproved@3:11");
}

TEST(Proof, RangesOfDeclarations) {
  EXPECT_EQ(idsOf("param w: f32[4] clock pos in 0 .. 3\nbias w[t]"), "");
  EXPECT_EQ(idsOf("param w: f32[4] clock pos in 0 .. 4\nbias w[t]"),
            "index@3:8");
  EXPECT_EQ(idsOf("input n: i32 per call in 1 .. 9\nbias -(i div n)"), "");
  EXPECT_EQ(idsOf("input n: i32 per call in -9 .. -1\nbias -(i mod n)"), "");
  EXPECT_EQ(idsOf("input n: i32 per call in -1 .. 1\nbias -(i mod n)"),
            "zero@3:14");
}

} // namespace
