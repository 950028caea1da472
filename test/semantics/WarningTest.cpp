// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is legal but rarely meant, each with a twin that gives no warning.
#include <gtest/gtest.h>

#include "Checked.h"

using namespace torsor;

namespace {

TEST(Warning, MaskBias) {
  EXPECT_EQ(idsOf("bias if j > i then -1e9 else 0 mask j < 9"),
            "mask-bias@2:20");
  EXPECT_EQ(idsOf("bias -10_000 * (if j > i then 1 else 0) mask j < 9"),
            "mask-bias@2:6");
  EXPECT_EQ(idsOf("bias if j > i then -9 else 0 mask j < 9"), "");
}

TEST(Warning, Future) {
  EXPECT_EQ(idsOf("mask i - j < 128"), "future@2:6");
  EXPECT_EQ(idsOf("mask j > i"), "future@2:6");
  EXPECT_EQ(idsOf("mask 0 <= i - j < 128"), "");
  EXPECT_EQ(idsOf("mask window(4, right = 4)"), "");
  EXPECT_EQ(idsOf("mask all"), "");
}

TEST(Warning, Empty) {
  EXPECT_EQ(idsOf("mask i < j and j < i"), "empty@2:6");
  EXPECT_EQ(idsOf("mask causal and j > i + 3"), "empty@2:6");
  EXPECT_EQ(idsOf("mask j < -1"), "empty@2:6");
  EXPECT_EQ(idsOf("mask (i - j) mod 4 == 5"), "empty@2:6");
  EXPECT_EQ(idsOf("mask causal and i - j >= 5000"), "");
  EXPECT_EQ(idsOf("mask causal and h == 7"), "");
  EXPECT_EQ(idsOf("mask causal and i - j == 2 ^ 20"), "");
  EXPECT_EQ(idsOf("mask j == 3"), "");
  EXPECT_EQ(idsOf("mask j == 5001 and i == 70_000"), "");
  EXPECT_EQ(idsOf("mask causal and 10 <= i < 3000"), "");
  EXPECT_EQ(idsOf("mask causal and i mod 100 == 37"), "");
}

TEST(Warning, Rate) {
  EXPECT_EQ(idsOf("action decay(4, rate = 0.9)"), "rate@2:24");
  EXPECT_EQ(idsOf("action decay(4, rate = -log(0.9))"), "");
  EXPECT_EQ(idsOf("action decay(4, rate = 0.05)"), "");
  EXPECT_EQ(idsOf("action decay(4, rate = (0.9))"), "");
}

TEST(Warning, Growing) {
  EXPECT_EQ(idsOf("bias 0.5 * age"), "growing@2:6");
  EXPECT_EQ(idsOf("bias cos(age)"), ""); // it swings
  EXPECT_EQ(idsOf("bias -0.5 * age"), "");
  EXPECT_EQ(idsOf("bias 0.5 * delta"), "");
}

TEST(Warning, Absolute) {
  EXPECT_EQ(idsOf("bias 0.5 * (t - s)"), "");
  EXPECT_EQ(idsOf("bias 0.5 * t - 0.5 * s"), "absolute@2:6 absolute@2:16");
}

TEST(Warning, Infinite) {
  EXPECT_EQ(idsOf("bias 1 / age"), "infinite@2:6");
  EXPECT_EQ(idsOf("bias -0.1 * age + 2 / (i - j)"), "infinite@2:19");
  EXPECT_EQ(idsOf("bias -1 / age"), "growing@2:6 infinite@2:6");
  EXPECT_EQ(idsOf("bias age ^ -1.5"), "infinite@2:6");
  EXPECT_EQ(idsOf("param w: f32[H] bias w[h] / age"), "infinite@2:22");
  EXPECT_EQ(idsOf("clock row bias 1 / age(row)"), "infinite@2:16");
  EXPECT_EQ(idsOf("logit score / age"), "infinite@2:7");
  EXPECT_EQ(idsOf("scale 1 / s"), "infinite@2:7");
  EXPECT_EQ(idsOf("bias -age / h"), "infinite@2:6");
  EXPECT_EQ(idsOf("let far = 1 / age bias far"), "infinite@2:24");
}

TEST(Warning, FiniteTwins) {
  for (const char *clauses :
       {"bias 1 / max(age, 1)", "bias 1 / (age + 1)", "bias -log(age + 1)",
        "bias if age > 0 then 1 / age else 0", "bias 1 / age mask j < i",
        "bias min(1 / age, 3)", "bias tanh(1 / age)",
        "bias exp(-1 / age) - age", "bias -age / (h + 1)", "scale 1 / (s + 1)",
        "param w: f32[H] bias -age / w[h]", "bias (age + 1) ^ -1.5",
        "input y: f32 per token bias 1 / y[j]"})
    EXPECT_EQ(idsOf(clauses), "") << clauses;
}

TEST(Warning, InfiniteSaysWhere) {
  auto textOf = [](const std::string &clauses) {
    return check("scheme x { head 4 " + clauses + " }").diagnostics.print();
  };
  EXPECT_EQ(textOf("bias 1 / age mask causal"),
            "x.torsor:1:24: warning: 'age' is 0 at a query's own key, where "
            "this bias is inf and makes the row NaN; divide by max(age, 1), or "
            "give the case a value of its own with 'if' [infinite]\n"
            "scheme x { head 4 bias 1 / age mask causal }\n"
            "                       ^~~~~~~\n");
  EXPECT_EQ(textOf("bias -2 / (j - i + 1) mask causal"),
            "x.torsor:1:24: warning: '(j - i) + 1' is 0 at query 4000 and key "
            "3999, where this bias is -inf and hides the pair; write that in "
            "'mask', or divide by what is never 0 [infinite]\n"
            "scheme x { head 4 bias -2 / (j - i + 1) mask causal }\n"
            "                       ^~~~~~~~~~~~~~~~\n");
}

TEST(Warning, UnusedButChecked) {
  EXPECT_EQ(idsOf("let a = 1"), "unused@2:5");
  EXPECT_EQ(idsOf("let a = 1 / 0"), "unused@2:5 zero@2:9");
  EXPECT_EQ(idsOf("param w: f32\nclock c"), "unused@2:7 unused@3:7");
  EXPECT_EQ(idsOf("clock pos: i64"), "");
}

TEST(Warning, NoneBesideErrors) {
  EXPECT_EQ(idsOf("let a = 1 bias -log(delta)"), "domain@2:21");
}

} // namespace
