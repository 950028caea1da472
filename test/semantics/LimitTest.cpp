// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that are too large end with a message, and soon.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "Checked.h"

using namespace torsor;

namespace {

std::string firstId(const std::string &text) {
  std::string ids = check(text).ids();
  return ids.substr(0, ids.find('@'));
}

TEST(Limit, NestedSums) {
  EXPECT_EQ(firstId("scheme x { head 4 bias (sum p < 60_000: (sum r < 60_000: "
                    "p * r)) mask all }"),
            "large");
}

TEST(Limit, Elements) {
  EXPECT_EQ(firstId("scheme x { head 4 bias [for p < 65_536: [for r < 65_536: "
                    "p][0]][1] mask all }"),
            "large");
}

TEST(Limit, Parentheses) {
  EXPECT_EQ(firstId("scheme x { head 4 bias " + std::string(3000, '(') + "1" +
                    std::string(3000, ')') + " mask all }"),
            "large");
}

TEST(Limit, Widths) {
  EXPECT_EQ(firstId("scheme x { head 1_000_000_000 mask all }"), "width");
  EXPECT_EQ(firstId("scheme x { action zero(1_000_000_000) mask all }"),
            "width");
  EXPECT_EQ(firstId("scheme x { action zero(600) + zero(600) mask all }"),
            "width");
  EXPECT_EQ(firstId("scheme x { head 9223372036854775808 mask all }"), "width");
}

TEST(Limit, FunctionsThatCallTwice) {
  std::string text = "fn f0(x: real) -> real = x\n";
  for (int n = 1; n < 60; ++n)
    text +=
        fmt::format("fn f{0}(x: real) -> real = f{1}(x) + f{1}(x)\n", n, n - 1);
  EXPECT_EQ(firstId(text + "scheme x { head 4 bias f59(age) mask all }"),
            "large");
}

TEST(Limit, LetsThatDoubleAreShared) {
  std::string text = "scheme x { head 4 mask all let a0 = -age\n";
  for (int n = 1; n < 200; ++n)
    text += fmt::format("let a{0} = a{1} + a{1}\n", n, n - 1);
  EXPECT_EQ(check(text + "bias a199 }").ids(), "");
}

TEST(Limit, LongChainsOfDefinitions) {
  std::string text = "let a0 = 1\n";
  for (int n = 1; n < 5000; ++n)
    text += fmt::format("let a{} = a{} + 1\n", n, n - 1);
  EXPECT_EQ(firstId(text + "scheme x { head 4 bias a4999 mask all }"), "large");
}

TEST(Limit, ActionsThatDouble) {
  std::string text = "scheme x { mask all let a0 = zero(2)\n";
  for (int n = 1; n < 60; ++n)
    text +=
        fmt::format("let a{0} = if age < {0} then a{1} else a{1}\n", n, n - 1);
  EXPECT_EQ(firstId(text + "action a59 }"), "large");
}

TEST(Limit, Layers) {
  EXPECT_EQ(firstId("scheme a { head 4 mask all } stack b { layers 1_000_000 "
                    "use a }"),
            "large");
}

} // namespace
