// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stacks and instances.
#include <gtest/gtest.h>

#include "Checked.h"

using namespace torsor;

namespace {

/// The schemes of each layer: "a a b".
std::string layersOf(const std::string &text) {
  Checked checked = check(text);
  EXPECT_FALSE(checked.diagnostics.hasErrors()) << checked.diagnostics.print();
  std::string names;
  if (checked.file->stacks.empty())
    return names;
  for (const auto &layer : checked.file->stacks.front().layers) {
    names += names.empty() ? "" : " ";
    for (const Scheme *scheme : layer)
      names += (scheme == layer.front() ? "" : "+") + scheme->name;
  }
  return names;
}

const std::string schemes = "scheme a { head 4 mask all }\n"
                            "scheme b { head 4 mask causal }\n"
                            "scheme c(n: int) { head 4 mask last(n) }\n"
                            "scheme d = c(7)\n";

TEST(Stack, MapsLayersToSchemes) {
  EXPECT_EQ(layersOf(schemes + "stack z { layers 6 use if every(3) then a else "
                               "b }"),
            "b b a b b a");
  EXPECT_EQ(layersOf(schemes + "stack z { let own = [0, 3] layers 4 use if "
                               "layer in own then a else d, b }"),
            "a+b d+b d+b a+b");
  EXPECT_EQ(layersOf(schemes + "stack z { layers 4 use if layer >= L - 1 then "
                               "a else b }"),
            "b b b a");
}

TEST(Stack, NamesWhatItMakes) {
  EXPECT_EQ(layersOf(schemes + "stack z { layers 4 use c(1 + layer mod 2) }"),
            "c_1 c_2 c_1 c_2");
  EXPECT_EQ(layersOf(schemes + "scheme c_1 { head 4 mask all }\n"
                               "stack z { layers 2 use c(1) }"),
            "c_1_2 c_1_2");
}

TEST(Stack, ReportsWhatIsWrongOnce) {
  EXPECT_EQ(check(schemes + "stack z { layers 9 use c(0) }").ids(),
            "require@3:37");
  EXPECT_EQ(
      check(schemes + "stack z { layers 9 use if N > 2 then a else b }").ids(),
      "ambient@5:27");
  EXPECT_EQ(check(schemes + "stack z { layers 0 use a }").ids(), "large@5:18");
  EXPECT_EQ(check(schemes + "stack z { layers 2 use e }").ids(),
            "unknown@5:24");
  EXPECT_EQ(check(schemes + "stack z { layers 2 use if layer == 0 then a else "
                            "e }")
                .ids(),
            "unknown@5:50");
  EXPECT_EQ(check(schemes + "stack z { layers 2 use z }").ids(), "use@5:24");
}

TEST(Stack, LayersAreGivenWhereTheTextLeavesThemOut) {
  CheckOptions options;
  options.layers = 3;
  Checked checked = check(schemes + "stack z { use a }", options);
  EXPECT_EQ(checked.file->stacks.front().layers.size(), 3u);
}

TEST(Instance, NamesASchemeWithArguments) {
  Checked checked = check(schemes);
  EXPECT_EQ(checked.ids(), "");
  EXPECT_EQ(checked.file->schemes.size(), 3u); // c waits for its argument
  EXPECT_TRUE(checked.scheme("d").causal);
  EXPECT_EQ(check("scheme a = b scheme b = a").ids().substr(0, 9), "recursive");
  EXPECT_EQ(check(schemes + "scheme e = d(1)").ids(), "call@5:12");
}

} // namespace
