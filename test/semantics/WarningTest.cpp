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

TEST(Warning, Rate) {
  EXPECT_EQ(idsOf("action decay(4, rate = 0.9)"), "rate@2:24");
  EXPECT_EQ(idsOf("action decay(4, rate = -log(0.9))"), "");
  EXPECT_EQ(idsOf("action decay(4, rate = 0.05)"), "");
}

TEST(Warning, Growing) {
  EXPECT_EQ(idsOf("bias 0.5 * age"), "growing@2:6");
  EXPECT_EQ(idsOf("bias -0.5 * age"), "");
  EXPECT_EQ(idsOf("bias 0.5 * delta"), "");
}

TEST(Warning, Absolute) {
  EXPECT_EQ(idsOf("bias 0.5 * (t - s)"), "");
  EXPECT_EQ(idsOf("bias 0.5 * t - 0.5 * s"), "absolute@2:6 absolute@2:16");
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
