// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Large texts, each of one thing over and over: no step of the front end may be
// quadratic in it, or recurse over it.
#include "frontend/Check.h"

#include <array>
#include <chrono>
#include <gtest/gtest.h>

#include "Exercise.h"
#include "Snippets.h"

using namespace torsor;

namespace {

constexpr size_t size = 1 << 18;

std::string fill(const std::string &open, const std::string &part,
                 const std::string &close) {
  std::string text = open;
  for (size_t n = 0; text.size() + part.size() + close.size() + 8 < size; ++n) {
    text += part;
    // "#" in a part is a running number.
    for (size_t at;
         (at = text.find('#', text.size() - part.size())) != std::string::npos;)
      text.replace(at, 1, std::to_string(n));
  }
  return text + close;
}

struct Stress : testing::TestWithParam<std::array<const char *, 3>> {};

TEST_P(Stress, EndsSoon) {
  auto [open, part, close] = GetParam();
  std::string failure;
  auto start = std::chrono::steady_clock::now();
  exerciseFrontend(fill(open, part, close), failure);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(failure, "");
  // A quadratic step takes far longer, even on a busy machine.
  EXPECT_LT(took.count(), 30.0);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Stress,
    testing::Values(
        std::array{"", "(", ""}, std::array{"let a = ", "(", ""},
        std::array{"let a = ", "-", "1"}, std::array{"let a = 1", "+1", ""},
        std::array{"let a = 1", " + b#", ""}, std::array{"", "\"", ""},
        std::array{"", "\"\n", ""}, std::array{"", ";", ""},
        std::array{"", "let a = 1;\n", ""}, std::array{"", "/*", ""},
        std::array{"", "// c\n", ""}, std::array{"", "/// c\n", "let a = 1"},
        std::array{"", "let a# = 1\n", ""},
        std::array{"", "let a# = a0 + 1\n", ""},
        std::array{"", "let a = 1\n", ""}, std::array{"", "scheme x {", ""},
        std::array{"", "}", ""}, std::array{"", "import \"a#\" ", ""},
        std::array{"scheme x { ", "let a# = 1 ", "mask all head 8 }"},
        std::array{"scheme x { ", "param p#: f32 ", "mask all head 8 }"},
        std::array{"scheme x { ", "clock c#\n", "mask all head 8 }"},
        std::array{"scheme x { mask all ", "mask all ", "}"},
        std::array{"scheme x { head 8 mask all ", "require 1 < 2, \"a\" ", "}"},
        std::array{"", "scheme x# { mask all head 8 }\n", ""},
        std::array{"", "fn f#(x: real) -> real = x\n", ""},
        std::array{"", "fn f#() -> int require true, \"a\" = 1\n", ""},
        std::array{"", "stack s# { layers 1 use x }\n", ""},
        std::array{"let a = [", "1, ", "1]"},
        std::array{"let a = f(", "x, ", "x)"},
        std::array{"let a = x[", "1, ", "1]"},
        std::array{"scheme x { head 8 mask all bias [", "1, ", "1][3] }"},
        std::array{"scheme x { head 8 mask i in [", "#, ", "1] }"},
        std::array{"let a = ", "9", ""}, std::array{"let a = 0.", "9", ""},
        std::array{"let a = 1e", "9", ""}, std::array{"let a = ", "a", ""},
        std::array{"let a = ", "_", ""}, std::array{"", "\xC3\xA9", ""},
        std::array{"", "\xFF", ""}, std::array{"// ", "\xC3\xA9", ""},
        std::array{"let a = ", "if true then ", ""},
        std::array{"let a = ", "sum p < 2: ", "1"},
        std::array{"let a = ", "[for p < 2: ", "1"},
        std::array{"let a = x", " at c", ""},
        std::array{"let a = x", "[0]", ""}, std::array{"let a = 1", " < 2", ""},
        std::array{"let a = ", "not ", "b"},
        std::array{"let a = 1", "^1", ""}));

/// What constant evaluation may not do, and says so.
TEST(Budget, TooMuchIsRefused) {
  auto check = [](const std::string &clause) {
    DiagnosticList diagnostics;
    checkFile(makeSource("scheme x { head 64  mask causal  " + clause + " }"),
              {}, diagnostics);
    std::string ids;
    for (const Diagnostic *message : diagnostics.sorted())
      ids += message->id + " ";
    return ids;
  };
  EXPECT_EQ(check("bias (sum a < 60000: sum b < 60000: a * b)"), "large ");
  EXPECT_EQ(check("bias [for a < 60000: [for b < 60000: a][0]][1]"), "large ");
  EXPECT_EQ(
      check("bias " + std::string(3000, '(') + "1" + std::string(3000, ')')),
      "large ");
  EXPECT_EQ(check("bias 1.0 * 2 ^ 4000"), "range ");
  DiagnosticList diagnostics;
  checkFile(makeSource("scheme x { head 1_000_000_000  mask causal }"), {},
            diagnostics);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics.sorted()[0]->id, "width");
}

} // namespace
